"""The life of a mount: starting, refusing bad places, exiting under load, recovering after a crash, and the commands
for it."""

import contextlib
import ctypes
import errno
import os
import re
import shutil
import signal
import struct
import threading
from pathlib import Path

from agentdir import backdate
from crawl import paths_below
from mounting import (BINARY, PATIENCE, SOURCE_DIR, Skip, at_most, concurrent, daemons, detach, equal, eventually,
                      fails_with, is_mounted, mount_line, needs, needs_root, run, shell, variants)

SCHED_GETATTR = {"x86_64": 315, "aarch64": 275}  # numbers of the system call
NOT_CONNECTED = (errno.ENOTCONN, errno.ECONNABORTED)


@contextlib.contextmanager
def background(case, *options, mountpoint=None, agent_dir=None):
    """A background mount, as users start it, whose command has returned; yields the mount point and the finished
    command."""
    point = Path(mountpoint) if mountpoint else case.new_path("mnt")
    point.mkdir(exist_ok=True)
    words = ["-o", ",".join(options)] if options else []
    command = ["mount", "--agent-dir", str(agent_dir or case.agent.path), *words, str(point)]
    try:
        yield point, case.arborfs(*command)
    finally:
        detach(point)
        wait_until_daemons_exit(5, case)


def wait_until_daemons_exit(seconds, case):
    """Waits until no daemon of this case is left; kills those that stay."""
    try:
        eventually(seconds, lambda: not daemons(case.root), "the daemon left")
    except AssertionError:
        for pid in daemons(case.root):
            os.kill(pid, signal.SIGKILL)
        raise


# -- starting


def test_mount_command_returns_once_the_tree_is_visible(case):
    """`arborfs mount` without -f returns 0 and prints nothing, and the tree is there as soon as it returns."""
    session = case.agent.talk()
    for _ in range(5):
        with background(case) as (point, done):
            names = os.listdir(point)
            assert "README.md" in names, f"right after the command returned: {names}"
            equal((point / "projects" / "srv-shop" / session.name / "raw.jsonl").read_bytes(), session.bytes)
            equal(done.stderr, b"", "standard error")
            equal(len(daemons(case.root)), 1, "daemons")


@variants(foreground={"foreground": True}, background={"foreground": False})
def test_mount_on_a_nonempty_folder_warns(case, foreground):
    """A mount on a folder that is not empty prints one line: the contents are hidden. They are unchanged after the
    unmount, and a second mount there is refused without that line."""
    case.agent.talk()
    point = case.new_path("full")
    point.mkdir()
    (point / "note").write_text("mine")
    mount = case.mount(mountpoint=point)
    try:
        if foreground:
            said = mount.start().said()
        else:
            said = case.arborfs(*mount.command[1:]).stderr.decode()
        assert "README.md" in os.listdir(point), os.listdir(point)
        assert said.count("\n") == 1 and f"{point} is not empty" in said and "hidden" in said, said
        again = case.arborfs(*mount.command[1:], check=False)
        assert again.returncode == 1 and b"not empty" not in again.stderr, again
    finally:
        detach(point)
    wait_until_daemons_exit(10, case)
    equal([name.read_text() for name in point.iterdir()], ["mine"])


def time_slice_of(thread):
    """The time slice that a thread requests, in nanoseconds; 0 if the kernel does not support it."""
    attributes = ctypes.create_string_buffer(48)
    if ctypes.CDLL(None, use_errno=True).syscall(SCHED_GETATTR[os.uname().machine], thread, attributes, 48, 0) != 0:
        raise OSError(ctypes.get_errno(), f"sched_getattr of {thread}")
    return struct.unpack_from("=IIQiIQ", attributes)[5]


def test_notification_threads_request_short_time_slices(case):
    """The watcher and the invalidator request short time slices, so that a computing program does not delay their
    notifications. The request threads do not, so that they do not preempt their clients."""
    if os.uname().machine not in SCHED_GETATTR or time_slice_of(0) == 0:
        raise Skip("this kernel lets nobody choose the length of a turn")
    session = case.agent.talk()
    with case.mount() as mount:
        shell("echo 'one more' > append", cwd=mount.session(session))
        threads = Path(f"/proc/{mount.process.pid}/task")

        def turns():
            return [time_slice_of(int(thread.name)) for thread in threads.iterdir()]

        eventually(5, lambda: turns().count(100_000) == 2, "the watcher and the invalidator have asked")
        assert len(turns()) > 3, turns()


