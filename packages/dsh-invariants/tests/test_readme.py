"""The README's table of rules is the registry's."""

import re
from pathlib import Path

import dsh_invariants
from dsh_invariants import rules

README = Path(__file__).parents[1] / "README.md"
ROW = re.compile(r"^\| `(?P<id>INV-\S+)` \| (?:\([^)]*\) )?(?P<sentence>.+) \|$", re.MULTILINE)


def test_readme_has_every_rule_and_its_sentence() -> None:
    """No rule is missing, and none says something else."""
    listed = {row["id"]: row["sentence"] for row in ROW.finditer(README.read_text("utf-8"))}
    known = {rule.id: rule.sentence for rule in (*rules("strict"), *rules("reference"))}
    assert {rule: listed.get(rule) for rule in known} == known
    others = {rule.rsplit("-", 1)[0] for rule in listed.keys() - known.keys()}
    assert others == {"INV-ROW", "INV-STATUS", "INV-FREEZE"}


def test_public_names_are_sorted_and_there() -> None:
    """`__all__` is the surface."""
    names = dsh_invariants.__all__
    assert names == sorted(names)
    assert all(hasattr(dsh_invariants, name) for name in names)
