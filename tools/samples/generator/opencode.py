"""OpenCode: a picture, a failed command, a revert, things to do, and a sub-agent; as a database and as files."""

import base64
import hashlib
import json

from .database import database
from .story import HARBOR, KITE, Clock, day, dump, hex_id, millis, png

SCHEMA = """
CREATE TABLE `project` (`id` text PRIMARY KEY, `worktree` text NOT NULL, `vcs` text, `name` text,
    `time_created` integer NOT NULL, `time_updated` integer NOT NULL, `time_initialized` integer,
    `sandboxes` text NOT NULL);
CREATE TABLE `session` (`id` text PRIMARY KEY, `project_id` text NOT NULL, `workspace_id` text, `parent_id` text,
    `slug` text NOT NULL, `directory` text NOT NULL, `path` text, `title` text NOT NULL, `version` text NOT NULL,
    `share_url` text, `summary_additions` integer, `summary_deletions` integer, `summary_files` integer,
    `summary_diffs` text, `metadata` text, `cost` real DEFAULT 0 NOT NULL, `tokens_input` integer DEFAULT 0 NOT NULL,
    `tokens_output` integer DEFAULT 0 NOT NULL, `tokens_reasoning` integer DEFAULT 0 NOT NULL,
    `tokens_cache_read` integer DEFAULT 0 NOT NULL, `tokens_cache_write` integer DEFAULT 0 NOT NULL, `revert` text,
    `permission` text, `agent` text, `model` text, `time_created` integer NOT NULL, `time_updated` integer NOT NULL,
    `time_compacting` integer, `time_archived` integer,
    FOREIGN KEY (`project_id`) REFERENCES `project`(`id`) ON DELETE CASCADE);
CREATE TABLE `message` (`id` text PRIMARY KEY, `session_id` text NOT NULL, `time_created` integer NOT NULL,
    `time_updated` integer NOT NULL, `data` text NOT NULL,
    FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE);
CREATE TABLE `part` (`id` text PRIMARY KEY, `message_id` text NOT NULL, `session_id` text NOT NULL,
    `time_created` integer NOT NULL, `time_updated` integer NOT NULL, `data` text NOT NULL,
    FOREIGN KEY (`message_id`) REFERENCES `message`(`id`) ON DELETE CASCADE);
CREATE TABLE `todo` (`session_id` text NOT NULL, `content` text NOT NULL, `status` text NOT NULL,
    `priority` text NOT NULL, `position` integer NOT NULL, `time_created` integer NOT NULL,
    `time_updated` integer NOT NULL, PRIMARY KEY(`session_id`, `position`),
    FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE);
CREATE TABLE `event_sequence` (`aggregate_id` text PRIMARY KEY, `seq` integer NOT NULL, `owner_id` text);
CREATE INDEX `message_session_time_created_id_idx` ON `message` (`session_id`,`time_created`,`id`);
CREATE INDEX `part_message_id_id_idx` ON `part` (`message_id`,`id`);
CREATE INDEX `part_session_idx` ON `part` (`session_id`);
"""
MODEL = {"providerID": "anthropic", "modelID": "claude-sonnet-4-5"}
TICKS = 1 << 48  # the clock in ids starts over
LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def agent_id(kind, moment, name, counts_down=False):
    """ses_, msg_ or prt_, the time, and letters that are always the same for a name."""
    ticks = millis(moment) * 4096 % TICKS
    letters = "".join(LETTERS[byte % len(LETTERS)] for byte in hashlib.sha256(name.encode()).digest()[:14])
    return f"{kind}_{TICKS - 1 - ticks if counts_down else ticks:012x}{letters}"


