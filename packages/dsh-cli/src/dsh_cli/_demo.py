"""The main job on an embedded model: a task, every kind of failure, the corrected calls."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from dsh_llm import Message, ModelRequest, TextBlock, ToolResultBlock
from dsh_llm.testing import Entry, ScriptedModel, ScriptEntry, call, say

TASK: Final = "How many boxes were sold in all, north and south together?"

FILES: Final = {
    "north.txt": "apples 12\npears 7\nplums 21\n",
    "south.txt": "apples 5\npears 30\n",
    "notes/readme.txt": "One line a fruit: name, then boxes sold.\n",
}


def prepare(root: Path) -> None:
    """Write the demo's files into *root*; a file that is there already stays as it is."""
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.write_text(text, encoding="utf-8")


def demo_model() -> ScriptedModel:
    """Return the embedded model: it errs in each way once, corrects itself, and counts."""
    script: list[ScriptEntry] = [
        [say("I will look at the folder."), call("read_file", path=7, lines="all")],
        call("read_fil", path="north.txt"),
        call("read_file", path="west.txt"),
        call("read_file", path="../../etc/passwd"),
        call("list_files", path="."),
        [call("read_file", path="north.txt"), call("read_file", path="south.txt")],
        _answer,
    ]
    return ScriptedModel(script, model="demo")


def _answer(request: ModelRequest) -> Entry:
    north, south = (_boxes(text) for text in _last_results(request.messages, 2))
    return say(f"{north + south} boxes: {north} in the north and {south} in the south.")


def _last_results(messages: Sequence[Message], count: int) -> list[str]:
    results = [
        "".join(part.text for part in block.content if isinstance(part, TextBlock))
        for message in messages
        for block in message.content
        if isinstance(block, ToolResultBlock)
    ]
    return results[-count:]


def _boxes(text: str) -> int:
    return sum(int(number) for number in re.findall(r"(\d+)\s*$", text, re.MULTILINE))
