"""Logs of pi are shown and never written (tests/pi)."""

import os
import shutil
from pathlib import Path

from mounting import equal
from views import status
from writing import reason, refused

SAMPLES = Path(__file__).resolve().parent.parent / "pi" / "sessions"
WRITES = ("echo x > append", "echo '#1' > branch", "echo '#1 name' > label", "echo x > title", "echo > fork",
          "ln -s ../entries/$(ls entries | head -1) labels/name")


def test_logs_of_pi_are_never_written(case):
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
