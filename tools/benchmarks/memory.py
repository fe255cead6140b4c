"""Rows about the daemon's memory by the kernel's counters: RssAnon (anonymous memory) and VmHWM (the peak)."""
import os
import time

from bed import Failure, timed
from row import Row

LIMIT_MB = 32
TIMES = 10
BYTES_AN_ENTRY = 64
BESIDE_INDEX_MB = 4
STEADY = 5  # samples
MOST_LOOKS = 120
BETWEEN_LOOKS = 0.5  # seconds


def read_all(folder):
    timed(f"find {folder} -type f ! -name .events -print0 | xargs -0 cat")


def at_rest_mb(mount):
    """RssAnon once it has been steady for two seconds: the daemon frees memory a moment after its use."""
    seen = []
    for _ in range(MOST_LOOKS):
        seen.append(mount.memory_mb("RssAnon"))
        if len(seen) >= STEADY and max(seen[-STEADY:]) <= min(seen[-STEADY:]) + 0.1:
            return seen[-1]
        time.sleep(BETWEEN_LOOKS)
    raise Failure("the memory of the daemon does not come to rest")


def after_reading(bed):
    """Anonymous memory after walking and reading the whole mount, once and ten times."""
    stored = bed.store(bed.sizes.logs)
    row = Row("memory", "MB")

    def measured(_):
        with bed.mount(stored) as mount:
            folders = f"{mount.point}/projects/*/*/entries {mount.point}/projects/*/*/text"
            values = {"at start": mount.memory_mb("RssAnon")}
            for number in range(TIMES):
                timed(f"find {mount.point}/projects -printf %s")
                read_all(folders)
                if number == 0:
                    values["once"] = mount.memory_mb("RssAnon")
                    values["once at rest"] = at_rest_mb(mount)
            values["many times"] = mount.memory_mb("RssAnon")
            values["many times at rest"] = at_rest_mb(mount)
            values["at most"] = mount.memory_mb("VmHWM")
        return values
    row.measure(measured, at_start="RssAnon once mounted",
                once=f"RssAnon after find and cat of all entries and texts of {bed.sizes.logs} logs",
                many_times=f"the same after {TIMES} times", at_most="VmHWM, program and libraries included",
                once_at_rest="the first once it stays as it is", many_times_at_rest="the second once it stays as it is")
    row.allowance("allowed", LIMIT_MB, f"{LIMIT_MB} MB")
    row.compare("at start", "allowed")
    row.compare("once", "allowed", 1.0)
    row.compare("many times", "allowed", 1.0)
    row.compare("many times at rest", "once at rest", 1.05)
    row.compare("at most", "allowed")
    return row


def index(bed):
    """The memory of the index of a log of many entries."""
    entries = bed.sizes.entries
    agent_dir, log = bed.agent_dir_with_entries(entries)
    row = Row("index-memory", "MB")

    def measured(_):
        with bed.mount(agent_dir) as mount:
            before = mount.memory_mb("RssAnon")
            os.readlink(bed.session_in(mount, log) + "/leaf")
            return {"index": mount.memory_mb("RssAnon") - before}
    row.measure(measured, index=f"RssAnon that readlink SESSION/leaf adds, {entries} entries")
    row.allowance("allowed", BYTES_AN_ENTRY * entries / 1e6 + BESIDE_INDEX_MB,
                  f"{BYTES_AN_ENTRY} bytes an entry and {BESIDE_INDEX_MB} MB")
    row.compare("index", "allowed", 1.0)
    return row


ROWS = {"memory": after_reading, "index-memory": index}
