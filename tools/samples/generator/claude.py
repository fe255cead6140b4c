"""Claude Code: a picture, replies of several blocks, a failed command, a prompt that was edited, and a sub-agent."""

import base64

from .story import HARBOR, KITE, Clock, day, dump, hex_id, iso, lines, png, uuid4

MODEL = "claude-sonnet-4-5"
INPUT_PRICE, OUTPUT_PRICE = 3e-6, 15e-6


class Transcript:
    """The rows of one file. A sub-agent's rows have the id of the session that started it."""

    def __init__(self, name, cwd, moment, agent=None):
        self.name, self.cwd, self.clock, self.agent = name, cwd, Clock(moment), agent
        self.session = uuid4(f"claude {name}")
        self.rows, self.last, self.replies, self.cost = [], None, 0, 0

    def node(self, kind, parent="", **fields):
        """Appends a row of the tree, by default below the last one. Returns its uuid."""
        row_id = uuid4(f"claude {self.name} {self.agent} {len(self.rows)}")
        of_agent = {"agentId": self.agent} if self.agent else {}
        self.rows.append({"parentUuid": self.last if parent == "" else parent, "isSidechain": self.agent is not None,
                          **of_agent, "type": kind, **fields, "uuid": row_id, "timestamp": iso(self.clock.step()),
                          "userType": "external", "entrypoint": "cli", "cwd": self.cwd, "sessionId": self.session,
                          "version": "2.1.330", "gitBranch": "main"})
        self.last = row_id
        return row_id

    def note(self, kind, **fields):
        """A row that is not of the tree."""
        self.rows.append({"type": kind, **fields, "sessionId": self.session})

    def user(self, content, parent=""):
        return self.node("user", parent, message={"role": "user", "content": content})

    def reply(self, *blocks, stop="end_turn"):
        """One row per block; all have the id and the usage of the message. Returns the uuid of the last one."""
        self.replies += 1
        message_id = "msg_" + hex_id(f"claude {self.name} {self.agent} {self.replies}", 24)
        usage = {"input_tokens": 1200 + 90 * self.replies, "cache_creation_input_tokens": 0,
                 "cache_read_input_tokens": 400 * self.replies, "output_tokens": len(dump(blocks)) // 3}
        self.cost += usage["input_tokens"] * INPUT_PRICE + usage["output_tokens"] * OUTPUT_PRICE
        for block in blocks:
            block = {"type": "text", "text": block} if isinstance(block, str) else block
            message = {"id": message_id, "type": "message", "role": "assistant", "model": MODEL, "content": [block],
                       "stop_reason": stop, "stop_sequence": None, "usage": usage}
            self.node("assistant", message=message, requestId="req_" + message_id[4:])
        return self.last

    def call(self, tool, arguments, result, *blocks, is_error=False):
        call_id = "toolu_" + hex_id(f"claude {self.name} {self.agent} call {self.replies}", 24)
        block = {"type": "tool_use", "id": call_id, "name": tool, "input": arguments}
        caller = self.reply(*blocks, block, stop="tool_use")
        content = {"tool_use_id": call_id, "type": "tool_result", "content": result, "is_error": is_error}
        self.node("user", message={"role": "user", "content": [content]},
                  toolUseResult=f"Error: {result}" if is_error else result, sourceToolAssistantUUID=caller)
        return call_id

    def end(self, prompt):
        """The rows that the program writes after a turn."""
        self.note("last-prompt", lastPrompt=prompt, leafUuid=self.last)
        self.note("cost-state", totalCostUSD=round(self.cost, 6))

    def save(self, store):
        project = "".join(c if c.isascii() and c.isalnum() else "-" for c in self.cwd)
        folder = f"projects/{project}"
        path = f"{folder}/{self.session}/subagents/agent-{self.agent}" if self.agent else f"{folder}/{self.session}"
        store.write(f"{path}.jsonl", lines(self.rows), self.clock.moment)
        return path


def tail_drag(store):
    """A picture, a failed command, and a second question that was edited: two branches."""
    log = Transcript("drag", KITE, day(2, 7))
    picture = {"type": "base64", "media_type": "image/png",
               "data": base64.b64encode(png(120, 48, (6, 9, 14, 23, 38))).decode()}
    log.user([{"type": "text", "text": "I measured this drag with five tails, each 2 m longer. Is it quadratic?"},
              {"type": "image", "source": picture}])
    log.call("Bash", {"command": "python3 fit.py drag.csv", "description": "Fit the drag"},
             "Exit code 1\nFileNotFoundError: [Errno 2] No such file or directory: 'drag.csv'",
             {"type": "thinking", "thinking": "A fit of the five values will tell.", "signature": "c2FtcGxl"},
             "I will fit the values.", is_error=True)
    log.call("Write", {"file_path": f"{KITE}/drag.csv", "content": "2,6\n4,9\n6,14\n8,23\n10,38\n"}, "File created")
    log.call("Bash", {"command": "python3 fit.py drag.csv"}, "exponent 1.14, r2 0.93")
    answer = log.reply("Neither linear nor quadratic: the exponent is **1.14**, but the last value is far above it.")
    log.note("ai-title", aiTitle="Drag of the tail")
    log.user("Leave the last value out.")
    log.reply("Then the exponent is 0.96: linear, within the error.")
    log.user("Could the last tail have touched the ground?", parent=answer)
    log.reply("That fits: 10 m of tail at 9 m of height. Measure it again with a longer line.")
    log.note("ai-title", aiTitle="Drag of the tail")
    log.end("Could the last tail have touched the ground?")
    log.save(store)


def unretried_uploads(store):
    """A sub-agent and its answer, and a title that the user gave."""
    log = Transcript("uploads", HARBOR, day(-5))
    question = "Which calls of upload are not retried? Let an agent look."
    log.user(question)
    task = "List the calls of upload() outside of retry()."
    agent = hex_id("claude agent", 17)
    call = log.call("Agent", {"description": "Find calls of upload", "prompt": task, "subagent_type": "Explore"},
                    "Async agent launched successfully.")
    work = Transcript("uploads", HARBOR, log.clock.moment, agent)
    work.user(task)
    work.call("Grep", {"pattern": "upload\\("}, "sync/client.go:41\nsync/client.go:77\ncmd/push.go:19")
    work.reply("cmd/push.go:19 calls upload() without retry(); the two calls in sync/client.go are inside.")
    path = work.save(store)
    about = {"agentType": "Explore", "description": "Find calls of upload", "toolUseId": call, "model": MODEL,
             "finished": True}
    store.write(f"{path}.meta.json", dump(about).encode())
    log.clock.moment = work.clock.moment
    notice = f"<task-notification>\n{work.rows[-1]['message']['content'][0]['text']}\n</task-notification>"
    log.node("attachment", attachment={"type": "queued_command", "prompt": notice,
                                       "origin": {"kind": "task-notification"}})
    log.reply("One: `cmd/push.go:19`. The calls in `sync/client.go` are inside `retry()`.")
    log.note("custom-title", customTitle="Uploads without a retry")
    log.end(question)
    log.save(store)


def write(store):
    """Fills a folder of Claude Code."""
    tail_drag(store)
    unretried_uploads(store)
