"""Several programs on one store at the same time (CONTRACT.md 3 to 5): two daemons, agents that take the log's lock,
many writers, and how soon each sees the changes of the others."""

import contextlib
import errno
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import agents
import foreign
from cases_control import added, refused, text_of
from mounting import PATIENCE, SOURCE_DIR, concurrent, equal, eventually, fails_with, shell, variants, visible_within
from views import messages, status
from writing import answer_of

APPENDER = SOURCE_DIR / "tests" / "support" / "appender.py"
# How long the writers run concurrently; a soak sets more.
SECONDS = float(os.environ.get("ARBORFS_TEST_SECONDS", "6"))
ROUNDS = 100
SEEN_BY_OTHERS = 0.2
WRITE_CALL = {"x86_64": "1", "aarch64": "64"}[os.uname().machine]
SEEN_WITHOUT_EVENTS = 1.2  # for changes without a kernel event


# -- writers in separate processes


def write_side_by_side(case, *jobs, limit, meanwhile=lambda: None):
    """Runs appender.py once for each job (kind, target, name) and returns the answers to each, by name. Calls
    `meanwhile` again and again until the last process has ended."""
    running = []
    for kind, target, name in jobs:
        report = case.new_path("report")
        process = case.spawn([sys.executable, "-B", APPENDER, kind, target, name, limit, report])
        running.append((name, process, report))
    deadline = time.monotonic() + 60 * PATIENCE + SECONDS
    while any(process.poll() is None for _, process, _ in running):
        assert time.monotonic() < deadline, "writers hang"
        meanwhile()
        time.sleep(0.002)
    equal([process.returncode for _, process, _ in running], [0] * len(running), "exit statuses of the writers")
    return {name: [json.loads(line) for line in report.read_text().splitlines()] for name, _, report in running}


def named(entry):
    """The writer and number of an entry that appender.py wrote."""
    if entry["type"] == "custom":
        return entry["customType"], entry["data"]["n"]
    name, number = text_of(entry).split()
    return name, int(number)


def assert_all_there(session, told):
    """Every acknowledged entry is in the log once, under the answered id; no refused one is; all of them form one
    chain."""
    entries = added(session)
    wanted = sorted((name, answer["n"]) for name, answers in told.items() for answer in answers
                    if "errno" not in answer)
    equal(sorted(map(named, entries)), wanted, "appended entries")
    ids = {named(entry): entry["id"] for entry in entries}
    for name, answers in told.items():
        for answer in answers:
            if answer.get("id"):
                equal(ids[name, answer["n"]], answer["id"], f"id of {name} {answer['n']}")
    equal([entry["parentId"] for entry in entries], [session.leaf] + [entry["id"] for entry in entries[:-1]], "parents")
    equal([path.name for path in session.path.parent.iterdir()], [session.path.name], "names in the store")


def refusals(told):
    return [answer for answers in told.values() for answer in answers if "errno" in answer]


@concurrent
def test_two_daemons_and_an_agent_share_a_log(case):
    """Two daemons and an agent append to one session, each under the lock: no line is lost, split or doubled, and few
    writes are refused because the lock takes too long."""
    session = case.agent.talk()
    with case.mount() as one, case.mount() as two:
        told = write_side_by_side(
            case, ("json", one.session(session), "one-json"), ("text", one.session(session), "one-text"),
            ("json", two.session(session), "two-json"), ("text", two.session(session), "two-text"),
            ("foreign", session.path, "agent"), limit=f"{SECONDS}s")
        assert_all_there(session, told)
        total, failed = sum(map(len, told.values())), refusals(told)
        print({name: len(answers) for name, answers in told.items()}, len(failed), "refused")
        assert all(answer["errno"] == errno.EBUSY for answer in failed), failed[:5]
        assert len(failed) < total * 0.05, f"{len(failed)} of {total} were refused: {failed[:3]}"
        assert all(len(answers) > 10 for answers in told.values()), {name: len(said) for name, said in told.items()}
        for mount in (one, two):
            eventually(2, lambda: len(os.listdir(mount.session(session) / "entries")) == 4 + total - len(failed))
            equal((mount.session(session) / "raw.jsonl").read_bytes(), session.path.read_bytes())


