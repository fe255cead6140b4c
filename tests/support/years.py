"""Stores of Claude Code and Codex as a year of use leaves them: records of every generation, copies, links, compressed
and archived logs. The generators keep account of what a person would look for in them."""

import json
import os
import random
import subprocess
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone

MODEL = {"claude": "claude-opus-5-5", "codex": "gpt-x"}


@dataclass
class Expected:
    """What a session must show."""

    id: str
    name: str  # the title, else the first words that a person typed; "" without a conversation
    words: list = field(default_factory=list)  # all that was typed and answered, in order
    output: int = 0  # tokens of its own answers
    parent: str = ""  # the session that started it
    has_gap: bool = False  # a row names a parent that was never written


class Clock:
    def __init__(self, start):
        self.now = start

    def tick(self):
        self.now += timedelta(seconds=7)
        return self.now.strftime("%Y-%m-%dT%H:%M:%S.000Z")


class Year:
    def __init__(self, root, seed):
        self.root = root
        self.random = random.Random(seed)
        self.sessions = []
        self._words = 0

    def new_id(self):
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def word(self, kind):
        """Words that occur once in the store."""
        self._words += 1
        return f"{kind} number {self._words:05} word{self._words:05}"


# -- Claude Code


class ClaudeLog:
    """One log, row by row."""

    def __init__(self, year, month, version, cwd="/w/p"):
        self.year, self.version, self.cwd = year, version, cwd
        self.id = year.new_id()
        self.clock = Clock(datetime(2026, month, 1 + year.random.randrange(27), 9, tzinfo=timezone.utc))
        self.rows, self.leaf = [], None
        self.expected = Expected(self.id, "")

    def row(self, type_, parent="leaf", **more):
        row = {"type": type_, "uuid": self.year.new_id(), "parentUuid": self.leaf if parent == "leaf" else parent,
               "isSidechain": False, "userType": "external", "cwd": self.cwd, "sessionId": self.id, "version": self.version,
               "timestamp": self.clock.tick(), **more}
        self.rows.append(row)
        return row

    def node(self, *words, **more):
        row = self.row(*words, **more)
        self.leaf = row["uuid"]
        return row

    def note(self, **row):
        self.rows.append(row)

    def inserted(self, text, **more):
        """What the program says in the user's name."""
        self.node("user", message={"role": "user", "content": text}, **more)

    def typed(self, text=None, blocks=None):
        text = text or self.year.word("question")
        self.node("user", message={"role": "user", "content": blocks(text) if blocks else text})
        self.expected.words.append(text)
        self.expected.name = self.expected.name or text

    def queued(self):
        text = self.year.word("meanwhile")
        self.node("attachment", attachment={"type": "queued_command", "commandMode": "prompt", "prompt": text})
        self.expected.words.append(text)

    def answered(self, blocks=1, request=True, cost=None):
        """A reply as several rows whose output grows; the last row has the final number."""
        output, message = 10 + self.year.random.randrange(500), "msg_" + self.year.new_id()
        request_id = {"requestId": "req_" + self.year.new_id()} if request else {}
        for block in range(blocks):
            text = self.year.word("answer")
            usage = {"input_tokens": 5, "output_tokens": output if block == blocks - 1 else 1, "cache_read_input_tokens": 3,
                     "cache_creation_input_tokens": 0}
            self.node("assistant", message={"id": message, "type": "message", "role": "assistant", "model": MODEL["claude"],
                                            "content": [{"type": "text", "text": text}], "usage": usage},
                      **request_id, **({"costUSD": cost} if cost is not None else {}))
            self.expected.words.append(text)
        self.expected.output += output

    def hook(self):
        """A side row of a hook: nobody branched."""
        self.row("attachment", attachment={"type": "hook_success", "hookName": "Stop", "content": "fine"})

    def compacted(self):
        self.node("system", parent=None, subtype="compact_boundary", content="Conversation compacted",
                  compactMetadata={"trigger": "auto", "preTokens": 9}, logicalParentUuid=self.leaf)
        self.node("user", message={"role": "user", "content": self.year.word("summary")}, isCompactSummary=True,
                  isVisibleInTranscriptOnly=True)

    def gap(self):
        """The next row names a parent that was never written."""
        self.leaf = self.year.new_id()
        self.expected.has_gap = True

    def twice(self):
        """The program wrote all rows again."""
        self.rows += list(self.rows)

    def written(self, folder, name=None):
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name or self.id}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in self.rows))
        return path

    def done(self, folder):
        self.year.sessions.append(self.expected)
        return self.written(folder)


