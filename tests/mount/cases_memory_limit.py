"""A daemon limited to 256 MB (CONTRACT.md 7.6, 7.12) is never killed by the kernel, whatever a log contains and
whichever program writes."""

import contextlib
import errno
import json
import os
import threading

from agentdir import backdate, compact
from cgroups import MemoryLimit
from mounting import BINARY, PATIENCE, SANITIZED, Skip, equal, run, variants

LIMIT = 256_000_000
GIANT = 1_000_000_000
TAIL = 200_000_000
COMMAND = 64 << 20
MEGABYTE = b"x" * (1 << 20)


@contextlib.contextmanager
def limited(case, *options):
    """A mount whose daemon the kernel kills if it needs more than LIMIT."""
    if SANITIZED:
        raise Skip("a sanitizer needs more memory than the limit")
    with MemoryLimit(LIMIT) as limit:
        with case.mount(*options, prefix=limit.prefix()) as mount:
            yield mount
            print(f"at most {mount.memory('VmHWM') >> 20} MiB were resident")
            equal(limit.killed(), 0, "processes that the kernel killed")


def write_giant(session, before, count, after):
    """Appends a line on disk: its beginning, so many bytes of text, its end."""
    with open(session.path, "ab", buffering=0) as log:
        log.write(before)
        for _ in range(count >> 20):
            log.write(MEGABYTE)
        log.write(after)


def giant_session(case, count, **options):
    """A session of three entries, the second of which has a text of `count` bytes."""
    session = case.agent.session(**options)
    session.user("before")
    session.write()
    line = session.line(session.user("PLACE"))
    session.pending()
    before, after = line.split(b"PLACE")
    write_giant(session, before, count, after)
    session.user("behind")
    session.grow()
    backdate(session.path)
    return session


@variants(torn={"begin": b'{"type":"message","id":"x","message":{"content":"', "fill": b"x", "runs": 1},
          nuls={"begin": b"", "fill": b"\0", "runs": 1},
          brackets={"begin": b"", "fill": b"[", "runs": 2})  # and the line that ends them
def test_append_after_a_giant_damaged_tail_succeeds(case, begin, fill, runs):
    """A message appended after 200 MB of damage is an entry."""
    session = case.agent.talk(2)
    with open(session.path, "ab") as log:
        log.write(begin + fill * TAIL)
    backdate(session.path)
    with limited(case) as mount:
        folder = mount.session(session)
        (folder / "append").write_text("behind the damage\n")
        names = sorted(os.listdir(folder / "entries"))
        equal(len(names), 3, "entries")
        assert b"behind the damage" in (folder / "entries" / names[-1]).read_bytes()
        equal(len(os.listdir(folder / "damage")), runs, "runs of damage")


def read_errno(path):
    """The errno with which reading the file fails; 0 if it can be read."""
    try:
        with open(path, "rb", buffering=0) as file:
            while file.read(1 << 20):
                pass
    except OSError as error:
        return error.errno
    return 0


def made_by(folder, control, command):
    """Writes a command and returns the path in its answer."""
    handle = os.open(folder / control, os.O_RDWR)
    try:
        os.write(handle, command)
        return json.loads(os.read(handle, 4096))["path"]
    finally:
        os.close(handle)


@variants(whole={"to": False}, path={"to": True})
def test_fork_of_a_giant_line_succeeds(case, to):
    """A log with a line of a gigabyte can be forked, since a fork copies that line as it is."""
    session = giant_session(case, GIANT)
    with limited(case) as mount:
        made = made_by(mount.session(session), "fork", b"3\n" if to else b"\n")
        fork = mount.path / made
        names = sorted(os.listdir(fork / "entries"))
        equal(len(names), 3, "entries")
        assert os.stat(fork / "entries" / names[1]).st_size > GIANT >> 20 << 20
        assert b"behind" in (fork / "entries" / names[2]).read_bytes()


@variants(migrated={"version": 1}, renamed={"version": 2})
def test_migration_of_a_giant_line_is_refused(case, version):
    """What would change a line of a gigabyte is refused in one sentence, and the rest of the session stays usable."""
    session = giant_session(case, GIANT, version=version)
    with limited(case) as mount:
        folder = mount.session(session)
        before = session.path.read_bytes()[-1000:]
        for control in ("fork", "title", "append"):
            equal(write_command(folder / control, b"3\n"), errno.EFBIG, control)
            refusal = json.loads((folder / "status.json").read_text())["lastError"]
            assert "too long" in str(refusal) and "64 MiB" in str(refusal), refusal
        equal(session.path.read_bytes()[-1000:], before, "the log's end")
        names = sorted(os.listdir(folder / "entries"))
        assert b"behind" in (folder / "entries" / names[2]).read_bytes()


def test_rewrite_of_a_giant_line_succeeds(case):
    """A title for a log without a slot rewrites the log, and copies a line of a gigabyte as it is."""
    session = giant_session(case, GIANT)
    with limited(case) as mount:
        folder = mount.session(session)
        (folder / "title").write_text("A new title\n")
        equal((folder / "title").read_text(), "A new title\n")
        (folder / "append").write_text("more\n")
        equal(len(os.listdir(folder / "entries")), 4, "entries")


