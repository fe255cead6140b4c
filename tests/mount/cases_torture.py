"""Several readers beside a busy foreign writer, for some seconds (F29): all bytes of a read belong to one state of the
log, no read is older than the promised freshness, and the only errors are ENOENT and ESTALE.

Every state of the log is known in advance: generation, number of entries, title. Writer and readers are separate
processes that record their actions and results with times; the records are judged afterwards.
"""

import errno
import functools
import json
import multiprocessing
import os
import random
import re
import threading
import time
import traceback

from agentdir import START_MS, append_bytes, compact, iso, overwrite_bytes, replace_by_rename, slot_line
from mounting import PATIENCE, Metronome, concurrent, equal, eventually, run, variants
from views import status

SECONDS = float(os.environ.get("ARBORFS_TEST_SECONDS", "5"))  # how long the readers and the writer run
EVENTS_LIMIT = 0.2
POLL_LIMIT = 1.2
REPLACED = (errno.ENOENT, errno.ESTALE)
LOG_NAME = "2026-02-16T10-20-30-000Z_1f9d2a6b9c0d00aa"
FORK = multiprocessing.get_context("fork")


# -- the log: its contents in each state


def header(generation):
    return compact({"type": "session", "version": 3, "id": "1f9d2a6b9c0d00aa", "timestamp": iso(START_MS),
                    "cwd": "/srv/shop", "generation": generation}) + b"\n"


def entry_id(generation, number):
    return f"{generation:04x}{number:04x}"


def text(generation, number):
    return f"(g{generation} n{number}) " + "filler " * ((generation * 37 + number * 11) % 61)


@functools.lru_cache(maxsize=None)
def line(generation, number):
    parent = entry_id(generation, number - 1) if number > 1 else None
    message = {"role": "user", "content": text(generation, number), "timestamp": START_MS}
    return compact({"type": "message", "id": entry_id(generation, number), "parentId": parent,
                    "timestamp": iso(START_MS + number * 1000), "message": message}) + b"\n"


@functools.lru_cache(maxsize=4096)
def whole(generation, count, title):
    lines = [line(generation, number) for number in range(1, count + 1)]
    return slot_line(f"title {title}") + header(generation) + b"".join(lines)


def names(generation, count):
    return [f"{number:06d}-user-{entry_id(generation, number)}.json" for number in range(1, count + 1)]


# -- the writer


class Writer:
    """Appends in torn pieces, renames in place, replaces the file; records when each state began to be visible and when
    it was complete."""

    def __init__(self, agent):
        self.path = agent.sessions / "--srv-shop--" / f"{LOG_NAME}.jsonl"
        self.random = random.Random(20260216)
        self.state = (1, 30, 0)  # generation, entries, title
        self.begun = [(0.0, self.state)]
        self.done = [(0.0, self.state)]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_bytes(whole(*self.state))

    def run_until(self, deadline):
        while time.monotonic() < deadline:
            self.step(self.random.choice(("append",) * 6 + ("title", "replace")))
            time.sleep(self.random.choice((0.001, 0.01, 0.05)))
        return self

    def step(self, kind):
        generation, count, title = self.state
        self.state = {"append": (generation, count + 1, title), "title": (generation, count, title + 1),
                      "replace": (generation + 1, 20 + (generation * 7) % 30, title)}[kind]
        self.begun.append((time.monotonic(), self.state))
        getattr(self, kind)()
        self.done.append((time.monotonic(), self.state))

    def append(self):
        new = line(*self.state[:2])
        third = len(new) // 3
        for piece in (new[:third], new[third:2 * third], new[2 * third:]):
            append_bytes(self.path, piece)
            time.sleep(0.01)

    def title(self):
        overwrite_bytes(self.path, 0, slot_line(f"title {self.state[2]}"))

    def replace(self):
        replace_by_rename(self.path, whole(*self.state))

    def allowed(self, started, ended, limit):
        """The states that a read may show that began and ended at these times."""
        oldest = [state for when, state in self.done if when <= started - limit] or [self.done[0][1]]
        states = [state for when, state in self.begun if when <= ended]
        return states[states.index(oldest[-1]):]


