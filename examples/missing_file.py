"""An agent meets a missing file: the failure keeps its code from the raise to the log.

Runs without a key, on a scripted model: `python examples/missing_file.py`.
"""

import asyncio

from dsh_agent import Agent
from dsh_invariants import check_log, invariants
from dsh_llm.testing import ScriptedModel, call, say
from dsh_tools import define_tool


@define_tool
def head(path: str, lines: int = 10) -> str:
    """The first lines of a text file.

    Args:
        path: File to read.
        lines: How many lines.
    """
    with open(path, encoding="utf-8") as file:  # noqa: PTH123  # Why: the example shows the plain thing
        return "".join(line for line, _ in zip(file, range(lines), strict=False))


async def main() -> None:
    """Run one turn and look at what the log says of it."""
    model = ScriptedModel([call("head", path="missing.txt"), say("There is no such file.")])
    async with Agent(model=model, tools=[head], plugins=[invariants]) as agent:
        answer = await agent.run("What does missing.txt say?")
        rows = agent.session.to_rows()
    failed = [row["data"] for row in rows if row["type"] == "tool/result"]
    print(answer.text)
    print("the log says:", failed[0]["error"])
    print("violations:", check_log(rows))


if __name__ == "__main__":
    asyncio.run(main())
