"""tools/bench measures each comparison and checks that both sides read the same content."""
import json
import os
import random
import subprocess
import sys

from mounting import SOURCE_DIR, Skip


def test_random_queries_are_words(case):
    """No query begins with a minus, which would exclude the word, or with a dot, which no name in search/ begins with."""
    sys.path.insert(0, str(SOURCE_DIR / "tools" / "benchmarks"))
    import searching
    chance = random.Random(1)
    text = "rm -rf --force .hidden ..up - -- a -x- x- -1.5 word --no-ignore\n"
    asked = [word for _ in range(2000) for word in searching.words(text, chance)]
    assert {"rf", "force", "no-ignore", "hidden", "1.5", "a"} <= set(asked), set(asked)
    assert not [word for word in asked if word[0] in "-."], set(asked)


def test_each_row_of_the_benchmark_runs(case):
    """The smoke run, on tiny data with one round and --check: each row gives a ratio for each of its comparisons and
    names the commands."""
    build = os.path.dirname(os.path.dirname(os.environ["ARBORFS_BINARY"]))
    if not all(os.path.exists(f"{build}/tools/arborfs-{name}") for name in ("latencies", "micro")):
        raise Skip("the programs that measure are not built (ARBORFS_BUILD_BENCH)")
    sys.path.insert(0, str(SOURCE_DIR / "tools" / "benchmarks"))
    import rows
    wanted = [name for name in rows.ALL if not name.startswith("cold-")]  # others on this machine use the page cache
    done = subprocess.run([SOURCE_DIR / "tools" / "bench", "--build", build, "--data", case.new_path("data"), "--smoke",
                           "--check", "--json", "--only", ",".join(wanted)],
                          check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr
    lines = json.loads(done.stdout)["rows"]
    assert list(dict.fromkeys(line["row"] for line in lines)) == wanted, wanted
    for line in lines:
        assert line["ratio"]["median"] > 0 and line["command"] and line["against_command"], line
