"""The text of any object, for messages: never raises, never empty, always sendable."""


def text_of(value: object) -> str:
    """Return the text of anything: what it says, its `message`, or the name of its class.

    Total: an object whose text raises is `<unprintable Name>`. Lone surrogates are replaced.
    """
    name = type(value).__name__
    try:
        text = str(value)
        return mend_surrogates(text if text.strip() else _message_of(value) or name)
    except Exception:  # noqa: BLE001  # Why: a hostile __str__ must not hide the failure it belongs to
        return f"<unprintable {name}>"


def described(value: object) -> str:
    """Return class and text of *value*."""
    name, text = type(value).__name__, text_of(value)
    return name if text in {name, f"<unprintable {name}>"} else f"{name}: {text}"


def shortened(text: str, limit: int) -> str:
    """Return at most *limit* characters of *text*, with a mark where something was left out."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def mend_surrogates(text: str) -> str:
    """Return *text* with surrogate pairs joined and lone ones replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _message_of(value: object) -> str:
    message: object = getattr(value, "message", "")
    return message if isinstance(message, str) else ""
