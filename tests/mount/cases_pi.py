"""Logs of pi are shown by pi's rules and never written (tests/pi)."""

import json
import os
import shutil
from pathlib import Path

from agentdir import append_bytes, compact
from mounting import BINARY, equal, run, visible_within
from views import status
from writing import reason, refused

SAMPLES = Path(__file__).resolve().parent.parent / "pi" / "sessions"
WRITES = ("echo x > append", "echo '#1' > branch", "echo '#1 name' > label", "echo x > title", "echo > fork",
          "ln -s ../entries/$(ls entries | head -1) labels/name")


def test_pi_logs_are_never_written(case):
    """Every way of writing to a session fails as read-only and says why; so does `new` where all sessions are pi's.
    Reading works, and no byte of the store changes."""
    shutil.copytree(SAMPLES, case.agent.sessions, dirs_exist_ok=True)
    before = case.agent.state()
    with case.mount() as mount:
        folders = [path.parent for path in (mount / "projects").glob("*/*/raw.jsonl")]
        equal(len(folders), len(list(SAMPLES.glob("*/*.jsonl"))), "sessions")
        for folder in folders:
            assert os.listdir(folder / "entries") and (folder / "transcript.md").read_text(), folder
            for script in WRITES:
                refused(script, folder, "Read-only file system")
            assert " pi" in reason(folder), reason(folder)
            assert status(folder)["writable"] is False and " pi" in status(folder)["readOnlyReason"], status(folder)
        projects = sorted({folder.parent for folder in folders})
        refused(f"mv {folders[0]} {next(project for project in projects if project != folders[0].parent)}/", mount.path,
                "Read-only file system")
        refused("echo /tmp > new", mount.path, "Read-only file system")
    equal(case.agent.state(), before, "the store")


def test_pi_logs_are_shown_by_the_rules_of_pi(case):
    """Titles come from session_info, before and after a log is read whole, and context.json is pi's own object. A name
    that pi gives while the mount is in use shows at once."""
    shutil.copytree(SAMPLES, case.agent.sessions, dirs_exist_ok=True)
    expected = json.loads((SAMPLES.parent / "expected.json").read_text())
    with case.mount() as mount:
        folders = {path.parent.name: path.parent for path in (mount / "projects").glob("*/*/raw.jsonl")}
        for session in expected:
            folder = folders[Path(session["file"]).stem]
            equal((folder / "title").read_text().rstrip("\n"), session["title"], folder)
            context = json.loads((folder / "context.json").read_text())
            equal(sorted(context), ["messages", "model", "thinkingLevel"], folder)
            equal([message["role"] for message in context["messages"]], [role for role, _ in session["context"]], folder)
            equal((folder / "title").read_text().rstrip("\n"), session["title"], folder)
            equal(status(folder)["flavour"], "pi", folder)
            header = json.loads((folder / "session.json").read_text())
            equal((header["agent"], header["format"]), ("pi", "pi-jsonl"), folder)
        equal(os.listdir(mount / "by-agent"), ["pi"], "agents")
        assert any(link.endswith("-greeting-work") for link in os.listdir(mount / "recent")), os.listdir(mount / "recent")
        session = expected[0]
        folder = folders[Path(session["file"]).stem]
        line = {"type": "session_info", "id": "0badcafe", "parentId": session["leaf"], "name": "Named anew"}
        visible_within(1, lambda: append_bytes(case.agent.sessions / session["file"], compact(line) + b"\n"),
                       lambda: (folder / "title").read_text() == "Named anew\n", "the new name")


def test_new_session_in_an_empty_pi_folder_is_refused(case):
    """Where ~/.pi/agent is shown because there is no ~/.omp/agent, `new` is refused even before pi's first session."""
    (case.home / ".pi" / "agent").mkdir(parents=True)
    done = run(BINARY, "new", "/tmp", env=case.environment, check=False)
    assert done.returncode != 0 and b"pi" in done.stderr, done
    equal(os.listdir(case.home / ".pi" / "agent"), [], "pi's folder")


def flat_sessions(case):
    """A session dir with the samples, as pi keeps them where a user has chosen one: whatever their cwd, side by side."""
    folder = case.new_path("flat")
    folder.mkdir()
    for log in SAMPLES.glob("*/*.jsonl"):
        shutil.copy(log, folder / log.name)
    return folder