@concurrent
def test_writes_of_another_daemon_do_not_make_a_session_live(case):
    """Two daemons write to one session as fast as they can: no write is refused, and neither daemon calls the session
    live."""
    session = case.agent.talk()
    with case.mount() as one, case.mount() as two:
        folders = [mount.session(session) for mount in (one, two)]
        looks, seen = [], []

        def look():
            for folder in folders:
                try:
                    said = status(folder)
                except OSError as error:
                    equal(error.errno, errno.ESTALE, "errno")  # written between lookup and open, twice
                    continue
                looks.append(said["state"])
                if said["state"] != "quiet":
                    seen.append(said["why"])

        told = write_side_by_side(case, ("json", folders[0], "one"), ("text", folders[0], "one-text"),
                                  ("json", folders[1], "two"), limit=f"{min(SECONDS, 3)}s", meanwhile=look)
        assert_all_there(session, told)
        equal(refusals(told), [], "refused writes")
        equal(seen, [], "not quiet")
        assert len(looks) > 20, looks


@concurrent
def test_many_writers_make_one_chain(case):
    """Eight programs append 500 entries each, as text and JSON: exactly those are in the log, whole, on one chain."""
    session = case.agent.talk()
    with case.mount() as mount:
        folder = mount.session(session)
        told = write_side_by_side(case, *((("json", "text")[n % 2], folder, f"w{n}") for n in range(8)), limit="500")
        equal(refusals(told), [], "refused writes")
        assert_all_there(session, told)
        equal(len(added(session)), 8 * 500)
        equal(len(os.listdir(folder / "entries")), 4 + 8 * 500)


def threads_in_write():
    calls = [path.read_text().split()[0] for path in Path("/proc/self/task").glob("*/syscall")]
    return calls.count(WRITE_CALL)


def largest_append(mount, session, writers):
    """Lets so many writers wait for the log's lock, all inside write(2), then releases it; returns the number of
    entries of the largest append."""
    append = mount.session(session) / "append"
    lock = foreign.lock_path(session.path)
    line = b'{"role":"user","content":"x"}\n'
    with contextlib.ExitStack() as closing, ThreadPoolExecutor(writers) as pool:
        events = os.open(mount.path / "events", os.O_RDONLY | os.O_NONBLOCK)
        closing.callback(os.close, events)
        files = [os.open(append, os.O_WRONLY | os.O_APPEND) for _ in range(writers)]
        for file in files:
            closing.callback(os.close, file)
        equal({os.fstat(file).st_ino for file in files}, {os.stat(append).st_ino}, "st_ino")
        lock.write_text(f"{os.getpid()}:{int(time.time() * 1000)}\n")
        try:
            written = [pool.submit(os.write, file, line) for file in files]
            eventually(0.3, lambda: threads_in_write() == writers, "all are inside write(2)")
        finally:
            lock.unlink()
        for one in written:
            one.result()
        told = [json.loads(event) for event in os.read(events, 65536).splitlines()]
        return max(event["last"] - event["first"] + 1 for event in told if event["event"] == "appended")


def test_waiting_writers_share_one_append(case):
    """Sixteen writers wait for the log's lock. One goes first, and the entries of the others become one append."""
    session = case.agent.talk()
    with case.mount() as mount:
        # Writers wait for the lock at most half a second; on a busy machine not all of them reach it in that time.
        eventually(5, lambda: largest_append(mount, session, 16) >= 14, "an append of nearly all")


@variants(at_once={"removed": False}, after_a_restore={"removed": True})
def test_f4_entries_erased_by_a_rewrite_are_kept_and_restored(case, removed):
    """F4: an agent rewrites a log from memory, without the entries appended meanwhile. The mount names the erased
    entries and where they are kept, and the doctor puts them back."""
    session = case.agent.talk()
    before = session.path.read_bytes()
    with case.mount() as mount:
        folder = mount.session(session)
        entry = answered(folder / "append", '{"role":"user","content":"keep me"}')
        with_entry = session.path.read_bytes()
        equal(status(folder)["erasedEntries"], [], "erased entries")
        if removed:
            case.arborfs("rm", "--agent-dir", case.agent.path, "-y", session.path.stem)
            case.arborfs("restore", "latest")
        temporary = session.path.with_suffix(".new")
        temporary.write_bytes(before)
        temporary.rename(session.path)
        eventually(2, lambda: status(folder)["erasedEntries"] == [entry["id"]])
        equal(json.loads(Path(status(folder)["erasedFile"]).read_text())["id"], entry["id"])
        said = case.arborfs("doctor", "--agent-dir", case.agent.path, "--repair", "--force", session.path.stem).stdout
        assert b"1 entry that another program's rewrite had erased" in said, said
        eventually(2, lambda: status(folder)["erasedEntries"] == [])
        equal(sorted(session.path.read_bytes().splitlines()), sorted(with_entry.splitlines()), "lines of the log")


