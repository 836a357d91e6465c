"""What importing the package costs: pydantic waits for the first typed tool."""

import subprocess
import sys

SCRIPT = """
import sys
from dsh_tools import Tool, ToolRegistry, define_tool

def body(arguments):
    return arguments

def loaded():
    heavy = ("asyncio", "pydantic", "pydantic_core", "docstring_parser", "typing_extensions")
    return [name for name in heavy if name in sys.modules]

spec = define_tool(body, parameters={"a": {"type": "string"}})
registry = ToolRegistry([spec, Tool.raw("raw", "", {}, body)])
assert registry.names() == ("body", "raw")
assert loaded() == [], loaded()

@define_tool
def probe(a: int) -> int:
    return a

assert "pydantic" in loaded()
"""


def test_pydantic_is_imported_with_the_first_typed_tool() -> None:
    """Neither the package, nor a registry, nor a raw tool or a spec needs it; asyncio neither."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
