"""The error of a provider's SDK that is not there."""

from dsh_llm._errors import HarnessError


def missing_extra(extra: str, cause: ImportError) -> HarnessError:
    """Return the error that names *extra*, which holds what *cause* could not import."""
    text = f"{cause.name or 'a package'} is not installed: install dsh-llm[{extra}]"
    return HarnessError(text, "MISSING_EXTRA", cause=cause, context={"extra": extra})