# -- reading after writes


def answered(path, command):
    """The answer to a command of one line."""
    return answer_of(path, command + "\n")


def put_text(path, text):
    """Writes text and closes, as a shell does."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(text + "\n")


def last_line(folder):
    return json.loads((folder / "raw.jsonl").read_bytes().splitlines()[-1])


def shows_leaf(folder, entry_id):
    """True if every view shows this entry as the leaf."""
    name = os.path.basename(os.readlink(folder / "leaf"))
    return (name.endswith(f"-{entry_id}.json") and name in os.listdir(folder / "entries")
            and os.readlink(folder / "branches" / "current").endswith(f"-{entry_id}")
            and (folder / "branch").read_text() == entry_id + "\n")


def shows_end(folder, entry_id):
    """True if the entry is the log's last and the leaf."""
    return (sorted(os.listdir(folder / "entries"))[-1].endswith(f"-{entry_id}.json") and shows_leaf(folder, entry_id)
            and last_line(folder)["id"] == entry_id)


def assert_writes_are_visible(folder, first, number):
    """Makes one write of each kind to a session; each is visible as soon as it has returned."""
    put_text(folder / "append", f"text {number}")
    text = last_line(folder)
    equal(text_of(text), f"text {number}")
    assert shows_end(folder, text["id"]), "appended text"
    equal(messages(folder / "context.json")[-1], f"text {number}")
    entry = answered(folder / "append", json.dumps({"role": "user", "content": f"json {number}"}))
    assert shows_end(folder, entry["id"]), "appended JSON"
    equal(messages(folder / "context.json")[-1], f"json {number}")
    put_text(folder / "branch", text["id"])
    assert shows_leaf(folder, text["id"]), "moved leaf"
    equal(messages(folder / "context.json")[-1], f"text {number}")
    target = os.readlink(folder / "leaf")
    os.symlink(f"../{target}", folder / "labels" / f"link{number}")
    equal(os.readlink(folder / "labels" / f"link{number}"), f"../{target}")
    os.rename(folder / "labels" / f"link{number}", folder / "labels" / f"other{number}")
    equal(os.listdir(folder / "labels"), [f"other{number}"])
    put_text(folder / "label", f"{first} named{number}")
    equal(os.readlink(folder / "labels" / f"named{number}"), f"../entries/000001-user-{first}.json")
    os.unlink(folder / "labels" / f"other{number}")
    equal(os.listdir(folder / "labels"), [f"named{number}"])
    os.unlink(folder / "labels" / f"named{number}")
    equal(os.listdir(folder / "labels"), [])
    assert shows_end(folder, last_line(folder)["id"]), "labels"
    put_text(folder / "title", f"Title {number}")
    equal((folder / "title").read_text(), f"Title {number}\n")
    equal(json.loads((folder / "session.json").read_text())["title"], f"Title {number}")


@concurrent
def test_writes_are_visible_when_they_return(case):
    """Each kind of write is visible to every reader as soon as it returns, in every round."""
    session, other = case.agent.talk(), case.agent.talk(cwd="/srv/other")
    with case.mount() as mount:
        home, there = mount.session(session), mount / "projects" / other.project / session.name
        for number in range(ROUNDS):
            assert_writes_are_visible(home, session.entries[0]["id"], number)
            fork = answered(home / "fork", "")
            equal(sorted(os.listdir(mount / fork["path"] / "entries")), sorted(os.listdir(home / "entries")))
            new = answered(mount / "new", f"/srv/new{number}")
            equal(os.listdir(mount / "projects" / f"srv-new{number}"), ["cwd", os.path.basename(new["path"])])
            assert {fork["session"], new["session"]} <= set(os.listdir(mount / "by-id"))
            os.rename(home, there)
            name = mount.name_of(session)
            assert name in os.listdir(there.parent) and name not in os.listdir(home.parent)
            equal(os.path.realpath(mount / "by-id" / session.id), os.fspath(there.parent / name))
            os.rename(there, home)
            assert name in os.listdir(home.parent) and name not in os.listdir(there.parent)


