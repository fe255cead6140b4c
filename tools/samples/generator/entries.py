"""Logs of omp and pi: entries with ids and parents, one per line. pi is the ancestor of omp; most entries are equal."""

import datetime
import hashlib

from .story import START, dump, iso, millis


def thinking(text):
    return {"type": "thinking", "thinking": text}


class EntryLog:
    """One session log being written. `name` is what its ids are made of."""

    def __init__(self, name, cwd, day):
        self.moment = START + datetime.timedelta(days=day)
        self.cwd, self.name = cwd, name
        self.last, self.count, self.lines = None, 0, []

    def add(self, kind, parent="", **fields):
        """Appends an entry; its parent is the last one unless another is given. Returns the new id."""
        self.moment += datetime.timedelta(seconds=23 + self.count % 7 * 11)
        self.count += 1
        entry_id = hashlib.sha256(f"{self.name} {self.count}".encode()).hexdigest()[:8]
        parent = self.last if parent == "" else parent
        entry = {"type": kind, "id": entry_id, "parentId": parent, "timestamp": iso(self.moment), **fields}
        self.lines.append(dump(entry).encode())
        self.last = entry_id
        return entry_id

    def message(self, role, content, parent="", **fields):
        message = {"role": role, "content": content, **fields, "timestamp": millis(self.moment)}
        return self.add("message", parent, message=message)

    def user(self, text, parent=""):
        return self.message("user", text, parent)

    def assistant(self, *blocks, parent="", model="claude-sonnet-4-5"):
        blocks = [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]
        size = len(dump(blocks))
        usage = {"input": 900 + 40 * self.count, "output": size // 3, "cacheRead": 300 * self.count, "cacheWrite": 120}
        usage["totalTokens"] = sum(usage.values())
        cost = round(usage["input"] * 3e-6 + usage["output"] * 15e-6, 6)
        usage["cost"] = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": cost}
        stop = "toolUse" if any(b["type"] == "toolCall" for b in blocks) else "stop"
        return self.message("assistant", blocks, parent, api="anthropic-messages", provider="anthropic", model=model,
                            usage=usage, stopReason=stop)

    def call(self, tool, arguments, result, say="", is_error=False):
        call_id = f"call_{self.count:03d}"
        blocks = [say] if say else []
        self.assistant(*blocks, {"type": "toolCall", "id": call_id, "name": tool, "arguments": arguments})
        return self.message("toolResult", [{"type": "text", "text": result}] if isinstance(result, str) else result,
                            toolCallId=call_id, toolName=tool, isError=is_error)

    def label(self, target, text):
        return self.add("label", targetId=target, label=text)
