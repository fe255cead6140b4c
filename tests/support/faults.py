"""Disk faults for a running daemon: the plan for tests/mount/fault_shim.cc, and its counts."""

import contextlib
import errno
import mmap
import os
import struct
from pathlib import Path

from mounting import Skip

WRITE, PWRITE, SYNC, TRUNCATE, RENAME, OPEN, FALLOCATE = (1 << bit for bit in range(7))
FOR_GOOD = 1 << 30
SHIM = os.environ.get("ARBORFS_FAULT_SHIM", "")

# struct Plan of the shim.
_PLAN = struct.Struct("=4IiIq")
_COUNTS = struct.Struct("=2I")
_PATH_AT, _SIZE = _PLAN.size + _COUNTS.size, 256


class Faults:
    """The plan that one daemon shares with a case."""

    def __init__(self, case):
        if not Path(SHIM).is_file():
            raise Skip("the library that lets the disk fail is not built")
        self.case = case
        self.file = case.new_path("faults")
        self.file.write_bytes(bytes(_SIZE))
        with open(self.file, "r+b") as file:
            self.plan = mmap.mmap(file.fileno(), _SIZE)

    def mount(self, *options, **more):
        """A mount whose daemon meets the armed faults."""
        return self.case.mount(*options, prefix=("env", f"LD_PRELOAD={SHIM}", f"ARBORFS_FAULTS={self.file}"), **more)

    def arm(self, operations, path, error=errno.EIO, *, at=1, count=FOR_GOOD, keep=-1, kills=False):
        """From now on the `at`-th of these operations on a path that contains `path` fails with `error`, and so do the
        next ones, `count` in all. With `keep` the first of them takes that many bytes and succeeds short. With `kills`
        the daemon dies there: a write after `keep` bytes; another operation before it is done, or after it if `keep` is
        above 0."""
        self.disarm()
        text = os.fsencode(path)
        assert len(text) < _SIZE - _PATH_AT, path
        self.plan[_PATH_AT:] = text.ljust(_SIZE - _PATH_AT, b"\0")
        self.plan[_PLAN.size:_PATH_AT] = bytes(_COUNTS.size)
        self.plan[4:_PLAN.size] = _PLAN.pack(0, operations, at, count, error, int(kills), keep)[4:]
        self.plan[:4] = struct.pack("=I", 1)

    def disarm(self):
        self.plan[:4] = bytes(4)

    @contextlib.contextmanager
    def armed(self, *plan, **more):
        """Arms the plan inside the block; fails if no operation met the fault."""
        self.arm(*plan, **more)
        try:
            yield
        finally:
            self.disarm()
        assert self.met, "no operation met the fault"

    @property
    def seen(self):
        """How many operations of these kinds there were since it was armed."""
        return _COUNTS.unpack_from(self.plan, _PLAN.size)[0]

    @property
    def met(self):
        """How many of them met the fault."""
        return _COUNTS.unpack_from(self.plan, _PLAN.size)[1]


def log_of(session):
    """A part of the path of a session's log that the paths of its lock and drafts do not contain."""
    return f"/{session.path.name}"