@concurrent
def test_second_mount_shows_every_write(case):
    """A second mount of the store shows each kind of write in time, and a moved leaf too."""
    session, other = case.agent.talk(), case.agent.talk(cwd="/srv/other")
    first = session.entries[0]["id"]
    with case.mount() as one, case.mount() as two:
        mine, theirs = one.session(session), two.session(session)

        def seen(change, probe, what):
            visible_within(SEEN_BY_OTHERS, change, probe, what)

        for number in range(10):
            seen(lambda: put_text(mine / "append", f"text {number}"),
                 lambda: messages(theirs / "context.json")[-1:] == [f"text {number}"]
                 and shows_end(theirs, last_line(mine)["id"]), "appended text")
            seen(lambda: put_text(mine / "branch", first), lambda: shows_leaf(theirs, first), "moved leaf")
            seen(lambda: put_text(mine / "branch", "root"), lambda: (theirs / "branch").read_text() == "root\n", "root")
            seen(lambda: put_text(mine / "label", f"{first} l{number}"),
                 lambda: os.listdir(theirs / "labels") == [f"l{number}"], "label")
            seen(lambda: os.unlink(mine / "labels" / f"l{number}"),
                 lambda: not os.listdir(theirs / "labels"), "no label")
            seen(lambda: put_text(mine / "title", f"Title {number}"),
                 lambda: (theirs / "title").read_text() == f"Title {number}\n", "title")
            made = []
            seen(lambda: made.append(answered(mine / "fork", first)), lambda: (two / made[0]["path"]).is_dir(), "fork")
            seen(lambda: made.append(answered(one / "new", f"/srv/n{number}")),
                 lambda: os.listdir(two / "projects" / f"srv-n{number}") == ["cwd", Path(made[1]["path"]).name],
                 "new")
            away = two / "projects" / other.project / session.name
            seen(lambda: os.rename(mine, one / "projects" / other.project / session.name),
                 lambda: away.is_dir() and not theirs.exists(), "moved away")
            seen(lambda: os.rename(one / "projects" / other.project / session.name, mine),
                 lambda: theirs.is_dir() and not away.exists(), "moved back")


@concurrent
def test_daemon_appends_at_a_leaf_moved_by_another(case):
    """When one daemon has moved the leaf, the other one appends there at once."""
    session = case.agent.talk()
    ids = [entry["id"] for entry in session.entries]
    with case.mount() as one, case.mount() as two:
        for number in range(25):
            mover, writer = (one, two) if number % 2 else (two, one)
            put_text(mover.session(session) / "branch", ids[number % len(ids)])
            entry = answered(writer.session(session) / "append", json.dumps({"role": "user", "content": f"{number}"}))
            equal(entry["parentId"], ids[number % len(ids)], f"parent in round {number}")


# -- sessions that another process may hold


@contextlib.contextmanager
def held_open(_, session):
    with open(session.path, "ab"):
        yield


@contextlib.contextmanager
def used_by_an_agent(case, session):
    with agents.running(case, case.agent.path, "/") as agent:
        case.agent.breadcrumb(agent.terminal, session)
        yield
    (case.agent.terminals / agent.terminal).unlink()


def wait_for_state(folder, state):
    """Waits until status.json shows this state; returns the reasons."""
    eventually(SEEN_WITHOUT_EVENTS, lambda: status(folder)["state"] == state, f"state {state}")
    return " ".join(status(folder)["why"])


def assert_free(folder, session):
    """Asserts that the session can be written."""
    before = session.path.read_bytes()
    shell("echo x > append", cwd=folder)
    wait_for_state(folder, "quiet")
    assert session.path.read_bytes().startswith(before) and session.path.read_bytes() != before
    equal([path.name for path in session.path.parent.glob(".*")], [], "hidden names in the store")


