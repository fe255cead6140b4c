"""Logs of pi are shown and written by pi's rules (tests/pi)."""

import json
import os
import re
import shutil
from pathlib import Path

from agentdir import append_bytes, compact
from mounting import BINARY, equal, run, visible_within
from views import status
from writing import answer_of

SAMPLES = Path(__file__).resolve().parent.parent / "pi" / "sessions"
VERBS = {"append", "branch", "fork", "label"}


def sample_folders(mount):
    """The folders of the samples in a mount, by the names of their logs."""
    found = {log.stem: list((mount / "projects").glob(f"*/{log.stem}")) for log in SAMPLES.glob("*/*.jsonl")}
    equal([name for name, folders in found.items() if len(folders) != 1], [], "samples that are not one session")
    equal(len(list((mount / "projects").glob("*/*/raw.jsonl"))), len(found), "sessions")
    return {name: folders[0] for name, folders in found.items()}


def test_pi_logs_take_every_write(case):
    """Every control file of a session of pi writes what pi would: entries of pi's kinds, behind bytes that stay. A log
    of an old version becomes one of version 3."""
    shutil.copytree(SAMPLES, case.agent.sessions, dirs_exist_ok=True)
    logs = {log.stem: log for log in case.agent.sessions.glob("*/*.jsonl")}
    with case.mount() as mount:
        folders = sample_folders(mount)
        equal(sorted(folders), sorted(logs), "sessions")
        for name, folder in folders.items():
            log = logs[name]
            before = log.read_bytes()
            old = json.loads(before.splitlines()[0]).get("version") != 3
            assert VERBS <= set(os.listdir(folder)) and status(folder)["writable"], os.listdir(folder)
            (folder / "append").write_text("from the mount\n")
            (folder / "label").write_text("#1 first\n")
            (folder / "title").write_text("Named here\n")
            (folder / "branch").write_text("#1\nwent wrong\n")
            after = log.read_bytes()
            assert old or after.startswith(before), log
            lines = [json.loads(line) for line in after.splitlines()[-4:]]
            equal([line["type"] for line in lines], ["message", "label", "session_info", "branch_summary"], log)
            equal(lines[1]["parentId"], lines[0]["id"], "the label's parent")
            equal((lines[2]["parentId"], lines[2]["name"]), (lines[1]["id"], "Named here"), "the title")
            equal((lines[3]["parentId"], lines[3]["fromId"], lines[3]["summary"]),
                  (lines[1]["targetId"], lines[2]["id"], "went wrong"), "the branch")
            assert all(re.fullmatch("[0-9a-f]{8}", line["id"]) for line in lines), lines
            header = json.loads(after.splitlines()[0])
            equal((header["version"], "title" in header), (3, False), log)
            equal((folder / "title").read_text(), "Named here\n", folder)
            equal(os.readlink(folder / "labels" / "first").split("/")[-1].split("-")[0].lstrip("0"), "1", folder)


def test_forks_moves_and_new_sessions_of_pi(case):
    """fork and new write logs with pi's names and headers in pi's folders, and a move takes the log to the folder where
    pi looks for it."""
    agent = case.agent_dir()
    folder = agent.sessions / "--srv-kite--"
    folder.mkdir()
    log, session = new_log(folder, 1)
    with case.mount("allow_delete", f"store=pi={agent.path}") as mount:
        source = mount / "by-id" / session
        made = answer_of(source / "fork", "\n")
        fork = next(path for path in folder.iterdir() if path != log)
        header = json.loads(fork.read_text().splitlines()[0])
        equal(list(header), ["type", "version", "id", "timestamp", "cwd", "parentSession"], "the header")
        equal((header["id"], header["parentSession"]), (made["session"], str(log)), "the fork")
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z_" + made["session"] + r"\.jsonl", fork.name), fork
        equal(fork.read_text().splitlines()[1:], log.read_text().splitlines()[1:], "the entries")
        made = answer_of(mount / "new", json.dumps({"agent": "pi", "cwd": "/srv/new:one", "title": "Made",
                                                    "model": "anthropic/claude"}) + "\n")
        new = next((agent.sessions / "--srv-new-one--").iterdir())
        lines = [json.loads(line) for line in new.read_text().splitlines()]
        equal([(line["type"], line["id"] == made["session"]) for line in lines],
              [("session", True), ("session_info", False), ("model_change", False)], "the new session")
        equal((lines[2]["provider"], lines[2]["modelId"]), ("anthropic", "claude"), "its model")
        shown = json.loads((mount / "by-id" / made["session"] / "session.json").read_text())
        equal((shown["agent"], shown["title"]), ("pi", "Made"), "as shown")
        old = log.read_text().splitlines()
        os.rename(mount / "projects" / "srv-kite" / log.stem,
                  (mount / "by-id" / made["session"]).resolve().parent / log.stem)
        moved = (agent.sessions / "--srv-new-one--" / log.name).read_text().splitlines()
        equal((json.loads(moved[0])["cwd"], moved[1:]), ("/srv/new:one", old[1:]), "the moved log")
        (mount / "by-id" / session).resolve().rmdir()
        assert not log.exists() and not (agent.sessions / "--srv-new-one--" / log.name).exists(), "it is in the trash"


