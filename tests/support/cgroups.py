"""Control groups for tests: daemons with a memory limit."""

import contextlib
import os
from pathlib import Path

from mounting import Skip, eventually

ROOT = Path("/sys/fs/cgroup")


class MemoryLimit:
    """A new control group, version 1 or 2, whose processes together may use `limit` bytes, swap included. Above the
    limit the kernel first gives back the pages of files, then kills a process of the group. As a context manager it
    removes the group at the end, once its processes are gone. Skips where this machine does not allow such a group."""

    def __init__(self, limit):
        self.limit = limit
        self.path = None

    def __enter__(self):
        try:
            self.path = self._make()
        except OSError as error:
            raise Skip(f"no control group with a memory limit can be made here: {error}") from None
        return self

    def __exit__(self, *_):
        with contextlib.suppress(AssertionError):
            eventually(5, lambda: not (self.path / "cgroup.procs").read_text(), "the group is empty")
        with contextlib.suppress(OSError):
            self.path.rmdir()

    def prefix(self):
        """The words to put before a command to run it in the group."""
        return ("/bin/sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', self.path)

    def killed(self):
        """How many processes of the group the kernel has killed."""
        for name in ("memory.events", "memory.oom_control"):
            with contextlib.suppress(FileNotFoundError):
                words = dict(line.split() for line in (self.path / name).read_text().splitlines())
                return int(words["oom_kill"])
        raise AssertionError("the group does not report which process the kernel killed")

    def _make(self):
        old = ROOT / "memory"
        parent = old if old.is_dir() else self._parent_of_version_2()
        path = parent / f"arborfs-test-{os.getpid()}"
        path.mkdir()
        try:
            if parent is old:
                self._set(path, "memory.limit_in_bytes", self.limit)
                self._set(path, "memory.memsw.limit_in_bytes", self.limit, optional=True)
            else:
                self._set(path, "memory.max", self.limit)
                self._set(path, "memory.swap.max", 0, optional=True)
        except OSError:
            path.rmdir()
            raise
        return path

    @staticmethod
    def _parent_of_version_2():
        control = ROOT / "cgroup.subtree_control"
        if "memory" not in control.read_text().split():
            control.write_text("+memory")
        return ROOT

    @staticmethod
    def _set(path, name, value, optional=False):
        if optional and not (path / name).exists():
            return
        (path / name).write_text(str(value))
