"""Every file that has the name of a log is a session or is counted with a reason: links, depths, compressed threads,
older storages beside newer ones (docs/CONTRACT.md 2.16)."""

import json
import os
import shutil
import subprocess
from pathlib import Path

from mounting import equal, needs, run, shell, visible_within
from views import status
from writing import refused

SAMPLES = Path(__file__).resolve().parent.parent
STARTER = "00000006-0000-4000-8000-000000000000"
THREAD = "77777777-7777-7777-8777-777777777777"
DANGLING, LOOP, SECOND = "a link that leads nowhere", "a link in a loop of links", "another name of a session's log"


def left_out(case, *store):
    """What `arborfs stores` counts, which must be what `arborfs doctor` lists. Neither is damage."""
    rows = json.loads(case.arborfs("stores", "--json", *store).stdout)
    found = json.loads(case.arborfs("doctor", "--json", *store).stdout)["leftOut"]
    counts = {}
    for row in rows:
        for reason, number in row["leftOut"].items():
            counts[reason] = counts.get(reason, 0) + number
    for file in found:
        assert os.path.lexists(file["path"]), file
    equal({reason: len([file for file in found if file["reason"] == reason]) for reason in counts}, counts, "doctor")
    equal(sum(counts.values()), len(found), "doctor")
    return counts


def claude_row(session, uuid, text, **more):
    return json.dumps({"type": "assistant" if "usage" in more else "user", "uuid": uuid, "parentUuid": None,
                       "isSidechain": "agentId" in more, "sessionId": session, "cwd": "/w/p",
                       "timestamp": "2026-01-01T10:00:00.000Z",
                       "message": {"role": "assistant" if "usage" in more else "user", "id": f"msg_{uuid}", "model": "m",
                                   "content": [{"type": "text", "text": text}], "usage": more.pop("usage", None)},
                       **more}) + "\n"


def test_workflow_agents_are_children_at_any_depth(case):
    """Agents of a Claude Code workflow, several folders below their session: children, found and counted; the journal
    is none, what is set aside and what is compressed is counted."""
    claude = case.new_path("claude")
    project = claude / "projects" / "-w-p"
    deep = project / STARTER / "subagents" / "workflows" / "wf_1"
    deep.mkdir(parents=True)
    (project / f"{STARTER}.jsonl").write_text(claude_row(STARTER, "u1", "fan out"))
    for name in ("wf1", "wf2"):
        (deep / f"agent-{name}.jsonl").write_text(
            claude_row(STARTER, f"{name}a", "job", agentId=name) +
            claude_row(STARTER, f"{name}b", f"zebra {name}", agentId=name, usage={"input_tokens": 1, "output_tokens": 20}))
    (deep / "journal.jsonl").write_text("{}\n")
    (deep / "agent-wf1.meta.json").write_text("{}")
    (project / "orphaned-1.jsonl").write_text("{}\n")
    (project / f"{STARTER}.jsonl.gz").write_bytes(b"")
    store = ("--store", f"claude={claude}")
    rows = json.loads(case.arborfs("ls", "-c", "--json", *store).stdout)
    equal(sorted(row["startedBy"] or "" for row in rows), ["", STARTER, STARTER], "startedBy")
    equal(len(json.loads(case.arborfs("search", "zebra", "--json", *store).stdout)), 2, "search")
    counts = left_out(case, *store)
    equal(sorted(counts.values()), [1, 1], counts)
    with case.mount(f"store=claude={claude}") as mount:
        children = mount / "by-id" / STARTER / "children"
        equal(len([name for name in os.listdir(children) if not (children / name).is_symlink()]), 2, "children")
        new = deep.parent / "wf_2" / "deeper"

        def start_another():
            new.mkdir(parents=True)
            (new / "agent-wf3.jsonl").write_text(claude_row(STARTER, "wf3a", "job", agentId="wf3"))

        visible_within(2, start_another,
                       lambda: len(os.listdir(children)) == 3 and (children / "agent-wf3").exists(), "a new workflow")
        rows = json.loads((mount / "status.json").read_text())["stores"]
        equal([row["leftOut"] for row in rows if row["agent"] == "claude"], [counts], "status.json")


