"""dsh-invariants: the event contract as named rules, checked live by a plugin or over any log.

It depends on `dsh_llm` alone, not on the agent whose logs it checks. `dsh_invariants.testing` has
fakes for those who write rules.
"""

from dsh_invariants._check import check_log
from dsh_invariants._errors import InvariantError, Violation
from dsh_invariants._freeze import freeze
from dsh_invariants._plugin import invariants
from dsh_invariants._registry import Profile, register_rule, rules
from dsh_invariants._rule import LogRule, StagedState

__all__ = [
    "InvariantError",
    "LogRule",
    "Profile",
    "StagedState",
    "Violation",
    "check_log",
    "freeze",
    "invariants",
    "register_rule",
    "rules",
]
