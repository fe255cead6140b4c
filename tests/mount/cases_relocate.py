"""Sessions that follow a project which was moved (CONTRACT.md 4.12)."""

import json
import os
import shutil
import signal
from pathlib import Path

from mounting import PATIENCE, equal, visible_within

SAMPLES = Path(__file__).resolve().parent.parent / "claude"
SHOWN = 1  # seconds until the mount shows what another process has changed


def stores(case):
    """A store of Claude Code with the samples, one of omp with a session in the folder of the first of these, and that
    folder."""
    claude = case.new_path("claude")
    shutil.copytree(SAMPLES / "projects", claude / "projects")
    first = json.loads((SAMPLES / "expected.json").read_text())[0]
    session = case.agent.session(cwd=first["cwd"])
    session.write()
    return claude, session, first


def relocate(case, claude, old, check=True):
    """Runs arborfs relocate to a new folder, which it returns with the result."""
    new = case.new_path("new place")
    new.mkdir()
    done = case.arborfs("relocate", f"--store=omp={case.agent.path}", f"--store=claude={claude}", old, new, check=check)
    return new, done


def cwd_of(folder):
    return json.loads((folder / "session.json").read_text())["cwd"]


def test_relocated_sessions_are_shown_in_their_new_project(case):
    """Beside a mount, the sessions of two agents are in the new project within a second, under their names."""
    claude, session, first = stores(case)
    with case.mount(f"store=claude={claude}") as mount:
        links = [mount / "by-id" / session.id, mount / "by-id" / first["id"]]
        names = [link.resolve().name for link in links]
        new = []
        visible_within(SHOWN, lambda: new.append(relocate(case, claude, first["cwd"])[0]),
                       lambda: [cwd_of(link) for link in links] == [os.fspath(new[0])] * 2, "the new project")
        equal([link.resolve().name for link in links], names)
        equal(len({link.resolve().parent for link in links}), 1, "the project")


def test_nothing_is_relocated_while_a_session_is_live(case):
    """While sessions/<pid>.json names one of the sessions and that process lives, none of any agent is relocated."""
    claude, session, first = stores(case)
    started = Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()[19]
    (claude / "sessions").mkdir()
    sign = claude / "sessions" / f"{os.getpid()}.json"
    sign.write_text(json.dumps({"pid": os.getpid(), "sessionId": first["id"], "procStart": started}))
    before = {path: path.read_bytes() for path in claude.rglob("*") if path.is_file()}
    _, done = relocate(case, claude, first["cwd"], check=False)
    equal(done.returncode, 1)
    assert f"claude (process {os.getpid()}) has it open".encode() in done.stderr, done.stderr
    assert b"no session was relocated" in done.stderr and b"force" not in done.stderr, done.stderr
    equal({path: path.read_bytes() for path in claude.rglob("*") if path.is_file()}, before, "the store")
    equal(session.path.read_bytes(), session.bytes, "the log")
    sign.unlink()
    relocate(case, claude, first["cwd"])


def test_doctor_does_not_wait_for_a_mount_that_hangs(case):
    """It looks for a folder that is gone near its place, but not in a file system that another process serves there."""
    session = case.agent.talk(cwd=str(case.new_path("gone") / "app"))
    with case.mount() as mount:
        os.kill(mount.process.pid, signal.SIGSTOP)
        try:
            done = case.arborfs("doctor", f"--agent-dir={case.agent.path}", check=False, timeout=60 * PATIENCE)
        finally:
            os.kill(mount.process.pid, signal.SIGCONT)
    equal(done.returncode, 0, done.stderr.decode())
    assert session.path.exists()
