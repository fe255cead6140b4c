"""Sessions of Opal are shown and written by Opal's rules (core/formats/opal/FORMAT.md, tests/opal)."""

import errno
import json
import os
import shutil
from pathlib import Path

from faults import RENAME, Faults
from mounting import equal, eventually, fails_with, variants, visible_within
from views import entry_ids, status
from writing import answer_of, refused

SAMPLES = Path(__file__).resolve().parent.parent / "opal"
GONE = (errno.ENOTCONN, errno.ECONNABORTED, errno.ENODEV)
CONTROLS = {"append", "branch", "label", "fork", "replace", "summary"}


def opal_dir(case):
    """A data folder of Opal with the samples."""
    folder = case.new_path("opal")
    shutil.copytree(SAMPLES / "sessions", folder / "sessions")
    return folder


def state_of(folder):
    """Names, sizes, times and bytes of all files."""
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in sorted(folder.rglob("*")) if path.is_file()}


def contents(folder):
    return [message["content"] for message in json.loads((folder / "context.json").read_text())["messages"]]


def line(message_id, parent, content, **more):
    return json.dumps({"content": content, "id": message_id, "is_error": False, "parent_id": parent, "role": "user", **more})


def test_opal_sessions_have_the_expected_values(case):
    """Titles, entries, paths and contexts of the samples, next to sessions of omp; reading changes no byte of the store."""
    case.agent.session().write()
    opal = opal_dir(case)
    before = state_of(opal)
    with case.mount(f"store=opal={opal}") as mount:
        for session in json.loads((SAMPLES / "expected.json").read_text()):
            folder = mount / "by-id" / session["id"]
            equal(json.loads((folder / "session.json").read_text())["agent"], "opal", folder)
            equal((folder / "title").read_text().rstrip("\n"), session["title"] or "", folder)
            equal(len(os.listdir(folder / "entries")), session["entries"], folder)
            equal(contents(folder), session["texts"], folder)
            equal(len(os.listdir(folder / "text")), session["entries"], folder)
            for name in os.listdir(folder / "text"):
                assert (folder / "text" / name).read_text().endswith("\n"), name
            leaves = {name.split("-", 1)[1] for name in os.listdir(folder / "branches") if "-" in name}
            equal(leaves | {session["activeLeaf"]}, {*session["leaves"], session["activeLeaf"]}, folder)
            equal((status(folder)["writable"], status(folder)["problem"]), (True, None), folder)
            equal(CONTROLS & set(os.listdir(folder)), {"append", "branch", "label", "fork", "replace"}, "control files")
        equal(len(os.listdir(mount / "by-id")), 5, "sessions")
    equal(state_of(opal), before, "the store")


def test_opal_sessions_are_written(case):
    """`append`, `branch` with a summary and `title` change the log as Opal would, and keep its other lines."""
    opal = opal_dir(case)
    log = opal / "sessions" / "feed.jsonl"
    lines = [line("b2", "a1", "two"), line("a1", None, "one")]
    header = json.dumps({"current_id": "b2", "metadata": {}, "session_id": "feed"})
    log.write_text("\n".join([header, *lines]) + "\n")
    with case.mount(f"store=opal={opal}") as mount:
        folder = mount / "by-id" / "feed"
        (folder / "append").write_text("three\n")
        (folder / "branch").write_text("a1\nTried it\n")
        (folder / "title").write_text("New title\n")
        written = log.read_text().splitlines()
        equal(written[1:3], lines, "lines of the program")
        three, summary = json.loads(written[3]), json.loads(written[4])
        equal((three["content"], three["parent_id"]), ("three", "b2"), "the message")
        equal((summary["parent_id"], summary["metadata"]["from_leaf"]), ("a1", three["id"]), "the summary")
        now = json.loads(written[0])
        equal((now["current_id"], now["metadata"]), (summary["id"], {"title": "New title"}), "the header")
        equal(json.loads((folder / "leaf").read_text())["id"], summary["id"], "the leaf")


def test_opal_messages_are_replaced(case):
    """`replace` puts other messages in the place of a run; their children follow the new ones, and the kernel shows it
    at once."""
    opal = opal_dir(case)
    log = opal / "sessions" / "feed.jsonl"
    lines = [line("c333", "b222", "three"), line("b222", "a111", "two"), line("a111", None, "one")]
    header = json.dumps({"current_id": "c333", "metadata": {}, "session_id": "feed"})
    log.write_text("\n".join([header, *lines]) + "\n")
    with case.mount(f"store=opal={opal}") as mount:
        folder = mount / "by-id" / "feed"
        equal(contents(folder), ["one", "two", "three"], "before")
        messages = [{"role": "user", "content": "first"}, {"role": "assistant", "content": "second"}]
        command = json.dumps({"first": "a111", "last": "b222", "messages": messages})
        answer = answer_of(folder / "replace", command + "\n")
        equal(contents(folder), ["first", "second", "three"], "after")
        written = log.read_text().splitlines()
        equal(written[1], lines[0].replace("b222", answer["id"]), "the line that follows")
        equal((answer["parentId"], len(written)), (None, 4), "the answer, and lines")
        fails_with(errno.EINVAL, answer_of, folder / "replace", '{"first":"c333","last":"#1","messages":[]}\n')
        refused("echo bla > replace", folder, "Invalid argument")
        equal(log.read_text().splitlines(), written, "after a refusal")


