"""Nearly full file systems with blocks of 1 KiB and of 4 KiB: every writer at every free size from 4 to 128 KiB, through
a mount and on the command line. No program is ended by a signal, what is told to be stored is there after the file
system was unmounted, and nothing is left that hides data (CONTRACT.md 4.2, 4.4, 7.1; FAILURES.md F5, F22)."""

import contextlib
import json
import os
import shutil
import subprocess
from pathlib import Path

from mounting import SANITIZED, Mount, equal, eventually, needs, needs_root, run, variants
from volumes import MIB, Filler, ext4
from writing import refused

TESTS = Path(__file__).resolve().parent.parent
KIB = 1 << 10
EVERY = "ARBORFS_TEST_EVERY_SIZE" in os.environ  # each act meets each KiB
SIZES = range(4, 129, 1 if EVERY else 16 if SANITIZED else 4)  # KiB
FULL = "o space left"  # "No space left on device", or SQLite's "no space left"
TEXT = "%M"  # in scripts and words: a text that occurs nowhere else
CUSTOM = '{"type":"custom","customType":"x","data":{"n":"%M"}}'
TURNS = 12


class Stores:
    """A store of each agent on one volume, with a session that is long enough not to fit at every size, and a working
    directory elsewhere. `files` is a store of OpenCode in JSON files."""

    def __init__(self, case, volume):
        self.case, self.volume, self.work = case, volume, case.new_path("work")
        self.work.mkdir()
        (self.work / "kept").write_text("kept\n" * 8000)
        for kind in ("STATE", "DATA", "CACHE"):
            case.environment[f"XDG_{kind}_HOME"] = str(volume.point / kind.lower())
        session = case.agent.session(cwd=str(self.work))
        for turn in range(TURNS):
            (session.assistant if turn % 2 else session.user)(f"turn {turn} " + "words " * 500)
        session.write()
        self.folders = {agent: volume.point / agent for agent in ("pi", "opal", "opencode", "claude", "goat", "files")}
        for folder in self.folders.values():
            folder.mkdir()
        shutil.copy(TESTS / "opencode" / "fresh-1.18.33" / "opencode.db", self.folders["opencode"])
        shutil.copytree(TESTS / "opencode" / "files", self.folders["files"], dirs_exist_ok=True)
        (self.folders["claude"] / "projects").mkdir()
        self.options = [f"omp={case.agent.path}"]
        self.options += [f"{'opencode' if agent == 'files' else agent}={self.folders[agent]}" for agent in self.folders]
        self.words = [word for store in self.options for word in ("--store", store)]
        self.ids = {"omp": session.id, "files": expected("files")[-1]["id"]}
        for agent in ("pi", "opal", "opencode", "claude", "goat"):
            self.ids[agent] = self.run("fork", session.id, "--to", agent).stdout.decode().split()[0]

    def mount(self):
        return Mount(self.case, ["allow_delete", *(f"store={store}" for store in self.options)], own_stores=True)

    def run(self, *words, check=True):
        return self.case.arborfs(*words, *self.words, check=check)


def expected(sample):
    return json.loads((TESTS / "opencode" / sample / "EXPECTED.json").read_text())["sessions"]


ANSWERED = "exec 3<>%s && echo %s >&3 && cat <&3"  # prints the answer


