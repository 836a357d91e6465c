"""`tools/execute`: what layers may do with a call, and what becomes of every failure."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from dsh_llm import Context, HarnessError, Next, TextBlock
from dsh_tools import (
    TOOLS_EXECUTE,
    Tool,
    ToolCall,
    ToolErrorInfo,
    ToolExecutionResult,
    ToolRegistry,
    define_tool,
)

Rest = Next[[ToolCall], Awaitable[ToolExecutionResult]]


@define_tool
def greet(name: str, greeting: str = "hello") -> str:
    """Greet somebody."""
    return f"{greeting}:{name}"


def registry_of(*layers: Any, tools: tuple[Tool, ...] = (greet,)) -> ToolRegistry:
    """Make a registry with these layers around its calls."""
    registry = ToolRegistry(tools, Context())
    for layer in layers:
        registry.ctx.on(TOOLS_EXECUTE, layer)
    return registry


def execute(
    registry: ToolRegistry, name: str, arguments: Any, **options: Any
) -> ToolExecutionResult:
    """Run one call."""
    return asyncio.run(registry.execute(name, arguments, **options))


def text_of(result: ToolExecutionResult) -> str:
    """Return the one text of a result."""
    (block,) = result.content
    assert block.type == "text"
    return block.text


def test_a_call_gives_exactly_its_content() -> None:
    """TOOLS-002, TOOLS-014, TOOLS-046: no error, nothing for the log."""
    result = execute(registry_of(), "greet", '{"name": "you"}', call_id="c1")
    assert result == ToolExecutionResult("c1", (TextBlock("hello:you"),))


def test_a_call_without_an_id_gets_one() -> None:
    """Each its own."""
    registry = registry_of()
    ids = {execute(registry, "greet", {"name": "you"}).call_id for _ in range(3)}
    assert len(ids) == 3


def test_an_unknown_tool_is_an_error_result() -> None:
    """TOOLS-003: coded, with the nearest name."""
    result = execute(registry_of(), "greed", "{}")
    assert result.error == ToolErrorInfo("ToolNotFoundError", "UNKNOWN_TOOL")
    assert text_of(result) == 'Error: unknown tool "greed"; known tools, nearest first: greet'
    empty = execute(ToolRegistry(), "nope", "{}")
    assert (text_of(empty), empty.is_error) == ('Error: unknown tool "nope"', True)


def test_invalid_arguments_are_an_error_result_and_the_body_does_not_run() -> None:
    """TOOLS-048: the code is the class's; there is nothing more to log."""
    ran: list[str] = []

    @define_tool
    def probe(path: str) -> None:
        ran.append(path)

    result = execute(registry_of(tools=(probe,)), "probe", "{}")
    assert result.error == ToolErrorInfo("ToolArgsError", "INVALID_ARGS")
    assert result.failure is None
    assert ran == []


def test_a_layer_may_answer_the_call_itself() -> None:
    """TOOLS-005: its result is returned, the tool does not run; the id is the call's."""
    ran: list[str] = []

    @define_tool
    def probe() -> None:
        ran.append("probe")

    async def deny(_rest: Rest, _call: ToolCall) -> ToolExecutionResult:
        return ToolExecutionResult("another", (), is_error=True, error=ToolErrorInfo("X", "NO"))

    result = execute(registry_of(deny, tools=(probe,)), "probe", "{}", call_id="c1")
    assert result == ("c1", (TextBlock(""),), True, ("X", "NO"), None)
    assert ran == []


def test_layers_wrap_each_other_in_order() -> None:
    """TOOLS-006: the first registered is the outermost."""
    heard: list[str] = []

    def layer(name: str) -> Callable[..., Any]:
        async def wrap(rest: Rest, _call: ToolCall) -> ToolExecutionResult:
            heard.append(f"{name}:before")
            result = await rest()
            heard.append(f"{name}:after")
            return result

        return wrap

    execute(registry_of(layer("first"), layer("second")), "greet", {"name": "you"})
    assert heard == ["first:before", "second:before", "second:after", "first:after"]


def test_a_layer_may_change_the_call() -> None:
    """Name and arguments are honoured; the id is not up to it."""

    async def redirect(rest: Rest, call: ToolCall) -> ToolExecutionResult:
        return await rest(call._replace(name="greet", arguments={"name": "me"}, call_id="x"))

    result = execute(registry_of(redirect), "other", "not json", call_id="c1")
    assert (result.call_id, text_of(result)) == ("c1", "hello:me")


