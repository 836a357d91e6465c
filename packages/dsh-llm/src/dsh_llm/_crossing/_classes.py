"""Where a class is, and how to find it again without trusting whoever names it."""

import builtins
import sys
from typing import Any, Final, TypeGuard

OS_FIELDS: Final = ("errno", "strerror", "filename", "filename2")
"""What `OSError` keeps outside `__dict__`."""


def path_of(kind: type) -> str:
    """Return the path under which `find` looks for *kind*."""
    return f"{kind.__module__}:{kind.__qualname__}"


def paths_of(kind: type) -> tuple[list[str], bool]:
    """Return where a reader looks for *kind*, and whether it is an error of ours.

    For one of ours those are the paths of the class and its bases, as far as they can be found; for
    a builtin exception its own, for a group the builtin group's; for a foreign class none.
    """
    ours = _our_paths(kind)
    return (ours, True) if ours else (_builtin_paths(kind), False)


def _our_paths(kind: type) -> list[str]:
    own = (one for one in kind.__mro__ if getattr(one, "__harness_error__", False))
    return [path_of(one) for one in own if find(path_of(one)) is one]


def _builtin_paths(kind: type) -> list[str]:
    # Why: of a group of another class the members matter most.
    if issubclass(kind, BaseExceptionGroup):
        kind = ExceptionGroup if issubclass(kind, ExceptionGroup) else BaseExceptionGroup
    return [path_of(kind)] if find_builtin(path_of(kind)) is kind else []


def find(path: str, *, may_import: bool = False) -> Any:
    """Return what is at *path* in the loaded modules, else `None`.

    Only with *may_import* is the module imported, which is for pickles alone.
    """
    module, _, names = path.partition(":")
    if may_import and module not in sys.modules:
        _try_import(module)
    found: Any = sys.modules.get(module)
    for name in names.split("."):
        # Why: past any module-level __getattr__, which may import.
        found = getattr(found, "__dict__", {}).get(name)
    return found


def find_ours(path: str, base: type[Any], *, may_import: bool) -> type[Any] | None:
    """Return the subclass of *base* at *path*, or one that moved inside its distribution."""
    found = find(path, may_import=may_import)
    if _is_kind_of(found, base):
        return found
    package, name = path.partition(".")[0].partition(":")[0], path.partition(":")[2]
    moved = (kind for kind in _below(base) if kind.__qualname__ == name)
    return next((kind for kind in moved if kind.__module__.partition(".")[0] == package), None)


def find_builtin(path: str) -> type[BaseException] | None:
    """Return the exception at *path* if it is the language's own or asyncio's cancellation."""
    module, _, name = path.partition(":")
    found = vars(builtins).get(name) if module == "builtins" else None
    if path == "asyncio.exceptions:CancelledError":
        found = find(path)
    return found if _is_kind_of(found, BaseException) else None


def find_named_tuple(path: str, *, may_import: bool) -> Any:
    """Return the class of named tuples at *path*, or `None`."""
    found = find(path, may_import=may_import)
    return found if _is_kind_of(found, tuple) and hasattr(found, "_fields") else None


def blank(kind: type[Any]) -> Any:
    """Return an instance of the exception class *kind*, whatever its constructor wants."""
    native: Any = next(one for one in kind.__mro__ if one.__module__ == "builtins")
    return native.__new__(kind)


def slots(error: BaseException) -> dict[str, Any]:
    """Return the attributes that *error* keeps in slots."""
    kinds = (kind for kind in type(error).__mro__ if kind.__module__ != "builtins")
    lists = (kind.__dict__.get("__slots__", ()) for kind in kinds)
    names = (name for each in lists for name in ((each,) if isinstance(each, str) else each))
    return {name: getattr(error, name) for name in names if hasattr(error, name)}


def os_fields(error: BaseException) -> dict[str, Any]:
    """Return what an `OSError` keeps outside `__dict__`, nothing of another error."""
    if not isinstance(error, OSError):
        return {}
    # Why: a second file that is set to None would be printed.
    held = {name: getattr(error, name) for name in OS_FIELDS}
    return {name: value for name, value in held.items() if value is not None}


def _is_kind_of(found: object, base: type[Any]) -> TypeGuard[type[Any]]:
    return isinstance(found, type) and issubclass(found, base)


def _below(base: type[Any]) -> list[type[Any]]:
    every: list[type[Any]] = [base]
    for kind in every:
        every.extend(one for one in kind.__subclasses__() if one not in every)
    return every


def _try_import(module: str) -> None:
    import importlib
    from contextlib import suppress

    # Why: whatever the far side lacks or breaks on, the error still arrives, as its base.
    with suppress(Exception):
        importlib.import_module(module)
