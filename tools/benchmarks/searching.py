"""Rows about searches: making the index in the background, and searches that use it."""
import json
import os
import random
import re
import sqlite3
import subprocess
import tempfile
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
    """Returns hits.json and the seconds that reading it takes."""
    begun = time.perf_counter()
    hits = Path(mount.point, "search", query, "hits.json").read_bytes()
    return hits, time.perf_counter() - begun


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
    found = re.findall(r"\w(?:[\w.-]*\w)?", text)  # a query that begins with `-` excludes, and none begins with a dot
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


class PlainTexts:
    """The texts of the store, a file for each session, in which rg searches."""

    def __init__(self, mount, folder):
        self.folder = folder
        self.paths = []
        self.found = {}  # by word
        for number, session in enumerate(sorted(Path(mount.point, "projects").glob("*/*/text"))):
            texts = (path.read_bytes() for path in sorted(session.iterdir()))
            Path(folder, str(number)).write_bytes(b"\n".join(texts))
            self.paths.append(str(session.parent.relative_to(mount.point)))

    def sessions_with(self, word):
        if word not in self.found:
            done = subprocess.run(["rg", "-aliF", "--no-ignore", "--", word, self.folder], check=False,
                                  stdout=subprocess.PIPE, text=True)
            if done.returncode > 1:
                raise Failure("rg failed")
            self.found[word] = {self.paths[int(os.path.basename(line))] for line in done.stdout.splitlines()}
        return self.found[word]

    def check(self, query, hits):
        """Fails unless the sessions of hits.json are those that have all words."""
        words = [query.strip('"')] if query.startswith('"') else query.split()
        wanted = set.intersection(*(self.sessions_with(word) for word in words))
        found = {hit["path"] for hit in json.loads(hits)}
        if found != wanted:
            raise Failure(f"{query}: {len(found)} sessions were found, rg finds {len(wanted)}; "
                          f"they differ in {sorted(found ^ wanted)[:3]}")


def query_times(mount, check):
    """{kind: milliseconds of each search, in ascending order}, and those of all."""
    chance = random.Random(SEED)
    asked = [(kind, query) for kind, several in mixed_queries(mount, chance).items() for query in several]
    chance.shuffle(asked)
    search(mount, "zyzzyva")  # loads the index
    times = {}
    answers = {}
    for kind, query in asked:
        answers[query], seconds = search(mount, query)
        times.setdefault(kind, []).append(seconds * 1000)
        times.setdefault("all", []).append(seconds * 1000)
    if check:
        with tempfile.TemporaryDirectory(prefix="arborfs-texts-") as folder:
            texts = PlainTexts(mount, folder)
            for query, hits in answers.items():
                texts.check(query, hits)
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

    def measured(check):
        remove()
        with bed.mount(stored, "ro") as mount:
            search(mount, "zyzzyva")
            searched = mount.memory_mb("RssAnon")
            values = {"processor time": wait_for_index(mount, cache / "search.db", len(logs))}
            values["memory"] = mount.memory_mb("RssAnon") - searched
            size = sum(path.stat().st_size for path in cache.glob("search.db*"))
            values["size"] = size / sum(log.stat().st_size for log in logs)
            for kind, times in query_times(mount, check).items():
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
