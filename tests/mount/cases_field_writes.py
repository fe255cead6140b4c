"""Writing to logs with the damage that users of other session stores have met (field failures F1 to F28)."""

import contextlib
import errno
import json
import os
import resource

from agentdir import backdate
from cases_field import only_session, put_log, talk, written_lines
from mounting import SANITIZED, Skip, equal, eventually, fails_with, needs_root, run, shell
from views import damage, entry_ids, messages, status
from writing import added, one_session, reason, refused, text_of

TORN = b'{"type":"message","id":"torn","par'
WRITES = ("echo x > append", "echo x > title", "echo root > branch", "echo '#1 here' > label")


def test_f1_append_after_a_torn_tail_starts_a_new_line(case):
    """F1: after a torn tail the next message starts on a new line and the torn bytes stay. A tail that lacks only its
    newline gets one."""
    for tail in (TORN, b'{"type":"custom","id":"whole","parentId":null,"timestamp":"t","customType":"x"}'):
        session = talk(case)
        session.raw(tail)
        backdate(session.write())
        with case.mount() as mount:
            folder = mount.session(session)
            shell("echo 'after the tear' > append", cwd=folder)
            data = session.path.read_bytes()
            assert data.startswith(session.bytes + b"\n"), data[-300:]
            equal(text_of(json.loads(data.splitlines()[-1])), "after the tear")
            equal(damage(folder), [tail] if tail == TORN else [], "damage")
            equal(messages(folder / "context.json")[-1], "after the tear", "last message")


def test_f3_log_without_header_is_never_written(case):
    """F3, F7: a log with an unreadable header, a log whose header is gone and an empty log are shown but not written.
    The errno is EROFS (CONTRACT.md 4.4, 6.3)."""
    for data in (b"#" + talk(case).bytes, b"".join(written_lines(talk(case))), b""):
        path = put_log(case, data)
        before = case.agent.state()
        with case.mount() as mount:
            folder = only_session(mount)
            equal(len(entry_ids(folder)), 5 if data else 0, "entries")
            for script in WRITES:
                refused(script, folder, "Read-only file system")
            assert status(folder)["problem"] and reason(folder), status(folder)
        equal(case.agent.state(), before, "the store")
        path.unlink()


def test_f7_log_recreated_without_header_is_shown(case):
    """F7: the log is removed under the mount, and a program that had it open creates it again without a header. Its
    entries are shown, and it is not written."""
    with one_session(case) as (session, folder, mount):
        os.unlink(session.path)
        eventually(3, lambda: not folder.exists(), "the session is gone")
        session.path.write_bytes(b"".join(written_lines(session)[2:]))
        backdate(session.path)
        place = eventually(3, lambda: list((mount / "projects").glob(f"*/{session.name}")), "it is back")[0]
        equal(entry_ids(place), [entry["id"] for entry in session.entries[2:]], "entries")
        before = case.agent.state()
        refused("echo x > append", place, "Read-only file system")
        equal(case.agent.state(), before, "the store")


def test_f5_write_errors_do_not_persist(case):
    """F5, F22: appends that the disk cuts off fail in the writer, leave the log unchanged and give the reason in
    status.json. When there is room again the next append works without a remount and clears the reason."""
    with one_session(case) as (session, folder, mount):
        pid = mount.process.pid
        before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        for room in (0, 50):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (len(session.bytes) + room, before[1]))
            for script in ("echo x > append", "echo '#1 here' > label", "echo y | tee append"):
                refused(script, folder, "File too large")
                equal(session.path.read_bytes(), session.bytes, f"the log after {script!r}")
                assert reason(folder), f"no reason after {script!r}"
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
        shell("echo x > append", cwd=folder)
        equal([text_of(entry) for entry in added(session)], ["x"])
        equal(reason(folder), "", "the reason after a success")


def test_f6_label_is_a_child_of_the_leaf(case):
    """F6: a label becomes the last entry and so the agents' leaf. Its parent is the leaf, not the labelled entry, and
    the context stays the same."""
    session = talk(case, 6)
    session.user("another way", parent=session.entries[1]["id"])
    session.write()
    with case.mount() as mount:
        folder = mount.session(session)
        before = (folder / "context.json").read_bytes()
        shell("echo '#4 there' > label; ln -s '#1' labels/first; mv labels/first labels/one; rm labels/one", cwd=folder)
        parents = [entry["parentId"] for entry in added(session)]
        equal(parents, [session.leaf] + [entry["id"] for entry in added(session)[:-1]], "parents")
        equal((folder / "context.json").read_bytes(), before, "the context")
    with case.mount() as mount:
        equal((mount.session(session) / "context.json").read_bytes(), before, "the context as an agent finds it")