def acts(stores):
    """Rows: agent, verb, a script in the session's folder, the words of the command line or None: there is no such
    command."""
    ids, found = stores.ids, []
    for agent in ("omp", "pi", "opal", "opencode", "files", "goat"):
        found.append((agent, "append", f"echo {TEXT} > append", ("append", ids[agent], TEXT)))
        found.append((agent, "title", f"echo {TEXT} > title", ("title", ids[agent], TEXT)))
        found.append((agent, "remove", 'rmdir "$PWD"', ("rm", "-y", ids[agent])))
        # What ends without a line feed is run at close, where no shell looks.
        found.append((agent, "title", f"printf {TEXT} > title", None))
    for agent in ("opencode", "files"):
        found.append((agent, "append", f"echo {TEXT} > summary", ("summary", ids[agent], TEXT)))
        found.append((agent, "append", f"printf {TEXT} > summary", None))
    for agent in ("omp", "pi"):
        found.append((agent, "append", f"echo '{CUSTOM}' > append", ("append", ids[agent], CUSTOM)))
        found.append((agent, "append", f"printf '{CUSTOM}' > append", None))
        found.append((agent, "append", f"echo '#2 {TEXT}' > label", ("label", ids[agent], "#2", TEXT)))
    for agent in ("omp", "pi", "opal"):
        found.append((agent, "append", f"printf '#{TURNS}\\n{TEXT}\\n' > branch", ("branch", ids[agent], f"#{TURNS}", TEXT)))
    for agent in ("omp", "pi", "opal", "goat"):
        found.append((agent, "make", ANSWERED % ("fork", ""), ("fork", ids[agent])))
    for agent in ("pi", "opal", "opencode", "claude", "goat"):
        found.append(("omp", "make", ANSWERED % ("fork", f"'{json.dumps({'agent': agent})}'"),
                      ("fork", ids["omp"], "--to", agent)))
    for agent, wanted in (("omp", {"cwd": "/"}), ("pi", {"cwd": "/"}), ("opal", {"model": "openai:m"}), ("goat", {"cwd": "/"})):
        found.append((agent, "new", ANSWERED % ("../../../new", f"'{json.dumps({'agent': agent, **wanted})}'"),
                      ("new", "-a", agent, *(["/"] if "cwd" in wanted else ["--model", "openai/m"]))))
    # The search index is a database of arborfs: without space for it, searches go on.
    found.append(("omp", "search", "ls ../../../search/words", ("search", "words")))
    replacement = {"first": "#2", "messages": [{"role": "user", "content": TEXT}]}
    found.append(("opal", "replace", f"echo '{json.dumps(replacement)}' > replace", None))
    found.append(("goat", "checkpoint", f"echo '{TEXT} kept' > checkpoint",
                  ("checkpoint", ids["goat"], TEXT, str(stores.work / "kept"))))
    return found


class Told:
    """What was told to be stored, and whether it is."""

    def __init__(self, stores):
        self.stores, self.texts, self.titles, self.checkpoints, self.made = stores, [], {}, [], []
        self.replaced = {}

    def note(self, agent, verb, text, output, what):
        if verb == "append":
            self.texts.append((agent, text, what))
        elif verb == "title":
            self.titles[agent] = (text, what)
        elif verb == "checkpoint":
            self.checkpoints.append(text)
        elif verb == "replace":
            self.replaced = {agent: (text, what)}
        elif verb in ("make", "new"):
            id_of = json.loads(output)["session"] if output.startswith("{") else output.split()[0]
            self.made.append((id_of, "turn 0" if verb == "make" else "", what))

    def check(self, mount):
        ids = self.stores.ids
        logs = {agent: (mount / "by-id" / ids[agent] / "raw.jsonl").read_text() for agent in ids}
        lost = [what for agent, text, what in self.texts if text not in logs[agent]]
        equal(lost, [], "told to be stored, but not there")
        for agent, (title, what) in self.titles.items():
            equal((mount / "by-id" / ids[agent] / "title").read_text(), title + "\n", what)
        kept = os.listdir(mount / "by-id" / ids["goat"] / "checkpoints") if self.checkpoints else []
        equal(sorted(set(self.checkpoints) - set(kept)), [], "checkpoints")
        for agent, (text, what) in self.replaced.items():
            assert text in logs[agent], what
        for id_of, text, what in self.made:
            assert text in (mount / "by-id" / id_of / "raw.jsonl").read_text(), what
        known = {*ids.values(), *(id_of for id_of, _, _ in self.made)}
        known |= {session["id"] for sample in ("files", "fresh-1.18.33") for session in expected(sample)}
        equal(set(os.listdir(mount / "by-id")), known, "sessions")


