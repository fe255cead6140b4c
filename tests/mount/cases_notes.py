"""Tags, labels and titles that no file of an agent can hold: sessions of every agent have them, and no file of an agent
changes, apart from the tag that Claude Code shows."""

import errno
import json
import os
import shutil
import subprocess
from pathlib import Path

from cases_stats import copies
from mounting import BINARY, equal, eventually, fails_with, shell, visible_within

SAMPLES = Path(__file__).resolve().parent.parent / "claude"
ID = "11111111-1111-4111-8111-111111111111"
OTHER = "44444444-4444-4444-8444-444444444444"
SUB_AGENT = "agent-a63cc6e82b4a02395"


def claude_dir(case):
    folder = case.new_path("claude")
    shutil.copytree(SAMPLES / "projects", folder / "projects")
    return folder


def state_of(folder):
    """The bytes of each file, without rows of a tag, and its time if it has none: arborfs adds such rows."""
    state = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        lines = path.read_bytes().splitlines(True)
        others = [line for line in lines if not line.startswith(b'{"type":"tag"')]
        state[path] = b"".join(others), path.stat().st_mtime_ns if others == lines else None
    return state


def bytes_of(state):
    return {path: bytes_ for path, (bytes_, _) in state.items()}


def tag_rows(folder):
    rows = [json.loads(line) for path in sorted(folder.rglob("*.jsonl")) for line in path.read_text().splitlines()]
    return [row["tag"] for row in rows if row["type"] == "tag"]


def test_tags_are_written_added_to_and_cleared(case):
    """echo > tags replaces the tags of a session, >> adds, an empty line clears; tags/ shows the sessions at once."""
    session = case.agent.session()
    session.write()
    claude = claude_dir(case)
    before = state_of(claude), case.agent.state()
    with case.mount(f"store=claude={claude}") as mount:
        folder = mount / "by-id" / ID
        equal((folder / "tags").read_text(), "")
        equal(os.listdir(mount / "tags"), [])
        shell("echo blue > tags", cwd=folder)
        equal((folder / "tags").read_text(), "blue\n")
        equal(os.listdir(mount / "tags"), ["blue"])
        shell("echo later >> tags", cwd=folder)
        equal((folder / "tags").read_text(), "blue\nlater\n")
        shell("printf 'red\\nblue\\n' > tags", cwd=folder)
        equal((folder / "tags").read_text(), "blue\nred\n")
        equal(sorted(os.listdir(mount / "tags")), ["blue", "red"])
        shell("echo '{\"add\":[\"green\"],\"remove\":[\"red\"]}' > tags", cwd=folder)
        equal((folder / "tags").read_text(), "blue\ngreen\n")
        shell("echo blue > tags", cwd=mount / "by-id" / session.id)
        equal(sorted(os.listdir(mount / "tags" / "blue")), sorted([folder.resolve().name, mount.name_of(session)]))
        equal((mount / "tags" / "blue" / ID).resolve(), folder.resolve())
        shell("echo > tags", cwd=folder)
        equal((folder / "tags").read_text(), "")
        equal(os.listdir(mount / "tags"), ["blue"])
        equal(os.listdir(mount / "tags" / "blue"), [mount.name_of(session)])
    equal(tag_rows(claude), ["blue", "red", "blue", ""], "the tags that Claude Code showed")
    equal((bytes_of(state_of(claude)), case.agent.state()), (bytes_of(before[0]), before[1]), "other rows")


def test_tags_of_another_process_show_within_a_second(case):
    """`arborfs tag` beside a mount; a tag that is none is refused, and nothing changes."""
    claude = claude_dir(case)
    with case.mount(f"store=claude={claude}") as mount:
        folder = mount / "by-id" / ID
        tag = ["tag", f"--store=claude={claude}", ID]
        visible_within(1, lambda: case.arborfs(*tag, "blue"),
                       lambda: (folder / "tags").read_text() == "blue\n" and os.listdir(mount / "tags") == ["blue"],
                       "the tag")
        fails_with(errno.EINVAL, (folder / "tags").write_text, "a/b\n")
        equal((folder / "tags").read_text(), "blue\n")
        visible_within(1, lambda: case.arborfs(*tag, "-d", "blue"),
                       lambda: not os.listdir(mount / "tags"), "the removal")


