"""The questions of docs/TASKS.md that have an answer in numbers, asked of 500 logs of Claude Code of the last 60 days,
which tell no cost. The answers are counted here from the raw logs, without arborfs."""

import collections
import datetime
import json
import os
import random

from cases_stats import cost_by_list, price_list, records
from cases_work import EDITS, READS, WRITES, calls_in
from mounting import Mount, equal
from years import ClaudeLog, Year

PROJECTS = tuple(f"/home/ana/{name}" for name in ("shop", "shop/api", "notes", "kernel", "Größe und Maß"))
MODELS = {"claude-opus-4-5-20251101": "claude-opus-4-5-20251101", "claude-sonnet-4-5-20261101": "claude-sonnet-4-5",
          "claude-haiku-4-5": "claude-haiku-4-5", "no-price-1": None}
KINDS = {"input": "input_tokens", "output": "output_tokens", "cache_read": "cache_read_input_tokens",
         "cache_write": "cache_creation_input_tokens"}
FILES = tuple(f"{folder}/{name}" for folder in PROJECTS for name in ("main.go", "docs/how to.md", "src/a.ts", "ünits.py"))
NOW = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
NOON = datetime.timedelta(hours=12 - NOW.hour)  # in a zone where it is about noon, no day ends during the test


class Log(ClaudeLog):
    """A session of some turns, each with calls of tools and an answer."""

    def __init__(self, year, age):
        super().__init__(year, 1, "2.1.50", year.random.choice(PROJECTS))
        self.clock.now = NOW - age

    def said(self, content):
        """A record of the assistant with a usage of its own."""
        usage = {name: self.year.random.randrange(1, 4000) for name in KINDS.values()}
        self.node("assistant", requestId="req_" + self.year.new_id(), message={
            "id": "msg_" + self.year.new_id(), "type": "message", "role": "assistant", "content": content, "usage": usage,
            "model": self.year.random.choice(list(MODELS))})

    def called(self, tool, **arguments):
        call = "toolu_" + self.year.new_id()
        self.said([{"type": "tool_use", "id": call, "name": tool, "input": arguments}])
        self.node("user", message={"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": "ok"}]})

    def worked(self):
        path = self.year.random.choice(FILES)
        kind = self.year.random.randrange(4)
        if kind == 0:
            self.called("Read", file_path=path)
        elif kind == 1:
            self.called("Edit", file_path=path, old_string="a", new_string="b")
        elif kind == 2:
            self.called("Write", file_path=path, content="all of it\n")
        else:
            self.called("Bash", command=f"make {self.year.word('target')}")


def written(folder, number=500):
    """A store of Claude Code; the newest ones are of today, and none begins in the future."""
    year = Year(folder, seed=31)
    for _ in range(number):
        log = Log(year, datetime.timedelta(minutes=5 + year.random.randrange(86_400)))
        for _ in range(1 + year.random.randrange(3)):
            log.typed()
            for _ in range(year.random.randrange(4)):
                log.worked()
            log.said([{"type": "text", "text": year.word("answer")}])
        log.done(folder / "projects" / "".join(c if c.isascii() and c.isalnum() else "-" for c in log.cwd))
    return folder


class Counted:
    """What the raw logs say."""

    def __init__(self, store):
        self.prices = price_list()
        self.answers = []  # day, folder of the session, model, tokens
        self.files = collections.defaultdict(lambda: collections.defaultdict(lambda: [0, 0, 0]))  # by session and path
        self.typed = {}  # the session by each word that a person typed
        for log in store.rglob("*.jsonl"):
            for record in records(log):
                self.add(log.stem, record)

    def add(self, session, record):
        message = record.get("message", {})
        if message.get("role") == "user" and isinstance(message["content"], str):
            self.typed[message["content"].split()[-1]] = session
        if message.get("role") != "assistant":
            return
        tokens = {kind: message["usage"][name] for kind, name in KINDS.items()}
        day = datetime.datetime.fromisoformat(record["timestamp"].replace("Z", "+00:00")) + NOON
        self.answers.append((day.date().isoformat(), record["cwd"], message["model"], tokens))
        for tool, arguments in calls_in(message["content"]):
            for at, tools in enumerate((READS, EDITS, WRITES)):
                if tool in tools:
                    self.files[session][arguments["file_path"]][at] += 1

    def spent(self, is_day, by=lambda folder, model: folder):
        """Messages, output, cost and messages without a price, by project, of the days that count."""
        rows = collections.defaultdict(lambda: [0, 0, 0.0, 0])
        for day, folder, model, tokens in self.answers:
            if is_day(day):
                row, price = rows[by(folder, model)], self.prices.get(MODELS[model])
                row[0] += 1
                row[1] += tokens["output"]
                row[2] += cost_by_list(price, tokens) if price else 0
                row[3] += price is None
        return {name: (row[0], row[1], round(row[2], 3), row[3]) for name, row in rows.items()}


def test_questions_about_500_logs_have_the_answers_of_the_raw_logs(case):
    """The cost of last month by project, the tokens of today and of this week, the files of each session, the sessions
    that touched a file, by the command line and in by-file/, and the session in which something was typed."""
    store = written(case.new_path("claude"))
    counted = Counted(store)
    case.environment["TZ"] = f"ABC{-NOON // datetime.timedelta(hours=1):+}"

    def said(*words):
        return json.loads(case.arborfs(words[0], "--json", "--store", f"claude={store}", *words[1:], check=True).stdout)

    def spent(*words, by):
        return {row[by]: (row["messages"], row["output"], round(row.get("cost", 0), 3),
                          row.get("messagesWithoutCost", 0 if "cost" in row else row["messages"]))
                for row in said("stats", "--by", by, *words)}

    sessions = said("ls")
    equal(len(sessions), 500, "sessions")
    project = {row["cwd"]: row["project"] for row in sessions}
    equal(set(project), set(PROJECTS), "folders")
    today = (NOW + NOON).date()
    last_month = (today.replace(day=1) - datetime.timedelta(days=1)).strftime("%Y-%m")
    week = (today - datetime.timedelta(days=today.weekday())).isoformat()
    for period, is_day in (("last-month", lambda day: day.startswith(last_month)), ("today", lambda day: day == str(today)),
                           ("this-week", lambda day: day >= week)):
        expected = counted.spent(is_day, by=lambda folder, model: project[folder])
        equal(spent("--in", period, by="project"), expected, period)
        assert expected or period != "last-month", "the logs are of the last 60 days"
    equal(spent(by="model"), counted.spent(bool, by=lambda folder, model: model), "by model")

    touched = collections.defaultdict(set)
    for session, files in counted.files.items():
        for path in files:
            touched[path].add(session)
    for row in sessions[:40]:
        files = {file["path"]: [file["reads"], file["edits"], file["writes"]] for file in said("files", row["session"])}
        equal(files, {path: numbers for path, numbers in counted.files[row["session"]].items()}, row["session"])
    assert len(touched) == len(FILES) and all(len(found) > 10 for found in touched.values()), touched
    for path in FILES[::3]:
        equal({row["session"] for row in said("search", "--path", path)}, touched[path], path)
    for word in random.Random(5).sample(sorted(counted.typed), 10):
        equal([row["session"] for row in said("search", "role:user", word)], [counted.typed[word]], word)
    with Mount(case, [f"store=claude={store}"]) as mount:
        for path in FILES[::3]:
            found = {os.path.basename(os.readlink(mount / "by-file" / path[1:] / name))
                     for name in os.listdir(mount / "by-file" / path[1:])}
            equal(len(found), len(touched[path]), path)
