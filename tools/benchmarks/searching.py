"""Rows about searches: making the index in the background, and searches that use it."""
import os
import random
import re
import sqlite3
import time
from pathlib import Path

from bed import SEED, Failure
from row import Row

QUERIES = 200
SAMPLED_SESSIONS = 60
KINDS = {"all": f"one of {QUERIES} queries of the kinds below", "word": "a word of a text",
         "words": "two or three words of a text", "phrase": "two to four words in a row of a text",
         "absent": "a word that no session has"}
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


def words(text, chance):
    found = re.findall(r"[\w.-]*\w", text)
    return chance.sample(found, min(len(found), chance.randint(1, 3)))


def phrase(text, chance):
    """Two to four words of a line, with what stands between them."""
    line = chance.choice(text.split("\n")).split(" ")
    count = chance.randint(2, 4)
    begin = chance.randrange(max(1, len(line) - count))
    return " ".join(line[begin:begin + count])


def mixed_queries(mount, chance):
    """{kind: queries}: words and phrases of texts of the store, and words that no session has."""
    sessions = sorted(Path(mount.point, "projects").glob("*/*/text"))
    sessions = chance.sample(sessions, min(len(sessions), SAMPLED_SESSIONS))
    texts = [path.read_text(encoding="utf8") for session in sessions for path in sorted(session.iterdir())]
    queries = {kind: {} for kind in KINDS if kind != "all"}  # each once: the last results are kept
    while any(len(several) < QUERIES // len(queries) for several in queries.values()):
        text = chance.choice(texts)
        several = words(text, chance)
        said = phrase(text, chance)
        if said.isprintable() and " " in said.strip() and not set('/"') & set(said):
            queries["phrase"][f'"{said}"'] = None
        if several:
            queries["word" if len(several) == 1 else "words"][" ".join(several)] = None
        queries["absent"]["".join(chance.choices("bcdfghjklmnpqrstvwxz", k=LETTERS))] = None
    return {kind: list(several)[:QUERIES // len(queries)] for kind, several in queries.items()}


def query_times(mount):
    """{kind: milliseconds of each search, in ascending order}, and those of all."""
    chance = random.Random(SEED)
    asked = [(kind, query) for kind, several in mixed_queries(mount, chance).items() for query in several]
    chance.shuffle(asked)
    search(mount, "zyzzyva")  # loads the index
    times = {}
    for kind, query in asked:
        took = search(mount, query) * 1000
        times.setdefault(kind, []).append(took)
        times.setdefault("all", []).append(took)
    return {kind: sorted(several) for kind, several in times.items()}


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
            for kind, times in query_times(mount).items():
                values[f"{kind} p50"], values[f"{kind} p99"] = times[len(times) // 2], times[len(times) * 99 // 100]
        remove()
        return values
    row.measure(measured, processor_time=f"seconds of the thread that indexes {bed.sizes.logs} logs",
                memory="MB of RssAnon that it adds", size="of the index, a part of that of the logs",
                **{f"{kind}_{part}": f"ms until hits.json of {what} is read" for part in ("p50", "p99")
                   for kind, what in KINDS.items()})
    for name, value in (("allowed time", BUILD_SECONDS), ("allowed memory", MOST_MB), ("allowed size", MOST_OF_LOGS),
                        ("allowed p50", MEDIAN_MS), ("allowed p99", WORST_MS)):
        row.allowance(name, value, str(value))
    for measured_name, allowed in (("processor time", "allowed time"), ("memory", "allowed memory"),
                                   ("size", "allowed size"), *((f"{kind} {part}", f"allowed {part}") for kind in KINDS
                                                              for part in ("p50", "p99"))):
        row.compare(measured_name, allowed, 1.0)
    return row


ROWS = {"search-index": index}
