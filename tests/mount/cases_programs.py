"""Ordinary programs on a mount: they end, they show the right bytes, and none of them can change a log."""

import difflib
import json
import mmap
import os
import re
import subprocess

from crawl import paths_below, regular_files, same_tree, tree_of
from mounting import Skip, eventually, equal, needs, output_of, run, shell, variants

FOLLOW_DEADLINE = 3  # seconds until `tail -f` shows what another process appended


def first_entry(case, mount, name="shop"):
    """The path and bytes of an entry."""
    session = case.store[name]
    entry_id = session.entries[0]["id"]
    return mount.session(session) / "entries" / f"{session.stem(entry_id)}.json", session.line(entry_id)


# -- listing


@variants(writable={"options": ()}, read_only={"options": ("ro",)})
def test_df_shows_the_file_system_of_the_store(case, options):
    """df of a mount shows the size of the file system that holds the logs, even if the store does not exist yet."""
    wanted = os.statvfs(case.root)
    with case.mount(*options) as empty, case.mount(agent_dir=case.root / "later", *options) as later:
        for mount in (empty, later):
            found = os.statvfs(mount.path)
            equal((found.f_blocks, found.f_frsize), (wanted.f_blocks, wanted.f_frsize), "size")
            assert found.f_bavail > 0, found
            size = output_of("df", "-B1", "--output=size", mount.path).split()[-1]
            equal(int(size), wanted.f_blocks * wanted.f_frsize, "df")


def test_bash_globs_entries_by_role(case):
    """A shell pattern over projects, sessions and roles finds exactly the user messages, in order."""
    with case.browse() as mount:
        found = shell("printf '%s\\n' projects/*/*/entries/*-user-*.json", cwd=mount.path).splitlines()
        wanted = [f"projects/{session.project}/{mount.name_of(session)}/entries/{stem}.json"
                  for session in case.store.values() for stem in session.stems() if "-user-" in stem]
        equal(found, sorted(wanted), "globbed paths")


def test_ls_long_shows_the_sizes(case):
    """ls -l on entries shows the number of bytes of each line of the log."""
    with case.browse() as mount:
        session = case.store["long"]
        listing = output_of("ls", "-l", mount.session(session) / "entries").splitlines()[1:]
        sizes = {line.split()[-1]: int(line.split()[4]) for line in listing}
        equal(sizes, {session.stem(entry["id"]) + ".json": len(session.line(entry["id"])) for entry in session.entries})


def test_ls_recursive_ends(case):
    """ls -lR of a whole mount ends with status 0 and can stat every file."""
    with case.browse() as mount:
        listing = output_of("ls", "-lR", mount.path)
        assert "?????" not in listing, "ls could not stat something"
        assert "000001-user-" in listing


def test_find_agrees_with_stat(case):
    """find -printf over a whole mount ends, and agrees with stat on mode and size."""
    with case.browse() as mount:
        lines = output_of("find", mount.path, "-mindepth", "1", "-printf", "%P\\t%m %s\\n").splitlines()
        found = dict(line.split("\t") for line in lines)
        equal(sorted(found), sorted(paths_below(mount.path)), "paths")
        for relative, said in found.items():
            status = os.lstat(mount / relative)
            equal(said, f"{status.st_mode & 0o7777:o} {status.st_size}", relative)


def test_stat_follows_the_leaf(case):
    """stat -L of the leaf equals stat of the last entry."""
    with case.browse() as mount:
        session = case.store["shop"]
        folder = mount.session(session)
        last = folder / "entries" / f"{session.stem(session.leaf)}.json"
        equal(output_of("stat", "-L", "-c", "%i %s %Y", folder / "leaf"), output_of("stat", "-c", "%i %s %Y", last))


def test_du_equals_the_sum_of_file_sizes(case):
    """du -b over entries is the sum of their sizes; du in blocks is not zero, and ends over the whole mount."""
    with case.browse() as mount:
        session = case.store["long"]
        entries = mount.session(session) / "entries"
        said = output_of("du", "-b", "-a", entries).splitlines()
        sizes = [int(line.split("\t")[0]) for line in said if line.endswith(".json")]
        equal(sum(sizes), sum(len(session.line(entry["id"])) for entry in session.entries), "bytes")
        assert int(output_of("du", "-s", mount.path).split()[0]) > 0, "du -s says nothing is used"


# -- reading


