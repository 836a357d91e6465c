"""What the package costs to import, and what it exports."""

import subprocess
import sys
from typing import Any

import dsh_agent
from dsh_agent import row_schema


def test_importing_it_does_not_import_pydantic() -> None:
    """It is imported when the first tool is defined, not before."""
    code = "import dsh_agent, sys; print('pydantic' in sys.modules, 'dsh_tools' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "False True\n"


def test_all_is_sorted_and_there() -> None:
    """Everything that is exported exists."""
    assert sorted(dsh_agent.__all__) == list(dsh_agent.__all__)
    assert all(hasattr(dsh_agent, name) for name in dsh_agent.__all__)


def test_the_schema_of_a_row_is_json_schema() -> None:
    """It is a valid schema, and refuses what is no row."""
    from jsonschema import Draft202012Validator

    Draft202012Validator.check_schema(row_schema())
    validator: Any = Draft202012Validator(row_schema())
    good = {"seq": 0, "time": 0, "type": "turn/start", "data": {"turn": 1}}
    plugin = {"seq": 0, "time": 0, "type": "my/type", "data": {"any": "thing"}, "ignorable": True}

    assert [validator.is_valid(row) for row in (good, plugin)] == [True, True]
    wrong: list[dict[str, Any]] = [{"data": {}}, {"seq": -1}, {"data": {"turn": True}}, {"more": 1}]
    for bad in wrong:
        assert not validator.is_valid(good | bad)
