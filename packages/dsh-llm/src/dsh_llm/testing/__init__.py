"""Fakes that tests, demos and users share: a scripted model, a clock, virtual time."""

from dsh_llm.testing._clock import FakeClock
from dsh_llm.testing._loop import DeadlockError, VirtualLoop, run_virtual
from dsh_llm.testing._model import Entry, ScriptedModel, ScriptEntry, call, chunks_of, hang, say
from dsh_llm.testing._server import LoopbackServer, Reply
from dsh_llm.testing._threaded import serving, sse

__all__ = [
    "DeadlockError",
    "Entry",
    "FakeClock",
    "LoopbackServer",
    "Reply",
    "ScriptEntry",
    "ScriptedModel",
    "VirtualLoop",
    "call",
    "chunks_of",
    "hang",
    "run_virtual",
    "say",
    "serving",
    "sse",
]
