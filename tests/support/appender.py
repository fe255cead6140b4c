#!/usr/bin/python3
"""One writer among several: appends numbered entries until a time or a number is reached, and keeps what it was told.

    appender.py json|text|foreign|lockless TARGET NAME <seconds>s|<count> REPORT

TARGET is a session's folder in a mount; for `foreign` the log itself, which is written to as an agent does. `lockless`
does so without a lock, as pi does, and finds the log by a pattern of paths. REPORT gets one JSON line for each append:
its number, and the id that was answered or the errno.
"""

import glob
import json
import os
import sys
import time

import foreign
from writing import answer_of

PAUSE = 0.001  # of an agent between two appends, which keeps the lock free for others


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
    os.close(descriptor)  # where it is taken


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
