"""Sessions that another session started are in its children/ (docs/CONTRACT.md 2.11)."""

import json
import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

from agentdir import append_bytes
from mounting import equal, visible_within
from pages import Page

SAMPLES = Path(__file__).resolve().parent.parent
STARTER = "33333333-3333-4333-8333-333333333333"
SUB_AGENT = "agent-a63cc6e82b4a02395"
THREADS = ("01a1ffe5-09c1-7be0-82ef-7bbde2eca945", "01a1ffe5-385d-76d2-b125-538e816d179e",
           "01a1ffe5-5213-70a0-b8cb-d273a092db5c")


def copied(case, sample, into=""):
    """A store with samples."""
    folder = case.new_path("store")
    shutil.copytree(SAMPLES / sample, folder / into)
    return folder


def place_of(mount, session):
    """The path of a session's folder below the mount."""
    return os.path.relpath((mount / "by-id" / session).resolve(), (mount / "projects" / "..").resolve())


def in_projects(mount):
    return sorted(name for project in (mount / "projects").iterdir() for name in os.listdir(project)
                  if name != "cwd")


def check_child(mount, agent, starter, child):
    """The child is a real folder in its starter's children/, and nowhere else."""
    above = place_of(mount, starter)
    children = mount / above / "children"
    [name] = os.listdir(children)
    equal(place_of(mount, child), f"{above}/children/{name}", child)
    folder = children / name
    assert folder.is_dir() and not folder.is_symlink(), folder
    equal(json.loads((folder / "session.json").read_text())["id"], child, folder)
    for other in (child, f"{agent}-{child}"):
        assert os.path.samefile(children / other, folder), other
    equal((folder / ".." / "..").stat().st_ino, (mount / above).stat().st_ino, "the folder above")
    assert name not in in_projects(mount), in_projects(mount)
    linked = {os.path.realpath(path) for name in ("recent", f"by-agent/{agent}") for path in (mount / name).iterdir()}
    assert str(folder) not in linked and str((mount / above).resolve()) in linked, linked
    assert child in os.listdir(mount / "by-id"), "by-id"


def test_children_of_opencode(case):
    """Every session that the samples say was started by another, in all versions of the store."""
    for sample in ("first-sqlite-1.2.1", "fresh-1.18.33", "migrated-1.18.33", "files"):
        opencode = copied(case, f"opencode/{sample}")
        sessions = json.loads((SAMPLES / "opencode" / sample / "EXPECTED.json").read_text())["sessions"]
        with case.mount(f"store=opencode={opencode}") as mount:
            started = [session for session in sessions if session["parentSession"]]
            assert started, sample
            for session in started:
                check_child(mount, "opencode", session["parentSession"], session["id"])
            equal(len(in_projects(mount)), len(sessions) - len(started), sample)


def test_children_of_claude(case):
    claude = copied(case, "claude/projects", "projects")
    with case.mount(f"store=claude={claude}") as mount:
        check_child(mount, "claude", STARTER, SUB_AGENT)
        texts = [path.read_text() for path in (mount / place_of(mount, SUB_AGENT) / "text").iterdir()]
        assert all(texts), "texts"


def codex_with_edges(case):
    codex = copied(case, "codex/paginated")
    with closing(sqlite3.connect(codex / "state_5.sqlite")) as database:
        database.executescript(
            "CREATE TABLE threads (id TEXT PRIMARY KEY, title TEXT, name TEXT);"
            "CREATE TABLE thread_spawn_edges (parent_thread_id TEXT, child_thread_id TEXT PRIMARY KEY, status TEXT);")
        database.execute("INSERT INTO thread_spawn_edges VALUES (?, ?, 'open')", (THREADS[0], THREADS[2]))
        database.commit()
    return codex


def test_children_of_codex(case):
    """A sub-agent's thread is a child; a fork of a thread is not."""
    codex = codex_with_edges(case)
    with case.mount(f"store=codex={codex}") as mount:
        check_child(mount, "codex", THREADS[0], THREADS[2])
        assert os.path.basename(place_of(mount, THREADS[1])) in in_projects(mount), in_projects(mount)


def change(opencode, *statements):
    with closing(sqlite3.connect(opencode / "opencode.db", isolation_level=None)) as database:
        for statement in statements:
            database.execute(statement)


def starts(child, starter):
    starter = "NULL" if starter is None else f"'{starter}'"
    return f"UPDATE session SET parent_id = {starter}, time_updated = time_updated + 1 WHERE id = '{child}'"


