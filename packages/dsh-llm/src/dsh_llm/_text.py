"""The text of any object, for messages: never raises, never empty."""


def text_of(value: object) -> str:
    """Return `str(value)`, or the name of its class when that is empty or raises."""
    try:
        return str(value) or type(value).__name__
    except Exception:  # noqa: BLE001  # Why: a hostile __str__ must not hide the failure it belongs to
        return type(value).__name__


def described(value: object) -> str:
    """Return class and text of *value*."""
    name, text = type(value).__name__, text_of(value)
    return name if text == name else f"{name}: {text}"
