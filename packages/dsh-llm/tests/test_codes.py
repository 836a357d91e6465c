"""The table of codes: an entry for each, families for what is open, and hosts' rows beside it."""

import re
from typing import Any

import pytest
from dsh_llm import (
    CallerTypeError,
    CodeEntry,
    DuplicateContributionIdError,
    ErrorInfo,
    HarnessCodedError,
    HarnessError,
    NotWiredError,
    ReservedNamespaceError,
    UnnamespacedIdError,
    code_entry,
    code_table,
    codes_in_range,
    error_info,
    get_error_info,
    get_error_info_by_code,
    register_codes,
)

SEAT = ErrorInfo(100_001, "ACME_NO_SEAT", "No seat", "Buy one.", codes=("ACME_SEATLESS",))
LOOSE = ErrorInfo(None, "ACME_LOOSE", "Loose", "Tighten it.", page="https://acme.test/errors")


@pytest.mark.parametrize("entry", code_table(), ids=lambda entry: entry.code)
def test_an_entry_is_whole(entry: CodeEntry) -> None:
    """It is a sentence, says who raises the code or why nobody does, and is found by its code."""
    assert entry.meaning.strip() == entry.meaning != ""
    assert bool(entry.packages) != bool(entry.reserved)
    assert code_entry(entry.code) is entry
    assert re.fullmatch(r"docs/error-codes\.md#[a-z0-9_]+", entry.docs)


def test_codes_and_anchors_are_unique_and_in_order() -> None:
    """No two entries have one code, nor one place on the page."""
    codes = [entry.code for entry in code_table()]
    assert codes == sorted(set(codes))
    assert len({entry.docs for entry in code_table()}) == len(codes)


def test_every_name_in_the_catalogue_has_an_entry() -> None:
    """Keys and codes of all rows are in the table."""
    rows = [row for n in range(1, 12) for row in codes_in_range(n)]
    assert all(code_entry(name) for row in rows for name in (row.key, *row.codes))


@pytest.mark.parametrize(
    ("code", "family"),
    [
        ("HTTP_418", "HTTP_<N>"),
        ("ERRNO_9999", "ERRNO_<N>"),
        ("ENOENT", "<ERRNO>"),
        ("EACCES", "<ERRNO>"),
        ("WEB_BLOCKED_URL", "WEB_<NAME>"),
    ],
)
def test_a_member_of_a_family_has_its_entry(code: str, family: str) -> None:
    """What the table cannot list one by one is found by its form."""
    entry = code_entry(code)
    assert entry is not None
    assert (entry.code, entry.is_family) == (family, True)


@pytest.mark.parametrize(
    "code", ["", "HTTP_", "HTTP_x", "enoent", "GUARDRAIL", "E_NEW", "X" * 9999]
)
def test_a_foreign_code_has_no_entry(code: str) -> None:
    """It is legal all the same, and leads nowhere."""
    assert code_entry(code) is None
    assert HarnessError("x", code).docs is None


@pytest.mark.parametrize(
    ("code", "docs"),
    [
        ("RATE_LIMIT", "docs/error-codes.md#5003"),
        ("SESSION_NOT_FOUND", "docs/error-codes.md#2001"),
        ("INVARIANT", "docs/error-codes.md#invariant"),
        ("HTTP_418", "docs/error-codes.md#http_n"),
        ("ENOENT", "docs/error-codes.md#errno"),
    ],
)
def test_the_docs_of_an_error_lead_to_its_number_or_to_its_code(code: str, docs: str) -> None:
    """A code without a number has a place on the page too."""
    assert HarnessError("x", code).docs == docs


def test_a_host_adds_rows_and_takes_them_out_again() -> None:
    """While they are there every look-up knows them; the disposer is idempotent."""
    withdraw = register_codes("ACME", [SEAT, LOOSE])
    try:
        seat = error_info("ACME_SEATLESS")
        assert seat is not None
        assert seat == get_error_info("ACME_NO_SEAT") == get_error_info_by_code(100_001)
        assert (seat.range, codes_in_range(100)) == (100, (seat,))
        assert codes_in_range(0) == (LOOSE,)
        assert str(HarnessCodedError(100_001)) == "[100001] No seat"
        assert str(HarnessCodedError("ACME_LOOSE")) == "[ACME_LOOSE] Loose"
        error = HarnessError("no seat", "ACME_NO_SEAT")
        assert (error.code_num, error.recovery, error.docs) == (100_001, "Buy one.", None)
        assert HarnessError("x", "ACME_LOOSE").docs == "https://acme.test/errors#acme_loose"
    finally:
        withdraw()
        withdraw()

    assert error_info("ACME_SEATLESS") is None
    assert error_info(100_001) is None
    register_codes("ACME", [SEAT])()


