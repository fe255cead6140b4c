"""Writing through the mount as real tools do it (DESIGN 4, FIELD-FAILURES 3.1): each case asserts on the log's bytes."""

import contextlib
import errno
import json
import os
import signal
import subprocess
import time

from mounting import at_most, concurrent, equal, fails_with, needs, run, shell, variants


# -- looking at the store


def records(path):
    """The entries of a log, header and title slot left out."""
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    return [line for line in lines if line["type"] not in ("session", "title") or "parentId" in line]


def added(session):
    """The entries that stand behind what the test itself wrote; all before must be as it was."""
    data = session.path.read_bytes()
    assert data.startswith(session.bytes), "earlier bytes changed"
    assert data.endswith(b"\n"), "the log ends inside a line"
    return [json.loads(line) for line in data[len(session.bytes):].splitlines()]


def texts(session):
    """The texts of the messages that were added."""
    return [text_of(entry) for entry in added(session)]


def text_of(entry):
    content = entry["message"]["content"]
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)


def reason(folder):
    """How the last write ended, in words, from status.json."""
    return json.loads((folder / "status.json").read_text())["lastError"] or ""


@contextlib.contextmanager
def one_session(case, *options, **how):
    """A mounted store with one conversation: the session, and its folder in the mount."""
    session = case.agent.talk(**how)
    with case.mount(*options) as mount:
        yield session, mount.session(session), mount


def refused(script, folder, words):
    """A bash script in the folder fails and says this."""
    done = run("bash", "-c", script, cwd=folder, check=False)
    assert done.returncode != 0, f"{script!r} succeeded"
    said = done.stderr.decode()
    assert words in said, f"{script!r} said {said!r}, expected {words!r}"


# -- one message each, by every tool


TOOLS = {
    "echo": ("echo 'fix the bug' > append", "fix the bug"),
    "append": ("echo 'fix the bug' >> append", "fix the bug"),
    "here_doc": ("cat > append <<'END'\nfix\n the bug\nEND", "fix\n the bug"),
    "printf": ("printf 'one\\ntwo\\nthree' > append", "one\ntwo\nthree"),
    "tee": ("printf 'fix\\nthe bug\\n' | tee append > /dev/null", "fix\nthe bug"),
    "cp": ("printf 'fix\\nthe bug\\n' > $TMP/p && cp $TMP/p append", "fix\nthe bug"),
    "cp_p": ("printf 'fix the bug\\n' > $TMP/p && cp -p $TMP/p append", "fix the bug"),
    "cat": ("seq 1 20000 > $TMP/p && cat $TMP/p > append", "\n".join(map(str, range(1, 20001)))),
    "seq": ("seq 1 20000 > append", "\n".join(map(str, range(1, 20001)))),
    "dd": ("printf 'fix the bug\\n' | dd of=append bs=4 status=none", "fix the bug"),
    "dd_fsync": ("printf 'fix the bug' | dd of=append conv=notrunc,fsync status=none", "fix the bug"),
    "python": ("python3 -c \"open('append','w').write('fix\\nthe bug\\n')\"", "fix\nthe bug"),
    "python_a": ("python3 -c \"open('append','a').write('fix the bug')\"", "fix the bug"),
    "sed": ("printf 'fix the bug\\n' | sed 's/bug/leak/w append' > /dev/null", "fix the leak"),
    "descriptor": ("exec 3> append; echo a >&3; printf b >&3; echo c >&3; exec 3>&-", "a\nbc"),
    "group": ("{ echo a; sleep 0.1; /bin/echo b; } > append", "a\nb"),
    "child": ("exec 3> append; echo a >&3; (echo b >&3); /bin/echo c >&3; exec 3>&-", "a\nb\nc"),
    "shell_exits": ("exec 3> append; echo a >&3; echo b >&3", "a\nb"),
    "twice": ("exec 3> append 4> append; echo a >&3; exec 4>&-; echo b >&3; exec 3>&-", "a\nb"),
    "duplicate": ("exec 3> append; exec 4>&3; echo a >&3; exec 3>&-; echo b >&4; exec 4>&-", "a\nb"),
}


@variants(**{name: {"script": script, "text": text} for name, (script, text) in TOOLS.items()})
def test_text_is_one_message(case, script, text):
    """Text from open to close is one user message, whatever pieces it comes in, and visible when the shell goes on."""
    with one_session(case) as (session, folder, _):
        shell(f"cd '{folder}'; {script}", env=dict(os.environ, TMP=str(case.root)))
        entries = added(session)
        equal([text_of(entry) for entry in entries], [text], "messages")
        entry = entries[0]
        equal(entry["message"]["role"], "user")
        equal(entry["parentId"], session.leaf)
        equal(os.readlink(folder / "leaf"), f"entries/000005-user-{entry['id']}.json")
        equal((folder / "raw.jsonl").read_bytes(), session.path.read_bytes())