@variants(writable={"options": ()}, read_only={"options": ("ro",)})
def test_giant_line_is_readable(case, options):
    """Every file of a session with a line of a gigabyte can be read to its end, except the context, which is refused."""
    session = giant_session(case, GIANT)
    with limited(case, *options) as mount:
        folder = mount.session(session)
        run("ls", "-lR", folder)
        for name in ("raw.jsonl", "session.json", "title", "transcript.md", "tree.txt", "usage.json",
                     "status.json", f"entries/{session.stems()[1]}.json", f"text/{session.stems()[1]}.md"):
            count = run("bash", "-c", 'cat "$0" | wc -c', folder / name, timeout=120)
            equal(int(count.stdout), os.stat(folder / name).st_size, name)
        equal(read_errno(folder / "context.json"), errno.EFBIG, "reading the context")


def test_giant_image_is_read_or_refused(case):
    """An image of a gigabyte of base64 is read or refused."""
    session = case.agent.session()
    session.user("before")
    session.write()
    line = session.line(session.image("PLACE"))
    session.pending()
    before, after = line.split(b"PLACE")
    write_giant(session, before, GIANT, after)
    backdate(session.path)
    with limited(case) as mount:
        run("bash", "-c", 'cat "$0"/images/* | wc -c', mount.session(session), timeout=120)
        equal(read_errno(mount.session(session) / "context.json"), errno.EFBIG, "reading the context")


def test_command_line_reads_a_giant_line_within_the_limit(case):
    """The command line without a mount stays below the limit too."""
    if SANITIZED:
        raise Skip("a sanitizer needs more memory than the limit")
    session = giant_session(case, GIANT)
    with MemoryLimit(LIMIT) as limit:
        for words in (("ls",), ("show", session.id), ("tree", session.id), ("text", session.id), ("doctor",), ("append", session.id, "more"), ("fork", session.id)):
            run(*limit.prefix(), "bash", "-c", '"$@" | wc -c; exit ${PIPESTATUS[0]}', "sh", BINARY, *words,
                "--agent-dir", case.agent.path, env=case.environment, timeout=120)
            equal(limit.killed(), 0, f"killed by {words[0]}")


def command_of(kind):
    """A command of almost 64 MiB."""
    if kind == "text":
        return b"t" * (COMMAND - 1) + b"\n"
    shapes = {
        "long_text": b'{"role":"user","content":"@"}\n',
        "escaped": b'{"role":"user","content":"@"}\n',
        "kept": b'{"type":"custom","customType":"x","data":[@]}\n',
        "signed": b'{"role":"assistant","content":[{"type":"thinking","thinking":"","thinkingSignature":"@"}]}\n',
        "image": b'{"role":"user","content":[{"type":"image","mimeType":"image/png","data":"@"}]}\n',
        "numbers": b'{"type":"custom","customType":"x","data":[@0]}\n',
        "objects": b"@",
    }
    fill = {"escaped": b'\\u4e2d\\n\\"', "numbers": b"1,", "kept": b'"' + b"k" * 400_000 + b'",', "image": b"QUJD",
            "objects": b'{"type":"custom","customType":"x"}\n'}.get(kind, b"y")
    before, after = shapes[kind].split(b"@")
    middle = fill * ((COMMAND - len(before) - len(after)) // len(fill))
    if kind == "kept":
        middle = middle[:-1]
    return before + middle + after


def write_command(path, command):
    """The result of the command: an errno, or 0 for success."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_TRUNC)
        try:
            left = memoryview(command)
            while left:
                left = left[os.write(handle, left):]
        finally:
            os.close(handle)
    except OSError as error:
        return error.errno
    return 0


KINDS = ("text", "long_text", "escaped", "kept", "signed", "image", "numbers", "objects")


@variants(**{kind: {"kind": kind} for kind in KINDS})
def test_command_of_64_mib_is_stored_or_refused(case, kind):
    """A single command of the maximum size is stored or refused."""
    session = case.agent.talk(2, slot=kind == "signed", title="t" if kind == "signed" else None)
    command = command_of(kind)
    assert COMMAND - 2_000_000 < len(command) <= COMMAND, len(command)
    with limited(case) as mount:
        folder = mount.session(session)
        ended = write_command(folder / "append", command)
        print(f"{kind}: {os.strerror(ended)}")
        allowed = {0, errno.EFBIG, errno.ENOMEM} if kind in ("numbers", "objects") else {0}
        assert ended in allowed, os.strerror(ended)
        if ended:
            print(json.loads((folder / "status.json").read_text())["lastError"])
        (folder / "append").write_text("and more\n")
        os.listdir(folder / "entries")


@variants(text={"kinds": ("text",)}, mixed={"kinds": ("text", "image", "kept", "escaped")})
def test_four_commands_of_64_mib_are_stored_or_refused(case, kinds):
    """Each command is stored, one after the other if there is no room for all, or fails with ENOMEM."""
    sessions = [case.agent.talk(2) for _ in range(4)]
    commands = [command_of(kinds[number % len(kinds)]) for number in range(4)]
    ended = {}
    with limited(case) as mount:
        def write(number):
            ended[number] = write_command(mount.session(sessions[number]) / "append", commands[number])
        threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120 * PATIENCE)
        equal(sorted(ended), [0, 1, 2, 3], "commands that ended")
        print([os.strerror(ended[number]) for number in range(4)])
        assert set(ended.values()) <= {0, errno.ENOMEM}, ended
        assert 0 in ended.values(), ended
        for number, session in enumerate(sessions):
            equal(len(os.listdir(mount.session(session) / "entries")), 3 if ended[number] == 0 else 2)
