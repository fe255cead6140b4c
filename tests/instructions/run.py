#!/usr/bin/env python3
"""Counts the instructions of arborfs-micro's benchmarks and compares them with the recorded counts.

  run.py NAME              one benchmark; fails if it takes over 50 % more than in counts.json
  run.py --record [NAME]   counts again and records the new figures
  run.py --list            names

Valgrind's count does not depend on the load of the machine. It depends on the compiler and on the instruction sets that
libraries choose from, so the figures hold for one compiler and for processors with AVX2; elsewhere the test is skipped.
Environment: ARBORFS_MICRO and ARBORFS_GENERATE, the programs, and ARBORFS_COMPILER, their compiler.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

COUNTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "counts.json")
TOLERANCE = 0.50
RUNS = 3  # at most; some appends look for agents in /proc, whose cost depends on the other processes
ITERATIONS = 4
LOG_MB, SEED = "4", "42"
SKIPPED = 77


def skip(reason):
    print(f"SKIPPED: {reason}")
    sys.exit(SKIPPED)


def need_this_machine(compiler):
    if not shutil.which("valgrind"):
        skip("valgrind is not installed")
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        if not re.search(r"^flags.*\bavx2\b", info.read(), re.MULTILINE):
            skip("the counts on record are of processors with AVX2")
    built_by = os.environ["ARBORFS_COMPILER"]
    if built_by != compiler:
        skip(f"the counts on record are of {compiler}, not of {built_by}")


def make_agent_dir(folder):
    sessions = os.path.join(folder, "sessions", "--srv-bench--")
    os.makedirs(sessions)
    log = os.path.join(sessions, "2026-01-05T08-00-00-000Z_counted.jsonl")
    subprocess.run([os.environ["ARBORFS_GENERATE"], "session", LOG_MB, SEED, log, "--blobs", os.path.join(folder, "blobs")],
                   check=True, stdout=subprocess.DEVNULL)


def count(name, agent_dir):
    """The instructions of one iteration."""
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", "--instr-atstart=no", "--callgrind-out-file=/dev/null",
         os.environ["ARBORFS_MICRO"], agent_dir, f"--benchmark_filter=^{name}/"],
        env=dict(os.environ, ITERATIONS=str(ITERATIONS)), check=False, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    collected = re.search(r"Collected : (\d+)", done.stdout)
    if done.returncode != 0 or not collected or int(collected[1]) == 0:
        sys.exit(f"{name} could not be counted:\n{done.stdout}")
    return int(collected[1]) // ITERATIONS


def least(name, agent_dir, enough):
    """The lowest count of up to RUNS runs; stops once a count is at most `enough`."""
    counts = []
    while len(counts) < RUNS and not (counts and min(counts) <= enough):
        counts.append(count(name, agent_dir))
    return min(counts)


def main():
    with open(COUNTS, encoding="utf-8") as file:
        kept = json.load(file)
    words = sys.argv[1:]
    if words == ["--list"]:
        print("\n".join(kept["instructions"]))
        return
    records = words[:1] == ["--record"]
    names = words[records:] or list(kept["instructions"])
    if records:
        kept["compiler"] = os.environ["ARBORFS_COMPILER"]
    need_this_machine(kept["compiler"])
    too_many = []
    with tempfile.TemporaryDirectory(prefix="arborfs-instructions-") as folder:
        make_agent_dir(folder)
        for name in names:
            before = kept["instructions"][name]
            limit = before * (1 + TOLERANCE)
            now = least(name, folder, 0 if records else limit)
            print(f"{name}: {now:,} instructions, {before:,} on record ({now / max(before, 1) - 1:+.1%})")
            if now > limit:
                too_many.append(name)
            kept["instructions"][name] = now
    if records:
        with open(COUNTS, "w", encoding="utf-8") as file:
            json.dump(kept, file, indent=2)
            file.write("\n")
    elif too_many:
        sys.exit(f"more than {TOLERANCE:.0%} above what is on record: {', '.join(too_many)}. If that is meant, "
                 "`cmake --build --preset dev --target record-instructions` keeps the new figures.")


if __name__ == "__main__":
    main()
