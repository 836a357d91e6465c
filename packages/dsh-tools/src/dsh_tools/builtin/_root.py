"""A folder that no path leaves, and refusals with codes of their own."""

import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from dsh_llm import HarnessError, SystemCallError

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


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
            raise SystemCallError(refusal, seam="tool")

    def locate(self, path: str) -> Path:
        """Return where *path* leads, through all symbolic links.

        Raises:
            FsError: `FS_SANDBOX_DENIED`, `FS_INVALID_PATH`.
        """
        if "\0" in path:
            raise FsError(f"{path!r} is no path", "FS_INVALID_PATH", effect="none")
        # Why: Path.resolve() raises on a loop of links; here the system says ELOOP when it is used.
        with named(path):
            real = Path(os.path.realpath(self._folder / path))
        if not real.is_relative_to(self._folder):
            raise FsError(f"{path!r} is outside the root", "FS_SANDBOX_DENIED", effect="none")
        return real

    @contextmanager
    def folder(self, real: Path) -> Generator[int]:
        """Open the folder at *real*, a path that `locate` gave, and give its descriptor.

        It is opened step by step from the root, and no step follows a link: one that was put
        there since `locate` looked leads nowhere.

        Raises:
            OSError: Whatever the system says; `ENOTDIR` for what is no folder, or a link by now.
        """
        descriptor = os.open(self._folder, _FOLDER)
        try:
            for part in real.relative_to(self._folder).parts:
                inner = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = inner
            yield descriptor
        finally:
            os.close(descriptor)

    @contextmanager
    def beside(self, real: Path) -> Generator[int]:
        """Open the folder that *real* is in, as `folder` does.

        Raises:
            OSError: As `folder`; `EISDIR` for the root itself.
        """
        if real == self._folder:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        with self.folder(real.parent) as descriptor:
            yield descriptor


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


def require_file(path: str, status: os.stat_result) -> None:
    """Refuse what is no regular file.

    Raises:
        FsError: `FS_NOT_A_FILE` for a pipe or a device, which would block.
        OSError: `EISDIR` for a folder.
    """
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(status.st_mode):
        raise FsError(f"{path!r} is no regular file", "FS_NOT_A_FILE", effect="none")
