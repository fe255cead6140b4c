"""Agent dirs for tests: sessions as the agents write them, damaged ones, and the state of a whole store for comparison.

Everything is deterministic: ids count up and entries are 1.5 s apart from START_MS on, so a test knows in advance what
a mount must show.
"""

import base64
import hashlib
import json
import os
import stat
import time
from datetime import datetime, timezone
from pathlib import Path

SLOT_BYTES = 256
START_MS = 1771237230000  # 2026-02-16T10:20:30.000Z
STEP_MS = 1500
LEAF = object()  # "child of the last entry", the default parent

# The smallest valid PNG: one transparent pixel.
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==")


def compact(value):
    """The bytes that the agents' JSON.stringify gives, for values without integer-like keys or lone surrogates."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8")


def iso(milliseconds):
    """2026-02-16T10:20:30.000Z."""
    moment = datetime.fromtimestamp(milliseconds // 1000, timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{milliseconds % 1000:03d}Z"


def slot_line(title, updated_ms=START_MS):
    """The 256-byte line that version 18 keeps at the start of a log and overwrites in place."""
    slot = {"type": "title", "v": 1, "title": title, "source": "user", "updatedAt": iso(updated_ms), "pad": ""}
    slot["pad"] = " " * (SLOT_BYTES - 1 - len(compact(slot)))
    line = compact(slot) + b"\n"
    assert len(line) == SLOT_BYTES, f"title too long for a slot: {title!r}"
    return line


def append_bytes(path, data):
    """One write(2) at the end of a file, as an agent appends."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        assert os.write(descriptor, data) == len(data)
    finally:
        os.close(descriptor)


def overwrite_bytes(path, offset, data):
    """One pwrite(2) in place, as version 18 renames a session."""
    descriptor = os.open(path, os.O_WRONLY)
    try:
        assert os.pwrite(descriptor, data, offset) == len(data)
    finally:
        os.close(descriptor)


def replace_by_rename(path, data):
    """A whole new file under the same name: temporary file, then rename, as the agents rewrite a log."""
    path = Path(path)
    temporary = path.with_name(f".{path.name}.1f9d2a6b9c0dffff.tmp")
    temporary.write_bytes(data)
    os.rename(temporary, path)


def backdate(path, seconds=10):
    """Sets the file's times back, as if nothing had written to it for a while."""
    status = os.stat(path)
    past = status.st_mtime_ns - int(seconds * 1e9)
    os.utime(path, ns=(past, past))


def started(session):
    """When a session was created, in local time, as names in recent/ begin."""
    return time.strftime("%Y-%m-%dT%H-%M", time.localtime(session.started_ms / 1000))


# The words of omp and pi whose role is another word (CONTRACT.md 2.2).
ROLES = {"toolResult": "tool", "compaction": "summary", "branch_summary": "summary", "compactionSummary": "summary",
         "branchSummary": "summary", "developer": "system"}


