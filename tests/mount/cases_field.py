"""Reading logs with the damage that users of other session stores have met (field failures F1 to F25). The mount shows
what the contract promises."""

import base64
import errno
import json
import os
import socket

from agentdir import PNG, backdate, compact
from mounting import SANITIZED, at_most, equal, eventually, fails_with, run, without_override
from views import damage, entry_ids, messages, status


def put_log(case, data, name="2026-02-16T10-20-30-000Z_1f9d2a6b9c0d0fff", folder="--srv-shop--"):
    """Writes a log with any bytes, old enough not to count as work in progress."""
    path = case.agent.sessions / folder / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    backdate(path)
    return path


def only_session(mount):
    """The folder of the mount's only session."""
    found = list((mount / "projects").glob("*/*/raw.jsonl"))
    assert len(found) == 1, f"sessions {found}"
    return found[0].parent


def talk(case, turns=5, **options):
    session = case.agent.session(**options)
    session.talk(turns)
    return session


def written_lines(session):
    """The entries of a session as lines, without the header."""
    return [compact(entry) + b"\n" for entry in session.entries]


def assert_store_unchanged(case, mount_checks):
    """Runs checks in a mount and asserts that the store is unchanged afterwards."""
    before = case.agent.state()
    with case.mount() as mount:
        mount_checks(mount)
    equal(case.agent.state(), before, "the store")


def test_f1_torn_tail_is_damage(case):
    """F1: a tail without a newline that does not parse is not an entry; damage/ has its bytes and the rest is
    unchanged."""
    session = talk(case)
    torn = b'{"type":"message","id":"t","par'
    session.raw(torn)
    backdate(session.write())

    def checks(mount):
        folder = mount.session(session)
        equal(entry_ids(folder), [entry["id"] for entry in session.entries], "entries")
        equal(damage(folder), [torn], "damage")
        equal((folder / "raw.jsonl").read_bytes(), session.bytes, "raw.jsonl")
        equal(messages(folder / "context.json")[-1], "turn 5", "last message")
        equal([run_["length"] for run_ in status(folder)["damage"]], [len(torn)], "status.json")

    assert_store_unchanged(case, checks)


def test_f1_whole_tail_without_newline_is_an_entry(case):
    """F1: a tail that parses is an entry even without its newline."""
    session = talk(case)
    path = put_log(case, session.bytes[:-1])
    with case.mount() as mount:
        folder = mount / "projects" / "srv-shop" / path.stem
        equal(entry_ids(folder), [entry["id"] for entry in session.entries], "entries")
        equal((folder / "entries" / f"{session.stem(session.leaf)}.json").read_bytes(), session.line(session.leaf))
        equal(damage(folder), [], "damage")


def test_f2_second_record_on_a_line_is_kept_as_damage(case):
    """F2: of two records on one line the first is an entry, as for the agents (CONTRACT.md 6.1). The second is in
    damage/ and named in status.json, and its children are roots."""
    session = talk(case)
    lines = written_lines(session)
    lines[1] = lines[1].rstrip(b"\n")
    path = put_log(case, session.header_line + b"".join(lines))
    ids = [entry["id"] for entry in session.entries]

    def checks(mount):
        folder = only_session(mount)
        equal(entry_ids(folder), ids[:2] + ids[3:], "entries")
        assert b"".join(damage(folder)).strip() == lines[2].strip(), damage(folder)
        equal(status(folder)["wholeRecordsInDamage"], [ids[2]], "status.json")
        equal(status(folder)["orphans"], 1, "orphans")
        equal(messages(folder / "context.json"), ["turn 4", "turn 5"], "context from the orphan on")
        equal((folder / "raw.jsonl").read_bytes(), path.read_bytes(), "raw.jsonl")

    assert_store_unchanged(case, checks)


