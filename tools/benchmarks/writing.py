"""Rows about writing, and about the time until an entry of another program is visible."""
import contextlib
import json
import os
import shutil
import subprocess

from bed import Failure, run
from row import Row, same_lines

WRITERS = 64
MEASURES = ("p50", "p99", "rate")  # microseconds, microseconds, appends a second
FIRST = 10  # appends that are not measured, to warm up


def text_of(entry):
    content = entry["message"]["content"]
    return content if isinstance(content, str) else "".join(block["text"] for block in content)


def check_appended(log, old, texts):
    """Checks that a message for each text, without final dots, follows `old`, each a child of the previous one."""
    with open(log, "rb") as file:
        before = file.read(len(old))
        entries = [json.loads(line) for line in file]
    if before != old:
        raise Failure("an append changed what stood before it")
    same_lines(sorted(text_of(entry).rstrip(".").strip() for entry in entries), sorted(texts), "appended messages")
    parent = json.loads(old.splitlines()[-1])["id"]
    for entry in entries:
        if entry["parentId"] != parent:
            raise Failure(f"{entry['id']} is no child of {parent}, which was appended before it")
        parent = entry["id"]


class OmpSession:
    """A session of omp that a row appends to."""

    def __init__(self, bed):
        self.bed = bed

    def copied(self):
        """(folder, log): a fresh copy."""
        return self.bed.written_agent_dir()

    @contextlib.contextmanager
    def mounted(self, folder, log, options):
        """The path of the session in a mount of the copy."""
        with self.bed.mount(folder, options) as mount:
            yield self.bed.session_in(mount, log)

    check = staticmethod(check_appended)


class Appending:
    """The contestants of a row about appends. Each opens, writes and closes a fresh copy of a log for every line."""

    def __init__(self, bed, row, session=None):
        self.bed = bed
        self.row = row
        self.session = session or OmpSession(bed)

    def mounted(self, name, options, writers, count):
        """Appends through the control file of a mount, which syncs by itself."""
        @contextlib.contextmanager
        def opened(folder, log):
            with self.session.mounted(folder, log, options) as session:
                yield session + "/append"
        self._add(name, f"to SESSION/append{' -o ' * bool(options) + options}", opened, writers, count)

    def plain(self, name, writers, count, *options):
        """Appends to a copy of the log next to it."""
        @contextlib.contextmanager
        def opened(_, log):
            yield shutil.copy(log, os.path.dirname(log) + "/plain")
        self._add(name, "to a plain file", opened, writers, count, options)

    def library(self, name, count):
        """Appends by arborfs' library, without a mount."""
        @contextlib.contextmanager
        def opened(folder, log):
            yield log
        self._add(name, "by arborfs' library, without a mount", opened, 1, count, self.session.library_options)

    def bindfs(self, name, writers, count):
        """The same through a FUSE file system that only passes requests on."""
        @contextlib.contextmanager
        def opened(_, log):
            shutil.copy(log, os.path.dirname(log) + "/plain")
            with self.bed.bindfs(os.path.dirname(log)) as point:
                yield point + "/plain"
        self._add(name, "to a plain file through bindfs", opened, writers, count)

    def _add(self, name, where, opened, writers, count, options=()):
        fixed = () if callable(options) else options
        shown = "open, write, fdatasync, close" if "--sync" in fixed else "open, write, close"
        shown = "append" if callable(options) else shown
        shown += " under the agents' lock" if "--locked" in fixed else ""
        shown += " under a flock" if "--flock" in fixed else ""
        for measure in MEASURES:
            self.row.commands[f"{name} {measure}"] = f"{shown}: {writers} x {count} lines of 200 bytes {where}"

        def contestant(check):
            folder, log = self.session.copied()
            with open(log, "rb") as file:
                old = file.read()
            used = options(folder) if callable(options) else options
            with opened(folder, log) as path:
                run(self.bed.appends, path, "first", "1", str(FIRST), *used)
                said = json.loads(run(self.bed.appends, path, "turn", str(writers), str(count), *used))
            if check and os.path.basename(path) != "plain":
                wanted = [f"first 0 {number}" for number in range(FIRST)]
                wanted += [f"turn {writer} {number}" for writer in range(writers) for number in range(count)]
                self.session.check(log, old, wanted)
            return {f"{name} {measure}": said[measure] for measure in MEASURES}
        self.row.contestants.append(contestant)

    def compare(self, measured, against, **targets):
        """`targets`: measure -> target; p50 without a target if there are none."""
        for measure, target in (targets or {"p50": None}).items():
            self.row.compare(f"{measured} {measure}", f"{against} {measure}", target, at_least=measure == "rate")


