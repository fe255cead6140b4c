"""Hostile content and hostile stores (threats S1 to S19), for reading: nothing leads out of the store, nothing reaches a
terminal, nothing makes the daemon large, slow or dead."""

import base64
import errno
import json
import os
import re
import signal
import threading
import time

from agentdir import PNG, backdate, compact
from crawl import paths_below
from mounting import (SANITIZED, Skip, at_most, concurrent, detach, equal, eventually, fails_with,
                      needs_root, output_of, run)

SECRET = b"a secret outside of the store"
MIB = 1 << 20


def status(folder):
    return json.loads((folder / "status.json").read_bytes())


def small(mount, megabytes):
    """Asserts that the daemon uses no more memory of its own than this."""
    if not SANITIZED:
        used = mount.memory() / 1e6
        assert used < megabytes, f"the daemon uses {used:.0f} MB, allowed are {megabytes}"


HOSTILE_IDS = ["../../../etc/passwd", "a/b", "", ".", "..", "-rf", "\u00e9" * 300, "\u00e9" * 300 + "x", "a\x00b", "a\nb",
               "con\x1b[2J", "%2e%2e", "context.json", "same", "same", " ", "a\u202eb", "\\..\\..", "*", "~root"]


def test_s1_ids_and_labels_never_become_paths(case):
    """S1: ids and labels full of separators, dots, control characters, of 300 letters, and double ones: each entry has
    one safe, unique name of at most 255 bytes, and no label leads anywhere but into entries/."""
    session = case.agent.session()
    for number, entry_id in enumerate(HOSTILE_IDS):
        session.user(f"entry {number}", entry_id=entry_id)
    for number, entry_id in enumerate(HOSTILE_IDS):
        session.label(entry_id, f"{entry_id}" or "empty", entry_id=f"label{number}")
    session.write()
    with case.mount() as mount:
        folder = mount.session(session)
        names = os.listdir(folder / "entries")
        equal(len(names), 2 * len(HOSTILE_IDS), "entries")
        for name in names:
            assert re.fullmatch(r"\d{6}-[A-Za-z0-9._%~-]+\.json", name), name
            assert len(name.encode()) <= 255, name
        for number in range(len(HOSTILE_IDS)):
            data = json.loads((folder / "entries" / f"{number + 1}.json").read_bytes())
            equal(data["message"]["content"], f"entry {number}", "by ordinal")
        for name in os.listdir(folder / "labels"):
            assert re.fullmatch(r"\.\./entries/\d{6}-[^/]+\.json", os.readlink(folder / "labels" / name)), name
            assert name not in (".", "..") and not re.search(r"[/\x00-\x1f\x7f\u202a-\u202e\u2066-\u2069]", name), name
            assert os.path.exists(folder / "labels" / name), name
        for attempt in ("../../../etc/passwd", "%2E%2E", "..%2F..%2Fetc"):
            assert not os.path.exists(folder / "entries" / "x" / attempt)


def test_s1_session_ids_and_working_directories_are_safe(case):
    """S1: headers whose id and cwd try to leave: by-id/, projects/ and recent/ stay flat and safe."""
    for number, wild in enumerate(("../../../../tmp/x", "a/b", "..", ".", "", "-rf", "x" * 5000, "nul\x00", "esc\x1b[2J")):
        session = case.agent.session(wild, session_id=f"1f9d2a6b9c0e{number:04x}", folder=f"folder{number}",
                                     fields={"id": wild, "title": wild})
        session.user("hello")
        session.write()
    with case.mount() as mount:
        for place in ("by-id", "projects", "recent"):
            names = os.listdir(mount / place)
            assert names, place
            for name in names:
                assert re.fullmatch(r"[A-Za-z0-9._%~][A-Za-z0-9._%~-]*", name) or place == "by-id", f"{place}/{name!r}"
                assert name not in (".", "..") and len(name.encode()) <= 255, f"{place}/{name!r}"
                assert os.path.realpath(mount / place / name).startswith(f"{mount.path}/"), f"{place}/{name}"
        equal(len(list((mount / "projects").glob("*/*/raw.jsonl"))), 9, "sessions")
        run("find", "-L", mount.path, "-maxdepth", "5", "-name", "raw.jsonl")


