"""The file tools: confined to their root, atomic, with a code for every refusal."""

import asyncio
import os
import resource
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from dsh_llm import SystemCallError, thaw_json
from dsh_tools import ToolExecutionResult, ToolRegistry
from dsh_tools.builtin import FsError, file_tools


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Make a root with a few files, and a secret beside it."""
    root = tmp_path / "root"
    (root / "docs").mkdir(parents=True)
    (root / "a.txt").write_text("one\ntwo\nthree\n")
    (root / "docs" / "b.txt").write_text("b")
    (tmp_path / "secret.txt").write_text("secret")
    return root


def call(root: Path, name: str, **arguments: Any) -> ToolExecutionResult:
    """Run one call of a tool under *root*."""
    return asyncio.run(ToolRegistry(file_tools(root)).execute(name, arguments))


def text_of(result: ToolExecutionResult) -> str:
    """Return the one text of a result."""
    (block,) = result.content
    assert block.type == "text"
    return block.text


def answer(root: Path, name: str, **arguments: Any) -> str:
    """Return the text of a call that succeeds."""
    result = call(root, name, **arguments)
    assert not result.is_error, text_of(result)
    return text_of(result)


def refused(root: Path, name: str, **arguments: Any) -> tuple[str, str]:
    """Return the class and the code of a call that fails, and see that it tells no machine path."""
    result = call(root, name, **arguments)
    assert result.error is not None
    assert str(root.parent) not in text_of(result)
    return result.error


def test_there_are_three_tools_that_say_what_they_take(root: Path) -> None:
    """Reading and listing may run side by side, writing may not."""
    tools = {tool.name: tool for tool in file_tools(root)}
    assert list(tools) == ["read_file", "list_files", "write_file"]
    assert [tool.concurrency_safe for tool in tools.values()] == [True, True, False]
    assert thaw_json(tools["read_file"].parameters["properties"]["start"]) == {
        "type": "integer",
        "minimum": 1,
        "default": 1,
        "description": "The first line to read, from 1.",
    }
    assert all(tool.description for tool in tools.values())


def test_a_root_must_be_there(tmp_path: Path) -> None:
    """The host is told at once, by the system's own error."""
    with pytest.raises(FileNotFoundError):
        file_tools(tmp_path / "nowhere")


# -- reading -----------------------------------------------------------------------------------


def test_a_root_must_be_a_folder(root: Path) -> None:
    """A file is refused when the tools are made, not when they are first used."""
    with pytest.raises(SystemCallError) as caught:
        file_tools(root / "a.txt")
    assert caught.value.code == "ENOTDIR"


def test_a_file_is_read_as_it_is(root: Path) -> None:
    """Line ends are kept, whichever they are; a path may be written with detours."""
    (root / "crlf.txt").write_bytes("a\r\nb\rc\n\xe9".encode())
    assert answer(root, "read_file", path="crlf.txt") == "a\r\nb\rc\n\xe9"
    assert answer(root, "read_file", path="docs/../docs/./b.txt") == "b"
    assert answer(root, "read_file", path=str(root / "docs" / "b.txt")) == "b"
    (root / "empty.txt").touch()
    assert answer(root, "read_file", path="empty.txt") == ""


@pytest.mark.parametrize("name", ["read_file", "write_file"])
def test_the_root_itself_is_no_file(root: Path, name: str) -> None:
    """It is refused as any folder is."""
    more = {"content": "x"} if name == "write_file" else {}
    result = call(root, name, path=".", **more)
    assert result.error is not None
    assert result.error.code == "EISDIR"


def test_a_part_of_a_file_says_where_to_read_on(root: Path) -> None:
    """Only when there is more; a start behind the end is said to be one."""
    assert answer(root, "read_file", path="a.txt", start=2, lines=1) == (
        "two\n\n[there is more: read on from line 3]"
    )
    assert answer(root, "read_file", path="a.txt", start=3, lines=1) == "three\n"
    assert answer(root, "read_file", path="a.txt", start=4) == ""
    assert answer(root, "read_file", path="a.txt", start=5) == "['a.txt' has fewer than 5 lines]"


def test_a_long_answer_is_cut_at_a_line_and_says_so(root: Path) -> None:
    """Nothing is cut silently; a line that is too long alone is refused."""
    (root / "long.txt").write_text(("x" * 49_999 + "\n") * 3)
    text = answer(root, "read_file", path="long.txt")
    assert text.endswith("\n[there is more: read on from line 3]")
    assert len(text) < 101_000
    (root / "line.txt").write_text("x" * 100_001)
    assert refused(root, "read_file", path="line.txt") == ("FsError", "FS_TOO_LARGE")


def test_bytes_that_are_not_utf8_are_no_text(root: Path) -> None:
    """They are refused, not replaced."""
    (root / "image.png").write_bytes(b"\x89PNG\xff")
    assert refused(root, "read_file", path="image.png") == ("FsError", "FS_NOT_TEXT")


