"""Sessions of goat are shown and written by goat's rules (core/formats/goat/FORMAT.md, tests/goat)."""

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import threading
from pathlib import Path

from mounting import PATIENCE, detach, equal, eventually, visible_within
from views import damage, status

SAMPLES = Path(__file__).resolve().parent.parent / "goat"
CONTROLS = {"append", "label", "fork", "checkpoint", "rewind"}
NOT_HONOURED = {"branch", "replace", "summary"}


def goat_dir(case, shape="nested"):
    """A base folder of goat with the samples of one shape."""
    folder = case.new_path("goat") / "sessions"
    shutil.copytree(SAMPLES / shape, folder)
    return folder


def state_of(folder):
    """Names, sizes, times and bytes of all files."""
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in sorted(folder.rglob("*")) if path.is_file()}


def expected(shape):
    return json.loads((SAMPLES / f"{shape}.json").read_text())


def context_of(folder):
    return json.loads((folder / "context.json").read_text())["messages"]


def text_of(message):
    content = message["content"]
    return "".join(part.get("text", "") for part in content) if isinstance(content, list) else content or ""


def calls_of(message):
    return [call["function"]["name"] for call in message.get("tool_calls", [])]


def entries_of(folder):
    names = sorted(os.listdir(folder / "entries"))
    return [(folder / "entries" / name).read_bytes() for name in names]


def line(uuid, role, content, **more):
    message = {"role": role, "content": content, **more}
    return json.dumps({"uuid": uuid, "timestamp": "2026-02-09T10:00:00.5+01:00", "message": message}) + "\n"


def check_session(folder, wanted, native):
    """Every value of an expected session."""
    session = json.loads((folder / "session.json").read_text())
    equal((session["agent"], session["format"], session["id"]), ("goat", "goat-jsonl", wanted["id"]), folder)
    equal((session["cwd"], session.get("parentSession")), (wanted["cwd"], wanted["parentSession"]), folder)
    equal(session["native"], json.loads((native / "metadata.json").read_text()), folder)
    equal((folder / "title").read_text().rstrip("\n"), wanted["title"] or "", folder)
    entries = entries_of(folder)
    context = context_of(folder)
    found = [[json.loads(entry)["uuid"], message["role"], text_of(message), calls_of(message)]
             for entry, message in zip(entries, context)]
    equal(found, wanted["messages"], folder)
    equal((len(entries), len(context)), (len(found), len(found)), folder)
    log = native / "messages.jsonl"
    lines = log.read_bytes().split(b"\n") if log.exists() else [b""]
    bad = [number + 1 for number, text in enumerate(lines) if text and text + b"\n" not in entries]
    equal(bad, wanted["badLines"], folder)
    equal(damage(folder), [lines[number - 1] for number in bad], folder)
    equal(lines[-1] == b"", wanted["endsWithNewline"], folder)
    equal((status(folder)["writable"], status(folder)["problem"]), (True, None), folder)
    names = set(os.listdir(folder))
    assert CONTROLS <= names and not NOT_HONOURED & names, names


def check_checkpoints(folder, wanted):
    """Manifests and contents are below artifacts/."""
    checkpoints = folder / "artifacts" / "checkpoints"
    found = sorted(os.listdir(checkpoints)) if checkpoints.exists() else []
    equal(found, [checkpoint["id"] for checkpoint in wanted["checkpoints"]], folder)
    for checkpoint in wanted["checkpoints"]:
        here = checkpoints / checkpoint["id"]
        states = []
        for file in json.loads((here / "manifest.json").read_text())["files"]:
            stored = [here / name / file.get("hash", "none") for name in ("files", "blobs")]
            is_stored = any(path.exists() for path in stored)
            states.append([file["path"], "absent" if file.get("exists") is False else "ok" if is_stored else "missing-blob"])
        equal(states, checkpoint["files"], here)


