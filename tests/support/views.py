"""Reads the files of a mounted session as values."""

import json
import os


def status(folder):
    """status.json of a session or of a mount."""
    return json.loads((folder / "status.json").read_bytes())


def damage(folder):
    """The contents of the files in damage/, in order; [] if there is no such folder."""
    if not (folder / "damage").exists():
        return []
    return [(folder / "damage" / name).read_bytes() for name in sorted(os.listdir(folder / "damage"))]


def entry_ids(folder):
    """The ids of the listed entries in order, read from their content."""
    names = sorted(os.listdir(folder / "entries"))
    return [json.loads((folder / "entries" / name).read_bytes().decode("utf-8", "replace")).get("id") for name in names]


def messages(context):
    """The first text of each message of a context file."""
    found = []
    for message in json.loads(context.read_bytes())["messages"]:
        content = message.get("content", message.get("summary"))
        found.append(content if isinstance(content, str) else content[0]["text"])
    return found
