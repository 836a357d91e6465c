"""Session events for a person, one after another, as they happen or from a file."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from dsh_llm import LogEvent, error_info

from dsh_cli._text import Screen, content_text, one_line, part, parts


class Narrator:
    """Tells the events of a log to a screen."""

    def __init__(self, screen: Screen) -> None:
        """Tell them to *screen*."""
        self._screen = screen
        self._streamed = False

    def tell(self, event: LogEvent) -> None:
        """Tell one event; types it has no words for are left out."""
        teller = self._TELLERS.get(event.type)
        if teller is not None:
            teller(self, event.data)

    def _user(self, data: Mapping[str, Any]) -> None:
        self._screen.line(f"you     {content_text(data)}", "bold")

    def _aside(self, data: Mapping[str, Any]) -> None:
        self._screen.line(f"aside   {content_text(data)}", "dim")

    def _chunk(self, data: Mapping[str, Any]) -> None:
        chunk = part(data, "chunk")
        if chunk.get("type") == "text-delta":
            if not self._streamed:
                self._screen.write("model   ")
            self._streamed = True
            self._screen.write(str(chunk.get("text", "")))

    def _message(self, data: Mapping[str, Any]) -> None:
        if self._streamed:
            self._screen.end_line()
        elif content_text(data):
            self._screen.line(f"model   {content_text(data)}")
        self._streamed = False

    def _call(self, data: Mapping[str, Any]) -> None:
        arguments = one_line(str(data.get("arguments", "")))
        self._screen.line(f"call    {data.get('name')} {arguments}", "cyan")

    def _result(self, data: Mapping[str, Any]) -> None:
        text = one_line(content_text(data))
        if not data.get("is_error"):
            self._screen.line(f"result  {text}", "green")
            return
        code = _numbered(str(part(data, "error").get("code", "no code")), seam="tool")
        self._screen.line(f"failed  [{code}] {text}", "yellow")

    def _error(self, data: Mapping[str, Any]) -> None:
        code = str(data.get("code"))
        self._screen.line(f"error   [{_numbered(code)}] {data.get('message')}", "red")
        for link in parts(data, "chain"):
            self._screen.line(f"  from  {link.get('name')}: {link.get('message')}", "dim")

    def _end(self, data: Mapping[str, Any]) -> None:
        self._streamed = False
        reason = part(data, "reason")
        code = f" {reason['code']}" if "code" in reason else ""
        self._screen.line(f"end     turn {data.get('turn')} {reason.get('kind')}{code}", "dim")

    _TELLERS: ClassVar[dict[str, Callable[["Narrator", Mapping[str, Any]], None]]] = {
        "user/message": _user,
        "steering/message": _user,
        "context/message": _aside,
        "assistant/chunk": _chunk,
        "assistant/message": _message,
        "tool/call": _call,
        "tool/result": _result,
        "error": _error,
        "turn/end": _end,
    }


def _numbered(code: str, seam: str | None = None) -> str:
    info = error_info(code, seam=seam)
    return f"{code} {info.number}" if info else code