def codex_line(kind, **payload):
    return json.dumps({"timestamp": "2026-01-01T10:00:00.000Z", "type": kind, "payload": payload}) + "\n"


def codex_with_thread(case):
    codex = case.new_path("codex")
    day = codex / "sessions" / "2026" / "01" / "01"
    day.mkdir(parents=True)
    log = day / f"rollout-2026-01-01T10-00-00-{THREAD}.jsonl"
    log.write_text(
        codex_line("session_meta", id=THREAD, cwd="/w/p", timestamp="2026-01-01T10:00:00.000Z") +
        codex_line("response_item", type="message", role="user", content=[{"type": "input_text", "text": "an old prompt"}]) +
        codex_line("response_item", type="message", role="assistant",
                   content=[{"type": "output_text", "text": "an old answer"}]))
    return codex, log


@needs("zstd")
def test_compressed_thread_is_read_like_others(case):
    """A thread that Codex has compressed has its title, texts, matches and no finding; beside its plain file it is one
    session; damaged it shows what can be decoded."""
    codex, log = codex_with_thread(case)
    store = ("--store", f"codex={codex}")
    plain = log.read_bytes()
    run("zstd", "-q", "--rm", log)
    packed = log.with_suffix(".jsonl.zst")
    before = packed.read_bytes(), packed.stat().st_mtime_ns

    def check():
        row, = json.loads(case.arborfs("ls", "--json", *store).stdout)
        equal((row["session"], row["firstMessage"], row["problem"]), (THREAD, "an old prompt", ""), "ls")
        text = case.arborfs("text", THREAD, *store).stdout.decode()
        assert text.index("an old prompt") < text.index("an old answer"), text
        assert case.arborfs("search", '"old answer"', *store).stdout, "search"
        case.arborfs("stats", *store)
        equal(json.loads(case.arborfs("doctor", "--json", *store).stdout)["findings"], [], "doctor")

    check()
    equal(left_out(case, *store), {}, "left out")
    with case.mount(f"store=codex={codex}") as mount:
        folder = mount / "by-id" / THREAD
        equal((folder / "raw.jsonl").read_bytes(), plain, "raw.jsonl")
        equal(json.loads((folder / "status.json").read_text())["damage"], [], "damage")
        assert "an old answer" in (folder / "transcript.md").read_text(), "transcript.md"
        equal((folder / "native" / packed.name).read_bytes(), before[0], "native/")
    equal((packed.read_bytes(), packed.stat().st_mtime_ns), before, "the file")
    run("zstd", "-q", "-d", "-k", packed)
    check()
    equal(left_out(case, *store), {"another file of the same thread is shown": 1}, "left out")
    log.unlink()
    log.write_bytes(plain + b"".join(codex_line("response_item", type="message", role="user", content=[
        {"type": "input_text", "text": os.urandom(600).hex()}]).encode() for _ in range(2000)))
    run("zstd", "-q", "-f", "--rm", log)
    with packed.open("r+b") as file:
        file.truncate(packed.stat().st_size // 2)
    text = case.arborfs("text", THREAD, *store).stdout.decode()
    assert "an old answer" in text, text
    done = case.arborfs("doctor", *store, check=False)
    assert done.returncode == 1 and b"ends too early" in done.stdout or b"not" in done.stdout, done.stdout


def test_codex_files_at_any_depth_and_of_the_first_version(case):
    """Rollouts below and above the folders of days are threads, as are the documents of the first Codex."""
    codex, log = codex_with_thread(case)
    text = log.read_text()
    others = [THREAD[:-1] + str(number) for number in range(4)]
    for thread, folder in zip(others, ("sessions/2026/01/01/copied/deep", "sessions", "archived_sessions", "archived_sessions/a/b")):
        (codex / folder).mkdir(parents=True, exist_ok=True)
        (codex / folder / f"rollout-2026-01-01T10-00-00-{thread}.jsonl").write_text(text.replace(THREAD, thread))
    first = "0b1c" * 8
    (codex / "sessions" / f"rollout-2025-04-20-{first}.json").write_text(json.dumps(
        {"session": {"timestamp": "2025-04-20T10:00:00.000Z", "id": first, "instructions": ""},
         "items": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "rename it"}]}]},
        indent=2))
    (codex / "sessions" / "rollout-of-mine.json").write_text("{}")
    with case.mount(f"store=codex={codex}") as mount:
        equal(sorted(os.listdir(mount / "by-id")), sorted([THREAD, first, *others]), "threads")
        equal((mount / "by-id" / first / "transcript.md").read_text().splitlines()[-2:], ["rename it", ""], "document")
        late = THREAD[:-1] + "9"
        deep = codex / "sessions" / "2026" / "01" / "01" / "new"

        def add():
            deep.mkdir()
            (deep / f"rollout-2026-01-01T10-00-00-{late}.jsonl").write_text(text.replace(THREAD, late))

        visible_within(2, add, lambda: (mount / "by-id" / late).exists(), "a thread in a new folder")
    equal(left_out(case, "--store", f"codex={codex}"),
          {"its name is not that of a rollout": 1}, "left out")


