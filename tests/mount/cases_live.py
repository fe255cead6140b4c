"""Sessions of running agents: the writes that the mount refuses, and the reasons that it gives (CONTRACT.md 5)."""

import json
import os
import signal

from agents import running
from mounting import equal, shell
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