def test_a_layer_may_run_the_call_again() -> None:
    """A retry sees failures as results, and runs the inner layers again."""
    heard: list[str] = []

    @define_tool
    def flaky() -> str:
        heard.append("body")
        if heard.count("body") == 1:
            raise ConnectionError("first time")
        return "ok"

    async def retry(rest: Rest, _call: ToolCall) -> ToolExecutionResult:
        result = await rest()
        return await rest() if result.is_error else result

    async def inner(rest: Rest, _call: ToolCall) -> ToolExecutionResult:
        heard.append("inner")
        return await rest()

    assert text_of(execute(registry_of(retry, inner, tools=(flaky,)), "flaky", "")) == "ok"
    assert heard == ["inner", "body", "inner", "body"]


def raising(error: BaseException, *, late: bool = False) -> Any:
    """Make a layer that raises, before or after the rest, or at once when it is no coroutine."""

    async def layer(rest: Rest, _call: ToolCall) -> ToolExecutionResult:
        if late:
            await rest()
        raise error

    return layer


def test_a_layer_that_raises_gives_an_error_result_for_that_call() -> None:
    """Coded when it has a code; before the body, after it, and from a plain function."""
    for late in (False, True):
        plain = execute(registry_of(raising(ValueError("oops"), late=late)), "greet", {"name": "a"})
        assert (text_of(plain), plain.error) == ("Error: oops", None)
    coded = execute(registry_of(raising(HarnessError("no", "DENIED"))), "greet", {})
    assert coded.error == ToolErrorInfo("HarnessError", "DENIED")

    def at_once(_rest: Rest, _call: ToolCall) -> Any:
        raise HarnessError("no", "DENIED")

    assert execute(registry_of(at_once), "greet", {}, call_id="c").error == coded.error


@pytest.mark.parametrize("answer", [None, "text", {"content": []}])
def test_a_layer_that_returns_no_result_is_an_error(answer: object) -> None:
    """It is named; nothing half-made reaches the log."""

    async def layer(_rest: Rest, _call: ToolCall) -> Any:
        return answer

    result = execute(registry_of(layer), "greet", {"name": "a"})
    assert result.error == ToolErrorInfo("HarnessError", "INVALID_TOOL_OUTPUT")
    assert text_of(result).endswith(f"returned a {type(answer).__name__}, not a result")


@pytest.mark.parametrize(
    "error",
    [
        HarnessError("broken", "INVARIANT"),
        ExceptionGroup("several", [ValueError("x"), HarnessError("broken", "INVARIANT")]),
    ],
    ids=["alone", "in a group"],
)
def test_a_broken_invariant_is_never_a_tool_result(error: Exception) -> None:
    """From a layer, from a body, in a thread or not, it leaves."""

    @define_tool
    def threaded() -> None:
        raise error

    @define_tool
    async def looped() -> None:
        raise error

    registries = [
        (registry_of(raising(error)), "greet"),
        (registry_of(tools=(threaded,)), "threaded"),
        (registry_of(tools=(looped,)), "looped"),
    ]
    for registry, name in registries:
        with pytest.raises(HarnessError) as caught:
            execute(registry, name, {"name": "a"})
        assert caught.value.code == "INVARIANT"


def test_a_layer_that_cancels_itself_has_failed() -> None:
    """Nobody asked for it, so it is this call's failure."""
    result = execute(registry_of(raising(asyncio.CancelledError())), "greet", {"name": "a"})
    assert result.error == ToolErrorInfo("HarnessError", "TOOL_CANCELLED")


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_what_is_no_exception_leaves_a_layer(error: type[BaseException]) -> None:
    """Ctrl-C and its kind are not for the model."""
    with pytest.raises(error):
        execute(registry_of(raising(error())), "greet", {"name": "a"})


def test_siblings_go_on_when_one_call_fails() -> None:
    """Each call is its own."""
    registry = registry_of()

    async def main() -> list[bool]:
        async with asyncio.TaskGroup() as group:
            calls = [
                group.create_task(registry.execute("greet", text))
                for text in ('{"name": "a"}', "{", '{"name": "b"}')
            ]
        return [call.result().is_error for call in calls]

    assert asyncio.run(main()) == [False, True, False]
