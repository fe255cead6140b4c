"""Mounts with -o ro, log options, and the stream of events."""

import contextlib
import errno
import json
import os
import re
import select
import signal
import socket
import threading

from crawl import paths_below
from mounting import (BINARY, at_most, daemons, detach, equal, eventually, fails_with, mount_line, needs, needs_root, run,
                      variants)

CONTROLS = ("append", "branch", "label", "fork", "new", "events")


def test_read_only_mount_has_no_control_files(case):
    """With -o ro there are no control files and no events, and writing fails with EROFS."""
    with case.browse("ro") as mount:
        names = [name for name in paths_below(mount.path) if os.path.basename(name) in CONTROLS
                 and "/entries/" not in name]
        equal(names, [], "control files")
        title = mount.session(case.store["shop"]) / "title"
        equal(oct(os.lstat(title).st_mode & 0o777), "0o400", "mode of title")
        fails_with(errno.EROFS, os.open, title, os.O_WRONLY)
        fails_with(errno.EROFS, os.mkdir, mount / "new")
        assert "ro" in mount_line(mount.path)[5].split(","), mount_line(mount.path)


def test_read_only_mount_shows_external_appends(case):
    """With -o ro the mount shows what other processes append."""
    session = case.agent.talk()
    with case.mount("ro") as mount:
        path = mount.session(session) / "raw.jsonl"
        equal(path.read_bytes(), session.bytes)
        session.user("more")
        session.grow()
        eventually(1.2, lambda: path.read_bytes() == session.bytes, "the new line")
        name = f"{session.stem(session.leaf)}.json"
        eventually(1.2, lambda: name in os.listdir(mount.session(session) / "entries"), "the new entry")


# -- events


@variants(foreground={"foreground": True}, background={"foreground": False})
def test_debug_requests_go_to_the_log_file(case, foreground):
    """With -o debug,log=FILE requests and answers are lines of FILE like all others, and nothing is printed on the
    terminal."""
    session = case.agent.talk()
    log = case.new_path("log")
    mount = case.mount("debug", f"log={log}")
    said = ""
    try:
        if foreground:
            mount.start()
        else:
            said = case.arborfs(*mount.command[1:]).stderr.decode()
        (mount.session(session) / "raw.jsonl").read_bytes()
    finally:
        detach(mount.path)
        eventually(10, lambda: not daemons(case.root), "the daemon left")
    lines = log.read_text().splitlines()
    equal(said or mount.said(), "", "what is on the terminal")
    assert sum("opcode: LOOKUP (" in line for line in lines) >= 3, lines
    assert any("success, outsize:" in line for line in lines), lines
    wrong = [line for line in lines if not re.match(r"\d{4}-\d\d-\d\dT[\d:.]+ \w+ \S", line)]
    equal(wrong, [], "lines in another format")


@variants(background={"foreground": False}, foreground={"foreground": True})
def test_max_read_limits_the_read_size(case, foreground):
    """-o max_read= sets the number of bytes that the kernel reads at once; larger files are still read whole."""
    session = case.agent.session()
    session.user("x" * 300_000)
    session.write()
    mount = case.mount("max_read=8192")
    try:
        if foreground:
            mount.start()
        else:
            case.arborfs(*mount.command[1:])
        assert "max_read=8192" in mount_line(mount.path)[-1].split(","), mount_line(mount.path)
        equal((mount.session(session) / "raw.jsonl").read_bytes(), session.bytes)
    finally:
        detach(mount.path)
        eventually(10, lambda: not daemons(case.root), "the daemon left")


def no_file(case, kind, stack):
    """A path where no log can be written."""
    path = case.new_path("log")
    if kind == "folder":
        path.mkdir()
    elif kind == "link":
        case.new_path("target").write_text("")
        path.symlink_to(case.root / "target")
    elif kind == "socket":
        server = stack.enter_context(socket.socket(socket.AF_UNIX))
        server.bind(os.fspath(path))
    else:
        os.mkfifo(path)
        if kind == "fifo_with_a_reader":
            stack.callback(os.close, os.open(path, os.O_RDONLY | os.O_NONBLOCK))
    return path


@variants(fifo={"kind": "fifo"}, fifo_with_a_reader={"kind": "fifo_with_a_reader"}, folder={"kind": "folder"},
          socket={"kind": "socket"}, link={"kind": "link"})
