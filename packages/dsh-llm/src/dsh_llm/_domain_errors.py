"""Errors with a class of their own, for callers who catch one condition and let the rest pass."""

from typing import Unpack

from dsh_llm._errors import ErrorFields, HarnessError


class CallerTypeError(HarnessError, TypeError):
    """A value's type is wrong, and nothing was done. Code `VALIDATION_TYPE_MISMATCH`.

    Who acts: whoever wrote the call. Old `except TypeError` still matches.
    """

    def __init__(self, message: str, **fields: Unpack[ErrorFields]) -> None:
        """Say what is wrong; *fields* are the base's keywords."""
        super().__init__(message, "VALIDATION_TYPE_MISMATCH", **fields)


class NotWiredError(HarnessError, NotImplementedError):
    """Something is declared here and nobody provides it. Code `NO_SERVICE`.

    Who acts: whoever put the tree of plugins together. Its name leaves the builtin
    `NotImplementedError` alone, which it inherits.
    """

    def __init__(self, surface: str, **fields: Unpack[ErrorFields]) -> None:
        """Name the *surface* that is missing; *fields* are the base's keywords."""
        super().__init__(f"no service {surface!r} is provided", "NO_SERVICE", **fields)
        self.surface = surface


class ReservedNamespaceError(HarnessError, ValueError):
    """A contributed id lies in a namespace of dsh's own. Code `RESERVED_NAMESPACE`.

    Who acts: whoever wrote the contribution. Nothing of it was registered.
    """

    def __init__(self, contributed: str, namespace: str, **fields: Unpack[ErrorFields]) -> None:
        """Name the id, and the *namespace* that is taken."""
        text = f"{contributed!r} is in the namespace {namespace!r}, which is reserved"
        super().__init__(text, "RESERVED_NAMESPACE", **fields)
        self.contributed = contributed
        self.namespace = namespace


class UnnamespacedIdError(HarnessError, ValueError):
    """A contributed id lacks its contributor's prefix. Code `UNNAMESPACED_ID`.

    Who acts: whoever wrote the contribution. Nothing of it was registered.
    """

    def __init__(self, contributed: str, wanted: str, **fields: Unpack[ErrorFields]) -> None:
        """Name the id, and the form that is *wanted*."""
        super().__init__(f"{contributed!r} is not {wanted}", "UNNAMESPACED_ID", **fields)
        self.contributed = contributed


class DuplicateContributionIdError(HarnessError, ValueError):
    """A contributed id is taken. Code `DUPLICATE_CONTRIBUTION_ID`.

    Who acts: whoever wrote the later of the two contributions. Nothing of it was registered.
    """

    def __init__(self, contributed: str | int, **fields: Unpack[ErrorFields]) -> None:
        """Name the id."""
        text = f"{contributed!r} is registered already"
        super().__init__(text, "DUPLICATE_CONTRIBUTION_ID", **fields)
        self.contributed = contributed
