"""The command line: arguments in, one of the exit codes out."""

import argparse
import os
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final

from dsh_llm import LlmAdapter

from dsh_cli._exit import Command, Exit
from dsh_cli._text import Screen

DEFAULT_MODEL: Final = "deepseek:deepseek-chat"


def main(argv: Sequence[str] | None = None) -> int:
    """Run `dsh` with *argv*, else the process's arguments.

    Returns:
        0 ok, 1 the run failed, 2 wrong usage, 3 a broken invariant, 130 interrupted.
    """
    with Command() as command:
        args = _parser().parse_args(argv)
        command.exit = args.command(args, Screen())
    return int(command.exit)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dsh", description="An agent harness you can trust.")
    parser.add_argument("--version", action="version", version=f"dsh {version('dsh-cli')}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_run(commands.add_parser("run", help="give a task to a model, with file tools"))
    _add_demo(commands.add_parser("demo", help="see the main job, offline"))
    log = commands.add_parser("log", help="read a session log").add_subparsers(
        required=True, metavar="COMMAND"
    )
    _add_log(log.add_parser("show", help="tell what happened"), _show)
    _add_log(log.add_parser("check", help="check every invariant"), _check)
    errors = commands.add_parser("errors", help="look codes up").add_subparsers(
        required=True, metavar="COMMAND"
    )
    _add_errors_list(errors.add_parser("list", help="tell every code"))
    _add_errors_explain(errors.add_parser("explain", help="tell what to do about one"))
    return parser


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("task", metavar="TASK")
    _add_common(parser)
    parser.add_argument("--json", action="store_true", help="write the events as JSON lines")
    parser.set_defaults(command=_run)


def _add_demo(parser: argparse.ArgumentParser) -> None:
    _add_common(parser)
    parser.set_defaults(command=_demo)


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--model", metavar="NAME", help="PROVIDER:MODEL, or a server's own name; else DSH_MODEL"
    )
    parser.add_argument(
        "--base-url",
        metavar="URL",
        help="an OpenAI-compatible server; it gets OPENAI_API_KEY, if set",
    )
    parser.add_argument(
        "--root", metavar="DIR", type=Path, help="folder that the tools may use; here, if not given"
    )
    parser.add_argument("--log", metavar="FILE", type=Path, help="file of the session log")


def _add_log(parser: argparse.ArgumentParser, command: object) -> None:
    parser.add_argument("file", metavar="FILE")
    parser.set_defaults(command=command)


def _add_errors_list(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--range", metavar="RANGE", help="one range, such as 5xxx")
    parser.add_argument("--json", action="store_true", help="write a JSON array")
    parser.set_defaults(command=_list_codes)


def _add_errors_explain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("code", metavar="CODE|NUMBER")
    parser.add_argument("--json", action="store_true", help="write a JSON object")
    parser.set_defaults(command=_explain_code)


def _run(args: argparse.Namespace, screen: Screen) -> Exit:
    from dsh_cli._session import Job, run_job

    name = args.model or os.environ.get("DSH_MODEL") or DEFAULT_MODEL
    job = Job(args.task, _model(name, args.base_url), args.root or Path(), args.log or _new_log())
    return run_job(job, screen, as_json=args.json)


def _demo(args: argparse.Namespace, screen: Screen) -> Exit:
    from dsh_cli._demo import TASK, demo_model, prepare
    from dsh_cli._log import check_file, tell_failures
    from dsh_cli._session import Job, run_job

    scratch = Path(tempfile.mkdtemp(prefix="dsh-demo-"))
    root = args.root or scratch / "files"
    prepare(root)
    model = _model(args.model or "", args.base_url) if args.model or args.base_url else demo_model()
    job = Job(TASK, model, root, args.log or scratch / "session.jsonl")
    outcome = run_job(job, screen)
    if not job.log.exists():
        return outcome
    screen.line()
    tell_failures(str(job.log), screen)
    screen.line()
    return max(outcome, check_file(str(job.log), screen))


def _show(args: argparse.Namespace, screen: Screen) -> Exit:
    from dsh_cli._log import show_log

    return show_log(args.file, screen)


def _check(args: argparse.Namespace, screen: Screen) -> Exit:
    from dsh_cli._log import check_file

    return check_file(args.file, screen)


def _list_codes(args: argparse.Namespace, screen: Screen) -> Exit:
    from dsh_cli._codes import list_codes

    return list_codes(args.range, screen, as_json=args.json)


def _explain_code(args: argparse.Namespace, screen: Screen) -> Exit:
    from dsh_cli._codes import explain_code

    return explain_code(args.code, screen, as_json=args.json)


def _model(name: str, base_url: str | None) -> LlmAdapter:
    from dsh_llm.adapters import resolve_model

    return resolve_model(name, base_url=base_url)


def _new_log() -> Path:
    return Path(tempfile.mkdtemp(prefix="dsh-")) / "session.jsonl"
