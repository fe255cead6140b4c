"""Failing disks under a mounted daemon (CONTRACT.md 4, 6, 7): full, over quota, broken, read-only, short and torn
writes. The writers are shells and ordinary programs. Each gets the error, the log stays unchanged, and no error
persists."""

import contextlib
import errno
import json
import os
import signal
import time
from pathlib import Path

from faults import FALLOCATE, FOR_GOOD, OPEN, RENAME, SYNC, TRUNCATE, WRITE, Faults, log_of
from mounting import (Skip, at_most, equal, eventually, fails_with, is_mounted, needs, needs_root, run, shell,
                      variants)
from views import damage, entry_ids, status
from volumes import MIB, ext4, tmpfs
from writing import added, reason, refused, text_of

CUSTOM = '{"type":"custom","customType":"x","data":{"n":%d}}'
LOCK_PATIENCE = 0.7  # a little longer than any writer waits for a lock
FULL, QUOTA, BROKEN = "No space left on device", "Disk quota exceeded", "Input/output error"


def big_command(size):
    return json.dumps({"type": "custom", "customType": "big", "data": {"s": "x" * size}}) + "\n"


def write_command(folder, text):
    """Writes a whole command with one write(2), and the rest if the write was short, as programs do."""
    descriptor, rest = os.open(folder / "append", os.O_WRONLY), text.encode()
    try:
        while rest:
            rest = rest[os.write(descriptor, rest):]
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def log_unchanged(session):
    """The block must leave the log and the names next to it unchanged."""
    before, names = session.path.read_bytes(), sorted(os.listdir(session.path.parent))
    yield
    equal(session.path.read_bytes(), before, "the log")
    equal(sorted(os.listdir(session.path.parent)), names, "names in the store")


def assert_readable(session, folder):
    """Every file of the session can be read, and matches the log."""
    data = session.path.read_bytes()
    equal((folder / "raw.jsonl").read_bytes(), data, "raw.jsonl")
    equal(len(os.listdir(folder / "entries")), len(data.splitlines()) - 1, "entries")
    for name in ("context.json", "transcript.md", "tree.txt", "usage.json", "session.json"):
        assert (folder / name).read_bytes(), name
    equal(damage(folder), [], "damage")


def assert_next_append_works(session, folder):
    """The next append works without a remount, and status.json reports no error any more."""
    shell("echo 'it goes on' > append", cwd=folder)
    equal(text_of(added(session)[-1]), "it goes on")
    equal(reason(folder), "", "the reason after a success")
    assert_readable(session, folder)
    equal([name for name in os.listdir(session.path.parent) if name.startswith(".")], [], "hidden names in the store")


# -- full


VOLUMES = {"tmpfs": tmpfs, "ext4": ext4, "ext4_without_journal": lambda case: ext4(case, features="^has_journal")}
full_disks = variants(**{name: {"make": make} for name, make in VOLUMES.items()})


@needs_root
@needs("mkfs.ext4")
@full_disks
def test_f5_full_disk_error_does_not_persist(case, make):
    """F1, F5, F22: an append that does not fit is truncated away and fails with the reason. A small one that fits works
    at once, and the large one works when there is room again."""
    volume = make(case)
    session = case.agent.talk()
    with case.mount() as mount:
        folder = mount.session(session)
        large = big_command(60_000)
        with volume.filled(leaving=24 << 10):
            for attempt in range(3):
                with log_unchanged(session):
                    fails_with(errno.ENOSPC, write_command, folder, large)
                assert "free some space" in reason(folder), reason(folder)
                assert_readable(session, folder)
            equal(added(session), [])
            with log_unchanged(session):
                refused("echo \"$(head -c 60000 /dev/zero | tr '\\0' x)\" > append", folder, FULL)
                refused("head -c 60000 /dev/zero | tr '\\0' x | tee append > /dev/null", folder, FULL)
            assert "free some space" in reason(folder), reason(folder)
            assert_next_append_works(session, folder)
        write_command(folder, large)
        equal(added(session)[-1]["data"], json.loads(large)["data"])
        assert_next_append_works(session, folder)


