"""Who may read what arborfs makes (CONTRACT.md 4.8, FAILURES.md S12): a fork is never wider than its source, and all else
is private, except where the agent itself makes it wider. A file that replaces another one belongs to the same user."""

import base64
import contextlib
import json
import os
import shutil
from pathlib import Path

from agentdir import PNG
from mounting import BINARY, Mount, Skip, equal, needs_root, run, shell, variants
from writing import answer_of

TESTS = Path(__file__).resolve().parent.parent
TARGETS = ("omp", "pi", "opal", "files", "claude", "codex", "goat")
UMASKS = variants(umask_000={"umask": 0o000}, umask_022={"umask": 0o022}, umask_077={"umask": 0o077})
FILE = {"omp": 0o666, "pi": 0o666, "opal": 0o666, "files": 0o644, "claude": 0o600, "goat": 0o644}  # as the agents
FOLDER = {"omp": 0o777, "pi": 0o777, "opal": 0o777, "files": 0o755, "claude": 0o700, "goat": 0o755}


@contextlib.contextmanager
def umask_of(wanted):
    before = os.umask(wanted)
    try:
        yield
    finally:
        os.umask(before)


def bits(path):
    return os.lstat(path).st_mode & 0o777


class Everything:
    """A store of each agent in which a conversation is."""

    def __init__(self, case):
        self.case, self.work = case, case.new_path("work")
        self.work.mkdir()
        (self.work / "a.txt").write_text("one\n")
        session = case.agent.session(cwd=str(self.work), title="How high")
        session.image(base64.b64encode(PNG).decode(), text="How high is this kite?")
        session.assistant("Twelve metres.")
        session.write()
        self.folders = {agent: case.new_path(agent) for agent in TARGETS[1:]}
        for agent, folder in self.folders.items():
            folder.mkdir()
        self.folders["omp"] = case.agent.path
        shutil.copytree(TESTS / "opencode" / "files", self.folders["files"], dirs_exist_ok=True)
        (self.folders["claude"] / "projects").mkdir()
        self.stores = [f"{'opencode' if agent == 'files' else agent}={folder}" for agent, folder in self.folders.items()]
        self.ids = {"omp": session.id}
        for agent in TARGETS[1:]:
            self.ids[agent] = self.fork("omp", agent)

    def arborfs(self, *words, check=True):
        return self.case.arborfs(*words, *(word for store in self.stores for word in ("--store", store)), check=check)

    def fork(self, source, target=None):
        to = ("--to", "opencode" if target == "files" else target) if target else ()
        return self.arborfs("fork", self.ids[source], *to).stdout.decode().split()[0]

    def mount(self):
        return Mount(self.case, ["allow_delete", *(f"store={store}" for store in self.stores)], own_stores=True)

    def all_paths(self):
        """With their permissions."""
        roots = [*self.folders.values(), *(self.case.root / name for name in ("state", "data", "cache")), self.work]
        found = {path: bits(path) for root in roots for path in (root, *root.rglob("*")) if os.path.lexists(path)}
        return {path: mode for path, mode in found.items() if not path.is_symlink()}

    def make_private(self, agents):
        for agent in agents:
            run("chmod", "-R", "go-rwx", self.folders[agent])
            run("chmod", "-R", "u+w", self.folders[agent])
            for folder in (self.folders[agent], *self.folders[agent].rglob("*")):
                if folder.is_dir():
                    folder.chmod(0o755)


def wider(made, folders_too=()):
    """What others may do anything with."""
    return sorted(f"{mode:o} {path}" for path, mode in made.items()
                  if mode & 0o077 and (path.is_file() or path in folders_too))