def test_background_daemon_is_detached_from_its_parent(case):
    """The background daemon has its own session, and holds no terminal, no pipe of its parent and no folder."""
    case.agent.talk()
    with background(case) as (_, done):
        assert done.returncode == 0  # its output pipes were closed, or this would still wait
        pid = daemons(case.root)[0]
        equal(os.readlink(f"/proc/{pid}/cwd"), "/", "working directory")
        assert os.getsid(pid) != os.getsid(0), "its own session"


def test_exiting_daemon_does_not_unmount_a_newer_mount(case):
    """A detached mount still serves a program inside it. When its daemon exits, a newer mount at the same place
    stays."""
    session = case.agent.talk()
    old = case.mount().start()
    point = old.path
    with contextlib.ExitStack() as stack:
        inside = os.open(point, os.O_RDONLY | os.O_DIRECTORY)
        stack.callback(os.close, inside)
        detach(point)
        with case.mount(mountpoint=point) as new:
            assert "README.md" in os.listdir(inside), "who was in it stays in it"
            old.process.send_signal(signal.SIGTERM)
            equal(old.process.wait(10 * PATIENCE), 0, "the old daemon")
            assert is_mounted(point), "the successor's mount"
            equal((new.session(session) / "raw.jsonl").read_bytes(), session.bytes)


def test_foreground_daemon_runs_until_unmounted(case):
    """With -f the daemon stays in the foreground and exits with 0 at the unmount."""
    case.agent.talk()
    with case.mount() as mount:
        assert mount.process.poll() is None
        equal(mount.said(), "", "what the daemon says without a reason")


@variants(missing={"kind": "missing"}, file={"kind": "file"})
def test_mount_on_a_missing_folder_or_a_file_fails(case, kind):
    """A mount point that does not exist or is a file gives status 1 and a message with its name; nothing is mounted and
    no daemon is left."""
    case.agent.talk()
    point = case.new_path("point")
    if kind == "file":
        point.write_text("x")
    for words in ([], ["-f"]):
        done = case.arborfs("mount", "--agent-dir", case.agent.path, *words, point, check=False)
        equal(done.returncode, 1, f"status with {words}; {done.stderr}")
        assert point.name.encode() in done.stderr, done.stderr
    equal(daemons(case.root), [], "daemons")


def test_usage_errors_exit_with_2(case):
    """No mount point, an unknown flag and an unknown option of -o each give status 2 and a message."""
    point = case.new_path("mnt")
    point.mkdir()
    for words in (["mount"], ["mount", "--no-such-flag", point], ["mount", "-o", "no_such_option", point], ["umount"],
                  ["no-such-verb"]):
        done = case.arborfs(*words, check=False)
        detach(point)
        equal(done.returncode, 2, f"status of {words}; {done.stderr}")
        assert done.stderr, words


def test_generic_mount_options_are_accepted(case):
    """Options of fstab that do not concern arborfs are accepted: rw, nosuid, nodev, noatime, _netdev, x-..."""
    case.agent.talk()
    with background(case, "rw", "nosuid", "nodev", "noexec", "noatime", "_netdev", "noauto", "user", "x-gvfs-hide",
                    "x-systemd.automount") as (point, _):
        assert "projects" in os.listdir(point)
        options = mount_line(point)[5]
        assert "nosuid" in options and "nodev" in options and "noexec" in options, options


@needs_root
@needs("mount.fuse3")
def test_system_mount_command_mounts_and_umount_unmounts(case):
    """The program that `mount -t fuse.arborfs AGENT_DIR MOUNTPOINT -o ro` and fstab run mounts, and umount unmounts."""
    session = case.agent.talk()
    point = case.new_path("mnt")
    point.mkdir()
    programs = case.new_path("bin")
    programs.mkdir()
    (programs / "arborfs").symlink_to(shutil.which(BINARY))
    environment = dict(case.environment, PATH=f"{programs}:{os.environ['PATH']}")
    try:
        run("mount.fuse3", case.agent.path, point, "-t", "fuse.arborfs", "-o", "ro,nosuid,nodev", env=environment)
        assert is_mounted(point)
        equal((point / "projects" / "srv-shop" / session.name / "raw.jsonl").read_bytes(), session.bytes)
        equal(mount_line(point)[-3], "fuse.arborfs", "type")
        run("umount", point)
        wait_until_daemons_exit(5, case)
    finally:
        detach(point)


