"""Another process writes beside the mount (CONTRACT.md 3): its changes are seen in time, no read mixes two states, and
open handles keep their state.

Each case runs three times: with inotify and kernel notifications, with a daemon that polls, and with a daemon that
never notifies the kernel.
"""

import contextlib
import errno
import json
import os
import shutil
import threading
import time

from agentdir import PNG, append_bytes, backdate, compact, overwrite_bytes, replace_by_rename, slot_line, started
from crawl import ROOT_CONTROLS, SESSION_CONTROLS
from mounting import PATIENCE, equal, eventually, fails_with, variants, visible_within
from views import damage, messages, status

EVENTS_LIMIT = 0.2
POLL_LIMIT = 1.2
MODES = {
    "notified": {"limit": EVENTS_LIMIT, "options": ()},
    "polling": {"limit": POLL_LIMIT, "options": ("noinotify",)},
    "unnotified": {"limit": POLL_LIMIT, "options": ("nonotify",)},
}
in_each_mode = variants(**MODES)


def absent(path):
    return not os.path.lexists(path)


def fill_kernel_caches(folder):
    """Fills the kernel's caches with every file of a session, so that stale data would show."""
    for place, _, files in os.walk(folder):
        for name in set(files) - ROOT_CONTROLS - SESSION_CONTROLS:
            with contextlib.suppress(OSError):
                path = os.path.join(place, name)
                os.stat(path)
                with open(path, "rb") as file:
                    file.read()


def is_current(folder, session, last_text):
    """True if every view of a session shows its current state."""
    log = session.path.read_bytes()
    stem = session.stem(session.leaf) + ".json"
    return (os.stat(folder / "raw.jsonl").st_size == len(log)
            and (folder / "raw.jsonl").read_bytes() == log
            and sorted(os.listdir(folder / "entries"))[-1] == stem
            and os.readlink(folder / "leaf") == f"entries/{stem}"
            and (folder / "entries" / stem).read_bytes() == session.line(session.leaf)
            and os.readlink(folder / "branches" / "current") == session.branch(session.leaf)
            and messages(folder / "context.json")[-1] == last_text
            and last_text in (folder / "transcript.md").read_text()
            and last_text[:20] in (folder / "tree.txt").read_text()  # it shows the first words
            and os.stat(folder / "raw.jsonl").st_mtime_ns == os.stat(session.path).st_mtime_ns)


@in_each_mode
def test_append_is_seen_in_every_view(case, limit, options):
    """A line appended by another process is shown in the log, the entries, the leaf, the branch, the context and the
    texts."""
    session = case.agent.talk(20)
    with case.mount(*options) as mount:
        folder = mount.session(session)
        for text in ("news one", "news two", "news three"):
            fill_kernel_caches(folder)
            session.user(text)
            assert absent(folder / "entries" / f"{session.stem(session.leaf)}.json"), "a name not yet written"
            visible_within(limit, session.grow, lambda: is_current(folder, session, text), text)


@in_each_mode
def test_torn_append_is_seen_once_complete(case, limit, options):
    """A line that arrives in pieces is neither an entry nor damage until its newline arrives."""
    session = case.agent.talk(20)
    with case.mount(*options) as mount:
        folder = mount.session(session)
        fill_kernel_caches(folder)
        session.user("in three pieces")
        line = session.pending()
        for piece in (line[:10], line[10:-20]):
            visible_within(limit, lambda: append_bytes(session.path, piece),
                           lambda: (folder / "raw.jsonl").read_bytes() == session.path.read_bytes(), "a piece")
            assert len(os.listdir(folder / "entries")) == 20 and absent(folder / "damage")
        visible_within(limit, lambda: append_bytes(session.path, line[-20:]),
                       lambda: is_current(folder, session, "in three pieces"), "the whole line")


