"""The daemon's limited memory (CONTRACT.md 7.12): clients do not notice that indexes are dropped and read again."""

import json
import os
import time

from agentdir import append_bytes, backdate, rich_store
from crawl import is_control, paths_below, tree_of
from mounting import equal, eventually

SMALL = 3  # sessions beside the rich ones


def stats_of(root):
    """{relative path: stat} of everything except folders, whose times change with their sessions."""
    found = {}
    for relative in paths_below(root):
        path = os.path.join(root, relative)
        if not os.path.isdir(path) and not is_control(relative):
            st = os.lstat(path)
            found[relative] = (st.st_ino, st.st_size, st.st_mtime_ns, st.st_mode)
    return found


def loaded(mount):
    return json.loads((mount.path / "status.json").read_text())["indexedSessions"]


def quiet_store(case):
    """A store without recent writes; returns its sessions."""
    sessions = list(rich_store(case.agent).values())
    sessions += [case.agent.talk(3) for _ in range(SMALL)]
    for session in sessions:
        backdate(session.path)
    return sessions


def evict_other_indexes(mount, by):
    """Reads one session until it is the only one with an index."""
    folder = mount.session(by)

    def is_only_index():
        backdate(by.path, 10 + time.monotonic() % 1)  # looks like a write, so the session is read again
        os.listdir(folder / "entries")
        return loaded(mount) == 1
    eventually(20, is_only_index, "all other indexes are let go")


def test_mount_without_cached_indexes_shows_the_same_tree(case):
    """With index_memory=0 a mount shows the same bytes and attributes as a mount that keeps its indexes."""
    sessions = quiet_store(case)
    *others, last = sessions
    with case.mount("index_memory=0") as forgetful, case.mount() as mount:
        projects = forgetful.path / "projects"
        first, first_stats = tree_of(projects), stats_of(projects)
        entry = last.stem(last.leaf) + ".json"
        with open(forgetful.session(others[0]) / "raw.jsonl", "rb") as raw, \
                open(forgetful.session(others[1]) / "context.json", "rb") as context:
            evict_other_indexes(forgetful, last)
            equal(raw.read(), others[0].path.read_bytes(), "a log that was opened before")
            equal(context.read(), (mount.session(others[1]) / "context.json").read_bytes(),
                  "a context that was opened before")
            equal(loaded(forgetful), 1, "indexes, since handles that are open need none")
        equal((forgetful.session(last) / "entries" / entry).read_bytes(), last.line(last.leaf), "the last entry")
        again, again_stats = tree_of(projects), stats_of(projects)
        name = f"{last.project}/{forgetful.name_of(last)}"
        for stats in (first_stats, again_stats):
            for relative in [relative for relative in stats if relative.startswith(name)]:
                del stats[relative]  # its time differs each time
        equal(again_stats, first_stats, "attributes")
        assert again == first, "what was let go reads otherwise"
        assert tree_of(mount.path / "projects") == first, "a mount that keeps its indexes shows something else"


def test_append_to_a_log_with_an_evicted_index_is_seen(case):
    """An append by another process to a log whose index was evicted shows in events and entries/."""
    sessions = quiet_store(case)
    grown, last = sessions[-2], sessions[-1]
    with case.mount("index_memory=0") as mount:
        folder = mount.session(grown)
        old = sorted(os.listdir(folder / "entries"))
        here = os.open(folder / "entries", os.O_PATH)
        evict_other_indexes(mount, last)
        with open(mount.path / "events", "rb", buffering=0) as events:
            grown.user("after a long silence")
            append_bytes(grown.path, grown.pending())
            news = b""
            while not (b'"event":"appended"' in news and grown.id.encode() in news):
                news += events.read(65536)
        name = grown.stem(grown.leaf) + ".json"
        eventually(2, lambda: sorted(os.listdir(folder / "entries")) == [*old, name], "the new entry")
        equal((folder / "entries" / name).read_bytes(), grown.line(grown.leaf), "the new entry")
        fd = os.open(name, os.O_RDONLY, dir_fd=here)
        equal(os.read(fd, 65536), grown.line(grown.leaf), "the new entry, by the folder as it was opened before")
        os.close(fd)
        os.close(here)