def test_links_are_followed_and_counted(case):
    """Linked folders and logs are sessions, once each; links in a loop and to nothing are counted."""
    outside = case.new_path("outside")
    (outside / "project").mkdir(parents=True)
    good, moved, linked = case.agent.talk(), case.agent.session(), case.agent.session()
    for session, text in ((moved, "in a linked folder"), (linked, "in a linked log")):
        session.user(text)
    (outside / "project" / f"{moved.name}.jsonl").write_bytes(moved.bytes)
    (outside / "kept").write_bytes(linked.bytes)
    folder = good.path.parent
    (case.agent.sessions / "linked").symlink_to(outside / "project")
    (case.agent.sessions / "again").symlink_to("linked")
    (case.agent.sessions / "loop").symlink_to("loop")
    (case.agent.sessions / "nowhere").symlink_to(outside / "nowhere")
    (outside / "project" / "up").symlink_to(case.agent.sessions)
    (folder / f"{linked.name}.jsonl").symlink_to(outside / "kept")
    (folder / "2026-01-01T00-00-00-000Z_second.jsonl").symlink_to(good.path)
    (folder / "2026-01-01T00-00-00-000Z_gone.jsonl").symlink_to(outside / "nowhere")
    os.mkfifo(folder / "2026-01-01T00-00-00-000Z_fifo.jsonl")
    store = ("--store", f"omp={case.agent.path}")
    expected = {SECOND: 2, DANGLING: 2, LOOP: 1, "a FIFO": 1}
    equal(left_out(case, *store), expected, "left out")
    with case.mount() as mount:
        equal(sorted(os.listdir(mount / "by-id")), sorted([good.id, moved.id, linked.id]), "sessions")
        equal(json.loads((mount / "status.json").read_text())["stores"][0]["leftOut"], expected, "status.json")
        by_id = mount / "by-id"

        def entries(session):
            return len(os.listdir(by_id / session.id / "entries"))

        before = entries(moved), entries(linked)
        moved.user("more")
        linked.user("more")
        visible_within(1, lambda: (outside / "project" / f"{moved.name}.jsonl").write_bytes(moved.bytes),
                       lambda: entries(moved) == before[0] + 1, "an append in a linked folder")
        visible_within(1, lambda: (outside / "kept").write_bytes(linked.bytes),
                       lambda: entries(linked) == before[1] + 1, "an append to a linked log")
        new = case.agent.session()
        new.user("new")
        visible_within(1, lambda: (outside / "project" / f"{new.name}.jsonl").write_bytes(new.bytes),
                       lambda: (by_id / new.id).exists(), "a new log in a linked folder")
        visible_within(2, (outside / "kept").unlink, lambda: not (by_id / linked.id).exists(), "a link to nothing")


