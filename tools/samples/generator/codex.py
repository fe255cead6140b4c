"""Codex: a paginated thread that went back to an earlier turn, its sub-agent, and a legacy thread."""

import base64

from .database import database
from .story import HARBOR, NOTES, Clock, day, iso, lines, millis, png, uuid7

SCHEMA = """
CREATE TABLE threads (id TEXT PRIMARY KEY, rollout_path TEXT NOT NULL, created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL, source TEXT NOT NULL, model_provider TEXT NOT NULL, cwd TEXT NOT NULL,
    title TEXT NOT NULL, archived INTEGER NOT NULL DEFAULT 0, cli_version TEXT NOT NULL DEFAULT '',
    first_user_message TEXT NOT NULL DEFAULT '', created_at_ms INTEGER, updated_at_ms INTEGER,
    history_mode TEXT NOT NULL DEFAULT 'legacy', name TEXT);
CREATE TABLE thread_spawn_edges (parent_thread_id TEXT NOT NULL, child_thread_id TEXT NOT NULL PRIMARY KEY,
    status TEXT NOT NULL);
"""
COUNTS = ("input_tokens", "cached_input_tokens", "output_tokens", "total_tokens")
ITEMS = {"message": "msg", "reasoning": "rs", "function_call": "fc", "function_call_output": "fco"}  # how ids begin
INSTRUCTIONS = "<environment_context>\n  <cwd>{}</cwd>\n  <shell>bash</shell>\n</environment_context>"


def text_of(text):
    return {"type": "input_text", "text": text}


