"""Check that all packages have one version and pin each other to exactly that.

uv resolves a workspace member whatever a sibling's pin says, so a stale pin shows only at a user's.
"""

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SIBLING = re.compile(r"(?P<name>dsh-[a-z]+)(?:\[[\w,]+\])?(?P<pin>.*)")


def requirements(project: dict[str, Any]) -> Iterator[str]:
    """Yield every requirement of a project, those of its extras too."""
    yield from project.get("dependencies", [])
    for extra in project.get("optional-dependencies", {}).values():
        yield from extra


def faults(project: dict[str, Any], version: str) -> Iterator[str]:
    """Yield where a project leaves the lockstep."""
    if project["version"] != version:
        yield f"{project['name']} has version {project['version']}, others {version}"
    for requirement in requirements(project):
        sibling = SIBLING.fullmatch(requirement)
        if sibling and sibling["pin"] != f"=={version}":
            yield f"{project['name']} requires {requirement}, not =={version}"


def main(root: Path = ROOT) -> int:
    """Check the members of the workspace against the first of them."""
    projects = [
        tomllib.loads(path.read_text(encoding="utf-8"))["project"]
        for path in sorted(root.glob("packages/*/pyproject.toml"))
    ]
    version = projects[0]["version"]
    found = [fault for project in projects for fault in faults(project, version)]
    print("\n".join(found) or f"lockstep: {len(projects)} packages at {version}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:2])))
