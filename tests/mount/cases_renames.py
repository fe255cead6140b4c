"""Renaming sessions in every possible way, by arborfs and by other processes (omp/FORMAT.md E2 to E6)."""

import errno
import json
import os
import re
import subprocess
import sys
import threading
import time

from agentdir import AgentDir, compact, slot_line
from mounting import SOURCE_DIR, Skip, concurrent, equal, eventually, needs, run, shell

SLOT_BYTES = 256
# Shorter ones have their padding trimmed by an editor, longer ones have more; 256 is the agents' own length.
TITLE_LINES = (110, 251, 255, 256, 257, 512, 600)


def title_line(title, length):
    """A valid title slot of `length` bytes, line feed included."""
    slot = json.loads(slot_line(title))
    slot["pad"] = ""
    slot["pad"] = " " * (length - 1 - len(compact(slot)))
    return compact(slot) + b"\n"


def by_title_file(case, mount, session, title):
    shell(f"echo '{title}' > title", cwd=mount.session(session))


def by_vim(case, mount, session, title):
    run("vim", "-es", "-u", "NONE", "-c", f"%s/.*/{title}/", "-c", "wq", mount.session(session) / "title", check=False,
        env=case.environment)


def by_command(case, mount, session, title):
    case.arborfs("title", "--agent-dir", case.agent.path, session.id, title)


@needs("vim")
def test_rename_changes_no_other_byte_of_the_log(case):
    """A rename through the title file, vim or the command line changes no other byte of the log and keeps the session
    in its project, however long the title line is."""
    doors = (by_title_file, by_vim, by_command)
    sessions = {}
    for length in TITLE_LINES:
        session = case.agent.talk(slot=True, title="Old")
        rest = session.bytes[SLOT_BYTES:]
        session.path.write_bytes(title_line("Old", length) + rest)
        sessions[length] = (session, rest)
    with case.mount() as mount:
        for length, (session, rest) in sessions.items():
            folder = mount.session(session)
            for number, door in enumerate(doors):
                title = f"New {number}"
                door(case, mount, session, title)
                eventually(1, lambda: (folder / "title").read_text() == title + "\n",
                           f"the new title: {length} bytes, {door.__name__}")
                data = session.path.read_bytes()
                equal(json.loads(data[:SLOT_BYTES])["title"], title, f"{length} bytes, {door.__name__}")
                equal(data[SLOT_BYTES:SLOT_BYTES + len(rest)], rest, f"{length} bytes, {door.__name__}")
                equal(json.loads((folder / "session.json").read_text())["cwd"], session.cwd)


SECONDS = 3


def forked(case):
    """A session with a slot and two branches."""
    session = case.agent.session(slot=True, title="Title 0")
    session.talk(4)
    first = session.entries[0]["id"]
    session.user("another way", parent=first)
    session.assistant("indeed")
    session.write()
    return session


def documents_of(folder):
    """Every document of each branch and entry that a rename does not change."""
    found = [path for place in ("branches", "entries", "text") for path in sorted((folder / place).iterdir())]
    found = [path for path in found if not path.is_symlink()]
    return [path for at in found for path in ((at / "context.json", at / "transcript.md") if at.is_dir() else (at,))]


def leaf_of(folder):
    return os.readlink(folder / "leaf").removesuffix(".json").rsplit("-", 1)[1]


def rename_by_arborfs(_, folder, title):
    shell(f"echo '{title}' > title", cwd=folder)


def rename_in_place(session, _, title):
    """Renames as version 18 does: an entry, and the slot."""
    session.add("title_change", title=title, source="user")
    with open(session.path, "r+b", buffering=0) as log:
        log.write(slot_line(title))
        log.seek(0, os.SEEK_END)
        log.write(session.pending())


def overwrite_slot(session, _, title):
    with open(session.path, "r+b", buffering=0) as log:
        log.write(slot_line(title))


def read_all(folder):
    """Reads every document of the session that a rename may change; ESTALE would raise."""
    for name in ("context.json", "transcript.md", "tree.txt", "usage.json", "status.json", "session.json"):
        (folder / name).read_bytes()


def test_documents_stay_readable_after_a_rename(case):
    """After a rename, by arborfs or in place, no document of the session or of a branch is stale or fails with
    ESTALE."""
    session = forked(case)
    with case.mount() as mount:
        folder = mount.session(session)
        before = {path: path.read_bytes() for path in documents_of(folder)}
        held = [open(path, "rb", buffering=0) for path in (*before, folder / "context.json", folder / "transcript.md")]
        number = 0
        until = time.monotonic() + float(os.environ.get("ARBORFS_TEST_RENAME_SECONDS", SECONDS))
        while time.monotonic() < until:
            for rename in (rename_by_arborfs, rename_in_place, overwrite_slot):
                number += 1
                session.leaf = leaf_of(folder)
                title = f"Title {number}"
                rename(session, folder, title)
                for path, wanted in before.items():
                    equal(path.read_bytes(), wanted, f"{path} after {rename.__name__} {number}")
                read_all(folder)
                for file in held:
                    file.seek(0)
                    assert file.read(1)
                eventually(2, lambda: (folder / "title").read_text() == title + "\n", f"{title} in the mount")
                equal((folder / "raw.jsonl").read_bytes(), session.path.read_bytes(), f"raw.jsonl after {number}")
        for file in held:
            file.close()
        print(f"{number} renames")