def test_f6_stale_last_entry_hides_no_message(case):
    """F6: a log ends with an entry of an old parent. The leaf is that entry, as for the agents, and the branches still
    reach every message."""
    session = talk(case, 6)
    session.add("custom", customType="session_exit", data={}, parent=session.entries[1]["id"])
    session.write()
    with case.mount() as mount:
        folder = mount.session(session)
        equal(messages(folder / "context.json"), ["turn 1", "turn 2"], "context at the leaf")
        tips = [name for name in os.listdir(folder / "branches") if name != "current"]
        reached = {text for tip in tips for text in messages(folder / "branches" / tip / "context.json")}
        equal(reached, {f"turn {turn}" for turn in range(1, 7)}, "messages that the branches reach")


def test_f9_backups_are_removed_and_restored_with_the_log(case):
    """F9: backups from which the agent would restore a removed session go to the trash with it, and return with it."""
    session, neighbour = talk(case), talk(case)
    session.write()
    neighbour.write()
    for name in (f"{session.path.name}.1f9d2a6b9c0dffff.bak", f"{session.path.name}.2.bak"):
        (session.path.parent / name).write_bytes(session.bytes)
    (session.path.parent / f"{neighbour.path.name}.3.bak").write_bytes(b"not of this log")
    before = case.agent.files()
    with case.mount("allow_delete") as mount:
        run("rmdir", mount.session(session))
        left = sorted(os.listdir(session.path.parent))
        equal(left, sorted([neighbour.path.name, f"{neighbour.path.name}.3.bak"]), "what is left in the folder")
    case.arborfs("restore", "latest")
    equal(case.agent.files(), before, "the store after restore")


def test_f9_doctor_reports_a_backup_without_its_log(case):
    """F9: a backup without its log is not a session. The doctor says how to restore the session, and changes
    nothing."""
    session = talk(case)
    session.write()
    backup = session.path.with_name(f"{session.path.name}.123.bak")
    session.path.rename(backup)
    backdate(backup, 60)
    before = case.agent.state()
    with case.mount() as mount:
        equal(os.listdir(mount / "by-id"), [], "sessions")
    done = case.arborfs("doctor", "--agent-dir", case.agent.path, check=False)
    assert done.returncode == 1 and f"rename it to {session.path.name} to get the session back" in done.stdout.decode()
    equal(case.agent.state(), before, "the store")
    backup.rename(session.path)
    with case.mount() as mount:
        equal(os.listdir(mount / "by-id"), [session.id], "sessions")


def test_f17_deleted_working_directory_keeps_its_sessions(case):
    """F17: sessions of a working directory that does not exist are listed under it like any other, and no write changes
    the `cwd` of the header. Projects are named after their cwd (CONTRACT.md 2.1)."""
    session = talk(case, cwd=f"{case.root}/was/here", title="Old")
    session.write()
    before = case.agent.state()
    with case.mount() as mount:
        folder = eventually(1, lambda: list((mount / "projects").glob(f"*/{session.name}")), "listed")[0]
        equal((folder / ".." / "cwd").read_text(), f"{case.root}/was/here\n")
        run("grep", "-rq", "turn 5", folder)
        equal(case.agent.state(), before, "the store")
        shell("echo x > append; echo New > title; echo '#1 a' > label; echo '#1' > branch", cwd=folder)
        header = json.loads(session.path.read_bytes().splitlines()[0])
        equal(header, dict(session.header, title="New"), "the header")


@needs_root
def test_f17_move_to_another_file_system_is_refused(case):
    """F17: if the other project's folder is on another file system, `mv` is refused and leaves the session
    unchanged."""
    session, other = talk(case), talk(case, cwd="/srv/other")
    session.write()
    other.write()
    elsewhere = other.path.parent
    if run("mount", "-t", "tmpfs", "tmpfs", elsewhere, check=False).returncode != 0:
        raise Skip("cannot mount a tmpfs")
    try:
        other.write()
        with case.mount() as mount:
            source, target = mount.session(session), mount / "projects" / "srv-other"
            fails_with({errno.EXDEV, errno.ENOTSUP}, os.rename, source, target / session.name)
            equal(session.path.read_bytes(), session.bytes, "the log")
            equal(sorted(os.listdir(session.path.parent)), [session.path.name], "its folder")
            equal(sorted(os.listdir(elsewhere)), [other.path.name], "the other folder")
            equal(messages(source / "context.json")[-1], "turn 5", "still there")
            assert reason(source), "no reason"
            shell("echo x > append", cwd=source)
    finally:
        run("umount", "-l", elsewhere)


