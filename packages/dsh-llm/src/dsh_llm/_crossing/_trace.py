"""Where an error was raised, as text that crosses with it."""

from typing import Final

from dsh_llm._secret_text import scrub_text

CARRIED: Final = "_traceback_text"
MAX_FRAMES: Final = 30
MAX_TEXT: Final = 8_000
_POOLS: Final = frozenset({"_RemoteTraceback", "RemoteTraceback"})


def traceback_text(error: BaseException) -> str:
    """Return where *error* was raised, here and in the processes that it came from.

    Frames only, scrubbed, the last 8000 characters; empty for an error that was never raised.
    """
    # Why: a process pool takes the traceback off and hangs its text in as the cause.
    pool = error.__cause__ if type(error.__cause__).__name__ in _POOLS else None
    parts = (getattr(error, CARRIED, ""), getattr(pool, "tb", ""), _live(error))
    texts = [part.rstrip("\n") for part in parts if isinstance(part, str) and part]
    return scrub_text("\n".join(texts))[-MAX_TEXT:]


def _live(error: BaseException) -> str:
    if error.__traceback__ is None:
        return ""
    import traceback

    return "".join(traceback.format_tb(error.__traceback__, -MAX_FRAMES))