class Session:
    def __init__(self, name, cwd, moment, title, parent=None):
        self.name, self.cwd, self.clock, self.began = name, cwd, Clock(moment), moment
        self.id = agent_id("ses", moment, name, counts_down=True)
        self.project = hex_id(f"opencode {cwd}", 40)
        self.messages, self.todo, self.asked = [], [], None  # messages: (info, parts)
        self.info = {"id": self.id, "slug": name.replace(" ", "-"), "projectID": self.project, "directory": cwd,
                     "title": title, "version": "1.18.33"}
        if parent:
            self.info["parentID"] = parent.id

    def _message(self, **info):
        moment = self.clock.step()
        number = len(self.messages)
        info = {"id": agent_id("msg", moment, f"{self.name} {number}"), "sessionID": self.id, **info,
                "time": {"created": millis(moment)}}
        self.messages.append((info, []))
        return info

    def _part(self, **part):
        info, parts = self.messages[-1]
        moment = self.clock.step()
        part_id = agent_id("prt", moment, f"{self.name} {len(self.messages)} {len(parts)}")
        parts.append({"id": part_id, "sessionID": self.id, "messageID": info["id"], **part})

    def user(self, text, picture=None):
        info = self._message(role="user", agent="build", model=MODEL)
        self.asked = info["id"]
        self._part(type="text", text=text)
        if picture:
            url = "data:image/png;base64," + base64.b64encode(picture).decode()
            self._part(type="file", mime="image/png", filename="clipboard.png", url=url)
        return info["id"]

    def assistant(self, *parts):
        """An answer: texts, and tools as dicts."""
        size = len(dump(parts)) // 3
        tokens = {"input": 1000 + 70 * len(self.messages), "output": size, "reasoning": 0,
                  "cache": {"read": 350 * len(self.messages), "write": 0}}
        cost = round(tokens["input"] * 3e-6 + size * 15e-6, 6)
        info = self._message(role="assistant", parentID=self.asked, mode="build", agent="build", cost=cost,
                             tokens=tokens, path={"cwd": self.cwd, "root": self.cwd}, **MODEL)
        self._part(type="step-start")
        for part in parts:
            self._part(**({"type": "text", "text": part} if isinstance(part, str) else part))
        info["finish"] = "tool-calls" if isinstance(parts[-1], dict) else "stop"
        self._part(type="step-finish", reason=info["finish"], cost=cost, tokens=tokens)
        info["time"]["completed"] = millis(self.clock.moment)

    def tool(self, name, arguments, output=None, error=None):
        started = millis(self.clock.moment)
        state = {"status": "error" if error else "completed", "input": arguments,
                 "time": {"start": started, "end": started + 800}}
        state.update({"error": error} if error else {"output": output, "title": name, "metadata": {}})
        return {"type": "tool", "tool": name, "callID": f"call_{len(self.messages):03d}", "state": state}


def flight_logs():
    """A picture, a failed command, things to do, and a question that was taken back: a pending revert."""
    session = Session("flight logs", KITE, day(-3, 6), "Import of the flight logs")
    session.user("This is the height in five minutes of a flight. Import the other logs like this.",
                 png(120, 48, (8, 20, 34, 40, 38)))
    session.assistant("First the one that is there.", session.tool("read", {"filePath": "log/2026-02-01.csv"},
                                                                   "minute,height\n1,8\n2,20\n3,34\n4,40\n5,38\n"))
    session.assistant(session.tool("bash", {"command": "python3 import.py log/*.csv"},
                                   error="log/2026-01-12.csv:3: 'n/a' is no height"))
    session.assistant("`log/2026-01-12.csv` has `n/a` in line 3. I skip such lines and count them.",
                      session.tool("edit", {"filePath": "import.py"}, "Edited import.py"))
    session.assistant("11 logs are imported, 2 lines were skipped.")
    undone = session.user("Fill the gaps with zeroes.")
    session.assistant("Filled 2 gaps with 0 m. The kite now seems to crash twice.")
    session.info["revert"] = {"messageID": undone, "snapshot": hex_id("snapshot", 40), "diff": ""}
    session.todo = [{"content": "Skip lines without a height", "status": "completed", "priority": "high"},
                    {"content": "Import all logs", "status": "in_progress", "priority": "medium"}]
    return session


