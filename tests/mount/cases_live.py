"""Sessions of running agents: the writes that the mount refuses, and the reasons that it gives (CONTRACT.md 5)."""

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import time
from pathlib import Path

from agents import running
from mounting import equal, eventually, shell, variants
from views import status
from writing import answer_of, reason, refused


def project(case):
    """A working directory with two sessions."""
    cwd = case.new_path("work")
    cwd.mkdir()
    return cwd, case.agent.talk(cwd=str(cwd)), case.agent.talk(cwd=str(cwd))


def test_ended_agent_keeps_no_session_busy(case):
    """While omp runs, writes to its session fail with EBUSY and a reason that names the process; the other session
    of its folder can be written. Once omp has ended, by any signal and reaped or not, its session can be written at
    once."""
    cwd, held, other = project(case)
    with case.mount() as mount:
        folder = mount.session(held)
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGHUP, signal.SIGINT):
            with running(case, case.agent.path, cwd) as omp:
                case.agent.breadcrumb(omp.terminal, held)
                refused("echo x > append", folder, "Device or resource busy")
                words = f"omp (process {omp.pid}) has it open on terminal {omp.terminal}"
                assert words in reason(folder), reason(folder)
                shell("echo x > append", cwd=mount.session(other))
                omp.end(number, reap=False)
                shell("echo x > append", cwd=folder)
            shell("echo x > append", cwd=folder)


def test_suspended_agent_keeps_its_session_busy(case):
    """A suspended agent keeps its session busy, because it continues later."""
    cwd, held, _ = project(case)
    with case.mount() as mount, running(case, case.agent.path, cwd) as omp:
        case.agent.breadcrumb(omp.terminal, held)
        os.kill(omp.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, omp.pid, os.WSTOPPED | os.WNOWAIT)
        refused("echo x > append", mount.session(held), "Device or resource busy")


def test_forks_and_new_sessions_are_not_busy_beside_an_agent(case):
    """An agent whose session is unknown keeps the sessions of its folder busy, but not forks and new sessions made
    there, also after another mount. status.json gives the same reason as the refusal."""
    cwd, held, _ = project(case)
    with running(case, case.agent.path, cwd, terminal=False) as omp:
        made = []
        with case.mount() as mount:
            refused("echo x > append", mount.session(held), "Device or resource busy")
            why = " ".join(status(mount.session(held))["why"])
            assert f"omp (process {omp.pid}) runs in its working directory" in why, why
            made.append(answer_of(mount.session(held) / "fork", "\n")["session"])
            made.append(answer_of(mount / "new", f"{cwd}\n")["session"])
            for session in made:
                shell("echo x > append", cwd=mount / "by-id" / session)
        with case.mount() as mount:
            for session in made:
                shell("echo y > append; echo z > title", cwd=mount / "by-id" / session)
                equal(status(mount / "by-id" / session)["state"], "quiet")


def test_unrelated_programs_keep_no_session_busy(case):
    """A bun process in the folder, and an omp with another agent dir, do not make a session busy."""
    cwd, session, _ = project(case)
    with case.mount() as mount:
        for name, agent_dir in (("bun", case.agent.path), ("omp", case.new_path("other"))):
            with running(case, agent_dir, cwd, name=name):
                shell("echo x > append", cwd=mount.session(session))


CHECKED = 3  # seconds: the list of programs may be a second old
NATIVE = "33333333-3333-4333-8333-333333333333"


def claude_store(folder, cwd):
    """A folder of Claude Code with one session, and its transcript."""
    log = folder / "projects" / "-work" / f"{NATIVE}.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text(json.dumps({"parentUuid": None, "type": "user", "message": {"role": "user", "content": "x"}, "uuid": "a",
                               "timestamp": "2026-01-02T03:04:05.678Z", "cwd": str(cwd), "sessionId": NATIVE}) + "\n")
    return log


def codex_store(folder, cwd):
    """The same for Codex."""
    log = folder / "sessions" / "2026" / "11" / "22" / f"rollout-2026-11-22T10-00-00-{NATIVE}.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text(json.dumps({"timestamp": "2026-11-22T10:00:00.000Z", "type": "session_meta",
                               "payload": {"id": NATIVE, "cwd": str(cwd), "timestamp": "2026-11-22T10:00:00.000Z"}}) + "\n")
    return log


@variants(claude={"agent": "claude", "variable": "CLAUDE_CONFIG_DIR", "make_store": claude_store},
          codex={"agent": "codex", "variable": "CODEX_HOME", "make_store": codex_store})
def test_program_of_another_agent_is_a_sign(case, agent, variable, make_store):
    """A program of the agent in the session's working directory makes the session one that may be live, a process that
    writes to its file makes it live; status.json and ls say so, and why, and that it ends with the program."""
    cwd, place = case.new_path("work"), case.new_path(agent)
    cwd.mkdir()
    log = make_store(place, cwd)

    def listed():
        rows = json.loads(case.arborfs("ls", "--json", "--store", f"{agent}={place}").stdout)
        return [row["state"] for row in rows]

    with case.mount(f"store={agent}={place}") as mount:
        folder = mount / "by-id" / NATIVE
        equal((status(folder)["state"], listed()), ("quiet", ["quiet"]), "before")
        with running(case, case.agent.path, cwd, name=agent, variables={variable: str(place)}) as program:
            why = [f"{agent} (process {program.pid}) runs in its working directory"]
            eventually(CHECKED, lambda: status(folder)["state"] == "maybe", "the program is seen")
            equal((status(folder)["why"], listed()), (why, ["maybe"]), "while the program runs")
        with log.open("a"):
            eventually(CHECKED, lambda: status(folder)["state"] == "live", "the writer is seen")
            assert "another process has the log open for writing" in status(folder)["why"], status(folder)["why"]
            equal(listed(), ["live"], "while it is written")
        eventually(CHECKED, lambda: status(folder)["state"] == "quiet", "nothing holds it")


def test_answer_without_an_end_is_live_while_opencode_runs(case):
    """An answer in OpenCode's database that has no end makes its session live, also if a message of the user waits
    behind it, but only while OpenCode runs."""
    cwd, home = case.new_path("work"), case.new_path("home")
    cwd.mkdir()
    place = home / "opencode"
    shutil.copytree(Path(__file__).resolve().parent.parent / "opencode" / "fresh-1.18.33", place)
    now = int(time.time() * 1000)
    with contextlib.closing(sqlite3.connect(place / "opencode.db")) as database:
        session, = database.execute("SELECT session_id FROM message LIMIT 1").fetchone()
        for number, record in enumerate(({"role": "assistant", "time": {"created": now}}, {"role": "user"})):
            database.execute("INSERT INTO message(id, session_id, time_created, time_updated, data) VALUES(?, ?, ?, ?, ?)",
                             (f"msg_zz{number}", session, now + number, now + number, json.dumps(record)))
        database.commit()
    with case.mount(f"store=opencode={place}") as mount:
        folder = mount / "by-id" / session
        equal(status(folder)["state"], "quiet", "a program that was killed leaves the same behind")
        with running(case, case.agent.path, cwd, name="opencode", variables={"XDG_DATA_HOME": str(home)}):
            eventually(CHECKED, lambda: status(folder)["state"] == "live", "the program is seen")
            equal(status(folder)["why"], ["opencode is answering in it"], "the reason")
        eventually(CHECKED, lambda: status(folder)["state"] == "quiet", "its end")
