"""A session that another process rewrites continuously can always be opened: ESTALE is an answer to a condition of a
command, never to an open (CONTRACT.md 3.5)."""

import os
import threading
import time

from agentdir import replace_by_rename
from mounting import concurrent, equal, variants

OPENS = 20_000
SECONDS = 20  # and no longer than that
OPENS_A_WRITE = 10  # no agent writes a log anew thousands of times a second
READ = ("status.json", "title", "session.json", "raw.jsonl", "usage.json", "tree.txt", "context.json", "transcript.md")
GROWING = ("raw.jsonl", "transcript.md")  # may be longer by the time they are read


class Turns:
    """Paces the writer: one write for every few of the reader's opens, concurrent with them."""

    def __init__(self):
        self._opens, self._writes, self._is_over = 0, 0, False
        self._changed = threading.Condition()

    def opened(self):
        with self._changed:
            self._opens += 1
            self._changed.notify()

    def end(self):
        with self._changed:
            self._is_over = True
            self._changed.notify()

    def writes(self):
        """The numbers of the writes, each when it is due."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._is_over or self._opens >= self._writes * OPENS_A_WRITE)
                if self._is_over:
                    return
                self._writes += 1
            yield self._writes


def rewrite(session, mount, turns, writes):
    """Another process that replaces the log by rename, each time with slightly different content."""
    for number in turns.writes():
        session.retell([f"round {number} " + "x" * (number % 40)] * 3)
        replace_by_rename(session.path, session.bytes)
        writes.append(number)


def retitle(session, mount, turns, writes):
    """A script that writes the title through the mount. Not with O_TRUNC, after which every reader of the file finds it
    empty until the title is written."""
    for number in turns.writes():
        descriptor = os.open(mount.session(session) / "title", os.O_WRONLY)
        os.write(descriptor, b"Title %d\n" % number)
        os.close(descriptor)
        writes.append(number)


@concurrent
@variants(rewritten={"change": rewrite}, retitled={"change": retitle, "slot": True},
          retitled_without_slot={"change": retitle}, rewritten_read_only={"change": rewrite, "options": ("ro",)})
def test_opens_during_constant_rewrites_never_give_estale(case, change, slot=False, options=()):
    """Of twenty thousand opens during constant rewrites, each of another file of the session, none fails with ESTALE.
    The bytes read are complete."""
    session = case.agent.talk(3, slot=slot, title="Title 0")
    with case.mount(*options) as mount:
        folder = mount.session(session)
        turns, writes, failures = Turns(), [], []

        def write():
            try:
                change(session, mount, turns, writes)
            except BaseException as error:  # shown by the test, whatever it is
                failures.append(repr(error))
                raise

        writer = threading.Thread(target=write)
        writer.start()
        try:
            read_all(folder, turns, failures)
        finally:
            turns.end()
            writer.join()
        equal(failures[:5], [], f"{len(failures)} failures beside {len(writes)} writes")
        assert len(writes) > 50, f"only {len(writes)} writes"


def read_all(folder, turns, failures):
    start = time.monotonic()
    for number in range(OPENS):
        name = READ[number % (2 if number % 3 else len(READ))]
        turns.opened()
        try:
            descriptor = os.open(folder / name, os.O_RDONLY)
            try:
                size = os.fstat(descriptor).st_size
                text = os.read(descriptor, 1 << 20)
            finally:
                os.close(descriptor)
            is_whole = len(text) == size or name in GROWING
            if not text.endswith(b"\n") or not is_whole:
                failures.append(f"{name}: {len(text)} of {size} bytes, {text[-40:]}")
        except OSError as error:
            failures.append(f"open {number} of {name}: {error}")
        if time.monotonic() - start > SECONDS:
            break
    print(f"{number + 1} opens in {time.monotonic() - start:.1f} s")
