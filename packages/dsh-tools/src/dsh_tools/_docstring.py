"""What a docstring says: the first paragraph about the tool, and a text for each argument."""

import inspect


def first_paragraph(text: str | None) -> str:
    """Return the first paragraph of a docstring, on one line."""
    paragraph = inspect.cleandoc(text or "").partition("\n\n")[0]
    return " ".join(paragraph.split())


def argument_texts(text: str | None) -> dict[str, str]:
    """Return the descriptions of the arguments by name; Google, NumPy and Sphinx styles."""
    if not text or "\n" not in text:
        return {}
    import docstring_parser

    parsed = docstring_parser.parse(text)
    return {each.arg_name: " ".join((each.description or "").split()) for each in parsed.params}