def test_what_the_system_refuses_has_its_code(root: Path) -> None:
    """By errno, under the name that the model used."""
    (root / "loop").symlink_to("loop")
    assert refused(root, "read_file", path="missing.txt") == ("SystemCallError", "ENOENT")
    assert refused(root, "read_file", path="docs") == ("SystemCallError", "EISDIR")
    assert refused(root, "read_file", path="a.txt/x") == ("SystemCallError", "ENOTDIR")
    assert refused(root, "read_file", path="x" * 300) == ("SystemCallError", "ENAMETOOLONG")
    assert refused(root, "read_file", path="loop") == ("SystemCallError", "ELOOP")
    assert refused(root, "list_files", path="a.txt") == ("SystemCallError", "ENOTDIR")
    assert refused(root, "list_files", path="nowhere") == ("SystemCallError", "ENOENT")
    assert refused(root, "write_file", path="docs", content="") == ("SystemCallError", "EISDIR")
    assert refused(root, "write_file", path="no/c.txt", content="") == ("SystemCallError", "ENOENT")
    assert "'missing.txt'" in text_of(call(root, "read_file", path="missing.txt"))


# -- the root ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["../secret.txt", "docs/../../secret.txt", "/etc/passwd", "out", "link"]
)
@pytest.mark.parametrize("name", ["read_file", "write_file", "list_files"])
def test_no_path_leaves_the_root(root: Path, path: str, name: str) -> None:
    """Neither upwards nor absolute nor through a link, and nothing is touched."""
    (root / "out").symlink_to(root.parent)
    (root / "link").symlink_to(root.parent / "secret.txt")
    content = {"content": "x"} if name == "write_file" else {}
    for each in (path, f"{path}/more"):
        assert refused(root, name, path=each, **content) == ("FsError", "FS_SANDBOX_DENIED")
    assert (root.parent / "secret.txt").read_text() == "secret"


def test_a_folder_beside_the_root_with_a_longer_name_is_outside(root: Path) -> None:
    """Names are compared part by part."""
    (root.parent / "root2").mkdir()
    assert refused(root, "list_files", path="../root2") == ("FsError", "FS_SANDBOX_DENIED")


def test_a_link_inside_the_root_is_followed(root: Path) -> None:
    """Also when the root itself was reached through one."""
    (root / "inside").symlink_to("docs")
    (root.parent / "alias").symlink_to("root")
    assert answer(root.parent / "alias", "read_file", path="inside/b.txt") == "b"


def test_a_path_with_a_null_is_no_path(root: Path) -> None:
    """Coded, and not by Python's own error."""
    result = call(root, "read_file", path="a\0b")
    assert result.error == ("FsError", "FS_INVALID_PATH")


def test_a_pipe_is_not_opened(root: Path) -> None:
    """It would block for ever."""
    os.mkfifo(root / "pipe")
    assert refused(root, "read_file", path="pipe") == ("FsError", "FS_NOT_A_FILE")
    assert refused(root, "write_file", path="pipe", content="") == ("FsError", "FS_NOT_A_FILE")


# -- listing -----------------------------------------------------------------------------------


def test_a_folder_is_listed_in_the_order_of_names(root: Path) -> None:
    """Folders with a slash, files with their size, links as links, odd names made visible."""
    (root / "Z.txt").write_text("zz")
    (root / "link").symlink_to("docs")
    (root / "new\nline").touch()
    assert answer(root, "list_files").splitlines() == [
        "Z.txt (2 bytes)",
        "a.txt (14 bytes)",
        "docs/",
        "link (link)",
        "'new\\nline' (0 bytes)",
    ]


def test_an_empty_folder_and_a_huge_one_say_so(root: Path) -> None:
    """An answer is never empty, and never endless."""
    (root / "empty").mkdir()
    assert answer(root, "list_files", path="empty") == "[the folder is empty]"
    many = root / "many"
    many.mkdir()
    for n in range(1_002):
        (many / f"{n:04}").touch()
    lines = answer(root, "list_files", path="many").splitlines()
    assert (len(lines), lines[-1]) == (1_001, "[and 2 more]")


# -- writing -----------------------------------------------------------------------------------


def test_a_file_is_written_whole(root: Path) -> None:
    """New or in place of another, whose mode it keeps; nothing else is left in the folder."""
    assert answer(root, "write_file", path="docs/c.txt", content="é\r\n") == (
        "wrote 4 bytes to docs/c.txt"
    )
    assert (root / "docs" / "c.txt").read_bytes() == "é\r\n".encode()
    (root / "a.txt").chmod(0o751)
    answer(root, "write_file", path="a.txt", content="new")
    assert (root / "a.txt").read_text() == "new"
    assert (root / "a.txt").stat().st_mode & 0o777 == 0o751
    assert sorted(os.listdir(root / "docs")) == ["b.txt", "c.txt"]  # noqa: PTH208  # Why: hidden names count


def test_a_link_is_written_through(root: Path) -> None:
    """The file that it leads to is replaced, not the link."""
    (root / "link.txt").symlink_to("docs/b.txt")
    answer(root, "write_file", path="link.txt", content="new")
    assert (root / "link.txt").is_symlink()
    assert (root / "docs" / "b.txt").read_text() == "new"


@contextmanager
def largest_file(size: int) -> Generator[None]:
    """Let no file of this process grow beyond *size* bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_write_that_fails_changes_nothing(root: Path) -> None:
    """The old file is whole, and no scratch file is left."""
    before = sorted(os.listdir(root))  # noqa: PTH208  # Why: hidden names count
    with largest_file(1_000):
        failure = refused(root, "write_file", path="a.txt", content="x" * 10_000)
    assert failure == ("SystemCallError", "EFBIG")
    assert (root / "a.txt").read_text() == "one\ntwo\nthree\n"
    assert sorted(os.listdir(root)) == before  # noqa: PTH208  # Why: hidden names count


def test_the_refusals_are_one_class() -> None:
    """For those who call the tools themselves."""
    assert FsError("x", "FS_NOT_TEXT").name == "FsError"
