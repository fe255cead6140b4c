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