def test_opal_sessions_are_created_and_forked(case):
    """`new` and `fork` of the mount and the command line write sessions as Opal does, next to a store of omp."""
    case.agent.session().write()
    opal = opal_dir(case)
    with case.mount(f"store=opal={opal}") as mount:
        made = answer_of(mount / "new", '{"agent":"opal","title":"Made","model":"openai:gpt-4o"}\n')
        folder = mount / "by-id" / made["session"]
        log = opal / "sessions" / f"{made['session']}.jsonl"
        equal((mount / made["path"] / "title").read_text(), "Made\n", "the title")
        equal(list(json.loads(log.read_text())), ["current_id", "metadata", "session_id"], "the header")
        answer_of(folder / "append", '{"role":"user","content":"one"}\n')
        first = json.loads((folder / "leaf").read_text())["id"]
        answer_of(folder / "append", '{"role":"assistant","content":"two"}\n')
        forks = [mount / "by-id" / answer_of(folder / "fork", command + "\n")["session"] for command in ("", first)]
        equal([contents(fork) for fork in forks], [["one", "two"], ["one"]], "contexts")
        equal([(fork / "title").read_text() for fork in forks], ["Made (fork)\n"] * 2, "titles")
        equal(contents(folder), ["one", "two"], "the source")
        said = case.arborfs("new", "--store", f"opal={opal}", "-a", "opal", "--title", "Other").stdout.decode()
        path = said.split()[1]
        equal(Path(path).parent, opal / "sessions", "the place")
        eventually(5, lambda: Path(path).stem in os.listdir(mount / "by-id"), "the new session")
        fork = case.arborfs("fork", "--store", f"opal={opal}", made["session"], first).stdout.decode().split()[1]
        equal(Path(fork).read_text().splitlines()[1:], log.read_text().splitlines()[1:2], "the path's line")
        fails_with(errno.EPERM, answer_of, mount / "new", '{"agent":"opal","parentSession":"feed"}\n')


def test_opal_sessions_are_removed_and_restored(case):
    """rmdir and `arborfs rm` move a session of Opal to the trash with its folder, and `arborfs restore` brings both
    back as they were."""
    opal = opal_dir(case)
    expected = json.loads((SAMPLES / "expected.json").read_text())
    name = expected[0]["id"]
    (opal / "sessions" / name).mkdir(exist_ok=True)
    (opal / "sessions" / name / "plan.md").write_text("the plan\n")
    before = state_of(opal)
    with case.mount(f"store=opal={opal}") as mount:
        fails_with(errno.EPERM, os.rmdir, (mount / "by-id" / name).resolve())
    with case.mount(f"store=opal={opal}", "allow_delete") as mount:
        os.rmdir((mount / "by-id" / name).resolve())
        assert name not in os.listdir(mount / "by-id"), os.listdir(mount / "by-id")
        assert not (opal / "sessions" / name).exists()
        case.arborfs("restore", "latest")
        equal(state_of(opal), before, "after rmdir")
        eventually(5, lambda: name in os.listdir(mount / "by-id"), "the session is back")
    case.arborfs("rm", "-y", "--store", f"opal={opal}", name)
    assert not (opal / "sessions" / f"{name}.jsonl").exists()
    case.arborfs("restore", "latest")
    equal(state_of(opal), before, "after rm")


def test_opal_startup_follows_the_settings(case):
    """`startup.json` says which model a start takes and why; a change of Opal's settings shows at once. Sessions of
    other agents have no such file."""
    case.agent.session().write()
    opal = opal_dir(case)

    def model(folder):
        start = json.loads((folder / "startup.json").read_text())
        return start["model"]["id"], start["model"]["why"], start["provider"]["name"]

    with case.mount(f"store=opal={opal}") as mount:
        made = answer_of(mount / "new", '{"agent":"opal","model":"openai/gpt-4o"}\n')
        plain = mount / "by-id" / json.loads((SAMPLES / "expected.json").read_text())[0]["id"]
        assert "startup.json" in os.listdir(plain), os.listdir(plain)
        equal(model(plain), ("claude-sonnet-4", "default", "Copilot"), "without settings")
        visible_within(1, lambda: (opal / "settings.json").write_text('{"default_model":"anthropic:x"}'),
                       lambda: model(plain) == ("x", "saved setting", "LLM"), "the setting")
        equal(model(mount / "by-id" / made["session"]), ("gpt-4o", "explicit", "LLM"), "the session's own")
        for folder in (mount / "by-agent" / "omp").iterdir():
            assert "startup.json" not in os.listdir(folder) and not (folder / "startup.json").exists(), folder