@needs_root
@needs("mount.fuse3")
def test_lines_for_fstab_mount_the_sessions_of_all_agents(case):
    """Each line of packaging/fstab, which arborfs(1) and the README name, mounts the sessions of every agent."""
    lines = [line.split() for line in (SOURCE_DIR / "packaging" / "fstab").read_text().splitlines()
             if line and not line.startswith("#")]
    page = (SOURCE_DIR / "man" / "arborfs.1").read_text()
    assert lines[1][3].split("store=", 1)[1] in page and "packaging/fstab" in (SOURCE_DIR / "README.md").read_text()
    programs = case.new_path("bin")
    programs.mkdir()
    (programs / "arborfs").symlink_to(shutil.which(BINARY))
    environment = dict(case.environment, PATH=f"{programs}:{os.environ['PATH']}", XDG_DATA_HOME="")
    agents = ["claude", "codex", "goat", "omp", "opal", "opencode", "pi"]
    for agent, place in re.findall(r"store=(\w+)=/home/sam/([^, ]+)", lines[1][3]):
        shutil.copytree(SOURCE_DIR / "tools" / "samples" / agent, case.home / place)
    for source, _, kind, options, *_ in lines:
        point = case.new_path("mnt")
        point.mkdir()
        try:
            run("mount.fuse3", source, point, "-t", kind, "-o", options.replace("/home/sam", str(case.home)),
                env=environment)
            shown = sorted(os.listdir(point / "by-agent"))
            equal(shown, agents if "store=" in options else [agent for agent in agents if agent != "goat"])
            run("umount", point)
            wait_until_daemons_exit(5, case)
        finally:
            detach(point)


def test_agent_dir_comes_from_the_environment(case):
    """Without --store the agents' own variable gives the agent dir, else ~/.omp/agent and ~/.pi/agent are shown."""
    session = case.agent.talk()
    other = case.new_path("other")
    other.mkdir()
    for agent, variables in ((None, {"PI_CODING_AGENT_DIR": str(case.agent.path)}), ("pi", {}), ("omp", {})):
        if agent:
            (case.home / f".{agent}").mkdir()
            (case.home / f".{agent}" / "agent").symlink_to(case.agent.path)
        if agent == "omp":
            (case.home / ".pi" / "agent").unlink()
            (case.home / ".pi" / "agent").symlink_to(other)
        point = case.new_path("mnt")
        point.mkdir()
        try:
            run(BINARY, "mount", point, env={**case.environment, **variables})
            assert (point / "projects" / "srv-shop" / session.name).exists(), (agent, variables)
        finally:
            detach(point)
    wait_until_daemons_exit(5, case)


def test_two_mounts_of_one_store_show_the_same_tree(case):
    """Two mounts of one store show the same tree and are unmounted one by one."""
    case.agent.talk()
    with case.mount() as first, case.mount("ro") as second:
        names = set(paths_below(second.path))
        missing = names - set(paths_below(first.path))
        equal(missing, set(), "names of the read-only mount that the other lacks")


ODD_NAMES = ["a,allow_other", "two words", "new\nline", "tab\there", "quo'te\"s", "größe", "-o", "back\\slash", "#hash",
             "per%cent", "x" * 200]


def test_s14_mount_point_names_inject_no_option(case):
    """S14: mount points with commas, spaces, newlines, quotes and dashes in their names are mounted, inject no option,
    and are unmounted by the same name."""
    session = case.agent.talk()
    for name in ODD_NAMES:
        point = case.root / name
        with background(case, mountpoint=point):
            assert is_mounted(point), name
            assert (point / "projects" / "srv-shop" / session.name).exists(), name
            assert "allow_other" not in " ".join(mount_line(point)[-1:]), mount_line(point)
            case.arborfs("umount", point)
            assert not is_mounted(point), name
        wait_until_daemons_exit(5, case)


def test_relative_mount_point_is_accepted(case):
    """A mount point can be relative to the working directory."""
    case.agent.talk()
    (case.root / "here").mkdir()
    try:
        case.arborfs("mount", "--agent-dir", "agent", "here", cwd=case.root)
        assert "projects" in os.listdir(case.root / "here")
        case.arborfs("umount", "here", cwd=case.root)
    finally:
        detach(case.root / "here")
    wait_until_daemons_exit(5, case)


# -- refused places


