"""Helpers for tests that write through a mount: what reached the store, how a write ended, scripts that must be
refused."""

import contextlib
import json
import os

from mounting import run


def answer_of(path, command):
    """Writes a command in one write(2) and returns its answer."""
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.write(descriptor, command.encode())
        return json.loads(os.read(descriptor, 4096))
    finally:
        os.close(descriptor)


def added(session):
    """The entries after those that the test itself wrote, whose bytes must be unchanged."""
    data = session.path.read_bytes()
    assert data.startswith(session.bytes), "earlier bytes changed"
    assert data.endswith(b"\n"), "the log ends inside a line"
    return [json.loads(line) for line in data[len(session.bytes):].splitlines()]


def texts(session):
    """The texts of the added messages."""
    return [text_of(entry) for entry in added(session)]


def text_of(entry):
    content = entry["message"]["content"]
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)


def reason(folder):
    """How the last write ended, in words, from status.json."""
    return json.loads((folder / "status.json").read_text())["lastError"] or ""


@contextlib.contextmanager
def one_session(case, *options, **how):
    """A mounted store with one conversation: the session, its folder in the mount, and the mount."""
    session = case.agent.talk(**how)
    with case.mount(*options) as mount:
        yield session, mount.session(session), mount


def refused(script, folder, words):
    """Asserts that a bash script in the folder fails with these words."""
    done = run("bash", "-c", script, cwd=folder, check=False)
    assert done.returncode != 0, f"{script!r} succeeded"
    said = done.stderr.decode()
    assert words in said, f"{script!r} said {said!r}, expected {words!r}"
