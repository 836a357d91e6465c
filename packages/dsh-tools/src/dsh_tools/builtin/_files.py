"""Reading, listing and writing text files under a root."""

import os
import secrets
import stat
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from typing import Annotated, Any, Final

from pydantic import Field

from dsh_tools._define import define_tool
from dsh_tools._tool import Tool
from dsh_tools.builtin._root import FsError, Root, named, require_file

MAX_CHARACTERS: Final = 100_000
"""Longest answer of a reading, apart from its last line."""

MAX_ENTRIES: Final = 1_000
"""Most entries of a folder that one answer lists."""

_READING: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

Count = Annotated[int, Field(ge=1)]


def file_tools(root: str | os.PathLike[str]) -> list[Tool[..., Any]]:
    """Return `read_file`, `list_files` and `write_file`, confined to the folder *root*.

    No path leaves it: neither `..` nor an absolute path nor a symbolic link. What a tool refuses
    is an `FsError`, what the operating system refuses has its errno's name (`ENOENT`, `EACCES`).

    Raises:
        OSError: When *root* is no folder.
    """
    place = Root(root)

    @define_tool(concurrency_safe=True)
    def read_file(path: str, start: Count = 1, lines: Count = 2_000) -> str:
        """Read a text file. A long one ends with a note that says where to read on.

        Args:
            path: The file, relative to the root.
            start: The first line to read, from 1.
            lines: How many lines at most.
        """
        return _read(place, path, start, lines)

    @define_tool(concurrency_safe=True)
    def list_files(path: str = ".") -> str:
        """List a folder: folders with a slash at the end, files with their size in bytes.

        Args:
            path: The folder, relative to the root.
        """
        return _list(place, path)

    @define_tool
    def write_file(path: str, content: str) -> str:
        """Write a text file, in place of the one that is there. Its folder must exist.

        Args:
            path: The file, relative to the root.
            content: The whole new text.
        """
        return _write(place, path, content)

    return [read_file, list_files, write_file]


def _read(root: Root, path: str, start: int, lines: int) -> str:
    real = root.locate(path)
    with named(path), root.beside(real) as folder:
        handle = os.open(real.name, _READING, dir_fd=folder)
        with os.fdopen(_checked(path, handle), encoding="utf-8", newline="\n") as file:
            try:
                return _range(file.readline, path, start, lines)
            except UnicodeDecodeError as error:
                text = f"{path!r} is no UTF-8 text: {error.reason}"
                raise FsError(text, "FS_NOT_TEXT", cause=error, effect="none") from error


def _checked(path: str, handle: int) -> int:
    try:
        require_file(path, os.fstat(handle))
    except BaseException:
        os.close(handle)
        raise
    return handle


def _range(readline: Callable[[int], str], path: str, start: int, lines: int) -> str:
    take = partial(_line, readline, path)
    for _ in range(start - 1):
        if not take():
            return f"[{path!r} has fewer than {start} lines]"
    kept: list[str] = []
    size = 0
    while len(kept) < lines and size < MAX_CHARACTERS:
        line = take()
        if not line:
            return "".join(kept)
        kept.append(line)
        size += len(line)
    more = f"\n[there is more: read on from line {start + len(kept)}]" if take() else ""
    return "".join(kept) + more


def _line(readline: Callable[[int], str], path: str) -> str:
    line = readline(MAX_CHARACTERS + 1)
    if len(line) > MAX_CHARACTERS:
        text = f"{path!r} has a line of more than {MAX_CHARACTERS} characters"
        raise FsError(text, "FS_TOO_LARGE", effect="none")
    return line


def _list(root: Root, path: str) -> str:
    real = root.locate(path)
    with named(path), root.folder(real) as folder, os.scandir(folder) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
        shown = [_entry(each) for each in found[:MAX_ENTRIES]]
    if len(found) > MAX_ENTRIES:
        shown.append(f"[and {len(found) - MAX_ENTRIES} more]")
    return "\n".join(shown) or "[the folder is empty]"


def _entry(entry: "os.DirEntry[str]") -> str:
    name = entry.name if entry.name.isprintable() else ascii(entry.name)
    if entry.is_symlink():
        return f"{name} (link)"
    if entry.is_dir(follow_symlinks=False):
        return f"{name}/"
    return f"{name} ({entry.stat(follow_symlinks=False).st_size} bytes)"


def _write(root: Root, path: str, content: str) -> str:
    real = root.locate(path)
    data = content.encode()
    with named(path), root.beside(real) as folder:
        _replace(folder, real.name, data, _mode(path, folder, real.name))
    return f"wrote {len(data)} bytes to {path}"


def _mode(path: str, folder: int, name: str) -> int | None:
    """Return the mode of the file that will be replaced, which must be one that may be written."""
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    require_file(path, status)
    # Why: replacing a file asks only its folder; opening it asks the file.
    os.close(os.open(name, os.O_WRONLY | os.O_NOFOLLOW, dir_fd=folder))
    return stat.S_IMODE(status.st_mode)


def _replace(folder: int, name: str, data: bytes, mode: int | None) -> None:
    scratch = f".dsh-{secrets.token_hex(8)}.tmp"
    with ExitStack() as cleanup:
        handle = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666, dir_fd=folder)
        cleanup.callback(_discard, folder, scratch)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(handle)
            if mode is not None:
                os.fchmod(handle, mode)
        os.replace(scratch, name, src_dir_fd=folder, dst_dir_fd=folder)


def _discard(folder: int, scratch: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(scratch, dir_fd=folder)