# -- the readers: look() returns what was read; fits() tells whether that is this state


class Raw:
    def look(self, folder):
        return (folder / "raw.jsonl").read_bytes()

    def fits(self, seen, generation, count, title):
        """The log may end in a piece of the line that is being appended."""
        log = whole(generation, count, title)
        return seen == log or (len(seen) >= len(log) - len(line(generation, count)) and log.startswith(seen))


class Context:
    def look(self, folder):
        return [message["content"] for message in json.loads((folder / "context.json").read_bytes())["messages"]]

    def fits(self, seen, generation, count, _):
        return seen == [text(generation, number) for number in range(1, count + 1)]


class Transcript:
    def look(self, folder):
        return re.findall(r"\(g(\d+) n(\d+)\)", (folder / "transcript.md").read_text())

    def fits(self, seen, generation, count, _):
        return seen == [(str(generation), str(number)) for number in range(1, count + 1)]


class Listing:
    def look(self, folder):
        return sorted(os.listdir(folder / "entries"))

    def fits(self, seen, generation, count, _):
        return seen == names(generation, count)


class OneEntry:
    """Reads a listed entry: it may be gone by then, but its content must match its name."""

    def look(self, folder):
        name = random.choice(os.listdir(folder / "entries"))
        return name, (folder / "entries" / name).read_bytes()

    def fits(self, seen, generation, count, _):
        name, data = seen
        number = int(name.split("-")[0])
        return number <= count and name == names(generation, count)[number - 1] and data == line(generation, number)


class Texts:
    """The names and sizes in text/, and the names in images/."""

    def look(self, folder):
        sizes = {entry.name: entry.stat().st_size for entry in os.scandir(folder / "text")}
        return os.listdir(folder / "images"), sizes

    def fits(self, seen, generation, count, _):
        images, sizes = seen
        wanted = {name.replace(".json", ".md"): len(text(generation, number)) + 1
                  for number, name in enumerate(names(generation, count), 1)}
        return not images and sizes == wanted


class Title:
    def look(self, folder):
        return (folder / "title").read_text().strip()

    def fits(self, seen, _generation, _count, title):
        return seen == f"title {title}"


class Leaf:
    def look(self, folder):
        return os.readlink(folder / "leaf")

    def fits(self, seen, generation, count, _):
        return seen == f"entries/{names(generation, count)[-1]}"


class Damage:
    """Damage must never appear: a piece of a line is in progress."""

    def look(self, folder):
        return [found for found in status(folder)["damage"] if not found["inProgress"]]

    def fits(self, seen, *_):
        return not seen


READERS = (Raw, Context, Transcript, Texts, Listing, OneEntry, Title, Leaf, Damage)


def read_until(deadline, folder, readers):
    """Lets the readers look in turns; returns [(reader's name, started, ended, the result or the errno)]."""
    seen = []
    while time.monotonic() < deadline:
        for reader in readers:
            started = time.monotonic()
            try:
                found = reader.look(folder)
            except OSError as error:
                if error.errno not in REPLACED:
                    raise
                found = error.errno
            seen.append((type(reader).__name__, started, time.monotonic(), found))
            time.sleep(0.002)
    return seen


def in_process(function, *arguments):
    """Starts a function in a separate process; call the result to wait for its return value."""
    receiver, sender = FORK.Pipe(duplex=False)

    def child():
        try:
            sender.send((True, function(*arguments)))
        except BaseException:  # passed to the parent
            sender.send((False, traceback.format_exc()))

    process = FORK.Process(target=child, daemon=True)
    process.start()
    sender.close()

    def wait(seconds):
        assert receiver.poll(seconds * PATIENCE), f"{function.__name__} hangs"
        good, result = receiver.recv()
        process.join()
        assert good, result
        return result

    return wait


