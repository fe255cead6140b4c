"""Everything at once for ARBORFS_HAMMER_SECONDS: readers, writers through the mount, agents at the same logs, rewrites,
renamed folders, attempts to unmount, pressure on memory and caches, crowds of small opens. No line is lost or doubled,
no process hangs, nothing grows (CONTRACT.md 4 to 7, FAILURES.md U1 to U14)."""

import contextlib
import errno
import itertools
import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import foreign
from agentdir import rich_store
from cases_torture import in_process
from mounting import PATIENCE, SANITIZED, concurrent, equal, eventually, run
from writing import answer_of, text_of

SECONDS = float(os.environ.get("ARBORFS_HAMMER_SECONDS", "8"))
WARM_UP = min(SECONDS / 4, 20)
SETTLED = 15
MIB = 1 << 20
# How much the daemon may grow between the warm-up and the end. The logs grow all the time, and a sanitizer keeps freed
# memory for a while.
GROWTH = 512 * MIB if SANITIZED else 48 * MIB
LATE = 60  # seconds after the end; a process that still runs then hangs
TRY_AGAIN = {errno.EBUSY, errno.ESTALE}
MOVED = {errno.ENOENT, errno.EIO, errno.EPERM}


# -- writers: each returns {key of the write: the answered id, None if there is no answer, or the errno}


def repeat(deadline, pause, step):
    """Repeats the step until the deadline."""
    for number in itertools.count(1):
        if time.monotonic() > deadline:
            return
        step(number)
        time.sleep(random.uniform(0, 2 * pause))


def writing(deadline, pause, key, write):
    told = {}

    def step(number):
        try:
            told[key(number)] = write(number)
        except OSError as error:
            told[key(number)] = error.errno

    repeat(deadline, pause, step)
    return told


def put_text(path, text):
    descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC)
    try:
        os.write(descriptor, text.encode() + b"\n")
    except OSError:
        os.close(descriptor)
        raise
    os.close(descriptor)  # the text is appended here


def json_writer(deadline, folder, name):
    def write(number):
        entry = {"type": "custom", "customType": name, "data": {"n": number, "s": "x" * random.choice((1, 500, 9000))}}
        return answer_of(folder / "append", json.dumps(entry) + "\n")["id"]

    return writing(deadline, 0.02, lambda number: (name, number), write)


def text_writer(deadline, folder, name):
    return writing(deadline, 0.03, lambda number: (name, number),
                   lambda number: put_text(folder / "append", f"{name} {number}"))


def branch_writer(deadline, folder, name, ids):
    """Moves the leaf and appends there in one step."""
    def write(number):
        at = folder / "branches" / random.choice(ids) / "append"
        line = json.dumps({"type": "custom", "customType": name, "data": {"n": number}})
        return answer_of(at, line + "\n")["id"]

    return writing(deadline, 0.05, lambda number: (name, number), write)


def label_writer(deadline, folder, name, ids):
    return writing(deadline, 0.05, lambda number: (name, number),
                   lambda number: answer_of(folder / "label", f"{random.choice(ids)} {name} {number}\n")["id"])


def titler(deadline, folder, name):
    writing(deadline, 0.2, lambda number: number, lambda number: put_text(folder / "title", f"{name} {number}"))
    return {}


def forker(deadline, mount, folder, beside):
    """Forks a session, reads the copy, and deletes its log without the daemon."""
    def write(_):
        made = answer_of(folder / "fork", "\n")["session"]
        log = next(path for path in beside.glob(f"*_{made}.jsonl"))
        lines = log.read_bytes().splitlines()
        assert lines and all(json.loads(line) for line in lines), log
        with contextlib.suppress(OSError):
            (mount / "by-id" / made / "transcript.md").read_bytes()
        log.unlink()

    told = writing(deadline, 0.3, lambda number: number, write)
    assert set(told.values()) - {None} <= TRY_AGAIN, f"forks failed with {set(told.values())}"
    return {}


def agent(deadline, log, name):
    """Appends as an agent does."""
    gate = foreign.gate_name(log)

    def write(number):
        entry_id = f"{name}-{number}"
        foreign.append(log, {"type": "custom", "customType": name, "data": {"n": number}, "id": entry_id,
                             "parentId": None, "timestamp": "2026-02-16T10:20:30.000Z"}, gate)
        return entry_id

    return writing(deadline, 0.03, lambda number: (name, number), write)


def rewriter(deadline, log):
    """Rewrites the whole log as an agent does: a temporary file, renamed, under the lock. Keeps all lines."""
    gate, draft = foreign.gate_name(log), log.with_name(f".{log.name}.1f9d2a6b9c0deeee.tmp")

    def write(_):
        with foreign.locked(log, gate):
            draft.write_bytes(log.read_bytes())
            os.rename(draft, log)

    writing(deadline, 0.3, lambda number: number, write)
    return {}