def test_cat_gives_the_bytes_of_the_log(case):
    """cat of an entry gives its line, cat of raw.jsonl the log; wc, head, tail and tac agree."""
    with case.browse() as mount:
        path, line = first_entry(case, mount)
        equal(run("cat", path).stdout, line, "entry")
        session = case.store["long"]
        raw = mount.session(session) / "raw.jsonl"
        log = session.path.read_bytes()
        equal(run("cat", raw).stdout, log, "raw.jsonl")
        equal(run("head", "-c", "100", raw).stdout, log[:100], "head")
        equal(run("tail", "-n1", raw).stdout, log.splitlines(keepends=True)[-1], "tail -n1")
        equal(run("tac", raw).stdout, b"".join(log.splitlines(keepends=True)[::-1]), "tac")
        equal(output_of("wc", "-c", raw).split()[0], str(len(log)), "wc -c")


@needs("less")
def test_less_shows_a_transcript(case):
    """less, without a terminal, shows the whole transcript."""
    with case.browse() as mount:
        transcript = mount.session(case.store["shop"]) / "transcript.md"
        shown = run("less", transcript, env=case.environment).stdout
        equal(shown, transcript.read_bytes(), "what less shows")
        assert b"Fixed by the second way." in shown and b"Fixed by the first way." not in shown


@needs("jq")
def test_jq_reads_every_json_file(case):
    """jq parses every .json of a mount, and extracts the roles from a context."""
    with case.browse() as mount:
        shell("find projects -name '*.json' -type f -print0 | xargs -0 jq -e 'type' > /dev/null", cwd=mount.path)
        session = case.store["notes"]
        context = mount.session(session) / "context.json"
        roles = output_of("jq", "-r", ".messages[].role", context).split()
        equal(roles, ["user", "assistant"] * 3, "roles")
        lines = context.read_bytes().splitlines()
        alone = [line for line in lines if line.startswith(b'{"role"')]
        assert len(alone) == 6, f"each message has a line of its own: {lines[:3]}"


def holders(session, phrase):
    """The entry files that contain a phrase."""
    return sorted(session.stem(entry["id"]) + ".json" for entry in session.entries
                  if phrase in session.line(entry["id"]).decode("utf-8"))


def searched(case, *command):
    """Searches for "mile 17" in the entries of a session and compares the files that the program names."""
    with case.browse() as mount:
        session = case.store["long"]
        for _ in range(2):  # the second time from the kernel's caches
            found = output_of(*command, "mile 17", mount.session(session) / "entries").splitlines()
            equal(sorted(os.path.basename(path) for path in found), holders(session, "mile 17"), "files with hits")


@needs("rg")
def test_rg_with_mmap_finds_entries(case):
    """rg --mmap finds exactly the entries that contain a phrase."""
    searched(case, "rg", "--mmap", "-l")


@needs("rg")
def test_rg_without_mmap_finds_entries(case):
    """rg --no-mmap finds exactly the entries that contain a phrase."""
    searched(case, "rg", "--no-mmap", "-l")


def test_grep_recursive_finds_entries(case):
    """grep -r finds exactly the entries that contain a phrase."""
    searched(case, "grep", "-rl")


def test_grep_over_the_whole_mount_ends(case):
    """grep -r over a whole mount ends; the only complaint allowed is that `events` has nothing yet."""
    with case.browse() as mount:
        done = run("grep", "-rl", "needle in line 42", mount.path, check=False)
        assert b"raw.jsonl" in done.stdout, done
        complaints = [line for line in done.stderr.splitlines()
                      if b"/events: Resource temporarily unavailable" not in line]
        equal(complaints, [], "complaints")


def test_find_exec_cat_over_the_whole_mount_ends(case):
    """find -type f -exec cat over everything ends, although the reading process did not list the files."""
    with case.browse() as mount:
        shell("timeout 10 find . -type f -exec cat {} + > /dev/null", cwd=mount.path)


def test_slow_crawler_ends(case):
    """A program that lists the root and opens the files seconds later ends."""
    script = "import os, time; names = os.listdir('.'); time.sleep(2.5)\n" \
             "for name in names:\n    os.path.isfile(name) and not os.path.islink(name) and open(name, 'rb').read()"
    with case.browse() as mount:
        run("timeout", "10", "python3", "-c", script, cwd=mount.path)


