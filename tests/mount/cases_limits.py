"""Logs that are too long, too many or too deep (threats S5 to S10): the daemon stays small, alive and fast."""

import base64
import errno
import json
import os
import re
import threading

from agentdir import backdate, compact
from mounting import SANITIZED, at_most, concurrent, equal, eventually, output_of, run

MIB = 1 << 20


def assert_memory_below(mount, megabytes):
    """Asserts that the daemon's own memory is below this."""
    if not SANITIZED:
        used = mount.memory() / 1e6
        assert used < megabytes, f"the daemon uses {used:.0f} MB, allowed are {megabytes}"


def line_of(session, content_bytes):
    """A message line whose content is these JSON bytes."""
    entry = dict(session.entry(session.user("PLACE")))
    return compact(entry).replace(b'"PLACE"', content_bytes) + b"\n"


def test_s5_giant_lines_are_not_loaded_into_memory(case):
    """S5: an entry of 200 MB of text and one of 60 MB of tiny values are listed, sized and read at both ends, and the
    context is refused, while the daemon stays below 200 MB."""
    session = case.agent.session()
    lines = [line_of(session, b'"' + b"x" * 200_000_000 + b'"'), line_of(session, b"[" + b"0," * 30_000_000 + b"0]")]
    session.path.parent.mkdir(parents=True)
    session.path.write_bytes(session.header_line + b"".join(lines))
    peak = Peak()
    with case.mount() as mount, peak.of(mount):
        folder = mount.session(session)
        names = sorted(os.listdir(folder / "entries"))
        for name, line in zip(names, lines):
            path = folder / "entries" / name
            equal(os.stat(path).st_size, len(line), name)
            equal(run("tail", "-c", "10", path).stdout, line[-10:], name)
            run("head", "-c", "100", path)
            assert os.stat(folder / "text" / name.replace(".json", ".md")).st_size > 0
        run("ls", "-lR", folder)
        run("head", "-c", "100", folder / "tree.txt")
        assert len(run("tail", "-c", "100", folder / "transcript.md").stdout) == 100
        assert os.stat(folder / "context.json").st_size > 0
        try:
            (folder / "context.json").read_bytes()
            raise AssertionError("the context was not refused")
        except OSError as error:
            equal(error.errno, errno.EFBIG, "reading the context")
    assert SANITIZED or peak.bytes < 200e6, f"the daemon used {peak.bytes / 1e6:.0f} MB"


class Peak:
    """The peak memory of a daemon while the block runs, sampled by a thread."""

    def __init__(self):
        self.bytes = 0

    def of(self, mount):
        self._mount, self._stop = mount, threading.Event()
        return self

    def __enter__(self):
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()

    def _watch(self):
        while not self._stop.wait(0.02):
            try:
                self.bytes = max(self.bytes, self._mount.memory())
            except (OSError, AssertionError):
                return  # the daemon is gone; the mount will report it


def many_entries(session, count, chain):
    """Writes a log of many small entries: a chain, or all children of the first entry."""
    head = compact(session.header)
    lines = [head]
    for number in range(1, count + 1):
        parent = f"{number - 1:08x}" if chain else "00000001"
        parent_text = "null" if number == 1 else f'"{parent}"'
        lines.append(f'{{"type":"message","id":"{number:08x}","parentId":{parent_text},"timestamp":'
                     f'"2026-02-16T10:20:30.000Z","message":{{"role":"user","content":"n{number}","timestamp":1}}}}'
                     .encode())
    session.path.parent.mkdir(parents=True, exist_ok=True)
    session.path.write_bytes(b"\n".join(lines) + b"\n")


def test_s6_many_entries_list_quickly_with_a_small_index(case):
    """S6: with 200,000 entries that are all tips, the first names of a listing come within two seconds and the index is
    small."""
    session = case.agent.session()
    many_entries(session, 200_000, chain=False)
    with case.mount() as mount:
        folder = mount.session(session)
        with at_most(2, "ls -f | head"):
            equal(run("bash", "-c", "ls -f entries | head -5 | wc -l", cwd=folder).stdout.strip(), b"5")
        equal(int(output_of("bash", "-c", "ls -f entries | wc -l", cwd=folder)), 200_002, "entries")
        assert_memory_below(mount, 128)
        with at_most(2, "one entry by id"):
            equal(json.loads((folder / "entries" / "00030d40.json").read_bytes())["message"]["content"], "n200000")
        equal(int(output_of("bash", "-c", "ls -f branches | wc -l", cwd=folder)), 199_999 + 3, "branches")


def test_s7_deep_chains_are_read_completely(case):
    """S7: with a chain of 100,000 entries no path is too deep, context and transcript hold all entries, and a crawl
    ends."""
    session = case.agent.session()
    many_entries(session, 100_000, chain=True)
    with case.mount() as mount:
        folder = mount.session(session)
        equal(int(output_of("jq", ".messages | length", folder / "context.json")), 100_000, "messages")
        equal(int(output_of("grep", "-c", "^## ", folder / "transcript.md")), 100_000, "headings")
        listed = output_of("bash", "-c", "find . | wc -l", cwd=folder, timeout=60)
        assert 300_000 < int(listed) < 320_000, f"{listed} names"
        path = folder / "branches" / "current" / "entries" / "100000-user-000186a0.json"
        equal(json.loads(path.read_bytes())["message"]["content"], "n100000")