def test_results_can_be_read_back(case):
    """The descriptor that wrote reads one line for each command, then the end."""
    with one_session(case) as (session, folder, _):
        said = shell("exec 3<> append; echo hello >&3; read -r line <&3; echo \"$line\"; "
                     "echo '{\"type\":\"custom\",\"customType\":\"x\"}' >&3; cat <&3", cwd=folder)
        results = [json.loads(line) for line in said.splitlines()]
        entries = added(session)
        equal([entry["type"] for entry in entries], ["message", "custom"])
        equal([result["id"] for result in results], [entry["id"] for entry in entries], "ids")
        equal([result["parentId"] for result in results], [session.leaf, entries[0]["id"]], "parents")


def test_fresh_handles_tell_usage(case):
    """A control file that is only read says how it is used; branch says the leaf, title the title."""
    session = case.agent.session(title="Old")
    session.talk(2)
    session.write()
    before = case.agent.state()
    with case.mount() as mount:
        folder = mount.session(session)
        for name in (folder / "append", folder / "label", folder / "fork", mount / "new",
                     folder / "branches" / "current" / "append"):
            text = name.read_text()
            assert len(text) > 20 and text.endswith("\n"), f"{name}: {text!r}"
            equal(oct(name.stat().st_mode), "0o100600", f"mode of {name}")
            equal(name.stat().st_size, 0, f"size of {name}")
        equal((folder / "branch").read_text(), session.leaf + "\n")
        with open(folder / "title", "r+", encoding="utf-8") as title:
            equal(title.read(), "Old\n")
        equal(oct((folder / "title").stat().st_mode), "0o100600", "mode of title")
    equal(case.agent.state(), before, "the store")


def test_a_long_write_is_one_message(case):
    """3 MiB in one write(2), which the kernel cuts, are one message; so is a JSON entry of that size."""
    with one_session(case) as (session, folder, _):
        words = b"0123456789abcde\n" * (3 << 16)
        descriptor = os.open(folder / "append", os.O_WRONLY)
        equal(os.write(descriptor, words), len(words))
        os.close(descriptor)
        data = {"type": "custom", "customType": "big", "data": {"lines": ["x" * 1000] * 3000}}
        line = json.dumps(data).encode() + b"\n"
        descriptor = os.open(folder / "append", os.O_WRONLY)
        equal(os.write(descriptor, line), len(line))
        os.close(descriptor)
        entries = added(session)
        equal([entry["type"] for entry in entries], ["message", "custom"])
        assert text_of(entries[0]).startswith("0123456789abcde\n" * 1000)
        equal(entries[1]["data"], data["data"])


def test_pieces_of_json_are_put_together(case):
    """A large JSON object in pieces of 4096 bytes is one entry, appended when its newline comes."""
    with one_session(case) as (session, folder, _):
        line = json.dumps({"type": "custom", "customType": "x", "data": {"n": list(range(5000)), "s": "é" * 999}},
                          ensure_ascii=False).encode() + b"\n"
        with open(folder / "append", "wb", buffering=0) as file:
            for at in range(0, len(line), 4096):
                equal(session.path.read_bytes(), session.bytes, "the log before the newline")
                file.write(line[at:at + 4096])
            equal(len(added(session)), 1, "entries before the close")
        equal(added(session)[0]["data"], json.loads(line)["data"])


def test_several_lines_are_appended_all_or_none(case):
    """JSON lines of one write are appended together; one bad among them, and none is."""
    good = '{"type":"custom","customType":"a"}'
    with one_session(case) as (session, folder, _):
        run("dd", "of=append", "status=none", cwd=folder, stdin=None, input=f"{good}\n{good}\n".encode())
        first = added(session)
        equal([entry["parentId"] for entry in first], [session.leaf, first[0]["id"]], "parents")
        for bad in ('{"type":"no such type"}', '{"type":}', '{"type":"custom"} x', '{"neither":1}', "text"):
            done = run("dd", "of=append", "status=none", cwd=folder, stdin=None, check=False,
                       input=f"{good}\n{bad}\n{good}\n".encode())
            assert done.returncode != 0, f"{bad} was taken"
            equal(len(added(session)), 2, f"entries after {bad}")
            assert reason(folder), f"no reason for {bad}"


