"""Sessions of Claude Code are shown and written by its rules (core/formats/claude/FORMAT.md, tests/claude)."""

import json
import os
import shutil
from pathlib import Path

from mounting import equal, eventually, run, shell, visible_within
from views import status
from writing import answer_of, reason, refused

SAMPLES = Path(__file__).resolve().parent.parent / "claude"
CONTROLS = {"append", "branch", "label", "fork"}
SUB_AGENT = "agent-a63cc6e82b4a02395"


def claude_dir(case):
    """A folder of Claude Code with the samples and a file that must not be opened."""
    folder = case.new_path("claude")
    shutil.copytree(SAMPLES / "projects", folder / "projects")
    secret = folder / ".credentials.json"
    secret.write_text("{}")
    secret.chmod(0)
    return folder


def state_of(folder):
    """Names, sizes, times and bytes of all transcripts."""
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in sorted((folder / "projects").rglob("*")) if path.is_file()}


def row(uuid, parent, text, **more):
    return json.dumps({"parentUuid": parent, "isSidechain": False, "type": "user", "message": {"role": "user", "content": text},
                       "uuid": uuid, "timestamp": "2026-01-02T03:04:05.678Z", "cwd": "/tmp/feed", "sessionId": "feed", **more}) + "\n"


def said(folder):
    """The texts of the context."""
    texts = []
    for message in json.loads((folder / "context.json").read_text())["messages"]:
        content = message["content"]
        texts += [content] if isinstance(content, str) else [block.get("text") for block in content]
    return texts


def uuids_of(folder):
    """The uuids of the entries, in the order of their names."""
    return [json.loads((folder / "entries" / name).read_text())["uuid"] for name in sorted(os.listdir(folder / "entries"))]


def path_of(folder, leaf):
    """The uuids of a branch."""
    names = os.listdir(folder / "branches")
    name = next(name for name in names if name.endswith(leaf))
    return [entry.split("-", 2)[2].removesuffix(".json") for entry in sorted(os.listdir(folder / "branches" / name / "entries"))]


def test_claude_sessions_have_the_expected_values(case):
    """Titles, trees, branches and conversations of the samples, next to sessions of omp; reading changes no byte."""
    case.agent.session().write()
    claude = claude_dir(case)
    before = state_of(claude)
    with case.mount(f"store=claude={claude}") as mount:
        for session in json.loads((SAMPLES / "expected.json").read_text()):
            folder = mount / "by-id" / session["id"]
            header = json.loads((folder / "session.json").read_text())
            equal((header["agent"], header["cwd"], header.get("title")), ("claude", session["cwd"], session["title"]), folder)
            equal(len(os.listdir(folder / "entries")), session["entries"], folder)
            equal(len(os.listdir(folder / "text")), session["entries"], folder)
            raw = [json.loads((folder / "entries" / name).read_text()) for name in sorted(os.listdir(folder / "entries"))]
            uuids = {record["uuid"] for record in raw}
            equal([record["uuid"] for record in raw if record["parentUuid"] is None], session["roots"], folder)
            equal([record["uuid"] for record in raw if record["parentUuid"] not in {None, *uuids}], session["dangling"], folder)
            equal(sum(record["isSidechain"] for record in raw), session["sidechainRecords"], folder)
            leaves = {name.split("-", 1)[1] for name in os.listdir(folder / "branches") if name != "current"}
            asides = {record["uuid"] for record in raw if record["isSidechain"]}
            continued = {record.get("logicalParentUuid") for record in raw}  # by a compaction
            equal(leaves, set(session["leaves"]) - continued - (asides if len(asides) < len(raw) else set()), folder)
            assert os.readlink(folder / "leaf").endswith(session["activeLeaf"] + ".json"), folder
            path = path_of(folder, session["activeLeaf"])  # also what a compaction replaced
            equal(path[-len(session["activePath"]):], session["activePath"], folder)
            for name in os.listdir(folder / "text"):
                assert (folder / "text" / name).read_text().endswith("\n"), name
            transcript = (folder / "transcript.md").read_text()
            for _, text in session["conversation"]:
                assert text.split("\n")[0] in transcript.replace("\\", ""), (folder, text)
            equal((status(folder)["writable"], status(folder)["problem"], status(folder)["damage"]), (True, None, []), folder)
            equal(CONTROLS & set(os.listdir(folder)), {"append", "branch", "label", "fork"}, folder)
            assert json.loads((folder / "context.json").read_text())["messages"], folder
            assert json.loads((folder / "usage.json").read_text())["output"] > 0, folder
            for agent in session["subagents"]:
                child = json.loads((mount / "by-id" / Path(agent).stem / "session.json").read_text())
                equal(child["parentSession"], session["id"], agent)
                agent_folder = mount / "by-id" / Path(agent).stem
                equal((status(agent_folder)["writable"], CONTROLS & set(os.listdir(agent_folder))), (False, {"label", "fork"}), agent)
        equal(len(os.listdir(mount / "by-id")), 6, "sessions")
    equal(state_of(claude), before, "the store")


