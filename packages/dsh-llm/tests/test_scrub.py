"""Scrubbing: what counts as a secret, where it is found, and what is left alone."""

import pickle
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
from dsh_llm import FrozenDict, HarnessError, register_secret, scrub
from hypothesis import given
from hypothesis import strategies as st

OPAQUE = "correct-horse/battery staple"


class ToldError(Exception):
    """A foreign exception."""


class Login(NamedTuple):
    user: str
    password: str


@pytest.mark.parametrize(
    "token",
    [
        "sk-proj-abcDEF0123456789abcd",
        "sk_live_abcDEF0123456789abcd",
        "ghp_abcDEF0123456789abcd",
        "github_pat_abcDEF0123456789abcd",
        "glpat-abcDEF0123456789abcd",
        "AKIAIOSFODNN7EXAMPLE",
        "AIzaabcDEF0123456789abcDEF0123456789abc",
        "ya29.abcDEF0123456789abcd",
        "xoxb-1234567890-abc",
        "hf_abcDEF0123456789abcd",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-DEF_ghi",
        "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\ncut off",
        "pplx-abcDEF0123456789abcd",
        "whsec_abcDEF0123456789abcd",
        "tvly-dev-abcDEF0123456789",
        "GOCSPX-abcDEF0123456789abcd",
        "hvs.abcDEF0123456789abcd",
        "dop_v1_abcDEF0123456789abcd",
        "shpat_abcDEF0123456789abcd",
        "dckr_pat_abcDEF0123456789abcd",
        "sk-abcdef1234",
    ],
)
def test_tokens_of_known_formats_are_taken_out(token: str) -> None:
    """Wherever they stand in a text, and nothing of them is left."""
    assert scrub(token) == "***"
    assert scrub(f"the server said: {token}") == "the server said: ***"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("password=hunter2 failed", "password=*** failed"),
        ("DB_PASSWORD = hunter2", "DB_PASSWORD = ***"),
        ("{'api_key': 'abc def'}", "{'api_key': '***'}"),
        ('{"accessToken":"abc"}', '{"accessToken":"***"}'),
        ('{\\"token\\":\\"abc\\"}', '{\\"token\\":\\"***\\"}'),
        ("Client(secret=b'abc', n=1)", "Client(secret=b'***', n=1)"),
        ("password: hunter2", "password: ***"),
        ("[('Authorization', 'opaque')]", "[('Authorization', '***')]"),
        ("Authorization: Digest opaque\nHost: h", "Authorization: ***\nHost: h"),
        ("Cookie: a=b; c=d", "Cookie: ***"),
        ("sent Bearer abcdefgh1234 twice", "sent Bearer *** twice"),
        ("basic dXNlcjpwYXNz", "basic ***"),
        ("https://user:p@ss@host/path", "https://***@host/path"),
        ("postgres://user:pass@host/db", "postgres://***@host/db"),
        ("https://host/x?key=abc&n=1", "https://host/x?key=***&n=1"),
        ("https://host/x?code=4/abc", "https://host/x?code=***"),
        ("API KEY: abc1234", "API KEY: ***"),
        ("api.key=abc", "api.key=***"),
        ("secret_value=abc", "secret_value=***"),
        ("password_hash=abc", "password_hash=***"),
        ("PGPASSWORD=abc DB_PASS=abc", "PGPASSWORD=*** DB_PASS=***"),
        ("DEEPSEEK_KEY=abc ssh_key: abc1234", "DEEPSEEK_KEY=*** ssh_key: ***"),
        ("{'auth': 'abc', 'jwt': 'abc'}", "{'auth': '***', 'jwt': '***'}"),
        ("{'signature': 'abc', 'cookies': 'abc'}", "{'signature': '***', 'cookies': '***'}"),
        ("super_token=abc DB_PASS=1234", "super_token=*** DB_PASS=***"),
        ("cookies: a=b; c=d", "cookies: ***"),
        ("[type=t, input_value='a', input_type=str]", "[type=t, input_value=***, input_type=str]"),
        ("input_value='cut o\nnext", "input_value=***\nnext"),
    ],
)
def test_what_a_text_says_behind_a_name_is_taken_out(text: str, left: str) -> None:
    """Assignments, JSON, `repr`s, headers, URLs; the text around it stays."""
    assert scrub(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "token: must be a text",
        "password=None",
        "max_tokens=4096",
        "invalid x-api-key",
        "Basic understanding",
        "Bearer authentication failed",
        "git@github.com:owner/name",
        "https://host/path?page=2",
        "risk-assessment-document-v2",
        "Unexpected token: abc1234",
        "https://host/path?code=404",
        "next_page_token=abc",
        "nextPageToken: abc1234",
        "cost per token: 0.000015",
        "pass=12 fail=1",
        "primary_key=5 sort_key=a1",
        "author=me design=new",
        "",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    """Talk about secrets is none."""
    assert scrub(text) == text


@pytest.mark.parametrize(
    "key",
    [
        *("api_key", "X-Auth-Token", "accessToken", "PASSWORD", "OPENAI_API_KEY", b"Authorization"),
        *(
            "cookie",
            "cookies",
            "auth",
            "authentication",
            "secrets",
            "api_keys",
            "passwords",
            "pass",
        ),
        *("passcode", "jwt", "tokens", "access_tokens", "PGPASSWORD", "DB_PASS", "deepseek_key"),
        *("openAIKey", "DeepSeekKey", "ssh_key", "signature", "sig", "auth_header"),
    ],
)
def test_what_stands_under_the_name_of_a_secret_is_taken_out(key: Any) -> None:
    """In mappings and in pairs, whatever its type."""
    assert scrub({key: "abc", "n": 1}) == {key: "***", "n": 1}
    assert scrub([(key, "abc"), ("n", "1")]) == [(key, "***"), ("n", "1")]
    assert scrub({key: {"user": "u"}}) == {key: "***"}


@pytest.mark.parametrize(
    "key",
    [
        "max_tokens",
        "input_tokens",
        "primary_key",
        "foreign_key",
        "sort_key",
        "author",
        "token_count",
        "password_length",
        "key",
        "next_page_token",
        "",
        "x" * 999,
    ],
)
def test_what_only_sounds_like_a_secret_is_kept(key: str) -> None:
    """Counts, lengths and cursors are what a diagnosis needs."""
    assert scrub({key: "abc"}) == {key: "abc"}


@pytest.mark.parametrize("name", ["tokens", "pass", "api_keys"])
@pytest.mark.parametrize("count", [7, [1, 2], {"input": 7}], ids=repr)
def test_a_count_under_the_name_of_a_secret_is_kept(name: str, count: object) -> None:
    """Under names that are also those of counts a number tells nothing, a text may."""
    assert scrub({name: count}) == {name: count}
    assert scrub({name: ["a", 1]}) == {name: "***"}
    assert scrub({f"password={name}": count}) == {"password=***": "***"}


@pytest.mark.parametrize("nothing", [None, True, False, "", b""], ids=repr)
def test_that_there_is_no_secret_is_no_secret(nothing: object) -> None:
    """An empty key stays visible, for it is the diagnosis."""
    assert scrub({"api_key": nothing}) == {"api_key": nothing}


@pytest.mark.parametrize("name", ["tokens", "auth", "pass", "cookies", "ssh_key"])
def test_a_pickle_with_an_attribute_of_that_name_is_not_sent(name: str) -> None:
    """A foreign exception that has one becomes its text; one that only says the word is rebuilt."""
    foreign = ToldError("too many tokens. authentication failed")
    back: Any = pickle.loads(pickle.dumps(HarnessError("it failed", "A", cause=foreign)))  # noqa: S301  # Why: our own bytes
    assert type(back.cause) is ToldError
    vars(foreign)[name] = "hunter2"
    assert b"hunter2" not in pickle.dumps(HarnessError("it failed", "A", cause=foreign))


def test_containers_are_rebuilt_at_any_depth() -> None:
    """Each keeps its kind; subclasses become the builtin."""
    deep = {"a": [("password=x",), {b"password=y"}, frozenset({"password=z"})], "t": ("p", "q")}
    assert scrub(deep) == {
        "a": [("password=***",), {b"password=***"}, frozenset({"password=***"})],
        "t": ("p", "q"),
    }
    assert scrub(Login("u", "p")) == Login("u", "***")
    for kind in (OrderedDict[str, str], FrozenDict, MappingProxyType[str, str]):
        assert scrub(kind({"token": "t", "a": "b"})) == {"token": "***", "a": "b"}


def test_other_objects_come_back_as_they_are() -> None:
    """Numbers and objects are no texts."""
    thing = object()
    assert scrub([1, 2.5, None, True, thing]) == [1, 2.5, None, True, thing]


class _Unreadable(Mapping[str, str]):
    def __getitem__(self, key: str) -> str:
        raise RuntimeError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(["a"])

    def __len__(self) -> int:
        return 1


def test_scrubbing_is_total() -> None:
    """A cycle, a bottomless nesting and a container that raises end in a mark."""
    cycle: list[Any] = [1]
    cycle.extend([cycle, cycle])
    assert scrub(cycle) == [1, "…", "…"]
    deep: Any = "password=x"
    for _ in range(10_000):
        deep = [deep]
    assert "password=x" not in repr(scrub(deep))
    assert scrub({"a": _Unreadable()}) == {"a": "<unreadable _Unreadable>"}


def test_shared_parts_are_scrubbed_once() -> None:
    """A value that refers to its parts many times takes no time in the number of the paths."""
    value: Any = ["password=x"]
    for _ in range(50):
        value = [value, value]
    left, right = scrub(value)
    assert left is right


def test_a_registered_secret_is_taken_out_wherever_it_is() -> None:
    """Also one that no pattern matches, also URL-quoted and in JSON text, also as a key."""
    assert scrub(OPAQUE) == OPAQUE
    dispose = register_secret(f" {OPAQUE}\n")
    try:
        assert scrub({OPAQUE: [f"a {OPAQUE} b"]}) == {"***": ["a *** b"]}
        assert scrub("q=correct-horse%2Fbattery%20staple") == "q=***"
        assert scrub("q=correct-horse/battery%20staple") == "q=***"
        assert scrub("q=correct-horse%2Fbattery+staple") == "q=***"
        assert scrub(OPAQUE.encode()) == b"***"
    finally:
        dispose()
        dispose()
    assert scrub(OPAQUE) == OPAQUE


def test_a_secret_of_two_owners_stays_out_until_both_are_gone() -> None:
    """Disposing is idempotent: one owner cannot give up for the other."""
    first, second = register_secret(OPAQUE), register_secret(OPAQUE)
    first()
    first()
    assert scrub(OPAQUE) == "***"
    second()
    assert scrub(OPAQUE) == OPAQUE


def test_the_longest_of_overlapping_secrets_goes_first() -> None:
    """Nothing of the longer one is left behind."""
    disposers = [register_secret("opaque-one"), register_secret("opaque-one-and-more")]
    assert scrub("x opaque-one-and-more y opaque-one") == "x *** y ***"
    for dispose in disposers:
        dispose()


def test_a_short_secret_is_ignored() -> None:
    """Taking out a few characters would garble every text."""
    dispose = register_secret("the")
    assert scrub("on the way") == "on the way"
    dispose()


def test_registering_is_thread_safe() -> None:
    """Many owners at once, and in the end none is left."""

    def own() -> None:
        for _ in range(50):
            dispose = register_secret(OPAQUE)
            assert scrub(OPAQUE) == "***"
            dispose()

    threads = [threading.Thread(target=own) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert scrub(OPAQUE) == OPAQUE


_TEXT = st.text() | st.lists(
    st.sampled_from(
        [
            *("password", "token", "Authorization", "Bearer ", "sk-", "eyJ", "?key=", "://", "@"),
            *("=", ":", " ", "'", '"', "\\", ".", "\n", ",", "a1", "xyzxyzxyz1", "***"),
            *("-----BEGIN PRIVATE KEY-----", "input_value=", ", input_type=", "auth", "pass"),
            *("?code=", "_key", "openai", "API KEY", "next_page_", "_value", "tokens", "hvs."),
        ]
    ),
    max_size=20,
).map("".join)


@given(
    st.recursive(
        _TEXT | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(_TEXT, inner)
    )
)
def test_scrubbing_twice_is_scrubbing_once(value: Any) -> None:
    """What is left of a secret is no secret."""
    once = scrub(value)
    assert scrub(once) == once


@pytest.mark.parametrize(
    "piece",
    [
        *("a", "eyJ", "sk-", "password='", "://", "://a@", "Bearer ", "token:", "\\", "x "),
        *("input_value=", "input_value=a\n", "input_value=, input_type=", "api key ", "auth_"),
        *("shpat_", "hvs.", "&code=1", "pass ="),
    ],
)
def test_scrubbing_takes_linear_time(piece: str) -> None:
    """Ten times the text takes about ten times as long, whatever it repeats."""
    short, long = piece * 2_000, piece * 20_000
    assert _seconds(long) < 40 * _seconds(short) + 0.01


def _seconds(text: str) -> float:
    start = time.process_time()
    scrub(text)
    return time.process_time() - start
