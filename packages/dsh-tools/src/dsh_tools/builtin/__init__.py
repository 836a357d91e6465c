"""Ready-made tools: files, confined to a folder."""

from dsh_tools.builtin._files import file_tools
from dsh_tools.builtin._root import FsError

__all__ = ["FsError", "file_tools"]
