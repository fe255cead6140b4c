"""Conversations that go on in another agent (CONTRACT.md 4.9), as users move them."""

import base64
import errno
import json
import os
import shutil
from pathlib import Path

from agentdir import PNG
from mounting import BINARY, equal, fails_with, run
from writing import answer_of

TESTS = Path(__file__).resolve().parent.parent
TARGETS = ("pi", "opal", "opencode", "claude", "codex", "goat")


def with_a_picture(case):
    """A session of omp with every kind of thing that is said."""
    session = case.agent.session(cwd="/work/kite", title="How high")
    session.image(base64.b64encode(PNG).decode(), text="How high is this?")
    session.assistant("Let me see.", stop="toolUse", blocks=[
        {"type": "thinking", "thinking": "A ruler will do."},
        {"type": "toolCall", "id": "call|1", "name": "bash", "arguments": {"command": "ruler kite.png"}}])
    session.tool_result("call|1", "12 m")
    session.assistant("Twelve metres.")
    session.user("And the other kite?")
    session.write()
    return session


def stores(case):
    """A store of each agent, as mount options; OpenCode's is one that the program made."""
    folders = {agent: case.new_path(agent) for agent in TARGETS}
    for folder in folders.values():
        folder.mkdir()
    shutil.copy(TESTS / "opencode" / "fresh-1.18.33" / "opencode.db", folders["opencode"])
    (folders["claude"] / "projects").mkdir()
    return folders, ",".join(f"store={agent}={folder}" for agent, folder in folders.items())


def test_fork_to_another_agent_is_read_through_the_mount(case):
    """The new session has the texts, the call and its result, and the picture, and session.json names its agent. The
    answer counts what became text. The source does not change."""
    session = with_a_picture(case)
    before = session.path.read_bytes()
    folders, options = stores(case)
    with case.mount(options) as mount:
        for agent in TARGETS:
            answer = answer_of(mount.session(session) / "fork", json.dumps({"agent": agent}) + "\n")
            equal(answer["agent"], agent)
            lost = {"opal": {"images": 1}, "claude": {"reasoning": 1}, "codex": {"reasoning": 1}, "goat": {"reasoning": 1}}.get(agent, {})
            equal(answer["asText"], lost, agent)
            folder = mount / answer["path"]
            header = json.loads((folder / "session.json").read_text())
            equal((header["agent"], header.get("title")), (agent, "How high"), agent)
            equal(header.get("cwd"), None if agent == "opal" else "/work/kite", agent)
            transcript = (folder / "transcript.md").read_text()
            for text in ("How high is this?", "Let me see.", "A ruler will do.", "command: ruler kite.png", "12 m",
                         "Twelve metres.", "And the other kite?"):
                assert text in transcript, (agent, text, transcript)
            images = [(folder / "images" / name).read_bytes() for name in os.listdir(folder / "images")]
            equal(images, [] if agent == "opal" else [PNG], agent)
            assert json.loads((folder / "context.json").read_text())["messages"], agent
            assert any(path.is_file() for path in folders[agent].rglob("*")), agent
    equal(session.path.read_bytes(), before, "the source")


def test_control_files_say_what_the_sessions_of_each_agent_take(case):
    """append reads as a text that is true for the agent; fork names an agent where only that works."""
    session = with_a_picture(case)
    _, options = stores(case)
    takes = {"pi": "images, are kept whole", "opal": '"role":"tool_result"', "goat": "a record of the transcript",
             "opencode": "JSON are refused", "codex": "of the user or, after one, of the assistant"}
    with case.mount(options) as mount:
        for agent in TARGETS:
            answer = answer_of(mount.session(session) / "fork", json.dumps({"agent": agent}) + "\n")
            folder = mount / answer["path"]
            if agent in takes:
                usage = (folder / "append").read_text()
                assert takes[agent] in usage, (agent, usage)
                equal([other for other in takes if takes[other] in usage], [agent], usage)
                fails_with(errno.EINVAL, lambda: answer_of(folder / "append", usage + "more\n"))
            usage = (folder / "fork").read_text()
            equal("Write an empty line" in usage, agent in ("pi", "opal", "goat"), (agent, usage))
            assert '{"agent":"pi"' in usage, usage