def mover(deadline, folder):
    """Renames a project's folder in the store, and renames it back."""
    other = folder.with_name("--another-name--")

    def step(_):
        os.rename(folder, other)
        time.sleep(0.1)
        os.rename(other, folder)

    repeat(deadline, 0.3, step)
    return {}


# -- readers and crowds: their results do not matter, but they must end


def run_to_end(deadline, words, seconds=None, **options):
    """Runs programs. Those that still run at the deadline, or after `seconds`, are killed, and must then exit."""
    end = deadline if seconds is None else min(deadline, time.monotonic() + seconds)
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                          **options) as programs:
        try:
            programs.wait(max(end - time.monotonic(), 0.01))
        except subprocess.TimeoutExpired:
            os.killpg(programs.pid, signal.SIGKILL)
            programs.wait(10 * PATIENCE)


def crawler(deadline, words):
    repeat(deadline, 0, lambda _: run_to_end(deadline, words))


def holder(deadline, mount):
    """Opens hundreds of files and keeps them open for a moment."""
    def step(_):
        held = []
        for folder, _, files in os.walk(mount):
            if len(held) > 300 or time.monotonic() > deadline:
                break
            for name in files:
                if name != "events":
                    with contextlib.suppress(OSError):
                        held.append(os.open(os.path.join(folder, name), os.O_RDONLY))
        for descriptor in held:
            with contextlib.suppress(OSError):
                os.read(descriptor, 100)
            os.close(descriptor)

    repeat(deadline, 0.2, step)


def crowd(deadline, folder):
    """Starts a hundred processes at once that open and read a little; kills them in the middle half of the time."""
    script = "for i in {1..100}; do head -c 100 leaf transcript.md status.json > /dev/null 2>&1 & done; wait"

    def step(_):
        seconds = random.choice((None, random.uniform(0, 0.1)))
        run_to_end(deadline, ["bash", "-c", script], seconds, cwd=folder)

    repeat(deadline, 0.5, step)


def unmounter(deadline, point):
    """Tries to unmount the busy mount; both programs must fail. `arborfs umount` would detach it, as documented."""
    def step(_):
        for words in (["fusermount3", "-u", point], ["umount", "-i", point]):
            assert run(*words, check=False).returncode != 0, f"{words} unmounted a busy mount"

    repeat(deadline, 0.5, step)


def cache_dropper(deadline):
    """Makes the kernel forget names and inodes."""
    with contextlib.suppress(OSError):
        repeat(deadline, 0.5, lambda _: Path("/proc/sys/vm/drop_caches").write_text("2"))


# -- the daemon


def descriptors(mount):
    """What the daemon has open after reading all sessions, with no other client."""
    run("bash", "-c", "find . -type f ! -name events -exec cat {} + > /dev/null", cwd=mount.path, timeout=LATE)
    return [os.readlink(one) for one in Path(f"/proc/{mount.process.pid}/fd").iterdir()]


def assert_no_more_open(mount, before):
    after = descriptors(mount)
    assert len(after) <= len(before), f"{len(before)} descriptors, {len(after)} now: " \
                                      f"{sorted((Counter(after) - Counter(before)).elements())}"


@contextlib.contextmanager
def memory_pressure(mount):
    """A control group that leaves the daemon little more memory than it uses; does nothing if none can be created."""
    with contextlib.ExitStack() as cleanup:
        try:
            _squeeze(mount, cleanup)
        except OSError as error:
            print(f"no pressure on memory: {error}")
        yield


def _squeeze(mount, cleanup):
    new_kind = Path("/sys/fs/cgroup/cgroup.controllers").exists()
    top = Path("/sys/fs/cgroup") if new_kind else Path("/sys/fs/cgroup/memory")
    group = top / f"arborfs-hammer-{mount.process.pid}"
    group.mkdir()
    cleanup.callback(group.rmdir)
    limit = group / ("memory.high" if new_kind else "memory.limit_in_bytes")
    limit.write_text(str(mount.memory() + GROWTH + 64 * MIB))
    (group / "cgroup.procs").write_text(str(mount.process.pid))
    cleanup.callback((top / "cgroup.procs").write_text, str(mount.process.pid))


# -- the required contents of the logs


def keys_of(log):
    """The writers' key and the id for each line of a log that they wrote: custom entries, texts and labels."""
    for line in log.read_bytes().splitlines():
        entry = json.loads(line)
        if entry.get("type") == "custom":
            yield (entry["customType"], entry["data"]["n"]), entry["id"]
        elif entry.get("type") == "label":
            name, number = entry["label"].split()
            yield (name, int(number)), entry["id"]
        elif entry.get("type") == "message" and not text_of(entry).startswith("turn "):
            name, number = text_of(entry).split()
            yield (name, int(number)), entry["id"]