def assert_mount_refused(case, point, agent_dir=None):
    """Asserts that mounting there fails with a message, and that nothing is mounted."""
    for words in ([], ["-f"]):
        done = case.arborfs("mount", "--agent-dir", agent_dir or case.agent.path, *words, point, check=False,
                            timeout=10)
        mounted = is_mounted(os.path.realpath(point))
        detach(os.path.realpath(point))
        assert not mounted and done.returncode == 1, f"mounted over {point}: status {done.returncode}, {done.stderr}"
        assert done.stderr.strip(), "no message"
    assert os.listdir(case.agent.sessions), "the store"


def test_mount_points_overlapping_the_store_are_refused(case):
    """The agent dir itself, folders in it and folders around it are refused as mount points."""
    session = case.agent.talk()
    inside = case.agent.path / "mnt"
    inside.mkdir()
    for point in (case.agent.path, case.agent.sessions, session.path.parent, inside, case.agent.path.parent):
        assert_mount_refused(case, point)


def test_aliased_mount_points_overlapping_the_store_are_refused(case):
    """The same mount points are refused through a symbolic link, `..`, doubled slashes and a linked agent dir."""
    case.agent.talk()
    link = case.root / "link"
    link.symlink_to(case.agent.sessions)
    assert_mount_refused(case, link)
    assert_mount_refused(case, f"{case.agent.path}/../agent//sessions/.")
    assert_mount_refused(case, f"{case.home}/../agent")
    alias = case.root / "alias"
    alias.symlink_to(case.agent.path)
    assert_mount_refused(case, case.agent.sessions, agent_dir=alias)
    assert_mount_refused(case, alias, agent_dir=alias)
    assert_mount_refused(case, case.root, agent_dir=alias)


@needs_root
def test_mount_points_in_a_bind_mount_of_the_store_are_refused(case):
    """The same mount points are refused through a bind mount, which has another path to the same folders."""
    case.agent.talk()
    bound = case.new_path("bound")
    bound.mkdir()
    if run("mount", "--bind", case.agent.path, bound, check=False).returncode != 0:
        raise Skip("cannot bind folders")
    for point in (bound, bound / "sessions"):
        done = case.arborfs("mount", "--agent-dir", case.agent.path, point, check=False, timeout=10)
        equal(done.returncode, 1, f"status for {point}: {done.stderr}")
        assert b"fuse" not in run("findmnt", "-n", "-o", "FSTYPE", "-T", point).stdout, "mounted"
    assert_mount_refused(case, case.agent.sessions, agent_dir=bound)


def test_mount_point_around_a_missing_store_is_refused(case):
    """A mount point around a store that does not exist yet is refused too."""
    done = case.arborfs("mount", "--agent-dir", case.home / "later" / "agent", case.home, check=False, timeout=10)
    detach(case.home)
    equal(done.returncode, 1, f"status; {done.stderr}")


# -- crashes and recovery


@variants(background={"foreground": False}, foreground={"foreground": True})
def test_mount_command_replaces_a_dead_mount(case, foreground):
    """After kill -9 the mount point fails with ENOTCONN. The same mount command removes the dead mount and mounts
    again."""
    session = case.agent.talk()
    mount = case.mount().start()
    try:
        mount.process.kill()
        mount.process.wait()
        fails_with(NOT_CONNECTED, os.listdir, mount.path)
        if foreground:
            case.mount(mountpoint=mount.path).start()
            eventually(10, lambda: os.listdir(mount.path), "healed")
        else:
            run(*mount.command, env=case.environment)
        equal((mount.session(session) / "raw.jsonl").read_bytes(), session.bytes)
    finally:
        detach(mount.path)
        wait_until_daemons_exit(5, case)
    assert not is_mounted(mount.path), "a dead mount below the new one"


def test_mount_command_replaces_a_just_killed_mount(case):
    """Right after a kill the kernel still caches the attributes of the dead mount point; the mount command ignores
    them."""
    session = case.agent.talk()
    mount = case.mount().start()
    try:
        os.stat(mount.path)
        mount.process.kill()
        mount.process.wait()
        run(*mount.command, env=case.environment)
        equal((mount.session(session) / "raw.jsonl").read_bytes(), session.bytes)
    finally:
        detach(mount.path)
        wait_until_daemons_exit(5, case)


