"""Logs that take long to read: a client can be killed at once, and other sessions are not delayed."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

from agentdir import append_bytes, backdate, compact
from mounting import SANITIZED, SOURCE_DIR, at_most, concurrent, equal, eventually, needs, run, variants, visible_within

SAMPLES = SOURCE_DIR / "tools" / "samples"


@concurrent
@variants(text={"piece": b"x"}, numbers={"piece": b"1,"})
def test_killed_client_of_a_slow_log_exits_at_once(case, piece):
    """The first client to read a log of one 300 MB line can be killed at once. `ls` and `cat` of other sessions are
    quick meanwhile."""
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
def test_killed_clients_leak_no_handles(case):
    """Clients that are killed in the middle of reads leak no handles, and everything is served afterwards."""
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


def line_without_end(agent, store):
    """A log of a terabyte of NULs behind its first lines."""
    sample = SAMPLES / agent
    shutil.copytree(sample, store)
    names = {"goat": "sessions/*/messages.jsonl", "claude": "projects/*/*.jsonl"}.get(agent, "sessions/**/*.jsonl")
    log = sorted(store.glob(names))[0]
    os.truncate(log, 1 << 40)
    return log


@concurrent
@variants(**{agent: {"agent": agent} for agent in ("omp", "pi", "claude", "codex", "goat", "opal")})
def test_no_log_is_read_on_for_a_killed_reader(case, agent):
    """A terabyte of NULs takes minutes to read. When its only reader is killed, the daemon stops soon."""
    store = case.new_path(agent)
    log = line_without_end(agent, store)
    with case.mount(f"store={agent}={store}") as mount:
        session = next(path for path in (mount / "by-agent" / agent).iterdir()
                       if (path / "raw.jsonl").stat().st_size >= 1 << 40)
        for name in ("entries", "context.json"):
            reader = subprocess.Popen(["ls" if name == "entries" else "cat", session / name], stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL)
            try:
                before = mount.processor_time()
                eventually(20, lambda: mount.processor_time() > before + 0.3, f"{log} is being read")
            finally:
                reader.kill()
                reader.wait()

            def rests():
                busy = mount.processor_time()
                time.sleep(0.3)
                return mount.processor_time() - busy < 0.03

            eventually(5, rests, f"no work after the reader of {name} was killed")


@variants(of_the_kernel={"leave": lambda mount: run("umount", "-l", mount.path)},
          of_the_daemon={"leave": lambda mount: mount.process.terminate()})
def test_unmounted_daemon_stops_reading_for_a_killed_writer(case, leave):
    """A log of 60 GB of NULs takes half a minute to read. The daemon exits with its mount, although a writer, killed by
    now, made it read the log."""
    session = case.agent.talk(2)
    os.truncate(session.path, 60_000_000_000)
    mount = case.mount().start()
    try:
        writer = subprocess.Popen(["bash", "-c", 'echo hi > "$0"', mount.session(session) / "append"],
                                  stderr=subprocess.DEVNULL)
        before = mount.processor_time()
        eventually(10, lambda: mount.processor_time() > before + 0.3, "the log is being read")
        writer.kill()
        with at_most(5, "leaving"):
            writer.wait()
            leave(mount)
            mount.wait_gone(30)
    finally:
        mount.force_away()


@concurrent
def test_appends_show_in_time_while_a_large_tree_renders(case):
    """While tree.txt of a log of half a million entries is rendered over and over, an append by another process shows
    within the second of CONTRACT.md 3.4. The kernel locks the folder while it looks up tree.txt, so the notification
    for `leaf` waits until the tree is rendered."""
    session = case.agent.session()
    session.path.parent.mkdir(parents=True)
    with open(session.path, "wb") as file:
        file.write(session.header_line)
        parent, count = "null", 50_000 if SANITIZED else 500_000  # sanitizers take ten times as long for each
        for number in range(1, count + 1):
            file.write(b'{"type":"message","id":"%08x","parentId":%s,"timestamp":"2026-02-16T10:20:30.000Z","message":'
                       b'{"role":"user","content":"n","timestamp":1}}\n' % (number, parent.encode()))
            parent = f'"{number:08x}"'
    backdate(session.path)
    with case.mount() as mount:
        folder = mount.session(session)
        readers = subprocess.Popen(["bash", "-c", 'while cat "$0" > /dev/null; do :; done', folder / "tree.txt"],
                                   start_new_session=True)
        try:
            eventually(60, lambda: os.path.islink(folder / "leaf"), "indexed")
            for number in range(count + 1, count + 21):
                line = (b'{"type":"message","id":"%08x","parentId":"%08x","timestamp":"2026-02-16T10:20:30.000Z",'
                        b'"message":{"role":"user","content":"late","timestamp":1}}\n' % (number, number - 1))
                visible_within(1, lambda: append_bytes(session.path, line),
                               lambda: os.readlink(folder / "leaf").endswith(f"-{number:08x}.json"), "an entry")
        finally:
            os.killpg(readers.pid, signal.SIGKILL)
            readers.wait()
