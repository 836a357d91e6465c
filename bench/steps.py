"""What a step costs, and whether it grows with history: `python bench/steps.py [STEPS ...]`.

One run a number of steps: a scripted model calls a tool at each, everything that is on by default
is on. Printed are CPU microseconds a step, over all and in the last tenth against the first, and
the ratio to a bare loop that keeps the same events in a list, measured in the same process.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator

from dsh_agent import Agent
from dsh_llm import ModelRequest, StreamChunk
from dsh_llm.testing import call, chunks_of, say
from dsh_tools import define_tool


@define_tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def add_async(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class Stepping:
    """A model that calls `add` at each of *steps* steps, and notes the time of each call."""

    model = "stepping"

    def __init__(self, steps: int) -> None:
        """Prepare all chunks, so that making them is not measured."""
        self.marks: list[float] = []
        self._script = [chunks_of([call("add", _id=f"c{n}", a=n, b=1)]) for n in range(steps)]
        self._script.append(chunks_of([say("done")]))

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamChunk]:
        """Play the next step."""
        del request
        self.marks.append(time.process_time())
        for chunk in self._script[len(self.marks) - 1]:
            yield chunk


async def measured(steps: int) -> list[float]:
    """Return the CPU time at each model call of a run of *steps* steps."""
    model = Stepping(steps)
    tool = define_tool(add_async, name="add")
    async with Agent(model=model, tools=[tool], max_steps=steps + 1) as agent:
        await agent.run("go")
    return model.marks


async def floor(steps: int) -> float:
    """Return the CPU seconds of a loop with nothing but the same events in a list."""
    model = Stepping(steps)
    events: list[object] = []
    begin = time.process_time()
    for n in range(steps + 1):
        request = ModelRequest("stepping", ())
        events.extend([chunk async for chunk in model.stream(request)])
        events.append(await add_async(n, 1))
    return time.process_time() - begin


def main(steps: int) -> None:
    """Measure and print one line."""
    marks = asyncio.run(measured(steps))
    tenth = max(1, steps // 10)
    whole = (marks[-1] - marks[0]) / steps * 1e6
    growth = (marks[-1] - marks[-1 - tenth]) / (marks[tenth] - marks[0])
    bare = asyncio.run(floor(steps)) / steps * 1e6
    ratio = whole / bare
    print(f"{steps:>6} steps {whole:7.1f} µs a step {growth:5.2f}x last tenth {ratio:6.1f}x bare")


if __name__ == "__main__":
    for count in [int(arg) for arg in sys.argv[1:]] or [50, 200, 800]:
        main(count)