def test_f3_corrupt_header_hides_no_entry(case):
    """F3: if the header cannot be read, every entry is shown, status.json gives the problem, and nothing is written."""
    session = talk(case)
    path = put_log(case, b"#" + session.bytes[1:])

    def checks(mount):
        folder = only_session(mount)
        assert os.path.samefile(folder.parent / path.stem, folder), "the name of the log"
        equal(entry_ids(folder), [entry["id"] for entry in session.entries], "entries")
        said = status(folder)
        assert said["problem"] and not said["writable"], said
        run("find", mount.path, "-type", "f", "!", "-name", "events", "-exec", "cat", "{}", "+")

    assert_store_unchanged(case, checks)


def test_f3_missing_empty_and_headerless_logs_are_distinguished(case):
    """F3: the mount distinguishes an empty log, a log without any header, and a log that is gone."""
    empty = put_log(case, b"", "2026-02-16T10-20-30-000Z_000000000000000e")
    headless = put_log(case, b'{"type":"message","id":"a","parentId":null}\n',
                       "2026-02-16T10-20-30-000Z_000000000000000f")
    with case.mount() as mount:
        folders = {path.stem: next((mount / "projects").glob(f"*/{path.stem}")) for path in (empty, headless)}
        said = [status(folders[path.stem])["problem"] for path in (empty, headless)]
        assert all(said) and said[0] != said[1], f"problems {said}"
        equal(entry_ids(folders[headless.stem]), ["a"], "entries of the headless log")
        equal(os.listdir(folders[empty.stem] / "entries"), [], "entries of the empty log")
        fails_with(errno.ENOENT, os.stat, mount / "projects" / "unknown" / "no-such-session")


def test_f10_missing_blob_leaves_the_reference(case):
    """F10: a reference to a missing blob stays in the context, the image file fails with EIO, and status.json counts
    it."""
    session = case.agent.session()
    reference = "blob:sha256:" + "ab" * 32
    session.image(reference)
    session.write()
    with case.mount() as mount:
        folder = mount.session(session)
        context = json.loads((folder / "context.json").read_bytes())
        equal(context["messages"][0]["content"][1]["data"], reference, "data in the context")
        fails_with(errno.EIO, (folder / "images" / f"000001-{session.leaf}-1.png").read_bytes)
        equal(status(folder)["missingBlobs"], 1, "missingBlobs")
        run("ls", "-l", folder / "images")


def test_f10_missing_blob_fails_in_a_read_only_mount(case):
    """F10: in a read-only mount, where the kernel sends no OPEN, an image whose blob is missing or empty also fails
    with EIO instead of being empty."""
    session = case.agent.session()
    empty = case.agent.blob(PNG).removeprefix("blob:sha256:")
    (case.agent.blobs / empty).write_bytes(b"")
    session.image("blob:sha256:" + "ab" * 32)
    session.image("blob:sha256:" + empty)
    session.write()
    with case.mount("ro") as mount:
        images = sorted((mount.session(session) / "images").iterdir())
        equal(len(images), 2, "images")
        for path in (*images, mount / "blobs" / empty):
            fails_with(errno.EIO, path.read_bytes)


def test_f10_restored_blob_appears_in_the_context(case):
    """F10: a context that was read without a blob shows the blob once it is back, at the leaf and on a branch."""
    for options in ((), ("ro",)):
        reference = case.agent.blob(PNG * 40)
        blob = case.agent.blobs / reference.removeprefix("blob:sha256:")
        kept = case.root / "kept"
        blob.rename(kept)
        session = case.agent.session()
        session.image(reference)
        session.user("the leaf")
        session.write()
        with case.mount(*options) as mount:
            folder = mount.session(session)
            paths = [folder / "context.json", folder / "branches" / session.branch(session.leaf) / "context.json"]

            def shown():
                """The image's data in each context, whose length must equal its size."""
                found = []
                for path in paths:
                    data = path.read_bytes()
                    equal(len(data), os.stat(path).st_size, "size")
                    found.append(json.loads(data)["messages"][0]["content"][1]["data"])
                return found

            whole = base64.b64encode(PNG * 40).decode()
            equal(shown(), [reference] * 2, "contexts without the blob")
            case.agent.blob(PNG * 41)  # another blob changes nothing
            equal(shown(), [reference] * 2, "contexts without the blob")
            kept.rename(blob)
            eventually(2, lambda: shown() == [whole] * 2, "contexts with the blob")