def test_s2_blob_references_cannot_leave_the_blobs(case):
    """S2: references that are no 64 lower-case hex digits are left as they are, and read nothing."""
    (case.agent.path / "secret").write_bytes(SECRET)
    good = case.agent.blob(PNG * 40).removeprefix("blob:sha256:")
    (case.agent.blobs / "sub").mkdir()
    (case.agent.blobs / "sub" / "x").write_bytes(SECRET)
    hostile = ["../secret", "sub/x", good.upper(), good[:63], good + "a", good + "\n", "", "/etc/passwd", f"./{good}"]
    session = case.agent.session(slot=True, title="x")
    for wild in hostile:
        session.image(f"blob:sha256:{wild}")
    session.write()
    with case.mount() as mount:
        folder = mount.session(session)
        messages = json.loads((folder / "context.json").read_bytes())["messages"]
        equal([message["content"][1]["data"] for message in messages], [f"blob:sha256:{wild}" for wild in hostile], "refs")
        for name in os.listdir(folder / "images"):
            try:
                data = (folder / "images" / name).read_bytes()
            except OSError as error:
                equal(error.errno, errno.EIO, name)
                continue
            assert SECRET not in data and PNG not in data, f"images/{name} was read through a bad reference"
        for wild in ("../secret", "sub", "sub/x", good.upper()):
            assert not os.path.exists(mount / "blobs" / wild) or wild.startswith(".."), wild
        equal(os.listdir(mount / "blobs"), [good], "blobs")


def test_s3_links_in_the_store_are_not_followed(case):
    """S3: symbolic links in place of a log, a project folder, a blob, an artifact, a breadcrumb show nothing of what they
    point to."""
    outside = case.new_path("outside")
    (outside / "project").mkdir(parents=True)
    (outside / "secret").write_bytes(SECRET)
    session, good = case.agent.session(), case.agent.session()
    session.user(SECRET.decode())
    (outside / "project" / f"{session.name}.jsonl").write_bytes(session.bytes)
    good.user("harmless")
    good.write()
    (case.agent.sessions / "linked-folder").symlink_to(outside / "project")
    (good.path.parent / f"{session.name}.jsonl").symlink_to(outside / "project" / f"{session.name}.jsonl")
    case.agent.blobs.mkdir()
    (case.agent.blobs / ("ab" * 32)).symlink_to(outside / "secret")
    artifacts = good.path.with_suffix("")
    artifacts.mkdir()
    (artifacts / "link.md").symlink_to(outside / "secret")
    (artifacts / "folder").symlink_to(outside)
    case.agent.terminals.mkdir()
    (case.agent.terminals / "pts-1").symlink_to(outside / "secret")
    (case.agent.terminals / "pts-2").write_text(f"/srv/shop\n{outside}/project/{session.name}.jsonl\n")
    with case.mount() as mount:
        equal([name for name in os.listdir(mount / "projects" / "srv-shop") if name != "cwd"], [good.name], "sessions")
        for relative in paths_below(mount.path):
            path = mount / relative
            if path.is_symlink():
                assert os.path.realpath(path).startswith(f"{mount.path}/"), f"{relative} -> {os.readlink(path)}"
        found = run("grep", "-r", "--exclude=events", SECRET.decode(), mount.path, check=False)
        equal(found.stdout, b"", "the secret in the mount")
        assert not os.path.exists(mount / "blobs" / ("ab" * 32)) or fails_with(
            (errno.EIO, errno.EACCES, errno.ENOENT), (mount / "blobs" / ("ab" * 32)).read_bytes)


def test_s3_blob_folder_that_is_a_link_or_fifo(case):
    """S3: a FIFO for a blob, a breadcrumb and an artifact blocks nothing."""
    session = case.agent.session()
    case.agent.blobs.mkdir()
    os.mkfifo(case.agent.blobs / ("cd" * 32))
    session.image("blob:sha256:" + "cd" * 32)
    session.write()
    artifacts = session.path.with_suffix("")
    artifacts.mkdir()
    os.mkfifo(artifacts / "fifo")
    case.agent.terminals.mkdir()
    os.mkfifo(case.agent.terminals / "pts-1")
    with case.mount() as mount, at_most(2, "crawling"):
        run("bash", "-c", "find . -ls; find . -type f ! -name events -exec cat {} + > /dev/null", cwd=mount.path,
            check=False, timeout=10)


