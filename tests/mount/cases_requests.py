"""Counts the kernel's requests: the kernel does not ask again for data in its cache, and files that a reader needs next
are prefetched into the cache."""

import os
import re
import time
from pathlib import Path

from agentdir import backdate
from mounting import equal, eventually, variants

TURNS = 200
SURE = 3         # files read in order before prefetching starts
HANDED_OVER = 31  # files prefetched the first time
STORE = "code=4"
WATCHED = 0.5    # seconds
AT_REST = 0.05   # seconds of processor time in WATCHED, for the watcher's rounds


class Requests:
    """The requests that a daemon with -o debug has received."""

    def __init__(self, mount):
        self.log = mount.log
        self.before = {}

    def counts(self):
        found = {}
        for name in re.findall(rb"opcode: ([A-Z]+)", self.log.read_bytes()):
            found[name.decode()] = found.get(name.decode(), 0) + 1
        return found

    def start(self):
        self.before = self.counts()

    def of(self, name):
        """The number of these requests since start()."""
        return self.counts().get(name, 0) - self.before.get(name, 0)

    def all(self):
        """The requests since start(), with their counts."""
        return {name: self.of(name) for name in self.counts() if self.of(name)}

    def notifications(self):
        """The number of notifications to the kernel."""
        return self.log.read_bytes().count(b"NOTIFY: ")

    def stores(self):
        return self.log.read_bytes().count(b"NOTIFY: " + STORE.encode())


def all_sleep(mount):
    """True if all threads of the daemon sleep, so that none is between queueing a notification and sending it."""
    stats = [stat.read_text() for stat in Path(f"/proc/{mount.process.pid}/task").glob("*/stat")]
    return all(stat.rsplit(")", 1)[1].split()[0] == "S" for stat in stats)


def quiet_session(case):
    session = case.agent.talk(turns=TURNS // 2)
    backdate(session.path)
    return session


def read_all(folder, names):
    return [(folder / name).read_bytes() for name in names]


def test_read_only_mount_sends_no_open(case):
    """With -o ro the first read of a file costs one READ, further ones cost nothing."""
    session = quiet_session(case)
    with case.mount("ro", "debug", "nonotify") as mount:
        folder = mount.session(session) / "entries"
        names = sorted(os.listdir(folder))
        for name in names:
            os.stat(folder / name)
        requests = Requests(mount)
        requests.start()
        wanted = [session.line(entry["id"]) for entry in session.entries]
        equal(read_all(folder, names), wanted, "entries")
        equal((requests.of("READ"), requests.of("RELEASE")), (len(names), 0), "READ and RELEASE")
        assert requests.of("OPEN") <= 1, requests.counts()
        requests.start()
        equal(read_all(folder, names), wanted, "entries again")
        for name in ("OPEN", "READ", "RELEASE", "FLUSH", "GETATTR"):
            equal(requests.of(name), 0, f"{name} of the second pass")


@variants(ordinary={"options": ()}, read_only={"options": ("ro",)})
def test_sequential_reads_trigger_read_ahead(case, options):
    """A client that reads a few entries or texts in order finds the next ones in the kernel's cache, byte for byte,
    without a READ."""
    session = quiet_session(case)
    with case.mount("debug", *options) as mount, case.mount("nonotify") as plain:
        requests = Requests(mount)
        for part in ("entries", "text"):
            folder = mount.session(session) / part
            names = sorted(os.listdir(folder))
            for name in names:
                os.stat(folder / name)
            stores = requests.stores()
            read_all(folder, names[:SURE])
            eventually(10, lambda: requests.stores() >= stores + HANDED_OVER, "the next ones are handed over")
            requests.start()
            there = names[SURE + 5:SURE + 15]
            equal(read_all(folder, there), read_all(plain.session(session) / part, there), part)
            equal(requests.of("READ"), 0, f"READ of {part} that were handed over, of {requests.all()}")


def test_external_append_costs_three_requests(case):
    """A client that follows the leaf while another process appends needs one GETATTR, one LOOKUP and one READLINK,
    because only the stale data in the kernel's cache was invalidated."""
    session = quiet_session(case)
    with case.mount("debug") as mount:
        folder = mount.session(session)
        requests, counted = Requests(mount), []
        for turn in range(10):
            os.readlink(folder / "leaf")  # and everything that the kernel caches only for a moment
            notifications = requests.notifications()
            session.user(f"news {turn}")
            session.grow()
            eventually(10, lambda: requests.notifications() > notifications and all_sleep(mount), "the kernel was told")
            requests.start()
            equal(os.readlink(folder / "leaf"), f"entries/{session.stem(session.leaf)}.json")
            counted.append([requests.of(name) for name in ("GETATTR", "LOOKUP", "READLINK")])
        assert [1, 1, 1] in counted, counted


def test_nonotify_disables_read_ahead(case):
    """With -o nonotify nothing is stored in the kernel's cache."""
    session = quiet_session(case)
    with case.mount("debug", "nonotify") as mount:
        folder = mount.session(session) / "entries"
        names = sorted(os.listdir(folder))
        read_all(folder, names)
        equal(Requests(mount).stores(), 0, "stores")
        equal(Requests(mount).counts()["READ"], len(names), "READ")


def test_idle_request_threads_sleep(case):
    """A thread stays awake for the next request while requests arrive quickly, and sleeps when they stop."""
    session = quiet_session(case)
    with case.mount() as mount:
        folder = mount.session(session) / "entries"
        read_all(folder, sorted(os.listdir(folder)))
        before = mount.processor_time()
        time.sleep(WATCHED)
        used = mount.processor_time() - before
        assert used < AT_REST, f"{used} s of processor time"
