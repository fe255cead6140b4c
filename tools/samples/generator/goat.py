"""goat, the nested shape: a picture, a failed command, checkpoints of two files, and a fork."""

import base64
import hashlib
import json

from .story import HARBOR, Clock, day, dump, png, uuid4

BEFORE = b"package tide\n\nfunc High(day int) float64 { return 3.1 }\n"
AFTER = b"package tide\n\n// High is in metres.\nfunc High(day int) float64 { return table[day%14] }\n"
TABLE = b"package tide\n\nvar table = [14]float64{3.1, 3.3, 3.6, 3.8, 3.9, 3.8, 3.6, 3.3, 3, 2.8, 2.7, 2.8, 2.9, 3}\n"


def rfc3339(moment):
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%f000Z")


def go_json(value):
    """As Go writes JSON: safe in HTML."""
    return dump(value).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


class Session:
    def __init__(self, name, moment, title):
        self.id, self.name, self.title = uuid4(f"goat {name}"), name, title
        self.clock, self.began, self.records, self.fork_of = Clock(moment), moment, [], {}
        self.files = {}  # path -> content

    def add(self, role, content, **fields):
        """Appends a message. Returns its uuid."""
        entry = uuid4(f"goat {self.name} {len(self.records)}")
        self.records.append({"uuid": entry, "timestamp": rfc3339(self.clock.step()),
                             "message": {"role": role, "content": content, **fields}})
        return entry

    def call(self, say, tool, arguments, result):
        call_id = f"call_{len(self.records)}"
        function = {"name": tool, "arguments": dump(arguments)}
        self.add("assistant", say, tool_calls=[{"id": call_id, "type": "function", "function": function}])
        self.add("tool", result, tool_call_id=call_id)

    def checkpoint(self, name, states):
        """The contents of the files, or None if there was no file."""
        listed = []
        for path, content in states.items():
            listed.append({"path": f"{HARBOR}/{path}", "exists": content is not None})
            if content is not None:
                digest = hashlib.sha256(content).hexdigest()
                listed[-1].update(hash=digest, size=len(content))
                self.files[f"checkpoints/{name}/files/{digest}"] = content
        manifest = {"user_message_uuid": name, "created_at": rfc3339(self.clock.moment), "files": listed}
        self.files[f"checkpoints/{name}/manifest.json"] = json.dumps(manifest, indent=2).encode()

    def fork(self, name, moment, count):
        """A new session with the first messages of this one."""
        copy = Session(name, moment, self.title)
        copy.records = self.records[:count]
        copy.fork_of = {"parent_session_id": self.id, "fork_point_uuid": self.records[count - 1]["uuid"]}
        return copy

    def replayed(self, record):
        """A record as the transcript for clients has it."""
        content = [{"type": "text", "text": record["message"]["content"]}]
        return {"uuid": record["uuid"], "session_id": self.id, "type": "assistant", "parent_tool_use_id": None,
                "message": {"role": "assistant", "content": content}}

    def save(self, store, cost):
        said = [record for record in self.records if record["message"]["role"] == "assistant"]
        metadata = {"id": self.id, "cwd": HARBOR, "model": "gpt-5-nano", **self.fork_of,
                    "created_at": rfc3339(self.began), "updated_at": rfc3339(self.clock.moment),
                    "message_count": len(self.records), "turn_count": len(said), "total_cost_usd": cost,
                    "leaf_title": self.title}
        self.files["metadata.json"] = json.dumps(metadata, indent=2).encode()
        if not self.fork_of:
            self.files["transcript.jsonl"] = "".join(go_json(self.replayed(record)) + "\n" for record in said).encode()
        for path, content in self.files.items():
            store.write(f"sessions/{self.id}/{path}", content, self.clock.moment if path == "metadata.json" else None)
        messages = "".join(go_json(record) + "\n" for record in self.records)
        store.write(f"sessions/{self.id}/messages.jsonl", messages.encode(), self.clock.moment)


def write(store):
    """Fills a base folder of goat."""
    session = Session("tide", day(-4), "Tide table for the quay")
    picture = "data:image/png;base64," + base64.b64encode(png(120, 48, (31, 36, 39, 36, 30))).decode()
    first = session.add("user", [{"type": "text", "text": "These are the high waters at the quay. Let High() say so."},
                                 {"type": "image_url", "image_url": {"url": picture, "detail": "auto"}}])
    session.call("Let me read the package.", "Read", {"file_path": "tide.go"}, BEFORE.decode())
    session.checkpoint(first, {"tide.go": BEFORE, "table.go": None})
    session.call(None, "Write", {"file_path": "table.go"}, "wrote table.go")
    session.call(None, "Edit", {"file_path": "tide.go"}, "edited tide.go")
    session.call(None, "Bash", {"command": "go vet ./..."}, "Error: tide.go:4: day%14 may be negative\nexit status 1")
    session.add("assistant", "High() now reads a table of 14 days. `go vet` warns of negative days.")
    session.add("user", "Days are never negative. What is the highest water & when?")
    session.add("assistant", "3.9 m, on day 4 of the 14.")
    session.checkpoint("session-end", {"tide.go": AFTER, "table.go": TABLE})
    fork = session.fork("tide fork", day(-3), 3)
    session.save(store, 0.0134)
    fork.add("user", "Use the harmonic constants instead of a table.")
    fork.add("assistant", "For that I need the constants of the port: amplitude and phase of M2 and S2 at least.")
    fork.save(store, 0.0019)
