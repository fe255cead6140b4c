"""Open handles (F30): an open file shows one state of one log until it is closed, whatever other processes do to the
log."""

import contextlib
import errno
import os
import time
from pathlib import Path

from agentdir import overwrite_bytes, replace_by_rename, slot_line
from mounting import equal, eventually, variants

BIG = "y" * 2000
JUST_LOOKED_UP = 0.15  # how long after a lookup an open may still use its result
HANDLE_FILES = ("raw.jsonl", "context.json", "transcript.md", "entry")


def append_outside(session):
    session.user("appended " + BIG)
    session.grow()


def rename_shifted(session):
    session.retell(["shifted " + "z" * 2345 for _ in range(320)])
    replace_by_rename(session.path, session.bytes)


def rewrite_in_place(session):
    session.retell(["in place " + "w" * 1777 for _ in range(400)])
    with open(session.path, "r+b") as file:
        file.truncate(0)
        file.write(session.bytes)


def cut_back(session):
    os.truncate(session.path, len(session.bytes) // 3)


def delete(session):
    session.path.unlink()


def rename_title(session):
    overwrite_bytes(session.path, 0, slot_line("Quite another title"))


CHANGES = {function.__name__: {"change": function} for function in
           (append_outside, rename_shifted, rewrite_in_place, cut_back, delete, rename_title)}


@variants(**CHANGES)
def test_f30_open_handle_keeps_its_state(case, change):
    """F30: a file opened before the log changes gives the bytes of its own state or ESTALE, never a mix. The log and a
    transcript may grow, so that tail -f works."""
    for options in ((), ("nonotify",), ("ro",)):
        session = case.agent.session(slot=True, title="A title", folder=f"folder-{'-'.join(options)}")
        for turn in range(300):
            session.user(f"turn {turn} {BIG}")
        session.write()
        with case.mount(*options) as mount:
            folder = mount.session(session)
            before = {name: handle_path(folder, session, name).read_bytes() for name in HANDLE_FILES}
        with case.mount(*options) as mount:
            folder = mount.session(session)
            handles = {name: open_at_start(handle_path(folder, session, name)) for name in HANDLE_FILES}
            change(session)
            wait_until_log_is_current(folder, session)
            for name, handle in handles.items():
                holds_its_state(name, handle, before[name], grows=change is append_outside)
            for handle in handles.values():
                os.close(handle)


def handle_path(folder, session, name):
    if name == "entry":
        return folder / "entries" / f"{session.stem(session.entries[150]['id'])}.json"
    return folder / name


def open_at_start(path):
    """A descriptor of which the first bytes have been read."""
    descriptor = os.open(path, os.O_RDONLY)
    os.read(descriptor, 100)
    return descriptor


def wait_until_log_is_current(folder, session):
    """Waits until new opens of the log show its current bytes, or until it is gone."""
    wanted = session.path.read_bytes() if session.path.exists() else None

    def shows():
        try:
            return (folder / "raw.jsonl").read_bytes() == wanted
        except OSError:
            return wanted is None

    eventually(3, shows, "the change is seen by new opens")


def holds_its_state(name, descriptor, before, grows):
    """Reads a handle in pieces until ESTALE or its end, which must not come early."""
    offset = 0
    while True:
        try:
            piece = os.pread(descriptor, 50_000, offset)
        except OSError as error:
            assert error.errno == errno.ESTALE, f"{name} at {offset}: {error!r}"
            return
        if not piece:
            break
        old = before[offset:offset + len(piece)]
        may_be_longer = grows and name in ("raw.jsonl", "transcript.md")
        assert piece == old or (may_be_longer and piece.startswith(old)), f"{name}: other bytes from {offset} on"
        offset += len(piece)
    assert offset >= len(before), f"{name}: ends early, at {offset} of {len(before)}"


def test_rewritten_log_is_closed_after_its_readers(case):
    """Only the handles of readers keep a rewritten log open and its space on the disk in use."""
    session = case.agent.talk()
    with case.mount() as mount:
        folder = mount.session(session)

        def read_all():
            for name in ("context.json", "transcript.md", "raw.jsonl", "tree.txt"):
                (folder / name).read_bytes()

        def held():
            links = []
            for path in Path(f"/proc/{mount.process.pid}/fd").iterdir():
                with contextlib.suppress(FileNotFoundError):  # closed since the listing
                    links.append(os.readlink(path))
            return [link for link in links if link.endswith(".jsonl (deleted)")]

        read_all()
        with open(folder / "raw.jsonl", "rb") as reader:
            for number in range(5):
                (folder / "title").write_text(f"Title {number}\n")
                read_all()
            time.sleep(JUST_LOOKED_UP)
            (folder / "usage.json").read_bytes()
            equal(len(held()), 1, "logs that are open though they are gone, with one reader")
            equal(reader.read(), session.bytes, "the open handle")
        eventually(3, lambda: held() == [], "no log is open that is gone")
