"""Rows about searches: making the index in the background, and searches that use it."""
import os
import random
import sqlite3
import time
from pathlib import Path

from bed import SEED, Failure
from row import Row

QUERIES = 200
LETTERS = 8           # of a word
MOST_SECONDS = 600    # that the index may take here, while other programs run
BUILD_SECONDS = 60
MOST_MB = 64
MOST_OF_LOGS = 0.4
MEDIAN_MS, WORST_MS = 10, 50


def search(mount, query):
    """Returns the seconds that it takes."""
    begun = time.perf_counter()
    Path(mount.point, "search", query, "hits.json").read_text(encoding="utf8")
    return time.perf_counter() - begun


def idle_thread_seconds(mount):
    """The processor time of the thread that the kernel runs only when nothing else wants to run."""
    for task in Path(f"/proc/{mount.daemon.pid}/task").iterdir():
        if os.sched_getscheduler(int(task.name)) == os.SCHED_IDLE:
            fields = (task / "stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    raise Failure("no thread makes the index")


def wait_for_index(mount, path, sessions):
    """Returns the processor time that it took until all sessions were indexed, in seconds."""
    begun = time.monotonic()
    while time.monotonic() - begun < MOST_SECONDS:
        try:
            with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
                if database.execute("SELECT count(*) FROM sessions").fetchone()[0] == sessions:
                    return idle_thread_seconds(mount)
        except sqlite3.Error:
            pass  # it is being made
        time.sleep(0.2)
    raise Failure("the index is not complete")


def query_times(mount):
    """Milliseconds of searches for words that no session has, in ascending order."""
    chance = random.Random(SEED)
    words = ("".join(chance.choices("bcdfghjklmnpqrstvwxz", k=LETTERS)) for _ in range(QUERIES))
    return sorted(search(mount, word) * 1000 for word in words)


def index(bed):
    """The index of a store, and searches with it."""
    stored = bed.store(bed.sizes.logs)
    logs = sorted(Path(stored, "sessions").rglob("*.jsonl"))
    cache = Path(bed.environment["XDG_CACHE_HOME"], "arborfs")
    row = Row("search-index", "")

    def remove():
        for path in cache.glob("search.db*"):
            path.unlink()

    def measured(_):
        remove()
        with bed.mount(stored, "ro") as mount:
            search(mount, "zyzzyva")
            searched = mount.memory_mb("RssAnon")
            values = {"processor time": wait_for_index(mount, cache / "search.db", len(logs))}
            values["memory"] = mount.memory_mb("RssAnon") - searched
            size = sum(path.stat().st_size for path in cache.glob("search.db*"))
            values["size"] = size / sum(log.stat().st_size for log in logs)
            times = query_times(mount)
            values["p50"], values["p99"] = times[len(times) // 2], times[len(times) * 99 // 100]
        remove()
        return values
    row.measure(measured, processor_time=f"seconds of the thread that indexes {bed.sizes.logs} logs",
                memory="MB of RssAnon that it adds", size="of the index, a part of that of the logs",
                p50=f"ms until hits.json of one of {QUERIES} words that no session has is read",
                p99="the same")
    for name, value in (("allowed time", BUILD_SECONDS), ("allowed memory", MOST_MB), ("allowed size", MOST_OF_LOGS),
                        ("allowed p50", MEDIAN_MS), ("allowed p99", WORST_MS)):
        row.allowance(name, value, str(value))
    for measured_name, allowed in (("processor time", "allowed time"), ("memory", "allowed memory"),
                                   ("size", "allowed size"), ("p50", "allowed p50"), ("p99", "allowed p99")):
        row.compare(measured_name, allowed, 1.0)
    return row


ROWS = {"search-index": index}