@needs_root  # others need the control files of FUSE, which may not be mounted
def test_mount_that_does_not_answer_can_be_unmounted(case):
    """A stopped daemon answers nothing, like one that was killed while the kernel made it wait. `arborfs mount` says
    what to do; `arborfs umount` ends the mount, and a program that waits for an answer gets an error."""
    mount = case.mount().start()
    # The leak check at the end of `arborfs mount` would wait for its thread that waits for the mount.
    sanitizer = case.environment.get("ASAN_OPTIONS", "")
    case.environment["ASAN_OPTIONS"] = f"{sanitizer}:detect_leaks=0"
    mount.process.send_signal(signal.SIGSTOP)
    try:
        reader = case.spawn(["stat", "--file-system", mount.path], case.new_path("stat"))
        refused = case.arborfs("mount", "--agent-dir", case.agent.path, mount.path, check=False)
        equal(refused.returncode, 1, refused)
        assert b"does not answer" in refused.stderr and b"arborfs umount" in refused.stderr, refused
        case.arborfs("umount", mount.path)
        assert reader.wait(PATIENCE * 10) != 0, "an answer"
        assert not is_mounted(mount.path), "it is still mounted"
    finally:
        mount.process.send_signal(signal.SIGCONT)
    mount.process.wait(PATIENCE * 10)


def test_dead_mount_can_be_unmounted(case):
    """`arborfs umount` removes a dead mount."""
    case.agent.talk()
    mount = case.mount().start()
    mount.process.kill()
    mount.process.wait()
    case.arborfs("umount", mount.path)
    assert not is_mounted(mount.path)


def test_second_mount_on_a_mount_point_is_refused(case):
    """A second mount on a mounted mount point is refused with a message, and the first one stays."""
    session = case.agent.talk()
    with case.mount() as mount:
        done = run(*mount.command, env=case.environment, check=False, timeout=10)
        equal(done.returncode, 1, f"status; {done.stderr}")
        assert done.stderr.strip(), "no message"
        equal((mount.session(session) / "raw.jsonl").read_bytes(), session.bytes)


# -- exiting


class Load:
    """Programs that read everything over and over until they are stopped."""

    def __init__(self, path):
        self.path = path
        self._stop = threading.Event()
        self._finished = 0
        self._threads = [threading.Thread(target=self._crawl, args=(command,), daemon=True) for command in (
            ["find", path, "-ls"], ["grep", "-r", "--exclude=events", "x", path],
            ["tar", "-cf", "/dev/null", "--exclude=events", path])]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        eventually(10, lambda: self._finished > 2, "the clients are at work")
        return self

    def __exit__(self, *_):
        self._stop.set()
        for thread in self._threads:
            thread.join(20 * PATIENCE)
        assert not any(thread.is_alive() for thread in self._threads), "a client hangs after the mount went"

    def _crawl(self, command):
        while not self._stop.is_set():
            run(*command, check=False)
            self._finished += 1


@concurrent
@variants(term={"number": signal.SIGTERM}, interrupt={"number": signal.SIGINT}, hangup={"number": signal.SIGHUP})
def test_daemon_exits_cleanly_on_signals_under_load(case, number):
    """On SIGTERM, SIGINT or SIGHUP while clients read, the daemon exits with 0 within two seconds, nothing stays
    mounted and no client hangs."""
    case.browse()
    mount = case.mount().start()
    try:
        with Load(mount.path):
            with at_most(2, "leaving"):
                os.kill(mount.process.pid, number)
                equal(mount.wait_gone(), 0, "exit status")
            assert not is_mounted(mount.path), "still mounted"
    finally:
        mount.force_away()


@concurrent
def test_umount_under_load_succeeds_or_reports_busy(case):
    """`arborfs umount` while clients read either exits with 0, or says that the mount is busy and leaves it working."""
    case.browse()
    mount = case.mount().start()
    try:
        with Load(mount.path):
            with at_most(10, "umount"):
                done = case.arborfs("umount", mount.path, check=False)
            if done.returncode != 0:
                assert b"busy" in done.stderr, done.stderr
                assert os.listdir(mount / "projects"), "the mount is dead"
        eventually(5, lambda: not is_mounted(mount.path) or case.arborfs(
            "umount", mount.path, check=False).returncode == 0, "unmounted when nobody reads")
        equal(mount.wait_gone(), 0, "exit status")
    finally:
        mount.force_away()


