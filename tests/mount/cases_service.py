"""A mount as a systemd service; a socket stands in for the service manager."""

import contextlib
import os
import shlex
import shutil
import signal
import socket

from mounting import BINARY, PATIENCE, SOURCE_DIR, equal, eventually, is_mounted, run, variants


@contextlib.contextmanager
def service_manager(case, name):
    """A socket that programs of this case notify, as systemd's socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind("\0" + name[1:] if name.startswith("@") else name)
        manager.settimeout(15 * PATIENCE)
        case.environment["NOTIFY_SOCKET"] = name
        yield manager


def is_silent(manager):
    """True if no message waits to be received."""
    manager.setblocking(False)
    try:
        manager.recv(4096)
    except BlockingIOError:
        return True
    return False


@variants(path={"is_abstract": False}, abstract={"is_abstract": True})
def test_service_sends_ready_once_mounted(case, is_abstract):
    """With -f the daemon sends READY=1 to the service manager once the mount works, and STOPPING=1 when it ends."""
    case.agent.talk()
    name = f"@{case.root.name}" if is_abstract else os.fspath(case.new_path("notify"))
    with service_manager(case, name) as manager:
        mount = case.mount()
        daemon = case.spawn([*mount.command[:-1], "-f", mount.path])
        equal(manager.recv(4096), b"READY=1")
        assert is_mounted(mount.path), "not mounted"
        assert "README.md" in os.listdir(mount.path)
        daemon.send_signal(signal.SIGTERM)
        equal(manager.recv(4096), b"STOPPING=1")
        equal(daemon.wait(10 * PATIENCE), 0, "exit status")
        assert not is_mounted(mount.path), "still mounted"


def test_failed_or_background_mount_sends_no_ready(case):
    """A mount that fails, and one in the background, send nothing to the service manager."""
    case.agent.talk()
    with service_manager(case, os.fspath(case.new_path("notify"))) as manager:
        failed = case.arborfs("mount", "--agent-dir", case.agent.path, "-f", case.root / "nowhere", check=False)
        equal(failed.returncode, 1, "exit status")
        mount = case.mount()
        case.arborfs(*mount.command[1:])
        case.arborfs("umount", mount.path)
        assert is_silent(manager), "told"


def test_mount_works_without_a_service_manager(case):
    """A NOTIFY_SOCKET without a listener does no harm."""
    case.agent.talk()
    for name in (os.fspath(case.root / "gone"), "@gone", "vsock:1:2", "/" + "x" * 200, ""):
        case.environment["NOTIFY_SOCKET"] = name
        with case.mount() as mount:
            eventually(10, lambda: "README.md" in os.listdir(mount.path), "serves")


def unit_commands():
    """The commands of the unit by the name of the setting, and its environment."""
    lines = (SOURCE_DIR / "packaging" / "systemd" / "arborfs.service").read_text(encoding="utf-8").splitlines()
    settings = [line.split("=", 1) for line in lines if "=" in line and not line.startswith("#")]
    variables = dict(value.split("=", 1) for name, value in settings if name == "Environment")
    return {name: value for name, value in settings if name.startswith("Exec")}, variables


def test_unit_mounts_read_only_and_unmounts(case):
    """The commands of the unit, run as systemd runs them, report ready, mount read-only and unmount with ExecStop."""
    case.agent.talk()
    (case.home / ".omp").mkdir()
    (case.home / ".omp" / "agent").symlink_to(case.agent.path)
    programs = case.new_path("bin")
    programs.mkdir()
    (programs / "arborfs").symlink_to(shutil.which(BINARY))
    commands, variables = unit_commands()
    case.environment["PATH"] = f"{programs}:{os.environ['PATH']}"
    for name, value in variables.items():
        case.environment[name] = value.replace("%h", os.fspath(case.home))

    def words(name):
        line = commands[name].removeprefix("-")
        for variable in variables:
            line = line.replace("${%s}" % variable, shlex.quote(case.environment[variable]))
        return shlex.split(line)

    with service_manager(case, os.fspath(case.new_path("notify"))) as manager:
        run(*words("ExecStartPre"), env=case.environment)
        daemon = case.spawn(words("ExecStart"))
        equal(manager.recv(4096), b"READY=1")
        point = case.home / "sessions"
        assert is_mounted(point) and "README.md" in os.listdir(point), "not mounted"
        assert "new" not in os.listdir(point), "control files in a read-only mount"
        run(*words("ExecStop"), env=case.environment)
        equal(daemon.wait(10 * PATIENCE), 0, "exit status")
        run(*words("ExecStopPost"), env=case.environment, check=False)
        assert not is_mounted(point), "still mounted"
