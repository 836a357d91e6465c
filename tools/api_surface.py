"""Compare each package's public surface with its api.txt, or rewrite that file with --update.

The surface is what the `__all__` of the public modules names: kinds, signatures, bases and public
members. A name that leaves `__all__`, a renamed parameter and a lost annotation all change it.
"""

import argparse
import difflib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import griffe

ROOT = Path(__file__).resolve().parent.parent
Member: TypeAlias = griffe.Object | griffe.Alias


def main(argv: list[str] | None = None) -> int:
    """Compare or rewrite the surface files of all packages."""
    options = _options(argv)
    folders = sorted(options.root.glob("packages/*/src/dsh_*"))
    modules = _load(folders)
    classes = {path for module in modules for path in _exported_classes(module)}
    good = True
    for folder, module in zip(folders, modules, strict=True):
        pinned = folder.parents[1] / "api.txt"
        surface = "\n".join(_package(module, classes)) + "\n"
        if options.update:
            pinned.write_text(surface, encoding="utf-8")
        good &= _same(pinned, surface)
    if good:
        print(f"api: the surfaces of {len(folders)} packages are as pinned")
    return 0 if good else 1


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", nargs="?", type=Path, default=ROOT)
    parser.add_argument("--update", action="store_true", help="rewrite the api.txt files")
    return parser.parse_args(argv)


def _same(pinned: Path, surface: str) -> bool:
    old = pinned.read_text(encoding="utf-8") if pinned.exists() else ""
    name = f"{pinned.parent.name}/{pinned.name}"
    diff = difflib.unified_diff(old.splitlines(), surface.splitlines(), name, "now", "", "", 1, "")
    if lines := list(diff):
        print(*lines, "if this is meant: make api-update", sep="\n")
    return not lines


def _load(folders: list[Path]) -> list[griffe.Module]:
    """Read the sources without importing them, all at once: names resolve across packages."""
    loader = griffe.GriffeLoader(
        search_paths=[folder.parent for folder in folders], allow_inspection=False
    )
    modules = [loader.load(folder.name) for folder in folders]
    loader.resolve_aliases(implicit=True, external=False)
    return [module for module in modules if isinstance(module, griffe.Module)]


def _public_modules(module: griffe.Module) -> Iterator[griffe.Module]:
    """Yield a module and the public modules under it."""
    yield module
    for name, member in sorted(module.modules.items()):
        if not name.startswith("_") and not member.is_alias:
            yield from _public_modules(member)


def _exports(module: griffe.Module) -> Iterator[tuple[str, Member]]:
    """Yield the names in a module's `__all__` and what they stand for, across re-exports."""
    if module.exports is None:
        sys.exit(f"{module.path} is a public module and has no __all__")
    for name in sorted(str(name) for name in module.exports):
        yield name, _target(module.members[name])


def _target(member: Member) -> Member:
    """Follow a re-export to its end, or return it where it leaves our packages."""
    try:
        return member.final_target if isinstance(member, griffe.Alias) else member
    except griffe.AliasResolutionError:
        return member


def _exported_classes(module: griffe.Module) -> Iterator[str]:
    for each in _public_modules(module):
        yield from (member.path for _, member in _exports(each) if isinstance(member, griffe.Class))


def _package(module: griffe.Module, classes: set[str]) -> Iterator[str]:
    """Yield the surface of a module and of the public modules under it."""
    for each in _public_modules(module):
        if exports := list(_exports(each)):
            yield f"# {each.path}"
        for name, member in exports:
            if isinstance(member, griffe.Class):
                yield from _class(name, member, classes)
            else:
                yield from _member(name, member)


def _class(name: str, cls: griffe.Class, classes: set[str]) -> Iterator[str]:
    """Yield a class: its fields in their order, which a constructor follows, then its methods."""
    bases = f"({', '.join(map(str, cls.bases))})" if cls.bases else ""
    decorators = "".join(f"@{each.value} " for each in cls.decorators)
    yield f"{decorators}class {name}{bases}"
    members = [(key, _target(member)) for key, member in cls.all_members.items()]
    own = [(key, each) for key, each in members if _is_public(key, each, cls, classes)]
    for key, member in sorted(own, key=lambda each: each[0] if each[1].is_function else ""):
        yield from (f"    {line}" for line in _member(key, member))


def _is_public(key: str, member: Member, cls: griffe.Class, classes: set[str]) -> bool:
    """Tell whether a class shows a member: what a public base shows is not said again."""
    if member.parent is not cls and member.parent and member.parent.path in classes:
        return False
    if key.startswith("__") and key.endswith("__"):
        return member.is_function
    return not key.startswith("_")


def _member(name: str, member: Member) -> Iterator[str]:
    """Yield a function with its overloads, or an attribute with its type."""
    if isinstance(member, griffe.Function):
        for each in member.overloads or []:
            yield f"@overload def {each.signature(name=name)}"
        labels = sorted(member.labels & {"async", "classmethod", "staticmethod"})
        yield " ".join([*labels, "def", member.signature(name=name)])
    elif isinstance(member, griffe.Attribute):
        label = "property " if "property" in member.labels else ""
        kind = f": {member.annotation}" if member.annotation else ""
        yield f"{label}{name}{kind}{_value(member)}"
    elif isinstance(member, griffe.Alias):
        yield f"{name} = {member.target_path}"
    else:
        yield f"{member.kind.value} {name}"


def _value(member: griffe.Attribute) -> str:
    """Return a type alias's meaning or a field's default; other values are no promise."""
    is_field = "class-attribute" in member.labels and "instance-attribute" in member.labels
    is_alias = str(member.annotation).endswith("TypeAlias")
    return f" = {member.value}" if member.value is not None and (is_field or is_alias) else ""


if __name__ == "__main__":
    sys.exit(main())