def assert_all_there(session, told, unsure):
    """Every acknowledged write is there exactly once, under its id. A refused one is not there, unless its errno leaves
    that open."""
    found = list(keys_of(session.path))
    doubled = [key for key, times in Counter(key for key, _ in found).items() if times > 1]
    equal(doubled, [], "doubled lines")
    ids = dict(found)
    for key, answer in told.items():
        refused = isinstance(answer, int)
        assert not refused or answer in TRY_AGAIN | unsure, f"{key} failed with {os.strerror(answer)}"
        if refused and answer in unsure:
            ids.pop(key, None)
        elif refused:
            assert key not in ids, f"{key} was refused and is there"
        else:
            assert key in ids, f"{key} is lost"
            equal(ids[key], answer or ids[key], f"id of {key}")
    equal(set(ids) - set(told), set(), "lines that nobody wrote")


@concurrent
def test_stress_loses_no_line_and_hangs_no_process(case):
    """With readers, writers, agents, rewrites, renames, unmounts, dropped caches and crowds at once, no line is lost or
    doubled, no process hangs, the daemon's memory and descriptors settle, and it exits with 0."""
    rich_store(case.agent)
    appended, rewritten, titled, moved = (case.agent.talk(cwd=f"/srv/{name}") for name in
                                          ("appended", "rewritten", "titled", "moved"))
    first = case.agent.talk(cwd="/srv/first")
    with case.mount() as mount, open(mount / "README.md", "rb"):
        for text in ("a write leaves files open for the next", "which opens one more, that the first created"):
            put_text(mount.session(first) / "append", text)
        before = descriptors(mount)
        deadline = time.monotonic() + SECONDS
        writers, others = [], []

        def write(session, function, *arguments):
            writers.append((session, in_process(function, deadline, *arguments)))

        def meanwhile(function, *arguments):
            others.append(in_process(function, deadline, *arguments))

        for session in (appended, rewritten, titled):
            folder, ids, short = mount.session(session), [entry["id"] for entry in session.entries], session.cwd[5:]
            write(session, json_writer, folder, f"json-{short}")
            write(session, text_writer, folder, f"text-{short}")
            write(session, branch_writer, folder, f"branch-{short}", ids)
            write(session, label_writer, folder, f"label-{short}", ids)
        write(moved, json_writer, mount.session(moved), "json-moved")
        write(appended, agent, appended.path, "agent")
        write(rewritten, rewriter, rewritten.path)
        write(titled, titler, mount.session(titled), "Title")
        write(titled, forker, mount.path, mount.session(titled), titled.path.parent)
        write(moved, mover, moved.path.parent)
        for words in (["ls", "-lR", mount.path], ["grep", "-rq", "--exclude=events", "no such words", mount.path],
                      ["tar", "-cf", "/dev/null", "--exclude=events", "-C", mount.path, "."],
                      ["bash", "-c", f"cat {mount.path}/projects/*/*/* > /dev/null"]):
            meanwhile(crawler, words)
        meanwhile(holder, mount.path)
        meanwhile(crowd, mount.session(appended))
        meanwhile(unmounter, mount.path)
        meanwhile(cache_dropper)
        time.sleep(WARM_UP)
        warm = mount.memory()
        with memory_pressure(mount):
            left = deadline - time.monotonic() + LATE
            told = {session: {} for session in (appended, rewritten, titled, moved)}
            for session, result in writers:
                told[session].update(result(left))
            for result in others:
                result(left)
        assert mount.process.poll() is None, "the daemon died"
        for session, answers in told.items():
            good = sum(not isinstance(answer, int) for answer in answers.values())
            print(f"{session.cwd}: {good} of {len(answers)} writes acknowledged, "
                  f"{dict(Counter(answer for answer in answers.values() if isinstance(answer, int)))} refused")
            assert_all_there(session, answers, MOVED if session is moved else set())
            assert good > len(answers) * (0 if session is moved else 0.5), "most were refused"
            eventually(5, lambda: (mount.session(session) / "raw.jsonl").read_bytes() == session.path.read_bytes())
            equal([name for name in os.listdir(session.path.parent) if name.startswith(".")], [], "hidden names")
        eventually(SETTLED, lambda: mount.memory() <= warm + GROWTH, f"no growth, {warm} bytes after the warm-up")
        eventually(SETTLED, lambda: assert_no_more_open(mount, before) is None, "no more descriptors than before")
        print(f"memory {warm} bytes after the warm-up, {mount.memory()} at the end; {len(before)} descriptors before, "
              f"{len(descriptors(mount))} now")