@needs_root
@needs("mkfs.ext4")
@full_disks
def test_f5_failed_writes_on_a_full_disk_leave_nothing(case, make):
    """F5, F22: on a disk without a free block every kind of write fails in the shell with its reason, and leaves no
    session, temporary file or lock. All of them work as soon as there is room."""
    volume = make(case)
    session = case.agent.talk(40)
    first = session.entries[0]["id"]
    writes = [("append", f"echo '{CUSTOM % 1}' > append"), ("append", "echo text > append"),
              ("label", f"echo '{first} name' > label"), ("title", "echo 'Another title' > title"),
              ("fork", "echo > fork"), ("fork", f"echo {first} > fork"), ("branch", f"echo {first} > branch")]
    with case.mount() as mount:
        folder, projects = mount.session(session), os.listdir(mount / "projects")
        with volume.filled():
            for verb, script in writes:
                with log_unchanged(session):
                    refused(script, folder, FULL)
                said = reason(folder)
                assert said.startswith(f"{verb}: ") and "free some space" in said, f"{script}: {said!r}"
                assert any(said in line for line in status(mount)["lastErrors"]), status(mount)["lastErrors"]
            refused("echo /srv/another > new", mount.path, FULL)
            assert "free some space" in status(mount)["lastErrors"][-1], status(mount)["lastErrors"]
            equal(os.listdir(mount / "projects"), projects, "projects")
            equal(os.listdir(mount / "by-id"), [session.id], "sessions")
            assert_readable(session, folder)
        for _, script in writes[:-1]:
            shell(script, cwd=folder)
            equal(reason(folder), "", f"the reason after {script}")
        shell("echo /srv/another > new", cwd=mount.path)
        equal(len(os.listdir(mount / "by-id")), 4, "sessions")
        equal((folder / "title").read_text(), "Another title\n")
        equal(os.listdir(folder / "labels"), ["name"])


# -- quota, limits of a process


# Root ignores quotas unless it lacks this capability.
LIMITED = ("setpriv", "--bounding-set=-sys_resource", "--inh-caps=-sys_resource")


def assert_quota_error(session, folder):
    with log_unchanged(session):
        fails_with(errno.EDQUOT, write_command, folder, big_command(600_000))
        assert "quota" in reason(folder), reason(folder)
        refused("echo \"$(head -c 600000 /dev/zero | tr '\\0' x)\" > append", folder, QUOTA)
    assert "quota" in reason(folder), reason(folder)
    assert_readable(session, folder)


@needs_root
@needs("setpriv")
def test_f5_system_quota_error_reaches_the_writer(case):
    """F5, F22: if the quota is used up, write(2) fails with EDQUOT and the log is unchanged. With room in the quota the
    next append works."""
    volume = tmpfs(case, size=8 * MIB, options=",usrquota,usrquota_block_hardlimit=512k")
    session = case.agent.talk()
    with case.mount(prefix=LIMITED) as mount:
        folder = mount.session(session)
        assert_quota_error(session, folder)
        filler = volume.point / "filler"
        run(*LIMITED, "dd", "if=/dev/zero", f"of={filler}", "bs=4096", check=False)
        with log_unchanged(session):
            refused(f"echo '{CUSTOM % 1}' > append", folder, QUOTA)
        filler.unlink()
        assert_next_append_works(session, folder)


def test_f5_injected_quota_error_reaches_the_writer(case):
    """F5, F22: a disk that returns EDQUOT has the same effect, in the log's write and when room is reserved for a
    text."""
    faults, session = Faults(case), case.agent.talk()
    with faults.mount() as mount:
        folder = mount.session(session)
        with faults.armed(WRITE | FALLOCATE, "/sessions/", errno.EDQUOT):
            assert_quota_error(session, folder)
        assert_next_append_works(session, folder)
        with faults.armed(WRITE, log_of(session), errno.EDQUOT, keep=100), log_unchanged(session):
            fails_with(errno.EDQUOT, write_command, folder, big_command(60_000))
        assert "quota" in reason(folder), reason(folder)
        assert_next_append_works(session, folder)