def test_log_option_accepts_only_regular_files(case, kind):
    """-o log= takes only a regular file. For anything else the command fails at once with a message that names the
    path, and nothing is mounted."""
    case.agent.talk()
    point = case.new_path("mnt")
    point.mkdir()
    with contextlib.ExitStack() as stack:
        log = no_file(case, kind, stack)
        for words in ([], ["-f"]):
            done = case.arborfs("mount", "--agent-dir", case.agent.path, "-o", f"log={log}", *words, point, check=False,
                                timeout=10)
            equal(done.returncode, 1, f"status with {words}; {done.stderr}")
            assert os.fsencode(log) in done.stderr, done.stderr
            assert mount_line(point) is None, "mounted"


@needs_root
@needs("unshare")
def test_libfuse_errors_reach_standard_error(case):
    """If libfuse refuses a mount, its message is on standard error, wherever the log is."""
    case.agent.talk()
    point = case.new_path("mnt")
    point.mkdir()
    log = case.new_path("log")
    for words in (["-f"], ["-f", "-o", f"log={log}"], ["-o", f"log={log}"], []):
        done = run("unshare", "--mount", "bash", "-c", 'mount -t tmpfs none /dev && exec "$@"', "-", BINARY, "mount",
                   "--agent-dir", case.agent.path, *words, point, check=False, env=case.environment)
        equal(done.returncode, 1, f"status with {words}")
        equal(done.stderr.count(b"fuse: device not found"), 1, done.stderr.decode())
    assert log.read_text().count("fuse: device not found") == 2, log.read_text()


def test_events_report_each_change(case):
    """events gives each reader one JSON line for each change, as it happens; reading ends with the mount."""
    session = case.agent.talk()
    mount = case.mount().start()
    try:
        outputs = [case.new_path("events") for _ in range(2)]
        readers = [case.spawn(["cat", mount / "events"], output) for output in outputs]
        eventually(5, lambda: all("events" in link for reader in readers for link in [fd3_file(reader.pid)]), "opened")
        session.user("news")
        session.grow()
        for output in outputs:
            line = eventually(2, lambda: event_of(output, session), "an event")
            assert {"seq", "time", "event", "session", "path"} <= line.keys(), line
            equal(line["path"], f"projects/srv-shop/{mount.name_of(session)}", "path")
        other = case.agent.session("/srv/other")
        other.user("hello")
        other.write()
        for output in outputs:
            eventually(2, lambda: event_of(output, other), "an event of a new session")
            numbers = [line["seq"] for line in events_in(output)]
            equal(numbers, sorted(set(numbers)), "sequence numbers")
    finally:
        os.kill(mount.process.pid, signal.SIGTERM)
        mount.wait_gone()
        mount.force_away()
    for reader in readers:
        reader.wait(5)


def fd3_file(pid):
    """The file that a process has open as descriptor 3; "" if there is none yet."""
    with contextlib.suppress(OSError):
        return os.readlink(f"/proc/{pid}/fd/3")
    return ""


def events_in(output):
    return [json.loads(line) for line in output.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]


def event_of(output, session):
    return next((line for line in events_in(output) if line.get("session") == session.id), None)


def test_events_can_be_followed_after_listing_the_root(case):
    """A shell that has just expanded `*` at the root of the mount can follow events: the stream does not end for it."""
    session = case.agent.talk()
    with case.mount() as mount:
        output = case.new_path("events")
        shell = case.spawn(["bash", "-c", 'echo *; while read -r line; do echo "$line"; done < events; echo ended'],
                           output, cwd=mount.path)
        eventually(5, lambda: b"README.md" in output.read_bytes(), "the root is listed")
        eventually(5, lambda: shell.poll() is not None or any(link.endswith("/events") for link in links(shell.pid)), "opened")
        assert shell.poll() is None, f"the stream ended at once: {output.read_bytes()}"
        session.user("news")
        session.grow()
        eventually(2, lambda: session.id.encode() in output.read_bytes(), "an event")
        case.end(shell)


def links(pid):
    """The files that a process has open."""
    found = []
    for number in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            found.append(os.readlink(f"/proc/{pid}/fd/{number}"))
    return found