def test_children_move_live(case):
    """A session becomes a child and stops being one, also deeper, in a cycle, and when its starter is removed."""
    opencode = copied(case, "opencode/fresh-1.18.33")
    with closing(sqlite3.connect(opencode / "opencode.db", isolation_level=None)) as database:
        one, two, three = [name for name, in database.execute(
            "SELECT id FROM session WHERE parent_id IS NULL ORDER BY id LIMIT 3")]
    with case.mount(f"store=opencode={opencode}") as mount:
        tops = {name: place_of(mount, name) for name in (one, two, three)}
        names = {name: os.path.basename(top) for name, top in tops.items()}
        assert "children" not in os.listdir(mount / tops[two]) or two != one, "samples"

        def is_at(session, path):
            old = [place for place in (tops[session],) if place != path]
            return place_of(mount, session) == path and (mount / path / "session.json").exists() and not any(
                (mount / place).exists() for place in old)

        deep = f"{tops[one]}/children/{names[two]}"
        visible_within(1, lambda: change(opencode, starts(two, one)), lambda: is_at(two, deep), "a child")
        assert names[two] in os.listdir(mount / tops[one] / "children"), "the listing"
        deeper = f"{deep}/children/{names[three]}"
        visible_within(1, lambda: change(opencode, starts(three, two)), lambda: is_at(three, deeper), "a grandchild")
        found = subprocess.run(["find", mount / "projects", "-name", names[three]], capture_output=True, check=True)
        equal(found.stdout.decode(), f"{mount / deeper}\n", "find")
        visible_within(1, lambda: change(opencode, starts(one, three)),
                       lambda: all(place_of(mount, name) == tops[name] for name in tops), "a circle")
        visible_within(1, lambda: change(opencode, starts(one, None)), lambda: is_at(three, deeper), "no circle")
        assert (mount / deep / "title").exists(), deep
        visible_within(1, lambda: change(opencode, f"DELETE FROM session WHERE id = '{two}'"),
                       lambda: is_at(three, tops[three]), "the starter is gone")
        visible_within(1, lambda: None, lambda: two not in os.listdir(mount / "by-id"), "the starter")


def test_claude_child_whose_rows_come_late(case):
    """A transcript below a session's folder belongs to that session also before it has a row."""
    claude = copied(case, "claude/projects", "projects")
    agents = claude / "projects" / "-tmp-demo-greeter" / STARTER / "subagents"
    row = {"parentUuid": None, "isSidechain": True, "agentId": "77", "type": "user", "uuid": "x1", "sessionId": STARTER,
           "message": {"role": "user", "content": "job"}, "timestamp": "2026-01-02T03:04:05.678Z", "cwd": "/tmp/feed"}
    with case.mount(f"store=claude={claude}") as mount:
        above = place_of(mount, STARTER)
        log = agents / "agent-77.jsonl"
        child = f"{above}/children/claude-agent-77"
        visible_within(1, lambda: log.write_text(""), lambda: (mount / child).exists(), "the empty log")
        equal(os.path.dirname(place_of(mount, "agent-77")), os.path.dirname(child), "its folder")
        visible_within(1, lambda: log.write_text(json.dumps(row) + "\n"),
                       lambda: "job" in (mount / child / "transcript.md").read_text(), "its first row")
        assert os.path.basename(place_of(mount, "agent-77")) not in in_projects(mount), in_projects(mount)


def test_a_page_shows_its_sub_agents_as_they_are_now(case):
    """transcript.html nests them where they started, follows what they write, and links to one that is too long."""
    claude = copied(case, "claude/projects", "projects")
    agents = claude / "projects" / "-tmp-demo-greeter" / STARTER / "subagents"

    def row(agent, uuid, parent, words):
        return json.dumps({"parentUuid": parent, "isSidechain": True, "agentId": agent, "type": "user", "uuid": uuid,
                           "sessionId": STARTER, "message": {"role": "user", "content": words},
                           "timestamp": "2026-01-02T03:04:05.678Z", "cwd": "/tmp/feed"}) + "\n"

    def nested(page):
        """Of the text of each nested page."""
        return {article[0].split("-")[0] for article in Page(page).articles if article[0].startswith("s")}

    with case.mount(f"store=claude={claude}") as mount:
        page = mount / place_of(mount, STARTER) / "transcript.html"
        equal(nested(page), {"s1"}, "the sub-agent of the sample")
        own = Page(page.parent / "children" / f"claude-{SUB_AGENT}" / "transcript.html")
        equal([article[2].split() for article in Page(page).articles if article[0].startswith("s1-")],
              [article[2].split() for article in own.articles], "its entries")
        log = agents / "agent-77.jsonl"
        visible_within(1, lambda: log.write_text(row("77", "x1", None, "look for gulls")),
                       lambda: "look for gulls" in page.read_text(), "a new sub-agent")
        equal(nested(page), {"s1", "s2"}, "both")
        visible_within(1, lambda: append_bytes(log, row("77", "x2", "x1", "and terns").encode()),
                       lambda: "and terns" in page.read_text(), "its next row")
        equal(page.stat().st_size, len(page.read_bytes()), "the size")
        Page(page).check()
        visible_within(1, lambda: append_bytes(log, row("77", "x3", "x2", "many " * 60_000).encode()),
                       lambda: "too long to be shown here" in page.read_text(), "a long row")
        equal(nested(page), {"s1"}, "the short one")