@needs("prlimit")
def test_f5_file_size_limit_error_reaches_the_writer(case):
    """F5, F22: beyond the running daemon's RLIMIT_FSIZE the writer gets EFBIG, for JSON and for text. The signal does
    not end the daemon, and appends work again once the limit is lifted."""
    session = case.agent.talk()
    with case.mount() as mount:
        folder, pid = mount.session(session), str(mount.process.pid)
        run("prlimit", "--pid", pid, f"--fsize={len(session.bytes) + 1000}:unlimited")
        with log_unchanged(session):
            fails_with(errno.EFBIG, write_command, folder, big_command(3000))
            assert "limit for file sizes" in reason(folder), reason(folder)
            refused("echo \"$(head -c 3000 /dev/zero | tr '\\0' x)\" > append", folder, "File too large")
            assert "limit for file sizes" in reason(folder), reason(folder)
        assert_readable(session, folder)
        write_command(folder, CUSTOM % 1 + "\n")  # a line this small still fits
        equal(reason(folder), "", "the reason after a success")
        run("prlimit", "--pid", pid, "--fsize=unlimited:unlimited")
        write_command(folder, big_command(3000))
        assert_next_append_works(session, folder)


# -- broken


FAULTS = {
    "write": ((WRITE, errno.EIO), {}),
    "write_once": ((WRITE, errno.EIO), {"count": 1}),
    "torn_write": ((WRITE, errno.EIO), {"keep": 20}),
    "torn_after_short_writes": ((WRITE, errno.ENOSPC), {"keep": 1, "count": 2}),
    "nothing_written": ((WRITE, 0), {"keep": 0, "count": 1}),
    "open": ((OPEN, errno.EIO), {}),
    "open_without_descriptors": ((OPEN, errno.ENFILE), {}),
    "write_by_permission": ((WRITE, errno.EPERM), {}),
}


@variants(**{name: {"plan": plan, "how": how} for name, (plan, how) in FAULTS.items()})
def test_f22_each_fault_reaches_the_writer(case, plan, how):
    """F22: if any step of an append fails, the shell's command fails and the log is unchanged. status.json gives the
    reason, and the next append works."""
    faults, session = Faults(case), case.agent.talk()
    with faults.mount() as mount:
        folder = mount.session(session)
        operation, error = plan
        with faults.armed(operation, log_of(session), error, **how), log_unchanged(session):
            done = run("bash", "-c", f"echo '{CUSTOM % 1}' > append", cwd=folder, check=False)
            assert done.returncode != 0 and b"write error" in done.stderr, done
        assert reason(folder).startswith("append: "), reason(folder)
        assert_readable(session, folder)
        assert_next_append_works(session, folder)


def test_f22_rest_of_a_long_write_fails_with_the_same_error(case):
    """F22: the kernel splits a long command into pieces of a megabyte, and the first ones are accepted. The write of
    the rest fails with the error of the whole command, and status.json gives the reason."""
    faults, session = Faults(case), case.agent.talk()
    with faults.mount() as mount:
        folder = mount.session(session)
        descriptor = os.open(folder / "append", os.O_WRONLY)
        with faults.armed(WRITE, log_of(session), errno.ENOSPC), log_unchanged(session):
            long = big_command(3_500_000).encode()
            taken = os.write(descriptor, long)
            assert 0 < taken < len(long), taken
            for _ in range(2):
                fails_with(errno.ENOSPC, os.write, descriptor, long[taken:])
            assert "free some space" in reason(folder), reason(folder)
            fails_with(errno.ENOSPC, os.write, descriptor, (CUSTOM % 1 + "\n").encode())  # may be the rest of it
        os.fsync(descriptor)  # ends the command that was refused
        equal(os.write(descriptor, (CUSTOM % 1 + "\n").encode()), len(CUSTOM % 1) + 1)
        os.close(descriptor)
        assert_next_append_works(session, folder)


