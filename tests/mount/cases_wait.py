"""`wait` in a session and `arborfs wait`: they return when the turn in progress has ended (CONTRACT.md 2.18)."""

import json
import os
import select
import signal
import subprocess

from agents import running
from mounting import BINARY, detach, equal, output_of, shell


def turn_in_progress(case):
    """A working directory, and a session in it whose last entry is a call without a result."""
    cwd = case.new_path("work")
    cwd.mkdir()
    session = case.agent.talk(turns=1, cwd=str(cwd))
    session.tool_call("call-1", command="make")
    session.grow()
    return cwd, session


def finish(session):
    """The agent writes the result of the call, then its last answer. Returns the name of that entry."""
    session.tool_result("call-1", "ok")
    last = session.assistant("Built.")
    session.grow()
    return session.stem(last)


class Reader:
    """A program that reads a file, in a process of its own."""

    def __init__(self, *command):
        self.process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def waits(self):
        """True if the program is still there after a while in which a turn that has ended would have been told."""
        try:
            self.process.wait(2.5)
        except subprocess.TimeoutExpired:
            return True
        return False

    def said(self):
        out, err = self.process.communicate(timeout=20)
        equal((self.process.returncode, err), (0, b""), "exit status")
        return out.decode()


def test_wait_returns_when_the_turn_has_ended(case):
    """With a call open and an agent at work, cat of `wait`, arborfs wait and select wait; the final answer ends all."""
    cwd, session = turn_in_progress(case)
    with running(case, case.agent.path, cwd) as omp, case.mount() as mount:
        case.agent.breadcrumb(omp.terminal, session)
        folder = mount.session(session)
        readers = [Reader("cat", folder / "wait"),
                   Reader(BINARY, "wait", session.id, "--agent-dir", case.agent.path)]
        with open(folder / "wait", "rb", buffering=0) as polled:
            assert all(reader.waits() for reader in readers)
            equal(select.select([polled], [], [], 0)[0], [])
            assert (folder / "transcript.md").read_text().endswith("\n")  # other requests are served meanwhile
            line = f"ended: {finish(session)}\n"
            equal([reader.said() for reader in readers], [line] * 2)
            equal(select.select([polled], [], [], 20)[0], [polled])
            equal(polled.read(), line.encode())
            equal(polled.read(), b"", "the second read")
        equal((folder / "wait").read_text(), line, "without a turn in progress")


def test_wait_ends_with_its_agent(case):
    """A turn whose agent is killed has stopped."""
    cwd, session = turn_in_progress(case)
    with running(case, case.agent.path, cwd) as omp, case.mount() as mount:
        case.agent.breadcrumb(omp.terminal, session)
        reader = Reader("cat", mount.session(session) / "wait")
        assert reader.waits()
        omp.end(signal.SIGKILL)
        assert reader.said().startswith("stopped: "), "what ended it"


def test_wait_returns_at_once_without_an_agent(case):
    """A call that nobody works on is no turn in progress; --json tells the same."""
    _, session = turn_in_progress(case)
    stem = session.stem(session.entries[-1]["id"])
    with case.mount() as mount:
        equal((mount.session(session) / "wait").read_text(),
              f"stopped: {stem} is the last entry; no agent works on the session\n")
    told = json.loads(output_of(BINARY, "wait", "--json", session.id, "--agent-dir", case.agent.path))
    equal(told, {"session": session.id, "turn": "stopped", "entry": stem, "why": "no agent works on the session"})


def test_wait_can_be_interrupted_and_blocks_nobody(case):
    """Ctrl-C ends a read of `wait`; many readers hold no thread of the daemon, and do not keep a detached mount."""
    cwd, session = turn_in_progress(case)
    with running(case, case.agent.path, cwd) as omp:
        case.agent.breadcrumb(omp.terminal, session)
        mount = case.mount().start()
        try:
            folder = mount.session(session)
            readers = [Reader("cat", folder / "wait") for _ in range(24)]
            assert readers[0].waits()
            shell("cat context.json transcript.md tree.txt entries/* > /dev/null", cwd=folder, timeout=20)
            readers[0].process.send_signal(signal.SIGINT)
            equal(readers[0].process.wait(20), -signal.SIGINT)
            detach(mount.path)
            equal([reader.said() for reader in readers[1:]], [""] * 23)
            equal(mount.wait_gone(), 0, "exit status")
        finally:
            mount.force_away()


def test_walks_of_a_session_do_not_wait(case):
    """No listing has `wait` and `events`, so programs that walk a session end although a turn is in progress, also those
    that follow links; a read-only mount has none."""
    cwd, session = turn_in_progress(case)
    with running(case, case.agent.path, cwd) as omp:
        case.agent.breadcrumb(omp.terminal, session)
        with case.mount() as mount:
            folder = mount.session(session)
            assert "wait" not in os.listdir(folder) and "events" not in os.listdir(mount.path)
            assert (folder / "wait").is_file() and (mount / "events").is_file()
            walks = "grep -r look . && find . -type f -exec cat {} + && tar cf - . | wc -c"
            following = "grep -R look . && cp -rL . $TMP/copy && find -L . -type f -exec cat {} + && tar chf - . | wc -c"
            shell(f"{walks} && {following}", cwd=folder, timeout=40, env={**os.environ, "TMP": str(case.root)})
        with case.mount("ro") as mount:
            assert not (mount.session(session) / "wait").exists()