def test_children_of_a_session_that_cannot_be_read(case):
    """They are shown even then: the thread that started one is compressed."""
    codex = codex_with_edges(case)
    for path in codex.rglob(f"*{THREADS[0]}*.jsonl"):
        path.rename(f"{path}.zst")
    with case.mount(f"store=codex={codex}") as mount:
        folder = mount / place_of(mount, THREADS[0])
        equal(sorted(os.listdir(folder)), ["archived", "children", "pinned", "status.json", "tags"], folder)
        equal(os.listdir(folder / "children"), [os.path.basename(place_of(mount, THREADS[2]))], "children")
        assert (mount / place_of(mount, THREADS[2]) / "transcript.md").read_text(), "the child"


def test_search_and_commands_find_children(case):
    """search/ links to them, `arborfs ls` lists them with -c only, ids and paths name them."""
    claude = copied(case, "claude/projects", "projects")
    store = ("--store", f"claude={claude}")

    def listed(*options):
        return set(case.arborfs("ls", "-q", *options, *store).stdout.decode().split())

    equal(listed("-c") - listed(), {SUB_AGENT}, "ls")
    rows = json.loads(case.arborfs("ls", "-c", "--json", *store).stdout)
    equal({row["session"]: row["startedBy"] for row in rows}[SUB_AGENT], STARTER, "startedBy")
    with case.mount(f"store=claude={claude}") as mount:
        child = mount / place_of(mount, SUB_AGENT)
        words = json.loads((claude / "projects" / "-tmp-demo-greeter" / STARTER / "subagents" / f"{SUB_AGENT}.jsonl")
                           .read_text().splitlines()[0])["message"]["content"].split()
        word = max((word for word in words if word.isalpha()), key=len)
        links = [path for path in (mount / "search" / f"{word} agent:claude").iterdir() if path.is_symlink()]
        assert child.resolve() in [path.resolve() for path in links], links
        for spelled in (SUB_AGENT, f"claude:{SUB_AGENT}", str(child), str(child / "transcript.md")):
            shown = json.loads(case.arborfs("show", "--json", spelled, *store).stdout)
            equal(shown["session"], SUB_AGENT, spelled)


def test_rm_of_a_child_and_of_its_starter(case):
    """rmdir of a child removes it alone; rm -r of its starter removes both at once, restorable together."""
    opencode = copied(case, "opencode/fresh-1.18.33")
    sessions = json.loads((SAMPLES / "opencode/fresh-1.18.33/EXPECTED.json").read_text())["sessions"]
    child = next(session for session in sessions if session["parentSession"])
    starter = child["parentSession"]
    with case.mount(f"allow_delete,store=opencode={opencode}") as mount:
        everything = set(os.listdir(mount / "by-id"))
        os.rmdir(mount / place_of(mount, child["id"]))
        equal(set(os.listdir(mount / "by-id")), everything - {child["id"]}, "the child is gone")
        assert "children" not in os.listdir(mount / place_of(mount, starter)), "children"
        case.arborfs("restore", "latest")
        visible_within(1, lambda: None, lambda: "children" in place_of(mount, child["id"]), "the child is back")
        subprocess.run(["rm", "-r", mount / place_of(mount, starter)], check=True)
        equal(set(os.listdir(mount / "by-id")), everything - {child["id"], starter}, "both are gone")
        case.arborfs("restore", "latest")
        visible_within(1, lambda: None, lambda: "children" in place_of(mount, child["id"]), "both are back")