def test_killed_events_reader_exits_at_once(case):
    """A killed reader of events exits at once, and the next reader is served."""
    session = case.agent.talk()
    with case.mount() as mount:
        for _ in range(3):
            reader = case.spawn(["cat", mount / "events"])
            eventually(5, lambda: "events" in fd3_file(reader.pid), "opened")
            with at_most(0.5, "dying"):
                reader.kill()
                reader.wait()
        output = case.new_path("events")
        reader = case.spawn(["cat", mount / "events"], output)
        eventually(5, lambda: "events" in fd3_file(reader.pid), "opened")
        session.user("news")
        session.grow()
        eventually(2, lambda: event_of(output, session), "an event")
        case.end(reader)


@needs("tail")
def test_tail_follows_events(case):
    """tail -f events prints the last lines at once and each further line as it comes, with or without earlier events;
    tail without -f ends. cat gives only the events after it opened the file."""
    session = case.agent.talk()
    with case.mount() as mount:
        first, lines, cat = (case.new_path("events") for _ in range(3))
        tail = case.spawn(["tail", "-f", mount / "events"], first)
        eventually(5, lambda: "events" in fd3_file(tail.pid), "opened")
        session.user("one")
        session.grow()
        eventually(5, lambda: event_of(first, session), "an event in the first tail")
        known = events_in(first)[-1]["seq"]
        short = case.spawn(["tail", "-n", "1", "-f", mount / "events"], lines)
        stream = case.spawn(["cat", mount / "events"], cat)
        eventually(5, lambda: events_in(lines), "the last line")
        eventually(5, lambda: "events" in fd3_file(stream.pid), "opened")
        session.user("two")
        session.grow()
        for output in (first, lines, cat):
            eventually(5, lambda: events_in(output)[-1]["seq"] > known, "what came after")
        told = [line["seq"] for line in events_in(cat)]
        assert min(told) > known, f"cat told of what was before it: {told}, {known}"
        numbers = [line["seq"] for line in events_in(first)]
        equal(numbers, list(range(1, len(numbers) + 1)), "sequence numbers in the first tail")
        last = json.loads(run("tail", "-n", "1", mount / "events", timeout=5).stdout)
        assert last["seq"] > known, last
        for reader in (tail, short, stream):
            case.end(reader)


def test_events_have_size_0_for_copying_programs(case):
    """While no program reads events as a file its size is 0, so that tar, which is given its name, does not wait for the
    end of a stream."""
    session = case.agent.talk()
    with case.mount() as mount:
        with open(mount / "events", "rb", buffering=0) as stream:
            session.user("one")
            session.grow()
            assert stream.read(4096), "an event"
            equal(os.stat(mount / "events").st_size, 0, "size")
            run("tar", "-chf", "/dev/null", "-C", mount.path, "events", timeout=10)


def is_in_poll(thread):
    """True if the thread sleeps in poll(2) or ppoll(2), whose numbers differ between processors."""
    with open(f"/proc/self/task/{thread.native_id}/syscall", encoding="ascii") as now:
        return now.read().split()[0] == {"x86_64": "7", "aarch64": "73"}[os.uname().machine]


def test_poll_waits_for_events(case):
    """poll(2) on events returns each time that there is something to read, and an unanswered poll is released."""
    session = case.agent.talk()
    with case.mount() as mount:
        stream = os.open(mount / "events", os.O_RDONLY | os.O_NONBLOCK)
        try:
            poller = select.poll()
            poller.register(stream, select.POLLIN)
            for _ in range(3):
                while poller.poll(100):
                    os.read(stream, 65536)
                equal(poller.poll(0), [], "nothing is there")
                fails_with(errno.EAGAIN, os.read, stream, 4096)
                found = []
                waiter = threading.Thread(target=lambda: found.extend(poller.poll(10000)))
                waiter.start()
                eventually(5, lambda: is_in_poll(waiter), "waiting")
                session.user("news")
                session.grow()
                with at_most(5, "waking"):
                    waiter.join()
                equal(found, [(stream, select.POLLIN)], "what poll says")
                assert session.id.encode() in os.read(stream, 65536)
            while poller.poll(100):
                os.read(stream, 65536)
        finally:
            os.close(stream)