def test_tags_of_a_read_only_mount_are_only_read(case):
    """On a read-only mount tags are shown and not written."""
    claude = claude_dir(case)
    case.arborfs("tag", f"--store=claude={claude}", OTHER, "blue")
    with case.mount(f"store=claude={claude}", "ro") as mount:
        equal((mount / "by-id" / OTHER / "tags").read_text(), "blue\n")
        equal(os.listdir(mount / "tags" / "blue"), [(mount / "by-id" / OTHER).resolve().name])
        fails_with(errno.EROFS, (mount / "by-id" / OTHER / "tags").write_text, "red\n")


def labels_of(folder):
    """The labels of a session, and the ordinals of their entries."""
    return {name: int(os.path.basename(os.readlink(folder / "labels" / name))[:6]) for name in os.listdir(folder / "labels")}


def kept(folder):
    """What session.json says of arborfs' own data."""
    return json.loads((folder / "session.json").read_text()).get("arborfs")


def test_labels_are_set_renamed_and_cleared_where_the_agent_has_none(case):
    """`label`, ln -s, mv and rm in labels/, as for agents whose logs have labels; tree.txt and branches/ know them."""
    claude = claude_dir(case)
    before = state_of(claude)
    with case.mount(f"store=claude={claude}") as mount:
        folder = mount / "by-id" / ID
        equal((labels_of(folder), kept(folder)), ({}, None))
        shell("echo '#1 start here' > label", cwd=folder)
        equal(labels_of(folder), {"start here": 1})
        assert "[start here]" in (folder / "tree.txt").read_text(), (folder / "tree.txt").read_text()
        shell("ln -s $(readlink leaf) labels/end; mv 'labels/start here' labels/start", cwd=folder)
        entries = sorted(os.listdir(folder / "entries"))
        equal(labels_of(folder), {"start": 1, "end": int(os.path.basename(os.readlink(folder / "leaf"))[:6])})
        first = json.loads((folder / "entries" / entries[0]).read_text())["uuid"]
        equal(list(kept(folder)["labels"].items())[-1], (first, "start"), "the newest label")
        equal((folder / "branches" / "start" / "context.json").read_text(),
              (folder / "branches" / first / "context.json").read_text(), "a branch by its label")
        shell("printf '#2 both\\n#1 both\\n' > label", cwd=folder)
        equal(sorted(labels_of(folder).values())[:2], [1, 2], "two entries with one label")
        fails_with(errno.ENOENT, (folder / "label").write_text, "#999999 nowhere\n")
        shell("rm labels/end labels/both; rm labels/both", cwd=folder)
        equal((labels_of(folder), kept(folder)), ({}, None))
        shell("echo '#1 start' > label; echo blue > tags", cwd=folder)
        equal(kept(folder), {"labels": {first: "start"}, "tags": ["blue"]})
    equal(bytes_of(state_of(claude)), bytes_of(before), "the agent's files")
    with case.mount(f"store=claude={claude}") as mount:
        equal(labels_of(mount / "by-id" / ID), {"start": 1}, "in another mount")


def test_a_sub_agents_session_has_a_title_of_its_user(case):
    """No program reads a title there; the one that a user writes is shown wherever sessions are named."""
    claude = claude_dir(case)
    store = f"--store=claude={claude}"
    before = state_of(claude)
    with case.mount(f"store=claude={claude}") as mount:
        folder = mount / "by-id" / SUB_AGENT
        own = (folder / "title").read_text()
        shell("echo 'Where the kites are' > title", cwd=folder)
        equal((folder / "title").read_text(), "Where the kites are\n")
        equal(json.loads((folder / "session.json").read_text())["title"], "Where the kites are")
        equal(kept(folder), {"title": "Where the kites are"})
        rows = json.loads(case.arborfs("ls", "-c", "--json", store).stdout)
        equal([row["title"] for row in rows if row["session"] == SUB_AGENT], ["Where the kites are"])
        visible_within(1, lambda: case.arborfs("title", store, SUB_AGENT, "Elsewhere"),
                       lambda: (folder / "title").read_text() == "Elsewhere\n", "the title of another process")
        shell("echo > title", cwd=folder)
        equal(((folder / "title").read_text(), kept(folder)), (own, None), "cleared")
    equal(state_of(claude), before, "the agent's files")


