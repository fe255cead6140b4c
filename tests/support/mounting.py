"""Real mounts for tests: starts the daemon, waits for events instead of sleeping, always cleans up."""

import contextlib
import functools
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from agentdir import AgentDir, rich_store

BINARY = os.environ.get("ARBORFS_BINARY", "arborfs")
SOURCE_DIR = Path(os.environ.get("ARBORFS_SOURCE_DIR", Path(__file__).resolve().parents[2]))
# Builds with sanitizers are slower; their test runs wait this many times longer.
PATIENCE = float(os.environ.get("ARBORFS_TEST_PATIENCE", "1"))
SANITIZED = os.environ.get("ARBORFS_TEST_SANITIZED", "") not in ("", "0", "OFF")
MOUNT_DEADLINE = 15
COMMAND_DEADLINE = 30


class Skip(Exception):
    """This machine cannot run the case; the reason is shown."""


def needs(*programs):
    """Decorates a case that runs programs which may not be installed."""

    def decorate(case_function):
        @functools.wraps(case_function)
        def wrapped(case, **arguments):
            for program in programs:
                if shutil.which(program) is None:
                    raise Skip(f"{program} is not installed")
            return case_function(case, **arguments)

        return wrapped

    return decorate


def needs_root(case_function):
    """Decorates a case that changes users or binds folders."""

    @functools.wraps(case_function)
    def wrapped(case, **arguments):
        if os.geteuid() != 0:
            raise Skip("needs root")
        return case_function(case, **arguments)

    return wrapped


def concurrent(case_function):
    """Labels a case that keeps several processors busy."""
    case_function.labels = ("concurrent",)
    return case_function


def variants(**named):
    """Makes one case for each name, called with the keyword arguments given for it."""

    def decorate(case_function):
        case_function.variants = named
        return case_function

    return decorate


def require_fuse():
    """Skips where no user-space file system can be mounted."""
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError as error:
        raise Skip(f"/dev/fuse cannot be opened: {error.strerror}") from None


# -- waiting and measuring


def eventually(seconds, probe, what="the expected state"):
    """Calls `probe` for up to so many seconds until it returns something true, and returns that. Assertions and OS
    errors of the probe count as "not yet"."""
    deadline = time.monotonic() + seconds * PATIENCE
    while True:
        reason, late = None, time.monotonic() > deadline
        try:
            found = probe()
            if found:
                return found
            reason = repr(found)
        except (OSError, AssertionError, ValueError) as error:
            reason = repr(error)
        if late:
            raise AssertionError(f"not within {seconds} s: {what}; at the end: {reason[:2000]}")
        time.sleep(0.004)


@contextlib.contextmanager
def at_most(seconds, what):
    """Fails if the block takes longer."""
    with Metronome() as metronome:
        start = time.monotonic()
        yield
        taken = time.monotonic() - start
    allowed = seconds * PATIENCE + metronome.hiccup
    assert taken <= allowed, f"{what} took {taken:.3f} s, allowed are {allowed:.3f} s"


def visible_within(seconds, change, probe, what):
    """Makes a change and measures how long it takes until `probe` is true; fails if that is longer than `seconds`."""
    with Metronome() as metronome:
        change()
        start = time.monotonic()
        eventually(seconds + 8, probe, what)
        taken = time.monotonic() - start
    allowed = seconds * PATIENCE + metronome.hiccup
    assert taken <= allowed, f"{what}: visible after {taken:.3f} s, allowed are {allowed:.3f} s"


class Metronome:
    """Measures how long this machine leaves a ready thread waiting, so that a busy machine is not mistaken for a slow
    daemon."""

    TICK = 0.01

    def __init__(self):
        self.hiccup = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()

    def _run(self):
        before = time.monotonic()
        while not self._stop.wait(self.TICK):
            now = time.monotonic()
            self.hiccup = max(self.hiccup, now - before - self.TICK)
            before = now


def equal(actual, expected, what=""):
    """Asserts equality and shows both sides, shortened."""
    if actual != expected:
        raise AssertionError(f"{what or 'values'} differ\n  expected: {_short(expected)}\n  actual:   {_short(actual)}")


def _short(value, limit=1500):
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text)} characters)"


# -- running programs


def run(*command, check=True, timeout=COMMAND_DEADLINE, **options):
    """Runs a program and captures its output as bytes; fails on a non-zero exit status unless `check` is False."""
    options.setdefault("stdin", subprocess.DEVNULL)
    command = [os.fspath(word) for word in command]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout * PATIENCE,
                          check=False, **options)
    if check and done.returncode != 0:
        raise AssertionError(f"{_short(command, 400)} gave {done.returncode}\n  stdout: {_short(done.stdout)}\n"
                             f"  stderr: {_short(done.stderr)}")
    return done