@UMASKS
def test_s12_fork_is_never_wider_than_its_source(case, umask):
    """S12: forks of private sessions, in the own agent and to every other one, through the mount and without, have no
    file that others can read, whatever the umask is."""
    all_of = Everything(case)
    all_of.make_private(all_of.folders)
    with umask_of(umask), all_of.mount() as mount:
        for source in TARGETS:
            before = all_of.all_paths()
            folder = (mount / "by-id" / all_of.ids[source]).resolve()
            if source in ("omp", "pi", "opal", "goat"):
                answer_of(folder / "fork", "\n")
                all_of.fork(source)
            for target in TARGETS:
                agent = "opencode" if target == "files" else target
                answer_of(folder / "fork", json.dumps({"agent": agent}) + "\n")
                all_of.fork(source, target)
            made = {path: mode for path, mode in all_of.all_paths().items() if path not in before}
            assert sum(path.is_file() for path in made) > 6, made
            made.pop(all_of.folders["files"] / "storage" / "project" / "global.json", None)  # of no session
            equal(wider(made), [], f"files of forks of {source} with umask {umask:03o}")


@UMASKS
def test_s12_fork_of_a_session_in_a_private_folder_is_private(case, umask):
    """S12: the folders above a log count too: what only they keep from others is not made readable elsewhere."""
    all_of = Everything(case)
    for source in TARGETS:
        run("chmod", "-R", "a+rX", all_of.folders[source])
        all_of.folders[source].chmod(0o700)
        with umask_of(umask):
            before = all_of.all_paths()
            for target in TARGETS:
                all_of.fork(source, target)
            made = {path: mode for path, mode in all_of.all_paths().items() if path not in before}
        made.pop(all_of.folders["files"] / "storage" / "project" / "global.json", None)
        equal(wider(made), [], f"files of forks of {source} with umask {umask:03o}")
        all_of.folders[source].chmod(0o755)


def move(mount, session):
    """To the project of /new."""
    folder = (mount / "by-id" / session).resolve()
    os.rename(folder, mount / "projects" / "new" / folder.name)


def change_everything(all_of, mount):
    """Every verb that creates a file or a folder, in each agent that has it."""
    ids = all_of.ids
    for agent in ("omp", "pi", "opal", "files", "goat"):
        folder = (mount / "by-id" / ids[agent]).resolve()
        for name, text in (("append", "more"), ("title", "Another"), ("label", "#2 mark"), ("summary", ""),
                           ("branch", "#2\nleft behind"), ("checkpoint", f"first {all_of.work / 'a.txt'}")):
            if (folder / name).exists():
                shell(f"printf '%s\\n' '{text}' > {name}", cwd=folder)
        if agent == "goat":
            (all_of.work / "a.txt").write_text("two\n")
            shell("echo first > rewind", cwd=folder)
    picture = base64.b64encode(PNG * 300).decode()
    message = {"role": "user", "content": [{"type": "image", "data": picture, "mimeType": "image/png"}]}
    shell(f"echo '{json.dumps(message)}' > append", cwd=(mount / "by-id" / ids["omp"]).resolve())
    for agent in ("omp", "pi", "goat"):
        answer_of(mount / "new", json.dumps({"agent": agent, "cwd": "/new"}) + "\n")
    move(mount, ids["omp"])
    os.listdir(mount / "search" / "kite")
    for agent in ("pi", "opal", "goat", "files"):
        all_of.arborfs("rm", "-y", ids[agent])
        all_of.arborfs("restore", "latest")
    for agent in ("pi", "opal", "goat", "files"):
        all_of.arborfs("rm", "-y", ids[agent])


@UMASKS
def test_s12_all_that_is_made_is_as_narrow_as_its_agent_makes_it(case, umask):
    """S12: what is outside the stores is private. In the stores no permission goes beyond the agent's own, less the
    umask, and what was there has the permissions that it had."""
    all_of = Everything(case)
    all_of.make_private(all_of.folders)
    before = all_of.all_paths()
    (all_of.work / "a.txt").chmod(0o640)
    with umask_of(umask), all_of.mount() as mount:
        change_everything(all_of, mount)
    after = all_of.all_paths()
    assert len(after) > len(before) + 20, (len(before), len(after))
    equal(bits(all_of.work / "a.txt"), 0o640, "the working file")
    wrong = []
    for path, mode in after.items():
        agent = next((agent for agent, root in all_of.folders.items() if path.is_relative_to(root)), "")
        if path in before:
            most = before[path] if path.name != "a.txt" else 0o640
        elif not agent or path.name.endswith((".lock", "-wal", "-shm")) or "/contents/" in str(path):
            parent_is_trash = "trash" in path.parts and "files" in path.parts  # below a folder that is private
            most = 0o777 if parent_is_trash else 0o700 if path.is_dir() else 0o600
        else:
            most = (FOLDER if path.is_dir() else FILE)[agent] & ~umask
        wrong += [f"{mode:o} instead of {most:o}: {path}"] if mode & ~most else []
    equal(wrong, [], f"permissions with umask {umask:03o}")
    for path in (case.root / "data" / "arborfs" / "trash").glob("*/files"):
        equal(bits(path), 0o700, "a folder of the trash")


