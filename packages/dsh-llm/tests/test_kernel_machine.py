"""A state machine over scopes: whatever is done in whatever order, the model knows who is told."""

import asyncio
from collections.abc import Callable

import pytest
from dsh_llm import Context, HarnessError, Signal
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

CHANGED: Signal[[list[int]]] = Signal("test/changed")


class Node:
    """The model of a scope: what it owns, in order."""

    def __init__(self, ctx: Context, parent: "Node | None") -> None:
        self.ctx = ctx
        self.parent = parent
        self.owned: list[Node | int] = []
        self.open = True


class Scopes(RuleBasedStateMachine):
    """Registers, disposes, nests and closes; compares who is told and what is undone."""

    nodes: Bundle[Node] = Bundle("nodes")
    registrations: Bundle[tuple[int, Callable[[], None]]] = Bundle("registrations")

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.root = Node(Context(), None)
        self.listening: list[int] = []
        self.cleanups: dict[int, Node] = {}
        self.undone: list[int] = []
        self.expected: list[int] = []
        self.count = 0

    def teardown(self) -> None:
        """Close the root: then nothing may be left."""
        self.close(self.root)
        assert self.listening == []
        self.agrees()
        self.loop.close()

    @rule(target=nodes)
    def take_root(self) -> Node:
        """Work on the root as on any other."""
        return self.root

    @rule(target=nodes, parent=nodes)
    def nest(self, parent: Node) -> Node:
        """Make a child scope, or be refused on a closed one."""
        if not parent.open:
            with pytest.raises(HarnessError):
                parent.ctx.scope()
            return parent
        child = Node(parent.ctx.scope(), parent)
        parent.owned.append(child)
        return child

    @rule(target=registrations, node=nodes, first=st.booleans())
    def listen(self, node: Node, *, first: bool) -> tuple[int, Callable[[], None]]:
        """Register a listener, or be refused."""
        self.count += 1
        number = self.count
        if not node.open:
            with pytest.raises(HarnessError):
                node.ctx.on(CHANGED, lambda seen: seen.append(number))
            return number, lambda: None
        dispose = node.ctx.on(CHANGED, lambda seen: seen.append(number), first=first)
        self.listening.insert(0 if first else len(self.listening), number)
        node.owned.append(number)
        return number, dispose

    @rule(target=registrations, node=nodes)
    def own(self, node: Node) -> tuple[int, Callable[[], None]]:
        """Register a clean-up, or be refused."""
        self.count += 1
        number = self.count
        if not node.open:
            with pytest.raises(HarnessError):
                node.ctx.own(lambda: None)
            return number, lambda: None
        dispose = node.ctx.own(lambda: self.undone.append(number))
        self.cleanups[number] = node
        node.owned.append(number)
        return number, dispose

    @rule(registration=registrations)
    def dispose(self, registration: tuple[int, Callable[[], None]]) -> None:
        """Take one back; the second time does nothing."""
        number, dispose = registration
        dispose()
        self._forget(number)

    @rule(node=nodes)
    def close(self, node: Node) -> None:
        """Close a scope with everything in it; again does nothing."""
        self.loop.run_until_complete(node.ctx.aclose())
        self._model_close(node)

    @invariant()
    def agrees(self) -> None:
        """Exactly the listeners of the model are told, and exactly its clean-ups have run."""
        seen: list[int] = []
        self.root.ctx.emit(CHANGED, seen)
        assert seen == self.listening
        assert self.undone == self.expected

    def _model_close(self, node: Node) -> None:
        node.open = False
        while node.owned:
            last = node.owned.pop()
            if isinstance(last, Node):
                self._model_close(last)
            else:
                self._forget(last)
        if node.parent is not None and node in node.parent.owned:
            node.parent.owned.remove(node)

    def _forget(self, number: int) -> None:
        if number in self.listening:
            self.listening.remove(number)
        if self.cleanups.pop(number, None) is not None:
            self.expected.append(number)


TestScopes = Scopes.TestCase
