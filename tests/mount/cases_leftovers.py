"""What killed writers leave in the stores of each agent and in working directories: the doctor names it once no program
uses it, and `doctor --repair` moves it to its copies (CONTRACT.md 6.11, FAILURES.md F22)."""

import json
import os
import shutil
from pathlib import Path

from agentdir import backdate
from mounting import equal

KINDS = ("leftover_temporary", "unfinished_fork")
TESTS = Path(__file__).resolve().parent.parent


class Leftovers:
    """Stores of each agent with what its writers leave."""

    def __init__(self, case):
        self.case, self.work = case, case.new_path("work")
        (self.work / "src").mkdir(parents=True)
        (self.work / "src" / "a.txt").write_text("one\n")
        self.omp = case.agent.talk(cwd=str(self.work))
        self.folders = {agent: case.new_path(agent) for agent in ("opal", "goat", "claude", "opencode")}
        for folder in self.folders.values():
            folder.mkdir()
        shutil.copytree(TESTS / "opencode" / "files", self.folders["opencode"], dirs_exist_ok=True)
        (self.folders["claude"] / "projects").mkdir()
        self.stores = ["--agent-dir", case.agent.path]
        self.stores += [word for agent, folder in self.folders.items() for word in ("--store", f"{agent}={folder}")]
        self.ids = {agent: self.arborfs("fork", self.omp.id, "--to", agent).stdout.decode().split()[0]
                    for agent in ("opal", "goat", "claude")}
        self.arborfs("checkpoint", self.ids["goat"], "first", self.work / "src" / "a.txt")

    def arborfs(self, *words, check=True):
        return self.case.arborfs(*words, *self.stores, check=check)

    def make(self):
        storage, goat = self.folders["opencode"] / "storage", self.folders["goat"] / self.ids["goat"]
        message = next((storage / "message").glob("*/*.json"))
        claude = next(self.folders["claude"].glob("projects/*"))
        files = [message.with_name(f".{message.name}.tmp"), storage / "session_diff" / ".ses_x.json.tmp",
                 self.folders["opal"] / "sessions" / ".arborfs-1.tmp", claude / ".arborfs-2.tmp",
                 goat / ".arborfs-3.tmp", self.work / "src" / ".arborfs-4.tmp", self.work / "src" / ".arborfs-removed-5",
                 self.omp.path.with_name(f".{self.omp.path.name}.0123456789abcdef.tmp")]
        folders = [self.folders["goat"] / ".arborfs-6.tmp", goat / "checkpoints" / ".arborfs-7.tmp"]
        for path in files:
            path.parent.mkdir(exist_ok=True)
            path.write_text("a part")
        for path in folders:
            path.mkdir()
            (path / "part").write_text("a part")
        for path in (files[-1], *folders):
            backdate(path, 20)
        return files, folders

    def named(self, *options):
        said = json.loads(self.arborfs("doctor", "--json", *options, check=False).stdout)
        return {Path(one["path"]) for one in said["findings"] if one["kind"] in KINDS}, said


def test_f22_leftovers_of_killed_writers_are_named_and_put_away(case):
    """F22: each is named with its path; a file that a program has open for writing is in use and is not named; a dry run
    changes nothing; a repair moves all of them to the copies, and the next doctor finds nothing."""
    all_of = Leftovers(case)
    equal(all_of.named()[1]["findings"], [], "a store without leftovers")
    files, folders = all_of.make()
    with open(files[5], "a"):
        equal(all_of.named()[0], {*files, *folders} - {files[5]}, "named while one is in use")
        all_of.arborfs("doctor", "--repair", "--dry-run", check=False)
        assert all(path.exists() for path in (*files, *folders))
    equal(all_of.named()[0], {*files, *folders}, "named")
    found, said = all_of.named("--repair")
    equal((found, said["left"]), ({*files, *folders}, 0), said)
    equal([path for path in (*files, *folders) if path.exists()], [], "what is still there")
    copies = case.root / "state" / "arborfs" / "repaired"
    kept = {path.name for path in copies.rglob("*")}
    assert {path.name for path in (*files, *folders)} <= kept, kept
    equal([path for path in copies.rglob("part") if path.read_text() != "a part"], [], "the copies")
    equal(all_of.named()[1]["findings"], [], "after the repair")
    equal((all_of.work / "src" / "a.txt").read_text(), "one\n", "the working file")


def test_f22_what_a_killed_fork_to_opencode_left_is_named_and_removed(case):
    """F22: the note of a fork whose writer was killed, with the messages that it names and that are in no session."""
    all_of = Leftovers(case)
    storage = all_of.folders["opencode"] / "storage"
    note = storage / ".arborfs-ses_killed.fork"
    note.write_text("ses_killed\nmsg_killed\n")
    for path in (storage / "message" / "ses_killed" / "msg_killed.json", storage / "part" / "msg_killed" / "prt_1.json"):
        path.parent.mkdir()
        path.write_text("{}")
    equal(all_of.named()[0], {note}, "named")
    equal(all_of.named("--repair")[1]["left"], 0, "left")
    equal([path.name for path in (note, storage / "message" / "ses_killed", storage / "part" / "msg_killed")
           if path.exists()], [], "what is still there")