def test_f1_short_writes_make_one_whole_line(case):
    """F1: a disk that takes 20 bytes and then the rest ends up with one whole line."""
    faults, session = Faults(case), case.agent.talk()
    with faults.mount() as mount:
        folder = mount.session(session)
        with faults.armed(WRITE, log_of(session), 0, keep=20, count=1):
            shell(f"echo '{CUSTOM % 7}' > append", cwd=folder)
        equal(faults.seen, 2, "writes")
        equal([entry["data"]["n"] for entry in added(session)], [7])
        assert_next_append_works(session, folder)


def test_f1_append_after_an_untruncated_torn_write_starts_a_new_line(case):
    """F1: a disk takes 20 bytes of a line, fails, and cannot truncate them either. The session stays readable, the next
    append begins a new line, and the piece is shown in damage/."""
    faults, session = Faults(case), case.agent.talk()
    with faults.mount() as mount:
        folder = mount.session(session)
        with faults.armed(WRITE | TRUNCATE, log_of(session), errno.EIO, keep=20):
            refused(f"echo '{CUSTOM % 1}' > append", folder, BROKEN)
        equal(faults.met, 3, "a write that took 20 bytes, one that failed, and ftruncate")
        said = reason(folder)
        assert "could not be cut off" in said and "damage/" in said, said
        torn = session.path.read_bytes()[len(session.bytes):]
        equal(len(torn), 20, "bytes behind the log")
        equal(entry_ids(folder), [entry["id"] for entry in session.entries], "entries")
        equal((folder / "raw.jsonl").read_bytes(), session.bytes + torn)
        shell("echo 'on a line of its own' > append", cwd=folder)
        data = session.path.read_bytes()
        assert data.startswith(session.bytes + torn + b"\n"), "glued"
        equal(json.loads(data.splitlines()[-1])["parentId"], session.leaf, "parent")
        eventually(4, lambda: damage(folder) == [torn], "the piece in damage/")
        equal(reason(folder), "", "the reason after a success")


def test_f5_failed_sync_gives_eio_and_is_not_retried(case):
    """F5, F22: when fdatasync fails, the writer gets EIO and the call is not repeated. The new content is shown,
    status.json says that it may not survive a power cut, and the next append is synced."""
    faults, session = Faults(case), case.agent.talk()
    with faults.mount() as mount:
        folder = mount.session(session)
        with faults.armed(SYNC, log_of(session), errno.EIO, count=1):
            refused(f"echo '{CUSTOM % 1}' > append", folder, BROKEN)
        equal(faults.seen, 1, "calls of fdatasync")
        said = reason(folder)
        assert "may not survive a power cut" in said and "the log can be read" in said, said
        equal([entry["data"]["n"] for entry in added(session)], [1], "what the log holds")
        assert_readable(session, folder)
        faults.arm(SYNC, log_of(session), errno.EIO, at=FOR_GOOD)  # counts only
        shell("echo 'it goes on' > append", cwd=folder)
        equal(faults.seen, 1, "calls of fdatasync for the next append")
        equal(reason(folder), "", "the reason after a success")


def test_f22_failed_rewrites_and_forks_leave_no_files(case):
    """F22: a title or fork whose rename, sync or write fails reports the error, leaves the log unchanged and leaves no
    temporary file."""
    faults, session = Faults(case), case.agent.talk()
    with faults.mount() as mount:
        folder = mount.session(session)
        for script in ("echo 'Another title' > title", "echo > fork"):
            for operations, error in ((RENAME, errno.EIO), (SYNC, errno.EIO), (WRITE, errno.ENOSPC)):
                with faults.armed(operations, ".jsonl", error), log_unchanged(session):
                    refused(script, folder, os.strerror(error))
                equal(os.listdir(mount / "by-id"), [session.id], f"sessions after {script}")
        with faults.armed(RENAME, ".jsonl", errno.EIO, count=1), log_unchanged(session):
            refused("echo /srv/shop > new", mount.path, BROKEN)
        equal(os.listdir(mount / "by-id"), [session.id], "sessions after new")
        shell("echo 'Another title' > title; echo > fork", cwd=folder)
        equal((folder / "title").read_text(), "Another title\n")
        equal(len(os.listdir(mount / "by-id")), 2)