def test_pi_logs_are_shown_by_the_rules_of_pi(case):
    """Titles come from session_info, before and after a log is read whole, and context.json is pi's own object. A name
    that pi gives while the mount is in use shows at once."""
    shutil.copytree(SAMPLES, case.agent.sessions, dirs_exist_ok=True)
    expected = json.loads((SAMPLES.parent / "expected.json").read_text())
    with case.mount() as mount:
        folders = sample_folders(mount)
        for session in expected:
            folder = folders[Path(session["file"]).stem]
            equal((folder / "title").read_text().rstrip("\n"), session["title"], folder)
            context = json.loads((folder / "context.json").read_text())
            equal(sorted(context), ["messages", "model", "thinkingLevel"], folder)
            equal([message["role"] for message in context["messages"]], [role for role, _ in session["context"]], folder)
            equal((folder / "title").read_text().rstrip("\n"), session["title"], folder)
            equal(status(folder)["dialect"], "pi", folder)
            header = json.loads((folder / "session.json").read_text())
            equal((header["agent"], header["format"]), ("pi", "pi-jsonl"), folder)
        equal(os.listdir(mount / "by-agent"), ["pi"], "agents")
        assert any(link.endswith("-greeting-work") for link in os.listdir(mount / "recent")), os.listdir(mount / "recent")
        session = expected[0]
        folder = folders[Path(session["file"]).stem]
        line = {"type": "session_info", "id": "0badcafe", "parentId": session["leaf"], "name": "Named anew"}
        visible_within(1, lambda: append_bytes(case.agent.sessions / session["file"], compact(line) + b"\n"),
                       lambda: (folder / "title").read_text() == "Named anew\n", "the new name")


def test_new_session_in_an_empty_pi_folder_is_of_pi(case):
    """Where ~/.pi/agent is shown because there is no ~/.omp/agent, `new` makes a session of pi, and --agent says which
    where both are."""
    (case.home / ".pi" / "agent" / "sessions").mkdir(parents=True)
    first = json.loads(run(BINARY, "new", "/srv/kite", "--json", env=case.environment).stdout)["session"]
    folder = case.home / ".pi" / "agent" / "sessions" / "--srv-kite--"
    equal([json.loads(log.read_text())["id"] for log in folder.iterdir()], [first], "pi's folder")
    (case.home / ".omp" / "agent" / "sessions").mkdir(parents=True)
    run(BINARY, "new", "/srv/kite", "--agent", "pi", env=case.environment)
    equal(len(list(folder.iterdir())), 2, "pi's folder")
    run(BINARY, "new", "/srv/kite", env=case.environment)
    equal(len(list(folder.iterdir())), 2, "pi's folder after a session of omp")
    equal(len(list((case.home / ".omp" / "agent" / "sessions").glob("*/*.jsonl"))), 1, "omp's folder")


def flat_sessions(case):
    """A session dir with the samples, as pi keeps them if the user has chosen one: side by side, whatever their cwd."""
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
    and what lies deeper is not pi's. Writes reach the logs where they lie, and new ones lie beside them."""
    folder = flat_sessions(case)
    (folder / "deeper").mkdir()
    new_log(folder / "deeper", 1)
    before = sorted(folder.iterdir())
    expected = json.loads((SAMPLES.parent / "expected.json").read_text())
    with case.mount(f"store=pi={folder}") as mount:
        sessions = sample_folders(mount)
        for session in expected:
            shown = sessions[Path(session["file"]).stem]
            equal((shown / "title").read_text().rstrip("\n"), session["title"], shown)
        shown = sessions[Path(expected[0]["file"]).stem]
        equal(sorted(folder.iterdir()), before, "the folder")
        (shown / "append").write_text("from the mount\n")
        assert b"from the mount" in (folder / Path(expected[0]["file"]).name).read_bytes(), "the append"
        made = answer_of(mount / "new", '{"agent":"pi","cwd":"/srv/other"}\n')["session"]
        forked = answer_of(shown / "fork", "\n")["session"]
        added = [log for log in folder.iterdir() if log not in before]
        equal(sorted(json.loads(log.read_text().splitlines()[0])["id"] for log in added), sorted([made, forked]), "new logs")
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
    """The variable and pi's settings name a session dir that is shown in addition to the agent dir, and `stores` lists both."""
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
