"""Mounts requested by the kernel's autofs: through automount(8), and the way systemd uses autofs."""

import contextlib
import ctypes
import fcntl
import os
import select
import shlex
import shutil
import signal
import struct
from pathlib import Path

from agentdir import backdate, started
from mounting import (BINARY, PATIENCE, Skip, detach, equal, eventually, is_mounted, mount_line, needs, needs_root, run)

IDLE_SECONDS = 2  # how long a mount is idle before automount unmounts it
IOC_READY, IOC_CATATONIC = 0x9360, 0x9362
MISSING_DIRECT = 5
PACKET = struct.Struct("=iiIIQIIIII256s")  # autofs_v5_packet


def require_autofs():
    """Skips where the kernel has no autofs."""
    names = Path("/proc/filesystems").read_text(encoding="ascii").split()
    if "autofs" not in names and run("modprobe", "autofs4", check=False).returncode != 0:
        raise Skip("the kernel has no autofs")


def daemons_of(point):
    """The arborfs processes that have this mount point on their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if words[0].endswith(b"arborfs") and os.fsencode(point) in words:
                found.append(int(entry.name))
    return found


class Automounter:
    """automount(8) in a mount namespace of its own, where `arborfs` is the binary under test."""

    def __init__(self, case, options):
        self.case = case
        folder = case.new_path("automount")
        folder.mkdir()
        self.root = folder / "auto"
        self.root.mkdir()
        self.point = self.root / "sessions"
        (folder / "map").write_text(f"sessions -fstype=fuse.arborfs,{options} :{case.agent.path}\n")
        (folder / "master").write_text(f"{self.root} file:{folder}/map --timeout={IDLE_SECONDS}\n")
        self.script = "\n".join([
            "set -e",
            "mount -t tmpfs none /usr/local/bin",
            "mount -t tmpfs none /run",
            f"printf '#!/bin/sh\\nexport HOME=%s XDG_STATE_HOME=%s\\nexec %s \"$@\"\\n' {shlex.quote(str(case.home))}"
            f" {shlex.quote(case.environment['XDG_STATE_HOME'])} {shlex.quote(shutil.which(BINARY))}"
            " > /usr/local/bin/arborfs",
            "chmod +x /usr/local/bin/arborfs",
            f"exec automount -f -v -p {folder}/pid {folder}/master"])
        self.process = None

    def __enter__(self):
        self.process = self.case.spawn(["unshare", "--mount", "--propagation", "private", "bash", "-c", self.script])
        eventually(15, lambda: self.is_of_type("autofs", self.root), "automount runs")
        return self

    def __exit__(self, *_):
        """Kills a daemon that hangs before it has mounted, because automount would wait for it."""
        for pid in daemons_of(self.point):
            with contextlib.suppress(ProcessLookupError):
                if self.process.poll() is None and not self.is_of_type("fuse.arborfs", self.point):
                    os.kill(pid, signal.SIGKILL)
        self.process.send_signal(signal.SIGTERM)
        with contextlib.suppress(Exception):
            self.process.wait(10)
        self.case.end(self.process)

    def is_of_type(self, kind, path):
        """Reads the mount table, because a lookup of the path would mount it."""
        if self.process.poll() is not None:
            raise RuntimeError("automount ended")
        table = Path(f"/proc/{self.process.pid}/mountinfo").read_text(encoding="utf-8")
        return any(line.split()[4] == str(path) and f" - {kind} " in line for line in table.splitlines())

    def run(self, script, **options):
        """The output of a script that runs in automount's mount namespace."""
        return run("nsenter", "-t", str(self.process.pid), "--mount", "bash", "-euc", script, **options).stdout.decode()


@needs_root
@needs("automount", "mount.fuse3", "unshare", "nsenter")
def test_autofs_mount_expires_and_is_mounted_again(case):
    """The first lookup mounts a map entry of type fuse.arborfs, which can be listed and written. When idle the mount
    and its daemon go away, and the next lookup mounts it again."""
    require_autofs()
    session = case.agent.talk()
    backdate(session.path)
    with Automounter(case, "rw") as automounter:
        folder = automounter.point / "projects" / "srv-shop" / session.name
        equal(automounter.run(f"ls {automounter.point}/projects", timeout=15), "srv-shop\n", "the first lookup")
        automounter.run(f"echo 'by automount' > {folder}/append", timeout=15)
        assert b"by automount" in session.path.read_bytes(), "what was written"
        for _ in range(2):
            eventually(60, lambda: not automounter.is_of_type("fuse.arborfs", automounter.point), "expired")
            eventually(10, lambda: not daemons_of(automounter.point), "the daemon left with its mount")
            log = automounter.run(f"cat {folder}/raw.jsonl", timeout=15)
            equal(log.encode(), session.path.read_bytes(), "the log after another lookup")


class DirectAutofs:
    """An autofs mounted on a folder itself, as systemd does for x-systemd.automount: every process outside this one's
    process group waits in the kernel for the mount."""

    def __init__(self, point):
        self.point = point
        self.requests, self._writer = os.pipe()
        libc = ctypes.CDLL(None, use_errno=True)
        options = f"fd={self._writer},pgrp={os.getpgrp()},minproto=5,maxproto=5,direct"
        if libc.mount(b"systemd-1", os.fsencode(point), b"autofs", 0, options.encode()) != 0:
            raise Skip(f"cannot mount an autofs: {os.strerror(ctypes.get_errno())}")
        os.close(self._writer)
        self._root = os.open(point, os.O_RDONLY | os.O_DIRECTORY)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Fails the lookups of processes that still wait."""
        fcntl.ioctl(self._root, IOC_CATATONIC, 0)
        os.close(self._root)
        os.close(self.requests)
        detach(self.point)

    def next_request(self):
        """The number of the next request to mount."""
        ready, _, _ = select.select([self.requests], [], [], 10 * PATIENCE)
        assert ready, "no lookup asked for the mount"
        packet = PACKET.unpack_from(os.read(self.requests, 4096))
        equal(packet[1], MISSING_DIRECT, "type of the request")
        return packet[2]

    def answer(self, number):
        """Lets the waiting processes continue."""
        fcntl.ioctl(self._root, IOC_READY, number)


@needs_root
@needs("mount.fuse3")
def test_direct_autofs_is_mounted_again_after_unmount(case):
    """An autofs as systemd makes it for x-systemd.automount: the daemon stays in the process group of mount(8), which
    owns the autofs, until it has mounted. After an unmount the next lookup mounts again."""
    require_autofs()
    session = case.agent.talk()
    point = case.new_path("mnt")
    point.mkdir()
    programs = case.new_path("bin")
    programs.mkdir()
    (programs / "arborfs").symlink_to(shutil.which(BINARY))
    environment = dict(case.environment, PATH=f"{programs}:{os.environ['PATH']}")
    with DirectAutofs(point) as autofs:
        for _ in range(2):
            output = case.new_path("listing")
            looking = case.spawn(["ls", point / "projects" / "srv-shop"], output)
            number = autofs.next_request()
            run("mount.fuse3", case.agent.path, point, "-t", "fuse.arborfs", "-o", "ro", env=environment, timeout=15)
            autofs.answer(number)
            equal(looking.wait(10 * PATIENCE), 0, "exit status of ls")
            assert f"{started(session)}-turn-1" in output.read_text(), output.read_text()
            equal(mount_line(point)[-3], "fuse.arborfs", "type")
            run("umount", point)
            eventually(10, lambda: not daemons_of(point), "the daemon left")
            assert is_mounted(point), "the autofs below"
