"""`dsh log show` and `dsh log check`: a log that was written earlier."""

from collections import Counter
from collections.abc import Iterable, Iterator

from dsh_agent import SessionEvent, read_jsonl
from dsh_invariants import Violation, check_log
from dsh_llm import code_entry, error_info

from dsh_cli._exit import Exit
from dsh_cli._show import Narrator
from dsh_cli._text import Screen, one_line, part


def show_log(path: str, screen: Screen) -> Exit:
    """Tell the events of the log in *path*.

    Raises:
        HarnessError: `STORAGE_READ_FAILED`, or `INVALID_ROW` at a line that is no row; what came
            before it has been told.
    """
    narrator = Narrator(screen)
    for event in read_jsonl(path):
        narrator.tell(event)
    return Exit.OK


def check_file(path: str, screen: Screen) -> Exit:
    """Check the log in *path* against every invariant and say each violation.

    Raises:
        HarnessError: The file cannot be read.
    """
    return tell_verdict(check_log(path), screen)


def tell_verdict(violations: Iterable[Violation], screen: Screen) -> Exit:
    """Say each of *violations*, or that there are none."""
    found = list(violations)
    for one in found:
        screen.line(f"{one.rule}  seq {one.seq}: {one.message}", "red")
    if found:
        many = "violations" if len(found) > 1 else "violation"
        screen.line(f"{len(found)} {many} of the event contract", "red")
        return Exit.INVARIANT
    screen.line("the log keeps every invariant", "green")
    return Exit.OK


def tell_failures(path: str, screen: Screen) -> None:
    """Write a table of the failures in the log in *path*, by code."""
    counts = Counter(_codes(read_jsonl(path)))
    if not counts:
        screen.line("no failures")
        return
    screen.line(f"{'code':<26}{'number':>7}{'times':>7}  what to do", "bold")
    for (code, seam), times in sorted(counts.items()):
        info, entry = error_info(code, seam=seam), code_entry(code)
        number, advice = (str(info.number), info.recovery) if info else ("-", "-")
        if info is None and entry is not None:
            advice = entry.meaning
        screen.line(f"{one_line(code, 25):<26}{number:>7}{times:>7}  {advice}")


def _codes(events: Iterable[SessionEvent]) -> Iterator[tuple[str, str]]:
    for event in events:
        if event.type == "tool/result" and event.data.get("is_error"):
            yield str(part(event.data, "error").get("code", "(no code)")), "tool"
        if event.type == "error":
            yield str(event.data.get("code")), ""
