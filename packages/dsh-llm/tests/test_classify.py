"""Foreign failures become coded errors: by exact name, then type, then status, then words."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from dsh_llm import (
    Classifier,
    ClassifierError,
    Context,
    Evidence,
    GroupError,
    HarnessError,
    LlmError,
    Seam,
    classify_error,
    contribute_error_classifiers,
    try_classify,
)

SEAMS: tuple[Seam, ...] = (
    "provider",
    "tool",
    "storage",
    "session",
    "caller",
    "sync",
    "job",
    "runtime",
)


class HttpError(Exception):
    """An exception with a response's fields, as HTTP libraries have them."""

    def __init__(self, status: int | None, body: Any = None, **headers: str) -> None:
        super().__init__(f"HTTP {status}")
        self.status_code = status
        self.body = body
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


def said(text: str, **more: Any) -> dict[str, Any]:
    """Return an error body that says *text*."""
    return {"error": {"message": text, **more}}


@pytest.mark.parametrize(
    ("seam", "status", "code", "number"),
    [
        ("provider", 400, "INVALID_REQUEST", 7001),
        ("provider", 401, "AUTH", 5002),
        ("provider", 402, "QUOTA", 5009),
        ("provider", 403, "AUTH", 5002),
        ("provider", 404, "MODEL_NOT_FOUND", 5004),
        ("provider", 408, "TIMEOUT", 5007),
        ("provider", 409, "HTTP_409", None),
        ("provider", 413, "CONTEXT_WINDOW_EXCEEDED", 5005),
        ("provider", 422, "INVALID_REQUEST", 7001),
        ("provider", 429, "RATE_LIMIT", 5003),
        ("provider", 500, "SERVER", 11002),
        ("provider", 503, "SERVER", 11002),
        ("provider", 504, "TIMEOUT", 5007),
        ("provider", 520, "SERVER", 11002),
        ("provider", 529, "SERVER", 11002),
        ("caller", 401, "CALLER_AUTH_REQUIRED", 10001),
        ("caller", 403, "CALLER_FORBIDDEN", 10003),
        ("caller", 500, "SERVER", 11002),
        ("session", 404, "SESSION_NOT_FOUND", 2001),
        ("session", 409, "SESSION_CONFLICT", 2002),
        ("session", 410, "SESSION_EXPIRED", 2003),
        ("session", 423, "SESSION_LOCKED", 2004),
        ("storage", 507, "STORAGE_QUOTA_EXCEEDED", 4003),
        ("storage", 500, "STORAGE_READ_FAILED", 4002),
        ("sync", 409, "SYNC_CONFLICT_UNRESOLVED", 3002),
        ("sync", 412, "SYNC_VERSION_MISMATCH", 3003),
        ("sync", 504, "SYNC_NETWORK_ERROR", 3001),
        ("job", 404, "JOB_NOT_FOUND", 9001),
        ("job", 503, "JOB_DISPATCH_FAILED", 9002),
        ("runtime", 408, "TRANSPORT", 11001),
        ("runtime", 504, "TRANSPORT", 11001),
        ("runtime", 503, "SERVER", 11002),
        ("runtime", 418, "HTTP_418", None),
        ("tool", 404, "TOOL_EXECUTION_FAILED", 1003),
        ("tool", 503, "TOOL_EXECUTION_FAILED", 1003),
    ],
)
def test_a_status_means_what_it_means_at_its_seam(
    seam: Seam, status: int, code: str, number: int | None
) -> None:
    """The same number is another failure at another seam; the status is kept."""
    error = classify_error(HttpError(status), seam=seam)

    assert (error.code, error.code_num) == (code, number)
    kept = error.status if isinstance(error, LlmError) else error.context["status"]
    assert kept == status


