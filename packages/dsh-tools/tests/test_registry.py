"""The registry: names, schemas, change signals, and that every registration can be undone."""

import asyncio
from collections.abc import Callable
from typing import Any, TypeAlias, cast

import pytest
from dsh_llm import Context
from dsh_tools import TOOLS_CHANGE, Tool, ToolDefinitionError, ToolRegistry
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule


def named(name: str) -> Tool:
    """Define a tool that only has a name."""

    def body(arguments: object) -> object:
        return arguments

    return Tool.raw(name, "", {}, body)


def test_what_is_no_tool_is_refused() -> None:
    """A function that was not made a tool says what to do, and nothing is registered."""
    registry = ToolRegistry()

    with pytest.raises(ToolDefinitionError, match="define_tool") as caught:
        registry.register(cast("Any", print))

    assert (caught.value.code, registry.names()) == ("INVALID_TOOL", ())


def test_a_registered_tool_is_listed_and_found() -> None:
    """TOOLS-001, TOOLS-032, TOOLS-033: schema and tool by name; nothing for an unknown one."""
    tool = named("a")
    registry = ToolRegistry([tool])
    assert registry.names() == ("a",)
    assert registry.schemas() == (tool.schema,)
    assert registry.get("a") is tool
    assert registry.get("b") is None


def test_tools_are_listed_in_the_order_of_registration() -> None:
    """Whatever their names."""
    registry = ToolRegistry([named("b"), named("a")])
    registry.register(named("c"))
    assert [schema.name for schema in registry.schemas()] == ["b", "a", "c"]


def test_a_name_is_taken_once() -> None:
    """TOOLS-007: coded, and the first tool stays."""
    tool = named("a")
    registry = ToolRegistry([tool])
    with pytest.raises(ToolDefinitionError) as caught:
        registry.register(named("a"))
    assert (str(caught.value), caught.value.code) == (
        'tool "a" is already registered',
        "DUPLICATE_TOOL",
    )
    assert registry.get("a") is tool


def test_the_disposer_takes_back_exactly_its_own_registration() -> None:
    """TOOLS-008: it can be called again, also when the name has a new owner."""
    registry = ToolRegistry([named("a")])
    dispose = registry.register(named("b"))
    dispose()
    assert registry.names() == ("a",)
    again = named("b")
    registry.register(again)
    dispose()
    assert registry.get("b") is again


def test_a_scope_that_owns_a_registration_takes_it_along() -> None:
    """TOOLS-007: a plugin hands the disposer to its own scope."""

    async def main() -> None:
        async with Context() as root:
            registry = ToolRegistry([named("a")], root)
            child = root.scope()
            child.own(registry.register(named("b")))
            assert registry.names() == ("a", "b")
            await child.aclose()
            assert registry.names() == ("a",)

    asyncio.run(main())


def test_a_change_is_announced_on_adding_and_on_removing() -> None:
    """Once each; a listener that raises leaves nothing half-registered."""
    ctx = Context()
    heard: list[tuple[str, ...]] = []
    registry = ToolRegistry(ctx=ctx)
    ctx.on(TOOLS_CHANGE, lambda: heard.append(registry.names()))

    def broken() -> None:
        raise RuntimeError("listener")

    ctx.on(TOOLS_CHANGE, broken)
    dispose = registry.register(named("a"))
    dispose()
    dispose()
    assert heard == [("a",), ()]


def test_closing_the_registry_closes_its_own_context_only() -> None:
    """A shared one belongs to somebody else."""

    async def main() -> None:
        alone = ToolRegistry([named("a")])
        assert await alone.aclose() == ()
        assert (alone.ctx.disposed, alone.names()) == (True, ())
        shared = ToolRegistry([named("a")], Context())
        assert await shared.aclose(0) == ()
        assert (shared.ctx.disposed, shared.names()) == (False, ("a",))

    asyncio.run(main())


Entry: TypeAlias = tuple[Tool, Callable[[], None]]


class Registrations(RuleBasedStateMachine):
    """Any order of registering, disposing and disposing again: the model is an ordered dict."""

    live = Bundle("live")

    def __init__(self) -> None:
        super().__init__()
        self.changes = 0
        self.expected: dict[str, Tool] = {}
        ctx = Context()
        ctx.on(TOOLS_CHANGE, self._changed)
        self.registry = ToolRegistry(ctx=ctx)
        self.count = 0

    def _changed(self) -> None:
        self.changes += 1

    @rule(target=live, name=st.sampled_from("abc"))
    def register(self, name: str) -> Any:
        tool = named(name)
        if name in self.expected:
            with pytest.raises(ToolDefinitionError):
                self.registry.register(tool)
            return cast("Any", multiple())
        self.expected[name] = tool
        self.count += 1
        return (tool, self.registry.register(tool))

    @rule(entry=consumes(live))
    def dispose_at_last(self, entry: Entry) -> None:
        self._dispose(entry)

    @rule(entry=live)
    def dispose(self, entry: Entry) -> None:
        self._dispose(entry)

    def _dispose(self, entry: Entry) -> None:
        tool, disposer = entry
        disposer()
        if self.expected.get(tool.name) is tool:
            del self.expected[tool.name]
            self.count += 1

    @invariant()
    def agrees_with_the_model(self) -> None:
        assert self.registry.names() == tuple(self.expected)
        assert self.registry.schemas() == tuple(each.schema for each in self.expected.values())
        assert all(self.registry.get(name) is tool for name, tool in self.expected.items())
        assert self.changes == self.count


TestRegistrations = Registrations.TestCase
