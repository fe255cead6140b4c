"""omp: both generations of logs, branches, labels, a compaction, an image in a blob, an artifact folder, a breadcrumb,
and one log with every kind of damage that doctor knows by its bytes."""

import datetime
import hashlib

from .entries import EntryLog, thinking
from .story import HARBOR, HOME, KITE, NOTES, dump, iso, millis, png, uuid7


class Log(EntryLog):
    """A log as an agent of generation 13 or 18 writes it."""

    def __init__(self, name, cwd, day, generation, title=None, **header):
        super().__init__(name, cwd, day)
        self.generation, self.began = generation, self.moment
        if generation == 18:
            self.id = uuid7(name, self.moment)
        else:
            sequence = int(hashlib.sha256(name.encode()).hexdigest()[:5], 16)
            self.id = f"{((millis(self.moment) - 1420070400000) << 22) + sequence:016x}"
        stamp = iso(self.moment)
        self.head = {"type": "session", "version": 3, "id": self.id, "timestamp": stamp, "cwd": cwd, **header}
        self.title = title
        if title and generation == 13:
            self.head["title"] = title

    def slot(self):
        empty = {"type": "title", "v": 1, "title": self.title or "", "source": "auto", "updatedAt": iso(self.moment),
                 "pad": ""}
        empty["pad"] = " " * (255 - len(dump(empty).encode()))
        return dump(empty).encode()

    def bytes(self):
        lines = ([self.slot()] if self.generation == 18 else []) + [dump(self.head).encode()] + self.lines
        return b"".join(line + b"\n" for line in lines)

    def save(self, store, content=None):
        """Writes the log into the agent dir. Returns its path there without .jsonl."""
        inside = self.cwd.removeprefix(HOME + "/").replace("/", "-")
        stem = iso(self.began).replace(":", "-").replace(".", "-") + "_" + self.id
        store.write(f"sessions/-{inside}/{stem}.jsonl", content if content is not None else self.bytes(), self.began)
        return f"sessions/-{inside}/{stem}"


def flaky_test(store):
    """18: one question, two attempts on branches, labels, a branch summary."""
    log = Log("flaky", HARBOR, 0, 18, "Fix the flaky upload test")
    log.add("model_change", model="anthropic/claude-sonnet-4-5", role="default")
    log.add("thinking_level_change", thinkingLevel="medium", configured="medium")
    log.user("TestUploadResumes fails about one run in twenty on CI. Find out why and fix it.")
    log.call("bash", {"command": "go test ./upload -run Resumes -count 50"},
             "--- FAIL: TestUploadResumes (0.31s)\n    upload_test.go:88: got 3 parts, want 4\nFAIL\n",
             "Let me reproduce it first.", True)
    log.call("read", {"path": "upload/upload_test.go"},
             "func TestUploadResumes(t *testing.T) {\n\tsrv := newFakeStore(t)\n\tgo srv.DropAfter(2)\n\t…\n}\n")
    fork = log.assistant(thinking("The goroutine that drops the connection races with the third part."),
                         "The fake store drops the connection **from a goroutine**. When that runs late, the third part"
                         " is accepted first. Two ways out:\n\n1. wait for the drop in the test\n2. make the fake store"
                         " drop by part number\n\nI would take the second.")
    log.label(fork, "diagnosis")
    log.user("Try the first, it is less code.")
    log.call("edit", {"path": "upload/upload_test.go", "oldText": "go srv.DropAfter(2)", "newText": "srv.DropAfter(2)"},
             "Edited upload/upload_test.go")
    log.call("bash", {"command": "go test ./upload -count 200"}, "panic: test timed out after 1m0s\n", is_error=True)
    dead = log.assistant("Waiting in the test deadlocks: the drop only happens while a part is being sent.")
    log.label(dead, "dead end")
    log.add("branch_summary", parent=fork, fromId=fork,
            summary="Calling DropAfter without a goroutine deadlocks, because the drop waits for a part in flight.")
    log.user("All right, drop by part number then.")
    log.call("edit", {"path": "upload/fake_store.go", "oldText": "time.Sleep", "newText": "s.waitForPart"},
             "Edited upload/fake_store.go")
    log.call("bash", {"command": "go test ./upload -count 500"}, "ok  \tharbor/upload\t41.7s\n")
    good = log.assistant("500 runs, no failure. The fake store now counts parts and drops **before** answering the "
                         "third, whatever the scheduler does.")
    log.label(good, "green")
    log.save(store)


