"""The four ways to be told: signal, check, gather, waterfall."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest
from dsh_llm import Check, Context, Gather, GroupError, HarnessError, Next, Signal, Waterfall

CHANGED: Signal[[str]] = Signal("test/changed")
COMMIT: Check[[str]] = Check("test/commit")
FLUSH: Gather[[str]] = Gather("test/flush")
ROUND: Waterfall[[int], str] = Waterfall("test/round")
BARE: Waterfall[[], str] = Waterfall("test/bare")


class Log(list[str]):
    """What happened, in order."""

    def listener(self, name: str, error: BaseException | None = None) -> Callable[[str], None]:
        """Return a listener that writes its name and perhaps raises."""

        def listener(word: str) -> None:
            self.append(f"{name}:{word}")
            if error is not None:
                raise error

        return listener


async def settle() -> None:
    """Let everything that is ready run."""
    for _ in range(10):
        await asyncio.sleep(0)


# -- signals -----------------------------------------------------------------------------------


def test_a_signal_tells_every_listener_in_order() -> None:
    """First registered, first told; `first=True` jumps the queue."""
    ctx, log = Context(), Log()
    ctx.on(CHANGED, log.listener("a"))
    ctx.on(CHANGED, log.listener("b"))
    ctx.on(CHANGED, log.listener("c"), first=True)
    assert ctx.emit(CHANGED, "x") == ()
    assert log == ["c:x", "a:x", "b:x"]


def test_a_signal_without_listeners_does_nothing() -> None:
    """Nobody has to be there."""
    assert Context().emit(CHANGED, "x") == ()


def test_a_signal_contains_what_listeners_raise(caplog: pytest.LogCaptureFixture) -> None:
    """All of them run; the failures are returned and reported to the `dsh` logger."""
    ctx, log = Context(), Log()
    broken = ValueError("broken")
    ctx.on(CHANGED, log.listener("a", broken))
    ctx.on(CHANGED, log.listener("b", HarnessError("veto", "VETO")))
    ctx.on(CHANGED, log.listener("c"))
    failures = ctx.emit(CHANGED, "x")
    assert log == ["a:x", "b:x", "c:x"]
    assert failures[0] is broken
    assert [type(error) for error in failures] == [ValueError, HarnessError]
    assert [(record.name, record.getMessage()) for record in caplog.records] == [
        ("dsh", "contained failure in test/changed")
    ] * 2


def test_a_signal_contains_a_cancelled_error_too(caplog: pytest.LogCaptureFixture) -> None:
    """A listener that reads a cancelled future does not cancel the emitter."""
    ctx, log = Context(), Log()
    ctx.on(CHANGED, log.listener("a", asyncio.CancelledError()))
    ctx.on(CHANGED, log.listener("b"))
    (failure,) = ctx.emit(CHANGED, "x")
    assert isinstance(failure, HarnessError)
    assert failure.code == "ABORTED"
    assert log == ["a:x", "b:x"]
    assert len(caplog.records) == 1


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1)])
def test_a_signal_lets_the_end_of_the_process_through(error: BaseException) -> None:
    """Ctrl-C in a listener is not swallowed."""
    ctx = Context()
    ctx.on(CHANGED, Log().listener("a", error))
    with pytest.raises(type(error)):
        ctx.emit(CHANGED, "x")


def test_a_dispatch_keeps_the_listeners_it_began_with() -> None:
    """Who registers or disposes in the middle changes only what comes later."""
    ctx, log = Context(), Log()
    disposers: list[Callable[[], None]] = []

    def meddle(word: str) -> None:
        log.append(f"meddle:{word}")
        disposers.pop()()
        disposers.append(ctx.on(CHANGED, log.listener("new")))

    ctx.on(CHANGED, meddle)
    disposers.append(ctx.on(CHANGED, log.listener("old")))
    ctx.emit(CHANGED, "1")
    ctx.emit(CHANGED, "2")
    ctx.emit(CHANGED, "3")
    assert log == ["meddle:1", "old:1", "meddle:2", "new:2", "meddle:3", "new:3"]


def test_a_signal_may_be_sent_from_inside_a_signal() -> None:
    """The inner dispatch is whole before the outer goes on."""
    ctx, log = Context(), Log()

    def again(word: str) -> None:
        log.append(f"again:{word}")
        if word == "outer":
            ctx.emit(CHANGED, "inner")

    ctx.on(CHANGED, again)
    ctx.on(CHANGED, log.listener("b"))
    ctx.emit(CHANGED, "outer")
    assert log == ["again:outer", "again:inner", "b:inner", "b:outer"]


def test_one_listener_registered_twice_is_called_twice() -> None:
    """Each disposer takes back its own registration, once."""
    ctx, log = Context(), Log()
    listener = log.listener("a")
    dispose = ctx.on(CHANGED, listener)
    ctx.on(CHANGED, listener)
    ctx.emit(CHANGED, "1")
    dispose()
    dispose()
    ctx.emit(CHANGED, "2")
    assert log == ["a:1", "a:1", "a:2"]


def test_two_events_with_one_name_are_two_events() -> None:
    """The constant is the event, its name is for people."""
    ctx, log = Context(), Log()
    ctx.on(Signal[[str]]("test/changed"), log.listener("a"))
    ctx.emit(CHANGED, "x")
    assert log == []
    assert repr(CHANGED) == "Signal('test/changed')"


async def _async_listener(word: str) -> None:
    raise AssertionError(word)


class _AsyncCall:
    async def __call__(self, word: str) -> None:
        raise AssertionError(word)


@pytest.mark.parametrize("listener", [_async_listener, partial(_async_listener), _AsyncCall()])
@pytest.mark.parametrize("event", [CHANGED, COMMIT])
def test_nobody_awaits_the_listeners_of_signals_and_checks(event: Any, listener: Any) -> None:
    """An async one is refused when it is registered, not lost when it is called."""
    with pytest.raises(HarnessError, match=event.name) as caught:
        Context().on(event, listener)
    assert caught.value.code == "INVALID_LISTENER"


# -- checks ------------------------------------------------------------------------------------


def test_a_check_asks_all_when_nobody_objects() -> None:
    """It returns nothing."""
    ctx, log = Context(), Log()
    ctx.check(COMMIT, "none")
    ctx.on(COMMIT, log.listener("a"))
    ctx.on(COMMIT, log.listener("b"), first=True)
    ctx.check(COMMIT, "x")
    assert log == ["b:x", "a:x"]


def test_the_first_objection_vetoes() -> None:
    """Its error reaches the one who asked, and nobody else is asked."""
    ctx, log = Context(), Log()
    veto = HarnessError("no", "VETO")
    ctx.on(COMMIT, log.listener("a"))
    ctx.on(COMMIT, log.listener("b", veto))
    ctx.on(COMMIT, log.listener("c"))
    with pytest.raises(HarnessError) as caught:
        ctx.check(COMMIT, "x")
    assert caught.value is veto
    assert log == ["a:x", "b:x"]


# -- gather ------------------------------------------------------------------------------------


def test_gather_starts_all_and_awaits_all() -> None:
    """They run side by side, and it returns when the last has ended."""

    async def main() -> list[str]:
        ctx, log = Context(), Log()

        def listener(name: str, rounds: int) -> Callable[[str], Awaitable[None]]:
            async def listener(word: str) -> None:
                log.append(f"{name} starts {word}")
                for _ in range(rounds):
                    await asyncio.sleep(0)
                log.append(f"{name} ends")

            return listener

        await ctx.gather(FLUSH, "nobody")
        ctx.on(FLUSH, listener("slow", 5))
        ctx.on(FLUSH, listener("fast", 1))
        await ctx.gather(FLUSH, "x")
        return log

    assert asyncio.run(main()) == ["slow starts x", "fast starts x", "fast ends", "slow ends"]


def test_gather_reports_every_failure_in_one_error() -> None:
    """The others are awaited all the same; a sync raise is a failure like any other."""

    async def main() -> None:
        ctx, log = Context(), Log()

        async def late(word: str) -> None:
            await asyncio.sleep(0)
            raise OSError(word)

        def at_once(word: str) -> Awaitable[None]:
            raise ValueError(word)

        async def good(word: str) -> None:
            await settle()
            log.append(word)

        async def cancelled(_word: str) -> None:
            raise asyncio.CancelledError

        for listener in (late, at_once, good, cancelled):
            ctx.on(FLUSH, listener)
        with pytest.raises(GroupError) as caught:
            await ctx.gather(FLUSH, "x")
        error = caught.value
        assert error.code == "GATHER_FAILED"
        assert [type(one) for one in error.errors] == [OSError, ValueError, HarnessError]
        cause: Any = error.cause
        assert type(cause) is ExceptionGroup
        assert cause.exceptions == error.errors
        assert str(error).startswith("listeners of test/flush failed: OSError: x; ValueError: x; ")
        assert log == ["x"]

    asyncio.run(main())


def test_one_failure_is_a_group_of_one() -> None:
    """The type does not depend on the number."""

    async def main() -> None:
        ctx = Context()

        async def broken(word: str) -> None:
            raise ValueError(word)

        ctx.on(FLUSH, broken)
        with pytest.raises(GroupError) as caught:
            await ctx.gather(FLUSH, "x")
        assert len(caught.value.errors) == 1

    asyncio.run(main())


def test_cancelling_a_gather_stops_its_listeners_and_waits_for_them(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Also when it is cancelled twice; what fails on the way is reported."""

    async def main() -> list[str]:
        ctx, log = Context(), Log()

        async def slow(_word: str) -> None:
            try:
                await asyncio.get_running_loop().create_future()
            except asyncio.CancelledError:
                log.append("stopping")
                await settle()
                log.append("stopped")
                raise

        async def stubborn(_word: str) -> None:
            while len(log) < 3:
                try:
                    await asyncio.sleep(0)
                except asyncio.CancelledError:
                    log.append("not yet")
            raise ValueError("on the way out")

        ctx.on(FLUSH, slow)
        ctx.on(FLUSH, stubborn)
        task = asyncio.create_task(ctx.gather(FLUSH, "x"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        for _ in range(2):
            task.cancel()
            await asyncio.sleep(0)
            assert not task.done()
        await asyncio.wait([task])
        assert task.cancelled()
        return log

    log = asyncio.run(main())
    assert "stopping" in log
    assert "not yet" in log
    assert [str(record.exc_info[1]) for record in caplog.records if record.exc_info] == [
        "on the way out"
    ]


# -- waterfalls --------------------------------------------------------------------------------


def layer(log: Log, name: str) -> Callable[[Next[[int], str], int], str]:
    """Return a layer that writes before and after what lies inside it."""

    def layer(proceed: Next[[int], str], n: int) -> str:
        log.append(f"{name}>{n}")
        result = proceed()
        log.append(f"{name}<{result}")
        return f"{name}({result})"

    return layer


def test_a_waterfall_without_layers_is_its_core() -> None:
    """Arguments go straight in."""
    assert Context().waterfall(ROUND, str, 1) == "1"


def test_the_first_layer_is_the_outermost() -> None:
    """`first=True` puts a layer around all others."""
    ctx, log = Context(), Log()
    ctx.on(ROUND, layer(log, "a"))
    ctx.on(ROUND, layer(log, "b"))
    ctx.on(ROUND, layer(log, "c"), first=True)
    assert ctx.waterfall(ROUND, str, 1) == "c(a(b(1)))"
    assert log == ["c>1", "a>1", "b>1", "b<1", "a<b(1)", "c<a(b(1))"]


def test_next_with_arguments_replaces_them_for_all_inside() -> None:
    """Without arguments a layer passes on what it got itself."""
    ctx, log = Context(), Log()
    ctx.on(ROUND, lambda proceed, n: proceed(n + 1))
    ctx.on(ROUND, layer(log, "b"))
    assert ctx.waterfall(ROUND, str, 1) == "b(2)"


def test_arguments_may_be_named() -> None:
    """Names go through the layers, and may be replaced."""
    ctx = Context()

    def core(n: int) -> str:
        return f"core {n}"

    named: Any = Waterfall[..., Any]("test/named")

    def double(proceed: Any, n: int) -> str:
        return str(proceed(n=n * 2))

    ctx.on(named, double)
    ctx.on(named, layer(Log(), "a"))
    assert ctx.waterfall(named, core, n=2) == "a(core 4)"


def test_a_layer_vetoes_by_not_calling_next() -> None:
    """What it returns instead goes to the layers around it; the inside never runs."""
    ctx, log = Context(), Log()
    ctx.on(ROUND, layer(log, "a"))
    ctx.on(ROUND, lambda _next, _n: "instead")
    ctx.on(ROUND, layer(log, "b"))
    assert ctx.waterfall(ROUND, str, 1) == "a(instead)"
    assert log == ["a>1", "a<instead"]


def test_calling_next_again_runs_the_inner_layers_again() -> None:
    """A retry goes through everything that lies inside it, as often as it asks."""
    ctx, log = Context(), Log()
    ctx.on(ROUND, layer(log, "outer"))
    ctx.on(ROUND, lambda proceed, _n: "".join((proceed(), proceed(7), proceed())))
    ctx.on(ROUND, layer(log, "inner"))
    assert ctx.waterfall(ROUND, str, 1) == "outer(inner(1)inner(7)inner(1))"
    assert [word for word in log if word.startswith("inner>")] == ["inner>1", "inner>7", "inner>1"]


def test_a_raise_goes_outward_layer_by_layer() -> None:
    """The layer outside may catch it and try again."""
    ctx, log = Context(), Log()
    failures = [ValueError("first")]

    def flaky(n: int) -> str:
        if failures:
            raise failures.pop()
        return str(n)

    def retry(proceed: Next[[int], str], _n: int) -> str:
        try:
            return proceed()
        except ValueError:
            return proceed()

    ctx.on(ROUND, retry)
    ctx.on(ROUND, layer(log, "inner"))
    assert ctx.waterfall(ROUND, flaky, 1) == "inner(1)"
    failures.extend([ValueError("second"), ValueError("third")])
    with pytest.raises(ValueError, match="second"):
        ctx.waterfall(ROUND, flaky, 1)


def test_a_waterfall_may_have_no_arguments() -> None:
    """`next()` is then all there is to call."""
    ctx = Context()
    ctx.on(BARE, lambda proceed: f"({proceed()})")
    assert ctx.waterfall(BARE, lambda: "core") == "(core)"


def test_a_running_waterfall_keeps_its_layers() -> None:
    """A layer that disposes another still goes through it, this time."""
    ctx, log = Context(), Log()
    disposers: list[Callable[[], None]] = []

    def meddle(proceed: Next[[int], str], _n: int) -> str:
        disposers[0]()
        return proceed() + proceed()

    ctx.on(ROUND, meddle)
    disposers.append(ctx.on(ROUND, layer(log, "b")))
    assert ctx.waterfall(ROUND, str, 1) == "b(1)b(1)"
    assert ctx.waterfall(ROUND, str, 1) == "11"