@needs_root
def test_rewrites_keep_the_owner_the_group_and_the_attributes(case):
    """A rewrite by rename keeps owner, group, permissions and attributes `user.*`: titles, rewinds, moves, and copies
    in the trash. A file that a rewind creates belongs to the owner of its folder."""
    all_of = Everything(case)
    work, ids = all_of.work, all_of.ids
    gone = work / "below" / "gone.txt"
    gone.parent.mkdir()
    gone.write_text("gone\n")
    for path in (work / "a.txt", gone):
        path.chmod(0o640)
    with all_of.mount() as mount:
        goat = (mount / "by-id" / ids["goat"]).resolve()
        shell(f"echo 'first {work / 'a.txt'} {gone}' > checkpoint", cwd=goat)
        shutil.rmtree(gone.parent)
        (work / "a.txt").write_text("two\n")
        os.chown(work, 1234, 1235)
        files = [work / "a.txt", *(path for agent in ("omp", "opal", "files", "goat") for path in
                                   all_of.folders[agent].rglob("*") if path.is_file() and ids[agent] in str(path))]
        for path in files:
            os.chown(path, 1234, 1235)
            path.chmod(0o640)
            os.setxattr(path, "user.mark", b"kept")
        inodes = {path: path.stat().st_ino for path in files}
        shell("echo first > rewind", cwd=goat)
        for agent in ("omp", "opal", "files", "goat"):
            shell("echo 'Another title' > title", cwd=(mount / "by-id" / ids[agent]).resolve())
        answer_of(mount / "new", json.dumps({"agent": "omp", "cwd": "/new"}) + "\n")
        before_move = next(path for path in files if path.is_relative_to(case.agent.path))
        move(mount, ids["omp"])
        files[files.index(before_move)] = next(case.agent.path.rglob(before_move.name))
        assert not before_move.exists(), before_move
    replaced = [path for path in files if path.stat().st_ino != inodes.get(path)]
    assert len(replaced) >= 5, replaced
    for path in files:
        st = path.stat()
        equal((st.st_uid, st.st_gid, st.st_mode & 0o777), (1234, 1235, 0o640), path)
        equal(os.getxattr(path, "user.mark"), b"kept", path)
    equal((work / "a.txt").read_text(), "one\n", "the working file")
    for path in (gone, gone.parent):
        equal((path.stat().st_uid, path.stat().st_gid), (1234, 1235), path)


def test_file_of_another_user_is_not_taken_from_him(case):
    """A rewrite that would make another user's file one's own is refused, and says whose it is."""
    all_of = Everything(case)
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Skip("only root gives files away")
    run("chown", "-R", "1234:1235", case.root)
    opal = next(path for path in all_of.folders["opal"].rglob("*.jsonl") if all_of.ids["opal"] in path.name)
    os.chown(opal, 4321, 4321)
    opal.chmod(0o666)
    before = opal.read_bytes()
    done = run("setpriv", "--reuid", "1234", "--regid", "1235", "--clear-groups", *map(str, (
        shutil.which("env"), BINARY, "title", all_of.ids["opal"], "New", "--store",
        f"opal={all_of.folders['opal']}")), env=case.environment, check=False)
    assert done.returncode != 0 and b"4321" in done.stderr, done
    equal((opal.read_bytes(), opal.stat().st_uid), (before, 4321), "the log")
    equal([path.name for path in opal.parent.iterdir() if path.name.startswith(".")], [], "what is left")
