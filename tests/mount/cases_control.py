"""Appends through the mount with real tools (CONTRACT.md 4, FAILURES.md P5), and refused commands. Each case checks the
log's bytes."""

import errno
import json
import os
import signal
import subprocess
import time

from mounting import equal, fails_with, run, shell, variants
from writing import added, one_session, reason, refused, text_of, texts


# -- each tool writes one message


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
def test_text_between_open_and_close_is_one_message(case, script, text):
    """The text between open and close becomes one user message, however it is split. It is visible when the shell
    continues."""
    with one_session(case) as (session, folder, _):
        shell(f"cd '{folder}'; {script}", env=dict(os.environ, TMP=str(case.root)))
        entries = added(session)
        equal([text_of(entry) for entry in entries], [text], "messages")
        entry = entries[0]
        equal(entry["message"]["role"], "user")
        equal(entry["parentId"], session.leaf)
        equal(os.readlink(folder / "leaf"), f"entries/000005-user-{entry['id']}.json")
        equal((folder / "raw.jsonl").read_bytes(), session.path.read_bytes())


def test_writer_reads_one_result_per_command(case):
    """A read from the written descriptor gives one line for each command, then end of file."""
    with one_session(case) as (session, folder, _):
        said = shell("exec 3<> append; echo hello >&3; read -r line <&3; echo \"$line\"; "
                     "echo '{\"type\":\"custom\",\"customType\":\"x\"}' >&3; cat <&3", cwd=folder)
        results = [json.loads(line) for line in said.splitlines()]
        entries = added(session)
        equal([entry["type"] for entry in entries], ["message", "custom"])
        equal([result["id"] for result in results], [entry["id"] for entry in entries], "ids")
        equal([result["parentId"] for result in results], [session.leaf, entries[0]["id"]], "parents")


def test_control_files_read_as_usage_or_current_value(case):
    """A newly opened control file reads as its usage text. branch reads as the leaf's id, and title as the title."""
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


def test_one_large_write_is_one_message(case):
    """One write(2) of 3 MiB, which the kernel splits, is one message, and a JSON entry of that size is one entry."""
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


def test_json_split_across_writes_is_one_entry(case):
    """A large JSON object in pieces of 4096 bytes is one entry, appended when its newline arrives."""
    with one_session(case) as (session, folder, _):
        line = json.dumps({"type": "custom", "customType": "x", "data": {"n": list(range(5000)), "s": "é" * 999}},
                          ensure_ascii=False).encode() + b"\n"
        with open(folder / "append", "wb", buffering=0) as file:
            for at in range(0, len(line), 4096):
                equal(session.path.read_bytes(), session.bytes, "the log before the newline")
                file.write(line[at:at + 4096])
            equal(len(added(session)), 1, "entries before the close")
        equal(added(session)[0]["data"], json.loads(line)["data"])


def test_json_lines_of_one_write_are_atomic(case):
    """The JSON lines of one write are appended together; if one of them is bad, none is appended."""
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


def test_json_without_newline_is_appended_at_close(case):
    """An object without a newline is appended at close; an incomplete one is refused there."""
    with one_session(case) as (session, folder, _):
        run("dd", "of=append", "status=none", cwd=folder, stdin=None, input=b'{"type":"custom","customType":"a"}')
        equal(len(added(session)), 1)
        descriptor = os.open(folder / "append", os.O_WRONLY)
        os.write(descriptor, b'{"type":"custom"')
        fails_with(errno.EINVAL, os.close, descriptor)
        equal(len(added(session)), 1)


def test_exiting_child_does_not_end_the_message(case):
    """A child that inherited the descriptor and exits in the middle of a message does not end the message."""
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
def test_killed_writer_appends_nothing(case, number):
    """If a signal kills a writer in the middle of a message, nothing is appended, and the next message is not
    affected."""
    with one_session(case) as (session, folder, _):
        for _ in range(10):  # the close and the release after it run concurrently
            writer = subprocess.Popen(["perl", "-e", "$| = 1; open(F, '>', 'append'); syswrite(F, 'half a mess'); "
                                       "print 'x'; sleep 60"], cwd=folder, stdout=subprocess.PIPE)
            equal(writer.stdout.read(1), b"x")
            writer.send_signal(number)
            equal(writer.wait(), -number)
            time.sleep(0.1)
            equal(session.path.read_bytes(), session.bytes, "the log")
        shell("echo whole > append", cwd=folder)
        equal(texts(session), ["whole"])


def test_touch_and_truncate_write_nothing(case):
    """touch, truncate, chmod and opening with O_TRUNC succeed on control files and write nothing."""
    with one_session(case) as (session, folder, mount):
        before = case.agent.state()
        for name in ("append", "branch", "label", "fork", "title", "branches/current/append"):
            shell(f"touch {name}; truncate -s0 {name}; chmod 600 {name}; : > {name}; : >> {name}", cwd=folder)
        shell("touch new; truncate -s0 new; : > new", cwd=mount.path)
        equal(case.agent.state(), before, "the store")


# -- refusals


def test_malformed_commands_are_refused(case):
    """The write itself fails with EINVAL, EILSEQ, EFBIG or ENOENT, so the tool fails. The log is unchanged, and
    status.json gives the reason."""
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


def test_newline_after_a_refused_line_is_ignored(case):
    """A shell writes the newline of an overlong line although the line failed. That newline does not fork the session
    or append an empty message, and the reported reason stays."""
    with one_session(case) as (session, folder, _):
        for name in ("fork", "title", "label"):
            refused(f"echo \"$(head -c 100000 /dev/zero | tr '\\0' x)\" > {name}", folder, "File too large")
            assert "a command may have" in reason(folder), reason(folder)
        equal(os.listdir(session.path.parent), [session.path.name], "names in the store")
        equal(session.path.read_bytes(), session.bytes)


