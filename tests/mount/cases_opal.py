"""Sessions of Opal are shown and written by Opal's rules (core/formats/opal/FORMAT.md, tests/opal)."""

import json
import os
import shutil
from pathlib import Path

from mounting import equal, visible_within
from views import entry_ids, status

SAMPLES = Path(__file__).resolve().parent.parent / "opal"
CONTROLS = {"append", "branch", "label", "fork"}


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
    """Titles, entries, paths and contexts of the samples, beside sessions of omp; reading changes no byte of the store."""
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
            equal(CONTROLS & set(os.listdir(folder)), {"append", "branch"}, "control files")
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


def test_opal_session_follows_its_program(case):
    """A message that Opal adds by writing its file anew shows at once, behind the earlier ones."""
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
    """doctor --repair removes no file of Opal and brings none back, whatever it would do with files of omp."""
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
        equal([name.split("-")[1] for name in sorted(os.listdir(folder / "damage"))], ["malformed", "unfinished"], "damage")
        assert (folder / "transcript.md").read_text() and (folder / "tree.txt").read_text(), folder
        assert status(mount / "by-id" / "headless")["problem"], "a session without header"
        equal(len(os.listdir(mount / "by-id")), 7, "sessions")