def test_a_caller_who_sent_a_credential_was_refused() -> None:
    """10001 asks to sign in; 10002 says that what was sent is wrong."""
    refused = HttpError(401, www_authenticate='Bearer error="invalid_token"')

    assert classify_error(HttpError(401), seam="caller", sent=True).code_num == 10002
    assert classify_error(HttpError(401), seam="caller", sent=False).code_num == 10001
    assert classify_error(refused, seam="caller").code_num == 10002


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (429, said("Out of credit.", code="insufficient_quota"), "QUOTA"),
        (429, said("Out of credit.", type="insufficient_quota"), "QUOTA"),
        (429, said("You exceeded your current quota"), "RATE_LIMIT"),
        (429, said("quota exceeded for requests per minute"), "RATE_LIMIT"),
        (429, said("slow", status="RESOURCE_EXHAUSTED"), "RATE_LIMIT"),
        (400, said("x", code=400, details=[{"reason": "API_KEY_INVALID"}]), "AUTH"),
        (400, {"code": "invalid-argument", "error": "Incorrect API key provided."}, "AUTH"),
        (400, said("you reached your monthly limit"), "QUOTA"),
        (401, said("usage limit reached"), "QUOTA"),
        (403, said("billing cap reached"), "QUOTA"),
        (403, said("the context length is fine, the key is not"), "AUTH"),
        (401, said("rate limit"), "AUTH"),
        (402, said("rate limit, try again later"), "RATE_LIMIT"),
        (402, said("no balance"), "QUOTA"),
        (400, said("token 429 is not valid, 401 neither"), "INVALID_REQUEST"),
        (400, said("string too long, at most 512 are allowed"), "INVALID_REQUEST"),
        (400, said("prompt is too long: 2 tokens > 1 maximum"), "CONTEXT_WINDOW_EXCEEDED"),
        (400, said("Prompt has 9 tokens, exceeds max_model_len"), "CONTEXT_WINDOW_EXCEEDED"),
        (413, said("tokens per minute", code="rate_limit_exceeded"), "CONTEXT_WINDOW_EXCEEDED"),
        (413, said("no", code="insufficient_quota"), "QUOTA"),
        (500, said("rate limit"), "SERVER"),
        (404, said("no such deployment"), "MODEL_NOT_FOUND"),
        (404, {"detail": "Not Found"}, "HTTP_404"),
        (404, said("Resource not found"), "HTTP_404"),
        (None, said("busy", type="overloaded_error"), "SERVER"),
        (None, said("maximum context length is 8"), "CONTEXT_WINDOW_EXCEEDED"),
        (None, said("upstream", code=502), "SERVER"),
        (None, said("blocked by the content-filter"), "CONTENT_FILTER"),
        (None, said("Overloaded"), "SERVER"),
        (None, said("overloaded_error"), "SERVER"),
        (None, said("the model is overloaded, try again later"), "SERVER"),
        (409, said("Overloaded"), "HTTP_409"),
        (429, {"error": "insufficient_quota"}, "QUOTA"),
        (429, {"error": "insufficient_quota", "message": "no", "status": "error"}, "QUOTA"),
        (429, {"error": "no insufficient_quota, slow down"}, "RATE_LIMIT"),
        (429, said("You have exceeded your quota"), "RATE_LIMIT"),
        (403, said("You have exceeded your quota"), "QUOTA"),
        (400, said("Content Exists Risk"), "CONTENT_FILTER"),
        (400, said("Model Not Exist", code="invalid_request_error"), "MODEL_NOT_FOUND"),
        (401, said("Model Not Exist"), "AUTH"),
        (None, said("odd"), "UNKNOWN"),
        (400, said("x", details=["odd", {"reason": 7}, {}]), "INVALID_REQUEST"),
    ],
)
def test_a_providers_exact_name_counts_first_and_words_last(
    status: int | None, body: Any, code: str
) -> None:
    """A phrase may refine a status only to what that status allows; bare numbers say nothing."""
    assert classify_error(HttpError(status, body), seam="provider").code == code


def test_what_decided_is_recorded() -> None:
    """The rule, the original's class, the provider's own names, and the far side's verdict."""
    body = said("slow", code="rate_limit_exceeded", type="requests", param="m")
    raised = HttpError(429, body, Retry_After="2", X_Request_Id="r-1", X_Should_Retry="false")

    error = classify_error(raised, seam="provider")

    assert isinstance(error, LlmError)
    assert (error.message, error.request_id, error.retry_after) == ("slow", "r-1", 2.0)
    assert (error.cause, error.retryable) == (raised, False)
    assert error.context == {
        "classified_by": "provider.name",
        "original_type": f"{__name__}.HttpError",
        "provider_code": "rate_limit_exceeded",
        "provider_type": "requests",
        "provider_param": "m",
    }
    away = classify_error(HttpError(409, X_Request_Id="r-2"), seam="session")
    assert (away.context["status"], away.context["request_id"]) == (409, "r-2")