def test_f8_busy_sessions_refuse_writes_but_can_be_forked(case):
    """F8: a log that is open for writing is live, and one that a running agent used last is maybe: writes fail with
    EBUSY unless forced, and a fork always works. Afterwards the session can be written as before."""
    session = case.agent.talk()
    forced = '{"type":"custom","customType":"x","force":true}'
    with case.mount() as mount, case.mount("live=write") as bold:
        folder = mount.session(session)
        for held, state in ((held_open, "live"), (used_by_an_agent, "maybe")):
            with held(case, session):
                before = session.path.read_bytes()
                assert wait_for_state(folder, state)
                refused("echo x > append", folder, "Device or resource busy")
                refused("echo root > branch", folder, "Device or resource busy")
                refused("echo x > title", folder, "Device or resource busy")
                equal(session.path.read_bytes(), before, "the log of a held session")
                made = answered(folder / "fork", "")
                assert (mount / made["path"] / "append").exists()
                header = json.loads((mount / made["path"] / "session.json").read_bytes())
                equal(header["parentSession"], session.id, "what the fork says it came from")
                answered(folder / "append", forced)
                shell("echo bold > append", cwd=bold.session(session))
                equal(len(session.path.read_bytes().splitlines()), len(before.splitlines()) + 2, "lines")
            assert_free(folder, session)
            for path in session.path.parent.glob("*.jsonl"):
                if path != session.path:
                    path.unlink()


def test_lock_files_are_respected(case):
    """The lock of a living process blocks writers, forced ones too. The lock of a dead process, and an old one without
    a process, block no writer."""
    session = case.agent.talk()
    lock = foreign.lock_path(session.path)
    dead = subprocess.Popen(["true"])
    dead.wait()
    with case.mount() as mount:
        folder = mount.session(session)
        living = case.spawn(["sleep", "60"])
        lock.write_text(f"{living.pid}:{int(time.time() * 1000)}\n")
        assert str(living.pid) in wait_for_state(folder, "live")
        refused("echo x > append", folder, "Device or resource busy")
        fails_with(errno.EBUSY, answered, folder / "append", '{"type":"custom","customType":"x","force":true}')
        equal(session.path.read_bytes(), session.bytes, "the log")
        assert answered(folder / "fork", "")["session"]
        equal(lock.read_text().split(":")[0], str(living.pid), "the lock of a living process")
        case.end(living)
        assert_free(folder, session)
        for text, age in ((f"{dead.pid}:1\n", 0), ("", 60), ("neither\n", 60)):
            lock.write_text(text)
            os.utime(lock, (time.time() - age,) * 2)
            wait_for_state(folder, "quiet")
            assert_free(folder, session)
        lock.touch()
        made = os.stat(lock).st_mtime
        assert_free(folder, session)
        assert time.time() - made >= 0.5, "a fresh lock file without a process was taken for an old one"


def test_writer_killed_while_waiting_writes_nothing(case):
    """If a program is killed while its command waits for the log's lock, the command is not carried out once the lock
    is free, whatever the command is."""
    session = case.agent.talk()
    lock = foreign.lock_path(session.path)
    commands = ("printf '{\"type\":\"custom\",\"customType\":\"x\"}\\n' > append", "echo '#1 x' > label",
                "echo Title > title", "echo '#1' > branch")
    with case.mount() as mount:
        folder = mount.session(session)
        os.listdir(folder / "entries")
        for command in commands:
            lock.write_text(f"{os.getpid()}:{int(time.time() * 1000)}\n")
            writer = case.spawn(["bash", "-c", command], cwd=folder)
            eventually(5, lambda writer=writer: waits_in_a_write(writer.pid), "it waits in its write")
            writer.kill()
            writer.wait(10)
            lock.unlink()
            answered(folder / "append", '{"type":"custom","customType":"behind"}')
        equal([entry.get("customType", entry["type"]) for entry in added(session)], ["behind"] * len(commands))
        equal((folder / "branch").read_text().strip(), added(session)[-1]["id"], "the leaf")


def waits_in_a_write(pid):
    """True if the process is inside write(2), according to /proc."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/syscall").read_text().split()[0] == WRITE_CALL
    return False