def retry_design(store):
    """13: a long talk with a compaction, custom entries and a title in the header."""
    log = Log("retry", HARBOR, 1, 13, "Retry policy for the sync command")
    log.user("What should happen when the server answers 503 during a sync?")
    log.assistant("A 503 is a promise that it gets better. Retry with *exponential backoff* and jitter:\n\n```go\n"
                  "delay := min(base<<attempt, limit)\ndelay += rand.N(delay / 2)\n```\n\nand honour `Retry-After`.")
    log.user("How many times?")
    kept = log.assistant("Five, or one minute in all, whichever is first. People at a terminal give up sooner, so "
                         "`--retries` should be there.")
    todo = ["--retries flag", "honour Retry-After", "document in man page"]
    log.add("custom", customType="todo", data={"items": todo})
    log.add("compaction", summary="We agreed on exponential backoff with jitter, at most five attempts or one minute,"
            " and on honouring Retry-After.", shortSummary="Retry policy agreed", firstKeptEntryId=kept,
            tokensBefore=48211)
    log.user("Write it.")
    log.call("write", {"path": "sync/retry.go"}, "Wrote 74 lines to sync/retry.go")
    done = log.assistant("Done: `sync/retry.go`, with a table test over 503, 429 and a dropped connection.")
    log.label(done, "done")
    stem = log.save(store)
    store.write(f"{stem}/0.bash.log", b"$ go vet ./...\n$ go test ./sync\nok  \tharbor/sync\t0.8s\n")
    store.write(f"{stem}/Explore.md",
                b"# Where retries happen today\n\nNowhere: `sync/client.go` returns the first error.\n")
    return stem


def chart(store):
    """18: a picture, stored as a blob."""
    picture = png(120, 48)
    name = hashlib.sha256(picture).hexdigest()
    store.write(f"blobs/{name}", picture)
    log = Log("chart", NOTES, 2, 18, "Bars for the yearly page")
    log.message("user", [{"type": "text", "text": "The bars on the yearly page look like this. Is the last one right?"},
                         {"type": "image", "data": f"blob:sha256:{name}", "mimeType": "image/png"}])
    log.call("bash", {"command": "sqlite3 notes.db 'select year, count(*) from notes group by year'"},
             "2022|14\n2023|22\n2024|31\n2025|27\n2026|40\n")
    log.assistant("Yes: 2026 has 40 notes, and the bar is 40 high. Only the axis label is missing. Größe: 120×48 px ✓")
    log.save(store)


def first_version(store):
    """13: a log of version 1, without ids; agents number its entries when they open it."""
    log = Log("first", NOTES, -40, 13)
    del log.head["version"]
    for role, text in (("user", "Rename every note from Title.md to title.md, keeping links alive."),
                       ("assistant", "Renamed 31 notes and rewrote 58 links; `git mv` keeps their history.")):
        log.moment += datetime.timedelta(seconds=40)
        content = text if role == "user" else [{"type": "text", "text": text}]
        message = {"role": role, "content": content, "timestamp": millis(log.moment)}
        if role == "assistant":
            message.update(api="anthropic-messages", provider="anthropic", model="claude-sonnet-4-5", stopReason="stop",
                           usage={"input": 812, "output": 40, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 852,
                                  "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0.003}})
        log.lines.append(dump({"type": "message", "timestamp": iso(log.moment), "message": message}).encode())
    log.save(store)


def damaged(store):
    """18: torn, fused and lost bytes, an orphan, a label on nothing, a blob that is gone."""
    log = Log("damaged", KITE, 3, 18, "Kite string physics")
    log.user("Simulate a kite string as twenty masses and springs.")
    log.assistant("I will use *Verlet* integration: stable, and no velocities to store.")
    log.add("message", parent="0badcafe", message={"role": "user", "content": "This one lost its parent to a crash."})
    log.assistant("Read on: the entries around the damage are all here.")
    log.label("deadbeef", "gone")
    log.message("user", [{"type": "image", "data": "blob:sha256:" + "5e" * 32, "mimeType": "image/png"}])
    lines = log.bytes().splitlines(keepends=True)
    fused = {"type": "message", "id": "f05ed001", "parentId": None, "timestamp": iso(log.moment),
             "message": {"role": "user", "content": "fused to the line before"}}
    lines[3] = lines[3].rstrip(b"\n") + dump(fused).encode() + b"\n"
    lines.insert(5, b'{"type":"message","id":"11111111","parentId":nul\n')
    lines.insert(7, b"\0" * 512 + b"\n")
    lines.append(b'{"type":"message","id":"70f0ta11","parentId":"11111111","timestamp":"2026-02-19T09:1')
    log.save(store, b"".join(lines))


def write(store):
    """Fills an agent dir of omp."""
    flaky_test(store)
    latest = retry_design(store)
    chart(store)
    first_version(store)
    damaged(store)
    store.write("terminal-sessions/pts-3", f"{HARBOR}\n{HOME}/.omp/agent/{latest}.jsonl\n".encode())
