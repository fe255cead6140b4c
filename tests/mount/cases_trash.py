"""Notes in the trash are not believed (CONTRACT.md 4.7): a session goes back only below a store that is open, by its
own names, whatever its note says. Garbage beside it hides no session."""

import json
import os
import shutil
from pathlib import Path

from mounting import equal, variants

TESTS = Path(__file__).resolve().parent.parent
GARBAGE = (b"", b"{", b"[]", b"\xff\xfe", b'{"file":1}', b'{"file":"a.jsonl","sessions":7}', b"[" * 100_000,
           b'{"file":"' + b"x" * 400_000)


def store_of(case, agent):
    """A store with sessions, its folder, and the id of one session."""
    if agent in ("omp", "pi"):
        return case.agent.path, case.agent.talk().id
    folder = case.new_path(agent)
    sample = {"opal": "opal", "goat": "goat/nested", "database": "opencode/fresh-1.18.33", "files": "opencode/files"}[agent]
    shutil.copytree(TESTS / sample, folder, ignore=shutil.ignore_patterns("dets*"))
    if agent == "opal":
        return folder, json.loads((folder / "expected.json").read_text())[0]["id"]
    if agent == "goat":
        return folder, json.loads((TESTS / "goat" / "nested.json").read_text())[0]["id"]
    return folder, json.loads((folder / "EXPECTED.json").read_text())["sessions"][-1]["id"]


def contents(folder):
    """All that is in a store, except for locks and databases, whose bytes differ."""
    return {str(path.relative_to(folder)): path.is_file() and path.read_bytes() for path in folder.rglob("*")
            if not path.name.endswith((".lock", ".db"))}


def hostile_notes(note, elsewhere, inside):
    """Notes that lead out of the store, or to a place in it that its sessions do not have."""
    away = dict(note, sessions=str(elsewhere / os.path.basename(note["sessions"])))
    yield "another folder", away
    yield "a folder in the store", dict(note, sessions=str(inside))
    yield "a path with dots", dict(note, sessions=note["sessions"] + "/../../elsewhere")
    yield "a relative path", dict(note, sessions="elsewhere")
    for name in ("..", "../elsewhere", str(elsewhere), "a/b", ""):
        yield f"the folder {name!r}", dict(note, folder=name)
        yield f"the file {name!r}", dict(note, file=name)
    yield "a hidden folder", dict(note, folder=".ssh", file=".ssh")
    yield "a name of no session", dict(note, file="authorized_keys")
    yield "another agent", dict(note, agent="goat" if note["agent"] != "goat" else "opal")
    yield "no agent", dict(note, agent="nobody")


AGENTS = variants(**{agent: {"agent": agent} for agent in ("omp", "opal", "goat", "database", "files")})


@AGENTS
def test_s21_note_in_the_trash_leads_nowhere_else(case, agent):
    """S21: with every hostile note a restore fails and writes nothing; with its own note the session goes back as it was."""
    folder, session = store_of(case, agent)
    name = "opencode" if agent in ("database", "files") else agent
    store = ("--store", f"{name}={folder}")
    before, elsewhere = contents(folder), case.new_path("elsewhere")
    case.arborfs("rm", "-y", session, *store)
    trash = case.root / "data" / "arborfs" / "trash"
    trashed = next(trash.iterdir())
    path = trashed / "from.json"
    note = json.loads(path.read_text())
    shutil.copytree(note["sessions"], elsewhere / os.path.basename(note["sessions"]))
    (folder / "inside").mkdir()
    kept = contents(folder), contents(elsewhere), contents(trashed / "files")
    for what, hostile in hostile_notes(note, elsewhere, folder / "inside"):
        path.write_text(json.dumps(hostile))
        for words in ((), store):
            done = case.arborfs("restore", trashed.name, *words, check=False, cwd=case.home)
            assert done.returncode == 1 and done.stderr, (what, done)
        equal((contents(folder), contents(elsewhere), contents(trashed / "files")), kept, what)
    path.write_text(json.dumps(dict(note, path="/nowhere/else.jsonl")))
    other = trash / "2026-01-01T00-00-00.000Z_garbage"
    (other / "files").mkdir(parents=True)
    for garbage in GARBAGE:
        (other / "from.json").write_bytes(garbage)
        listed = [one["name"] for one in json.loads(case.arborfs("restore", "--json").stdout)]
        equal([one for one in listed if one != other.name], [trashed.name], f"the list beside {garbage[:20]!r}")
    (other / "from.json").write_text(json.dumps(dict(note, sessions=str(elsewhere), removed="2999-01-01T00:00:00.000Z")))
    (folder / "inside").rmdir()
    said = case.arborfs("restore", "latest").stdout.decode()
    equal(said, f"restored {note['path']}\n", "the place, whatever the note says")
    equal(contents(folder), before, "the store")
    equal(case.arborfs("show", session, *store).returncode, 0, "the session")
    equal(case.arborfs("trash", "empty", "-y").returncode, 0, "what is left can be deleted")
    equal(list(trash.iterdir()), [], "the trash")


def test_s21_link_in_the_store_leads_no_session_out(case):
    """S21: the folder of the session has become a link to another one: the restore is refused."""
    session = case.agent.talk()
    case.arborfs("rm", "-y", session.id, "--store", f"omp={case.agent.path}")
    elsewhere = case.new_path("elsewhere")
    elsewhere.mkdir()
    shutil.rmtree(session.path.parent)
    session.path.parent.symlink_to(elsewhere)
    done = case.arborfs("restore", "latest", check=False)
    equal(done.returncode, 1, done)
    equal(list(elsewhere.iterdir()), [], "what the link leads to")
    session.path.parent.unlink()
    case.arborfs("restore", "latest")
    equal(session.path.read_bytes(), session.bytes, "the log")


def test_s21_store_that_nobody_removed_from_must_be_named(case):
    """S21: without a record of the removal, the store is named on the command line, and the answer says how."""
    session = case.agent.talk()
    case.arborfs("rm", "-y", session.id, "--store", f"omp={case.agent.path}")
    shutil.rmtree(case.root / "state")
    done = case.arborfs("restore", "latest", check=False)
    assert done.returncode == 1 and b"--store omp=DIR" in done.stderr, done
    case.arborfs("restore", "latest", "--store", f"omp={case.agent.path}")
    equal(session.path.read_bytes(), session.bytes, "the log")