class Session:
    """One log, built in memory entry by entry, then written, extended or replaced."""

    def __init__(self, agent, number, cwd, *, folder=None, title=None, slot=False, session_id=None, version=3,
                 parent_session=None, fields=None):
        self.agent = agent
        self.cwd = cwd
        self.id = session_id or f"1f9d2a6b9c0d{number:04x}"
        self.started_ms = START_MS + number * 60_000
        self.name = iso(self.started_ms).replace(":", "-").replace(".", "-") + "_" + self.id
        self.folder = folder or f"--{(cwd or 'nowhere').strip('/').replace('/', '-')}--"
        self.entries = []  # dicts, in file order: entry n is ordinal n + 1
        self.leaf = None  # id of the last entry
        self._number = number
        self._pieces = []  # bytes of the log, in order
        self._written = 0  # how many of them are on disk
        if slot:
            self._pieces.append(slot_line(title or ""))
        header = {"type": "session", "version": version, "id": self.id, "timestamp": iso(self.started_ms)}
        header.update({} if cwd is None else {"cwd": cwd})
        header.update({} if parent_session is None else {"parentSession": parent_session})
        header.update({"title": title} if title is not None and not slot else {})
        header.update(fields or {})
        self.header = header
        self._pieces.append(self.header_line)

    # -- paths and names

    @property
    def path(self):
        return self.agent.sessions / self.folder / (self.name + ".jsonl")

    @property
    def bytes(self):
        return b"".join(self._pieces)

    @property
    def project(self):
        """The name of its project in a mount, for plain working directories."""
        return (self.cwd or "unknown").removeprefix(self.agent.home).strip("/").replace("/", "-")

    @property
    def header_line(self):
        return compact(self.header) + b"\n"

    def set_cwd(self, cwd):
        """Changes the working directory in the header, in memory; the log stays in its folder."""
        place = self._pieces.index(self.header_line)
        self.cwd = self.header["cwd"] = cwd
        self._pieces[place] = self.header_line

    def ordinal(self, entry_id):
        """The position of an entry, from 1; of the last one if several have the id."""
        return max(place for place, entry in enumerate(self.entries, 1) if entry.get("id") == entry_id)

    def entry(self, entry_id):
        return self.entries[self.ordinal(entry_id) - 1]

    def stem(self, entry_id):
        """The file name of an entry in a mount, without its ending."""
        entry = self.entry(entry_id)
        word = entry["message"]["role"] if entry["type"] == "message" else entry["type"]
        return f"{self.ordinal(entry_id):06d}-{ROLES.get(word, word)}-{entry_id}"

    def stems(self):
        return [self.stem(entry["id"]) for entry in self.entries]

    def branch(self, entry_id):
        """The file name of a branch in a mount."""
        return f"{self.ordinal(entry_id):06d}-{entry_id}"

    def line(self, entry_id):
        return compact(self.entry(entry_id)) + b"\n"

    def ancestry(self, entry_id):
        """The ids from the root to an entry."""
        path = []
        while entry_id is not None:
            path.append(entry_id)
            entry_id = self.entry(entry_id)["parentId"]
        return path[::-1]

    # -- building

    def add(self, entry_type, *, parent=LEAF, entry_id=None, **fields):
        """Adds an entry and returns its id."""
        ordinal = len(self.entries) + 1
        entry = {
            "type": entry_type,
            "id": f"{self._number:02x}{ordinal:06x}" if entry_id is None else entry_id,
            "parentId": self.leaf if parent is LEAF else parent,
            "timestamp": iso(self.started_ms + ordinal * STEP_MS),
        }
        entry.update(fields)
        self.entries.append(entry)
        self.leaf = entry["id"]
        self._pieces.append(compact(entry) + b"\n")
        return self.leaf

    def user(self, content, **where):
        return self.add("message", message={"role": "user", "content": content, "timestamp": START_MS}, **where)

    def assistant(self, text, *, stop="stop", blocks=(), **where):
        usage = {"input": 10, "output": 5, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 15,
                 "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0.25}}
        message = {"role": "assistant", "content": [{"type": "text", "text": text}, *blocks], "provider": "anthropic",
                   "model": "claude", "usage": usage, "stopReason": stop, "timestamp": START_MS}
        return self.add("message", message=message, **where)

    def tool_call(self, call_id, name="bash", **arguments):
        block = {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}
        return self.assistant("Let me look.", stop="toolUse", blocks=[block])

    def tool_result(self, call_id, text, name="bash"):
        message = {"role": "toolResult", "toolCallId": call_id, "toolName": name,
                   "content": [{"type": "text", "text": text}], "isError": False, "timestamp": START_MS}
        return self.add("message", message=message)

    def label(self, target, text, **where):
        return self.add("label", targetId=target, label=text, **where)

    def image(self, data, mime_type="image/png", text="see", **where):
        """A user message with an image. `data` is base64 text or a reference to a blob."""
        image = {"type": "image", "data": data, "mimeType": mime_type}
        return self.user([{"type": "text", "text": text}, image], **where)

    def talk(self, turns, phrase="turn"):
        """Adds a plain conversation; returns the last id."""
        for turn in range(1, turns + 1):
            (self.user if turn % 2 else self.assistant)(f"{phrase} {turn}")
        return self.leaf

    def raw(self, data):
        """Adds bytes that are not an entry, such as damage."""
        self._pieces.append(data)

    def cut(self, keep):
        """Drops all entries but the first `keep`, in memory; for logs without raw bytes in between."""
        head = len(self._pieces) - len(self.entries)
        del self.entries[keep:], self._pieces[head + keep:]
        self.leaf = self.entries[-1]["id"] if self.entries else None
        self._written = min(self._written, len(self._pieces))

    def retell(self, texts):
        """Replaces the entries by others with the same ids, in memory."""
        self.cut(0)
        for text in texts:
            self.user(text)

    # -- on disk

    def write(self):
        """Writes the log as a new file and returns its path."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        replace_by_rename(self.path, self.bytes)
        self._written = len(self._pieces)
        return self.path

    def pending(self):
        """Returns the bytes that were added since the last write, and counts them as written."""
        data = b"".join(self._pieces[self._written:])
        self._written = len(self._pieces)
        return data

    def grow(self):
        """Appends the lines added since the last write, in one write(2)."""
        append_bytes(self.path, self.pending())


class AgentDir:
    """The folder where an agent keeps its state."""

    def __init__(self, path, home="/home/somebody"):
        self.path = Path(path)
        self.home = os.fspath(home)  # of the user who mounts it
        self.sessions = self.path / "sessions"
        self.blobs = self.path / "blobs"
        self.terminals = self.path / "terminal-sessions"
        self.sessions.mkdir(parents=True)
        self._count = 0

    def session(self, cwd="/srv/shop", **options):
        """A new session in memory; Session.write() puts it on disk."""
        self._count += 1
        return Session(self, self._count, cwd, **options)

    def talk(self, turns=4, **options):
        """A plain conversation, already written."""
        session = self.session(**options)
        session.talk(turns)
        session.write()
        return session

    def blob(self, data):
        """Stores a blob and returns the reference to it."""
        self.blobs.mkdir(exist_ok=True)
        digest = hashlib.sha256(data).hexdigest()
        (self.blobs / digest).write_bytes(data)
        return "blob:sha256:" + digest

    def breadcrumb(self, terminal, session):
        """Writes the file that an agent keeps for each terminal: the session that it used last."""
        self.terminals.mkdir(exist_ok=True)
        (self.terminals / terminal).write_text(f"{session.cwd}\n{session.path}\n")

    def files(self):
        """state() of files only. A refused write may have created and removed a lock, which changes its folder's
        time."""
        return {name: state for name, state in self.state().items() if stat.S_ISREG(state[0])}

    def state(self):
        """Everything that reading must not change: names, kinds, modes, owners, inodes, sizes, times and bytes."""
        found = {}
        for folder, folders, files in os.walk(self.path):
            for name in ["."] + folders + files:
                path = os.path.join(folder, name)
                found[os.path.relpath(path, self.path)] = _state_of(path)
        return found


def _state_of(path):
    status = os.lstat(path)
    content = None
    if stat.S_ISREG(status.st_mode):
        with open(path, "rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
    elif stat.S_ISLNK(status.st_mode):
        content = os.readlink(path)
    return (status.st_mode, status.st_uid, status.st_gid, status.st_ino, status.st_nlink, status.st_size,
            status.st_mtime_ns, content)


def rich_store(agent):
    """A store with one of everything: both generations, branches, labels, images, blobs, tools, compaction, damage,
    artifacts, a breadcrumb. Returns the sessions by a short name."""
    return {"shop": _shop(agent), "notes": _notes(agent), "hurt": _hurt(agent), "long": _long(agent)}


def _shop(agent):
    """Generation 18: a title slot, two branches from one question, labels, tools, images, a compaction."""
    shop = agent.session("/srv/shop", title="Mend the checkout", slot=True)
    question = shop.user("the checkout fails for größe=XL, naïve fix?")
    shop.label(question, "question")
    shop.tool_call("call-1", command="grep -rn XL src")
    shop.tool_result("call-1", "src/cart.py:42: size = 'XL'\n" * 20)
    shop.assistant("It is the needle in line 42.")
    shop.image(agent.blob(PNG * 40))
    shop.image(base64.b64encode(PNG).decode())
    first = shop.assistant("Fixed by the first way.")
    shop.label(first, "checkpoint")
    shop.user("try another way", parent=question)
    shop.add("compaction", summary="They tried a first way.", firstKeptEntryId=question, tokensBefore=1000)
    shop.add("custom", customType="note", data={"colour": "blue"})
    shop.assistant("Fixed by the second way.")
    shop.write()
    artifacts = shop.path.with_suffix("")
    artifacts.mkdir()
    (artifacts / "1.bash.log").write_text("output of a tool\n")
    agent.breadcrumb("pts-3", shop)
    return shop


def _notes(agent):
    """Generation 13, in a folder below home, with a parent session."""
    notes = agent.session(f"{agent.home}/notes", title="Notes & plans", parent_session="1f9d2a6b9c0d0001",
                          folder="-notes")
    notes.talk(6, "note")
    notes.add("model_change", model="anthropic/claude", role="default")
    notes.add("thinking_level_change", thinkingLevel="high")
    notes.write()
    return notes


def _hurt(agent):
    """A session with damage in the middle."""
    hurt = agent.session("/srv/shop")
    hurt.talk(3)
    hurt.raw(b'{"type":"message","id":"feedf00d","par\n')
    hurt.talk(2, "after the damage")
    hurt.write()
    return hurt


def _long(agent):
    """Three hundred entries."""
    long = agent.session("/srv/long-haul", title="Long haul")
    long.talk(300, "mile")
    long.write()
    return long
