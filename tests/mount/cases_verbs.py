"""Moving the leaf, labels, titles and sessions, and operations that are always refused, through the mount
(CONTRACT.md 4). Each case checks the store."""

import errno
import json
import os
import signal
import subprocess
import time

from agentdir import started
from mounting import at_most, concurrent, equal, fails_with, needs, run, shell, variants
from writing import added, one_session, reason, refused, text_of


# -- the leaf


def test_branch_moves_the_leaf(case):
    """branch moves the leaf without writing to the log, all views show the new leaf, and the next message is its
    child."""
    with one_session(case) as (session, folder, _):
        first, second = session.entries[0]["id"], session.entries[1]["id"]
        result = json.loads(shell(f"exec 3<> branch; echo {second} >&3; cat <&3", cwd=folder))
        equal(result.get("leaf") or result.get("id"), second)
        equal(session.path.read_bytes(), session.bytes, "the log")
        equal((folder / "branch").read_text(), second + "\n")
        equal(os.readlink(folder / "leaf"), f"entries/{session.stem(second)}.json")
        equal(os.readlink(folder / "branches" / "current"), session.branch(second))
        shell("echo '#1' > branch; echo again > append", cwd=folder)
        equal([entry["parentId"] for entry in added(session)], [first])
        for name in (session.stem(second), session.stem(second) + ".json", session.stem(second) + ".md"):
            shell(f"echo '#1' > branch; echo {name} > branch", cwd=folder)
            equal((folder / "branch").read_text(), second + "\n", name)
        shell("echo root > branch; cat branch; [ ! -e leaf ]", cwd=folder)
        shell("echo first > append", cwd=folder)
        equal(added(session)[-1]["parentId"], None)


@variants(printf={"script": "printf '{}\\nTried X,\\nfailed\\n' > branch"},
          here_doc={"script": "cat > branch <<END\n{}\nTried X,\nfailed\nEND"},
          descriptor={"script": "exec 3> branch; printf '{}\\nTried X,\\nfailed' >&3; exec 3>&-"})
def test_branch_takes_a_summary(case, script):
    """Lines after the target are the summary of the abandoned branch, even from a shell that writes line by line."""
    with one_session(case) as (session, folder, _):
        second = session.entries[1]["id"]
        shell(script.format(second), cwd=folder)
        entries = added(session)
        equal([entry["type"] for entry in entries], ["branch_summary"])
        equal(entries[0]["summary"], "Tried X,\nfailed")
        equal(entries[0]["parentId"], second)


@variants(printf={"script": "printf '#9\\nroot\\n' > branch"},
          here_doc={"script": "cat > branch <<END\n#9\nroot\nEND"},
          descriptor={"script": "exec 3> branch; printf '#9\\nroot\\n' >&3; ended=$?; exec 3>&-; exit $ended"})
def test_summary_of_a_refused_branch_is_refused(case, script):
    """The lines after a refused line are refused with it, whether a shell writes line by line or all at once."""
    with one_session(case) as (session, folder, _):
        leaf = (folder / "branch").read_text()
        refused(script, folder, "No such file or directory")
        equal((folder / "branch").read_text(), leaf)
        equal(session.path.read_bytes(), session.bytes)
        assert "no entry" in reason(folder), reason(folder)
        shell("echo root > branch; [ ! -e leaf ]", cwd=folder)


def test_append_to_another_branch_moves_the_leaf(case):
    """branches/<b>/append appends there and moves the leaf in one step; <b> is any name of an entry."""
    with one_session(case) as (session, folder, _):
        second = session.entries[1]["id"]
        shell(f"echo aside > branches/{second}/append", cwd=folder)
        entry = added(session)[0]
        equal(entry["parentId"], second)
        equal((folder / "branch").read_text(), entry["id"] + "\n")
        shell(f"exec 3> branches/'#1'/append; echo a >&3; echo b >&3; exec 3>&-", cwd=folder)
        equal(added(session)[1]["parentId"], session.entries[0]["id"])
        equal(text_of(added(session)[1]), "a\nb")


# -- labels


