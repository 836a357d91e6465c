"""Text for a terminal: what a model or a log says must not steer it."""

import io
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TextIO, cast

from dsh_llm import TextBlock, blocks_from_json

_KEPT: Final = frozenset("\n\t")
_STYLES: Final = {"dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36", "bold": "1"}


def safe(text: str) -> str:
    """Return *text* with control characters made visible, and lone surrogates replaced."""
    shown = "".join(_shown(c) for c in text)
    return shown.encode("utf-8", "replace").decode("utf-8")


def one_line(text: str, width: int = 160) -> str:
    """Return *text* on one line of at most *width* characters."""
    line = safe(text.strip()).replace("\n", "⏎ ")
    return line if len(line) <= width else f"{line[: width - 1]}…"


def content_text(data: Mapping[str, Any]) -> str:
    """Return the text blocks of a row's content, joined."""
    blocks = blocks_from_json(data.get("content"))
    return "".join(block.text for block in blocks if isinstance(block, TextBlock))


def part(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return the object under *key*; an empty one where a log holds none."""
    value: object = data.get(key)
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def parts(data: Mapping[str, Any], key: str) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of the array under *key*, whatever a log holds there."""
    value: object = data.get(key)
    items = cast("Sequence[object]", value) if isinstance(value, (list, tuple)) else ()
    for item in items:
        if isinstance(item, Mapping):
            yield cast("Mapping[str, Any]", item)


class Screen:
    """Writes to a stream, in colour when it is a terminal that wants it."""

    def __init__(self, out: TextIO | None = None, *, colour: bool | None = None) -> None:
        """Write to *out*, else standard output."""
        self._out = _writable(out or sys.stdout)
        self._colour = _wants_colour(self._out) if colour is None else colour
        self._midline = False

    def write(self, text: str) -> None:
        """Write *text* as it comes, made safe."""
        if text:
            self._out.write(safe(text))
            self._out.flush()
            self._midline = not text.endswith("\n")

    def line(self, text: str = "", style: str = "") -> None:
        """Write *text* on a line of its own."""
        self.end_line()
        self._out.write(f"{self._styled(safe(text), style)}\n")
        self._out.flush()

    def end_line(self) -> None:
        """End the line that `write` has begun, if there is one."""
        if self._midline:
            self._out.write("\n")
        self._midline = False

    def _styled(self, text: str, style: str) -> str:
        if not (self._colour and style):
            return text
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"


def _writable(out: TextIO | None) -> TextIO:
    # Why: None is a standard output that was closed before we began; and a character that an
    # encoding lacks must not end a run.
    if out is None:
        return io.StringIO()
    reconfigure = getattr(out, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")
    return out


def _shown(char: str) -> str:
    if char in _KEPT or char.isprintable():
        return char
    return f"\\x{ord(char):02x}" if char < "\u0100" else "�"


def _wants_colour(out: TextIO) -> bool:
    import os

    return out.isatty() and "NO_COLOR" not in os.environ