def append(bed):
    count = bed.sizes.times(1000)
    row = Row("append", "µs")
    appending = Appending(bed, row)
    appending.mounted("synced", "", 1, count)
    appending.plain("plain synced", 1, count, "--sync")
    appending.plain("locked synced", 1, count, "--sync", "--locked")
    appending.mounted("unsynced", "durability=none", 1, count)
    appending.plain("plain", 1, count)
    appending.plain("locked", 1, count, "--locked")
    appending.compare("synced", "plain synced", p50=1.5)
    appending.compare("locked synced", "plain synced")
    appending.compare("unsynced", "plain")
    if bed.has("bindfs", "bindfs"):
        appending.bindfs("bindfs", 1, count)
        appending.compare("unsynced", "bindfs", p50=0.6)
        appending.compare("locked", "bindfs")
    return row


def append_many(bed):
    """All writers at one session: together they are faster than one, because they share locks and syncs."""
    count = bed.sizes.times(50)
    row = Row("append-many", "appends/s")
    appending = Appending(bed, row)
    many = f"{WRITERS} writers"
    appending.mounted(many, "", WRITERS, count)
    appending.mounted("1 writer", "", 1, count * 10)
    appending.plain(f"plain {WRITERS}", WRITERS, count, "--sync")
    appending.compare(many, "1 writer", rate=8.0)
    appending.compare(many, f"plain {WRITERS}", rate=None)
    return row


@contextlib.contextmanager
def busy_processors(busy):
    """Keeps every processor busy with one process each."""
    loops = [subprocess.Popen(["/bin/sh", "-c", "while :; do :; done"]) for _ in range(os.cpu_count() if busy else 0)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def seen(bed, agent_dir, log, count):
    """{"p50", "p99"} in µs from a write(2) to the log by another process until the mount shows the entry."""
    with bed.mount(agent_dir) as mount:
        return json.loads(run(bed.latencies, "visible", log, bed.session_in(mount, log), str(count)))


def visible(bed):
    count = bed.sizes.times(300)
    row = Row("visible", "ms")
    shown = f"write(2) of an entry to the log by another process, until stat in the mount shows it, {count} times"

    def measured(_, busy):
        agent_dir, log = bed.written_agent_dir()
        with busy_processors(busy):
            said = seen(bed, agent_dir, log, count)
        return {f"{'busy' if busy else 'idle'} {measure}": said[measure] / 1000 for measure in ("p50", "p99")}
    row.measure(lambda check: measured(check, False), idle_p50=shown + ", p50", idle_p99=shown + ", p99")
    row.measure(lambda check: measured(check, True), busy_p50=shown + ", p50, all processors busy",
                busy_p99=shown + ", p99, all processors busy")
    for name, milliseconds, measures in (("a quarter", 0.25, ["idle p50"]), ("two", 2.0, ["idle p99"]),
                                         ("fifty", 50.0, ["busy p99"])):
        row.allowance(name, milliseconds, f"{milliseconds} ms")
        for measure in measures:
            row.compare(measure, name, 1.0)
    return row


def growth(bed):
    """The cost of one more entry in a log of few and of many entries."""
    few, many = 1000, bed.sizes.entries
    count = bed.sizes.times(200)
    row = Row("one-more", "µs")

    def measured(_, entries):
        agent_dir, log = bed.written_copy(*bed.agent_dir_with_entries(entries))
        with bed.mount(agent_dir, "durability=none") as mount:
            session = bed.session_in(mount, log)
            run(bed.appends, session + "/append", "first", "1", str(FIRST))
            appended = json.loads(run(bed.appends, session + "/append", "turn", "1", str(count)))
            tail = json.loads(run(bed.latencies, "tail", session, str(count)))
        return {f"append to {entries}": appended["p50"], f"tail of {entries}": tail["p50"],
                f"seen in {entries}": seen(bed, agent_dir, log, count)["p50"]}
    for entries in (few, many):
        row.measure(lambda check, entries=entries: measured(check, entries), **{
            f"append_to_{entries}": "open, write, close of SESSION/append, unsynced, p50",
            f"tail_of_{entries}": "append, then SESSION/leaf read as a link and as a file, p50",
            f"seen_in_{entries}": "write(2) to the log by another process until stat in the mount shows it, p50"})
    for what in ("append to", "seen in", "tail of"):
        row.compare(f"{what} {many}", f"{what} {few}", 1.5)
    return row


ROWS = {"append": append, "append-many": append_many, "visible": visible, "one-more": growth}