def test_example_of_a_label_in_the_readme_works_as_printed(case):
    """The command that README.md of the mount shows for a label puts one on the leaf."""
    with one_session(case) as (session, folder, mount):
        lines = (mount / "README.md").read_text().splitlines()
        command, = [line.strip().split("  ")[0] for line in lines if line.startswith("    ln -s ")]
        shell(command, cwd=folder)
        equal(added(session)[0]["targetId"], session.entries[-1]["id"])
        equal(os.listdir(folder / "labels"), ["checkpoint"])


def test_labels_of_the_leaf_are_on_one_entry(case):
    """However often the leaf is labelled or the session renamed, a label is on the last entry of the conversation, not on
    the label or the title before it: with `leaf` on the command line, through the link `leaf`, and by its number."""
    with one_session(case) as (session, folder, _):
        store = ["--agent-dir", case.agent.path]
        last, before = session.entries[-1]["id"], session.entries[-2]["id"]
        for words in (["leaf"], ["leaf"], ["last"], ["leaf^"]):
            case.arborfs("label", *store, session.path, *words, "x")
            case.arborfs("title", *store, session.path, "Title " + words[0])
        for name in ("one", "two"):
            shell(f"ln -s $(readlink leaf) labels/{name}", cwd=folder)
        (folder / "label").write_text((folder / "branch").read_text().strip() + " three\n")
        (folder / "label").write_text(f"#{len(os.listdir(folder / 'entries'))} four\n")
        records = map(json.loads, session.path.read_text().splitlines())
        labels = [record for record in records if record["type"] == "label"]
        equal([entry["targetId"] for entry in labels], [last, last, last, before, last, last, last, last])
        equal(sorted(os.listdir(folder / "labels")), ["four", "x"])  # an entry has one label
        said = case.arborfs("text", *store, session.path, "leaf").stdout
        equal(said, case.arborfs("text", *store, session.path, last).stdout, "the text of the leaf")


def test_links_set_rename_and_clear_labels(case):
    """ln -s sets a label, mv renames it, rm clears it; ls shows each change at once."""
    with one_session(case) as (session, folder, _):
        first, second = session.stems()[0], session.stems()[1]
        labels = folder / "labels"
        shell(f"ln -s ../entries/{first}.json labels/checkpoint", cwd=folder)
        equal(os.readlink(labels / "checkpoint"), f"../entries/{first}.json")
        entry = added(session)[0]
        equal((entry["type"], entry["targetId"], entry["label"]), ("label", session.entries[0]["id"], "checkpoint"))
        shell("mv labels/checkpoint labels/other", cwd=folder)
        equal(os.listdir(labels), ["other"])
        shell(f"ln -s {session.entries[1]['id']} labels/zwei; mv labels/zwei labels/other", cwd=folder)
        equal(os.listdir(labels), ["other"])
        equal(os.readlink(labels / "other"), f"../entries/{second}.json")
        refused(f"ln -s {first} labels/other", folder, "File exists")
        refused("ln -s nothing_here labels/x", folder, "No such file")
        refused(f"ln -s {first} 'labels/%zz'", folder, "Invalid argument")
        fails_with(errno.EPERM, os.symlink, first, folder / "entries" / "x")
        fails_with(errno.EPERM, os.rename, labels / "other", folder / "other")
        shell(f"ln -sf {first} labels/other", cwd=folder)
        equal(os.readlink(labels / "other"), f"../entries/{first}.json")
        shell("rm labels/other; ls labels", cwd=folder)
        equal(os.listdir(labels), [])
        refused("rm labels/other", folder, "No such file")


def test_label_command_sets_moves_and_clears_labels(case):
    """label sets, moves and clears; listings and links never show an earlier state."""
    with one_session(case) as (session, folder, _):
        first, second = session.entries[0]["id"], session.entries[1]["id"]
        labels = folder / "labels"
        for round_number in range(20):
            target = (first, second)[round_number % 2]
            shell(f"echo '{target} here' > label", cwd=folder)
            assert os.readlink(labels / "here").endswith(f"{target}.json"), (round_number, os.readlink(labels / "here"))
        shell(f"echo '{first} größe / 2' > label; echo {second} > label", cwd=folder)
        equal(os.listdir(labels), ["größe %2F 2"])
        shell("mv 'labels/größe %2F 2' labels/plain", cwd=folder)
        equal([entry.get("label") for entry in added(session)][-1], "plain")


# -- titles