@in_each_mode
def test_torn_tail_becomes_damage_after_two_seconds(case, limit, options):
    """A tail without a newline counts as in progress for two seconds. After that it is shown as damage until it is
    completed."""
    session = case.agent.talk(20)
    with case.mount(*options) as mount:
        folder = mount.session(session)
        fill_kernel_caches(folder)
        session.user("late")
        line = session.pending()
        visible_within(limit, lambda: append_bytes(session.path, line[:30]),
                       lambda: (folder / "raw.jsonl").read_bytes().endswith(line[:30]), "the piece in the log")
        assert absent(folder / "damage"), "damage too early"
        assert all(run["inProgress"] for run in status(folder)["damage"]), status(folder)
        visible_within(2 + limit + 0.5, lambda: None, lambda: damage(folder) == [line[:30]], "the piece in damage/")
        equal([run["inProgress"] for run in status(folder)["damage"]], [False], "whether it is in progress")
        visible_within(limit, lambda: append_bytes(session.path, line[30:]),
                       lambda: is_current(folder, session, "late") and absent(folder / "damage"), "the line made whole")


@in_each_mode
def test_torn_tail_with_a_future_mtime_is_damage(case, limit, options):
    """A torn tail in a log whose mtime is in the future counts as damage, not as in progress."""
    session = case.agent.talk(20)
    append_bytes(session.path, b'{"torn":')
    backdate(session.path, -3600)
    with case.mount(*options) as mount:
        folder = mount.session(session)
        visible_within(limit, lambda: None, lambda: damage(folder) == [b'{"torn":'], "the tail in damage/")
        equal([run["inProgress"] for run in status(folder)["damage"]], [False], "whether it is in progress")


@in_each_mode
def test_title_written_in_place_is_seen(case, limit, options):
    """A title slot overwritten in place, with size and inode unchanged, is shown in title, session.json, raw.jsonl and
    recent/."""
    session = case.agent.talk(20, slot=True, title="Before")
    backdate(session.path)
    with case.mount(*options) as mount:
        folder = mount.session(session)
        for title in ("After", "Much later"):
            fill_kernel_caches(folder)
            os.listdir(mount / "recent")
            slug = title.lower().replace(" ", "-")
            visible_within(
                limit, lambda: overwrite_bytes(session.path, 0, slot_line(title)),
                lambda: ((folder / "title").read_text().strip() == title
                         and json.loads((folder / "session.json").read_bytes())["title"] == title
                         and (folder / "raw.jsonl").read_bytes() == session.path.read_bytes()
                         and os.listdir(mount / "recent") == [f"{started(session)}-{slug}"]), title)


@in_each_mode
def test_rewrite_by_rename_is_seen(case, limit, options):
    """A log replaced by one with shifted content under the same ids shows the new bytes everywhere."""
    session = case.agent.talk(20)
    with case.mount(*options) as mount:
        folder = mount.session(session)
        for round_ in range(3):
            fill_kernel_caches(folder)
            texts = [f"round {round_} " + "x" * (40 * round_ + turn) for turn in range(21 + round_)]
            session.retell(texts)
            visible_within(limit, lambda: replace_by_rename(session.path, session.bytes),
                           lambda: is_current(folder, session, texts[-1]), f"round {round_}")
            for entry in session.entries:
                path = folder / "entries" / f"{session.stem(entry['id'])}.json"
                equal(path.read_bytes(), session.line(entry["id"]), path.name)


@in_each_mode
def test_truncation_is_seen(case, limit, options):
    """A log truncated in place shows the remaining entries, and later appends to it are shown too."""
    session = case.agent.talk(20)
    with case.mount(*options) as mount:
        folder = mount.session(session)
        fill_kernel_caches(folder)
        gone = session.entries[10]
        session.cut(10)
        visible_within(limit, lambda: os.truncate(session.path, len(session.bytes)),
                       lambda: is_current(folder, session, "turn 10"), "the cut log")
        equal(len(os.listdir(folder / "entries")), 10, "entries")
        fails_with(errno.ENOENT, os.stat, folder / "entries" / f"{gone['id']}.json")
        session.user("after the cut")
        visible_within(limit, session.grow, lambda: is_current(folder, session, "after the cut"), "an append")


