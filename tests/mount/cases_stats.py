"""`arborfs stats` and stats/ agree with a sum over the raw logs, made here without arborfs, for all agents."""

import collections
import datetime
import errno
import json
import os
import random
import shutil
import sqlite3
import threading
import time

from mounting import BINARY, Mount, SANITIZED, SOURCE_DIR, concurrent, equal, eventually, fails_with, run, visible_within

SAMPLES = SOURCE_DIR / "tools" / "samples"
AGENTS = ("omp", "pi", "opal", "opencode", "claude", "codex", "goat")
SHOWN = ("agent", "day", "model", "project")
NUMBERS = ("input", "output", "reasoning", "cacheRead", "cacheWrite", "cost")


def copies(case):
    """A copy of the sample store of each agent."""
    folder = case.new_path("samples")
    run(SAMPLES / "copy", folder, BINARY)
    return folder


def records(path):
    """The JSON objects in the lines of a log; a line may have several, and may be damaged."""
    decoder = json.JSONDecoder(strict=False)
    for line in path.read_bytes().split(b"\n"):
        text = line.decode("utf8", "replace").strip()
        while text.startswith("{"):
            try:
                record, end = decoder.raw_decode(text)
            except ValueError:
                break
            yield record
            text = text[end:].lstrip()


def moment(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def of_omp_or_pi(store):
    for log in store.glob("sessions/*/*.jsonl"):
        for record in records(log):
            message = record.get("message") if isinstance(record.get("message"), dict) else {}
            said = message if message.get("role") == "assistant" else record
            if message.get("role") == "toolResult" and message.get("toolName") == "task":
                said = message.get("details", {})
            usage = said.get("usage")
            if isinstance(usage, dict):
                numbers = {name: usage[name] for name in NUMBERS if name in usage}
                numbers["cost"] = usage.get("cost", {}).get("total", 0)
                yield moment(record["timestamp"]), said.get("model", "unknown"), 1, numbers


def of_opencode(store):
    database = sqlite3.connect(f"file:{store}/opencode.db?immutable=1", uri=True)
    for (text,) in database.execute("SELECT data FROM message"):
        info = json.loads(text)
        if "tokens" in info:
            tokens = info["tokens"]
            numbers = {name: tokens[name] for name in ("input", "output", "reasoning")}
            numbers |= {"cacheRead": tokens["cache"]["read"], "cacheWrite": tokens["cache"]["write"], "cost": info["cost"]}
            yield info["time"]["created"] / 1000, info["modelID"], 1, numbers
    database.close()


def of_claude(store):
    counted = set()
    for log in sorted(store.glob("projects/**/*.jsonl")):
        cost = last = model = None
        for record in records(log):
            kind = record.get("type")
            cost = record.get("totalCostUSD", cost) if kind == "cost-state" else cost
            if kind in ("user", "assistant", "system", "attachment"):
                last = moment(record["timestamp"])
            if kind != "assistant":
                continue
            message = record["message"]
            usage, model = message["usage"], message["model"]
            key = message["id"], record.get("requestId")
            if key not in counted:
                counted.add(key)
                yield last, model, 1, {"input": usage["input_tokens"], "output": usage["output_tokens"],
                                       "cacheRead": usage["cache_read_input_tokens"],
                                       "cacheWrite": usage["cache_creation_input_tokens"]}
        if cost is not None:
            yield last, model, 0, {"cost": cost}


def of_codex(store):
    counted = set()
    for log in sorted(store.glob("sessions/**/*.jsonl")):
        model = "unknown"
        for record in records(log):
            payload = record["payload"]
            if record["type"] == "turn_context":
                model = payload.get("model", model)
            if record["type"] == "token_usage_record":
                key, usage = (payload["thread_id"], payload["response_id"]), payload["usage"]
            elif payload.get("type") == "token_count":
                key, usage = (log, str(payload["info"]["total_token_usage"])), payload["info"]["last_token_usage"]
            else:
                continue
            if key not in counted:
                counted.add(key)
                cached = usage["cached_input_tokens"]
                yield moment(record["timestamp"]), model, 1, {
                    "input": usage["input_tokens"] - cached, "output": usage["output_tokens"], "cacheRead": cached,
                    "reasoning": usage.get("reasoning_output_tokens", 0)}


def of_goat(store):
    for folder in store.glob("sessions/*"):
        metadata = json.loads((folder / "metadata.json").read_text())
        if "total_cost_usd" in metadata:
            last = [record for record in records(folder / "messages.jsonl")][-1]
            yield moment(last["timestamp"]), "unknown", 0, {"cost": metadata["total_cost_usd"]}


READERS = {"omp": of_omp_or_pi, "pi": of_omp_or_pi, "opencode": of_opencode, "claude": of_claude, "codex": of_codex,
           "goat": of_goat, "opal": lambda store: ()}


def summed(samples, hours_before_utc):
    """Tokens and cost by day, model and agent."""
    sums = {by: collections.defaultdict(lambda: dict.fromkeys(("messages", *NUMBERS), 0))
            for by in ("day", "model", "agent")}
    for agent, reader in READERS.items():
        for time, model, messages, numbers in reader(samples / agent):
            zone = datetime.timezone(datetime.timedelta(hours=hours_before_utc))
            names = {"day": datetime.datetime.fromtimestamp(time, zone).strftime("%Y-%m-%d"), "model": model, "agent": agent}
            for by, name in names.items():
                row = sums[by][name]
                row["messages"] += messages
                for key, number in numbers.items():
                    row[key] += number
    return sums


def rounded(rows):
    """Sums of costs differ in their last digits with their order."""
    return {name: {key: round(number, 6) for key, number in row.items()} for name, row in rows.items()}


def printed(samples, by, zone, *words):
    done = run(samples / "arborfs", "stats", "--json", "--by", by, *words, env={**os.environ, "TZ": zone})
    rows = json.loads(done.stdout)
    return {row[by]: {key: row.get(key, 0) for key in ("messages", *NUMBERS)} for row in rows}


def table(text, by):
    """The rows of a file in stats/ by their names."""
    head, *rows = (line.split("\t") for line in text.splitlines())
    equal(head[0], by, "the first column")
    return {row[0]: {key: float(cell) for key, cell in zip(head[1:], row[1:]) if cell} for row in rows}


def command_rows(case, samples, by):
    done = run(samples / "arborfs", "stats", "--json", "--by", by, env=case.environment)
    return {row.pop(by): row for row in json.loads(done.stdout)}


def test_stats_equal_a_sum_over_the_raw_logs(case):
    """By day in two time zones, by model and by agent."""
    samples = copies(case)
    for zone, hours in (("UTC", 0), ("ABC-14", 14)):
        expected = summed(samples, hours)
        for by in ("day", "model", "agent"):
            equal(rounded(printed(samples, by, zone)), rounded(expected[by]), f"by {by} in {zone}")
    assert len(expected["agent"]) > 5 and len(expected["day"]) > 5, expected
    total = sum(row["input"] for row in expected["agent"].values())
    for by in ("project", "session"):
        equal(sum(row["input"] for row in printed(samples, by, "UTC").values()), total, by)


def test_stats_count_copies_of_messages_once(case):
    """A fork of omp's and a continued transcript of Claude Code repeat messages."""
    samples = copies(case)
    before = {by: printed(samples, by, "UTC") for by in ("day", "agent")}
    run(samples / "arborfs", "fork", "omp:019c65b8")
    log = next(samples.glob("claude/projects/*/3de02c36-*.jsonl"))
    other = "11111111-2222-4333-8444-555555555555"
    text = "\n".join(line for line in log.read_text().splitlines() if '"cost-state"' not in line) + "\n"
    log.with_name(f"{other}.jsonl").write_text(text.replace(log.stem, other))
    for by, rows in before.items():
        equal(printed(samples, by, "UTC"), rows, by)


def test_stats_follow_the_logs_and_name_what_is_unreadable(case):
    """An answer counts as soon as it is written; a log that cannot be read does not hide the others."""
    session = case.agent.talk()
    store = ("--agent-dir", str(case.agent.path))

    def messages():
        rows = json.loads(case.arborfs("stats", "--json", "--by", "agent", *store).stdout)
        return sum(row["messages"] for row in rows)

    before = messages()
    session.assistant("one more")
    session.grow()
    equal(messages(), before + 1, "after an answer")
    shutil.copy(session.path, session.path.with_name("copy.jsonl"))
    equal(messages(), before + 1, "with a copy of the log")


def price_list():
    """The rows of the list that is built in, by model."""
    lines = [line for line in (SOURCE_DIR / "core/views/prices.tsv").read_text().splitlines() if not line.startswith("#")]
    names = lines[0].split("\t")
    rows = [dict(zip(names, line.split("\t"))) for line in lines[1:]]
    return {row["model"]: {key: float(value) for key, value in row.items() if value and key not in ("provider", "model")}
            for row in rows}


def cost_by_list(row, tokens):
    """In dollars, or None if the list lacks a price."""
    above = "_above" if sum(tokens[kind] for kind in tokens if kind != "output") > row.get("above_tokens", float("inf")) else ""
    cost = 0.0
    for kind, number in tokens.items():
        price = row.get(kind + above)
        if above and kind == "cache_write_1h" and kind in row:
            price = row[kind] * row["input_above"] / row["input"]  # the list has no column for it
        if number and price is None:
            return None
        cost += number * (price or 0) / 1e6
    return cost


MODELS = {"claude-sonnet-4-5-20250929": "claude-sonnet-4-5-20250929", "claude-sonnet-4-5-20261101": "claude-sonnet-4-5",
          "claude-opus-4-6[1m]": "claude-opus-4-6", "claude-haiku-4-5": "claude-haiku-4-5", "kite-9": None}
MODELS_OF_CODEX = {"gpt-5.2-codex": "gpt-5.2-codex", "gpt-5.5": "gpt-5.5", "gpt-5-2026-10-10": "gpt-5", "gpt-5.99": None}


def write_claude(store, number, draw):
    """A session whose answers have several records, the last of which tells all tokens. Yields model and tokens."""
    session = f"{number:08}-1111-4111-8111-111111111111"
    log = store / "projects" / "-work" / f"{session}.jsonl"
    log.parent.mkdir(parents=True, exist_ok=True)
    rows = [{"type": "user", "uuid": "p", "parentUuid": None, "sessionId": session, "cwd": "/work",
             "timestamp": "2026-05-01T10:00:00.000Z", "message": {"role": "user", "content": "x"}}]
    for answer in range(draw.randrange(1, 9)):
        model = draw.choice(list(MODELS))
        tokens = {"input": draw.randrange(5000), "output": draw.randrange(1, 3000), "cache_read": draw.choice([0, 9000, 260000]),
                  "cache_write": draw.choice([0, 1500]), "cache_write_1h": draw.choice([0, 700])}
        for share in sorted(draw.sample(range(1, 10), draw.randrange(0, 3))) + [10]:
            usage = {"input_tokens": tokens["input"], "output_tokens": tokens["output"] * share // 10,
                     "cache_read_input_tokens": tokens["cache_read"],
                     "cache_creation_input_tokens": tokens["cache_write"] + tokens["cache_write_1h"],
                     "cache_creation": {"ephemeral_5m_input_tokens": tokens["cache_write"],
                                        "ephemeral_1h_input_tokens": tokens["cache_write_1h"]}}
            rows.append({"type": "assistant", "uuid": f"a{answer}-{share}", "parentUuid": rows[-1]["uuid"],
                         "sessionId": session, "timestamp": "2026-05-01T10:00:01.000Z", "requestId": f"r{number}-{answer}",
                         "message": {"id": f"m{number}-{answer}", "role": "assistant", "model": model, "content": [],
                                     "usage": usage}})
        yield MODELS[model], tokens
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_codex(store, number, draw):
    """A thread, whose events of one response are repeated. Yields model and tokens."""
    thread = f"019c4740-4400-7084-801f-{number:012}"
    log = store / "sessions" / "2026" / "05" / "01" / f"rollout-2026-05-01T10-00-00-{thread}.jsonl"
    log.parent.mkdir(parents=True, exist_ok=True)
    sums = collections.Counter()

    def record(kind, payload):
        return {"timestamp": "2026-05-01T10:00:00.000Z", "type": kind, "payload": payload}

    records_ = [record("session_meta", {"id": thread, "timestamp": "2026-05-01T10:00:00.000Z", "cwd": "/work"})]
    for _ in range(draw.randrange(1, 9)):
        model = draw.choice(list(MODELS_OF_CODEX))
        tokens = {"input": draw.randrange(1, 9000), "cache_read": draw.choice([0, 4000, 300000]), "output": draw.randrange(1, 3000)}
        usage = {"input_tokens": tokens["input"] + tokens["cache_read"], "cached_input_tokens": tokens["cache_read"],
                 "output_tokens": tokens["output"], "reasoning_output_tokens": 0,
                 "total_tokens": sum(tokens.values())}
        sums.update(usage)
        told = record("event_msg", {"type": "token_count", "info": {"total_token_usage": dict(sums), "last_token_usage": usage}})
        records_ += [record("turn_context", {"model": model, "cwd": "/work"}), *[told] * draw.randrange(1, 3)]
        yield MODELS_OF_CODEX[model], tokens
    log.write_text("".join(json.dumps(record_) + "\n" for record_ in records_))


def test_costs_equal_another_count_by_the_price_list(case):
    """Of 500 generated logs of Claude Code and 100 of Codex, which tell no cost: long requests, both lifetimes of the cache,
    models with a date, and models without a price."""
    prices, draw = price_list(), random.Random(7)
    for agent, write, number in (("claude", write_claude, 500), ("codex", write_codex, 100)):
        store = case.new_path(agent)
        cost, without = 0.0, 0
        for session in range(number):
            for model, tokens in write(store, session, draw):
                known = cost_by_list(prices[model], tokens) if model else None
                cost, without = cost + (known or 0), without + (known is None)
        (row,) = json.loads(case.arborfs("stats", "--json", "--by", "agent", f"--store={agent}={store}").stdout)
        assert abs(row["cost"] - cost) < 1e-4 and abs(row["computedCost"] - cost) < 1e-4, (agent, row, cost)
        equal(row["messagesWithoutCost"], without, agent)


def test_files_of_the_mount_say_what_the_command_says(case):
    """stats/ on the samples, with and without -o ro."""
    samples = copies(case)
    stores = [f"store={agent}={samples / agent}" for agent in AGENTS if agent != "omp"]
    for options in ((), ("ro",)):
        with Mount(case, [*options, *stores], agent_dir=samples / "omp") as mount:
            equal(sorted(os.listdir(mount / "stats")), [f"by-{by}.tsv" for by in SHOWN], "names")
            for by in SHOWN:
                path = mount / "stats" / f"by-{by}.tsv"
                equal(table(path.read_text(), by), command_rows(case, samples, by), f"{by} {options}")
                equal(os.stat(path).st_size, len(path.read_bytes()), "size")
            fails_with(errno.ENOENT, os.stat, mount / "stats" / "by-session.tsv")


def test_files_of_the_mount_follow_the_logs(case):
    """An answer that another program writes counts within a second, with and without notifications."""
    session = case.agent.talk()
    for options in ((), ("nonotify",)):
        with case.mount(*options) as mount:
            path = mount / "stats" / "by-agent.tsv"

            def messages():
                return int(table(path.read_text(), "agent")["omp"]["messages"])

            before = messages()
            session.assistant("one more")
            visible_within(1, session.grow, lambda: messages() == before + 1, "the answer")


@concurrent
def test_opens_beside_constant_appends_succeed(case):
    """stats/ and search/ are opened, and listed names followed, while another program and this mount append all the time:
    no open fails, though the texts change between its lookup and itself."""
    session, other = case.agent.talk(), case.agent.session(session_id="1f9d2a6b9c0dbbbb")
    other.user("race")
    other.write()
    wrong, opens, over = [], collections.Counter(), threading.Event()

    def until_over(work):
        def run_it():
            while not over.is_set():
                try:
                    work()
                except OSError as error:
                    wrong.append(repr(error))

        return threading.Thread(target=run_it)

    with case.mount() as mount:
        def grow():
            other.assistant("race again")
            other.grow()
            time.sleep(0.002)

        def append():
            (mount.session(session) / "append").write_text("race hi")
            time.sleep(0.002)

        def reader(name):
            def read():
                (mount / name).read_bytes()
                opens[name] += 1
            return read

        def follow():
            folder = mount / "search" / "race"
            for name in os.listdir(folder):
                os.lstat(folder / name)

        names = ["stats/by-model.tsv", "stats/by-day.tsv", "search/race/hits.json", "search/race/excerpts.md",
                 "search/hi/hits.json"]
        enough = 60 if SANITIZED else 300  # within minutes the texts grow beyond what is kept of lookups (2 MiB)
        threads = [until_over(work) for work in (grow, append, follow, *map(reader, names), *map(reader, names[:2]))]
        for thread in threads:
            thread.start()
        try:
            eventually(60, lambda: wrong or opens.total() >= enough and min(opens[name] for name in names) >= 5, "opens")
        finally:
            over.set()
            for thread in threads:
                thread.join()
        equal(wrong, [], f"errors beside {dict(opens)}")