def test_usage_text_is_refused_as_a_message(case):
    """A control file's usage text is refused when it is written back with text after it, as by an editor."""
    with one_session(case) as (session, folder, mount):
        for name in ("append", "label", "fork", "branches/current/append"):
            refused(f"(cat {name}; echo q) > {case.root}/f; cat {case.root}/f > {name}", folder, "Invalid argument")
            assert "write only the new text" in reason(folder), reason(folder)
        refused(f"(cat new; echo /srv/q) > {case.root}/f; cat {case.root}/f > new", mount.path, "Invalid argument")
        equal(session.path.read_bytes(), session.bytes)
        equal(os.listdir(session.path.parent), [session.path.name], "names in the store")


@variants(title={"name": "title", "text": b"x" * 80_000 + b"\n"},
          summary={"name": "branch", "text": b"#1\n" + b"Tried X, and failed\n" * 5_400})
def test_oversized_commands_store_nothing(case, name, text):
    """If a command is too long, no part of it is stored, however the command is split."""
    with one_session(case) as (session, folder, _):
        for size in (len(text), 1 << 16, 4096, 1000, 20):
            descriptor = os.open(folder / name, os.O_WRONLY)
            failed = 0
            for at in range(0, len(text), size):
                try:
                    os.write(descriptor, text[at:at + size])
                except OSError as error:
                    equal(error.errno, errno.EFBIG)
                    failed += 1
            os.close(descriptor)
            assert failed, f"nothing failed in pieces of {size}"
            equal(session.path.read_bytes(), session.bytes, f"the log after pieces of {size}")
            equal((folder / "branch").read_text(), session.leaf + "\n", f"the leaf after pieces of {size}")
            assert "a command may have" in reason(folder), reason(folder)


def test_split_summary_is_one_entry(case):
    """The target and the lines after it are one branch_summary, wherever the write is split."""
    with one_session(case) as (session, folder, _):
        first = session.entries[0]["id"]
        text = f"{first}\nTried X,\nfailed\n".encode()
        for at in range(len(text) + 1):
            with open(folder / "branch", "wb", buffering=0) as branch:
                branch.write(text[:at])
                branch.write(text[at:])
        equal([(entry["type"], entry["parentId"], entry["summary"]) for entry in added(session)],
              [("branch_summary", first, "Tried X,\nfailed")] * (len(text) + 1))


def test_words_name_entries_of_the_branch(case):
    """branch, label and fork take the words of the command line: last-user, and ^ for the entry before."""
    with one_session(case) as (session, folder, _):
        prompt = [entry for entry in session.entries if entry.get("message", {}).get("role") == "user"][-1]
        (folder / "label").write_text("last-user asked\n")
        equal(added(session)[-1]["targetId"], prompt["id"], "the label")
        (folder / "branch").write_text("last-user^\n")
        equal((folder / "branch").read_text(), f"{prompt['parentId'] or ''}\n", "the leaf")
        with open(folder / "fork", "r+b", buffering=0) as fork:
            fork.write(b"leaf\n")
            copy = json.loads(fork.read())
        names = os.listdir(folder.parent.parent.parent / "by-id" / copy["session"] / "entries")
        assert not any(prompt["id"] in name for name in names), names


def test_f5_write_to_a_live_session_fails_with_ebusy(case):
    """F5: while another process has the log open for writing, write(2) fails with EBUSY, also for text, and writes
    nothing, but a fork works. Once the log is closed, writes succeed at once."""
    with one_session(case) as (session, folder, _):
        with open(session.path, "ab"):
            custom = "echo '{\"type\":\"custom\",\"customType\":\"x\"}' > append"
            for script in ("echo x > append", "echo x | tee append", custom, "echo root > branch",
                           "echo '#1 x' > label", "echo x > title"):
                refused(script, folder, "Device or resource busy")
            assert reason(folder)
            fails_with(errno.EBUSY, os.symlink, f"../entries/{session.stems()[0]}.json", folder / "labels" / "x")
            shell("echo > fork", cwd=folder)
            shell("echo '{\"type\":\"custom\",\"customType\":\"x\",\"force\":true}' > append", cwd=folder)
            equal(len(added(session)), 1)
        shell("echo x > append", cwd=folder)
        equal(len(added(session)), 2)
        equal(reason(folder), "")


def test_live_write_option_allows_writes_to_live_sessions(case):
    """With -o live=write a session that another process has open can be written."""
    with one_session(case, "live=write") as (session, folder, _):
        with open(session.path, "ab"):
            shell("echo x > append", cwd=folder)
        equal(texts(session), ["x"])


def test_f25_unknown_versions_are_never_written(case):
    """F25: a log of version 4 is shown, and writes fail with EROFS. Logs of version 1 or 2 are migrated by their first
    write (CONTRACT.md 6.4)."""
    with one_session(case, version=4) as (session, folder, _):
        refused("echo x > append", folder, "Read-only file system")
        refused("echo x > title", folder, "Read-only file system")
        equal(session.path.read_bytes(), session.bytes)


def test_failed_condition_gives_estale(case):
    """An ifLeaf that names another leaf fails with ESTALE and writes nothing."""
    with one_session(case) as (session, folder, _):
        line = '{"type":"custom","customType":"x","ifLeaf":"%s"}'
        refused(f"echo '{line % 'ffffffff'}' > append", folder, "Stale file handle")
        equal(session.path.read_bytes(), session.bytes)
        shell(f"echo '{line % session.leaf}' > append", cwd=folder)
        assert "ifLeaf" not in added(session)[0], added(session)
