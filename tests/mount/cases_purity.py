"""Reading never writes (CONTRACT.md 3.5): after any crawl every byte, mode, name, inode and mtime of the store is as
before."""

import os
import socket

from crawl import paths_below
from mounting import Skip, equal, run, shell, variants

# The programs that read everything there is; other cases test whether they succeed.
CRAWL = """
find . -ls > /dev/null
find . -type f ! -name events -exec cat {} + > /dev/null
find . -exec stat {} + > /dev/null
find -L . -maxdepth 6 > /dev/null
find . -exec getfattr -d {} + > /dev/null
tar -cf /dev/null --exclude=events .
grep -r --exclude=events needle . > /dev/null
ls -lR > /dev/null
true
"""


def odd_store(case):
    """A rich store with everything else that an agent dir may hold."""
    case.browse()
    hurt = case.store["hurt"]
    hurt.raw(b'{"type":"message","id":"torn')
    hurt.write()
    folder = hurt.path.parent
    (folder / "empty.jsonl").touch()
    (folder / f".{hurt.path.name}.lock").write_text("1:1\n")
    (folder / f"{hurt.path.name}.123.bak").write_bytes(hurt.bytes)
    (folder / "folder.jsonl").mkdir()
    (folder / "link.jsonl").symlink_to(hurt.path.name)
    (folder / "dangling.jsonl").symlink_to("nowhere")
    os.mkfifo(folder / "fifo.jsonl")
    with socket.socket(socket.AF_UNIX) as listener:
        os.chdir(folder)
        listener.bind("socket.jsonl")
        os.chdir("/")
    (case.agent.blobs / "not-a-blob").write_text("x")
    (case.agent.blobs / ("0" * 64)).write_text("other bytes than its name says")
    (case.agent.path / "history.db").write_bytes(b"SQLite")


@variants(default={"options": ()}, with_attributes={"options": ("xattr",)}, read_only={"options": ("ro",)})
def test_f26_reading_does_not_change_the_store(case, options):
    """F26: find, cat, stat, getfattr, tar, grep and ls over everything leave the store unchanged."""
    odd_store(case)
    before = case.agent.state()
    with case.mount(*options) as mount:
        run("bash", "-c", CRAWL, cwd=mount.path, check=False)
        equal(changes(before, case.agent.state()), {}, "while mounted")
        assert len(paths_below(mount.path)) > 1000
    equal(changes(before, case.agent.state()), {}, "after the unmount")


def changes(before, after):
    """The differences between two states of an agent dir."""
    return {name: (before.get(name), after.get(name)) for name in {*before, *after}
            if before.get(name) != after.get(name)}


def test_reading_leaves_no_file_for_other_users(case):
    """After a crawl the user's state, data and cache folders hold nothing that other users may read."""
    with case.browse() as mount:
        run("bash", "-c", CRAWL, cwd=mount.path, check=False)
    for folder in ("state", "data", "cache"):
        path = case.root / folder
        if path.exists():
            equal(shell(f"find '{path}' -perm /077"), "", "files that others may read")


def test_read_only_store_is_served(case):
    """A store on a read-only bind mount shows the same tree, because nothing has to be written."""
    case.browse()
    with case.mount() as mount:
        wanted = without_terminals(mount)
    read_only = case.new_path("read-only")
    read_only.mkdir()
    if os.geteuid() != 0 or run("mount", "--bind", case.agent.path, read_only, check=False).returncode != 0:
        raise Skip("cannot bind folders")
    run("mount", "-o", "remount,bind,ro", read_only)
    with case.mount(agent_dir=read_only) as mount:
        equal(without_terminals(mount), wanted, "paths")


def without_terminals(mount):
    """All paths except the breadcrumbs, which name logs by the path of the agent dir."""
    return [path for path in paths_below(mount.path) if not path.startswith("terminals/")]