def test_repeated_umount_is_no_error(case):
    """A second umount of the same mount point is not an error, and umount of a folder that never was a mount does no
    harm."""
    case.agent.talk()
    with background(case) as (point, _):
        case.arborfs("umount", point)
        assert not is_mounted(point)
        case.arborfs("umount", point)
    case.arborfs("umount", case.home, check=False)
    assert case.home.exists()


@needs_root
def test_umount_refuses_other_file_systems(case):
    """`arborfs umount` refuses to unmount another file system."""
    other = case.new_path("other")
    other.mkdir()
    if run("mount", "-t", "tmpfs", "none", other, check=False).returncode != 0:
        raise Skip("cannot mount a tmpfs")
    done = case.arborfs("umount", other, check=False)
    assert is_mounted(other) and done.returncode == 1, f"status {done.returncode}, {done.stderr}"


def test_umounted_busy_mount_still_serves_processes_inside(case):
    """`arborfs umount` detaches a busy mount at once. A program inside it can still read and write until it leaves;
    then the daemon exits with 0."""
    session = case.agent.talk()
    backdate(session.path)
    mount = case.mount().start()
    try:
        folder = os.open(mount.session(session), os.O_PATH | os.O_DIRECTORY)
        with contextlib.ExitStack() as inside:
            inside.callback(os.close, folder)
            case.arborfs("umount", mount.path)
            assert not is_mounted(mount.path), "taken away"
            run("bash", "-c", "echo inside > append", cwd=f"/proc/self/fd/{folder}", pass_fds=(folder,))
            assert b"inside" in session.path.read_bytes(), "what is written inside is in the log"
            equal(Path(f"/proc/self/fd/{folder}/raw.jsonl").read_bytes(), session.path.read_bytes())
            assert mount.process.poll() is None, "it serves who is inside"
        equal(mount.wait_gone(), 0, "exit status")
    finally:
        mount.force_away()


def abort_connection(case, path):
    """Aborts the connection, as an administrator does with a mount that hangs."""
    connections = case.new_path("connections")
    connections.mkdir()
    run("mount", "-t", "fusectl", "none", connections)
    try:
        (connections / mount_line(path)[2].split(":")[1] / "abort").write_text("1", encoding="ascii")
    finally:
        run("umount", connections)


def force_umount(_, path):
    """Fails because the mount is busy, but still aborts its connection."""
    equal(run("umount", "-f", path, check=False).returncode, 32, "umount -f of a busy mount")


@needs_root
@variants(forced={"kill": force_umount}, aborted={"kill": abort_connection})
def test_daemon_removes_a_busy_mount_after_an_abort(case, kill):
    """`umount -f` of a busy mount, or an abort through sysfs, ends its connection. The daemon removes the dead mount
    and exits with 0."""
    session = case.agent.talk()
    mount = case.mount().start()
    try:
        with open(mount.session(session) / "raw.jsonl", "rb") as handle:
            kill(case, mount.path)
            equal(mount.wait_gone(), 0, "exit status")
            assert not is_mounted(mount.path), "a dead mount"
            fails_with(NOT_CONNECTED, os.statvfs, handle.fileno())
    finally:
        mount.force_away()


@variants(quit={"number": signal.SIGQUIT}, processor_time={"number": signal.SIGXCPU})
def test_sigquit_and_sigxcpu_unmount(case, number):
    """On SIGQUIT or SIGXCPU the daemon exits with 0 and leaves no dead mount."""
    case.agent.talk()
    mount = case.mount().start()
    try:
        os.kill(mount.process.pid, number)
        equal(mount.wait_gone(), 0, "exit status")
        assert not is_mounted(mount.path), "still mounted"
    finally:
        mount.force_away()


def test_irrelevant_signals_are_ignored(case):
    """Signals without a meaning for the daemon do not end it, because that would leave a dead mount."""
    session = case.agent.talk()
    with case.mount() as mount:
        for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGPIPE, signal.SIGIO):
            os.kill(mount.process.pid, number)
        equal((mount.session(session) / "raw.jsonl").read_bytes(), session.bytes)


def test_lazily_unmounted_daemon_exits_after_the_last_close(case):
    """After a lazy unmount an open handle works until it is closed; then the daemon exits."""
    session = case.agent.talk()
    mount = case.mount().start()
    try:
        with open(mount.session(session) / "raw.jsonl", "rb") as handle:
            run("fusermount3", "-u", "-z", mount.path)
            equal(handle.read(), session.bytes, "the open handle")
        equal(mount.wait_gone(), 0, "exit status")
    finally:
        mount.force_away()
