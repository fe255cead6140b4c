"""Reading hostile content and hostile stores (threats S1 to S4, S11, S19): nothing leads out of the store, and nothing
reaches a terminal or another user."""

import contextlib
import errno
import json
import os
import re
import signal
import time

from agentdir import PNG
from crawl import paths_below
from mounting import Skip, at_most, detach, equal, eventually, fails_with, needs_root, run

SECRET = b"a secret outside of the store"


HOSTILE_IDS = ["../../../etc/passwd", "a/b", "", ".", "..", "-rf", "\u00e9" * 300, "\u00e9" * 300 + "x", "a\x00b",
               "a\nb", "con\x1b[2J", "%2e%2e", "context.json", "same", "same", " ", "a\u202eb", "\\..\\..", "*",
               "~root"]


def test_s1_ids_and_labels_never_become_paths(case):
    """S1: with ids and labels full of separators, dots and control characters, of 300 letters, and duplicates, each
    entry has one safe, unique name of at most 255 bytes, and labels lead only into entries/."""
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
    """S1: with headers whose id and cwd try to leave the tree, by-id/, projects/ and recent/ stay flat and safe."""
    hostile = ("../../../../tmp/x", "a/b", "..", ".", "", "-rf", "x" * 5000, "nul\x00", "esc\x1b[2J")
    for number, wild in enumerate(hostile):
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


def test_s2_blob_references_cannot_leave_the_blob_folder(case):
    """S2: references that are not 64 lower-case hex digits are left unchanged and read nothing."""
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
        references = [message["content"][1]["data"] for message in messages]
        equal(references, [f"blob:sha256:{wild}" for wild in hostile], "references")
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


def test_s3_links_lead_only_to_logs(case):
    """S3: symbolic links in place of a log and a project folder show the log, and nothing else of the folder; those in
    place of a blob, an artifact or a breadcrumb show nothing of their targets."""
    outside = case.new_path("outside")
    (outside / "project").mkdir(parents=True)
    (outside / "secret").write_bytes(SECRET)
    (outside / "project" / "secret").write_bytes(SECRET)
    session, good = case.agent.session(), case.agent.session()
    session.user("linked")
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
        equal(sorted(name for name in os.listdir(mount / "projects" / "srv-shop") if name != "cwd"),
              sorted([mount.name_of(good), mount.name_of(session)]), "sessions")
        for relative in paths_below(mount.path):
            path = mount / relative
            if path.is_symlink():
                assert os.path.realpath(path).startswith(f"{mount.path}/"), f"{relative} -> {os.readlink(path)}"
        found = run("grep", "-r", "--exclude=events", SECRET.decode(), mount.path, check=False)
        equal(found.stdout, b"", "the secret in the mount")
        assert not os.path.exists(mount / "blobs" / ("ab" * 32)) or fails_with(
            (errno.EIO, errno.EACCES, errno.ENOENT), (mount / "blobs" / ("ab" * 32)).read_bytes)


def test_s3_fifos_in_the_store_do_not_block(case):
    """S3: a crawl does not block on a FIFO in place of a blob, a breadcrumb or an artifact."""
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
    """S4: with escapes in titles, texts, labels, tool output, model names and types, no name and no rendered file holds
    a control, bidirectional or zero-width character; JSON files keep them escaped."""
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


@needs_root
def test_s11_other_users_see_nothing(case):
    """S11: with allow_other the modes of the mount keep other users out, whatever the store's modes are; without it the
    kernel does. Control files can be read (CONTRACT.md 2.4, 2.7)."""
    case.browse()
    for folder, _, files in os.walk(case.agent.path):
        os.chmod(folder, 0o777)
        for name in files:
            os.chmod(os.path.join(folder, name), 0o666)
    os.chmod(case.root, 0o755)
    for options in (("allow_other",), ()):
        with case.mount(*options) as mount:
            session = mount.session(case.store["shop"])
            for path in (mount.path, mount / "README.md", mount / "projects", session / "raw.jsonl",
                         session / "entries"):
                for command in (["ls", path], ["cat", path], ["stat", f"{path}/."], ["touch", path]):
                    done = as_nobody(*command)
                    assert done.returncode != 0, f"{command} as nobody gave {done.stdout}"
                    assert b"Permission denied" in done.stderr or b"Not a directory" in done.stderr, done.stderr


