"""An abort is heard in the layers around a body too, and never loses what was finished."""

import asyncio
from collections.abc import Awaitable

from dsh_llm import AbortController, Context, HarnessError, Next, TextBlock
from dsh_llm.testing import run_virtual
from dsh_tools import TOOLS_EXECUTE, ToolCall, ToolExecutionResult, ToolRegistry, define_tool

Rest = Next[[ToolCall], Awaitable[ToolExecutionResult]]


@define_tool
async def greet(name: str) -> str:
    """Greet somebody."""
    return f"hello:{name}"


class Waiting:
    """A layer that waits before or after the rest."""

    def __init__(self, *, before: float = 0, after: float = 0) -> None:
        self.before, self.after = before, after
        self.closed = False

    async def __call__(self, proceed: Rest, call: ToolCall) -> ToolExecutionResult:
        """Wait, go on, wait."""
        try:
            await asyncio.sleep(self.before)
            result = await proceed(call)
            await asyncio.sleep(self.after)
        finally:
            self.closed = True
        return result


def aborted(layer: Waiting) -> ToolExecutionResult:
    """Run a call inside *layer*, aborted after a second of virtual time."""
    registry = ToolRegistry([greet], Context())
    registry.ctx.on(TOOLS_EXECUTE, layer)
    controller = AbortController()

    async def main() -> ToolExecutionResult:
        asyncio.get_running_loop().call_later(1, controller.abort, "enough")
        return await registry.execute("greet", {"name": "you"}, signal=controller.signal)

    return run_virtual(main())


def test_a_layer_that_waits_before_the_body_is_interrupted() -> None:
    """An approval that nobody gives ends with the abort; the body never ran, and that is said."""
    layer = Waiting(before=3600)

    result = aborted(layer)

    assert result.error == ("HarnessError", "ABORTED_BEFORE_DISPATCH")
    assert result.failure is not None
    assert (result.failure["effect"], layer.closed) == ("none", True)


def test_a_layer_that_waits_after_the_body_does_not_lose_its_result() -> None:
    """What the body has finished is the call's result, though the layer was interrupted."""
    layer = Waiting(after=3600)

    result = aborted(layer)

    assert (result.content, result.is_error) == ((TextBlock("hello:you"),), False)
    assert layer.closed


def test_a_layer_that_raises_keeps_its_code_where_a_call_can_be_aborted() -> None:
    """A coded failure of a layer is the call's result, signal or not."""
    registry = ToolRegistry([greet], Context())

    async def refuse(_proceed: Rest, _call: ToolCall) -> ToolExecutionResult:
        raise HarnessError("not today", "CLOSED")

    registry.ctx.on(TOOLS_EXECUTE, refuse)
    signal = AbortController().signal

    result = run_virtual(registry.execute("greet", {"name": "you"}, signal=signal))

    assert result.error == ("HarnessError", "CLOSED")
