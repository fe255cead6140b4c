"""All agents at once for ARBORFS_HAMMER_SECONDS, with other programs at the same stores: ARBORFS_HAMMER_SECONDS=3600
tests/mount/run.py soak is the soak of an hour. What a write was told is true, and a write that fails says why: the
errors that are no "try again" end the case, with the words of status.json."""

import contextlib
import errno
import fcntl
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import time
from collections import Counter

import cases_claude
import cases_codex
import cases_goat
import cases_opal
import cases_opencode
import cases_pi
from cases_hammer import LATE, SECONDS, agent, crawler, put_text, repeat
from cases_torture import in_process
from mounting import concurrent, equal, eventually
from writing import reason

TRY_AGAIN = {errno.EBUSY, errno.ESTALE}
PAUSE = max(0.03, SECONDS / 4000)  # so that no log has more than some thousand lines in the end
LOCK = 30  # seconds that other programs wait for the database; those of 5 s are OpenCode's own


# -- the mount's writers: {text: None if it was acknowledged, else (errno, the reason)}


def texts_writer(deadline, folder, name):
    told = {}

    def step(number):
        text = f"soak {name} {number}."
        try:
            put_text(folder / "append", text)
            told[text] = None
        except OSError as error:
            told[text] = (error.errno, reason_of(folder))

    repeat(deadline, PAUSE, step)
    return told


def titler(deadline, folder, name):
    told = {}

    def step(number):
        try:
            put_text(folder / "title", f"{name} {number}")
        except OSError as error:
            told[f"title {number}"] = (error.errno, reason_of(folder))

    repeat(deadline, 3 * PAUSE, step)
    return told


def reason_of(folder):
    try:
        return reason(folder)
    except OSError as error:
        return f"no reason: {error}"


# -- other programs


def change_database(database, session, number):
    """One change as OpenCode makes it: a message with a part."""
    now = int(time.time() * 1000)
    key = f"{now:012x}{os.getpid():08d}{number:06d}"
    message = {"role": "user", "time": {"created": now}, "agent": "build", "model": {"providerID": "a", "modelID": "b"}}
    part = {"type": "text", "text": "word " * random.choice((1, 100, 3000))}
    database.execute("BEGIN IMMEDIATE")
    database.execute("INSERT INTO message(id, session_id, time_created, time_updated, data) VALUES(?, ?, ?, ?, ?)",
                     (f"msg_{key}", session, now, now, json.dumps(message)))
    database.execute("INSERT INTO part(id, message_id, session_id, time_created, time_updated, data) "
                     "VALUES(?, ?, ?, ?, ?, ?)", (f"prt_{key}", f"msg_{key}", session, now, now, json.dumps(part)))
    database.execute("COMMIT")


def steady_program(deadline, path, session):
    """Has the database open for some changes, and empties its -wal in every way."""
    while time.monotonic() < deadline:
        with contextlib.closing(sqlite3.connect(path, timeout=LOCK, isolation_level=None)) as database:
            for number in range(random.randrange(100)):
                change_database(database, session, number)
                if random.random() < 0.05:
                    database.execute(f"PRAGMA wal_checkpoint({random.choice(('PASSIVE', 'RESTART', 'TRUNCATE'))})")
                time.sleep(random.uniform(0, 2 * PAUSE))


def short_programs(deadline, path, session):
    """Open the database for each change."""
    def step(number):
        with contextlib.closing(sqlite3.connect(path, timeout=LOCK, isolation_level=None)) as database:
            change_database(database, session, number)

    repeat(deadline, PAUSE, step)


def killed_programs(deadline, path, session):
    def step(_):
        program = os.fork()
        if program == 0:
            short_programs(deadline, path, session)
            os._exit(0)
        time.sleep(random.uniform(0, 0.3))
        os.kill(program, signal.SIGKILL)
        os.waitpid(program, 0)

    repeat(deadline, 0.2, step)


def goat_program(deadline, native):
    def step(number):
        with cases_goat.locked(native), (native / "messages.jsonl").open("a") as log:
            log.write(cases_goat.line(f"goat-{number}", "assistant", "g" * random.choice((10, 5000))))

    repeat(deadline, PAUSE, step)


def opal_program(deadline, log):
    """Writes its log again, with a message more."""
    lines = []

    def step(number):
        del lines[200:]
        lines.insert(0, cases_opal.line(f"{number:08x}", f"{number - 1:08x}" if lines else None, f"opal {number}"))
        header = json.dumps({"current_id": f"{number:08x}", "metadata": {"title": "Soak"}, "session_id": log.stem})
        log.write_text("\n".join([header, *lines]) + "\n")

    repeat(deadline, 3 * PAUSE, step)


def appending_program(deadline, log, line):
    """`line` makes the line with a number."""
    def step(number):
        with log.open("a") as out:
            out.write(line(number))

    repeat(deadline, PAUSE, step)