@in_each_mode
def test_deleted_session_disappears_and_returns(case, limit, options):
    """A deleted log is not listed and gives ENOENT; when it is created again it is shown with its new content."""
    session, neighbour = case.agent.talk(20), case.agent.talk(20)
    with case.mount(*options) as mount:
        folder = mount.session(session)
        fill_kernel_caches(folder)
        name = mount.name_of(session)
        names = [mount / "by-id" / session.id, folder, folder / "raw.jsonl", folder / "entries"]
        visible_within(limit, session.path.unlink, lambda: all(absent(name) for name in names)
                       and name not in os.listdir(folder.parent)
                       and session.id not in os.listdir(mount / "by-id")
                       and len(os.listdir(mount / "recent")) == 1, "deleted")
        equal(os.listdir(mount / "by-id"), [neighbour.id], "the neighbour")
        session.retell(["a new life"])
        visible_within(limit, session.write, lambda: is_current(folder, session, "a new life")
                       and len(os.listdir(mount / "recent")) == 2, "created anew")


@in_each_mode
def test_new_sessions_and_projects_are_seen(case, limit, options):
    """New logs are shown: in a known folder, in a new folder, and in a project that did not exist."""
    first = case.agent.talk(20)
    with case.mount(*options) as mount:
        fill_kernel_caches(mount.path)
        for cwd in ("/srv/shop", "/srv/shop", "/srv/new-project"):
            session = case.agent.session(cwd, folder=None if cwd.endswith("project") else first.folder)
            session.user("a first word")
            folder = mount.session(session)
            assert absent(folder) and absent(mount / "by-id" / session.id), "a name not yet created"
            visible_within(limit, session.write, lambda: is_current(folder, session, "a first word")
                           and session.id in os.listdir(mount / "by-id")
                           and mount.name_of(session) in os.listdir(folder.parent), f"a session in {cwd}")


@in_each_mode
def test_f16_renamed_store_folder_keeps_its_sessions(case, limit, options):
    """F16: when a store folder is renamed under the mount, its session keeps its place and inode, open handles still
    read, and later appends are shown."""
    session = case.agent.talk(20, folder="-x")
    with case.mount(*options) as mount:
        folder = mount.session(session)
        fill_kernel_caches(folder)
        number = os.stat(folder).st_ino
        with open(folder / "entries" / f"{session.stem(session.leaf)}.json", "rb") as handle:
            os.stat(mount / "projects" / "-x")
            session.folder = "-y"
            visible_within(limit, lambda: os.rename(case.agent.sessions / "-x", case.agent.sessions / "-y"),
                           lambda: (is_current(folder, session, "turn 20") and os.path.isdir(mount / "projects" / "-y")
                                    and absent(mount / "projects" / "-x")), "renamed")
            equal(os.stat(folder).st_ino, number, "inode number of the session")
            equal(handle.read(), session.line(session.leaf), "an open handle")
        session.user("after the move")
        visible_within(limit, session.grow, lambda: is_current(folder, session, "after the move"), "an append")


@in_each_mode
def test_external_labels_and_branches_are_seen(case, limit, options):
    """A label and a branch made by the agent appear; a renamed label moves."""
    session = case.agent.talk(20)
    with case.mount(*options) as mount:
        folder = mount.session(session)
        fill_kernel_caches(folder)
        target = session.entries[4]["id"]
        session.label(target, "here")
        entry = f"../entries/{session.stem(target)}.json"
        visible_within(limit, session.grow, lambda: os.readlink(folder / "labels" / "here") == entry, "a label")
        session.label(target, "there")
        visible_within(limit, session.grow, lambda: os.listdir(folder / "labels") == ["there"], "another label")
        tip = session.branch(session.leaf)
        session.user("elsewhere", parent=target)
        visible_within(limit, session.grow, lambda: sorted(os.listdir(folder / "branches")) == sorted(
            ["current", tip, session.branch(session.leaf)]), "a branch")
        names = sorted(os.listdir(folder / "branches" / "current" / "entries"))
        equal(names, [f"{session.stem(entry_id)}.json" for entry_id in session.ancestry(session.leaf)], "its path")