def test_fork_to_another_agent_takes_the_path_to_an_entry(case):
    """The path ends at the entry; a call without its result is told as text, because models refuse it."""
    session = with_a_picture(case)
    _, options = stores(case)
    call = session.entries[1]["id"]
    with case.mount(options) as mount:
        answer = answer_of(mount.session(session) / "fork", json.dumps({"agent": "claude", "entry": call}) + "\n")
        equal(answer["asText"], {"reasoning": 1, "calls": 1})
        transcript = (mount / answer["path"] / "transcript.md").read_text()
        assert "ruler kite.png" in transcript and "Twelve metres." not in transcript, transcript


def test_fork_to_another_agent_takes_what_the_model_had_or_the_whole_path(case):
    """What a compaction replaced is only in a full fork; a command that the user kept from the model is in none."""
    session = case.agent.session(cwd="/work/kite")
    session.user("the old words")
    session.add("message", message={"role": "bashExecution", "command": "cat key", "output": "the secret",
                                    "exitCode": 0, "cancelled": False, "truncated": False,
                                    "excludeFromContext": True, "timestamp": 1})
    kept = session.user("the kept words")
    session.add("compaction", summary="the summary", firstKeptEntryId=kept, tokensBefore=9)
    session.write()
    folders, options = stores(case)
    with case.mount(options) as mount:
        for agent in TARGETS:
            for full in (False, True):
                answer = answer_of(mount.session(session) / "fork", json.dumps({"agent": agent, "full": full}) + "\n")
                said = (mount / answer["path"] / "context.json").read_text()
                assert "the summary" in said and "the kept words" in said, (agent, said)
                equal("the old words" in said, full, (agent, said))
            for path in folders[agent].rglob("*"):
                assert path.is_dir() or b"the secret" not in path.read_bytes(), path


def test_sessions_that_are_only_read_can_be_forked_to_another_agent(case):
    """fork of a session of Codex writes to omp. To an agent that arborfs does not know, or has no store of, it fails, and
    nothing is left. Without an agent, the new session is Codex's own."""
    codex = case.new_path("codex")
    shutil.copytree(TESTS / "codex" / "legacy", codex)
    before = {path: path.read_bytes() for path in codex.rglob("*") if path.is_file()}
    with case.mount(f"store=codex={codex}") as mount:
        folder = next(iter((mount / "by-agent" / "codex").iterdir())).resolve()
        fails_with(errno.EOPNOTSUPP, lambda: answer_of(folder / "fork", '{"agent":"gote"}\n'))
        fails_with(errno.EROFS, lambda: answer_of(folder / "fork", '{"agent":"claude"}\n'))
        fails_with(errno.EINVAL, lambda: answer_of(folder / "fork", '{"agent":"omp","cwd":"src"}\n'))
        equal(list(case.agent.sessions.rglob("*.jsonl")), [], "omp's store")
        answer = answer_of(folder / "fork", '{"agent":"omp","title":"Moved"}\n')
        made = mount / answer["path"]
        equal((made / "title").read_text(), "Moved\n")
        (made / "append").write_text("Go on here.")
        assert "Go on here." in (made / "transcript.md").read_text()
        equal({path: path.read_bytes() for path in codex.rglob("*") if path.is_file()}, before, "the store of Codex")
        own = answer_of(folder / "fork", "\n")
        equal(own["agent"], "codex")
        assert (mount / own["path"] / "transcript.md").read_text()
        for path, content in before.items():
            assert path.read_bytes().startswith(content), path


def test_command_line_forks_to_another_agent(case):
    """arborfs fork --to prints the id and the place of the new session, and says what became text."""
    session = with_a_picture(case)
    folders, _ = stores(case)
    done = run(BINARY, "fork", "--to", "claude", "--store", f"omp={case.agent.path}", "--store", f"claude={folders['claude']}",
               session.id)
    equal(done.stderr, b"arborfs: written as text: reasoning 1\n")
    made = Path(done.stdout.decode().rstrip("\n").split(" ", 1)[1])
    rows = [json.loads(line) for line in made.read_text().splitlines()]
    equal([row["type"] for row in rows], ["user", "assistant", "assistant", "assistant", "user", "assistant", "user", "custom-title"])
    for row, parent in zip(rows[1:-1], rows):
        equal(row["parentUuid"], parent["uuid"])