def test_claude_images_and_usage(case):
    """The pasted image has its bytes; a reply of several rows is counted once; the cost is the program's."""
    claude = claude_dir(case)
    with case.mount(f"store=claude={claude}") as mount:
        images = mount / "by-id" / "44444444-4444-4444-8444-444444444444" / "images"
        (name,) = os.listdir(images)
        assert (images / name).read_bytes().startswith(b"\x89PNG"), name
        usage = json.loads((mount / "by-id" / "11111111-1111-4111-8111-111111111111" / "usage.json").read_text())
        equal((usage["input"], usage["output"], usage["cost"]), (7236, 240, 0.025488), usage)


def test_claude_session_follows_its_program(case):
    """Rows that the program appends show at once, and the leaf moves where it says."""
    claude = claude_dir(case)
    log = claude / "projects" / "-tmp-feed" / "feed.jsonl"
    log.parent.mkdir()
    log.write_text(row("a1", None, "one") + row("b2", "a1", "two"))

    def add(*lines):
        with log.open("a") as out:
            out.write("".join(lines))

    with case.mount(f"store=claude={claude}") as mount:
        folder = mount / "by-id" / "feed"
        equal(uuids_of(folder), ["a1", "b2"], "entries")
        equal(said(folder), ["one", "two"], "context")
        visible_within(1, lambda: add(row("c3", "a1", "three")), lambda: said(folder) == ["one", "three"], "the branch")
        pin = json.dumps({"type": "last-prompt", "leafUuid": "b2", "sessionId": "feed"}) + "\n"
        visible_within(1, lambda: add(pin), lambda: said(folder) == ["one", "two"], "the pin")
        title = json.dumps({"type": "custom-title", "customTitle": "Named", "sessionId": "feed"}) + "\n"
        visible_within(1, lambda: add(title), lambda: (folder / "title").read_text() == "Named\n", "the title")
        visible_within(1, lambda: log.unlink(), lambda: "feed" not in os.listdir(mount / "by-id"), "the removal")


def test_damage_in_a_claude_log_stays_its_own(case):
    """Torn lines, loops of parents, files without rows and files that are not transcripts harm no session."""
    claude = claude_dir(case)
    project = claude / "projects" / "-tmp-demo-greeter"
    bad = project / "bad.jsonl"
    bad.write_text(row("a", "b", "x", sessionId="bad") + "[]\n" + row("b", "a", "y", sessionId="bad") + "torn {")
    os.utime(bad, (1, 1))
    (project / "empty.jsonl").write_text("")
    (project / "orphaned-1.jsonl").write_text(row("a", None, "x"))
    (project / "memory").mkdir()
    os.mkfifo(project / "pipe.jsonl")
    (project / "link.jsonl").symlink_to("/etc/passwd")
    (claude / "projects" / "not-a-folder").write_text("")
    with case.mount(f"store=claude={claude}") as mount:
        folder = mount / "by-id" / "bad"
        equal(sorted(uuids_of(folder)), ["a", "b"], "entries")
        equal([name.split("-")[1] for name in sorted(os.listdir(folder / "damage"))], ["unfinished"], "damage")
        equal(status(folder)["notShown"], {"value": 1}, "JSON that is no row")
        assert (folder / "transcript.md").read_text() and (folder / "tree.txt").read_text(), folder
        assert json.loads((folder / "context.json").read_text())["messages"], folder
        equal(sorted(set(os.listdir(mount / "by-id")) - {"bad"}),
              sorted(["empty", "link", SUB_AGENT] + [f"{n * 8}-{n * 4}-4{n * 3}-8{n * 3}-{n * 12}" for n in "1234"]), "sessions")