def output_of(*command, **options):
    """The standard output of a program that must succeed, as text."""
    return run(*command, **options).stdout.decode("utf-8", "surrogateescape")


def shell(script, cwd=None, **options):
    """The output of a bash script that must succeed."""
    return output_of("bash", "-euo", "pipefail", "-c", script, cwd=cwd, **options)


def fails_with(errno_wanted, function, *arguments):
    """Asserts that a call fails with this errno, or one of these."""
    wanted = errno_wanted if isinstance(errno_wanted, (set, tuple)) else {errno_wanted}
    try:
        result = function(*arguments)
    except OSError as error:
        names = sorted(os.strerror(number) for number in wanted)
        assert error.errno in wanted, f"failed with {error!r}, expected one of {names}"
        return error
    raise AssertionError(f"succeeded with {_short(result)}, expected {wanted}")


def without_override():
    """A prefix that removes root's right to ignore file modes, so that modes affect the daemon as they affect users."""
    if os.geteuid() != 0:
        return ()
    return ("setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search")


# -- mounts


def is_mounted(path):
    """True if something is mounted at exactly this path."""
    return mount_line(path) is not None


def mount_line(path):
    """The fields of /proc/self/mountinfo for a mount point, of the last mount there; None if there is none."""
    wanted = os.fsencode(path)
    with open("/proc/self/mountinfo", "rb") as file:
        for line in reversed(file.read().splitlines()):
            fields = line.split(b" ")
            if _plain(fields[4]) == wanted:
                return [field.decode("utf-8", "replace") for field in fields]
    return None


def detach(path):
    """Removes every mount at a path, busy or not; never fails."""
    while is_mounted(path):
        ways = (["fusermount3", "-u", "-z", path], ["umount", "-i", "-l", path])
        if all(run(*way, check=False).returncode != 0 for way in ways):
            return


def mount_points_below(folder):
    """Every mount point below a folder, the innermost first."""
    with open("/proc/self/mountinfo", "rb") as file:
        points = [_plain(line.split(b" ")[4]) for line in file]
    return sorted((os.fsdecode(point) for point in points if point.startswith(os.fsencode(folder) + b"/")),
                  key=len, reverse=True)


def _plain(field):
    """A path of /proc/self/mountinfo without its octal escapes."""
    return re.sub(rb"\\([0-7]{3})", lambda found: bytes([int(found[1], 8)]), field)


