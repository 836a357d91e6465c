"""Which rules there are: three profiles, and what other packages add to them."""

from typing import Final, Literal, TypeAlias, get_args

from dsh_llm import Disposer, HarnessError, Rule

from dsh_invariants._rules import DSH, REFERENCE, STRICT

Profile: TypeAlias = Literal["dsh", "strict", "reference"]
"""`dsh`: what every log of dsh keeps. `strict`: that, and that a message is what its stream said,
which a plugin may change. `reference`: what the logs of the original system keep."""

_PROFILES: Final[dict[str, tuple[Rule, ...]]] = {
    "dsh": DSH,
    "strict": STRICT,
    "reference": REFERENCE,
}
_added: dict[str, Rule] = {}


def rules(profile: Profile = "dsh") -> tuple[Rule, ...]:
    """Return the rules of *profile*, in the order in which they judge a row.

    Registered rules come last; they are about logs of dsh, so `reference` does not have them.

    Raises:
        HarnessError: `UNKNOWN_PROFILE`, with the ones that there are.
    """
    if profile not in _PROFILES:
        known = ", ".join(get_args(Profile))
        raise HarnessError(f"no profile {profile!r}: there are {known}", "UNKNOWN_PROFILE")
    built_in = _PROFILES[profile]
    return built_in if profile == "reference" else (*built_in, *_added.values())


def register_rule(rule: Rule) -> Disposer:
    """Add *rule* to the profiles `dsh` and `strict` of this process, for checks that begin later.

    A state that subclasses `StagedState` costs the least while a log is watched; any other is
    deep-copied for each row that it is shown.

    Raises:
        HarnessError: `DUPLICATE_RULE` when there is a rule with its id.
    """
    if rule.id in _added or any(rule.id == one.id for one in (*STRICT, *REFERENCE)):
        raise HarnessError(f"rule {rule.id!r} is registered already", "DUPLICATE_RULE")
    _added[rule.id] = rule
    return lambda: _remove(rule)


def _remove(rule: Rule) -> None:
    if _added.get(rule.id) is rule:
        del _added[rule.id]
