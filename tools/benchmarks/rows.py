"""The rows: who runs against whom, and what must be equal."""
import contextlib
import glob
import json
import os
import shutil
import sys
from dataclasses import dataclass, field

from bed import Failure, run, timed

MODES = {"rw": "", "ro": "ro"}


@dataclass
class Row:
    name: str
    unit: str = "ms"
    contestants: list = field(default_factory=list)  # each: check -> {name: value}
    comparisons: list = field(default_factory=list)  # (measured, against)
    commands: dict = field(default_factory=dict)     # name -> what was run

    def plain(self, name, command):
        """A contestant that is one command on plain files."""
        self.commands[name] = command
        self.contestants.append(lambda check: {name: timed(command)})

    def compare(self, measured, *against):
        self.comparisons += [(measured, other) for other in against]


def same_lines(got, wanted, what):
    if got != wanted:
        raise Failure(f"{what}: {len(got)} lines differ from {len(wanted)} wanted")


def log_lines(log):
    """The lines behind the header, without their line feeds."""
    with open(log, "rb") as file:
        return file.read().splitlines()[1:]


def check_names(session, log):
    names = sorted(os.listdir(session + "/entries"))
    ids = [json.loads(line)["id"] for line in log_lines(log)]
    same_lines([name.removesuffix(".json").rsplit("-", 1)[1] for name in names], ids, "names in entries/")


def check_entries(session, log):
    for name, line in zip(sorted(os.listdir(session + "/entries")), log_lines(log), strict=True):
        with open(f"{session}/entries/{name}", "rb") as file:
            if file.read() != line + b"\n":
                raise Failure(f"entries/{name} is not its line of the log")


def first_ls(bed):
    agent_dir, log = bed.agent_dir_with_log(40 if bed.quick else 170)
    row = Row("first-ls")

    def measure(mode):
        def contestant(check):
            with bed.mount(agent_dir, MODES[mode]) as mount:
                timed(f"ls {bed.session_in(mount, log)}/entries/")
                value = mount.since_start()
                if check:
                    check_names(bed.session_in(mount, log), log)
            return {mode: value}
        row.commands[mode] = "from exec of `arborfs mount -f`: ls SESSION/entries/ of a log of " \
                             f"{os.path.getsize(log) / 1e6:.0f} MB"
        row.contestants.append(contestant)
    for mode in MODES:
        measure(mode)
    row.plain("wc", f"wc -l {log}")
    row.plain("jq", f"jq -c .id {log}")
    for mode in MODES:
        row.compare(mode, "wc", "jq")
    return row


def context(bed):
    agent_dir, log = bed.agent_dir_with_log(40 if bed.quick else 170)
    row = Row("context")

    def contestant(check):
        with bed.mount(agent_dir, "ro") as mount:
            path = bed.session_in(mount, log) + "/context.json"
            timed(f"cat {path}")
            first = mount.since_start()
            second = timed(f"cat {path}")
            if check and int(run("jq", ".messages | length", path)) == 0:
                raise Failure("context.json holds no messages")
        return {"from exec": first, "again": second}
    row.contestants.append(contestant)
    row.commands["from exec"] = "from exec of `arborfs mount -f -o ro`: cat SESSION/context.json"
    row.commands["again"] = "cat SESSION/context.json, the second time"
    row.plain("jq", f"jq -c .id {log}")
    row.compare("from exec", "jq")
    row.compare("again", "jq")
    return row


def browse(name, command):
    """A row that runs one command over entries/ and text/, fresh and warm, against plain files."""
    def make(bed):
        megabytes = 15 if bed.quick else 60
        agent_dir, log = bed.agent_dir_with_log(megabytes)
        plain = bed.extracted(megabytes)
        row = Row(name)

        def measure(mode):
            def contestant(check):
                with bed.mount(agent_dir, MODES[mode]) as mount:
                    session = bed.session_in(mount, log)
                    filled = command.format(f"{session}/entries {session}/text")
                    values = {f"{mode} fresh": timed(filled), f"{mode} warm": timed(filled)}
                    if check:
                        check_entries(session, log)
                        for part in ("entries", "text"):
                            run("diff", "-rq", f"{session}/{part}", f"{plain}/{part}")
                return values
            row.contestants.append(contestant)
            row.commands[f"{mode} fresh"] = row.commands[f"{mode} warm"] = command.format("SESSION/{entries,text}")
        for mode in MODES:
            measure(mode)
        row.plain("files", command.format(f"{plain}/entries {plain}/text"))
        for mode in MODES:
            row.compare(f"{mode} fresh", "files")
            row.compare(f"{mode} warm", "files")
        return row
    return make