def test_a_rest_of_json_without_newline_is_taken_at_close(case):
    """One object without a newline is appended at close, half of one refused there."""
    with one_session(case) as (session, folder, _):
        run("dd", "of=append", "status=none", cwd=folder, stdin=None, input=b'{"type":"custom","customType":"a"}')
        equal(len(added(session)), 1)
        descriptor = os.open(folder / "append", os.O_WRONLY)
        os.write(descriptor, b'{"type":"custom"')
        fails_with(errno.EINVAL, os.close, descriptor)
        equal(len(added(session)), 1)


def test_a_child_that_exits_does_not_cut_a_message(case):
    """A child that inherited the descriptor and exits in the middle changes nothing."""
    with one_session(case) as (session, folder, _):
        descriptor = os.open(folder / "append", os.O_WRONLY)
        os.write(descriptor, b"before ")
        for program in ("true", "false"):
            subprocess.run([program], pass_fds=[descriptor], check=False)
        killed = subprocess.Popen(["sleep", "60"], pass_fds=[descriptor])
        killed.kill()
        killed.wait()
        equal(session.path.read_bytes(), session.bytes, "the log before the close")
        os.write(descriptor, b"after")
        os.close(descriptor)
        equal(texts(session), ["before after"])


@variants(kill={"number": signal.SIGKILL}, interrupt={"number": signal.SIGINT}, hang_up={"number": signal.SIGHUP},
          terminate={"number": signal.SIGTERM})
def test_of_a_killed_writer_nothing_is_appended(case, number):
    """A program that a signal kills in the middle of a message appends nothing; the next one is not disturbed."""
    with one_session(case) as (session, folder, _):
        writer = subprocess.Popen(["perl", "-e", "$| = 1; open(F, '>', 'append'); syswrite(F, 'half a mess'); "
                                   "print 'x'; sleep 60"], cwd=folder, stdout=subprocess.PIPE)
        equal(writer.stdout.read(1), b"x")
        writer.send_signal(number)
        equal(writer.wait(), -number)
        time.sleep(0.1)
        equal(session.path.read_bytes(), session.bytes, "the log")
        shell("echo whole > append", cwd=folder)
        equal(texts(session), ["whole"])


def test_touch_and_truncate_mean_nothing(case):
    """touch, truncate, chmod and opening with O_TRUNC succeed on control files and write nothing."""
    with one_session(case) as (session, folder, mount):
        before = case.agent.state()
        for name in ("append", "branch", "label", "fork", "title", "branches/current/append"):
            shell(f"touch {name}; truncate -s0 {name}; chmod 600 {name}; : > {name}; : >> {name}", cwd=folder)
        shell("touch new; truncate -s0 new; : > new", cwd=mount.path)
        equal(case.agent.state(), before, "the store")


# -- refusals


def test_what_is_malformed_is_refused(case):
    """EINVAL, EILSEQ, EFBIG and ENOENT come out of the write; the tool fails, the log is as it was, status says why."""
    with one_session(case) as (session, folder, mount):
        for script, words in (
                ("echo '{]' > append", "Invalid argument"),
                ("echo '{\"type\":\"message\"}' > append", "Invalid argument"),
                ("printf 'a\\xff\\xfeb' > append", "Invalid or incomplete multibyte"),
                ("printf 'caf\\xc3(' | tee append > /dev/null", "Invalid or incomplete multibyte"),
                ("head -c 68000000 /dev/zero | tr '\\0' x | dd of=append bs=1M status=none", "File too large"),
                ("echo nothing_here > branch", "No such file"),
                ("echo '' > branch", "No such file"),
                ("echo 'nothing_here x' > label", "No such file"),
                ("echo nothing_here > fork", "No such file"),
                ("echo > title", "Invalid argument"),
                ("printf '%070000d\\n' 1 > label", "File too large")):
            refused(script, folder, words)
            equal(session.path.read_bytes(), session.bytes, f"the log after {script!r}")
            assert reason(folder), f"no reason after {script!r}"
        refused("echo relative/path > new", mount.path, "Invalid argument")
        shell("echo right > append", cwd=folder)
        equal(reason(folder), "", "the reason after a success")