def daemons(folder):
    """The arborfs processes that have a path below this folder on their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if words[0] and b"arborfs" in os.path.basename(words[0]) and any(
                    word.startswith(os.fsencode(folder) + b"/") for word in words) and alive(entry):
                found.append(int(entry.name))
    return found


def alive(process_folder):
    return (process_folder / "stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"


class Mount:
    """A mounted agent dir, or with `own_stores` the stores that the agents have in the case's home. As a context manager
    it mounts, unmounts, and requires a clean end of the daemon: exit status 0 and no report of a sanitizer."""

    def __init__(self, case, options=(), agent_dir=None, mountpoint=None, prefix=(), own_stores=False):
        self.case = case
        self.path = Path(mountpoint) if mountpoint else case.new_path("mnt")
        if not mountpoint:
            self.path.mkdir()
        stores = [] if own_stores else ["--agent-dir", os.fspath(agent_dir or case.agent.path)]
        option_words = ["-o", ",".join(options)] if options else []
        self.command = [*map(os.fspath, prefix), BINARY, "mount", *stores, *option_words, os.fspath(self.path)]
        self.log = case.new_path("daemon")
        self.process = None

    # -- paths

    def __truediv__(self, name):
        return self.path / name

    def session(self, session):
        """The folder of a session, by the name of its log."""
        return self.path / "projects" / session.project / session.name

    def name_of(self, session):
        """The name of a session in the mount."""
        return os.path.basename(os.readlink(self.path / "by-id" / session.id))

    # -- start and end

    def __enter__(self):
        return self.start()

    def start(self):
        """Mounts in the foreground and waits until the mount is there."""
        self.process = self.case.spawn([*self.command[:-1], "-f", self.command[-1]], self.log)
        eventually(MOUNT_DEADLINE, self._came_up, "mounted")
        return self

    def _came_up(self):
        status = self.process.poll()
        if status is not None:
            raise RuntimeError(f"the daemon ended with {status} instead of mounting: {self.said()}")
        return is_mounted(self.path)

    def __exit__(self, kind, error, trace):
        died = self.process.poll()
        try:
            if died is not None:
                raise AssertionError(f"the daemon died with status {died}")  # the other failure is shown as its context
            if kind is None:
                self.unmount()
        finally:
            self.force_away()
        if kind is None:
            equal(self.process.returncode, 0, "exit status of the daemon")

    def unmount(self):
        """Unmounts and waits for the daemon to exit."""
        eventually(10, lambda: run("fusermount3", "-u", self.path, check=False).returncode == 0, "unmounted")
        self.wait_gone()

    def wait_gone(self, seconds=10):
        """Waits for the daemon to exit by itself."""
        try:
            return self.process.wait(seconds * PATIENCE)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the daemon did not leave within {seconds} s") from None

    def force_away(self):
        """Removes mount and daemon by any means; never fails."""
        detach(self.path)
        if self.process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(2)
        self.case.end(self.process)

    def said(self):
        """The daemon's standard error and output."""
        return self.log.read_text("utf-8", "replace") if self.log.exists() else ""

    def processor_time(self):
        """Seconds of processor time that the daemon's living threads have used."""
        tasks = Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9

    def memory(self, key="RssAnon"):
        """A size from /proc/<pid>/status in bytes. RssAnon does not count pages of mapped files."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(key + ":"):
                return int(line.split()[1]) * 1024
        raise AssertionError(f"no {key} for the daemon")


class Case:
    """The environment of one test case: its own folder, an agent dir, and everything that must be cleaned up."""

    def __init__(self, name):
        self.root = Path(tempfile.mkdtemp(prefix=f"arborfs-{name[:40]}-"))
        self.home = self.root / "home"
        self.home.mkdir()
        self.agent = AgentDir(self.root / "agent", self.home)
        self.environment = dict(os.environ, HOME=str(self.home), XDG_STATE_HOME=str(self.root / "state"),
                                XDG_DATA_HOME=str(self.root / "data"), XDG_CACHE_HOME=str(self.root / "cache"),
                                TZ="UTC", LC_ALL="C.UTF-8")
        for variable in ("PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR"):
            self.environment.pop(variable, None)
        self.store = {}
        self._logs = []
        self._processes = []
        self._paths = 0

    def new_path(self, kind):
        """An unused path in the case's folder."""
        self._paths += 1
        return self.root / f"{kind}{self._paths}"

    def agent_dir(self):
        """Another agent dir."""
        return AgentDir(self.new_path("agent"), self.home)

    def mount(self, *options, **more):
        """A mount, for use in a `with` statement."""
        return Mount(self, options, **more)

    def browse(self, *options):
        """A mount of an agent dir with one of everything; `store` holds its sessions by their short names."""
        self.store = rich_store(self.agent)
        return self.mount(*options)

    def arborfs(self, *words, check=True, **options):
        """Runs arborfs."""
        return run(BINARY, *words, check=check, env=self.environment, **options)

    def spawn(self, command, log=None, **options):
        """Starts a program in the background; it is killed at the end of the case."""
        log = log or self.new_path("output")
        self._logs.append((command, log))
        with open(log, "ab") as output:
            process = subprocess.Popen([os.fspath(word) for word in command], stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=output, env=self.environment, start_new_session=True, **options)
        self._processes.append(process)
        return process

    def end(self, process):
        """Kills a process that spawn() started, and its process group."""
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGCONT)
                os.killpg(process.pid, signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(5)

    def transcript(self):
        """The output of all programs of this case."""
        parts = []
        for command, log in self._logs:
            text = log.read_text("utf-8", "replace") if log.exists() else ""
            if text:
                parts.append(f"$ {_short(' '.join(map(str, command)), 300)}\n{text[-6000:]}")
        return "\n".join(parts)

    def sanitizer_report(self):
        """The first report of a sanitizer in any output; "" if there is none."""
        found = re.search(r"(==\d+==ERROR|WARNING: ThreadSanitizer|runtime error:).*", self.transcript())
        return found[0] if found else ""

    def close(self):
        """Ends every process, removes every mount and the folder."""
        for process in self._processes:
            self.end(process)
        for point in mount_points_below(self.root):
            detach(point)
        for pid in daemons(self.root):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if not mount_points_below(self.root):  # never delete through a mount
            shutil.rmtree(self.root, ignore_errors=True)