@pytest.mark.parametrize("prefix", ["", "acme", "AC ME", "ACME_", "1A", "ÄCME"])
def test_a_prefix_is_upper_case_letters_and_digits(prefix: str) -> None:
    """A malformed prefix is refused."""
    with pytest.raises(UnnamespacedIdError) as caught:
        register_codes(prefix, [])
    assert (caught.value.code, caught.value.contributed) == ("UNNAMESPACED_ID", prefix)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("prefix", ["TOOL", "RUNTIME", "HTTP", "ERRNO", "FS", "WEB", "DSH"])
def test_a_prefix_of_our_own_is_reserved(prefix: str) -> None:
    """A host's code can never be taken for one of dsh's."""
    with pytest.raises(ReservedNamespaceError) as caught:
        register_codes(prefix, [])
    assert (caught.value.code, caught.value.namespace) == ("RESERVED_NAMESPACE", prefix)


@pytest.mark.parametrize("name", ["OTHER_NAME", "ACME", "ACME_", "ACMEX_A", "ACME_a", "ACME__A"])
def test_a_name_without_the_prefix_is_refused(name: str) -> None:
    """Keys and codes alike begin with the host's prefix."""
    for row in (SEAT._replace(key=name), SEAT._replace(codes=(name,))):
        with pytest.raises(UnnamespacedIdError):
            register_codes("ACME", [row])


@pytest.mark.parametrize("number", [0, -1, 2001, 99_999])
def test_a_small_number_is_reserved(number: int) -> None:
    """Numbers below 100000 are the catalogue's own."""
    with pytest.raises(ReservedNamespaceError):
        register_codes("ACME", [SEAT._replace(number=number)])


@pytest.mark.parametrize(
    "second",
    [
        SEAT._replace(number=100_002, codes=()),
        SEAT._replace(key="ACME_B", number=100_002),
        SEAT._replace(key="ACME_B", codes=()),
        SEAT._replace(key="ACME_B", number=None, codes=("ACME_NO_SEAT",)),
    ],
)
def test_what_is_taken_is_refused_and_nothing_is_added(second: ErrorInfo) -> None:
    """Within one registration and between two, all or nothing."""
    fresh = ErrorInfo(100_009, "ACME_FRESH", "Fresh", "Eat it.")
    with pytest.raises(DuplicateContributionIdError) as caught:
        register_codes("ACME", [fresh, SEAT, second])
    assert caught.value.code == "DUPLICATE_CONTRIBUTION_ID"

    withdraw = register_codes("ACME", [SEAT])
    with pytest.raises(DuplicateContributionIdError):
        register_codes("ACME", [fresh, second])
    withdraw()
    assert error_info("ACME_FRESH") is None


def test_a_malformed_row_is_refused() -> None:
    """A row of another type, an odd number, an unknown verdict: coded, before anything is added."""
    tuple_row: object = ("ACME_A",)
    with pytest.raises(CallerTypeError) as caught:
        register_codes("ACME", [tuple_row])  # pyright: ignore[reportArgumentType]  # Why: the point
    assert (caught.value.code, isinstance(caught.value, TypeError)) == (
        "VALIDATION_TYPE_MISMATCH",
        True,
    )
    with pytest.raises(CallerTypeError):
        register_codes("ACME", [SEAT._replace(number=True)])
    nothing: Any = None
    with pytest.raises(CallerTypeError):
        register_codes(nothing, [])
    with pytest.raises(CallerTypeError):
        register_codes("ACME", nothing)
    odd: list[dict[str, object]] = [{"disposition": "perhaps"}, {"scope": "world"}]
    for change in odd:
        with pytest.raises(HarnessError) as refused:
            register_codes("ACME", [SEAT._replace(**change)])
        assert refused.value.code == "VALIDATION_INVALID_INPUT"


def test_a_caller_s_mistakes_are_numbered_7xxx() -> None:
    """Errors that only a change of the program mends are in the validation range."""
    errors = [
        CallerTypeError("x"),
        ReservedNamespaceError("TOOL_X", "TOOL"),
        UnnamespacedIdError("x", "of the form A_B"),
        DuplicateContributionIdError("A_B"),
    ]
    assert {error.code_num for error in errors} == {7001, 7003}


def test_what_nobody_provides_is_not_wired() -> None:
    """The class refines the builtin for what is not implemented, and says what is missing."""
    error = NotWiredError("Llm", context={"agent": "a"})
    assert isinstance(error, NotImplementedError)
    assert (error.code, error.surface, str(error)) == (
        "NO_SERVICE",
        "Llm",
        "no service 'Llm' is provided",
    )
