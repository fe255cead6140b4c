"""The cost of an operation: the kernel's requests to the daemon, by kind, and the daemon's processor time.

Requests are counted from libfuse's output with -o debug; the time is measured in a separate run without it."""
import collections
import contextlib
import functools
import glob
import os
import re

import browsing
from bed import Failure, run, timed

APPENDS = 200
OPCODE = re.compile(rb"opcode: (\w+) \(")
NOT_COUNTED = {"INIT", "DESTROY", "FORGET", "BATCH_FORGET"}  # no reply is awaited, or they come once a mount


class Counters:
    """Counts a mount's requests, or its processor time, from now on."""

    def __init__(self, bed, mount, are_requests_told):
        self.bed = bed
        self.mount = mount
        self.are_requests_told = are_requests_told
        self.offset = os.path.getsize(bed.log_path)
        self.cpu = self.cpu_ns()

    def cpu_ns(self):
        total = 0
        for path in glob.glob(f"/proc/{self.mount.daemon.pid}/task/*/schedstat"):
            with contextlib.suppress(OSError), open(path, encoding="ascii") as file:
                total += int(file.read().split()[0])
        return total

    def requests(self):
        with open(self.bed.log_path, "rb") as log:
            log.seek(self.offset)
            kinds = collections.Counter(kind.decode() for kind in OPCODE.findall(log.read()))
        return {kind: count for kind, count in kinds.items() if kind not in NOT_COUNTED}

    def cpu_us(self):
        return (self.cpu_ns() - self.cpu) / 1000

    def found(self):
        return {"requests": self.requests()} if self.are_requests_told else {"cpu_us": self.cpu_us()}


COMMANDS = {"ls -lR": browsing.LS, "find -printf %s": browsing.FIND, "rg": browsing.RG, "grep -r": browsing.GREP,
            "cat": browsing.CAT, "tar": browsing.TAR}


def files_in(bed):
    agent_dir, log = bed.agent_dir_with_log(bed.sizes.log_mb)
    with bed.mount(agent_dir) as mount:
        session = bed.session_in(mount, log)
        return sum(len(os.listdir(f"{session}/{part}")) for part in ("entries", "text"))


def runs(bed, options, data):
    """A run that counts requests, then one for processor time. Yields the session, its log, and a maker of Counters.
    `data` returns the agent dir and the log for each run."""
    for told in (True, False):
        agent_dir, log = data()
        with bed.mount(agent_dir, ",".join(filter(None, (options, "debug" if told else "")))) as mount:
            yield bed.session_in(mount, log), log, functools.partial(Counters, bed, mount, told)


def looked_at(bed, options, name, command, files):
    """Rows of one way to read all files, fresh and warm, counted per file."""
    rows = {age: {"operation": f"{name}, {age}", "mount": options or "rw", "times": files, "of": "file"}
            for age in ("fresh", "warm")}
    for session, _, count in runs(bed, options, lambda: bed.agent_dir_with_log(bed.sizes.log_mb)):
        os.readlink(session + "/leaf")  # index first: indexing is not counted
        for row in rows.values():
            counters = count()
            timed(command.format(f"{session}/entries {session}/text"))
            row.update(counters.found())
    return list(rows.values())


def appended(bed, name, options, act):
    row = {"operation": name, "mount": options or "rw", "times": APPENDS, "of": "append"}
    for session, log, count in runs(bed, options, bed.written_agent_dir):
        act(bed, session, log, 10)
        counters = count()
        act(bed, session, log, APPENDS)
        row.update(counters.found())
    return row


def through_mount(bed, session, _, count):
    run(bed.appends, session + "/append", "turn", "1", str(count))


def by_others(bed, session, log, count):
    run(bed.latencies, "visible", log, session, str(count))


def taken(bed):
    """Returns all rows: [{operation, mount, times, of, requests: {kind: count}, cpu_us}]."""
    rows = []
    files = files_in(bed)
    for options in ("", "ro"):
        for name, command in COMMANDS.items():
            rows += looked_at(bed, options, name, command, files)
    rows.append(appended(bed, "append, synced", "", through_mount))
    rows.append(appended(bed, "append, unsynced", "durability=none", through_mount))
    rows.append(appended(bed, "append by others, awaited", "", by_others))
    if any(not row["requests"] and row["of"] == "append" for row in rows):
        raise Failure(f"no requests were told; see {bed.log_path}")
    return rows


def lines(rows):
    """Formats the rows as a table."""
    yield "| operation | mount | of | requests each | which | daemon, µs each |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for row in rows:
        times = row["times"]
        kinds = sorted(row["requests"].items(), key=lambda item: -item[1])
        which = ", ".join(f"{count / times:.2g} {kind}" for kind, count in kinds if count >= times / 100)
        yield (f"| {row['operation']} | {row['mount']} | {times} {row['of']}s | {sum(row['requests'].values()) / times:.3g} "
               f"| {which} | {row['cpu_us'] / times:.3g} |")