@in_each_mode
def test_new_blobs_artifacts_and_breadcrumbs_are_seen(case, limit, options):
    """New blobs, artifacts and breadcrumbs appear. They are not logs, so every mode allows a second."""
    limit = max(limit, POLL_LIMIT)
    session = case.agent.talk(20)
    reference = case.agent.blob(PNG * 40)
    case.agent.terminals.mkdir()
    session.image(reference)
    session.grow()
    shutil.move(case.agent.blobs, case.root / "kept")
    with case.mount(*options) as mount:
        folder = mount.session(session)
        fill_kernel_caches(mount.path)
        image = folder / "images" / f"000021-{session.leaf}-1.png"
        fails_with(errno.EIO, image.read_bytes)
        visible_within(limit, lambda: shutil.move(case.root / "kept", case.agent.blobs),
                       lambda: image.read_bytes() == PNG * 40, "a blob")
        artifacts = session.path.with_suffix("")
        visible_within(limit, artifacts.mkdir, lambda: os.listdir(folder / "artifacts") == [], "artifacts")
        visible_within(limit, lambda: (artifacts / "1.log").write_text("x"),
                       lambda: (folder / "artifacts" / "1.log").read_text() == "x", "an artifact")
        visible_within(limit, lambda: case.agent.breadcrumb("pts-7", session),
                       lambda: os.path.samefile(mount / "terminals" / "pts-7", folder), "a breadcrumb")


@in_each_mode
def test_special_files_in_place_of_a_log_do_not_block(case, limit, options):
    """A log replaced by a folder, a FIFO or a dangling link disappears or fails at once, and its neighbour is not
    affected. The log is shown again when it is back."""
    session, neighbour = case.agent.talk(20), case.agent.talk(20)
    with case.mount(*options) as mount:
        folder = mount.session(session)

        def gone_or_error():
            try:
                (folder / "raw.jsonl").read_bytes()
            except OSError:
                return is_current(mount.session(neighbour), neighbour, "turn 20")
            return False

        for make in (os.mkdir, os.mkfifo, lambda path: os.symlink("nowhere", path)):
            fill_kernel_caches(folder)
            session.path.unlink()
            visible_within(limit, lambda: make(session.path), gone_or_error, "the log is no log")
            (os.rmdir if session.path.is_dir() else os.unlink)(session.path)
            visible_within(limit, session.write, lambda: is_current(folder, session, "turn 20"), "the log is back")


@in_each_mode
def test_store_created_after_the_mount_is_seen(case, limit, options):
    """In a mount made before the agent ever ran the tree is empty, then sessions appear as they are created."""
    session = case.agent.session()
    session.user("hello")
    case.agent.sessions.rmdir()
    case.agent.path.rmdir()
    with case.mount(*options) as mount:
        equal(os.listdir(mount / "projects"), [], "projects")
        equal(json.loads((mount / "status.json").read_bytes())["storePresent"], False, "storePresent")
        # A folder that does not exist cannot be watched, so a second is allowed.
        visible_within(POLL_LIMIT, session.write, lambda: is_current(mount.session(session), session, "hello"), "hello")
        session.user("and again")
        eventually(3, lambda: os.listdir(mount / "projects") == ["srv-shop"])
        visible_within(limit, session.grow, lambda: is_current(mount.session(session), session, "and again"), "again")


def test_f29_torn_appends_never_show_as_damage(case):
    """F29: a log whose lines are appended in three pieces, 10 ms apart, never shows damage to a reader that reads
    continuously."""
    session = case.agent.talk(20)
    with case.mount() as mount:
        folder = mount.session(session)
        done = threading.Event()
        thread = threading.Thread(target=append_in_pieces, args=(session, 60, done))
        thread.start()
        looks = 0
        while not done.is_set():
            found = status(folder)["damage"]
            assert all(run["inProgress"] for run in found), f"phantom damage {found}"
            assert absent(folder / "damage"), os.listdir(folder / "damage")
            looks += 1
        thread.join()
        assert looks > 20 / PATIENCE, f"only {looks} looks"
        eventually(POLL_LIMIT, lambda: is_current(folder, session, session.entries[-1]["message"]["content"]))


def append_in_pieces(session, lines, done):
    try:
        for number in range(lines):
            line = compact(session.entry(session.user(f"piecemeal {number}"))) + b"\n"
            session.pending()
            third = len(line) // 3
            for piece in (line[:third], line[third:2 * third], line[2 * third:]):
                append_bytes(session.path, piece)
                time.sleep(0.01)
    finally:
        done.set()