class ClaudeYear(Year):
    """projects/ of Claude Code after a year."""

    def __init__(self, root, seed):
        super().__init__(root, seed)
        self.folder = root / "projects" / "-w-p"
        for month in range(1, 12):
            self.month(month)
        self.without_conversations()
        self.linked()

    def month(self, month):
        old, recent = "1.0.98", "2.1.50"
        makers = [(self.plain, old), (self.command, old), (self.with_summary_elsewhere, old), (self.plain, recent),
                  (self.compacted, recent), (self.busy, recent), (self.with_gap, recent), (self.rewritten, recent),
                  (self.continued, recent), (self.workflow, recent), (self.titled, recent), (self.after_program_text, recent),
                  (self.with_screenshot, recent)]
        for maker, version in makers:
            maker(ClaudeLog(self, month, version))

    def plain(self, log):
        for _ in range(1 + self.random.randrange(3)):
            log.typed()
            log.answered(request=log.version.startswith("2"), cost=0.25 if log.version.startswith("1") else None)
        log.done(self.folder)

    def command(self, log):
        argument = self.word("the code of")
        log.inserted(f"<command-message>review is running…</command-message>\n<command-name>/review</command-name>\n"
                     f"<command-args>{argument}</command-args>")
        log.expected.name = f"/review {argument}"
        log.answered()
        log.done(self.folder)

    def with_summary_elsewhere(self, log):
        """Its title is in a row of another log."""
        log.typed()
        log.answered()
        title = self.word("Repair of")
        other = ClaudeLog(self, log.clock.now.month, log.version)
        other.note(type="summary", summary=title, leafUuid=log.leaf)
        other.typed()
        other.answered()
        other.done(self.folder)
        log.expected.name = title
        log.done(self.folder)

    def compacted(self, log):
        for _ in range(3):
            log.typed()
            log.answered(blocks=2)
            log.compacted()
        log.typed()
        log.answered()
        log.done(self.folder)

    def busy(self, log):
        log.typed()
        log.answered(blocks=3)
        log.queued()
        log.answered()
        log.hook()
        log.typed()
        log.answered()
        log.hook()
        log.note(type="file-history-snapshot", messageId=log.leaf, snapshot={"trackedFileBackups": {}})
        log.note(type="queue-operation", operation="enqueue", sessionId=log.id)
        log.done(self.folder)

    def with_gap(self, log):
        log.typed()
        log.answered()
        log.gap()
        log.answered()
        log.typed()
        log.answered()
        log.done(self.folder)

    def rewritten(self, log):
        log.typed()
        log.answered()
        log.twice()
        log.done(self.folder)

    def continued(self, log):
        """Another file begins with copies of its rows, which still name it."""
        log.typed()
        log.answered()
        other = ClaudeLog(self, log.clock.now.month, log.version)
        other.rows, other.leaf = list(log.rows), log.leaf
        other.expected.name, other.expected.words = log.expected.name, list(log.expected.words)
        other.typed()
        other.answered()
        log.done(self.folder)
        other.done(self.folder)

    def workflow(self, log):
        log.typed()
        log.answered()
        log.done(self.folder)
        for run in ("", "workflows/wf_1/"):
            agent = ClaudeLog(self, log.clock.now.month, log.version)
            agent.id = log.id
            name = f"agent-{self.random.getrandbits(60):x}"
            agent.typed(self.word("task"))
            agent.answered()
            for row in agent.rows:
                row.update(isSidechain=True, agentId=name.removeprefix("agent-"))
            agent.expected.id, agent.expected.parent = name, log.id
            self.sessions.append(agent.expected)
            folder = self.folder / log.id / "subagents" / run
            agent.written(folder, name)
            (folder / f"{name}.meta.json").write_text('{"agentType":"general-purpose"}')
            if run:
                (folder / "journal.jsonl").write_text('{"type":"started"}\n')

    def titled(self, log):
        log.typed()
        log.answered()
        title = self.word("Title")
        log.note(type="ai-title", aiTitle="not this one", sessionId=log.id)
        log.note(type="custom-title", customTitle=title, sessionId=log.id)
        log.expected.name = title
        log.done(self.folder)

    def after_program_text(self, log):
        log.inserted("<system-reminder>remember</system-reminder>")
        log.inserted("[Request interrupted by user]")
        log.inserted("Caveat: the messages below were generated by the user while running local commands.", isMeta=True)
        log.typed()
        log.answered()
        log.done(self.folder)

    def with_screenshot(self, log):
        image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 300_000}}
        log.typed(blocks=lambda text: [image, {"type": "text", "text": text}])
        log.answered()
        log.done(self.folder)

    def without_conversations(self):
        for rows in ([], [{"type": "summary", "summary": "of another session", "leafUuid": self.new_id()}],
                     [{"type": "file-history-snapshot", "messageId": self.new_id(), "snapshot": {}}]):
            log = ClaudeLog(self, 5, "2.1.50")
            log.rows = rows
            log.done(self.folder)

    def linked(self):
        """A project that lies on another disk, and a link to one of its logs, which is the same session."""
        elsewhere = self.root.parent / f"{self.root.name}-elsewhere"
        log = ClaudeLog(self, 6, "2.1.50", "/w/far")
        log.typed()
        log.answered()
        path = log.done(elsewhere / "-w-far")
        (self.root / "projects" / "-w-far").symlink_to(elsewhere / "-w-far")
        (self.folder / path.name).symlink_to(path)