def check_shape(case, shape):
    goat = goat_dir(case, shape)
    before = state_of(goat)
    with case.mount(f"store=goat={goat}") as mount:
        equal(sorted(os.listdir(mount / "by-id")), sorted(session["id"] for session in expected(shape)), "sessions")
        for session in expected(shape):
            folder = mount / "by-id" / session["id"]
            check_session(folder, session, goat / session["id"])
            check_checkpoints(folder, session)
    equal(state_of(goat), before, "the store")


def test_nested_sessions_have_the_expected_values(case):
    """Metadata, messages, damage and checkpoints of the nested samples; reading changes no byte of the store."""
    check_shape(case, "nested")


def test_flat_sessions_have_the_expected_values(case):
    """The same for the flat samples."""
    check_shape(case, "flat")


def test_store_is_also_found_above_its_sessions(case):
    """The folder that a user names may be the parent of the folder `sessions`."""
    goat = goat_dir(case)
    with case.mount(f"store=goat={goat.parent}") as mount:
        equal(len(os.listdir(mount / "by-id")), 3, "sessions")


def test_images_and_cost_are_shown(case):
    """The picture that was pasted, its place in the text, and what the session cost."""
    goat = goat_dir(case)
    with case.mount(f"store=goat={goat}") as mount:
        folder = mount / "by-id" / "3f0c1d52-6b7e-4a3c-9d10-5a2b8c7d0001"
        (image,) = os.listdir(folder / "images")
        assert image.endswith(".png"), image
        equal((folder / "images" / image).read_bytes(), b"\x89PNG\r\n\x1a\n", image)
        assert "And this picture?\n\n[image 1: image/png]\n" in (folder / "transcript.md").read_text(), folder
        equal(json.loads((folder / "usage.json").read_text()), {"cost": 0.0234}, folder)


def test_session_follows_its_program(case):
    """Messages, new metadata and a new session show at once; earlier entries stay as they are."""
    goat = goat_dir(case)
    new = goat / "new"
    with case.mount(f"store=goat={goat}") as mount:
        folder = mount / "by-id" / "3f0c1d52-6b7e-4a3c-9d10-5a2b8c7d0001"
        first = sorted(os.listdir(folder / "entries"))
        inode = (folder / "entries" / first[0]).stat().st_ino

        def append():
            with (goat / folder.name / "messages.jsonl").open("a") as log:
                log.write(line("last", "user", "One more"))

        visible_within(1, append, lambda: len(os.listdir(folder / "entries")) == len(first) + 1, "the message")
        equal(text_of(context_of(folder)[-1]), "One more", "context")
        equal((folder / "entries" / first[0]).stat().st_ino, inode, "the first entry")

        metadata = json.loads((goat / folder.name / "metadata.json").read_text())
        metadata["leaf_title"] = "Renamed"
        write = (goat / folder.name / "metadata.json").write_text
        visible_within(1, lambda: write(json.dumps(metadata)), lambda: (folder / "title").read_text() == "Renamed\n",
                       "the title")
        equal((folder / "entries" / first[0]).stat().st_ino, inode, "the first entry")

        def start():
            new.mkdir()
            (new / "metadata.json").write_text(json.dumps({"id": "new", "cwd": "/tmp/demo/greeter"}))

        visible_within(1, start, lambda: "new" in os.listdir(mount / "by-id"), "the session")
        equal(os.listdir(mount / "by-id" / "new" / "entries"), [], "entries")
        visible_within(1, lambda: (new / "messages.jsonl").write_text(line("a", "user", "hello")),
                       lambda: len(os.listdir(mount / "by-id" / "new" / "entries")) == 1, "its first message")
        visible_within(1, lambda: shutil.rmtree(new), lambda: "new" not in os.listdir(mount / "by-id"), "the removal")