def as_nobody(*command):
    return run("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *command, check=False)


@needs_root
def test_s19_hung_folder_does_not_slow_other_projects(case):
    """S19: one folder of the store hangs, because it is a file system with a stopped daemon. Other projects are listed
    and read within two seconds."""
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
                        script = "ls projects && cat projects/srv-good/*/*.md"
                        done = run("timeout", "-s", "KILL", "10", "bash", "-c", script, cwd=mount.path)
                        assert b"srv-good" in done.stdout and b"turn 3" in done.stdout, done.stdout
                    time.sleep(0.6)  # lets the watcher reach the hung folder
                os.kill(inner.process.pid, signal.SIGCONT)
        finally:
            os.kill(inner.process.pid, signal.SIGCONT)
            detach(hung)


@needs_root
def test_s19_hung_folder_does_not_block_other_operations(case):
    """S19: while eight programs wait in a hung folder of the store, other projects can be listed, read, written, forked
    and moved, and new sessions appear. The waiting programs can be killed, and get their data once the folder
    answers."""
    slow, hung = case.agent_dir().session("/srv/slow"), case.agent.sessions / "hung"
    slow.talk(3)
    slow.write()
    good, other = case.agent.talk(3, cwd="/srv/good"), case.agent.talk(3, cwd="/srv/other")
    hung.mkdir()
    with case.mount(agent_dir=slow.agent.path) as inner:
        if run("mount", "--bind", inner.session(slow), hung, check=False).returncode != 0:
            raise Skip("cannot bind folders")
        try:
            with case.mount("allow_delete") as mount, contextlib.ExitStack() as opened:
                waiting = mount.path / "projects" / "srv-slow" / "raw"
                eventually(5, lambda: os.listdir(waiting), "the session in the folder that will hang")
                listed = case.arborfs("ls", "--json", "--agent-dir", case.agent.path).stdout
                assert b"/srv/slow" in listed, listed
                # The programs open names that the kernel has looked up before: with libfuse 3.14, lookups of one folder wait
                # for each other in the kernel, and no signal ends a program that waits for its turn.
                names = ("raw.jsonl", "context.json", "transcript.md", "tree.txt", "usage.json", "session.json",
                         "status.json", "text")
                known = [opened.enter_context(path_only(waiting / name)) for name in names]
                os.kill(inner.process.pid, signal.SIGSTOP)
                eventually(10, lambda: does_not_answer(hung / "raw.jsonl"), "the kernel to forget what it knows of the folder")
                readers = [case.spawn(["cat", f"/proc/self/fd/{number}"], pass_fds=[number]) for number in known]
                assert_others_work(case, mount, good, other)
                equal([reader.poll() for reader in readers], [None] * len(names), "exit codes of the readers")
                with at_most(2, "killing those who wait"):
                    for reader in readers[1:]:
                        reader.kill()
                        reader.wait(10)
                os.kill(inner.process.pid, signal.SIGCONT)
                readers[0].wait(10)
                equal((waiting / "raw.jsonl").read_bytes(), slow.bytes, "the log behind it")
        finally:
            os.kill(inner.process.pid, signal.SIGCONT)
            detach(hung)


@contextlib.contextmanager
def path_only(path):
    """A descriptor that names a file without having opened it."""
    number = os.open(path, os.O_PATH)
    try:
        yield number
    finally:
        os.close(number)


def does_not_answer(path):
    return run("timeout", "-s", "KILL", "0.3", "stat", path, check=False).returncode != 0


def assert_others_work(case, mount, good, other):
    """Does everything that does not touch the hung folder, each step within two seconds."""
    with at_most(2, "listing and reading"):
        done = run("timeout", "-s", "KILL", "10", "bash", "-c", "ls -l projects recent by-id; cat projects/srv-good/*/*.md",
                   cwd=mount.path)
        assert b"srv-good" in done.stdout and b"turn 3" in done.stdout, done.stdout
    with at_most(2, "a session of another program"):
        found = case.agent.talk(1, cwd="/srv/found")
        eventually(5, lambda: (mount.session(found) / "raw.jsonl").read_bytes() == found.bytes)
    for what, script in {
            "new": "echo /srv/made > new && ls projects/srv-made",
            "append": f"echo hello > projects/srv-good/{good.name}/append",
            "fork": f"echo > projects/srv-good/{good.name}/fork",
            "move": f"mv projects/srv-other/{other.name} projects/srv-good/",
            "remove": f"rm -r projects/srv-good/{other.name}"}.items():
        with at_most(2, what):
            run("timeout", "-s", "KILL", "10", "bash", "-c", script, cwd=mount.path)
    with at_most(2, "what was done is seen"):
        eventually(5, lambda: len(os.listdir(mount / "projects" / "srv-good")) == 3)


def test_s1_names_of_artifacts_and_working_directories_are_safe(case):
    """S1: artifacts whose names would control a terminal or are not UTF-8, and a working directory with an escape. The
    listed names are safe and readable, and each leads to its own file."""
    session = case.agent.talk(1, cwd="/srv/a\x1b[2Jb\n%41 c", folder="x")
    artifacts = os.fsencode(session.path.with_suffix(""))
    names = {b"plain 1.log": "plain 1.log", b".hidden": ".hidden", "\u00e9t\u00e9 \u65e5.md".encode(): "\u00e9t\u00e9 \u65e5.md",
             b"esc\x1b[2J\n": "esc%1B[2J%0A", b"\xff\xfe": "%FF%FE", b"-rf": "%2Drf", b"100%": "100%25",
             b"%41": "%2541", b"A": "A", "a\u202eb".encode(): "a%E2%80%AEb"}
    os.mkdir(artifacts)
    long = [b"\x01" * 200 + b"1", b"\x01" * 200 + b"2"]
    for name in [*names, *long]:
        with open(os.path.join(artifacts, name), "wb") as file:
            file.write(b"this is " + name)
    os.mkdir(os.path.join(artifacts, b"deep\x1b"))
    with open(os.path.join(artifacts, b"deep\x1b", b"\x07"), "wb") as file:
        file.write(b"deep")
    with case.mount() as mount:
        [project] = os.listdir(mount / "projects")
        shown = mount / "projects" / project / session.name / "artifacts"
        listed = set(os.listdir(shown))
        cut = sorted(name for name in listed if name.startswith("%01"))
        equal(listed, {*names.values(), "deep%1B", *cut}, "names")
        equal([len(cut), max(len(name.encode()) for name in listed) <= 255], [2, True], "names that are cut")
        for on_disk, name in names.items():
            equal((shown / name).read_bytes(), b"this is " + on_disk, name)
    with case.mount() as mount:  # the kernel has listed nothing in this mount yet
        shown = mount / "projects" / project / session.name / "artifacts"
        equal({(shown / name).read_bytes() for name in cut}, {b"this is " + name for name in long}, "those cut")
        equal((shown / "deep%1B" / "%07").read_bytes(), b"deep", "in a folder")
        for absent in ("100%", "%41%", "%2Fetc", "..%2F", "deep%1B%2F%07"):
            fails_with(errno.ENOENT, os.stat, shown / absent)
        equal((mount / "projects" / project / "cwd").read_bytes(), b"/srv/a%1B[2Jb%0A%41 c\n", "cwd")