class Segment:
    """One file. A legacy one has no ordinals and no ids."""

    def __init__(self, name, cwd, moment, thread=None, base=None, legacy=False):
        self.cwd, self.clock, self.began, self.legacy = cwd, Clock(moment), moment, legacy
        self.id = uuid7(f"codex {name}", moment)
        self.thread = thread or self.id
        self.records, self.usage = [], dict.fromkeys(COUNTS, 0)
        self.ordinal = base["end_ordinal_exclusive"] if base else 0
        meta = {"id": self.thread, "timestamp": iso(moment), "cwd": cwd, "originator": "codex_cli", "source": "cli",
                "cli_version": "0.101.0" if legacy else "0.169.0", "model_provider": "openai",
                "base_instructions": {"text": "You are a coding agent."}}
        if not legacy:
            meta.update(session_id=self.thread, history_mode="paginated", **({"history_base": base} if base else {}))
        self.add("session_meta", meta)

    def add(self, kind, payload):
        ordinal = {} if self.legacy else {"ordinal": self.ordinal}
        self.records.append({"timestamp": iso(self.clock.step()), **ordinal, "type": kind, "payload": payload})
        self.ordinal += 1

    def item(self, kind, **payload):
        item_id = f"{ITEMS[kind]}_{uuid7(f'{self.id} {self.ordinal}', self.clock.moment)}"
        self.add("response_item", {"type": kind, **({} if self.legacy else {"id": item_id}), **payload})

    def message(self, role, content, kinds):
        about = {} if self.legacy else {"internal_chat_message_metadata_passthrough": {"content_item_kinds": kinds}}
        self.item("message", role=role, content=content, **about)

    def user(self, text, picture=None):
        """A turn begins."""
        turn = uuid7(f"{self.id} turn {self.ordinal}", self.clock.moment)
        self.add("event_msg", {"type": "task_started", "turn_id": turn})
        if len(self.records) == 2:
            self.message("user", [text_of(INSTRUCTIONS.format(self.cwd))], ["environment_context"])
        content, kinds = [text_of(text)], ["user.text"]
        if picture:
            url = "data:image/png;base64," + base64.b64encode(picture).decode()
            content.append({"type": "input_image", "image_url": url})
            kinds.append("user.image")
        self.message("user", content, kinds)
        if self.legacy:
            self.add("event_msg", {"type": "user_message", "message": text, "images": []})

    def used(self, output):
        """The usage of the last response."""
        size = 1100 + 60 * len(self.records)
        now = dict(zip(COUNTS, (size, 200 * (len(self.records) // 4), output, size + output)))
        self.usage = {key: value + now[key] for key, value in self.usage.items()}
        if self.legacy:
            info = {"total_token_usage": self.usage, "last_token_usage": now}
            self.add("event_msg", {"type": "token_count", "info": info})
        else:
            response = {"thread_id": self.thread, "response_id": f"resp_{self.ordinal}"}
            self.add("token_usage_record", {**response, "usage": now})

    def call(self, command, output, code=0, why=None):
        if why:
            summary = [{"type": "summary_text", "text": why}]
            self.item("reasoning", summary=summary, content=None, encrypted_content=None)
        call_id = f"call_{self.ordinal}"
        self.item("function_call", name="exec_command", arguments='{"cmd":"' + command + '"}', call_id=call_id)
        self.used(30)
        self.item("function_call_output", call_id=call_id,
                  output=f"Process exited with code {code}\nOutput:\n{output}")

    def answer(self, text):
        self.message("assistant", [{"type": "output_text", "text": text}], ["unknown"])
        self.used(len(text) // 3)
        self.add("event_msg", {"type": "task_complete", "last_agent_message": text})

    def base_at(self, turn):
        """The `history_base` of a segment that goes back to before this turn."""
        starts = [i for i, record in enumerate(self.records) if record["payload"].get("type") == "task_started"]
        return {"thread_id": self.id, "end_ordinal_exclusive": self.records[starts[turn]]["ordinal"],
                "end_byte_offset": len(lines(self.records[:starts[turn]]))}

    def path(self):
        own = "" if self.thread == self.id else f"_{self.id}"
        return f"sessions/{self.began:%Y/%m/%d}/rollout-{self.began:%Y-%m-%dT%H-%M-%S}-{self.thread}{own}.jsonl"

    def save(self, store):
        store.write(self.path(), lines(self.records), self.clock.moment)

    def row(self, first, name=None):
        """The thread's row in the database; `self` is its newest segment."""
        return {"id": self.thread, "rollout_path": f"/home/sam/.codex/{self.path()}", "source": "cli",
                "created_at": millis(self.began) // 1000, "updated_at": millis(self.clock.moment) // 1000,
                "model_provider": "openai", "cwd": self.cwd, "title": first, "first_user_message": first,
                "cli_version": "0.169.0", "created_at_ms": millis(self.began),
                "updated_at_ms": millis(self.clock.moment), "history_mode": "paginated", "name": name}


def note_index(store):
    """A picture, a failed command, a sub-agent, and a turn that was taken back: a second segment. Returns the record of
    its name."""
    question = "These are the seconds of five builds of the note index. What is slow?"
    first = Segment("index", NOTES, day(-6, 2))
    first.user(question, png(120, 48, (10, 18, 26, 33, 40)))
    first.call("perf record ./index", "bash: perf: command not found", 127, "A profile says more than a guess.")
    agent = Segment("index agent", NOTES, first.clock.moment)
    agent.user("Count the calls of stat in one build.")
    agent.call("strace -c ./index", "stat 48113 calls")
    agent.answer("48,113 calls of stat for 1,204 notes: 40 for each.")
    first.answer("The index calls stat 40 times for each note, once for every link. That grows with each build.")
    first.user("Remember the results in a hash map.")
    first.answer("Done: 1,204 calls are left. The map takes 90 KB.")
    second = Segment("index again", NOTES, first.clock.moment, first.thread, first.base_at(1))
    second.user("Read the folder once instead of asking for each file.")
    second.call("time ./index", "real 0m0.4s")
    second.answer("One readdir gives all names: 0.4 s instead of 7, and no map.")
    for segment in (first, agent, second):
        segment.save(store)
    name = "Speed of the note index"
    edge = {"parent_thread_id": first.thread, "child_thread_id": agent.thread, "status": "closed"}
    threads = [second.row(question, name), agent.row("Count the calls of stat in one build.")]
    store.write("state_5.sqlite", database(SCHEMA, {"threads": threads, "thread_spawn_edges": [edge]}))
    return {"id": first.thread, "thread_name": name, "updated_at": iso(second.clock.moment)}


def sync_protocol(store):
    """Legacy, and a turn that was rolled back. Returns the record of its name."""
    thread = Segment("protocol", HARBOR, day(1, 5), legacy=True)
    thread.user("Explain the sync protocol in three sentences.")
    thread.call("ls sync", "client.go\nproto.go\nretry.go\n")
    thread.answer("It is a nice protocol.")
    thread.add("event_msg", {"type": "thread_rolled_back", "num_turns": 1})
    thread.user("Explain the sync protocol: who speaks first, and what is a part?")
    thread.call("head -n 20 sync/proto.go", "// The client sends the list of parts it has.\n")
    thread.answer("The client speaks first, with the parts it has. A part is 4 MiB of a file; the server asks for "
                  "those that are missing.")
    thread.save(store)
    return {"id": thread.id, "thread_name": "The sync protocol", "updated_at": iso(thread.clock.moment)}


def write(store):
    """Fills a folder of Codex."""
    store.write("session_index.jsonl", lines([note_index(store), sync_protocol(store)]))