def test_echo_into_title_renames_the_session(case):
    """echo > title renames the session; title, session.json and recent/ show it at once."""
    with one_session(case) as (session, folder, mount):
        for number in range(10):
            shell(f"echo 'Title {number}' > title", cwd=folder)
            equal((folder / "title").read_text(), f"Title {number}\n")
            equal(json.loads((folder / "session.json").read_text())["title"], f"Title {number}")
            equal(os.listdir(mount / "recent"), [f"{started(session)}-title-{number}"])
        shell("printf 'without newline' > title", cwd=folder)
        equal((folder / "title").read_text(), "without newline\n")


@needs("vim")
def test_vim_edits_the_title_in_place(case):
    """vim edits the title in place; its swap and backup files never reach the store."""
    with one_session(case, title="Old title") as (session, folder, _):
        before = set(case.agent.state())
        run("vim", "-es", "-u", "NONE", "-c", "%s/Old/New/", "-c", "wq", folder / "title", check=False,
            env=case.environment)
        equal((folder / "title").read_text(), "New title\n")
        equal(set(case.agent.state()), before, "names in the store")
        assert b"New title" in session.path.read_bytes()


# -- sessions


def test_fork_and_new_create_visible_sessions(case):
    """fork and new create a session that is visible at once, in its project, by-id/ and recent/; the source is not
    changed."""
    with one_session(case) as (session, folder, mount):
        made = json.loads(shell("exec 3<> fork; echo >&3; cat <&3", cwd=folder))
        part = json.loads(shell(f"exec 3<> fork; echo {session.entries[1]['id']} >&3; cat <&3", cwd=folder))
        new = json.loads(shell("exec 3<> new; echo /srv/other >&3; cat <&3", cwd=mount.path))
        equal(session.path.read_bytes(), session.bytes, "the source")
        equal(len(os.listdir(mount / made["path"] / "entries")), 4)
        equal(len(os.listdir(mount / part["path"] / "entries")), 2)
        equal((mount / new["path"] / ".." / "cwd").read_text(), "/srv/other\n")
        for result in (made, part, new):
            assert result["session"] in os.listdir(mount / "by-id"), result
            assert (mount / "by-id" / result["session"]).resolve() == mount / result["path"]
        equal(len(os.listdir(mount / "recent")), 4)
        assert "srv-other" in os.listdir(mount / "projects")
        shell("echo hello > append", cwd=mount / new["path"])
        wish = json.dumps({"cwd": "/srv/third", "title": "Third"})
        third = json.loads(shell(f"exec 3<> new; echo '{wish}' >&3; cat <&3", cwd=mount.path))
        equal((mount / third["path"] / "title").read_text(), "Third\n")


def test_new_refuses_two_folders_in_one_write(case):
    """Two lines in one write are not taken as a working directory with a newline; no session is created."""
    with one_session(case) as (_, _, mount):
        before = set(case.agent.state())
        descriptor = os.open(mount / "new", os.O_WRONLY)
        fails_with(errno.EINVAL, os.write, descriptor, b"/p/a\n/p/b\n")
        os.close(descriptor)
        equal(set(case.agent.state()), before, "names in the store")


def test_mv_to_another_project_changes_the_cwd(case):
    """mv to another project's folder changes the header's cwd, and the links follow; mv to another name is refused."""
    session, other = case.agent.talk(), case.agent.talk(cwd="/srv/other")
    with case.mount() as mount:
        folder, target = mount.session(session), mount / "projects" / "srv-other"
        run("cat", folder / "title", mount / "by-id" / session.id / "title")
        fails_with(errno.EINVAL, os.rename, folder, target / "else")
        equal(session.path.read_bytes(), session.bytes)
        shell(f"mv '{folder}' '{target}/'")
        equal(sorted(os.listdir(target)), sorted(["cwd", mount.name_of(session), mount.name_of(other)]))
        assert not folder.exists()
        equal(os.path.realpath(mount / "by-id" / session.id), str(target / mount.name_of(session)))
        headers = [json.loads(line) for line in (target / session.name / "raw.jsonl").read_bytes().splitlines()
                   if b'"type":"session"' in line]
        equal(headers[0]["cwd"], "/srv/other")
        shell("echo x > append", cwd=target / session.name)