def sync_clients():
    """A session and the sub-agent that it started."""
    session = Session("sync clients", HARBOR, day(-7), "Clients that sync twice")
    session.user("Some clients sync twice. Have the code explored, then tell me why.")
    session.clock.step()
    child = Session("explore sync", HARBOR, session.clock.moment, "What starts a sync (@explore subagent)", session)
    child.user("Find every place that starts a sync.")
    child.assistant(child.tool("grep", {"pattern": "StartSync"}, "cmd/main.go:52\nwatch/watch.go:118\n"))
    child.assistant("Two places: `cmd/main.go:52` and `watch/watch.go:118`.")
    session.clock.moment = child.clock.moment
    session.assistant(session.tool("task", {"description": "Explore the start of a sync", "subagent_type": "explore"},
                                   "Two places: `cmd/main.go:52` and `watch/watch.go:118`."))
    session.assistant("The watcher starts a sync when it begins, and `main` starts another one right after.")
    return [session, child]


def with_times(session):
    """The session's own data, as of its last message."""
    updated = millis(session.clock.moment)
    return {**session.info, "time": {"created": millis(session.began), "updated": updated}}


def write_database(store):
    """Fills a data folder of a version with a database."""
    sessions = [flight_logs(), *sync_clients()]
    rows = {name: [] for name in ("project", "session", "message", "part", "todo", "event_sequence")}
    for cwd in (KITE, HARBOR):
        began = millis(day(-30))
        rows["project"].append({"id": hex_id(f"opencode {cwd}", 40), "worktree": cwd, "vcs": "git",
                                "time_created": began, "time_updated": began, "sandboxes": "[]"})
    for session in sessions:
        rows["session"].append(session_row(session))
        for number, todo in enumerate(session.todo):
            rows["todo"].append({"session_id": session.id, "position": number, **todo,
                                 "time_created": millis(session.began), "time_updated": millis(session.began)})
        for info, parts in session.messages:
            created = info["time"]["created"]
            times = {"time_created": created, "time_updated": info["time"].get("completed", created)}
            rows["message"].append({"id": info["id"], "session_id": session.id, **times, "data": data_of(info)})
            rows["part"] += [{"id": part["id"], "message_id": info["id"], "session_id": session.id, **times,
                              "data": data_of(part)} for part in parts]
        rows["event_sequence"].append({"aggregate_id": session.id, "seq": 4 * len(session.messages)})
    store.write("opencode.db", database(SCHEMA, rows), max(session.clock.moment for session in sessions))


def data_of(value):
    """A message or part without the members that have columns of their own."""
    return dump({key: member for key, member in value.items() if key not in ("id", "sessionID", "messageID")})


def session_row(session):
    answers = [info for info, _ in session.messages if info["role"] == "assistant"]
    times = with_times(session)["time"]
    return {"id": session.id, "project_id": session.project, "parent_id": session.info.get("parentID"),
            "slug": session.info["slug"], "directory": session.cwd, "path": "", "title": session.info["title"],
            "version": session.info["version"], "cost": sum(info["cost"] for info in answers),
            "tokens_input": sum(info["tokens"]["input"] for info in answers),
            "tokens_output": sum(info["tokens"]["output"] for info in answers),
            "tokens_cache_read": sum(info["tokens"]["cache"]["read"] for info in answers),
            "revert": dump(session.info["revert"]) if "revert" in session.info else None, "agent": "build",
            "model": dump({"id": MODEL["modelID"], "providerID": MODEL["providerID"]}),
            "time_created": times["created"], "time_updated": times["updated"]}


def write_files(store):
    """Fills a data folder of a version with JSON files: one session."""
    session = flight_logs()
    session.info["version"] = "1.1.53"

    def file(path, value):
        store.write(f"storage/{path}.json", json.dumps(value, ensure_ascii=False, indent=2).encode())
    file(f"project/{session.project}", {"id": session.project, "worktree": KITE, "vcs": "git", "sandboxes": [],
                                        "time": {"created": millis(day(-30)), "updated": millis(day(-30))}})
    file(f"session/{session.project}/{session.id}", with_times(session))
    file(f"todo/{session.id}", [{"id": str(number), **todo} for number, todo in enumerate(session.todo)])
    for info, parts in session.messages:
        file(f"message/{session.id}/{info['id']}", info)
        for part in parts:
            file(f"part/{info['id']}/{part['id']}", part)