# -- Codex


class CodexThread:
    """One rollout of the kind that began with session_meta."""

    def __init__(self, year, month, version="0.140.0", **meta):
        self.year = year
        self.id = year.new_id()
        self.clock = Clock(datetime(2026, month, 1 + year.random.randrange(27), 9, tzinfo=timezone.utc))
        self.began = self.clock.now
        self.rows, self.total = [], {"input_tokens": 0, "cached_input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
        self.expected = Expected(self.id, "")
        self.row("session_meta", {"id": self.id, "timestamp": self.clock.tick(), "cwd": "/w/p", "originator": "codex_cli_rs",
                                  "cli_version": version, "source": "cli", **meta})

    def row(self, type_, payload):
        self.rows.append({"timestamp": self.clock.tick(), "type": type_, "payload": payload})

    def said(self, role, text):
        kind = "input_text" if role == "user" else "output_text"
        self.row("response_item", {"type": "message", "role": role, "content": [{"type": kind, "text": text}]})

    def turn(self):
        question, answer = self.year.word("question"), self.year.word("answer")
        output = 10 + self.year.random.randrange(90)
        self.row("turn_context", {"cwd": "/w/p", "model": MODEL["codex"]})
        self.said("user", question)
        self.row("event_msg", {"type": "user_message", "message": question})
        self.said("assistant", answer)
        last = {"input_tokens": 100, "cached_input_tokens": 40, "output_tokens": output, "total_tokens": 100 + output}
        self.total = {key: self.total[key] + last[key] for key in last}
        for _ in range(2):  # it is repeated
            self.row("event_msg", {"type": "token_count", "info": {"total_token_usage": dict(self.total), "last_token_usage": last}})
        self.expected.words += [question, answer]
        self.expected.output += output
        self.expected.name = self.expected.name or question

    def copies(self, other):
        """Takes over all records of another thread, with the time of now."""
        for row in other.rows:
            self.row(row["type"], row["payload"])
        self.total = dict(other.total)
        self.expected.words = list(other.expected.words)

    def written(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"rollout-{self.began:%Y-%m-%dT%H-%M-%S}-{self.id}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in self.rows))
        return path

    def done(self, folder=None):
        self.year.sessions.append(self.expected)
        return self.written(folder or self.year.root / "sessions" / f"{self.began:%Y/%m/%d}")


class CodexYear(Year):
    """CODEX_HOME after a year."""

    def __init__(self, root, seed):
        super().__init__(root, seed)
        self.names = []
        for month in range(1, 12):
            self.first_format(month)
            parent = self.plain(month)
            self.fork(month, parent)
            self.sub_agent(month, parent)
            self.named(month)
            self.archived(month)
            self.compressed(month)
        (root / "session_index.jsonl").write_text("".join(json.dumps(line) + "\n" for line in self.names))

    def first_format(self, month):
        """Items without an envelope, below a line that names the session."""
        thread = CodexThread(self, month)
        lines = [{"id": thread.id, "timestamp": thread.clock.tick(), "instructions": None}]
        for _ in range(2):
            question, answer = self.word("question"), self.word("answer")
            lines.append({"type": "message", "role": "user", "content": [{"type": "input_text", "text": question}]})
            lines.append({"record_type": "state"})
            lines.append({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": answer}]})
            thread.expected.words += [question, answer]
            thread.expected.name = thread.expected.name or question
        thread.rows = lines
        thread.done()

    def plain(self, month):
        """The first one is long, and so are the copies of it with which others begin."""
        thread = CodexThread(self, month)
        for _ in range(60 if month == 1 else 2):
            thread.turn()
        thread.done()
        return thread

    def fork(self, month, parent):
        thread = CodexThread(self, month, forked_from_id=parent.id)
        thread.copies(parent)
        thread.expected.name = parent.expected.name
        thread.turn()
        thread.done()

    def sub_agent(self, month, parent):
        source = {"subagent": {"thread_spawn": {"parent_thread_id": parent.id, "depth": 1}}}
        thread = CodexThread(self, month, source=source)
        thread.copies(parent)
        thread.turn()
        thread.expected.parent = parent.id
        thread.done()

    def named(self, month):
        thread = CodexThread(self, month)
        thread.turn()
        title = self.word("Title")
        self.names.append({"id": thread.id, "thread_name": title, "updated_at": thread.clock.tick()})
        thread.expected.name = title
        thread.done()

    def archived(self, month):
        thread = CodexThread(self, month)
        thread.turn()
        thread.done(self.root / "archived_sessions")

    def compressed(self, month):
        thread = CodexThread(self, month)
        thread.turn()
        path = thread.done()
        subprocess.run(["zstd", "-q", "--rm", os.fspath(path)], check=True)
