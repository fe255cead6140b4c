#!/usr/bin/python3
"""One of several writers: appends numbered entries up to a time or a count, and records each answer.

    appender.py json|text|foreign|lockless TARGET NAME <seconds>s|<count> REPORT

TARGET is a session's folder in a mount; for `foreign` it is the log itself, which is written as an agent does.
`lockless` writes to the log without a lock, as pi does, and finds it by a pattern of paths. REPORT gets one JSON line
for each append: its number, and the answered id or the errno.
"""

import glob
import json
import os
import sys
import time

import foreign
from writing import answer_of

PAUSE = 0.001  # an agent's pause between two appends, which leaves the lock free for others


def append_json(folder, name, number):
    line = json.dumps({"type": "custom", "customType": name, "data": {"n": number}}) + "\n"
    return answer_of(os.path.join(folder, "append"), line)["id"]


def append_text(folder, name, number):
    descriptor = os.open(os.path.join(folder, "append"), os.O_WRONLY)
    try:
        os.write(descriptor, f"{name} {number}\n".encode())
    except OSError:
        os.close(descriptor)
        raise
    os.close(descriptor)  # the text is appended here


def append_foreign(log, name, number):
    entry_id = f"{name}-{number}"
    foreign.append(log, {"type": "custom", "customType": name, "data": {"n": number}, "id": entry_id, "parentId": None,
                         "timestamp": "2026-02-16T10:20:30.000Z"}, append_foreign.gate)
    time.sleep(PAUSE)
    return entry_id


def append_lockless(pattern, name, number):
    entry_id = f"{name}-{number}"
    line = json.dumps({"type": "custom", "customType": name, "data": {"n": number}, "id": entry_id, "parentId": None,
                       "timestamp": "2026-02-16T10:20:30.000Z"}).encode() + b"\n"
    while True:
        for log in glob.glob(pattern):
            try:
                descriptor = os.open(log, os.O_WRONLY | os.O_APPEND)
            except FileNotFoundError:
                continue
            os.write(descriptor, line)
            os.close(descriptor)
            time.sleep(PAUSE / 4)
            return entry_id


def main(kind, target, name, limit, report):
    append = {"json": append_json, "text": append_text, "foreign": append_foreign,
              "lockless": append_lockless}[kind]
    if kind == "foreign":
        append_foreign.gate = foreign.gate_name(target)
    until = time.monotonic() + float(limit[:-1]) if limit.endswith("s") else None
    number = 0
    with open(report, "w", encoding="utf-8") as told:
        while time.monotonic() < until if until else number < int(limit):
            number += 1
            try:
                answer = {"n": number, "id": append(target, name, number)}
            except OSError as error:
                answer = {"n": number, "errno": error.errno, "words": str(error)}
            print(json.dumps(answer), file=told)


if __name__ == "__main__":
    main(*sys.argv[1:])