# -- read-only, unchangeable


@needs_root
def test_f5_writes_fail_while_the_store_is_read_only(case):
    """F5, F22: while the store's file system is mounted read-only writes fail with EROFS; they work when it is writable
    again."""
    volume = tmpfs(case)
    session = case.agent.talk()
    with case.mount() as mount:
        folder = mount.session(session)
        shell("echo before > append", cwd=folder)
        volume.remount("ro")
        with log_unchanged(session):
            for script in (f"echo '{CUSTOM % 1}' > append", "echo x > append", "echo x > title", "echo > fork",
                           "echo '#1 x' > label", "echo root > branch"):
                refused(script, folder, "Read-only file system")
                assert "read-only" in reason(folder), reason(folder)
            refused("echo /srv/x > new", mount.path, "Read-only file system")
        assert_readable(session, folder)
        volume.remount("rw")
        assert_next_append_works(session, folder)


def test_hung_disk_does_not_block_readers(case):
    """While more writers than the daemon has request threads wait for a hung disk, reads are answered and no writer is
    refused because another writer of this mount holds the log. All writes arrive when the disk answers again."""
    volume = ext4(case)
    session, other = case.agent.talk(), case.agent.talk()
    with case.mount() as mount:
        folder = mount.session(session)
        os.listdir(folder)
        with volume.frozen():
            writers = [case.spawn(["bash", "-c", f"exec 3>> append && echo '{said}' >&3"],
                                  case.new_path("out"), cwd=folder)
                       for number in range(os.cpu_count() + 4) for said in (CUSTOM % number, f"text {number}")]
            eventually(5, lambda: all(holds_control(writer.pid) for writer in writers), "all have opened append")
            with at_most(0.5, "reading beside them"):
                equal(len(os.listdir(folder / "text")), 4)
                equal((folder / "raw.jsonl").read_bytes(), session.bytes)
                equal((mount.session(other) / "raw.jsonl").read_bytes(), other.bytes)
            time.sleep(LOCK_PATIENCE)
            equal([writer.poll() for writer in writers], [None] * len(writers), "they still wait")
        equal([writer.wait(10) for writer in writers], [0] * len(writers), "exit statuses")
        equal(len(added(session)), len(writers))


def waits_for_a_disk(pid):
    """True if a thread of the process is in an uninterruptible call."""
    stats = [stat.read_text() for stat in Path(f"/proc/{pid}/task").glob("*/stat")]
    return any(stat.rsplit(")", 1)[1].split()[0] == "D" for stat in stats)


@needs_root
@needs("mkfs.ext4")
def test_second_sigterm_does_not_wait_for_the_disk(case):
    """After SIGTERM a daemon waits for a write that waits for its disk. At a second SIGTERM it exits at once: nothing
    stays mounted, and the write is not acknowledged."""
    volume = ext4(case)
    session = case.agent.talk()
    mount = case.mount().start()
    with volume.frozen():
        writer = case.spawn(["bash", "-c", "echo text > append"], case.new_path("out"), cwd=mount.session(session))
        eventually(5, lambda: waits_for_a_disk(mount.process.pid), "the write waits for the disk")
        mount.process.send_signal(signal.SIGTERM)
        time.sleep(1.1)  # a signal that comes sooner counts as the same one
        equal(mount.process.poll(), None, "it waits")
        mount.process.send_signal(signal.SIGTERM)
        eventually(5, lambda: not is_mounted(mount.path), "nothing is mounted")
    assert mount.wait_gone() != 0, "exit status of the daemon"
    assert writer.wait(10) != 0, "exit status of the writer"
    with case.mount() as again:
        assert_next_append_works(session, again.session(session))


def holds_control(pid):
    """True if the process has a control file open."""
    with contextlib.suppress(OSError):
        return any("/append" in os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir())
    return False