ESCAPES = "\x1b]52;c;ZXZpbA==\x07 \x9b2J \u202e right \u200b zero \x1b[31m \x7f \r over"


def test_s4_terminal_escapes_are_made_visible(case):
    """S4: escapes in titles, texts, labels, tool output, model names and types: no name and no rendered file holds a
    control, bidirectional or zero-width character; JSON files keep them escaped."""
    session = case.agent.session(slot=True, title=ESCAPES[:20])
    first = session.user(ESCAPES)
    session.assistant(ESCAPES)
    session.tool_call("call" + ESCAPES, name=ESCAPES, command=ESCAPES)
    session.tool_result("call" + ESCAPES, ESCAPES, name=ESCAPES)
    session.add("custom" + ESCAPES, data=ESCAPES)
    session.add("compaction", summary=ESCAPES, firstKeptEntryId=first, tokensBefore=1)
    session.add("branch_summary", summary=ESCAPES, fromId=first)
    session.label(first, ESCAPES)
    session.add("message", message={"role": ESCAPES, "content": ESCAPES, "timestamp": 1})
    session.write()
    with case.mount() as mount:
        names = paths_below(mount.path)
        bad_name = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
        equal([name for name in names if bad_name.search(name)], [], "names")
        bad_text = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069]")
        folder = mount.session(session)
        rendered = [folder / "transcript.md", folder / "tree.txt", *(folder / "text").iterdir()]
        for path in rendered:
            text = path.read_bytes().decode("utf-8")
            found = bad_text.search(text)
            assert not found, f"{path.name} holds {found[0]!r}: {text[:200]!r}"
        equal(json.loads((folder / "entries" / "1.json").read_bytes())["message"]["content"], ESCAPES, "entry")
        for name in ("context.json", "session.json", "status.json"):
            data = (folder / name).read_bytes()
            assert not re.search(rb"[\x00-\x09\x0b-\x1f]", data), f"{name} holds raw control bytes"


def line_of(session, content_bytes):
    """A message line whose content is given as JSON bytes."""
    entry = dict(session.entry(session.user("PLACE")))
    return compact(entry).replace(b'"PLACE"', content_bytes) + b"\n"


def test_s5_giant_lines_stay_outside_of_memory(case):
    """S5: one entry of 200 MB of text and one of 60 MB of tiny values: listed, sized, read at both ends, and named in the
    context, while the daemon stays below 200 MB."""
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
        for name in ("context.json", "transcript.md"):
            size = os.stat(folder / name).st_size
            data = run("tail", "-c", "100", folder / name).stdout
            assert 0 < len(data) <= size, name
    assert SANITIZED or peak.bytes < 200e6, f"the daemon used {peak.bytes / 1e6:.0f} MB"


class Peak:
    """The largest memory of a daemon while something runs, measured beside it."""

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
                return  # the daemon is gone; the mount will say so


def many_entries(session, count, chain):
    """Writes a log of many small entries in one go: a chain, or all children of the first."""
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


def test_s6_very_many_entries(case):
    """S6: 200,000 entries that are all tips: the first names of a listing come within two seconds, the index is small."""
    session = case.agent.session()
    many_entries(session, 200_000, chain=False)
    with case.mount() as mount:
        folder = mount.session(session)
        with at_most(2, "ls -f | head"):
            equal(run("bash", "-c", "ls -f entries | head -5 | wc -l", cwd=folder).stdout.strip(), b"5")
        equal(int(output_of("bash", "-c", "ls -f entries | wc -l", cwd=folder)), 200_002, "entries")
        small(mount, 128)
        with at_most(2, "one entry by id"):
            equal(json.loads((folder / "entries" / "00030d40.json").read_bytes())["message"]["content"], "n200000")
        equal(int(output_of("bash", "-c", "ls -f branches | wc -l", cwd=folder)), 199_999 + 3, "branches")


def test_s7_deep_chains(case):
    """S7: a chain of 100,000 entries: no name is too deep, context and transcript hold all of it, a crawl ends."""
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