def test_f26_removal_requires_allow_delete(case):
    """F26: without allow_delete rmdir and rm -r of a session fail with EPERM and remove nothing."""
    with one_session(case) as (session, folder, mount):
        shell(f"ln -s {session.stems()[0]} labels/kept", cwd=folder)
        before = case.agent.state()
        fails_with(errno.EPERM, os.rmdir, folder)
        done = run("rm", "-rf", folder, check=False)
        assert done.returncode != 0
        fails_with(errno.EPERM, os.unlink, folder / "title")
        fails_with(errno.EPERM, os.rmdir, mount / "projects" / session.project)
        equal(case.agent.state(), before, "the store")


def test_f7_removal_moves_the_session_to_the_trash(case):
    """F7: removing a live session fails with EBUSY. Otherwise rm -r moves the whole session with labels and artifacts
    to the trash, and it disappears at once."""
    case.store["x"] = session = case.agent.session()
    session.talk(4)
    session.label(session.entries[0]["id"], "kept")
    session.write()
    artifacts = session.path.with_suffix("")
    artifacts.mkdir()
    (artifacts / "1.bash.log").write_text("output\n")
    other = case.agent.talk()
    with case.mount("allow_delete") as mount:
        folder = mount.session(session)
        before = case.agent.files()
        with open(session.path, "ab"):
            fails_with(errno.EBUSY, os.rmdir, folder)
            assert run("rm", "-rf", folder, check=False).returncode != 0, "rm -rf of a live session succeeded"
            equal(case.agent.files(), before, "the store")
        run("rm", "-r", folder)
        assert not folder.exists()
        equal(os.listdir(mount / "by-id"), [other.id])
        equal(len(os.listdir(mount / "recent")), 1)
        assert not session.path.exists() and not artifacts.exists()
        trash = case.root / "data" / "arborfs" / "trash"
        kept = [path for path in trash.rglob("*.jsonl")]
        equal([path.read_bytes() for path in kept], [session.bytes], "the log in the trash")
        equal([path.read_text() for path in trash.rglob("1.bash.log")], ["output\n"], "the artifact in the trash")
        run("rmdir", mount.session(other))
        equal(os.listdir(mount / "by-id"), [])


def test_find_delete_moves_every_session_to_the_trash(case):
    """With allow_delete `find -mindepth 2 -delete` over the mount moves every session to the trash, also the last
    session of a project, and continues with the next project."""
    for cwd in ("/srv/a", "/srv/b", "/srv/b", "/srv/c"):
        session = case.agent.talk(4, cwd=cwd)
        session.label(session.entries[0]["id"], "kept")
        session.grow()
        session.path.with_suffix("").mkdir()
        (session.path.with_suffix("") / "1.bash.log").write_text("output\n")
    with case.mount("allow_delete") as mount:
        logs = {path.read_bytes() for path in case.agent.sessions.rglob("*.jsonl")}
        run("find", ".", "-mindepth", "2", "-delete", check=False, cwd=mount.path)
        equal(os.listdir(mount / "by-id"), [], "sessions")
        equal(os.listdir(mount / "projects"), [], "projects")
        equal(list(case.agent.sessions.rglob("*.jsonl")), [], "logs in the store")
        trash = case.root / "data" / "arborfs" / "trash"
        equal({path.read_bytes() for path in trash.rglob("*.jsonl")}, logs, "the trash")


def test_rm_of_a_label_clears_only_the_label(case):
    """With allow_delete, rm of a label alone still clears just that label."""
    with one_session(case, "allow_delete") as (session, folder, _):
        shell(f"ln -s {session.stems()[0]} labels/x; rm labels/x", cwd=folder)
        equal([entry.get("label") for entry in added(session)], ["x", None])


# -- always refused


def test_editor_files_never_reach_the_store(case):
    """Nothing can be created, linked or renamed over another name, and the store gets no new name."""
    with one_session(case) as (session, folder, mount):
        before = case.agent.state()
        entry = folder / "entries" / f"{session.stems()[0]}.json"
        for script in (f"sed -i s/a/b/ '{entry}'", f"perl -pi -e s/a/b/ '{entry}'", "sed -i s/a/b/ title",
                       f"vim -es -u NONE -c 'normal ix' -c 'wq' '{entry}'", "install /etc/hostname title",
                       "mv title title.bak", "ln title title2", "mkdir labels/x", "touch labels/x", "touch .title.swp",
                       f"echo x > '{entry}'", f"echo x >> '{entry}'", "mkfifo x", "echo x > raw.jsonl", "rm leaf",
                       "rm append", "mv /etc/hostname append"):
            run("bash", "-c", script, cwd=folder, check=False, env=case.environment)
            equal(case.agent.state(), before, f"the store after {script!r}")
        for name in (mount.path, folder, folder / "labels", folder / "entries"):
            fails_with(errno.EPERM, os.mkdir, name / "x")
            fails_with(errno.EPERM, os.open, name / "x", os.O_CREAT | os.O_WRONLY)