def new_log(folder, number):
    """A log that pi begins in a folder, and its session's id."""
    session = f"01a1ffda-7d0b-760a-931f-{number:012d}"
    header = {"type": "session", "version": 3, "id": session, "timestamp": "2026-11-21T20:44:31.372Z", "cwd": "/srv/kite"}
    first = {"type": "message", "id": "ba0d3655", "parentId": None, "timestamp": "2026-11-21T20:44:31.373Z",
             "message": {"role": "user", "content": "fly", "timestamp": 1}}
    log = folder / f"2026-11-21T20-44-31-372Z_{session}.jsonl"
    log.write_bytes(compact(header) + b"\n" + compact(first) + b"\n")
    return log, session


def test_logs_in_a_session_dir_are_shown_and_followed(case):
    """Logs that lie directly in the named folder are grouped by their cwd; new logs, appends and removals show at once,
    and what lies deeper is not pi's. Nothing is written."""
    folder = flat_sessions(case)
    (folder / "deeper").mkdir()
    new_log(folder / "deeper", 1)
    before = sorted(folder.iterdir())
    expected = json.loads((SAMPLES.parent / "expected.json").read_text())
    with case.mount(f"store=pi={folder}") as mount:
        sessions = {path.parent.name: path.parent for path in (mount / "projects").glob("*/*/raw.jsonl")}
        equal(sorted(sessions), sorted(log.stem for log in SAMPLES.glob("*/*.jsonl")), "sessions")
        for session in expected:
            shown = sessions[Path(session["file"]).stem]
            equal((shown / "title").read_text().rstrip("\n"), session["title"], shown)
        shown = sessions[Path(expected[0]["file"]).stem]
        for script in WRITES:
            refused(script, shown, "Read-only file system")
        equal(sorted(folder.iterdir()), before, "the folder")
        log = new_log(folder, 2)[0]
        visible_within(1, lambda: None, lambda: (mount / "projects" / "srv-kite" / log.stem).exists(), "a new log")
        entries = mount / "projects" / "srv-kite" / log.stem / "entries"
        line = {"type": "label", "id": "0badcafe", "parentId": "ba0d3655", "timestamp": "2026-11-21T20:44:32.000Z",
                "targetId": "ba0d3655", "label": "up"}
        visible_within(1, lambda: append_bytes(log, compact(line) + b"\n"), lambda: len(os.listdir(entries)) == 2,
                       "an append")
        visible_within(1, log.unlink, lambda: not (mount / "projects" / "srv-kite").exists(), "a removal")


def test_logs_directly_in_the_sessions_folder_are_shown_and_followed(case):
    """A session dir may be the sessions folder of an agent dir: both its own logs and those of its folders show, also
    those that appear while the mount is in use."""
    agent = case.agent_dir()
    new_log(agent.sessions, 1)
    (agent.sessions / "--srv-kite--").mkdir()
    new_log(agent.sessions / "--srv-kite--", 2)
    with case.mount(f"store=pi={agent.path}") as mount:
        project = mount / "projects" / "srv-kite"
        equal(len(list(project.glob("*/raw.jsonl"))), 2, "sessions")
        for number, folder in ((3, agent.sessions), (4, agent.sessions / "--srv-kite--")):
            session = new_log(folder, number)[1]
            visible_within(1, lambda: None, lambda: (mount / "by-id" / session).exists(), folder)
        fresh = agent.sessions / "--srv-other--"
        fresh.mkdir()
        session = new_log(fresh, 5)[1]
        visible_within(1, lambda: None, lambda: (mount / "by-id" / session).exists(), "a new folder")


def test_own_session_dir_is_found(case):
    """The variable and pi's settings name a session dir that is shown beside the agent dir, and `stores` lists both."""
    folder = flat_sessions(case)
    count = len(list(folder.iterdir()))
    agent = case.home / ".pi" / "agent"
    (agent / "sessions" / "--srv-kite--").mkdir(parents=True)
    new_log(agent / "sessions" / "--srv-kite--", 1)

    def rows(environment):
        listed = json.loads(run(BINARY, "stores", "--json", env=environment).stdout)
        return [(row["place"], row["sessions"], row["state"]) for row in listed if row["agent"] == "pi"]

    wanted = [(str(agent), 1, "ok"), (str(folder), count, "ok")]
    equal(rows(dict(case.environment, PI_CODING_AGENT_SESSION_DIR=str(folder))), wanted, "by the variable")
    (agent / "settings.json").write_text(json.dumps({"sessionDir": str(folder)}))
    equal(rows(case.environment), wanted, "by the settings")
    listed = run(BINARY, "ls", env=case.environment).stdout
    assert b"greeter" in listed, listed