def test_f11_truncated_blob_fails_until_it_is_complete(case):
    """F11: a truncated blob fails with EIO in images/ and blobs/, and its reference stays in the context. Once the blob
    is complete it is readable at once."""
    session = case.agent.session()
    content = PNG * 50
    reference = case.agent.blob(content)
    blob = case.agent.blobs / reference.removeprefix("blob:sha256:")
    session.image(reference)
    session.write()
    blob.write_bytes(content[:len(content) // 2])
    backdate(blob)
    with case.mount() as mount:
        folder = mount.session(session)
        image = folder / "images" / f"000001-{session.leaf}-1.png"
        fails_with(errno.EIO, image.read_bytes)
        fails_with(errno.EIO, (mount / "blobs" / blob.name).read_bytes)
        context = json.loads((folder / "context.json").read_bytes())
        equal(context["messages"][0]["content"][1]["data"], reference, "data in the context")
        blob.write_bytes(content)
        for path in (mount / "blobs" / blob.name, image):
            eventually(2, lambda: whole_or_error(path, content), f"the restored {path.name}")
        equal(len(content), os.stat(image).st_size, "size")


def whole_or_error(path, content):
    """True if the file is readable; the bytes read must be complete."""
    data = path.read_bytes()
    if data != content:
        raise RuntimeError(f"{path.name}: {len(data)} of {len(content)} bytes were served as if they were all")
    return True


def test_f12_nul_runs_hide_no_other_entry(case):
    """F12: NULs over a line and at the end are damage; all other entries are shown."""
    session = talk(case, 7)
    lines = written_lines(session)
    lines[3] = b"\0" * (len(lines[3]) - 1) + b"\n"
    put_log(case, session.header_line + b"".join(lines) + b"\0" * 4096)
    ids = [entry["id"] for entry in session.entries]

    def checks(mount):
        folder = only_session(mount)
        equal(entry_ids(folder), ids[:3] + ids[4:], "entries")
        assert sum(data.count(b"\0") for data in damage(folder)) == len(lines[3]) - 1 + 4096, "NULs in damage/"
        assert {"nul"} <= {found["kind"] for found in status(folder)["damage"]}, status(folder)
        shown = run("cat", folder / "transcript.md", folder / "tree.txt").stdout
        assert b"\0" not in shown

    assert_store_unchanged(case, checks)


def test_f12_record_after_nuls_is_kept_as_damage(case):
    """F12: a whole record on the same line as a run of NULs is shown in damage/ and named in status.json."""
    session = talk(case, 3)
    lines = written_lines(session)
    lines[1] = b"\0" * 300 + lines[1]
    put_log(case, session.header_line + b"".join(lines))
    with case.mount() as mount:
        folder = only_session(mount)
        equal(status(folder)["wholeRecordsInDamage"], [session.entries[1]["id"]], "status.json")
        assert lines[1].strip(b"\0\n") in b"".join(damage(folder)), "its bytes in damage/"


def test_f13_bad_files_do_not_hide_good_logs(case):
    """F13: beside an empty file, a folder, a FIFO, a socket, a dangling link and an unreadable log, three good logs are
    listed and read within a second."""
    good = [talk(case) for _ in range(3)]
    for session in good:
        session.write()
    folder = good[0].path.parent
    (folder / "empty.jsonl").touch()
    (folder / "folder.jsonl").mkdir()
    os.mkfifo(folder / "fifo.jsonl")
    (folder / "dangling.jsonl").symlink_to("nowhere")
    with socket.socket(socket.AF_UNIX) as listener:
        os.chdir(folder)
        listener.bind("socket.jsonl")
        os.chdir("/")
    (folder / "secret.jsonl").touch(mode=0)
    (case.agent.sessions / "closed").mkdir(mode=0)
    with case.mount(prefix=without_override()) as mount:
        with at_most(1, "listing and reading the good sessions"):
            names = set(os.listdir(mount / "projects" / "srv-shop"))
            for session in good:
                assert mount.name_of(session) in names, f"{mount.name_of(session)} is not in {names}"
                equal(entry_ids(mount.session(session)), [entry["id"] for entry in session.entries])
        run("find", mount.path, "-ls")
        run("ls", "-R", mount.path)


def test_f13_unreadable_log_is_listed_with_its_error(case):
    """F13: a log without read permission is left out or listed with its error, never as an empty session. Once it is
    readable it is read without a remount."""
    session, neighbour = talk(case), talk(case)
    session.write()
    neighbour.write()
    os.chmod(session.path, 0)
    with case.mount(prefix=without_override()) as mount:
        found = list((mount / "projects").glob(f"*/{session.name}"))
        if found:
            for name in ("raw.jsonl", "context.json", "entries"):
                fails_with((errno.EACCES, errno.EIO, errno.ENOENT), os.open, found[0] / name, os.O_RDONLY)
            assert "ermission" in status(found[0])["problem"], status(found[0])
        equal(len(entry_ids(mount.session(neighbour))), 5, "the neighbour")
        os.chmod(session.path, 0o644)
        eventually(3, lambda: len(entry_ids(mount.session(session))) == 5, "readable again")


def test_f14_huge_line_does_not_slow_the_listing(case):
    """F14: with one log of a single 200 MB line and 3000 small ones, the root is listed within two seconds, the head of
    the huge log can be read, and the daemon stays small."""
    for number in range(3000):
        session = case.agent.session(f"/srv/many-{number % 30}")
        session.user("hi")
        session.write()
    huge = case.agent.session("/srv/huge")
    line = huge.line(huge.user("x" * 200_000_000))
    huge.write()
    with case.mount() as mount:
        with at_most(2, "listing everything"):
            equal(len(os.listdir(mount / "projects")), 31, "projects")
            equal(len(os.listdir(mount / "by-id")), 3001, "by-id")
            equal(len(os.listdir(mount / "recent")), 50, "recent")
        with at_most(2, "the head of the huge log"):
            head = run("head", "-c", "100", mount.session(huge) / "raw.jsonl").stdout
            equal(head, (huge.header_line + line)[:100], "head")
        entry = mount.session(huge) / "entries" / f"{huge.stem(huge.leaf)}.json"
        equal(os.stat(entry).st_size, len(line), "size of the huge entry")
        equal(run("tail", "-c", "60", entry).stdout, line[-60:], "its end")
        assert_memory_below(mount, 200)


def assert_memory_below(mount, megabytes):
    """Asserts that the daemon's own memory is below this."""
    if not SANITIZED:
        used = mount.memory() / 1e6
        assert used < megabytes, f"the daemon uses {used:.0f} MB, allowed are {megabytes}"


def test_f15_projects_with_one_folder_name_are_distinguished(case):
    """F15: two working directories for which the agent uses the same folder name are two projects."""
    for cwd in ("/a/b-c", "/a-b/c"):
        session = talk(case, cwd=cwd, folder="--a-b-c--")
        session.write()
    with case.mount() as mount:
        found = {(mount / "projects" / name / "cwd").read_text().strip() for name in os.listdir(mount / "projects")}
        equal(found, {"/a/b-c", "/a-b/c"}, "projects")


def test_f16_sessions_are_found_in_folders_of_any_name(case):
    """F16: sessions are found in folders of any name: a hash, spaces, newlines, 255 letters."""
    names = ["3f9a0c", "two words", "new\nline", "größe", "-tmp-x", "a" * 255]
    sessions = [talk(case, folder=name) for name in names]
    for session in sessions:
        session.write()
    with case.mount() as mount:
        found = set(os.listdir(mount / "projects" / "srv-shop")) - {"cwd"}
        equal(found, {mount.name_of(session) for session in sessions}, "sessions")


def test_f18_entry_with_a_missing_parent_is_a_root(case):
    """F18: if a middle line is lost, both halves are readable. The orphan is a root, and status.json counts it
    (CONTRACT.md 6.1)."""
    session = talk(case, 6)
    lines = written_lines(session)
    put_log(case, session.header_line + b"".join(lines[:2] + lines[3:]))
    ids = [entry["id"] for entry in session.entries]
    with case.mount() as mount:
        folder = only_session(mount)
        equal(entry_ids(folder), ids[:2] + ids[3:], "entries")
        assert "orphans" not in os.listdir(folder)
        equal(status(folder)["orphans"], 1, "orphans")
        equal(messages(folder / "context.json"), ["turn 4", "turn 5", "turn 6"], "the second half")
        equal(messages(folder / "branches" / ids[1] / "context.json"), ["turn 1", "turn 2"], "the first half")
        tree = (folder / "tree.txt").read_text()
        equal(sum(f"turn {turn}" in tree for turn in range(1, 7)), 5, "entries in the tree")


def test_f19_walks_of_cycles_and_duplicate_ids_end(case):
    """F19: with an entry that is its own parent, two that are each other's parent and two with one id, every walk ends
    and each line is shown once. Of two entries with one id the last counts for lookups (CONTRACT.md 6.1)."""
    session = talk(case, 2)
    session.user("own parent", entry_id="00000aaa", parent="00000aaa")
    session.user("first of two", entry_id="00000bbb", parent="00000ccc")
    session.user("second of two", entry_id="00000ccc", parent="00000bbb")
    session.user("double one", entry_id="00000ddd", parent=session.entries[0]["id"])
    session.user("double two", entry_id="00000ddd", parent=session.entries[0]["id"])
    session.user("child of a cycle", parent="00000bbb")
    session.write()
    with case.mount() as mount:
        folder = mount.session(session)
        run("timeout", "20", "find", mount.path)
        equal(entry_ids(folder), [entry["id"] for entry in session.entries], "entries")
        equal(len({os.stat(folder / "entries" / name).st_ino for name in os.listdir(folder / "entries")}), 8, "inodes")
        texts = ["".join(path.read_text()) for path in sorted((folder / "text").iterdir())]
        equal(sum("double" in text for text in texts), 2, "both doubles have a text")
        equal(messages(folder / "context.json"), ["second of two", "first of two", "child of a cycle"], "context")
        for entry_id in ("00000aaa", "00000bbb", "00000ccc", "00000ddd"):
            assert messages(folder / "branches" / entry_id / "context.json"), entry_id
        said = status(folder)
        assert said["duplicateIds"] == 1 and said["cycles"] > 0, said
        looked_up = json.loads((folder / "entries" / "00000ddd.json").read_bytes())
        equal(looked_up["message"]["content"], "double two", "the last of two wins")


def test_f20_metadata_entries_do_not_hide_the_path(case):
    """F20: with labels, custom and mode entries between messages, the branch's entries are the chain of parents, in
    order."""
    session = case.agent.session()
    first = session.user("one")
    session.label(first, "a")
    session.add("mode_change", mode="plan")
    session.assistant("two")
    session.user("aside", parent=first)
    session.add("custom", customType="x", data={}, parent=session.entries[3]["id"])
    session.user("three")
    session.add("custom", customType="session_exit", data={})
    session.write()
    with case.mount() as mount:
        folder = mount.session(session)
        chain = [f"{session.stem(entry_id)}.json" for entry_id in session.ancestry(session.leaf)]
        equal(sorted(os.listdir(folder / "branches" / "current" / "entries")), chain, "path")
        equal(messages(folder / "context.json"), ["one", "two", "three"], "context")
        text = (folder / "transcript.md").read_text()
        assert text.index("one") < text.index("two") < text.index("three"), "order in the transcript"
        assert "aside" not in text


def test_f21_dangling_compaction_hides_no_entry(case):
    """F21: a compaction whose first kept entry is unknown leaves only its summary in the context; every entry before it
    is still shown."""
    session = talk(case, 4)
    session.add("compaction", summary="What was before.", firstKeptEntryId="deadbeef", tokensBefore=1)
    session.user("after")
    session.write()
    with case.mount() as mount:
        folder = mount.session(session)
        equal(messages(folder / "context.json"), ["What was before.", "after"], "context")
        equal(len(entry_ids(folder)), 6, "entries")
        before = messages(folder / "branches" / "4" / "context.json")
        equal(before, [f"turn {turn}" for turn in range(1, 5)], "before it")


def test_f22_read_beyond_a_truncation_fails(case):
    """F22: if a log is truncated under an open handle, a read beyond its end fails instead of returning nothing."""
    session = case.agent.session()
    for _ in range(40):
        session.user("x" * 20_000)
    session.write()
    with case.mount() as mount:
        with open(mount.session(session) / "raw.jsonl", "rb", buffering=0) as handle:
            handle.read(10)
            os.truncate(session.path, 1000)
            fails_with((errno.ESTALE, errno.EIO), os.pread, handle.fileno(), 100, len(session.bytes) - 100)


def test_f23_lone_surrogates_and_bad_utf8_are_served(case):
    """F23: entries with an escaped lone surrogate and with a raw 0xFF are listed byte for byte; texts are valid
    UTF-8."""
    session = talk(case, 1)
    surrogate = compact(session.entry(session.user("SURROGATE"))).replace(b"SURROGATE", rb"half \ud83d pair") + b"\n"
    broken = compact(session.entry(session.user("BROKEN"))).replace(b"BROKEN", b"bad \xff byte") + b"\n"
    path = put_log(case, session.header_line + written_lines(session)[0] + surrogate + broken)
    with case.mount() as mount:
        folder = only_session(mount)
        names = sorted(os.listdir(folder / "entries"))
        equal(len(names), 3, "entries")
        equal((folder / "entries" / names[1]).read_bytes(), surrogate, "the surrogate")
        equal((folder / "entries" / names[2]).read_bytes(), broken, "the bad byte")
        equal((folder / "raw.jsonl").read_bytes(), path.read_bytes(), "raw.jsonl")
        texts = [(folder / "text" / name.replace(".json", ".md")).read_bytes().decode("utf-8") for name in names]
        assert all("\N{REPLACEMENT CHARACTER}" in text for text in texts[1:]), texts
        (folder / "transcript.md").read_bytes().decode("utf-8")
        assert rb"\ud83d" in (folder / "context.json").read_bytes(), "JSON keeps the escape"


def test_f24_only_lf_ends_a_line(case):
    """F24: only LF ends a line; U+2028 and U+0085 in a text, CR before LF and a BOM at the start lose nothing."""
    session = talk(case, 2)
    session.user("one\u2028two\u2029three\u0085four")
    path = put_log(case, b"\xef\xbb\xbf" + session.bytes.replace(b"\n", b"\r\n"))
    with case.mount() as mount:
        folder = only_session(mount)
        equal(entry_ids(folder), [entry["id"] for entry in session.entries], "entries")
        equal(messages(folder / "context.json")[-1], "one\u2028two\u2029three\u0085four", "text")
        equal((folder / "raw.jsonl").read_bytes(), path.read_bytes(), "raw.jsonl")
        equal(damage(folder), [], "damage")
        equal(json.loads((folder / "session.json").read_bytes())["id"], session.id, "header")


def test_f25_unknown_versions_and_types_are_shown(case):
    """F25: a log of version 99 with unknown entry types is shown like any other, and marked read-only."""
    session = talk(case, 2, version=99)
    session.add("hologram", beam={"power": 9})
    session.write()
    with case.mount() as mount:
        folder = mount.session(session)
        assert f"000003-hologram-{session.leaf}.json" in os.listdir(folder / "entries")
        assert "power" in (folder / "text" / f"000003-hologram-{session.leaf}.md").read_text()
        equal(messages(folder / "context.json"), ["turn 1", "turn 2"], "context")
        assert status(folder)["writable"] is False and status(folder)["readOnlyReason"], status(folder)