def test_s3_linked_log_is_only_read(case):
    """S3: changes of a session whose own name is a link are refused and leave link and log; a session in a linked folder
    is changed there."""
    outside = case.new_path("outside")
    (outside / "project").mkdir(parents=True)
    good, moved, linked = case.agent.talk(), case.agent.session(), case.agent.session()
    for session in (moved, linked):
        session.user("text")
    inside = outside / "project" / f"{moved.name}.jsonl"
    inside.write_bytes(moved.bytes)
    (outside / "kept").write_bytes(linked.bytes)
    (case.agent.sessions / "linked").symlink_to(outside / "project")
    link = good.path.parent / f"{linked.name}.jsonl"
    link.symlink_to(outside / "kept")
    with case.mount("allow_delete") as mount:
        folder = (mount / "by-id" / linked.id).resolve()
        equal(status(folder)["writable"], False, "status.json")
        assert "symbolic link" in status(folder)["readOnlyReason"], status(folder)
        for command in ("echo x > append", "echo x > title", "echo '#1' > branch", "echo 'leaf x' > label"):
            assert subprocess.run(command, shell=True, cwd=folder, capture_output=True).returncode != 0, command
        assert subprocess.run(["rmdir", folder], capture_output=True).returncode != 0, "rmdir"
        shell("echo more > append", cwd=(mount / "by-id" / moved.id).resolve())
        run("rmdir", (mount / "by-id" / moved.id).resolve())
    case.arborfs("doctor", "--repair", "--store", f"omp={case.agent.path}", check=False)
    assert link.is_symlink(), link
    equal((outside / "kept").read_bytes(), linked.bytes, "the linked log")
    assert (case.agent.sessions / "linked").is_symlink() and not inside.exists(), inside


def test_s3_link_into_the_mount_is_not_followed(case):
    """S3: links from the store into its own mount are counted and never followed: nothing waits for itself."""
    good = case.agent.talk()
    with case.mount() as mount:
        (case.agent.sessions / "mounted").symlink_to(mount.path)
        (good.path.parent / "2026-01-01T00-00-00-000Z_raw.jsonl").symlink_to(mount / "by-id" / good.id / "raw.jsonl")

        def counted():
            return json.loads((mount / "status.json").read_text())["stores"][0]["leftOut"]

        visible_within(6, lambda: None, lambda: sum(counted().values()) == 2, "the links")
        equal(list(counted()), ["it is in a mount of arborfs"], "left out")
        equal(os.listdir(mount / "by-id"), [good.id], "sessions")


def test_files_of_opencode_beside_its_database(case):
    """Of the JSON files beside a database the sessions that were not moved appear, the others are counted; the database
    of another channel is a store of its own."""
    opencode = case.new_path("opencode")
    shutil.copytree(SAMPLES / "opencode" / "migrated-1.18.33", opencode)
    (opencode / "EXPECTED.json").unlink()
    store = ("--store", f"opencode={opencode}")

    def listed():
        return [row["session"] for row in json.loads(case.arborfs("ls", "-c", "--json", *store).stdout)]

    moved = listed()
    files = opencode / "storage" / "session" / "p1"
    files.mkdir(parents=True)
    for session in (moved[0], "ses_not_moved"):
        (files / f"{session}.json").write_text(json.dumps(
            {"id": session, "projectID": "p1", "directory": "/w", "title": "old", "version": "1.0.0",
             "time": {"created": 1700000000000, "updated": 1700000000000}}))
    equal(sorted(listed()), sorted([*moved, "ses_not_moved"]), "sessions")
    equal(left_out(case, *store), {"moved to OpenCode's database": 1}, "left out")
    shutil.copy(SAMPLES / "opencode" / "fresh-1.18.33" / "opencode.db", opencode / "opencode-dev.db")
    rows = json.loads(case.arborfs("stores", "--json", *store).stdout)
    equal([row["place"] for row in rows], [str(opencode), str(opencode / "opencode-dev.db"), str(opencode / "storage")],
          "stores")
    assert all(row["state"] == "ok" and row["sessions"] for row in rows), rows
    with case.mount(f"store=opencode={opencode}") as mount:
        assert "ses_not_moved" in os.listdir(mount / "by-id"), os.listdir(mount / "by-id")