def test_a_date_in_a_header_counts_from_now() -> None:
    """One long gone asks for no wait."""
    raised = HttpError(429, Retry_After="Wed, 21 Oct 2015 07:28:00 GMT")
    assert classify_error(raised, seam="provider").retry_after == 0.0


def test_one_of_ours_stays_what_it_is() -> None:
    """At every seam; but an error whose code is no text is wrapped."""

    class OddError(HarnessError):
        @property
        def code(self) -> str:
            raise KeyError("code")

        @code.setter
        def code(self, value: str) -> None: ...

    mine, odd = HarnessError("x", "MINE"), OddError("x", "Y")
    for seam in SEAMS:
        assert classify_error(mine, seam=seam) is mine
        assert try_classify(mine, seam=seam) is mine
    assert classify_error(odd, seam="runtime").code == "UNKNOWN"


@pytest.mark.parametrize("seam", SEAMS)
def test_what_nobody_knows_is_said_to_be_unknown(seam: Seam) -> None:
    """A retry is never guessed; only a tool's and a storage's failures have a name anyway."""
    error = classify_error(ZeroDivisionError("x"), seam=seam)
    named = {"tool": "TOOL_EXECUTION_FAILED", "storage": "STORAGE_READ_FAILED"}

    assert try_classify(ZeroDivisionError("x"), seam=seam) is None
    assert error.code == named.get(seam, "UNKNOWN")
    assert "classified_by" not in error.context
    if seam not in named:
        assert error.retryable is None
    assert classify_error("text", seam=seam).cause == "text"


def test_of_a_group_the_worst_member_leads() -> None:
    """Cancellations say nothing beside a failure; alone they are the outcome."""
    limited, refused = HttpError(429), HttpError(401)
    stopped = asyncio.CancelledError()

    led = classify_error(BaseExceptionGroup("g", [stopped, limited, refused]), seam="provider")
    assert isinstance(led, GroupError)
    assert (led.code_num, led.retryable, len(led.errors)) == (5002, False, 3)

    alone = classify_error(BaseExceptionGroup("g", [stopped]), seam="provider")
    assert alone.code_num == 11004

    plain = ExceptionGroup("g", [ValueError("x")])
    assert try_classify(plain, seam="tool") is None
    assert classify_error(plain, seam="tool").code == "TOOL_EXECUTION_FAILED"
    known = try_classify(ExceptionGroup("g", [ValueError("x"), TimeoutError()]), seam="tool")
    assert known is not None


class HostileMeta(type):
    """A class of classes that refuses to be looked at."""

    __hash__ = None  # type: ignore[assignment]  # Why: it is hostile

    def __getattribute__(cls, name: str) -> Any:
        if name in {"__module__", "__qualname__"}:
            raise RuntimeError(name)
        return super().__getattribute__(name)


class HostileError(Exception, metaclass=HostileMeta):
    """Raises at each look."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __str__(self) -> str:
        raise RuntimeError("no text")


class HostileBody(dict[str, Any]):
    """A body that cannot be read."""

    def get(self, *_: Any) -> Any:
        raise RuntimeError("no")


@pytest.mark.parametrize("seam", SEAMS)
def test_hostile_objects_are_classified_too(seam: Seam) -> None:
    """Whatever looking at them does."""
    deep: Any = []
    for _ in range(10_000):
        deep = [deep]
    odd = HttpError(500)
    odd.headers = 7  # type: ignore[assignment]  # Why: no headers at all
    for thrown in (
        HostileError(),
        HttpError(400, HostileBody(error=1)),
        HttpError(400, said(deep)),
        HttpError(400, {"error": {"message": deep}}),
        HttpError(400, deep),
        odd,
        object(),
        None,
    ):
        assert isinstance(classify_error(thrown, seam=seam).code, str)


def rule(name: str, stage: Any, match: Any, code: Any, **more: Any) -> Classifier:
    """Return a rule for the provider."""
    return Classifier(name, ("provider",), stage, match, code, **more)


def says_any(evidence: Evidence) -> bool:
    """Recognise one message."""
    return evidence.message == "any"


class QuietError(Exception):
    """A host's own exception."""


