"""Faults of the disk under a daemon that runs: what tests/mount/fault_shim.cc is told, and what it met."""

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
        """A mount whose daemon meets what is armed."""
        return self.case.mount(*options, prefix=("env", f"LD_PRELOAD={SHIM}", f"ARBORFS_FAULTS={self.file}"), **more)

    def arm(self, operations, path, error=errno.EIO, *, at=1, count=FOR_GOOD, keep=-1, kills=False):
        """From now on the `at`-th of the operations on a path that contains `path` gets `error`, and those behind it
        until there were `count`. With `keep` the first of them takes so many bytes, and succeeds short. With `kills` it
        is the last thing that the daemon does: after `keep` bytes; or before it, after it if `keep` is above 0."""
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
        """Armed inside the block, which must meet the fault."""
        self.arm(*plan, **more)
        try:
            yield
        finally:
            self.disarm()
        assert self.met, "no operation met the fault"

    @property
    def seen(self):
        """How many operations of the kind there were since it was armed."""
        return _COUNTS.unpack_from(self.plan, _PLAN.size)[0]

    @property
    def met(self):
        """How many of them met the fault."""
        return _COUNTS.unpack_from(self.plan, _PLAN.size)[1]


def log_of(session):
    """What the path of a session's log contains and that of its lock and drafts does not."""
    return f"/{session.path.name}"
