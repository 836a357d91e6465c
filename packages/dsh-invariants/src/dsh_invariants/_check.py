"""The offline checker: one pass over any log, every violation."""

from collections.abc import Iterable

from dsh_llm import Rule

from dsh_invariants._engine import Engine
from dsh_invariants._errors import Violation
from dsh_invariants._read import DSH_LOGS, REFERENCE_LOGS, Source, read
from dsh_invariants._registry import Profile
from dsh_invariants._registry import rules as rules_of


def check_log(
    rows: Source,
    *,
    profile: Profile = "dsh",
    live: bool = False,
    rules: Iterable[Rule] | None = None,
) -> list[Violation]:
    """Return every violation in a log, in the order of its rows; `[]` for a good one.

    *rows* are row objects, as of `Session.to_rows()`, or the path of a JSONL file, which begins
    with a header. The log is streamed: what is kept does not grow with it, apart from the
    violations. One fault is one violation and not one for each row after it. What is no row at all
    (a torn line, a missing field) is a violation too (`INV-ROW-...`), never an exception.

    A log that ends inside a turn or a step is a violation, unless it is *live*: still written.
    *rules* are used in place of those of *profile*.

    Raises:
        HarnessError: `SESSION_NOT_FOUND` when there is no such file; `UNKNOWN_PROFILE`.
        SystemCallError: The errno's code when the file cannot be read.
    """
    engine = Engine(rules_of(profile) if rules is None else rules, live=False)
    dialect = REFERENCE_LOGS if profile == "reference" else DSH_LOGS
    found: list[Violation] = []
    last = 0
    for seq, faults, row in read(rows, dialect):
        last = seq
        found += [Violation(rule, seq, message) for rule, message in faults]
        if row is not None:
            found += engine.feed(row)
    if not live:
        found += engine.finish(last)
    return found