def raw(bed):
    agent_dir, log = bed.agent_dir_with_log(40 if bed.quick else 170)
    row = Row("raw")
    command = "dd if={} of=/dev/null bs=1M status=none"

    def measure(mode):
        def contestant(check):
            with bed.mount(agent_dir, MODES[mode]) as mount:
                path = bed.session_in(mount, log) + "/raw.jsonl"
                values = {f"{mode} fresh": timed(command.format(path)), f"{mode} warm": timed(command.format(path))}
                if check:
                    run("cmp", path, log)
            return values
        row.contestants.append(contestant)
        row.commands[f"{mode} fresh"] = row.commands[f"{mode} warm"] = command.format("SESSION/raw.jsonl")
    for mode in MODES:
        measure(mode)
    row.plain("log", command.format(log))
    for mode in MODES:
        row.compare(f"{mode} fresh", "log")
        row.compare(f"{mode} warm", "log")
    return row


def store(bed):
    agent_dir = bed.store(300 if bed.quick else 2000)
    row = Row("store")
    logs = glob.glob(agent_dir + "/sessions/*/*.jsonl")

    def mounted(check):
        with bed.mount(agent_dir) as mount:
            timed(f"ls {mount.point}/projects/*/")
            value = mount.since_start()
            if check:
                names = {os.path.basename(path) for path in glob.glob(mount.point + "/projects/*/*_*")}
                wanted = {os.path.basename(path).removesuffix(".jsonl") for path in logs}
                same_lines(sorted(names), sorted(wanted), "sessions below projects/")
        return {"mount and ls": value}

    def listed(check):
        command = f"{bed.arborfs} ls --agent-dir {agent_dir}"
        value = timed(command, bed.environment)
        if check:
            shown = run(bed.arborfs, "ls", "--agent-dir", agent_dir, env=bed.environment)
            if len(shown.splitlines()) < len(logs):
                raise Failure("arborfs ls leaves sessions out")
        return {"arborfs ls": value}
    row.contestants += [mounted, listed]
    row.commands["mount and ls"] = f"from exec of `arborfs mount -f`: ls MNT/projects/*/ of {len(logs)} sessions"
    row.commands["arborfs ls"] = "arborfs ls --agent-dir STORE"
    row.plain("find", f"find {agent_dir} -printf %s")
    row.compare("mount and ls", "find")
    row.compare("arborfs ls", "find")
    return row


def memory(bed):
    """Anonymous memory of the daemon after everything was looked at, against the size of what it serves."""
    megabytes = 15 if bed.quick else 60
    agent_dir, log = bed.agent_dir_with_log(megabytes)
    stored = bed.store(300 if bed.quick else 2000)
    row = Row("memory", "MB")

    def one_log(_):
        with bed.mount(agent_dir) as mount:
            session = bed.session_in(mount, log)
            start = mount.anonymous_mb()
            timed(f"find {session}/ -printf %s")
            walked = mount.anonymous_mb()
            timed(f"find {session}/entries {session}/text -type f -print0 | xargs -0 cat")
            return {"at start": start, "after find": walked, "after cat": mount.anonymous_mb(),
                    "log": os.path.getsize(log) / 1e6}

    def whole_store(_):
        with bed.mount(stored) as mount:
            timed(f"ls {mount.point}/projects/*/*/")
            listed = mount.anonymous_mb()
            timed(f"find {mount.point}/projects -printf %s")
            return {"store listed": listed, "store after find": mount.anonymous_mb(),
                    "all logs": sum(os.path.getsize(path) for path in glob.glob(stored + "/sessions/*/*.jsonl")) / 1e6}
    row.contestants += [one_log, whole_store]
    row.commands.update({
        "at start": "RssAnon of the daemon once mounted", "after find": "RssAnon after find SESSION/ -printf %s",
        "after cat": "RssAnon after reading every file of entries/ and text/", "log": "size of the log",
        "store listed": "RssAnon after ls MNT/projects/*/*/", "store after find": "RssAnon after find MNT/projects",
        "all logs": "size of all logs"})
    for name in ("at start", "after find", "after cat"):
        row.compare(name, "log")
    row.compare("store listed", "all logs")
    row.compare("store after find", "all logs")
    return row