def codex_line(number):
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": f"codex {number}"}]}
    return json.dumps({"timestamp": "2026-02-16T10:20:30.000Z", "type": "response_item", "payload": item}) + "\n"


# -- the stores


def make_stores(case):
    """The folder of each agent's store."""
    pi = case.new_path("pi")
    shutil.copytree(cases_pi.SAMPLES, pi / "sessions")
    return {"opencode": cases_opencode.store(case, "fresh-1.18.33"), "goat": cases_goat.goat_dir(case),
            "opal": cases_opal.opal_dir(case), "claude": cases_claude.claude_dir(case),
            "codex": cases_codex.codex_dir(case, sorted(p.name for p in cases_codex.SAMPLES.iterdir() if p.is_dir())[0]),
            "pi": pi}


def programs_for(stores, talk):
    """The other programs: (function, arguments after the deadline)."""
    opencode = stores["opencode"] / "opencode.db"
    session = sorted(s["id"] for s in cases_opencode.expected("fresh-1.18.33") if s["revert"] is None)[-1]
    goat = next(path.parent for path in sorted(stores["goat"].rglob("messages.jsonl")))
    opal = stores["opal"] / "sessions" / "soak.jsonl"
    claude = next(iter(sorted((stores["claude"] / "projects").glob("*/*.jsonl"))))
    codex = next(iter(sorted(stores["codex"].rglob("*.jsonl"))))
    return [(steady_program, opencode, session), (short_programs, opencode, session),
            (killed_programs, opencode, session), (goat_program, goat), (opal_program, opal),
            (agent, talk.path, "agent"), (appending_program, codex, codex_line),
            (appending_program, claude, lambda number: cases_claude.row(f"soak-{number}", None, f"claude {number}"))]


def writable(mount):
    """Up to three folders of sessions of each agent that take messages."""
    folders = {}
    for folder in sorted((mount / "by-id").iterdir()):
        found = folders.setdefault(json.loads((folder / "session.json").read_text())["agent"], [])
        with contextlib.suppress(OSError):
            if len(found) < 3:
                put_text(folder / "append", "the first message of the soak")
                found.append(folder)
    return {name: found for name, found in folders.items() if found}


def assert_true(folder, told):
    """What was acknowledged is there once, what was refused is not."""
    raw = (folder / "raw.jsonl").read_text("utf-8", "replace")
    raw = re.sub(r'"lastPrompt":"[^"]*"', "", raw)  # Claude Code's pin repeats the prompt
    raw = re.sub(r'(?m)^.*"type":"event_msg".*$', "", raw)  # and so do events of Codex
    for text, failure in told.items():
        if not text.startswith("title"):
            equal(raw.count(f'"{text}"'), 1 if failure is None else 0, f"{folder.name}: {text!r}, told {failure}")
        assert failure is None or failure[0] in TRY_AGAIN, f"{folder.name}: {text!r} failed: {failure}"


@concurrent
def test_all_agents_beside_their_programs(case):
    """Appends and titles in the sessions of every agent, while programs write to the same stores: no error but "try
    again", nothing told stored that is not, nothing stored that was refused."""
    stores = make_stores(case)
    talk = case.agent.talk(cwd="/srv/soak")
    options = [f"store={name}={folder}" for name, folder in stores.items()]
    with case.mount("live=write", f"store=omp={case.agent.path}", *options, own_stores=True) as mount:
        folders = writable(mount)
        print({name: len(found) for name, found in folders.items()})
        assert {"omp", "pi", "opal", "opencode", "goat"} <= set(folders), folders
        deadline = time.monotonic() + SECONDS
        writers = [(folder, in_process(function, deadline, folder, f"{name}-{folder.name[-6:]}"))
                   for name, found in folders.items() for folder in found for function in (texts_writer, titler)]
        others = [in_process(function, deadline, *arguments) for function, *arguments in programs_for(stores, talk)]
        others += [in_process(crawler, deadline, words) for words in
                   (["ls", "-lR", mount.path], ["bash", "-c", f"cat {mount.path}/by-id/*/* > /dev/null"])]
        told = {folder: {} for folder, _ in writers}
        left = SECONDS + LATE
        for folder, result in writers:
            told[folder].update(result(left))
        for result in others:
            result(left)
        print("refused:", dict(Counter(f"{folder.name} {text.split()[0]} {errno.errorcode[failure[0]]}: {failure[1]}"
                                       for folder, answers in told.items() for text, failure in answers.items()
                                       if failure is not None)))
        print("acknowledged:", sum(failure is None for answers in told.values() for failure in answers.values()))
        print("status.json:", json.loads((mount / "status.json").read_text())["lastErrors"])
        for folder, answers in told.items():
            eventually(5, lambda: (folder / "raw.jsonl").read_bytes())
            assert_true(folder, answers)
    with contextlib.closing(sqlite3.connect(stores["opencode"] / "opencode.db")) as database:
        equal(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)], "the database")