# -- concurrency


def test_own_writes_are_seen_without_notifications(case):
    """Even with -o nonotify a write is visible to every open after it."""
    with one_session(case, "nonotify") as (session, folder, _):
        for number in range(10):
            equal(len((folder / "raw.jsonl").read_bytes()), len(session.path.read_bytes()))
            shell(f"echo 'message {number}' > append; echo 'Title {number}' > title", cwd=folder)
            equal((folder / "title").read_text(), f"Title {number}\n")
            assert f"message {number}" in (folder / "transcript.md").read_text()


def test_concurrent_writers_make_one_chain(case):
    """With many concurrent writers on one session, each message is there once, complete, and in one chain."""
    with one_session(case) as (session, folder, _):
        script = "for i in 1 2 3 4 5; do echo \"w$1 $i\" > append || exit 1; done"
        writers = [subprocess.Popen(["bash", "-c", script, "-", str(number)], cwd=folder) for number in range(8)]
        equal([writer.wait(60) for writer in writers], [0] * 8, "exit statuses")
        entries = added(session)
        equal(sorted(map(text_of, entries)), sorted(f"w{n} {i}" for n in range(8) for i in range(1, 6)))
        equal([entry["parentId"] for entry in entries],
              [session.leaf] + [entry["id"] for entry in entries[:-1]], "parents")


@concurrent
def test_concurrent_labels_and_listings_do_not_block(case):
    """Several programs make, rename and remove links during listings and appends from outside. None waits long for
    another."""
    session = case.agent.talk(8)
    with case.mount("live=write") as mount:
        folder = mount.session(session)
        stop = case.root / "stop"
        readers = [case.spawn(["bash", "-c", f"until [ -e {stop} ]; do ls -lR '{folder}' > /dev/null || true; done"])
                   for _ in range(2)]
        script = ("for i in {1..25}; do ln -s \"#$1\" labels/l$1 && mv labels/l$1 labels/m$1 && rm labels/m$1 "
                  "&& echo $1 > append || exit 1; done")
        with at_most(30, "100 rounds"):
            writers = [subprocess.Popen(["bash", "-c", script, "-", str(number)], cwd=folder) for number in range(1, 5)]
            equal([writer.wait(60) for writer in writers], [0] * 4, "exit statuses")
        stop.touch()
        equal([reader.wait(20) for reader in readers], [0, 0], "exit statuses of listings")
        equal(os.listdir(folder / "labels"), [])
        equal(len([entry for entry in added(session) if entry["type"] == "message"]), 100, "messages")


def test_waiting_write_is_answered_on_sigterm(case):
    """On SIGTERM while a write waits for the log's lock, the write is answered and the daemon exits."""
    session = case.agent.talk()
    lock = session.path.with_name(f".{session.path.name}.lock")
    mount = case.mount().start()
    try:
        folder = mount.session(session)
        lock.write_text(f"{os.getpid()}:{int(time.time() * 1000)}\n")
        writer = case.spawn(["bash", "-c", "echo waits > append; echo status $?"], case.new_path("out"), cwd=folder)
        time.sleep(0.1)
        os.kill(mount.process.pid, signal.SIGTERM)
        mount.wait_gone()
        writer.wait(10)
        equal(mount.process.returncode, 0, "exit status")
        equal(session.path.read_bytes(), session.bytes)
    finally:
        mount.force_away()


def test_f9_writes_leave_no_temporary_files(case):
    """F9: after a write no lock, backup or temporary file is left beside the log. During a write there are the agents'
    own lock and temporary file (CONTRACT.md 5.5, 6.5)."""
    with one_session(case) as (session, folder, _):
        shell("echo x > append; echo y > title; echo root > branch; ln -s '#1' labels/a || true", cwd=folder)
        equal(os.listdir(session.path.parent), [session.path.name])