def test_new_projects_and_sub_agents_show(case):
    """A project, a session and the first sub-agent of a session appear while the mount is there."""
    claude = claude_dir(case)
    project = claude / "projects" / "-tmp-late"
    agents = project / "late" / "subagents"

    def start():
        project.mkdir()
        (project / "late.jsonl").write_text(row("a1", None, "one", sessionId="late", cwd="/tmp/late"))

    def delegate():
        agents.mkdir(parents=True)
        text = row("x1", None, "job", sessionId="late", isSidechain=True, agentId="77")
        (agents / "agent-77.jsonl").write_text(text)

    with case.mount(f"store=claude={claude}") as mount:
        visible_within(1, start, lambda: "late" in os.listdir(mount / "by-id"), "the session")
        visible_within(2, delegate, lambda: "agent-77" in os.listdir(mount / "by-id"), "the sub-agent")
        folder = mount / "by-id" / "agent-77"
        equal(json.loads((folder / "session.json").read_text())["parentSession"], "late", folder)
        equal(said(folder), ["job"], folder)
        more = row("x2", "x1", "more", sessionId="late", isSidechain=True, agentId="77")

        def append():
            with (agents / "agent-77.jsonl").open("a") as out:
                out.write(more)

        visible_within(1, append, lambda: said(folder) == ["job", "more"], "the next row")


def test_doctor_changes_nothing_in_a_claude_folder(case):
    """doctor --repair neither repairs a torn transcript nor removes a file."""
    claude = claude_dir(case)
    project = claude / "projects" / "-tmp-demo-greeter"
    for name in ("gone.jsonl.1234.bak", ".feed.jsonl.1234.tmp", ".feed.jsonl.lock"):
        (project / name).write_text("left over\n")
        os.utime(project / name, (1, 1))
    (project / "torn.jsonl").write_text(row("a", None, "x", sessionId="torn") + '{"type"')
    os.utime(project / "torn.jsonl", (1, 1))
    before = state_of(claude)
    case.arborfs("doctor", "--repair", "--store", f"claude={claude}", check=False)
    equal(state_of(claude), before, "the store")


FIRST = "11111111-1111-4111-8111-111111111111"  # of the samples; its leaf is an answer
STARTER = "33333333-3333-4333-8333-333333333333"  # it has a sub-agent


def test_claude_session_is_continued_from_a_shell(case):
    """Messages, notes, turns, moves of the leaf and titles, as a user writes them; every earlier byte stays, and the
    context is what the program would send."""
    claude = claude_dir(case)
    log = next(claude.glob(f"projects/*/{FIRST}.jsonl"))
    before = log.read_bytes()
    with case.mount(f"store=claude={claude}") as mount:
        folder = mount / "by-id" / FIRST
        leaf = os.readlink(folder / "leaf")
        earlier = said(folder)
        shell("echo 'fix the bug' > append", cwd=folder)
        equal(said(folder), earlier + ["fix the bug"], "context")
        written = answer_of(folder / "append", json.dumps({"role": "assistant", "content": "Done."}) + "\n")
        assert os.readlink(folder / "leaf").endswith(written["id"] + ".json"), written
        shell("""echo '{"note":"The build is green."}' > append; echo 'what now?' > append""", cwd=folder)
        equal(said(folder)[-3:], ["Done.", "<system-reminder>The build is green.</system-reminder>", "what now?"], "context")
        shell(f"echo {Path(leaf).stem} > branch", cwd=folder)
        equal((said(folder), os.readlink(folder / "leaf")), (earlier, leaf), "back before all of it")
        shell("echo 'another way' > append; echo 'My title' > title", cwd=folder)
        equal((said(folder), (folder / "title").read_text()), (earlier + ["another way"], "My title\n"), folder)
        assert len(os.listdir(folder / "branches")) >= 3, os.listdir(folder / "branches")
        shell(f"echo 'and on' > branches/{written['id']}/append", cwd=folder)
        equal(said(folder), earlier + ["fix the bug", "Done.", "and on"], "another branch")
        assert "No response requested" in (folder / "append").read_text(), "the usage text"
    after = log.read_bytes()
    assert after.startswith(before), "earlier bytes changed"
    rows = [json.loads(line) for line in after[len(before):].splitlines()]
    equal([record["sessionId"] for record in rows], [FIRST] * len(rows), "rows")
    with case.mount(f"store=claude={claude}") as mount:
        equal(said(mount / "by-id" / FIRST)[-1], "and on", "in a new mount")