def test_a_live_session_is_refused_in_the_write(case):
    """While another process has the log open for writing: EBUSY from write(2), also for text; fork still works."""
    with one_session(case) as (session, folder, _):
        with open(session.path, "ab"):
            for script in ("echo x > append", "echo x | tee append", "echo '{\"type\":\"custom\",\"customType\":\"x\"}' "
                           "> append", "echo root > branch", "echo '#1 x' > label", "echo x > title"):
                refused(script, folder, "Device or resource busy")
            assert reason(folder)
            fails_with(errno.EBUSY, os.symlink, f"../entries/{session.stems()[0]}.json", folder / "labels" / "x")
            shell("echo > fork", cwd=folder)
            shell("echo '{\"type\":\"custom\",\"customType\":\"x\",\"force\":true}' > append", cwd=folder)
            equal(len(added(session)), 1)
        shell("echo x > append", cwd=folder)
        equal(len(added(session)), 2)
        equal(reason(folder), "")


def test_live_write_overrides(case):
    """With -o live=write a session that somebody holds is written to."""
    with one_session(case, "live=write") as (session, folder, _):
        with open(session.path, "ab"):
            shell("echo x > append", cwd=folder)
        equal(texts(session), ["x"])


def test_an_unknown_version_is_never_written(case):
    """A log of version 4 is shown and gives EROFS."""
    with one_session(case, version=4) as (session, folder, _):
        refused("echo x > append", folder, "Read-only file system")
        refused("echo x > title", folder, "Read-only file system")
        equal(session.path.read_bytes(), session.bytes)


def test_a_condition_that_fails_gives_estale(case):
    """ifLeaf that names another leaf gives ESTALE and writes nothing."""
    with one_session(case) as (session, folder, _):
        line = '{"type":"custom","customType":"x","ifLeaf":"%s"}'
        refused(f"echo '{line % 'ffffffff'}' > append", folder, "Stale file handle")
        equal(session.path.read_bytes(), session.bytes)
        shell(f"echo '{line % session.leaf}' > append", cwd=folder)
        assert "ifLeaf" not in added(session)[0], added(session)


# -- the leaf


def test_branch_moves_the_leaf(case):
    """branch moves the leaf without writing to the log; the next message is a child of it. Everything shows it."""
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
        shell("echo root > branch; cat branch; [ ! -e leaf ]", cwd=folder)
        shell("echo first > append", cwd=folder)
        equal(added(session)[-1]["parentId"], None)


@variants(printf="printf '{}\\nTried X,\\nfailed\\n' > branch", here_doc="cat > branch <<END\n{}\nTried X,\nfailed\nEND",
          two_builtins="exec 3> branch; printf '{}\\nTried X,\\nfailed' >&3; exec 3>&-")
def test_branch_takes_a_summary(case, **how):
    """Further lines are the summary of what is left, also from a shell that writes line by line."""
    with one_session(case) as (session, folder, _):
        second = session.entries[1]["id"]
        shell(next(iter(how.values())).format(second), cwd=folder)
        entries = added(session)
        equal([entry["type"] for entry in entries], ["branch_summary"])
        equal(entries[0]["summary"], "Tried X,\nfailed")
        equal(entries[0]["parentId"], second)


test_branch_takes_a_summary.variants = {
    name: {"script": script} for name, script in test_branch_takes_a_summary.variants.items()}


def test_appending_to_another_branch(case):
    """branches/<b>/append appends there and moves the leaf, as one step; b is anything that names an entry."""
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


def test_labels_by_links(case):
    """ln -s sets a label, mv renames it, rm clears it; ls shows each at once."""
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


def test_labels_by_command(case):
    """label sets, moves and clears; an open listing and stat never show what was before."""
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


def test_title_by_echo(case):
    """echo > title renames; title, session.json and recent/ show it at once."""
    with one_session(case) as (session, folder, mount):
        for number in range(10):
            shell(f"echo 'Title {number}' > title", cwd=folder)
            equal((folder / "title").read_text(), f"Title {number}\n")
            equal(json.loads((folder / "session.json").read_text())["title"], f"Title {number}")
            equal(os.listdir(mount / "recent"), [f"01-title-{number}"])
        shell("printf 'without newline' > title", cwd=folder)
        equal((folder / "title").read_text(), "without newline\n")


@needs("vim")
def test_title_by_vim(case):
    """vim edits the title in place; its swap and backup files never reach the store."""
    with one_session(case, title="Old title") as (session, folder, _):
        before = set(case.agent.state())
        run("vim", "-es", "-u", "NONE", "-c", "%s/Old/New/", "-c", "wq", folder / "title", check=False,
            env=case.environment)
        equal((folder / "title").read_text(), "New title\n")
        equal(set(case.agent.state()), before, "names in the store")
        assert b"New title" in session.path.read_bytes()


