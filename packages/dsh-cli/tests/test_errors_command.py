"""`dsh errors`: what a code means, what to do about it, and whose it is."""

import json
from typing import Any

import pytest
from dsh_cli import main
from dsh_llm import ErrorInfo, code_table, codes_in_range, error_info, register_codes

Capture = pytest.CaptureFixture[str]


def told(capsys: Capture, *arguments: str) -> str:
    """Return what a command says that succeeds."""
    assert main(["errors", *arguments]) == 0
    return capsys.readouterr().out


def test_the_list_has_every_row_and_every_code_without_one(capsys: Capture) -> None:
    """46 numbers first, by number, then the codes that have none."""
    lines = told(capsys, "list").splitlines()

    numbers = [line.split()[0] for line in lines]
    loose = [entry.code for entry in code_table() if error_info(entry.code) is None]
    assert numbers[:46] == [str(row.number) for n in range(1, 12) for row in codes_in_range(n)]
    assert [line.split()[2] for line in lines[46:]] == loose


@pytest.mark.parametrize("asked", ["5xxx", "5XXX", "5"])
def test_a_range_is_listed_alone(capsys: Capture, asked: str) -> None:
    """It has its rows, and nothing without a number."""
    lines = told(capsys, "list", "--range", asked).splitlines()

    assert [line.split()[0] for line in lines] == [str(row.number) for row in codes_in_range(5)]


@pytest.mark.parametrize("asked", ["12xxx", "xxx", "", "five", "-5", "0", "²", "9" * 5000])
def test_a_range_that_there_is_not_is_wrong_usage(capsys: Capture, asked: str) -> None:
    """The message names the ranges that there are."""
    assert main(["errors", "list", f"--range={asked}"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("dsh: UNKNOWN_CODE: no range")
    assert "10xxx, 11xxx" in error


def test_the_list_as_json_is_one_array(capsys: Capture) -> None:
    """Rows have their number, codes without one their packages."""
    found: list[dict[str, Any]] = json.loads(told(capsys, "list", "--json"))

    by_key = {one.get("key", one.get("code")): one for one in found}
    assert by_key["PROVIDER_RATE_LIMITED"]["number"] == 5003
    assert by_key["PROVIDER_RATE_LIMITED"]["codes"] == ["RATE_LIMIT"]
    assert by_key["INVARIANT"]["packages"] == ["dsh-invariants", "dsh-llm"]
    assert len(json.loads(told(capsys, "list", "--json", "--range", "5xxx"))) == 10


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("RATE_LIMIT", ["RATE_LIMIT [5003]", "raised by  dsh-llm", "also", "#rate_limit"]),
        ("rate_limit", ["RATE_LIMIT [5003]"]),
        ("5003", ["PROVIDER_RATE_LIMITED [5003]", "yes, with a growing pause", "RATE_LIMIT"]),
        ("INVALID_ARGS", ["[1002]", "only after the remedy", "fix_input", "dsh-tools"]),
        ("INTERRUPT_REJECTED", ["[8002]", "alert      no", "not a fault"]),
        ("INVARIANT", ["INVARIANT", "nobody knows", "alert      yes"]),
        ("ENOENT", ["ENOENT", "operating system", "#errno"]),
        ("HTTP_418", ["HTTP_418", "#http_n"]),
        ("REPLAY_DIVERGENCE", ["reserved   replay comes later"]),
    ],
)
def test_a_code_is_explained(capsys: Capture, asked: str, words: list[str]) -> None:
    """By code in any case, by number, by its family; with a number and without one."""
    out = told(capsys, "explain", asked)
    assert all(word in out for word in words), out


@pytest.mark.parametrize("entry", code_table(), ids=lambda entry: entry.code)
def test_every_code_can_be_explained(capsys: Capture, entry: Any) -> None:
    """Whatever is in the table has a meaning, a verdict on retries, and a link."""
    out = told(capsys, "explain", entry.code)
    assert all(f"\n{word} " in out for word in ("means", "retry", "alert", "docs"))


def test_an_explanation_as_json_is_one_object(capsys: Capture) -> None:
    """It has the row's fields and the entry's."""
    found = json.loads(told(capsys, "explain", "QUOTA", "--json"))

    assert (found["code"], found["number"], found["disposition"]) == ("QUOTA", 5009, "stop")
    assert found["packages"] == ["dsh-llm"]
    assert json.loads(told(capsys, "explain", "HTTP_418", "--json"))["code"] == "HTTP_418"


@pytest.mark.parametrize("asked", ["2005", "99", "NO_SUCH", "", "\x1b[31m", "9" * 5000])
def test_what_is_no_code_is_wrong_usage(capsys: Capture, asked: str) -> None:
    """It is said in one line on stderr, safe for a terminal."""
    assert main(["errors", "explain", asked]) == 2
    error = capsys.readouterr().err
    assert error.startswith("dsh: UNKNOWN_CODE: no code")
    assert "\x1b" not in error


def test_a_misspelt_code_gets_a_hint(capsys: Capture) -> None:
    """The nearest codes are named."""
    assert main(["errors", "explain", "RATE_LIMITS"]) == 2
    assert "did you mean RATE_LIMIT" in capsys.readouterr().err


def test_a_host_s_code_is_explained(capsys: Capture) -> None:
    """A row that a host has registered has no entry in our table, and needs no page."""
    withdraw = register_codes("ACME", [ErrorInfo(100_001, "ACME_NO_SEAT", "No seat", "Buy one.")])
    try:
        out = told(capsys, "explain", "100001")
        found = json.loads(told(capsys, "explain", "ACME_NO_SEAT", "--json"))
    finally:
        withdraw()

    assert out.startswith("ACME_NO_SEAT [100001]  No seat\n")
    assert "do         Buy one.\n" in out
    assert "docs" not in out
    assert (found["number"], found["docs"]) == (100_001, None)


@pytest.mark.parametrize("asked", ["5003", "PROVIDER_RATE_LIMITED"])
def test_a_row_is_explained_with_who_raises_its_codes(capsys: Capture, asked: str) -> None:
    """Its own name is not raised, its codes are; the link leads to the number."""
    out = told(capsys, "explain", asked)
    assert "raised by  dsh-llm" in out
    assert "docs/error-codes.md#5003" in out
    found = json.loads(told(capsys, "explain", asked, "--json"))
    assert (found["packages"], found["docs"]) == (["dsh-llm"], "docs/error-codes.md#5003")


def test_the_words_on_a_failed_connection_agree(capsys: Capture) -> None:
    """It is retried and nobody is called, as `advise` says."""
    out = told(capsys, "explain", "11001")
    assert "yes, with a growing pause" in out
    assert "alert      no" in out