class Shell:
    """One bash for many scripts."""

    def __init__(self, case):
        self.process = subprocess.Popen(["bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=case.environment)

    def run(self, script, folder):
        self.process.stdin.write(f"( cd '{folder}' && {script} ) 2>&1; echo; echo ended:$?\n".encode()
                                 .replace(b"; echo; echo ended:$?", b"; status=$?; echo; echo ended:$status"))
        self.process.stdin.flush()
        said = b""
        while b"\nended:" not in said or not said.endswith(b"\n"):
            said += os.read(self.process.stdout.fileno(), 1 << 16)
        output, _, status = said.decode().rpartition("\nended:")
        return int(status), output

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(5)


def bring_back(stores, filler, agent, was_removed, is_there):
    """A session is whole in the store or in the trash; a removal that failed leaves nothing in the trash."""
    if was_removed:
        done = stores.case.arborfs("restore", "latest", check=False)
        assert done.returncode == 0 or FULL in done.stderr.decode(), done
        was_removed = done.returncode != 0
    filler.leave(None)
    if was_removed:
        stores.case.arborfs("restore", "latest")
    trash = stores.volume.point / "data" / "arborfs" / "trash"
    equal([str(note) for note in trash.glob("*/from.json")], [], f"the trash after {agent}")
    eventually(5, is_there, f"{agent}: the session is in the store")


def meets(row, number, size, one_in):
    """True if an act meets this size: one in so many, and what takes long, one in four of them."""
    one_in *= 4 if row[1] in ("remove", "search") else 1
    return EVERY or (number + size // SIZES.step) % one_in == 0


def try_every_size(volume, do, told, stores, is_there, choose=list, one_in=1):
    """`do(row, text)` gives an exit status and an output."""
    serial = failed = stored = 0
    with Filler(volume) as filler:
        for size in SIZES:
            rows = [row for number, row in enumerate(choose(acts(stores))) if meets(row, number, size, one_in)]
            for row in rows:
                serial += 1
                text = f"mark{serial}x"
                filler.leave(size * KIB)
                status, output = do(row, text)
                what = f"{row[0]} {row[2]!r} with {size} KiB free: {output[-300:]!r}"
                assert status >= 0 and status < 128, what
                assert status == 0 or row[1] != "search", what
                if status == 0:
                    told.note(row[0], row[1], text, output, what)
                else:
                    assert FULL in output, what
                stored, failed = stored + (status == 0), failed + (status != 0)
                if row[1] == "remove":
                    bring_back(stores, filler, row[0], status == 0, lambda id_of=stores.ids[row[0]]: is_there(id_of))
    assert stored and failed, (stored, failed)


def after_unmounting(volume, stores, told):
    volume.unmount()
    volume.mount()
    with stores.mount() as mount:
        told.check(mount)
    said = stores.run("doctor", check=False)
    equal(said.returncode, 0, said.stdout.decode()[-2000:])
    left = [str(path) for path in volume.point.rglob(".*") if path.is_file() and not path.name.endswith(".lock")]
    equal(left, [], "files with hidden names")


blocks = variants(blocks_of_1_kib={"block": KIB}, blocks_of_4_kib={"block": 4 * KIB})


@needs_root
@needs("mkfs.ext4")
@blocks
def test_f5_every_write_through_a_mount_at_every_free_size(case, block):
    """F5, F22: a shell's command that succeeds has stored what it says; the daemon lives."""
    volume = ext4(case, size=32 * MIB, block=block)
    stores = Stores(case, volume)
    told, shell = Told(stores), Shell(case)
    with stores.mount() as mount:
        folders = {}

        def do(row, text):
            agent, _, script, _ = row
            folders[agent] = (mount / "by-id" / stores.ids[agent]).resolve()
            done = shell.run(script.replace(TEXT, text), folders[agent])
            assert mount.process.poll() is None, f"the daemon ended with {mount.process.poll()}: {row}"
            return done

        try_every_size(volume, do, told, stores, lambda id_of: id_of in os.listdir(mount / "by-id"))
        shell.end()
    after_unmounting(volume, stores, told)


@needs_root
@needs("mkfs.ext4")
@blocks
def test_f5_every_command_at_every_free_size(case, block):
    """F5, F22: the same without a mount. Each command meets one size in three."""
    volume = ext4(case, size=32 * MIB, block=block)
    stores = Stores(case, volume)
    told = Told(stores)

    def do(row, text):
        done = stores.run(*(word.replace(TEXT, text) for word in row[3]), check=False)
        return done.returncode, (done.stdout + (done.stderr if done.returncode else b"")).decode()

    try_every_size(volume, do, told, stores, lambda id_of: stores.run("show", id_of, check=False).returncode == 0,
                   choose=lambda rows: [row for row in rows if row[3]], one_in=3)
    after_unmounting(volume, stores, told)


@needs_root
@needs("mkfs.ext4")
def test_f5_text_is_refused_where_no_more_files_fit(case):
    """F5, F22: without a free inode a text is refused when it is written, if its agent needs another file."""
    volume = ext4(case, size=32 * MIB, inodes=512)
    stores = Stores(case, volume)
    with stores.mount() as mount:
        folders = {agent: (mount / "by-id" / stores.ids[agent]).resolve() for agent in stores.ids}
        used = volume.point / "used"
        used.mkdir()
        with contextlib.suppress(OSError):
            for number in range(1 << 16):
                (used / str(number)).touch()
        for agent in ("omp", "pi", "opal", "opencode", "files", "goat"):
            refused("echo text > append", folders[agent], "No space left on device")
        shutil.rmtree(used)
        for agent in ("omp", "pi", "opal", "opencode", "files", "goat"):
            run("bash", "-c", "echo text > append", cwd=folders[agent])
            assert '"text"' in (folders[agent] / "raw.jsonl").read_text().splitlines()[-1], agent


def commands_without_line_feed(stores, mount):
    """Rows: the agent whose session takes the command, its file, its text, and a count that the command raises."""
    def sessions():
        return len(os.listdir(mount / "by-id"))

    def checkpoints():
        return len(os.listdir(mount / "by-id" / stores.ids["goat"] / "checkpoints"))

    for agent in ("omp", "pi", "opal", "goat"):
        yield agent, "fork", f"#{TURNS - 1}", sessions
    for target in ("pi", "opal", "opencode", "claude", "goat"):
        yield "omp", "fork", json.dumps({"agent": target}), sessions
    for agent, wanted in (("omp", {"cwd": "/"}), ("opal", {"model": "openai:m"}), ("goat", {"cwd": "/"})):
        yield agent, "../../../new", json.dumps({"agent": agent, **wanted}), sessions
    yield "goat", "checkpoint", json.dumps({"files": [str(stores.work / "kept")]}), checkpoints
    yield "goat", "rewind", "first", checkpoints


@needs_root
@needs("mkfs.ext4")
@blocks
def test_f5_command_that_ends_without_line_feed_is_done_or_refused(case, block):
    """F5, F22: such a command is done at close, where no shell looks: what it needs is reserved when it is written. If
    the shell is told nothing, the fork, session, checkpoint or rewind is there."""
    volume = ext4(case, size=32 * MIB, block=block)
    stores, shell = Stores(case, volume), Shell(case)
    stores.run("checkpoint", stores.ids["goat"], "first", str(stores.work / "kept"))
    done = refusals = 0
    with stores.mount() as mount, Filler(volume) as filler:
        for size in SIZES:
            for agent, file, text, count in commands_without_line_feed(stores, mount):
                (stores.work / "kept").write_text(f"changed {size}\n" * 3000)
                folder, before = (mount / "by-id" / stores.ids[agent]).resolve(), count()
                filler.leave(size * KIB)
                status, output = shell.run(f"printf %s '{text}' > {file}", folder)
                what = f"{agent} {file} {text} with {size} KiB free: {output[-200:]!r}"
                if status == 0:
                    equal(count(), before + 1, what)
                    done += 1
                else:
                    assert FULL in output, what
                    equal(count(), before, what)
                    refusals += 1
        shell.end()
    assert done and refusals, (done, refusals)
    volume.unmount()
    volume.mount()
    equal(stores.run("doctor", check=False).returncode, 0, "the doctor")