WRITERS = 64
MEASURES = ("p50", "p99", "rate")  # microseconds, microseconds, appends a second
FIRST = 10  # appends that are not measured


def text_of(entry):
    content = entry["message"]["content"]
    return content if isinstance(content, str) else "".join(block["text"] for block in content)


def check_appended(log, old, texts):
    """Behind the `old` bytes one message for each text, whatever dots follow it, each the child of the one before."""
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


class Appending:
    """The contestants of a row about appends. Each opens, writes and closes for every line, on a fresh copy of a log."""

    def __init__(self, bed, row):
        self.bed = bed
        self.row = row

    def mounted(self, name, options, writers, count):
        """Through the control file of a mount, which syncs by itself."""
        @contextlib.contextmanager
        def opened(agent_dir, log):
            with self.bed.mount(agent_dir, options) as mount:
                yield self.bed.session_in(mount, log) + "/append"
        self._add(name, f"to SESSION/append{' -o ' * bool(options) + options}", opened, writers, count)

    def plain(self, name, sync, writers, count):
        """To a copy of the log beside it."""
        @contextlib.contextmanager
        def opened(_, log):
            yield shutil.copy(log, os.path.dirname(log) + "/plain")
        self._add(name, "to a plain file", opened, writers, count, ["--sync"] if sync else [])

    def bindfs(self, name, writers, count):
        """The same through a FUSE file system that only passes on."""
        @contextlib.contextmanager
        def opened(_, log):
            shutil.copy(log, os.path.dirname(log) + "/plain")
            with self.bed.bindfs(os.path.dirname(log)) as point:
                yield point + "/plain"
        self._add(name, "to a plain file through bindfs", opened, writers, count)

    def _add(self, name, where, opened, writers, count, options=()):
        shown = "open, write, fdatasync, close" if options else "open, write, close"
        for measure in MEASURES:
            self.row.commands[f"{name} {measure}"] = f"{shown}: {writers} x {count} lines of 200 bytes {where}"

        def contestant(check):
            agent_dir, log = self.bed.written_agent_dir()
            with open(log, "rb") as file:
                old = file.read()
            with opened(agent_dir, log) as path:
                run(self.bed.appends, path, "first", "1", str(FIRST), *options)
                said = json.loads(run(self.bed.appends, path, "turn", str(writers), str(count), *options))
            if check and os.path.basename(path) == "append":
                wanted = [f"first 0 {number}" for number in range(FIRST)]
                wanted += [f"turn {writer} {number}" for writer in range(writers) for number in range(count)]
                check_appended(log, old, wanted)
            return {f"{name} {measure}": said[measure] for measure in MEASURES}
        self.row.contestants.append(contestant)

    def compare(self, measured, *against, measures=MEASURES):
        for other in against:
            self.row.comparisons += [(f"{measured} {one}", f"{other} {one}") for one in measures]


def append(bed):
    count = 500 if bed.quick else 3000
    row = Row("append", "us; rate: appends a second")
    appending = Appending(bed, row)
    appending.mounted("synced", "", 1, count)
    appending.plain("plain synced", True, 1, count)
    appending.mounted("unsynced", "durability=none", 1, count)
    appending.plain("plain", False, 1, count)
    appending.compare("synced", "plain synced")
    appending.compare("unsynced", "plain")
    if shutil.which("bindfs"):
        appending.bindfs("bindfs", 1, count)
        appending.compare("unsynced", "bindfs")
    else:
        print("append: not against bindfs, which is not installed (Debian package bindfs)", file=sys.stderr)
    return row


def append_many(bed):
    """All writers at one session: what they share, locks and syncs, makes them faster together than one alone."""
    count = 20 if bed.quick else 100
    row = Row("append-many", "appends a second")
    appending = Appending(bed, row)
    many = f"{WRITERS} writers"
    appending.mounted(many, "", WRITERS, count)
    appending.mounted("1 writer", "", 1, count * 10)
    appending.plain(f"plain {WRITERS}", True, WRITERS, count)
    appending.compare(many, "1 writer", f"plain {WRITERS}", measures=("rate",))
    return row


ALL = {
    "first-ls": first_ls,
    "context": context,
    "find": browse("find", "find {} -printf %s"),
    "ls": browse("ls", "ls -lR {}"),
    "cat": browse("cat", "find {} -type f -print0 | xargs -0 cat"),
    "rg": browse("rg", "rg -c 'no matching function' {}"),
    "raw": raw,
    "store": store,
    "memory": memory,
    "append": append,
    "append-many": append_many,
}