def test_labels_of_another_process_show_within_a_second(case):
    """`arborfs label` beside a mount; words for entries are understood, and the session may be live."""
    claude = claude_dir(case)
    store = f"--store=claude={claude}"
    with case.mount(f"store=claude={claude}") as mount:
        folder = mount / "by-id" / ID
        visible_within(1, lambda: case.arborfs("label", store, ID, "last-user", "asked"),
                       lambda: list(labels_of(folder)) == ["asked"], "the label")
        equal(kept(folder)["labels"], dict.fromkeys(kept(folder)["labels"], "asked"))
        visible_within(1, lambda: case.arborfs("label", store, ID, "asked"), lambda: not labels_of(folder), "its removal")
    log = next(claude.glob(f"projects/*/{ID}.jsonl"))
    with open(log, "ab"):
        case.arborfs("label", store, ID, "#1", "while it runs")
    equal(json.loads(case.arborfs("show", "--json", store, ID).stdout)["labels"][0]["name"], "while it runs")


def test_no_note_is_lost_where_a_hundred_processes_write_at_once(case):
    """Fifty labels and fifty tags, each by a process of its own."""
    claude = claude_dir(case)
    store = f"--store=claude={claude}"
    case.arborfs("ls", store)
    with case.mount(f"store=claude={claude}") as mount:
        folder = mount / "by-id" / ID
        entries = len(os.listdir(folder / "entries"))
    words = [["label", store, ID, f"#{at % entries + 1}", f"l{at}"] if at % 2 else ["tag", store, ID, f"t{at}"]
             for at in range(100)]
    running = [subprocess.Popen([BINARY, *one], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=case.environment)
               for one in words]
    for process in running:
        _, said = process.communicate(timeout=120)
        equal(process.returncode, 0, said)
    shown = json.loads(case.arborfs("show", "--json", store, ID).stdout)
    equal(len(shown["tags"]), 50, "tags")
    equal(len(shown["labels"]), len({words[at][3] for at in range(1, 100, 2)}), "labelled entries")


def test_notes_come_back_with_a_session_from_the_trash(case):
    """They belong to its id: after a removal they stay where they are, and the restored session has them again."""
    claude = claude_dir(case)
    store = f"--store=claude={claude}"
    case.arborfs("label", store, ID, "#1", "start")
    case.arborfs("tag", store, ID, "blue")
    with case.mount(f"store=claude={claude}", "allow_delete") as mount:
        case.arborfs("rm", "-y", ID, store)
        eventually(5, lambda: ID not in os.listdir(mount / "by-id"), "the removal")
        equal(os.listdir(mount / "tags"), [], "tags of removed sessions")
        equal(json.loads(case.arborfs("doctor", "--json", store, check=False).stdout)["findings"], [], "a normal state")
        case.arborfs("restore", "latest", store)
        eventually(5, lambda: ID in os.listdir(mount / "by-id"), "the session")
        equal(labels_of(mount / "by-id" / ID), {"start": 1})
        equal(kept(mount / "by-id" / ID)["tags"], ["blue"])


def test_a_tag_keeps_the_threads_that_a_session_started(case):
    """Sub-agents of Codex are threads of their own; the tag of the thread that started one keeps it from being pruned."""
    samples = copies(case)
    store = f"--store=codex={samples / 'codex'}"
    prune = ("prune", store, "--keep-days=0", "--keep-count=0", "-n", "--json")

    def removed():
        return {row["session"] for row in json.loads(case.arborfs(*prune).stdout)["removed"]}

    rows = json.loads(case.arborfs("ls", store, "-c", "--json").stdout)
    child = next(row for row in rows if row["startedBy"])
    assert child["session"] in removed(), removed()
    case.arborfs("tag", store, child["startedBy"], "keep")
    assert child["session"] not in removed(), removed()
