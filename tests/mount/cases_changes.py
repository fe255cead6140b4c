"""changes.diff of generated sessions, applied by real programs to the files as they were, gives the files as they
are, also where steps of the conversation were taken back together with the files."""

import os
import random
import shutil
import subprocess

import edits
from mounting import Mount, SANITIZED, equal

SEQUENCES = 50 if SANITIZED else 1000


def identity(number):
    return f"{number:08}-0000-7000-8000-000000000000"


def put(folder, files):
    for path, text in files.items():
        edits.write(folder / path[1:], text)


def held(folder):
    """The files in a folder by their names in the session."""
    return {"/" + os.fspath(path.relative_to(folder)): path.read_bytes().decode()
            for path in folder.rglob("*") if path.is_file()}


def folder_in(mount, agent, number):
    name = identity(number) if agent != "opencode" else "ses_" + identity(number).replace("-", "")[:26]
    return mount / "by-id" / name


PATCH = ("patch", "-p1", "-F0", "--no-backup-if-mismatch")
GIT = ("git", "apply", "--whitespace=nowarn")


def check(case, kind, *programs):
    """Many sequences of an agent, each a session: each program takes the files of each from before to after."""
    store = case.new_path("store")
    dice = random.Random(kind.agent)
    sequences = []
    for number in range(SEQUENCES):
        sequence = kind(dice, number)
        sequence.make(dice.randint(2, 10))
        sequence.store(store, identity(number))
        sequences.append(sequence)
    options = [] if kind.agent == "omp" else [f"store={kind.agent}={store}"]
    changed = 0
    with Mount(case, options, agent_dir=store if kind.agent == "omp" else None) as mount:
        for number, sequence in enumerate(sequences):
            diff = folder_in(mount, kind.agent, number) / "changes.diff"
            has_change = any(not line.startswith(b"#") for line in diff.read_bytes().split(b"\n") if line)
            changed += has_change
            for program in programs if has_change else ():
                tree = case.new_path("tree")
                put(tree, sequence.before)
                done = subprocess.run([*program], cwd=tree, stdin=open(diff, "rb"), capture_output=True)
                equal((done.returncode, held(tree)), (0, sequence.now), f"{number}: {done.stdout} {done.stderr}")
                shutil.rmtree(tree)
            if not has_change:
                equal(sequence.now, sequence.before, f"{number}")
    assert changed > SEQUENCES // 2, changed


def test_changes_of_claude_give_the_files_as_they_are(case):
    """Claude Code: Edit, MultiEdit and Write, with files of any last line. `git apply` takes the same diffs."""
    check(case, edits.Claude, PATCH, GIT)


def test_changes_of_codex_give_the_files_as_they_are(case):
    """Codex: patches that add, update, move and remove files, by its tool and by the shell."""
    check(case, edits.Codex, PATCH)


def test_changes_of_omp_give_the_files_as_they_are(case):
    """omp: edits whose results have the file, edits of whole lines whose results do not, and writes."""
    check(case, edits.Omp, PATCH)


def test_changes_of_pi_give_the_files_as_they_are(case):
    """pi: edits whose results have numbered lines, and writes."""
    check(case, edits.Pi, PATCH)


def test_changes_of_opencode_give_the_files_as_they_are(case):
    """OpenCode: edits with and without the file in the result, writes and patches."""
    check(case, edits.OpenCode, PATCH)