def judge(seen, history, limit, hiccup):
    """The failures among the reads, in words."""
    by_name = {reader.__name__: reader() for reader in READERS}
    wrong = []
    for name, started, ended, found in seen:
        if isinstance(found, int):
            continue
        fits = by_name[name].fits
        if any(fits(found, *state) for state in reversed(history.allowed(started, ended, limit))):
            continue
        patient = history.allowed(started, ended, limit * PATIENCE + hiccup)
        if not any(fits(found, *state) for state in patient):
            past = [f"{state}, {started - when:.3f} s old" for when, state in history.done if fits(found, *state)]
            kind = f"stale: {past[-1]}" if past else "a MIX"
            wrong.append(f"{name} at {started - history.begun[1][0]:.3f} s is {kind}; allowed are {len(patient)} "
                         f"states from {patient[0]} to {patient[-1]}; seen {found!r:.200}")
    return wrong


@concurrent
@variants(notified={"limit": EVENTS_LIMIT, "options": ()},
          polling={"limit": POLL_LIMIT, "options": ("noinotify",)},
          unnotified={"limit": POLL_LIMIT, "options": ("nonotify",)})
def test_f29_concurrent_reads_are_fresh_and_consistent(case, limit, options):
    """F29: with readers of every view and a writer that appends in torn pieces, renames in place and replaces the file,
    no read is stale or a mix of two states."""
    writer = Writer(case.agent)
    with case.mount(*options) as mount:
        folder = mount / "projects" / "srv-shop" / LOG_NAME
        deadline = time.monotonic() + SECONDS
        readers = [in_process(read_until, deadline, folder, [reader()]) for reader in READERS[:4]]
        readers += [in_process(read_until, deadline, folder, [reader() for reader in READERS[4:]])]
        writing = in_process(writer.run_until, deadline)
        with Metronome() as metronome:
            history = writing(SECONDS + 20)
        seen = [read for reader in readers for read in reader(20)]
        for name in (reader.__name__ for reader in READERS):
            found = [read[3] for read in seen if read[0] == name]
            good = sum(not isinstance(value, int) for value in found)
            print(f"{name}: {good} reads, {len(found) - good} times replaced meanwhile")
            assert good > 10, f"{name} hardly ever succeeded"
        print(f"{len(history.done)} states, hiccup {metronome.hiccup:.3f} s")
        wrong = judge(seen, history, limit, metronome.hiccup)
        assert not wrong, f"{len(wrong)} of {len(seen)} reads:\n" + "\n".join(wrong[:12])
        eventually(limit, lambda: Raw().fits(Raw().look(folder), *history.state)
                   and Context().fits(Context().look(folder), *history.state), "the last state")


@concurrent
def test_crawlers_end_beside_a_busy_writer(case):
    """find, tar, grep and ls -lR over the whole mount, repeated while a writer runs: each ends, none by a signal."""
    mount, writer = case.browse(), Writer(case.agent)
    with mount:
        commands = (["find", mount.path, "-ls"], ["tar", "-cf", "/dev/null", "--exclude=events", "-C", mount.path, "."],
                    ["grep", "-r", "needle", "--exclude=events", mount.path], ["ls", "-lR", mount.path])
        deadline = time.monotonic() + 3
        crawls = [in_process(crawl_until, deadline, command) for command in commands]
        writing = in_process(writer.run_until, deadline)
        for command, crawl in zip(commands, crawls):
            statuses = crawl(30)
            assert statuses and set(statuses) <= {0, 1, 2}, f"{command[0]} ended with {statuses}"
        writing(20)


def crawl_until(deadline, command):
    statuses = []
    while time.monotonic() < deadline:
        statuses.append(run(*command, check=False).returncode)
    return statuses


@concurrent
def test_concurrent_readers_read_the_same_bytes(case):
    """Eight clients that read everything at once all read the same bytes."""
    with case.browse() as mount:
        script = "find . -type f ! -name events ! -name status.json -print0 | sort -z | xargs -0 sha256sum | sha256sum"
        sums = []
        threads = [threading.Thread(target=lambda: sums.append(run("bash", "-c", script, cwd=mount.path).stdout))
                   for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60 * PATIENCE)
        equal((len(sums), len(set(sums))), (8, 1), "readers and different results")