@needs("rg")
def test_rg_over_the_whole_mount_ends(case):
    """rg over everything ends, even when it follows links (except the endless `events`)."""
    with case.browse() as mount:
        assert "raw.jsonl" in output_of("rg", "--no-ignore", "-l", "needle in line 42", mount.path, timeout=10)
        followed = run("rg", "--no-ignore", "-L", "-g", "!events", "-l", "needle in line 42", mount.path, check=False,
                       timeout=10)
        assert followed.returncode in (0, 2) and b"raw.jsonl" in followed.stdout, followed


@needs("rg")
def test_rg_finds_a_sentence_in_two_files_of_a_session(case):
    """rg names text/ and transcript.md, from wherever it starts; with --no-ignore also the other forms."""
    with case.browse() as mount:
        session = case.store["shop"]
        folder = mount.session(session)
        project = folder.parent

        def found(*arguments, cwd="/"):
            done = run("rg", "-l", "--sort", "path", *arguments, "-e", "Fixed by the second way.", cwd=cwd, check=False)
            names = (session.id, mount.name_of(session))
            lines = [line for line in done.stdout.decode().splitlines() if cwd == folder or any(n in line for n in names)]
            return [re.split("|".join(map(re.escape, names)), line)[-1].strip("/.") for line in lines]

        stem = next(session.stem(entry["id"]) for entry in session.entries
                    if "Fixed by the second way." in session.line(entry["id"]).decode())
        two = [f"text/{stem}.md", "transcript.md"]
        for arguments, cwd in (((str(mount.path),), "/"), ((str(folder),), "/"), ((), mount.path), ((), project),
                               (("projects",), mount.path), ((), folder), ((str(project),), folder)):
            equal(sorted(found(*arguments, cwd=cwd)), two, (arguments, cwd))
        everything = found("--no-ignore", str(mount.path))
        assert {"raw.jsonl", "context.json", "tree.txt", f"entries/{stem}.json", *two} <= set(everything), everything
        equal(found(str(folder / "entries")), [f"entries/{stem}.json"], "a folder that is given")


def test_mmap_of_an_entry_shows_its_bytes(case):
    """A shared, read-only map of an entry and of the log holds their bytes."""
    with case.browse() as mount:
        path, line = first_entry(case, mount)
        for file, wanted in ((path, line), (mount.session(case.store["shop"]) / "raw.jsonl", None)):
            with open(file, "rb") as opened, mmap.mmap(opened.fileno(), 0, mmap.MAP_SHARED, mmap.PROT_READ) as view:
                equal(bytes(view), wanted or case.store["shop"].path.read_bytes(), file.name)


def test_diff_of_two_branches_shows_no_shared_line(case):
    """diff of two transcripts shows the lines of each branch and nothing that both share."""
    with case.browse() as mount:
        session = case.store["shop"]
        branches = mount.session(session) / "branches"
        first = session.entries[7]["id"]
        done = run("diff", branches / first / "transcript.md", branches / "current" / "transcript.md", check=False)
        equal(done.returncode, 1, "status of diff")
        assert b"< Fixed by the first way." in done.stdout and b"> Fixed by the second way." in done.stdout, done.stdout
        assert b"the checkout fails" not in done.stdout, "the shared question is no difference"
        texts = [(branches / name / "transcript.md").read_text().splitlines() for name in (first, "current")]
        assert any(line.startswith("-") for line in difflib.unified_diff(*texts)), "difflib agrees"


# -- copying


def copied_whole(case, copy, *options):
    """Copies a whole mount with `copy(mount, target)` and compares every byte, link and name."""
    with case.browse(*options) as mount:
        target = case.new_path("copy")
        target.mkdir()
        copy(mount, target)
        same_tree(tree_of(target), tree_of(mount.path))


@needs("tar")
def test_tar_of_the_whole_mount_equals_cat(case):
    """An extracted tar of everything holds the bytes that cat gives; tar --compare finds no difference."""

    def copy(mount, target):
        archive = case.new_path("tar")
        done = run("tar", "-cf", archive, "-C", mount.path, ".")
        equal(done.stderr, b"", "what tar complains about")
        run("tar", "-xf", archive, "-C", target)
        run("tar", "-df", archive, "-C", mount.path, "--exclude=./status.json")

    copied_whole(case, copy)