APPENDER = SOURCE_DIR / "tests" / "support" / "appender.py"


def succeeds(action, *arguments):
    """True if the action succeeded; the log may be busy or have changed, because another process writes it."""
    try:
        action(*arguments)
    except OSError as error:
        assert error.errno in (errno.EBUSY, errno.ESTALE), error
        return False
    return True


def write_title(folder, title):
    with open(folder / "title", "w", encoding="utf-8", buffering=1) as file:
        file.write(title + "\n")


@concurrent
def test_f4_unlocked_appends_survive_renames_and_moves(case):
    """pi and omp 13 append without a lock; none of their lines is lost while the session is renamed and moved."""
    seconds = float(os.environ.get("ARBORFS_TEST_RENAME_SECONDS", SECONDS))
    session, *_ = (case.agent.talk(cwd=cwd) for cwd in ("/srv/shop", "/srv/shop", "/srv/other"))
    done = {"renames": 0, "moves": 0, "refused": 0}
    with case.mount() as mount:
        folders = [mount / "projects" / project / session.name for project in ("srv-shop", "srv-other")]
        report = case.new_path("report")
        pattern = case.agent.sessions / "*" / session.path.name
        appender = case.spawn([sys.executable, APPENDER, "lockless", pattern, "late", f"{seconds}s", report])
        for number in range(10**9):
            if appender.poll() is not None:
                break
            kind = "moves" if number % 4 == 3 else "renames"
            if kind == "moves":
                success = succeeds(os.rename, *folders)
                folders = folders[::-1] if success else folders
            else:
                success = succeeds(write_title, folders[0], f"Title {number}")
            done[kind if success else "refused"] += 1
        equal(appender.returncode, 0, "the appender")
    told = [json.loads(line)["id"] for line in report.read_text().splitlines()]
    logs = list(case.agent.sessions.glob(f"*/{session.path.name}"))
    equal(len(logs), 1, "logs of the session")
    found = {json.loads(line).get("id") for line in logs[0].read_bytes().splitlines()}
    equal([entry_id for entry_id in told if entry_id not in found], [], "lines that are lost")
    assert done["renames"] and done["moves"] and len(told) > 100, (done, len(told))
    print(f"{len(told)} lines, {done}")


RENAMED = 20  # sessions


def listings_of(lines, project):
    """The names in each listing of the project that `ls -R` printed."""
    names = None
    for line in lines:
        if line.endswith(":"):
            if names is not None:
                yield names
            names = [] if line == f"{project}:" else None
        elif names is not None and line:
            names.append(line)


def check_names(names, what):
    """Each session is there once."""
    equal(sorted(re.sub(r".*-(s\d\d)-title-\d+$", r"\1", name) for name in names),
          ["cwd", *(f"s{number:02}" for number in range(RENAMED))], what)


def walk(command, check, done, failures):
    """Walks the mount again and again until the renames are done."""
    while not done.is_set():
        walked = run(*command, check=False)
        if walked.returncode != 0 or walked.stderr:
            failures.append((command, walked.stderr.decode()))
        try:
            check(walked.stdout.decode().splitlines())
        except AssertionError as error:
            failures.append((command, str(error)))


def ask(shell_inside, line):
    """What a shell prints for a line; it ends its answer with a dot."""
    shell_inside.stdin.write(f"{line}; echo .\n")
    shell_inside.stdin.flush()
    return "".join(iter(shell_inside.stdout.readline, ".\n")).strip()