def test_s8_deep_nesting_and_odd_json_do_not_crash(case):
    """S8: a million brackets, deep objects, huge numbers, duplicate keys and __proto__ do not crash the daemon, even
    with a small stack. Other entries are not affected."""
    session = case.agent.session()
    session.user("before")
    head = session.bytes
    odd = [line_of(session, b"[" * 1_000_000 + b"]" * 1_000_000),
           line_of(session, b'{"a":' * 200_000 + b"1" + b"}" * 200_000),
           b"[" * 1_000_000 + b"\n", line_of(session, b"1e999999"), line_of(session, b"-0"),
           line_of(session, b'{"__proto__":{"x":1},"__proto__":2,"constructor":3}')]
    session.user("after")
    session.path.parent.mkdir(parents=True)
    session.path.write_bytes(head + b"".join(odd) + session.line(session.leaf))
    backdate(session.path)
    with case.mount(prefix=("prlimit", f"--stack={MIB}")) as mount:
        folder = mount.session(session)
        names = sorted(os.listdir(folder / "entries"))
        for name in names:
            (folder / "entries" / name).read_bytes()
            (folder / "text" / name.replace(".json", ".md")).read_bytes()
        assert len(names) >= 3, names
        for name in ("context.json", "transcript.md", "tree.txt", "status.json", "usage.json"):
            read_or_error(folder / name)
        assert any(b'"content":"before"' in (folder / "entries" / name).read_bytes() for name in names)
        assert b'"content":"after"' in (folder / "entries" / names[-1]).read_bytes(), names[-1]


def read_or_error(path):
    """Reads a file; an I/O error is allowed, a hang or a crash is not."""
    try:
        return path.read_bytes()
    except OSError as error:
        assert error.errno in (errno.EIO, errno.EFBIG, errno.ESTALE), error
        return None


def test_s9_base64_bombs_are_sized_without_decoding(case):
    """S9: the size of an image of 60 MB of base64 with a false type is exact and known at once, its head can be read,
    and the daemon stays small."""
    session = case.agent.session()
    encoded = base64.b64encode(b"\x89PNG" + b"\0" * 45_000_002)
    image = b'[{"type":"image","mimeType":"image/png","data":"' + encoded + b'"}]'
    line = line_of(session, image)
    session.path.parent.mkdir(parents=True)
    session.path.write_bytes(session.header_line + line)
    peak = Peak()
    with case.mount() as mount, peak.of(mount):
        images = mount.session(session) / "images"
        name = os.listdir(images)[0]
        with at_most(1, "stat of the image"):
            equal(os.stat(images / name).st_size, 45_000_006, "size")
        equal(run("head", "-c", "4", images / name).stdout, b"\x89PNG", "head")
        equal(run("tail", "-c", "4", images / name).stdout, b"\0\0\0\0", "tail")
        equal(int(output_of("wc", "-c", images / name).split()[0]), 45_000_006, "bytes")
    assert SANITIZED or peak.bytes < 200e6, f"the daemon used {peak.bytes / 1e6:.0f} MB"


def test_s9_status_names_entries_that_are_not_decoded(case):
    """S9: an entry of 150 MB of base64 is served raw and sized; if its image is not shown, status.json says so."""
    session = case.agent.session()
    encoded = base64.b64encode(b"\x89PNG" + b"\0" * 112_000_000)
    line = line_of(session, b'[{"type":"image","mimeType":"image/png","data":"' + encoded + b'"}]')
    session.path.parent.mkdir(parents=True)
    session.path.write_bytes(session.header_line + line)
    with case.mount() as mount:
        folder = mount.session(session)
        equal(os.stat(folder / "entries" / "1.json").st_size, len(line), "size of the entry")
        images = os.listdir(folder / "images")
        if images:
            equal(os.stat(folder / "images" / images[0]).st_size, 112_000_004, "size of the image")
        else:
            said = (folder / "status.json").read_text()
            assert session.leaf in said or re.search("too (long|large|big)", said), f"status.json is silent: {said}"
        assert_memory_below(mount, 200)


@concurrent
def test_s10_daemon_recovers_from_descriptor_exhaustion(case):
    """S10: with a daemon limited to 64 descriptors and 500 open handles, some opens may fail, and the daemon
    recovers."""
    sessions = []
    for number in range(100):
        session = case.agent.session(f"/srv/p{number}")
        session.talk(6)
        session.write()
        sessions.append(session)
    with case.mount(prefix=("prlimit", "--nofile=64:64")) as mount:
        handles, refused = [], 0
        for session in sessions:
            for name in ("raw.jsonl", "context.json", "transcript.md", f"entries/{session.stem(session.leaf)}.json",
                         "tree.txt"):
                try:
                    handles.append(os.open(mount.session(session) / name, os.O_RDONLY))
                    os.read(handles[-1], 100)
                except OSError as error:
                    assert error.errno in (errno.EMFILE, errno.ENFILE, errno.EIO, errno.EBUSY, errno.EAGAIN), error
                    refused += 1
        print(f"{len(handles)} handles, {refused} refused")
        for handle in handles:
            os.close(handle)
        for session in sessions:
            eventually(2, lambda: (mount.session(session) / "raw.jsonl").read_bytes() == session.bytes, "recovered")
        run("bash", "-c", "find . -type f ! -name events -exec cat {} + > /dev/null", cwd=mount.path)