def test_a_hosts_rules_come_first_in_their_stage_and_never_before_an_earlier_one() -> None:
    """Taken out again by the disposer, which may be called twice."""
    dispose = contribute_error_classifiers(
        [
            rule("acme.status", "status", (429,), "ACME_LIMIT"),
            rule("acme.name", "code", ("acme-busy",), "ACME_BUSY"),
            rule("acme.type", "type", (QuietError,), "ACME_QUIET"),
            rule("acme.errno", "type", (77, "other.Thing"), "ACME_ERRNO"),
            rule("acme.words", "phrase", ("acme says no",), "ACME_NO"),
            Classifier("acme.any", (), "type", says_any, "ACME_ANY"),
        ]
    )
    spent = HttpError(429, said("x", code="insufficient_quota"))
    try:
        assert classify_error(HttpError(429), seam="provider").code == "ACME_LIMIT"
        assert classify_error(spent, seam="provider").code == "QUOTA"
        busy = classify_error(HttpError(500, said("x", code="ACME_BUSY")), seam="provider")
        assert (busy.code, busy.context["classified_by"]) == ("ACME_BUSY", "acme.name")
        assert classify_error(QuietError(), seam="provider").code == "ACME_QUIET"
        assert classify_error(QuietError(), seam="runtime").code == "UNKNOWN"
        assert classify_error(OSError(77, "x"), seam="provider").code == "ACME_ERRNO"
        no = HttpError(400, said("ACME says no"))
        assert classify_error(no, seam="provider").code == "ACME_NO"
        for seam in SEAMS:
            assert classify_error(ValueError("any"), seam=seam).code == "ACME_ANY"
    finally:
        dispose()
    dispose()
    assert classify_error(HttpError(429), seam="provider").code == "RATE_LIMIT"


def test_a_scope_takes_its_rules_with_it() -> None:
    """A closed one takes none."""

    async def main() -> None:
        ctx = Context()
        contribute_error_classifiers([rule("acme.own", "status", (418,), "ACME_TEA")], ctx)
        assert classify_error(HttpError(418), seam="provider").code == "ACME_TEA"
        await ctx.aclose()
        assert classify_error(HttpError(418), seam="provider").code == "HTTP_418"
        with pytest.raises(HarnessError) as refused:
            contribute_error_classifiers([rule("acme.own", "status", (418,), "T")], ctx)
        assert refused.value.code == "DISPOSED"
        assert classify_error(HttpError(418), seam="provider").code == "HTTP_418"

    asyncio.run(main())


def test_a_rule_that_raises_is_skipped_and_named() -> None:
    """Whichever of its functions it is, and what is no code is none."""

    def broken(_: Evidence) -> Any:
        raise RuntimeError("broken")

    def no_code(_: Evidence) -> Any:
        return 7

    def odd_context(_: Evidence) -> Any:
        return {"context": 7}

    dispose = contribute_error_classifiers(
        [
            rule("acme.match", "status", broken, "A"),
            rule("acme.code", "status", (429,), broken),
            rule("acme.none", "status", (429,), no_code),
            rule("acme.extract", "type", (QuietError,), "ACME_QUIET", extract=broken),
            rule("acme.odd", "type", (KeyError,), "ACME_KEY", extract=odd_context),
        ]
    )
    try:
        limited = classify_error(HttpError(429), seam="provider")
        assert limited.code == "RATE_LIMIT"
        assert limited.context["skipped_classifiers"] == "acme.match, acme.code"
        quiet = classify_error(QuietError("q"), seam="provider")
        assert (quiet.code, quiet.message) == ("ACME_QUIET", "q")
        assert quiet.context["skipped_classifiers"] == "acme.extract"
        odd = classify_error(KeyError("k"), seam="provider")
        assert odd.context["skipped_classifiers"] == "acme.odd"
        unknown = classify_error(ValueError("x"), seam="provider")
        assert (unknown.code, unknown.context["skipped_classifiers"]) == ("UNKNOWN", "acme.match")
    finally:
        dispose()


