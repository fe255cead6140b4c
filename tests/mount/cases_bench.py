"""tools/bench measures each comparison and checks that both sides read the same content."""
import json
import os
import subprocess

from mounting import Skip

ROWS = ["first-ls", "context", "store", "find", "read-one", "raw", "append", "visible", "one-more", "index-memory"]


def test_each_comparison_prints_a_ratio_and_equal_content(case):
    """On small data, with one round and --check, each row gives a ratio for each of its comparisons and names the
    commands."""
    build = os.path.dirname(os.path.dirname(os.environ["ARBORFS_BINARY"]))
    if not os.path.exists(build + "/tools/arborfs-latencies"):
        raise Skip("the programs that measure are not built (ARBORFS_BUILD_BENCH)")
    done = subprocess.run(
        [os.environ["ARBORFS_SOURCE_DIR"] + "/tools/bench", "--build", build, "--data", case.new_path("data"), "--log-mb", "1", "--logs", "8",
         "--entries", "2000", "--rounds", "1", "--check", "--json", "--only", ",".join(ROWS)],
        check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr
    lines = json.loads(done.stdout)["rows"]
    assert list(dict.fromkeys(line["row"] for line in lines)) == ROWS
    for line in lines:
        assert line["ratio"]["median"] > 0 and line["command"] and line["against_command"], line