def test_session_that_a_program_holds_open_is_live(case):
    """goat keeps messages.jsonl open for writing until it closes the store."""
    goat = goat_dir(case)
    log = goat / "3f0c1d52-6b7e-4a3c-9d10-5a2b8c7d0001" / "messages.jsonl"
    holder = subprocess.Popen([sys.executable, "-c", f"f = open({str(log)!r}, 'a'); print(1, flush=True); input()"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        holder.stdout.readline()
        with case.mount(f"store=goat={goat}") as mount:
            equal(status(mount / "by-id" / log.parent.name)["state"], "live", "held open")
            holder.communicate(b"\n")
            other = mount / "by-id" / "3f0c1d52-6b7e-4a3c-9d10-5a2b8c7d0002"
            assert status(other)["state"] != "live", status(other)
    finally:
        holder.kill()
        holder.wait()


def test_damage_stays_in_its_session(case):
    """Broken metadata, folders without a session, FIFOs and links harm no other session."""
    goat = goat_dir(case, "flat")
    (goat / "broken").mkdir()
    (goat / "broken" / "metadata.json").write_text('{"session_id": "bro')
    (goat / "bare").mkdir()
    (goat / "bare" / "messages.jsonl").write_text(line("a", "user", "x") + line("a", "user", "y") + "5\n" + "{\n")
    (goat / "memory").mkdir()
    (goat / "fifo").mkdir()
    os.mkfifo(goat / "fifo" / "messages.jsonl")
    os.symlink(goat / "bare", goat / "link")
    with case.mount(f"store=goat={goat}") as mount:
        equal(sorted(os.listdir(mount / "by-id")), ["abc-123", "abc-123-fork", "bare", "broken", "def-456"], "sessions")
        assert "JSON" in status(mount / "by-id" / "broken")["problem"], status(mount / "by-id" / "broken")
        bare = mount / "by-id" / "bare"
        assert "metadata.json" in status(bare)["problem"], status(bare)
        equal([text_of(message) for message in context_of(bare)], ["x", "y"], "context")
        equal(damage(bare), [b"{"], "damage")
        equal(status(bare)["notShown"], {"value": 1}, "JSON that is no record")
        assert (bare / "transcript.md").read_text() and (bare / "tree.txt").read_text(), bare


def test_doctor_changes_nothing_in_a_goat_folder(case):
    """doctor --repair leaves a damaged store as it is."""
    goat = goat_dir(case, "flat")
    (goat / "abc-123" / "messages.jsonl.1234.bak").write_text("left over\n")
    os.utime(goat / "abc-123" / "messages.jsonl.1234.bak", (1, 1))
    before = state_of(goat)
    case.arborfs("doctor", "--repair", "--store", f"goat={goat}", check=False)
    equal(state_of(goat), before, "the store")


def checkpoint_session(case):
    """A session whose working directory has files that differ from its checkpoint. Returns the base and the directory."""
    goat, work = case.new_path("goat") / "sessions", case.new_path("work")
    checkpoint = goat / "s" / "checkpoints" / "first"
    (checkpoint / "files").mkdir(parents=True)
    (work / "src").mkdir(parents=True)
    files = []
    for path, content in (("src/a.go", b"one\ntwo\n"), (str(work / "b.go"), b"b\n"), ("/etc/hostname", b"host\n")):
        digest = hashlib.sha256(content).hexdigest()
        (checkpoint / "files" / digest).write_bytes(content)
        files.append({"path": path, "exists": True, "hash": digest, "size": len(content)})
    files.append({"path": "new.go", "exists": False})
    files.append({"path": "lost.go", "exists": True, "hash": "0" * 64})
    (checkpoint / "manifest.json").write_text(json.dumps(
        {"user_message_uuid": "first", "created_at": "2026-02-09T10:00:00Z", "files": files}))
    (goat / "s" / "checkpoints" / "unfinished").mkdir()
    (goat / "s" / "metadata.json").write_text(json.dumps({"id": "s", "cwd": str(work)}))
    (goat / "s" / "messages.jsonl").write_text(line("a", "user", "x"))
    (work / "src" / "a.go").write_text("one\n2\n")
    (work / "new.go").write_text("new\n")
    return goat, work


def test_checkpoints_show_files_and_what_a_rewind_would_change(case):
    """Stored files by their paths, the manifest verbatim, and a diff that follows the working directory."""
    goat, work = checkpoint_session(case)
    native = goat / "s" / "checkpoints" / "first"
    with case.mount(f"store=goat={goat}") as mount:
        checkpoints = mount / "by-id" / "s" / "checkpoints"
        equal(os.listdir(checkpoints), ["first"], "checkpoints")
        first = checkpoints / "first"
        equal((first / "manifest.json").read_bytes(), (native / "manifest.json").read_bytes(), "manifest")
        shown = sorted(str(path.relative_to(first / "files")) for path in (first / "files").rglob("*"))
        equal(shown, ["%2Fetc%2Fhostname", "b.go", "src", "src/a.go"], "files")
        equal((first / "files" / "src" / "a.go").read_text(), "one\ntwo\n", "a stored file")
        digest = hashlib.sha256(b"b\n").hexdigest()
        equal((first / "files" / digest).read_text(), "b\n", "a content by its hash")
        diff = (first / "diff").read_text()
        assert "--- a/src/a.go\n+++ b/src/a.go\n@@ -1,2 +1,2 @@\n one\n-2\n+two\n" in diff, diff
        assert "--- /dev/null\n+++ b/b.go\n" in diff and "--- a/new.go\n+++ /dev/null\n" in diff, diff
        assert "# refused /etc/hostname: " in diff and "# missing lost.go: " in diff, diff
        equal((first / "diff").stat().st_size, len(diff.encode()), "its size")
        (work / "new.go").unlink()
        visible_within(1, lambda: (work / "src" / "a.go").write_text("one\ntwo\n"),
                       lambda: "new.go" not in (first / "diff").read_text() and "src/a.go" not in
                       (first / "diff").read_text(), "the diff")
        assert "checkpoints" not in os.listdir(mount / "by-id" / "s" / "entries"), "entries"


def test_checkpoints_with_hostile_manifests_are_shown(case):
    """Broken manifests, links and paths that lead elsewhere harm nothing, and a working directory in a mount is refused."""
    goat, work = checkpoint_session(case)
    checkpoints = goat / "s" / "checkpoints"
    (checkpoints / "broken").mkdir()
    (checkpoints / "broken" / "manifest.json").write_text("{")
    os.symlink("/etc", checkpoints / "link")
    os.symlink("/etc", work / "etc")
    paths = ["../x", "etc/passwd", "", ".", "src", "src/a.go/b", "\x1b[31m", "a" * 300]
    (checkpoints / "odd").mkdir()
    (checkpoints / "odd" / "files").mkdir()
    digest = hashlib.sha256(b"x").hexdigest()
    (checkpoints / "odd" / "files" / digest).write_bytes(b"x")
    (checkpoints / "odd" / "manifest.json").write_text(json.dumps(
        {"files": [{"path": path, "hash": digest} for path in paths]}))
    with case.mount(f"store=goat={goat}") as mount:
        shown = mount / "by-id" / "s" / "checkpoints"
        equal(sorted(os.listdir(shown)), ["broken", "first", "odd"], "checkpoints")
        equal(os.listdir(shown / "broken" / "files"), [], "files")
        assert "JSON" in (shown / "broken" / "diff").read_text(), "diff"
        diff = (shown / "odd" / "diff").read_text()
        equal([entry for entry in diff.splitlines() if entry.startswith("+++")], ["+++ b/%1B[31m"], diff)
        for path in (shown / "odd" / "files").rglob("*"):
            assert path.is_dir() or path.read_bytes() == b"x", path
        metadata = goat / "s" / "metadata.json"
        metadata.write_text(json.dumps({"id": "s", "cwd": str(mount / "projects")}))
        visible_within(1, lambda: None, lambda: "mount of arborfs" in (shown / "first" / "diff").read_text(), "the refusal")


def sh(folder, script, **variables):
    """What a user's shell prints."""
    return subprocess.run(["bash", "-euc", script], cwd=folder, check=True, capture_output=True, text=True,
                          env={**os.environ, **variables}).stdout


def sent(path, command):
    """Writes a command and reads its answer from the same descriptor."""
    with path.open("r+b", buffering=0) as control:
        control.write(command.encode())
        return json.loads(control.read())


def metadata_of(native):
    return json.loads((native / "metadata.json").read_text())


def test_messages_are_appended_as_goat_writes_them(case):
    """Text, messages as JSON, and records of the transcript; every other byte stays, and the metadata follows."""
    goat = goat_dir(case)
    native = goat / "3f0c1d52-6b7e-4a3c-9d10-5a2b8c7d0001"
    before, metadata = (native / "messages.jsonl").read_bytes(), metadata_of(native)
    transcript = (native / "transcript.jsonl").read_bytes()
    with case.mount(f"store=goat={goat}") as mount:
        folder = mount / "by-id" / native.name
        count = len(os.listdir(folder / "entries"))
        sh(folder, "echo 'Fix <b> & go on' > append")
        equal(text_of(context_of(folder)[-1]), "Fix <b> & go on", "context")
        sh(folder, """echo '{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function",
            "function":{"name":"Read","arguments":"{}"}}]}' > append""")
        sh(folder, """echo '{"role":"tool","tool_call_id":"c","content":"done"}' > append""")
        equal([message["role"] for message in context_of(folder)[-3:]], ["user", "assistant", "tool"], "roles")
        after = (native / "messages.jsonl").read_bytes()
        assert after.startswith(before + b"\n" if not before.endswith(b"\n") else before), after
        lines = after.decode().splitlines()[-3:]
        assert '"content":"Fix \\u003cb\\u003e \\u0026 go on"' in lines[0], lines[0]
        equal([sorted(json.loads(one)) for one in lines], [["message", "timestamp", "uuid"]] * 3, "shape")
        eventually(5, lambda: metadata_of(native)["message_count"] == count + 3, "the number of messages")
        now = metadata_of(native)
        assert now.pop("updated_at") > "2026-02-09", now
        equal({**now, "message_count": 9}, {key: value for key, value in metadata.items() if key != "updated_at"},
              "metadata")
        sh(folder, """echo '{"type":"result","subtype":"success"}' > append""")
        added = json.loads((native / "transcript.jsonl").read_bytes()[len(transcript):])
        equal((added["type"], added["session_id"], added["subtype"]), ("result", native.name, "success"), "transcript")
        sh(folder, "echo 'Another title' > title")
        equal(metadata_of(native)["leaf_title"], "Another title", "title")
        for text, code in (('{"role":"bot","content":""}', errno.EINVAL), ('{"role":"user","content":"x","ifLeaf":"y"}', errno.ESTALE)):
            try:
                (folder / "append").write_text(text + "\n")
                raise AssertionError(f"{text} was taken")
            except OSError as error:
                equal(error.errno, code, text)
    equal(sorted(path.name for path in native.iterdir() if path.name.startswith(".")), [], "leftovers")


def test_sessions_of_goat_are_made_forked_and_removed(case):
    """new, a fork of all and up to a message, the way to the trash and back, as a user does it in a shell."""
    goat, work = goat_dir(case), case.new_path("work")
    source = goat / "3f0c1d52-6b7e-4a3c-9d10-5a2b8c7d0001"
    before = state_of(source)
    with case.mount("allow_delete", f"store=goat={goat}") as mount:
        made = sent(mount / "new", json.dumps({"agent": "goat", "cwd": str(work), "title": "Mine", "model": "m"}) + "\n")
        native = goat / made["session"]
        equal([metadata_of(native)[key] for key in ("id", "cwd", "model", "message_count", "leaf_title")],
              [made["session"], str(work), "m", 0, "Mine"], "metadata")
        folder = mount / made["path"]
        equal(os.listdir(folder / "entries"), [], "entries")
        sh(folder, "echo hello > append")
        equal([text_of(message) for message in context_of(folder)], ["hello"], "context")

        whole = sent(mount / "by-id" / source.name / "fork", "\n")
        equal(len(os.listdir(mount / whole["path"] / "entries")), len(os.listdir(mount / "by-id" / source.name / "entries")),
              "entries")
        equal(metadata_of(goat / whole["session"])["parent_session_id"], source.name, "parent")
        first = sorted(os.listdir(mount / "by-id" / source.name / "entries"))[0]
        part = sent(mount / "by-id" / source.name / "fork", first.rsplit(".", 1)[0] + "\n")
        equal((goat / part["session"] / "messages.jsonl").read_bytes(),
              (source / "messages.jsonl").read_bytes().splitlines(keepends=True)[0], "messages")
        equal(metadata_of(goat / part["session"])["fork_point_uuid"], "0d0a0001-0000-4000-8000-000000000001", "fork point")
        equal(len(context_of(mount / "by-id" / source.name / "branches" / first.rsplit(".", 1)[0])), 1, "up to a message")
        equal(state_of(source), before, "the source")

        sh(mount.path, 'rm -r "$(realpath "$SESSION")"', SESSION=str(mount / "by-id" / source.name))
        assert not source.exists(), list(goat.iterdir())
        case.arborfs("restore", "latest")
        eventually(5, lambda: source.name in os.listdir(mount / "by-id"), "the restored session")
        equal(state_of(source), before, "the restored session")


def test_checkpoint_and_rewind_undo_an_agents_edits(case):
    """A user keeps files, an agent edits them, a dry run says what a rewind would do, the rewind does it, and can be undone."""
    goat, work = checkpoint_session(case)
    state = lambda: {str(path.relative_to(work)): path.read_text() for path in work.rglob("*") if path.is_file()}
    with case.mount(f"store=goat={goat}") as mount:
        folder = mount / "by-id" / "s"
        sh(folder, "echo 'before-refactor src/a.go src/gone.go new.go' > checkpoint")
        kept = state()
        assert "before-refactor" in os.listdir(folder / "checkpoints"), os.listdir(folder / "checkpoints")
        equal((folder / "checkpoints" / "before-refactor" / "files" / "src" / "a.go").read_text(), "one\n2\n", "a file")
        (work / "src" / "a.go").write_text("broken\n")
        (work / "src" / "gone.go").write_text("unwanted\n")
        (work / "new.go").unlink()
        edited = state()
        diff = (folder / "checkpoints" / "before-refactor" / "diff").read_text()
        assert "-broken\n+one\n+2\n" in diff and "+++ /dev/null" in diff and "+++ b/new.go" in diff, diff
        would = sent(folder / "rewind", '{"checkpoint":"before-refactor","dryRun":true}\n')
        equal(sorted(file["action"] for file in would["files"]), ["create", "remove", "restore"], would)
        equal(state(), edited, "the files after a dry run")
        done = sent(folder / "rewind", "before-refactor\n")
        equal((done["complete"], done["written"], done["removed"]), (True, 2, 1), done)
        equal(state(), kept, "the files")
        equal((folder / "checkpoints" / "before-refactor" / "diff").read_text(), "", "the diff")
        sent(folder / "rewind", done["kept"] + "\n")
        equal(state(), edited, "the files before the rewind")
        partly = sent(folder / "rewind", "first\n")
        equal((partly["complete"], (work / "src" / "a.go").read_text()), (False, "one\ntwo\n"), partly)
        actions = {file["path"]: file["action"] for file in partly["files"]}
        equal((actions["/etc/hostname"], actions["lost.go"]), ("refused", "missing"), partly)


@contextlib.contextmanager
def locked(native):
    with (native / "messages.jsonl.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def test_writers_take_turns_with_goats_lock(case):
    """Lines that a program adds in pieces under the lock are never torn, and an append waits for it."""
    goat = goat_dir(case)
    native = goat / "3f0c1d52-6b7e-4a3c-9d10-5a2b8c7d0002"
    with case.mount(f"store=goat={goat}") as mount:
        folder = mount / "by-id" / native.name
        count = len(os.listdir(folder / "entries"))
        writers = [subprocess.Popen(["bash", "-euc", f"for i in 1 2 3 4 5; do echo 'w{number} '$i > append; done"], cwd=folder)
                   for number in range(8)]
        for turn in range(20):
            text = line(f"goat-{turn}", "assistant", "g" * 3000)
            with locked(native), (native / "messages.jsonl").open("a") as log:
                log.write(text[:1500])
                log.flush()
                log.write(text[1500:])
        equal([writer.wait() for writer in writers], [0] * 8, "writers")
        equal(len(os.listdir(folder / "entries")), count + 60, "entries")
        assert "damage" not in os.listdir(folder), damage(folder)
        texts = [text_of(message) for message in context_of(folder)]
        for number in range(8):
            equal([text for text in texts if text.startswith(f"w{number} ")], [f"w{number} {i}" for i in range(1, 6)], "order")


def append_until_it_ends(append, told, number):
    """Appends messages until the daemon is gone; `told` gets those that were acknowledged."""
    with contextlib.suppress(OSError):
        for turn in range(10_000):
            text = f"turn {number} message {turn} " + "x" * (turn % 7 * 3000)
            append.write_text(text)
            told.append(text)


def test_appends_survive_a_killed_daemon(case):
    """After kill -9 inside appends each acknowledged message is there once and whole, and no lock is in the way."""
    goat = goat_dir(case)
    native = goat / "3f0c1d52-6b7e-4a3c-9d10-5a2b8c7d0002"
    log, told = native / "messages.jsonl", []
    mount = case.mount(f"store=goat={goat}")
    try:
        for number in range(4):
            mount.start()
            writer = threading.Thread(target=append_until_it_ends,
                                      args=(mount / "by-id" / native.name / "append", told, number), daemon=True)
            enough = log.stat().st_size + 10_000 * number + random.Random(number).randrange(40_000)
            writer.start()
            while log.stat().st_size < enough and writer.is_alive():
                pass
            mount.process.kill()
            mount.process.wait()
            writer.join(30 * PATIENCE)
            assert not writer.is_alive(), "the writer goes on"
            detach(mount.path)
        assert len(told) >= 4, told
        with case.mount(f"store=goat={goat}", mountpoint=mount.path) as again:
            folder = again / "by-id" / native.name
            texts = [text_of(message) for message in context_of(folder)]
            equal([text[:40] for text in told if texts.count(text) != 1], [], "messages")
            assert "damage" not in os.listdir(folder), damage(folder)
            sh(folder, "echo one more > append")
            equal(text_of(context_of(folder)[-1]), "one more", "the next message")
    finally:
        mount.force_away()


def test_checkpoint_and_rewind_without_a_mount(case):
    """The same verbs on the command line: exit status 1 if a file stays as it is, and a dry run that changes nothing."""
    goat, work = checkpoint_session(case)
    store = ("--store", f"goat={goat}")

    def arborfs(*words, **more):
        return case.arborfs(*words, cwd=work, text=True, **more)

    equal(arborfs("checkpoint", *store, "s", "before", "src/a.go", "new.go").stdout, "before\n", "its name")
    (work / "src" / "a.go").write_text("broken\n")
    (work / "new.go").unlink()
    would = arborfs("rewind", *store, "-n", "s", "before").stdout
    equal(would, f"create {work}/new.go\nrestore {work}/src/a.go\n", "a dry run")
    equal((work / "src" / "a.go").read_text(), "broken\n", "a file after a dry run")
    done = arborfs("rewind", *store, "s", "before").stdout
    assert done.startswith(would) and "kept what was there as before-rewind-" in done, done
    equal((work / "src" / "a.go").read_text(), "one\n2\n", "a file")
    partly = arborfs("rewind", *store, "--json", "s", "first", check=False)
    equal((partly.returncode, json.loads(partly.stdout)["complete"]), (1, False), partly.stdout)
    outside = arborfs("checkpoint", *store, "s", "other", "/etc/hostname", check=False)
    assert outside.returncode == 1 and "working directory" in outside.stderr, outside