def test_s8_deep_nesting_and_odd_json(case):
    """S8: a million brackets, deep objects, huge numbers, double keys, __proto__: no crash with a small stack, other
    entries are fine."""
    session = case.agent.session()
    session.user("before")
    head = session.bytes
    odd = [line_of(session, b"[" * 1_000_000 + b"]" * 1_000_000), line_of(session, b'{"a":' * 200_000 + b"1" + b"}" * 200_000),
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
    """Reads a file; an I/O error is allowed, hanging or dying is not."""
    try:
        return path.read_bytes()
    except OSError as error:
        assert error.errno in (errno.EIO, errno.EFBIG, errno.ESTALE), error
        return None


def test_s9_base64_bombs_are_sized_without_decoding(case):
    """S9: an image of 120 MB of base64 of a type that lies: its size is told at once and exactly, its head is read, the
    daemon stays small."""
    session = case.agent.session()
    encoded = base64.b64encode(b"\x89PNG" + b"\0" * 90_000_002)
    image = b'[{"type":"image","mimeType":"image/png","data":"' + encoded + b'"}]'
    line = line_of(session, image)
    session.path.parent.mkdir(parents=True)
    session.path.write_bytes(session.header_line + line)
    peak = Peak()
    with case.mount() as mount, peak.of(mount):
        images = mount.session(session) / "images"
        name = os.listdir(images)[0]
        with at_most(1, "stat of the image"):
            equal(os.stat(images / name).st_size, 90_000_006, "size")
        equal(run("head", "-c", "4", images / name).stdout, b"\x89PNG", "head")
        equal(run("tail", "-c", "4", images / name).stdout, b"\0\0\0\0", "tail")
        equal(int(output_of("wc", "-c", images / name).split()[0]), 90_000_006, "bytes")
    assert SANITIZED or peak.bytes < 200e6, f"the daemon used {peak.bytes / 1e6:.0f} MB"


@concurrent
def test_s10_few_descriptors_and_many_readers(case):
    """S10: a daemon that may open 64 files and 500 open handles: too many files at worst, and it recovers."""
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


@needs_root
def test_s11_other_users_see_nothing(case):
    """S11: with allow_other the modes still keep everybody else out, whatever the modes of the store are; without it the
    kernel does."""
    case.browse()
    for folder, _, files in os.walk(case.agent.path):
        os.chmod(folder, 0o777)
        for name in files:
            os.chmod(os.path.join(folder, name), 0o666)
    os.chmod(case.root, 0o755)
    for options in (("allow_other",), ()):
        with case.mount(*options) as mount:
            session = mount.session(case.store["shop"])
            for path in (mount.path, mount / "README.md", mount / "projects", session / "raw.jsonl", session / "entries"):
                for command in (["ls", path], ["cat", path], ["stat", f"{path}/."], ["touch", path]):
                    done = as_nobody(*command)
                    assert done.returncode != 0, f"{command} as nobody gave {done.stdout}"
                    assert b"Permission denied" in done.stderr or b"Not a directory" in done.stderr, done.stderr


def as_nobody(*command):
    return run("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *command, check=False)


@needs_root
def test_s19_hung_store_leaves_the_rest_quick(case):
    """S19: one folder of the store hangs, being a file system whose daemon is stopped: other projects are listed and read
    within two seconds."""
    slow, hung = case.agent_dir().session(), case.agent.sessions / "hung"
    slow.talk(3)
    slow.write()
    good = case.agent.session("/srv/good")
    good.talk(3)
    good.write()
    hung.mkdir()
    with case.mount(agent_dir=slow.agent.path) as inner:
        if run("mount", "--bind", inner.session(slow), hung, check=False).returncode != 0:
            raise Skip("cannot bind folders")
        try:
            with case.mount() as mount:
                os.listdir(mount / "projects")
                os.kill(inner.process.pid, signal.SIGSTOP)
                for _ in range(3):
                    with at_most(2, "another project beside a hung one"):
                        done = run("timeout", "-s", "KILL", "10", "bash", "-c", "ls projects && cat projects/srv-good/*/*.md",
                                   cwd=mount.path)
                        assert b"srv-good" in done.stdout and b"turn 3" in done.stdout, done.stdout
                    time.sleep(0.6)  # let the watcher meet the hung folder meanwhile
                os.kill(inner.process.pid, signal.SIGCONT)
        finally:
            os.kill(inner.process.pid, signal.SIGCONT)
            detach(hung)