# -- sessions


def test_fork_and_new(case):
    """fork and new make a session that is visible at once, by path, id and recency; the source is not touched."""
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


def test_moving_a_session(case):
    """mv to another project's folder changes the header's cwd; the links follow; another name is refused."""
    session, other = case.agent.talk(), case.agent.talk(cwd="/srv/other")
    with case.mount() as mount:
        folder, target = mount.session(session), mount / "projects" / "srv-other"
        run("cat", folder / "title", mount / "by-id" / session.id / "title")
        fails_with(errno.EINVAL, os.rename, folder, target / "else")
        equal(session.path.read_bytes(), session.bytes)
        shell(f"mv '{folder}' '{target}/'")
        equal(sorted(os.listdir(target)), sorted(["cwd", session.name, other.name]))
        assert not folder.exists()
        equal(os.path.realpath(mount / "by-id" / session.id), str(target / session.name))
        headers = [json.loads(line) for line in (target / session.name / "raw.jsonl").read_bytes().splitlines()
                   if b'"type":"session"' in line]
        equal(headers[0]["cwd"], "/srv/other")
        shell("echo x > append", cwd=target / session.name)


def test_removing_needs_allow_delete(case):
    """rmdir and rm -r of a session give EPERM and take nothing away."""
    with one_session(case) as (session, folder, mount):
        shell(f"ln -s {session.stems()[0]} labels/kept", cwd=folder)
        before = case.agent.state()
        fails_with(errno.EPERM, os.rmdir, folder)
        done = run("rm", "-rf", folder, check=False)
        assert done.returncode != 0
        fails_with(errno.EPERM, os.unlink, folder / "title")
        fails_with(errno.EPERM, os.rmdir, mount / "projects" / session.project)
        equal(case.agent.state(), before, "the store")


def test_removing_with_allow_delete(case):
    """rm -r moves the session whole to the trash, labels and artifacts with it, and it is gone at once."""
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


def test_clearing_a_label_with_allow_delete(case):
    """With allow_delete too, rm of a label clears it when that is all that is removed."""
    with one_session(case, "allow_delete") as (session, folder, _):
        shell(f"ln -s {session.stems()[0]} labels/x; rm labels/x", cwd=folder)
        equal([entry.get("label") for entry in added(session)], ["x", None])


# -- what is never done


def test_editors_files_never_reach_the_store(case):
    """Nothing can be created, linked or renamed over anything; the store has no name that it had not."""
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


# -- together


def test_own_writes_are_seen_without_notifications(case):
    """With -o nonotify too, what was written is there for whoever opens a file afterwards."""
    with one_session(case, "nonotify") as (session, folder, _):
        for number in range(10):
            equal(len((folder / "raw.jsonl").read_bytes()), len(session.path.read_bytes()))
            shell(f"echo 'message {number}' > append; echo 'Title {number}' > title", cwd=folder)
            equal((folder / "title").read_text(), f"Title {number}\n")
            assert f"message {number}" in (folder / "transcript.md").read_text()


def test_writers_side_by_side(case):
    """Many writers on one session at once: each message is there once, whole, and in a chain."""
    with one_session(case) as (session, folder, _):
        writers = [subprocess.Popen(["bash", "-c", f"for i in 1 2 3 4 5; do echo 'w{number} '$i > append || exit 1; done"],
                                    cwd=folder) for number in range(8)]
        equal([writer.wait(60) for writer in writers], [0] * 8, "exit statuses")
        entries = added(session)
        equal(sorted(map(text_of, entries)), sorted(f"w{n} {i}" for n in range(8) for i in range(1, 6)))
        equal([entry["parentId"] for entry in entries],
              [session.leaf] + [entry["id"] for entry in entries[:-1]], "parents")


@concurrent
def test_labels_and_listings_side_by_side(case):
    """Links made, renamed and removed by several programs at once, under listings and appends from outside, never wait
    for each other for long."""
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


def test_a_write_that_waits_is_answered_when_the_daemon_is_told_to_leave(case):
    """SIGTERM while a write waits for the log's lock: it is answered, and the daemon leaves."""
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


def test_locks_are_not_left(case):
    """After writing no lock file and no temporary is left beside the log."""
    with one_session(case) as (session, folder, _):
        shell("echo x > append; echo y > title; echo root > branch; ln -s '#1' labels/a || true", cwd=folder)
        equal(os.listdir(session.path.parent), [session.path.name])
