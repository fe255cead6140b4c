"""Logs that take long to read: they can be given up at once, and hold up nobody else."""

import contextlib
import os
import re
import signal
import subprocess
import time
from pathlib import Path

from agentdir import compact
from mounting import SANITIZED, at_most, concurrent, equal, eventually, needs, run, variants


@concurrent
@variants(text={"piece": b"x"}, numbers={"piece": b"1,"})
def test_killed_client_of_a_slow_log_dies_at_once(case, piece):
    """A log of one line of 300 MB that nobody has read yet: whoever asks for it can be killed at once, and `ls` and
    `cat` of other sessions are quick meanwhile."""
    good, slow = case.agent.talk(), case.agent.session("/srv/slow")
    entry = compact(slow.entry(slow.user("PLACE")))
    quotes = (b'"', b'"') if piece == b"x" else (b"[", b"1]")
    slow.path.parent.mkdir(parents=True)
    with open(slow.path, "wb") as file:
        before, after = entry.split(b'"PLACE"')
        file.write(slow.header_line + before + quotes[0])
        for _ in range(30):
            file.write(piece * (10_000_000 // len(piece)))
        file.write(quotes[1] + after + b"\n")
    with case.mount() as mount:
        os.listdir(mount / "projects")
        for name in ("context.json", "transcript.md", "tree.txt", "entries", "text", "status.json"):
            command = ["ls", "-l"] if name in ("entries", "text") else ["cat"]
            client = subprocess.Popen([*command, mount.session(slow) / name], stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL)
            try:
                with at_most(0.5, f"others beside {name}"):
                    equal(len(os.listdir(mount.session(good) / "entries")), 4)
                    equal((mount.session(good) / "raw.jsonl").read_bytes(), good.bytes)
                with at_most(0.5, f"killing a client of {name}"):
                    client.kill()
                    client.wait()
            finally:
                client.kill()
                client.wait()
        if not SANITIZED:
            assert mount.memory() < 250e6, f"the daemon uses {mount.memory() / 1e6:.0f} MB"


@needs("jq")
def test_interrupted_client_leaves_the_daemon_well(case):
    """Clients that are killed in the middle of reads leave nothing behind: all is served afterwards, handles are
    freed."""
    with case.browse() as mount:
        for delay in range(0, 40, 4):
            client = subprocess.Popen(["bash", "-c", "cat */*/*/*.json */*/*/*/*.json"], cwd=mount.path,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
            time.sleep(delay / 1000)
            os.killpg(client.pid, signal.SIGKILL)
            client.wait()
        run("jq", "-e", ".messages", mount.session(case.store["long"]) / "context.json")
        eventually(3, lambda: open_logs(mount.process.pid, case) <= len(case.store) + 1, "log handles are freed")


def open_logs(pid, case):
    """How many logs of the store a process has open."""
    links = []
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            links.append(os.readlink(link))
    return sum(re.search(r"\.jsonl$", link) is not None and link.startswith(str(case.agent.path)) for link in links)