@concurrent
def test_readers_stay_while_sessions_are_renamed(case):
    """While arborfs and other processes change titles: ls -R and find print no error and each session once, a shell in a
    session stays there, tail -f goes on, events has one line for each rename, and every former name leads to its
    session."""
    sessions = [case.agent.session(slot=True, title=f"S{number:02} title 0") for number in range(RENAMED)]
    for session in sessions:
        session.talk(3)
        session.write()
    with case.mount() as mount:
        project = mount / "projects" / sessions[0].project
        inodes = [os.stat(mount.session(session)).st_ino for session in sessions]
        names = [{mount.name_of(session)} for session in sessions]
        done, failures = threading.Event(), []
        walks = [(["ls", "-R", os.fspath(mount / "projects")],
                  lambda lines: [check_names(listing, "ls -R") for listing in listings_of(lines, project)]),
                 (["find", os.fspath(project)],
                  lambda lines: check_names([os.path.basename(line) for line in lines
                                             if os.path.dirname(line) == os.fspath(project)], "find"))]
        threads = [threading.Thread(target=walk, args=(*one, done, failures)) for one in walks]
        tailed, told = case.new_path("tailed"), case.new_path("told")
        inside = project / mount.name_of(sessions[0])
        readers = [case.spawn(["tail", "-f", inside / "transcript.md"], tailed),
                   case.spawn(["cat", mount / "events"], told)]
        within = subprocess.Popen(["bash"], cwd=inside, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)
        for thread in threads:
            thread.start()
        try:
            for number in range(1, int(os.environ.get("ARBORFS_TEST_RENAMES", 200)) + 1):
                at = number % RENAMED
                title = f"S{at:02} title {number}"
                folder = mount.session(sessions[at])
                if number // RENAMED % 2:
                    overwrite_slot(sessions[at], None, title)
                    eventually(5, lambda: mount.name_of(sessions[at]).endswith(f"-title-{number}"), title)
                else:
                    rename_by_arborfs(None, folder, title)
                name = mount.name_of(sessions[at])
                assert name.endswith(f"-s{at:02}-title-{number}"), (name, title)
                names[at].add(name)
                check_names(os.listdir(project), "os.listdir")
                if at == 0:
                    equal(ask(within, "cat title; stat -c %i ."), f"{title}\n{inodes[0]}", "the shell")
                    where = ask(within, "/bin/pwd")
                    assert os.path.samefile(where, folder), where
        finally:
            done.set()
            for thread in threads:
                thread.join()
            within.kill()
            within.wait()
        equal(failures[:3], [], f"{len(failures)} failures")
        for at, inode in enumerate(inodes):
            equal({os.stat(project / name).st_ino for name in names[at]}, {inode}, f"{len(names[at])} names of {at}")
        shell("echo 'the last words' > append", cwd=inside)
        eventually(5, lambda: "the last words" in tailed.read_text(), "tail -f")
        for reader in readers:
            reader.kill()
            reader.wait()
        renames = [line for line in map(json.loads, told.read_text().splitlines()) if line["event"] == "renamed"]
        equal(len(renames), sum(map(len, names)) - RENAMED, "lines in events")
        assert all(line["path"] != line["from"] for line in renames), renames


@needs("bindfs", "fusermount3")
def test_commands_work_without_rename_noreplace(case):
    """On a FUSE file system without RENAME_NOREPLACE, fork, new, mv, rmdir and restore work as elsewhere."""
    source, point = case.new_path("source"), case.new_path("volume")
    source.mkdir()
    point.mkdir()
    if run("bindfs", source, point, check=False).returncode != 0:
        raise Skip("bindfs cannot mount here")
    case.agent = AgentDir(point / "agent", case.home)
    session, _ = case.agent.talk(cwd="/srv/shop"), case.agent.talk(cwd="/srv/other")
    with case.mount("allow_delete") as mount:
        folder = mount.session(session)
        shell("echo > fork", cwd=folder)
        shell("echo /srv/new > new", cwd=mount.path)
        equal(len(list(case.agent.sessions.glob("*/*.jsonl"))), 4, "logs")
        moved = mount / "projects" / "srv-other" / session.name
        os.rename(folder, moved)
        equal((moved / ".." / "cwd").read_text(), "/srv/other\n")
        os.rmdir(moved)
        equal(list(case.agent.sessions.glob(f"*/{session.path.name}")), [], "logs of the removed session")
        case.arborfs("restore", "latest")
        eventually(5, lambda: (moved / "title").exists(), "the session restored")
        entries = [json.loads(line) for line in (moved / "raw.jsonl").read_bytes().splitlines()[1:]]
        equal(entries, session.entries, "its entries")


def test_commands_take_the_session_that_the_mount_means(case):
    """Three sessions with one name. After the first is gone, a mount goes on to number the others as before, and a
    command numbers them anew: it asks the mount what a path means, also from inside of the folder."""
    sessions = [case.agent.talk(title="Twin") for _ in range(3)]
    for number, session in enumerate(sessions):
        text = session.path.read_text()
        created = re.search(r'"type":"session".*?"timestamp":"([^"]*)"', text).group(1)
        session.path.write_text(text.replace(created, f"2026-02-16T10:20:{30 + number}.000Z", 1))
    with case.mount() as mount:
        project = mount.session(sessions[0]).parent
        ids = {folder.name: json.loads((folder / "session.json").read_text())["id"]
               for folder in project.iterdir() if "twin" in folder.name}
        equal(sorted(name.rpartition("~")[2] for name in ids if "~" in name), ["2", "3"])
        first, second, third = sorted(ids, key=lambda name: name.rpartition("~")[2] if "~" in name else "1")
        case.arborfs("rm", "-y", "--agent-dir", case.agent.path, ids[first])
        eventually(2, lambda: first not in os.listdir(project), "the first is gone")
        store = ("--agent-dir", str(case.agent.path))
        shown = json.loads(case.arborfs("show", *store, "--json", project / second).stdout)
        equal(shown["session"], ids[second])
        case.arborfs("title", *store, ".", "Other", cwd=project / third)
        eventually(2, lambda: (mount / "by-id" / ids[third] / "title").read_text() == "Other\n", "the third's title")