def test_f23_invalid_utf8_is_refused(case):
    """F23: every control file refuses bytes that are not UTF-8, in text and inside JSON, and nothing is written. An
    escaped lone surrogate is valid JSON and is kept as it is."""
    with one_session(case) as (session, folder, _):
        for script in (r"printf 'bad \xff\n' > append", r"printf 'cut \xe2\x82' | tee append",
                       r"""printf '{"role":"user","content":"\xff"}\n' > append""", r"printf '\xff\n' > title",
                       r"printf '#1 \xff\n' > label"):
            refused(script, folder, "Invalid or incomplete multibyte")
            equal(session.path.read_bytes(), session.bytes, f"the log after {script}")
        shell(r"""printf '%s\n' '{"role":"user","content":"half \ud83d pair"}' > append""", cwd=folder)
        assert rb"half \ud83d pair" in session.path.read_bytes(), added(session)


def test_f24_written_separators_do_not_end_a_line(case):
    """F24: U+2028, U+2029, U+0085 and CR in a message, a label and a title: each is one line of the log, ended only by
    LF, and reads back unchanged. U+2028 is written unescaped, as the agents do (omp/FORMAT.md C23)."""
    wild = "one\u2028two\u2029three\u0085four\rfive"
    with one_session(case) as (session, folder, _):
        (folder / "append").write_text(wild, newline="")
        lines = session.path.read_bytes().split(b"\n")
        equal(len(lines), len(session.bytes.split(b"\n")) + 1, "lines by LF")
        equal([text_of(entry) for entry in added_by_lf(session)], [wild])
        equal(messages(folder / "context.json")[-1], wild, "context")
        (folder / "label").write_text("#1 a\u2028b\u0085c\n", newline="")
        equal(added_by_lf(session)[-1]["label"], "a\u2028b\u0085c")


def added_by_lf(session):
    """The entries after those that the test wrote, split only at LF."""
    return [json.loads(line) for line in session.path.read_bytes()[len(session.bytes):].split(b"\n")[:-1]]


def test_f27_no_branch_ends_in_an_open_tool_call(case):
    """F27: a branch and a fork that would end in a tool call without its result are refused, with the reason in
    status.json; with --force the branch is made."""
    session = case.agent.session()
    session.user("look")
    call = session.tool_call("call-1", command="ls")
    session.tool_result("call-1", "nothing")
    session.assistant("done")
    session.write()
    with case.mount() as mount:
        folder = mount.session(session)
        before = case.agent.files()
        for script in (f"echo {call} > branch", f"echo {call} > fork"):
            refused(script, folder, "Invalid argument")
            assert "tool" in reason(folder), reason(folder)
            equal(case.agent.files(), before, f"the store after {script!r}")
        equal(os.readlink(folder / "leaf"), f"entries/{session.stem(session.leaf)}.json", "the leaf")
        case.arborfs("branch", "--agent-dir", case.agent.path, "--force", session.id, call)
        eventually(2, lambda: os.readlink(folder / "leaf") == f"entries/{session.stem(call)}.json", "forced")


def test_f28_oversized_message_writes_nothing(case):
    """F28: a message of more than 64 MiB fails with EFBIG in its writer, as text and as JSON, and none of it is
    written. The daemon frees the memory, and sizes are exact (CONTRACT.md 4.4)."""
    with one_session(case) as (session, folder, mount):
        before = case.agent.files()
        for begin in (b"", b'{"role":"user","content":"'):
            fails_with(errno.EFBIG, write_pieces, folder / "append", begin, 70)
            assert "67108864" in reason(folder), reason(folder)
            equal(case.agent.files(), before, f"the store after {begin}...")
        write_pieces(folder / "append", b"", 3)
        entry = added(session)[0]
        path = folder / "entries" / f"000005-user-{entry['id']}.json"
        equal(os.stat(path).st_size, len(session.path.read_bytes()) - len(session.bytes), "size of the entry")
        eventually(5, lambda: SANITIZED or mount.memory() < 200e6, "the daemon is small again")


def write_pieces(path, begin, megabytes):
    """Opens, writes so many megabytes and closes; raises the first error."""
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, begin)
        for _ in range(megabytes):
            os.write(descriptor, b"a" * 1_000_000)
    finally:
        with contextlib.suppress(OSError):
            os.close(descriptor)
