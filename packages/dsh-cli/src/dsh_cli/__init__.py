"""dsh-cli: `dsh` on the command line. Runs a task, shows the demo, reads and checks logs."""

from dsh_cli._main import main

__all__ = ["main"]
