"""How an error is copied, and how it crosses to another process or into JSON: as data, scrubbed.

A record is a mapping of JSON values: `v` (the form's version), `name`, `classes` (where to look for
the class, nearest first), `code`, `message`, `id`, and what else the error carries, each under its
own name: the fields of the base, `own` (a subclass's attributes), `args`, `os`, `notes`,
`traceback`, `cause` (any value), `during` (the error that was being handled) and `members` (of a
group). What JSON does not have is `{"$": kind, "of": data}`.
"""

from dsh_llm._crossing._pack import FORM, MAX_LINKS, pack, to_record
from dsh_llm._crossing._trace import traceback_text
from dsh_llm._crossing._twins import deep_twin_of, twin_of
from dsh_llm._crossing._unpack import from_record, unpack

__all__ = [
    "FORM",
    "MAX_LINKS",
    "deep_twin_of",
    "from_record",
    "pack",
    "to_record",
    "traceback_text",
    "twin_of",
    "unpack",
]