def test_claude_session_is_removed_and_restored_from_a_shell(case):
    """rm -r takes the sub-agents, the outputs and the other data of a session along; restore brings all back."""
    claude = claude_dir(case)
    for path in (f"file-history/{STARTER}/a@v1", f"todos/{STARTER}-agent-{STARTER}.json", f"debug/{STARTER}.txt",
                 "file-history/other/b@v1"):
        (claude / path).parent.mkdir(parents=True, exist_ok=True)
        (claude / path).write_text("side data")
    before = {path: (path.stat().st_mtime_ns, path.stat().st_mode) for path in claude.rglob("*") if path.is_file()}
    store = ("--store", f"claude={claude}")
    with case.mount("allow_delete", f"store=claude={claude}") as mount:
        place = os.path.realpath(mount / "by-id" / STARTER)
        equal(run("rm", "-r", place, check=False).returncode, 0, "rm")
        assert not {STARTER, SUB_AGENT} & set(os.listdir(mount / "by-id")), os.listdir(mount / "by-id")
        left = [str(path) for path in claude.rglob("*") if STARTER in str(path)]
        equal(left, [], "what is left of it")
        case.arborfs("restore", "latest", *store)
        eventually(5, lambda: STARTER in os.listdir(mount / "by-id"), "the restored session")
        eventually(15, lambda: SUB_AGENT in os.listdir(mount / "by-id"), "its sub-agent, whose folder came as a whole")
    after = {path: (path.stat().st_mtime_ns, path.stat().st_mode) for path in claude.rglob("*") if path.is_file()}
    equal(after, before, "the store")
    case.arborfs("rm", "-y", FIRST, *store)
    equal(list(claude.glob(f"projects/*/{FIRST}*")), [], "arborfs rm")
    out = case.arborfs("prune", "-y", "--keep-days", "0", "--keep-count", "0", *store).stdout
    equal(list(claude.glob("projects/*/*.jsonl")), [], out)


def test_claude_session_that_its_program_has_open_is_refused(case):
    """While sessions/<pid>.json names the session and that process lives, nothing is written; a fork works."""
    claude = claude_dir(case)
    log = next(claude.glob(f"projects/*/{FIRST}.jsonl"))
    before = log.read_bytes()
    started = Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()[19]
    (claude / "sessions").mkdir()
    sign = claude / "sessions" / f"{os.getpid()}.json"
    sign.write_text(json.dumps({"pid": os.getpid(), "sessionId": FIRST, "procStart": started}))
    with case.mount(f"store=claude={claude}") as mount:
        folder = mount / "by-id" / FIRST
        for script in ("echo x > append", "echo root > branch", "echo x > title"):
            refused(script, folder, "Device or resource busy")
            assert f"claude (process {os.getpid()}) has it open" in reason(folder), reason(folder)
        equal(log.read_bytes(), before, "the transcript")
        made = answer_of(folder / "fork", '{"agent":"claude"}\n')
        (mount / made["path"] / "append").write_text("in the fork")
        sign.write_text(json.dumps({"pid": os.getpid(), "sessionId": FIRST, "procStart": "1"}))  # the number was reused
        (folder / "append").write_text("now it goes")
        equal(said(folder)[-1], "now it goes", "context")