def change_attributes(path, change):
    done = run("chattr", change, path, check=False)
    if done.returncode != 0:
        raise Skip(f"files here cannot be made unchangeable: {done.stderr.decode().strip()}")


@needs_root
@needs("mkfs.ext4", "chattr")
def test_f22_write_to_an_immutable_log_fails_with_eperm(case):
    """F22: a write to an immutable log (chattr +i) fails with EPERM in write(2), not only in close(2), which shells do
    not check. Writes work again when the log is mutable."""
    ext4(case)
    session = case.agent.talk()
    first = session.entries[0]["id"]
    with case.mount() as mount:
        folder = mount.session(session)
        change_attributes(session.path, "+i")
        with log_unchanged(session):
            for script in (f"echo '{CUSTOM % 1}' > append", "echo x > title", "echo text > append",
                           f"printf '{CUSTOM % 1}' > append", "printf x > title",
                           f"printf '{first}\nTried X\n' > branch", f"cat > branch <<END\n{first}\nTried X\nEND"):
                refused(script, folder, "Operation not permitted")
                assert reason(folder), script
                equal((folder / "branch").read_text(), session.leaf + "\n", f"the leaf after {script!r}")
        assert_readable(session, folder)
        change_attributes(session.path, "-i")
        assert_next_append_works(session, folder)


@needs_root
@needs("mkfs.ext4", "chattr")
def test_f4_append_only_log_is_never_rewritten(case):
    """F4: an append-only log (chattr +a) takes appends, labels and summaries. An operation that must rewrite it is
    refused and leaves nothing behind."""
    ext4(case)
    session = case.agent.talk()
    first = session.entries[0]["id"]
    with case.mount() as mount:
        folder = mount.session(session)
        change_attributes(session.path, "+a")
        inode = os.stat(session.path).st_ino
        for script in (f"echo '{CUSTOM % 1}' > append", "echo text > append", f"echo '{first} name' > label",
                       "rm labels/name", f"printf '{first}\\nleft behind\\n' > branch", f"echo {first} > branch",
                       "echo again > append"):
            shell(script, cwd=folder)
        equal((os.stat(session.path).st_ino, len(added(session))), (inode, 6), "the log's inode and its new lines")
        with log_unchanged(session):
            refused("echo 'Another title' > title", folder, "Operation not permitted")
        change_attributes(session.path, "-a")
        assert_next_append_works(session, folder)


@needs_root
@needs("mkfs.ext4", "chattr")
def test_f4_title_of_an_append_only_log_of_omp_18_adds_nothing(case):
    """F4: a title there is a line and the slot: if the slot cannot be written, the line is not added either."""
    ext4(case)
    session = case.agent.session(slot=True)
    session.user("hello")
    session.write()
    with case.mount() as mount:
        folder = mount.session(session)
        change_attributes(session.path, "+a")
        with log_unchanged(session):
            refused("echo 'Another title' > title", folder, "Operation not permitted")
        change_attributes(session.path, "-a")
        shell("echo 'Another title' > title", cwd=folder)
        equal((folder / "title").read_text(), "Another title\n", "the title")


@needs_root
@needs("mkfs.ext4", "chattr")
def test_f22_nothing_stays_in_a_folder_that_only_takes_names(case):
    """F22: in an append-only folder neither a lock nor a temporary file could be removed, so none is made."""
    ext4(case)
    session = case.agent.talk()
    with case.mount() as mount:
        folder, around = mount.session(session), session.path.parent
        before = sorted(os.listdir(around))
        change_attributes(around, "+a")
        try:
            with log_unchanged(session):
                for script in (f"echo '{CUSTOM % 1}' > append", "echo x > title", "echo > fork"):
                    refused(script, folder, "Operation not permitted")
                    assert "chattr" in reason(folder), reason(folder)
            equal(sorted(os.listdir(around)), before, "names")
        finally:
            change_attributes(around, "-a")
        assert_next_append_works(session, folder)