def test_a_rule_may_add_to_the_error() -> None:
    """Message, context, verdict, wait, effect and scope."""
    more = {
        "message": "wait",
        "context": {"plan": "free"},
        "retryable": True,
        "retry_after": 9.0,
        "effect": "done",
        "scope": "account",
    }

    def give_more(_: Evidence) -> Mapping[str, Any]:
        return more

    dispose = contribute_error_classifiers(
        [rule("acme.more", "status", (429,), "ACME_LIMIT", extract=give_more)]
    )
    try:
        error = classify_error(HttpError(429, Retry_After="2"), seam="provider")
    finally:
        dispose()
    assert (error.message, error.context["plan"], error.retryable) == ("wait", "free", True)
    assert (error.retry_after, error.effect, error.scope) == (9.0, "done", "account")


def test_a_phrase_may_not_give_what_its_status_forbids() -> None:
    """Also under another name of the same row; a host's own codes are its own affair."""
    dispose = contribute_error_classifiers(
        [
            rule("acme.spent", "phrase", ("allotment used",), "PROVIDER_QUOTA_EXHAUSTED"),
            rule("acme.own", "phrase", ("acme cap",), "ACME_CAP"),
        ]
    )
    try:
        spent, cap = said("allotment used"), said("acme cap")
        assert classify_error(HttpError(429, spent), seam="provider").code == "RATE_LIMIT"
        assert classify_error(HttpError(403, spent), seam="provider").code_num == 5009
        assert classify_error(HttpError(429, cap), seam="provider").code == "ACME_CAP"
    finally:
        dispose()


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (rule("a", "phrase", ("limit",), "A"), "lies inside"),
        (rule("a", "phrase", ("rate_limit",), "A"), "lies inside"),
        (rule("a", "phrase", ("429",), "A"), "bare number"),
        (rule("a", "phrase", ("4 29.",), "A"), "bare number"),
        (rule("a", "phrase", ("Acme",), "A"), "lower case"),
        (rule("a", "phrase", "acme", "A"), "neither a function nor a list"),
        (rule("a", "status", (), "A"), "neither a function nor a list"),
        (rule("a", "status", ("429",), "A"), "cannot match"),
        (rule("a", "status", (True,), "A"), "cannot match"),
        (rule("a", "type", (1.5,), "A"), "cannot match"),
        (rule("a", "ours", (1,), "A"), "no such stage"),
        (Classifier("a", ("moon",), "status", (1,), "A"), "no such seam"),  # type: ignore[arg-type]  # Why: it is wrong
        (rule("provider.name", "status", (429,), "A"), "taken"),
    ],
)
def test_a_rule_that_could_never_work_is_refused(bad: Classifier, why: str) -> None:
    """When it is contributed, and nothing of that contribution is added."""
    good = rule("acme.good", "status", (429,), "ACME_GOOD")

    with pytest.raises(ValueError, match=why) as refused:
        contribute_error_classifiers([good, bad])

    assert isinstance(refused.value, ClassifierError)
    assert refused.value.code_num == 7001
    assert classify_error(HttpError(429), seam="provider").code == "RATE_LIMIT"


def test_a_shadow_within_one_contribution_is_refused_and_the_same_code_is_none() -> None:
    """The order counts: a longer phrase before a shorter one is found."""
    long = rule("acme.long", "phrase", ("acme limit exceeded",), "ACME_LONG")
    short = rule("acme.short", "phrase", ("acme limit",), "ACME_SHORT")
    same = rule("acme.same", "phrase", ("acme limit",), "ACME_LONG")
    elsewhere = short._replace(name="acme.else", seams=("tool",))

    with pytest.raises(ClassifierError, match="lies inside"):
        contribute_error_classifiers([short, long])
    for rules in ([long, short], [same, long], [elsewhere, long]):
        contribute_error_classifiers(rules)()


def test_evidence_is_documented() -> None:
    """A rule's author reads it."""
    assert "HTTP status" in str(Evidence.status.__doc__)


def test_two_rules_do_not_share_a_name() -> None:
    """`classified_by` must tell them apart."""
    one = rule("acme.one", "status", (429,), "A")
    with pytest.raises(ClassifierError, match="taken"):
        contribute_error_classifiers([one, one])


@pytest.mark.parametrize("odd", [["x"], "x", 5, None])
def test_what_is_no_list_of_classifiers_is_refused(odd: Any) -> None:
    """With the coded error for the plugin's author."""
    with pytest.raises(ClassifierError):
        contribute_error_classifiers(odd)
