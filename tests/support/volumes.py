"""New file systems for a case: small ones that can be filled, cut off from power, and made read-only. A mount below the
case's folder is removed with the case, and its loop device with it."""

import contextlib
import errno
import fcntl
import os
import struct

from agentdir import AgentDir
from mounting import Skip, eventually, run

MIB = 1 << 20
_EXT4_IOC_SHUTDOWN = 0x8004587D  # _IOR('X', 125, uint32_t)
_NO_LOG_FLUSH = 2
_FIFREEZE, _FITHAW = 0xC0045877, 0xC0045878  # _IOWR('X', 119 and 120, int)


class Volume:
    """A mounted file system with an agent dir in it, which becomes the agent dir of the case."""

    def __init__(self, case, source, kind, options):
        self.point = case.new_path("volume")
        self.point.mkdir()
        self._mount = ["mount", "-t", kind, "-o", options, source, self.point]
        self.mount()
        case.agent = AgentDir(self.point / "agent", case.home)

    def mount(self):
        if os.geteuid() != 0:
            raise Skip("only root mounts file systems")
        done = run(*self._mount, check=False)
        if done.returncode != 0:
            raise Skip(f"no such file system can be mounted: {done.stderr.decode().strip()}")

    def unmount(self):
        eventually(10, lambda: run("umount", self.point, check=False).returncode == 0, "unmounted")

    def remount(self, options):
        """Room that arborfs has just reserved keeps a volume busy for half a second (CONTRACT.md 4.2)."""
        command = ("mount", "-o", f"remount,{options}", self.point)
        eventually(10, lambda: run(*command, check=False).returncode == 0, "remounted")

    # -- room

    def free_bytes(self):
        found = os.statvfs(self.point)
        return found.f_bavail * found.f_bsize

    @contextlib.contextmanager
    def filled(self, leaving=0):
        """Full inside the block, except for `leaving` bytes."""
        filler = self.point / "filler"
        try:
            with open(filler, "wb", buffering=0) as file:
                _write_until_full(file, max(self.free_bytes() - leaving, 0) if leaving else None)
            yield
        finally:
            filler.unlink()
            os.sync()

    # -- freezing

    @contextlib.contextmanager
    def frozen(self):
        """Inside the block every write waits, as on a disk that does not answer; reads continue."""
        folder = os.open(self.point, os.O_RDONLY)
        try:
            fcntl.ioctl(folder, _FIFREEZE, 0)
            try:
                yield
            finally:
                fcntl.ioctl(folder, _FITHAW, 0)
        finally:
            os.close(folder)

    # -- power

    def cut_power(self):
        """Loses everything that was not synced: nothing more is written to the device, not even the journal."""
        folder = os.open(self.point, os.O_RDONLY)
        try:
            fcntl.ioctl(folder, _EXT4_IOC_SHUTDOWN, struct.pack("=I", _NO_LOG_FLUSH))
        except OSError as error:
            raise Skip(f"the power of this file system cannot be cut: {error.strerror}") from None
        finally:
            os.close(folder)


def _write_until_full(file, wanted):
    """Writes `wanted` bytes, or all that fit: large pieces first, smaller ones as space runs out."""
    piece = 1 << 16
    while piece and wanted != 0:
        try:
            done = file.write(bytes(piece if wanted is None else min(piece, wanted)))
            os.fsync(file.fileno())
            wanted = None if wanted is None else wanted - done
        except OSError as error:
            assert error.errno == errno.ENOSPC, error
            piece >>= 1


class Filler:
    """A file that takes all space of a volume but a wanted part, as often as the wanted part changes."""

    def __init__(self, volume):
        self.volume, self.path, self.file = volume, volume.point / "filler", None

    def __enter__(self):
        self.file = open(self.path, "wb", buffering=0)
        return self

    def __exit__(self, *_):
        self.file.close()
        self.path.unlink()
        os.sync()

    def leave(self, wanted):
        """Leaves so many bytes free, to the block; everything if it is None."""
        size = os.fstat(self.file.fileno()).st_size
        if wanted is None:
            self._resize(size, 0)
            return
        block = os.statvfs(self.volume.point).f_frsize
        for _ in range(4):
            more = (self.volume.free_bytes() - wanted) // block * block
            if more == 0:
                return
            size = self._resize(size, max(size + more, 0))

    def _resize(self, size, wanted):
        if wanted < size:
            self.file.truncate(wanted)
        elif wanted > size:
            with contextlib.suppress(OSError):  # blocks for the map of the file are needed too
                os.posix_fallocate(self.file.fileno(), size, wanted - size)
        os.fsync(self.file.fileno())  # until then the kernel keeps what was freed
        return os.fstat(self.file.fileno()).st_size


def tmpfs(case, size=1 * MIB, options=""):
    return Volume(case, "none", "tmpfs", f"size={size}{options}")


def ext4(case, size=8 * MIB, features="", block=4096, inodes=None):
    """An ext4 in a file, on a loop device. `features` as for mkfs.ext4 -O, `inodes` as for -N."""
    image = case.new_path("image")
    with open(image, "wb") as file:
        file.truncate(size)
    run("mkfs.ext4", "-q", "-F", "-m", "0", "-b", str(block), *(["-O", features] if features else []),
        *(["-N", str(inodes)] if inodes else []), image)
    return Volume(case, image, "ext4", "loop")
