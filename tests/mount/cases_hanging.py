"""A store on a file system whose server does not answer (threat S19): the files at the root of the mount answer within a
second and name the store, and are complete again once it answers."""

import contextlib
import json
import os
import signal
import time

from cases_stats import AGENTS, copies
from mounting import Mount, at_most, detach, equal, eventually, is_mounted, needs, run, shell, variants

ROOM = 10  # seconds after which a program that hangs is killed
READS = ("cat status.json", "cat stats/by-agent.tsv", "cat stats/by-day.tsv", "cat search/the/excerpts.md",
         "cat search/the/hits.json", "ls -l", "ls recent", "ls search/the", "ls by-id", "ls by-agent", "ls -l projects",
         "ls terminals", "cat README.md")
#: These show files of stores, so they may fail while one hangs.
FOLDERS_OF_STORES = ("ls history", "ls blobs")
NAMED = READS[:5]


@contextlib.contextmanager
def served(case, source):
    """The folder through a daemon of its own, and that daemon, which may be stopped inside the block."""
    point = case.new_path("served")
    point.mkdir()
    daemon = case.spawn(["bindfs", "-f", source, point])
    try:
        eventually(10, lambda: is_mounted(point), "bindfs")
        yield point, daemon
    finally:
        daemon.send_signal(signal.SIGCONT)
        detach(point)


@contextlib.contextmanager
def stopped(daemon):
    daemon.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        daemon.send_signal(signal.SIGCONT)


def mount_of(case, places):
    return Mount(case, [f"store={agent}={place}" for agent, place in places.items() if agent != "omp"],
                 agent_dir=places["omp"])


def answers(mount, commands):
    """What each command prints; each within a second."""
    printed = {}
    for command in commands:
        with at_most(1, command):
            printed[command] = run("timeout", "-s", "KILL", str(ROOM), "bash", "-c", command, cwd=mount.path).stdout.decode()
    return printed


def rows(mount):
    return {row["agent"]: row for row in json.loads((mount / "status.json").read_text())["stores"]}


def is_whole(mount):
    return all(row["problem"] is None and row["sessions"] > 0 for row in rows(mount).values())


def check_named(mount, agent, point):
    """While the store hangs: everything answers, and soon says which store does not."""
    sentence = f"the store of {agent} at {point} does not answer"
    answers(mount, READS)
    eventually(3, lambda: all(sentence in text for text in answers(mount, NAMED).values()), "the sentence everywhere")
    for _ in range(2):
        printed = answers(mount, READS)
        for command in NAMED:
            assert sentence in printed[command], f"{command}: {printed[command][:2000]}"
        json.loads(printed["cat search/the/hits.json"])
        problems = {row["agent"]: row["problem"] for row in json.loads(printed["cat status.json"])["stores"]}
        equal([name for name, problem in problems.items() if problem], [agent], "stores with a problem")
        for command in FOLDERS_OF_STORES:
            with at_most(1, command):
                done = run("timeout", "-s", "KILL", str(ROOM), *command.split(), cwd=mount.path, check=False)
            assert done.returncode in (0, 2), f"{command} ended with {done.returncode}"


@variants(**{agent: {"agent": agent} for agent in AGENTS})
@needs("bindfs", "fusermount3")
def test_s19_root_answers_while_a_store_hangs(case, agent):
    """S19: the daemon of the file system of one store is stopped. The files at the root answer and name the store; other
    agents' sessions are read and written. Once it goes on, everything is there again."""
    samples = copies(case)
    with served(case, samples / agent) as (point, daemon):
        places = {name: point if name == agent else samples / name for name in AGENTS}
        with mount_of(case, places) as mount:
            eventually(20, lambda: is_whole(mount), "all stores")
            before = answers(mount, ("cat stats/by-agent.tsv", "ls recent"))
            with stopped(daemon):
                check_named(mount, agent, point)
                check_another(case, mount, "pi" if agent == "omp" else "omp")
            eventually(20, lambda: is_whole(mount), "all stores again")
            eventually(5, lambda: (mount / "stats" / "by-agent.tsv").read_text() == before["cat stats/by-agent.tsv"], "sums")
            assert "does not answer" not in (mount / "search" / "the" / "excerpts.md").read_text()


def check_another(case, mount, agent):
    """A session of a store that answers is written to and read, within a second each."""
    name = sorted(os.listdir(mount / "by-agent" / agent))[0]
    folder = mount / "by-agent" / agent / name
    with at_most(1, "another store's session"):
        shell("timeout -s KILL 10 bash -c 'echo > fork; cat transcript.md > /dev/null; ls entries text > /dev/null'",
              cwd=os.path.realpath(folder))


@needs("bindfs", "fusermount3")
def test_s19_readers_are_answered_when_a_store_begins_to_hang(case):
    """S19: a store begins to hang while the root's files are read all the time. No reader waits for the store."""
    samples = copies(case)
    with served(case, samples / "codex") as (point, daemon):
        places = {name: samples / name for name in AGENTS} | {"codex": point}
        with mount_of(case, places) as mount:
            eventually(20, lambda: is_whole(mount), "all stores")
            script = "while :; do cat stats/by-day.tsv search/the/hits.json status.json; ls recent; done > /dev/null"
            for turn in range(5):
                readers = [case.spawn(["bash", "-c", script], cwd=mount.path) for _ in range(3)]
                time.sleep(0.1 + 0.07 * turn)  # whenever it begins
                with stopped(daemon):
                    answers(mount, READS)
                    check_named(mount, "codex", point)
                for reader in readers:
                    case.end(reader)
                eventually(20, lambda: is_whole(mount), "all stores again")
