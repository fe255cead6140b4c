"""Tags: sessions of every agent have them, and no file of an agent changes."""

import errno
import os
import shutil
from pathlib import Path

from mounting import equal, fails_with, shell, visible_within

SAMPLES = Path(__file__).resolve().parent.parent / "claude"
ID = "11111111-1111-4111-8111-111111111111"
OTHER = "44444444-4444-4444-8444-444444444444"


def claude_dir(case):
    folder = case.new_path("claude")
    shutil.copytree(SAMPLES / "projects", folder / "projects")
    return folder


def state_of(folder):
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in sorted(folder.rglob("*")) if path.is_file()}


def test_tags_are_written_added_to_and_cleared(case):
    """echo > tags replaces the tags of a session, >> adds, an empty line clears; tags/ shows the sessions at once."""
    session = case.agent.session()
    session.write()
    claude = claude_dir(case)
    before = state_of(claude), case.agent.state()
    with case.mount(f"store=claude={claude}") as mount:
        folder = mount / "by-id" / ID
        equal((folder / "tags").read_text(), "")
        equal(os.listdir(mount / "tags"), [])
        shell("echo blue > tags", cwd=folder)
        equal((folder / "tags").read_text(), "blue\n")
        equal(os.listdir(mount / "tags"), ["blue"])
        shell("echo later >> tags", cwd=folder)
        equal((folder / "tags").read_text(), "blue\nlater\n")
        shell("printf 'red\\nblue\\n' > tags", cwd=folder)
        equal((folder / "tags").read_text(), "blue\nred\n")
        equal(sorted(os.listdir(mount / "tags")), ["blue", "red"])
        shell("echo '{\"add\":[\"green\"],\"remove\":[\"red\"]}' > tags", cwd=folder)
        equal((folder / "tags").read_text(), "blue\ngreen\n")
        shell("echo blue > tags", cwd=mount / "by-id" / session.id)
        equal(sorted(os.listdir(mount / "tags" / "blue")), sorted([ID, session.id]))
        equal((mount / "tags" / "blue" / ID).resolve(), folder.resolve())
        shell("echo > tags", cwd=folder)
        equal((folder / "tags").read_text(), "")
        equal(os.listdir(mount / "tags"), ["blue"])
        equal(os.listdir(mount / "tags" / "blue"), [session.id])
    equal((state_of(claude), case.agent.state()), before, "the agents' files")


def test_tags_of_another_process_show_within_a_second(case):
    """`arborfs tag` beside a mount; a tag that is none is refused, and nothing changes."""
    claude = claude_dir(case)
    with case.mount(f"store=claude={claude}") as mount:
        folder = mount / "by-id" / ID
        tag = ["tag", f"--store=claude={claude}", ID]
        visible_within(1, lambda: case.arborfs(*tag, "blue"),
                       lambda: (folder / "tags").read_text() == "blue\n" and os.listdir(mount / "tags") == ["blue"],
                       "the tag")
        fails_with(errno.EINVAL, (folder / "tags").write_text, "a/b\n")
        equal((folder / "tags").read_text(), "blue\n")
        visible_within(1, lambda: case.arborfs(*tag, "-d", "blue"),
                       lambda: not os.listdir(mount / "tags"), "the removal")


def test_tags_of_a_read_only_mount_are_only_read(case):
    """On a read-only mount tags are shown and not written."""
    claude = claude_dir(case)
    case.arborfs("tag", f"--store=claude={claude}", OTHER, "blue")
    with case.mount(f"store=claude={claude}", "ro") as mount:
        equal((mount / "by-id" / OTHER / "tags").read_text(), "blue\n")
        equal(os.listdir(mount / "tags" / "blue"), [OTHER])
        fails_with(errno.EROFS, (mount / "by-id" / OTHER / "tags").write_text, "red\n")
