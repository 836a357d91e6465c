"""A folder that no path leaves, and refusals with codes of their own."""

import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from dsh_llm import HarnessError, SystemCallError


class FsError(HarnessError):
    """A refusal of ours; what the operating system refuses has its errno's name instead.

    Who acts: the model. Codes: `FS_SANDBOX_DENIED` for a path outside the root, `FS_INVALID_PATH`
    for what is no path, `FS_NOT_A_FILE` for a pipe or a device, `FS_NOT_TEXT` for bytes that are
    not UTF-8, `FS_TOO_LARGE` for a line that is longer than an answer may be.
    """


class Root:
    """The folder that the tools see. Paths are relative to it."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """Resolve *folder*, once.

        Raises:
            OSError: When there is no such folder.
            SystemCallError: `ENOTDIR` for a file.
        """
        self._folder = Path(folder).resolve(strict=True)
        if not self._folder.is_dir():
            refusal = OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
            raise SystemCallError(refusal)

    def locate(self, path: str) -> Path:
        """Return where *path* leads, through all symbolic links.

        Raises:
            FsError: `FS_SANDBOX_DENIED`, `FS_INVALID_PATH`.
        """
        if "\0" in path:
            raise FsError(f"{path!r} is no path", "FS_INVALID_PATH", effect="none")
        # Why: Path.resolve() raises on a loop of links; here the system says ELOOP when it is used.
        real = Path(os.path.realpath(self._folder / path))
        if not real.is_relative_to(self._folder):
            raise FsError(f"{path!r} is outside the root", "FS_SANDBOX_DENIED", effect="none")
        return real


@contextmanager
def named(path: str) -> Generator[None]:
    """Let the operating system's errors name *path* as the model wrote it.

    Raises:
        OSError: Whatever was raised inside, under that name.
    """
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from error


def require_file(path: str, real: Path) -> os.stat_result:
    """Return the status of the file at *real*.

    Raises:
        FsError: `FS_NOT_A_FILE` for a pipe or a device, which would block.
        OSError: Whatever the system says; `EISDIR` for a folder.
    """
    status = real.stat()
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(status.st_mode):
        raise FsError(f"{path!r} is no regular file", "FS_NOT_A_FILE", effect="none")
    return status
