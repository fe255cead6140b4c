"""Walks a mount: lists it, distinguishes streams and control files from other files, compares copies."""

import os
import re
import stat
from pathlib import Path

from mounting import SOURCE_DIR, equal

# Files that take commands, at the root and in a session (CONTRACT.md 2.7); reading one gives no content of a session.
# Those of a session are rows of this table.
VERBS = (SOURCE_DIR / "core" / "write" / "verbs.cc").read_text()
ROOT_CONTROLS = {"new", "events"}
SESSION_CONTROLS = set(re.findall(r'\{"(\w+)", Framing::(?!.*VerbFile::of_(?:mount|view))', VERBS))
assert SESSION_CONTROLS >= {"append", "branch", "label", "fork"}, SESSION_CONTROLS


def is_control(relative):
    """True for a control file and for the stream of events. Takes the path below the mount point."""
    parts = Path(relative).parts
    return parts[-1] in (ROOT_CONTROLS if len(parts) == 1 else SESSION_CONTROLS) and "entries" not in parts


def paths_below(root):
    """Every listed path below a folder, relative, in a stable order. Links are not followed."""
    found = []
    for folder, folders, files in os.walk(root):
        folders.sort()
        found += [os.path.relpath(os.path.join(folder, name), root) for name in folders + sorted(files)]
    return found


def tree_of(root):
    """{relative path: (kind, content)} of a folder; the content is a file's bytes or a link's target. Control files are
    left out."""
    found = {}
    for relative in paths_below(root):
        path = os.path.join(root, relative)
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            found[relative] = ("link", os.readlink(path))
        elif stat.S_ISDIR(mode):
            found[relative] = ("folder", None)
        elif not is_control(relative):
            found[relative] = ("file", Path(path).read_bytes())
    return found


def regular_files(root):
    """Relative paths of the regular files that have content."""
    return [relative for relative in paths_below(root)
            if stat.S_ISREG(os.lstat(os.path.join(root, relative)).st_mode) and not is_control(relative)]


def same_tree(copied, original):
    """Asserts that a copy holds what the original holds; both from tree_of. status.json at the root changes while the
    mount is used and is left out."""
    for tree in (copied, original):
        tree.pop("status.json")
    equal(sorted(copied), sorted(original), "names in the copy")
    wrong = [relative for relative in original if copied[relative] != original[relative]]
    assert not wrong, f"{len(wrong)} copied files differ, such as {wrong[:5]}"