@variants(before_rename={"keep": 0}, after_rename={"keep": 1})
def test_killed_writer_of_opal_leaves_one_whole_log(case, keep):
    """The daemon is killed before and after the rename of an append. The log is the old one or the new one; what is
    left beside it is named by the doctor and gone when the next daemon runs."""
    opal = opal_dir(case)
    sessions = opal / "sessions"
    log = sessions / "feed.jsonl"
    lines = [line("b222", "a111", "two"), line("a111", None, "one")]
    header = json.dumps({"current_id": "b222", "metadata": {}, "session_id": "feed"})
    log.write_text("\n".join([header, *lines]) + "\n")
    before = log.read_bytes()
    faults = Faults(case)
    mount = faults.mount(f"store=opal={opal}").start()
    try:
        faults.arm(RENAME, "/feed.jsonl", keep=keep, kills=True)
        fails_with(GONE, answer_of, mount.path / "by-id" / "feed" / "append", '{"role":"user","content":"cut"}\n')
        equal(mount.process.wait(), -9, "the daemon's end")
        faults.disarm()
    finally:
        mount.force_away()
    left = [name for name in os.listdir(sessions) if name.startswith(".")]
    equal(len(left), 1, "the new file, or the old one for which it was exchanged")
    equal(log.read_bytes() != before, keep == 1, "renamed")
    said = case.arborfs("doctor", "--store", f"opal={opal}", check=False).stdout.decode()
    assert "leftover_temporary" in said, said
    with case.mount(f"store=opal={opal}", mountpoint=mount.path) as again:
        equal([name for name in os.listdir(sessions) if name.startswith(".")], [], "files that are left")
        answer_of(again / "by-id" / "feed" / "append", '{"role":"user","content":"after"}\n')
        equal(contents(again / "by-id" / "feed"), ["one", "two"] + ["cut"] * keep + ["after"], "the path")
        equal(log.read_text().splitlines()[1:3], lines, "lines of the program")


def test_opal_session_follows_its_program(case):
    """A message that Opal adds by rewriting its file shows at once, after the earlier ones."""
    opal = opal_dir(case)
    log = opal / "sessions" / "feed.jsonl"

    def save(current, *lines):
        header = json.dumps({"current_id": current, "metadata": {"title": "Live"}, "session_id": "feed"})
        log.write_text("\n".join([header, *lines]) + "\n")

    first, second = line("a1", None, "one"), line("b2", "a1", "two")
    save("b2", second, first)
    with case.mount(f"store=opal={opal}") as mount:
        folder = mount / "by-id" / "feed"
        equal(entry_ids(folder), ["a1", "b2"], "entries")
        third = line("00", "b2", "three")
        visible_within(1, lambda: save("00", third, second, first), lambda: contents(folder) == ["one", "two", "three"],
                       "the third message")
        equal(entry_ids(folder), ["a1", "b2", "00"], "entries")
        visible_within(1, lambda: save("a1", third, first, second), lambda: contents(folder) == ["one"], "the pointer")
        visible_within(1, lambda: log.unlink(), lambda: "feed" not in os.listdir(mount / "by-id"), "the removal")


def test_doctor_changes_nothing_in_an_opal_folder(case):
    """doctor --repair neither removes nor restores a file of Opal, whatever it would do with files of omp."""
    opal = opal_dir(case)
    for name in ("gone.jsonl.1234.bak", ".feed.jsonl.1234.tmp", ".feed.jsonl.lock"):
        (opal / "sessions" / name).write_text("left over\n")
        os.utime(opal / "sessions" / name, (1, 1))
    (opal / "sessions" / "torn.jsonl").write_text('{"current_id":null,"metadata":{},"session_id":"torn"}\n{"id"')
    os.utime(opal / "sessions" / "torn.jsonl", (1, 1))
    before = state_of(opal)
    case.arborfs("doctor", "--repair", "--store", f"opal={opal}", check=False)
    equal(state_of(opal), before, "the store")


def test_damage_in_an_opal_log_stays_its_own(case):
    """Torn lines, lines without an id, loops of parents and a file without header harm no other session."""
    opal = opal_dir(case)
    sessions = opal / "sessions"
    header = json.dumps({"current_id": "a", "metadata": [], "session_id": "bad"})
    (sessions / "bad.jsonl").write_text("\n".join([header, line("a", "b", "x"), line("b", "a", "y"), "[]", "torn {"]))
    os.utime(sessions / "bad.jsonl", (1, 1))
    (sessions / "empty.jsonl").write_text("")
    (sessions / "headless.jsonl").write_text(line("a", None, "lost") + "\n")
    os.mkfifo(sessions / "pipe.jsonl")
    with case.mount(f"store=opal={opal}") as mount:
        folder = mount / "by-id" / "bad"
        equal(sorted(entry_ids(folder)), ["a", "b"], "entries")
        equal([name.split("-")[1] for name in sorted(os.listdir(folder / "damage"))], ["unfinished"], "damage")
        equal(status(folder)["notShown"], {"value": 1}, "JSON that is no message")
        assert (folder / "transcript.md").read_text() and (folder / "tree.txt").read_text(), folder
        assert status(mount / "by-id" / "headless")["problem"], "a session without header"
        equal(len(os.listdir(mount / "by-id")), 7, "sessions")
