"""Undo: what the mount and the command line changed is listed in `operations`, and `arborfs undo` takes it back."""

import errno
import subprocess

from agents import running
from mounting import BINARY, PATIENCE, equal, eventually, fails_with, shell, visible_within


def test_what_the_mount_changed_is_listed_and_taken_back(case):
    """A write to append and one to title are lines of `operations`; `arborfs undo` beside the mount takes back the
    title, then the append, and the mount shows it at once. The log is as it was."""
    session = case.agent.session()
    session.write()
    log = session.path.read_bytes()
    with case.mount() as mount:
        folder = mount.session(session)
        equal((mount / "operations").read_text(), "")
        shell("echo more words > append", cwd=folder)
        shell("echo Kites > title", cwd=folder)
        lines = (mount / "operations").read_text().splitlines()
        equal([line.split("  ")[2] for line in lines], ["append", "title"])
        fails_with(errno.EACCES, (mount / "operations").write_text, "x")
        raw = folder / "raw.jsonl"
        visible_within(1, lambda: case.arborfs("undo", f"--agent-dir={case.agent.path}"),
                       lambda: b"Kites" not in raw.read_bytes(), "the title that is taken back")
        visible_within(1, lambda: case.arborfs("undo", f"--agent-dir={case.agent.path}"),
                       lambda: raw.read_bytes() == log, "the append that is taken back")
        eventually(5, lambda: all(line.endswith("taken back") for line in (mount / "operations").read_text().splitlines()),
                   "both are said to be taken back")
    equal(session.path.read_bytes(), log)


def test_each_of_many_processes_takes_back_another_operation(case):
    """Six appends, and six times `arborfs undo` at once: each takes one of them back."""
    session = case.agent.session()
    session.write()
    log = session.path.read_bytes()
    store = f"--agent-dir={case.agent.path}"
    for number in range(6):
        case.arborfs("append", store, session.id, f"words {number}")
    undos = [subprocess.Popen([BINARY, "undo", store], env=case.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
             for _ in range(6)]
    for undo in undos:
        said, _ = undo.communicate(timeout=60 * PATIENCE)
        equal(undo.returncode, 0, said.decode())
    equal(session.path.read_bytes(), log)
    failed = case.arborfs("undo", store, check=False)
    assert b"there is nothing to take back" in failed.stderr, failed.stderr


def test_nothing_is_taken_back_from_a_running_agent(case):
    """While an agent holds the session, undo fails with EBUSY and names the process; the log stays."""
    cwd = case.new_path("work")
    cwd.mkdir()
    held = case.agent.talk(cwd=str(cwd))
    with case.mount() as mount:
        shell("echo more words > append", cwd=mount.session(held))
    log = held.path.read_bytes()
    with running(case, case.agent.path, cwd) as omp:
        case.agent.breadcrumb(omp.terminal, held)
        failed = case.arborfs("undo", f"--agent-dir={case.agent.path}", check=False)
        equal(failed.returncode, 1)
        assert f"process {omp.pid}" in failed.stderr.decode(), failed.stderr
    equal(held.path.read_bytes(), log)
    case.arborfs("undo", f"--agent-dir={case.agent.path}")
    assert b"more words" not in held.path.read_bytes()
