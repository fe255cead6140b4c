"""files.tsv, commands.txt and their verbs agree with a count over the raw logs, made here without arborfs, for all agents."""

import collections
import json
import os
import sqlite3
import subprocess

from cases_stats import AGENTS, copies, records
from mounting import Mount, equal, run

READS = {"read", "Read", "read_file"}
EDITS = {"edit", "Edit", "MultiEdit", "edit_file"}
WRITES = {"write", "Write", "write_file"}
VIEWS = {"files": "files.tsv", "commands": "commands.txt", "changes": "changes.diff"}
COMMANDS = {"bash", "Bash", "shell", "exec_command"}


def parsed(arguments):
    return json.loads(arguments) if isinstance(arguments, str) else arguments


def calls_in(value):
    """Name and arguments of each call of a tool in a record, as any of the agents writes it."""
    if isinstance(value, list):
        for item in value:
            yield from calls_in(item)
    if not isinstance(value, dict):
        return
    if value.get("type") in ("toolCall", "tool_use", "function_call"):
        yield value["name"], parsed(value.get("arguments", value.get("input")))
    elif value.get("type") == "tool" and "state" in value:
        yield value["tool"], value["state"]["input"]
    else:
        for call in value.get("tool_calls") or ():
            call = call.get("function", call)
            yield call["name"], parsed(call.get("arguments"))
        for key, inner in value.items():
            if key not in ("tool_calls", "toolUseResult"):
                yield from calls_in(inner)


def raw_records(samples, agent):
    if agent == "opencode":
        database = sqlite3.connect(f"file:{samples / agent}/opencode.db?immutable=1", uri=True)
        for (text,) in database.execute("SELECT data FROM part"):
            yield json.loads(text)
        database.close()
        return
    for log in (samples / agent).rglob("*.jsonl"):
        if log.name not in ("history.jsonl", "session_index.jsonl"):
            yield from records(log)


def counted(samples, agent):
    """How often each file was read, edited and written, by the last part of its name, and all commands."""
    files, commands = collections.defaultdict(lambda: [0, 0, 0]), collections.Counter()
    for record in raw_records(samples, agent):
        for tool, arguments in calls_in(record):
            path = next((arguments[key] for key in ("path", "file_path", "filePath") if key in arguments), None)
            for at, tools in enumerate((READS, EDITS, WRITES)):
                if tool in tools and path:
                    files[os.path.basename(path)][at] += 1
            if tool in COMMANDS:
                command = arguments.get("command", arguments.get("cmd"))
                commands[command if isinstance(command, str) else command[-1]] += 1
    return dict(files), commands


def test_files_and_commands_equal_a_count_over_the_raw_logs(case):
    """For each agent, by the verbs: sums over all sessions, with those that others started."""
    samples = copies(case)

    def said(*words):
        return json.loads(run(samples / "arborfs", *words, env=case.environment).stdout)

    seen = 0
    for agent in AGENTS:
        files, commands = collections.defaultdict(lambda: [0, 0, 0]), collections.Counter()
        for session in said("ls", "-c", "--json", "-a", agent):
            name = f"{agent}:{session['session']}"
            for file in said("files", "--json", name):
                assert file["path"].startswith("/") or agent == "opal", file
                row = files[os.path.basename(file["path"])]
                for at, key in enumerate(("reads", "edits", "writes")):
                    row[at] += file[key]
            commands.update(command["command"] for command in said("commands", "--json", name))
        equal((dict(files), commands), counted(samples, agent), agent)
        seen += len(files) + commands.total()
    assert seen > 20, seen


def test_the_files_of_a_session_say_what_the_verbs_say(case):
    """files.tsv, commands.txt and changes.diff in the mount are the output of the verbs, usage.json is what `show` has,
    with the computed cost; a shell accepts the commands as a script."""
    samples = copies(case)
    computed = 0
    stores = [f"store={agent}={samples / agent}" for agent in AGENTS if agent != "omp"]
    with Mount(case, stores, agent_dir=samples / "omp") as mount:
        for folder in (mount / "by-id").iterdir():
            about = json.loads((folder / "session.json").read_text())
            name = f"{about.get('agent', 'omp')}:{folder.name}"
            for verb, file in VIEWS.items():
                shown = (folder / file).read_bytes()
                equal(shown, run(samples / "arborfs", verb, name, env=case.environment).stdout, f"{name} {file}")
                equal(os.stat(folder / file).st_size, len(shown), "size")
            subprocess.run(["bash", "-n", folder / "commands.txt"], check=True)
            usage = json.loads((folder / "usage.json").read_text())
            shown = json.loads(run(samples / "arborfs", "show", "--json", name, env=case.environment).stdout)
            equal(shown["usage"], usage, name)
            computed += "computedCost" in usage
    assert computed > 0


def test_by_file_has_the_sessions_that_touched_a_file(case):
    """by-file/<path>/ has links to exactly the sessions whose files.tsv has the path, for each path of the samples."""
    samples = copies(case)
    stores = [f"store={agent}={samples / agent}" for agent in AGENTS if agent != "omp"]
    with Mount(case, stores, agent_dir=samples / "omp") as mount:
        expected = collections.defaultdict(set)
        for folder in (mount / "by-id").iterdir():
            for line in (folder / "files.tsv").read_text().splitlines()[1:]:
                expected[line.split("\t")[0]].add(folder.resolve())
        absolute = {path: sessions for path, sessions in expected.items() if path.startswith("/")}
        assert len(absolute) > 5, expected
        for path, sessions in absolute.items():
            folder = mount / "by-file" / path[1:]
            equal({link.resolve() for link in folder.iterdir()}, sessions, path)
            equal(os.path.realpath(folder / ".."), os.fspath(folder.parent), "the folder above")
        equal(os.listdir(mount / "by-file"), [], "nothing is listed above")
        equal(os.listdir(mount / "by-file/no/such.file"), [], "a file that no session touched")
        assert (mount / "by-file/etc/.hidden").is_dir()