@needs("rsync")
def test_rsync_copies_the_whole_mount_once(case):
    """rsync -a copies everything, and has nothing to do in a second run."""

    def copy(mount, target):
        run("rsync", "-a", f"{mount.path}/", f"{target}/")
        again = [line for line in output_of("rsync", "-ain", f"{mount.path}/", f"{target}/").splitlines()
                 if not line.endswith(" status.json") and not line.endswith(" ./")]
        equal(again, [], "what the second rsync would do")

    copied_whole(case, copy)


def test_cp_of_a_read_only_mount_is_complete(case):
    """cp -a copies everything of a read-only mount."""
    copied_whole(case, lambda mount, target: run("cp", "-a", f"{mount.path}/.", f"{target}/"), "ro")


def test_sizes_of_all_files_are_exact(case):
    """st_size of every regular file of a rich mount is the number of bytes read, whether the file is listed first or
    opened first."""
    with case.browse() as mount:
        files = regular_files(mount.path)
        assert len(files) > 700, f"only {len(files)} files"
        wrong = [f"{name}: {os.lstat(mount / name).st_size}" for name in files
                 if len((mount / name).read_bytes()) != os.lstat(mount / name).st_size]
        equal(wrong, [], "files whose size is not exact")
    with case.mount() as mount:
        wrong = []
        for name in files:
            with open(mount / name, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                if len(file.read()) != size:
                    wrong.append(name)
        equal(wrong, [], "files whose size is not exact when opened without listing")


# -- following


def followed(case, name, wanted, *options):
    """Runs tail -f on a file of a session, appends from outside, and waits until tail shows it."""
    with case.browse(*options) as mount:
        session = case.store["long"]
        shown = case.new_path("tail")
        tail = case.spawn(["tail", "-n5", "-s", "0.2", "-f", mount.session(session) / name], shown)
        eventually(5, lambda: b"mile 300" in shown.read_bytes(), "tail shows the end")
        for text in ("one more mile", "and another"):
            session.user(text)
            session.grow()
            eventually(FOLLOW_DEADLINE, lambda: wanted(text, session) in shown.read_bytes(), f"tail shows {text!r}")
        assert b"truncated" not in shown.read_bytes(), shown.read_bytes()
        case.end(tail)


def test_tail_follows_the_raw_log(case):
    """tail -f raw.jsonl shows a line of another process within three seconds, and then the next one."""
    followed(case, "raw.jsonl", lambda _, session: session.line(session.leaf))


def test_tail_follows_a_transcript(case):
    """tail -f transcript.md shows an append by another process within three seconds."""
    followed(case, "transcript.md", lambda text, _: text.encode())


def test_tail_follows_without_kernel_notifications(case):
    """tail -f shows appended lines even if the daemon never notifies the kernel."""
    followed(case, "raw.jsonl", lambda _, session: session.line(session.leaf), "nonotify")


def test_tail_follows_a_polled_store(case):
    """tail -f shows appended lines even if the daemon polls the store."""
    followed(case, "raw.jsonl", lambda _, session: session.line(session.leaf), "noinotify")


# -- attempts to write


def refused(case, *command, check_status=True):
    """Runs a program that tries to write an entry of a mount. It must fail and leave store and entry unchanged."""
    with case.browse() as mount:
        path, line = first_entry(case, mount)
        before = case.agent.state()
        done = run(*command, path, check=False, cwd=path.parent)
        if check_status:
            assert done.returncode != 0, f"{command} succeeded: {done.stdout} {done.stderr}"
        equal(path.read_bytes(), line, "the entry")
        equal(case.agent.state(), before, "the store")
        equal([name for name in os.listdir(path.parent) if not name.endswith(".json")], [], "left over in entries/")


def test_sed_in_place_is_refused(case):
    """sed -i on an entry fails and changes nothing."""
    refused(case, "sed", "-i", "s/checkout/CHECKOUT/")


@needs("perl")
def test_perl_in_place_is_refused(case):
    """perl -pi on an entry changes nothing; it only warns and exits with 0."""
    refused(case, "perl", "-pi", "-e", "s/checkout/CHECKOUT/", check_status=False)


def test_rm_of_an_entry_is_refused(case):
    """rm -f of an entry fails."""
    refused(case, "rm", "-f")


def test_touch_and_chmod_of_an_entry_are_refused(case):
    """touch and chmod of an entry fail."""
    refused(case, "touch")
    case.agent = case.agent_dir()
    refused(case, "chmod", "u+w")


def test_redirection_into_content_is_refused(case):
    """> and >> onto a context, a transcript, the log and an entry fail at open, so nothing is truncated."""
    with case.browse() as mount:
        folder = mount.session(case.store["shop"])
        path, _ = first_entry(case, mount)
        before = case.agent.state()
        for target in (folder / "context.json", folder / "transcript.md", folder / "raw.jsonl", path):
            for arrow in (">", ">>"):
                done = run("bash", "-c", f"echo x {arrow} '{target}'", check=False)
                assert done.returncode != 0, f"echo {arrow} {target.name} succeeded"
        equal(case.agent.state(), before, "the store")


def test_new_files_and_folders_are_refused(case):
    """No file or folder can be created in the root, projects/, a session, entries/, text/ or by-id/."""
    with case.browse() as mount:
        folder = mount.session(case.store["shop"])
        before = case.agent.state()
        for parent in (mount.path, mount / "projects", folder, folder / "entries", folder / "text", mount / "by-id"):
            for script in ("touch .x.swp", "mkdir made", "ln -s x made", "cp /etc/hostname 4913", "mknod fifo p"):
                done = run("bash", "-c", script, check=False, cwd=parent)
                assert done.returncode != 0, f"{script} in {parent} succeeded"
        equal(case.agent.state(), before, "the store")


def vim():
    for name in ("vim.tiny", "vim", "vi"):
        if subprocess.run(["which", name], capture_output=True, check=False).returncode == 0:
            return name
    raise Skip("vim is not installed")


def test_vim_reads_an_entry(case):
    """vim opens an entry and shows its text."""
    with case.browse() as mount:
        path, line = first_entry(case, mount)
        shown = case.new_path("shown")
        run(vim(), "-es", "-u", "NONE", "-c", f"w! {shown}", "-c", "qa!", path, check=False,
            env=dict(case.environment, TERM="dumb"))
        equal(shown.read_bytes(), line, "what vim read")


def test_vim_cannot_write_an_entry(case):
    """vim :wq! on an entry changes nothing and leaves no swap or backup file."""
    refused(case, vim(), "-es", "-u", "NONE", "-c", "%s/checkout/CHECKOUT/", "-c", "wq!", check_status=False)


def test_recursive_deletion_is_refused(case):
    """rm -rf and find -delete over a whole mount end, fail, and leave the store unchanged."""
    with case.browse() as mount:
        before = case.agent.state()
        for script in ("rm -rf ./*", "find . -delete"):
            done = run("bash", "-c", script, check=False, cwd=mount.path)
            assert done.returncode != 0, f"{script} succeeded"
        equal(case.agent.state(), before, "the store")
        path, line = first_entry(case, mount)
        equal(path.read_bytes(), line, "an entry")


# -- extended attributes


@needs("getfattr")
def test_getfattr_finds_nothing_without_the_xattr_option(case):
    """Without -o xattr an entry has no attributes, and getfattr -d and ls report no error."""
    with case.browse() as mount:
        path, _ = first_entry(case, mount)
        done = run("getfattr", "-d", path, check=False)
        assert b"user.arborfs" not in done.stdout, done.stdout
        run("ls", "-l", path)


@needs("getfattr")
def test_xattrs_describe_entries_and_sessions(case):
    """With -o xattr entries have id, parent, type, role, time, model and label; sessions have id, agent, cwd,
    title and leaf."""
    with case.browse("xattr") as mount:
        session = case.store["shop"]
        answer = session.entries[7]
        path = mount.session(session) / "entries" / f"{session.stem(answer['id'])}.json"
        found = attributes(path)
        assert "claude" in found.pop("model", ""), found
        equal(found, {"id": answer["id"], "parent": answer["parentId"], "type": "message", "role": "assistant",
                      "timestamp": answer["timestamp"], "label": "checkpoint"}, "entry")
        said = attributes(mount.session(session))
        wanted = {"id": session.id, "agent": "omp", "cwd": "/srv/shop", "title": "Mend the checkout",
                  "entries": str(len(session.entries))}
        equal({key: said.get(key) for key in wanted}, wanted, "session")
        assert session.leaf in said["leaf"], said
        assert "parent-session" not in said or not said["parent-session"], said


def attributes(path):
    """The attributes user.arborfs.* of a file, from getfattr."""
    shown = output_of("getfattr", "-d", "-m", "^user.arborfs", "--absolute-names", path)
    return {name: json.loads(f'"{value}"') for name, value in re.findall(r'user\.arborfs\.([a-z-]+)="(.*)"', shown)}
