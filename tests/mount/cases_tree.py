"""The tree itself (CONTRACT.md 2): names, modes, owners, times, inode numbers, and names that resolve without being
listed."""

import errno
import json
import os
import re
import stat

from agentdir import PNG, START_MS, STEP_MS, started
from crawl import is_control, paths_below
from mounting import equal, fails_with, output_of, visible_within


def numbers(root):
    """{relative path: inode number} of everything that is listed."""
    return {relative: os.lstat(os.path.join(root, relative)).st_ino for relative in paths_below(root)}


def test_root_lists_the_documented_names(case):
    """The root of a mount lists the documented names."""
    with case.browse() as mount:
        names = set(os.listdir(mount.path))
        missing = {"README.md", "status.json", "projects", "by-id", "by-agent", "recent", "search", "stats", "history",
                   "terminals", "blobs"} - names
        assert not missing, f"{missing} are missing in {names}"
        assert json.loads((mount / "status.json").read_text())["version"], "status.json tells the version"
        assert "arborfs" in (mount / "README.md").read_text()


def test_session_lists_the_documented_names(case):
    """A session lists the documented names; damage/ is listed only if there is damage."""
    with case.browse() as mount:
        wanted = {"session.json", "title", "raw.jsonl", "leaf", "context.json", "transcript.md", "tree.txt",
                  "usage.json", "status.json", "entries", "text", "images", "branches", "labels"}
        names = set(os.listdir(mount.session(case.store["shop"])))
        assert wanted <= names, f"{wanted - names} are missing"
        assert "artifacts" in names and "damage" not in names, names
        assert "damage" in os.listdir(mount.session(case.store["hurt"]))
        assert "artifacts" not in os.listdir(mount.session(case.store["hurt"]))


def test_sessions_are_grouped_by_working_directory(case):
    """There is one project for each cwd, with a shell-safe name without the home prefix and a file `cwd`; the store's
    folder name resolves too."""
    with case.browse() as mount:
        projects = mount / "projects"
        equal(sorted(os.listdir(projects)), ["notes", "srv-long-haul", "srv-shop"], "projects")
        equal((projects / "srv-shop" / "cwd").read_text().removesuffix("\n"), "/srv/shop", "cwd")
        equal((projects / "notes" / "cwd").read_text().removesuffix("\n"), f"{case.home}/notes", "cwd in home")
        sessions = [mount.name_of(case.store["shop"]), mount.name_of(case.store["hurt"])]
        equal(sorted(os.listdir(projects / "srv-shop")), sorted([*sessions, "cwd"]), "a project")
        by_folder = projects / case.store["shop"].folder
        equal(sorted(os.listdir(by_folder)), sorted(os.listdir(projects / "srv-shop")), "by the store's folder")
        fails_with(errno.ENOENT, os.stat, projects / "no-such-project")


def test_odd_working_directories_get_safe_project_names(case):
    """The names home, root and unknown; no leading dash or dot; names that collide get ~2 in byte order of the cwd."""
    odd = (str(case.home), "/", None, "/-rf", "/.config", "/a/b-c", "/a-b/c", "/srv/two words", "/srv/größe")
    for number, cwd in enumerate(odd):
        session = case.agent.session(cwd, folder=f"odd-{number}")
        session.talk(1)
        session.write()
    with case.mount() as mount:
        names = {(folder / "cwd").read_text().removesuffix("\n"): folder.name
                 for folder in (mount / "projects").iterdir()}
        equal(names[str(case.home)], "home")
        equal(names["/"], "root")
        equal(names[""], "unknown")
        equal((names["/a-b/c"], names["/a/b-c"]), ("a-b-c", "a-b-c~2"), "a collision")
        for name in names.values():
            assert name[0] not in "-." and not set(name) & set(" '\"$*?\\"), name
        equal((names["/srv/größe"], names["/srv/two words"]), ("srv-größe", "srv-two%20words"), "beyond ASCII")


def test_inode_numbers_survive_a_remount(case):
    """Every listed path has the same st_ino after a remount, in whatever order the paths are looked up."""
    with case.browse() as mount:
        before = numbers(mount.path)
    with case.mount() as mount:
        deepest_first = sorted(before, key=lambda relative: -relative.count("/"))
        after = {relative: os.lstat(mount / relative).st_ino for relative in deepest_first}
        changed = [relative for relative in before if before[relative] != after[relative]]
        equal(changed, [], "paths with another number")


def test_inode_numbers_differ_between_files(case):
    """No two listed files or folders of a mount have the same number; links with the same target may share one."""
    with case.browse() as mount:
        seen = {}
        for relative, number in numbers(mount.path).items():
            assert number not in (0, 1), f"{relative} has number {number}"
            what = os.readlink(mount / relative) if os.path.islink(mount / relative) else relative
            equal(what, seen.setdefault(number, what), f"what has number {number}")
        assert len(seen) > 1000


def test_listing_and_stat_agree_on_inode_numbers(case):
    """d_ino of a listing is st_ino of the file."""
    with case.browse() as mount:
        folder = mount.session(case.store["shop"])
        for place in (mount.path, mount / "projects", folder, folder / "entries", folder / "branches",
                      folder / "labels"):
            for entry in os.scandir(place):
                equal(entry.inode(), entry.stat(follow_symlinks=False).st_ino, entry.path)


def test_short_entry_names_resolve_to_the_same_file(case):
    """entries/<id>.json and entries/<ordinal>.json resolve to the listed file; neither is listed."""
    with case.browse() as mount:
        session = case.store["long"]
        entries = mount.session(session) / "entries"
        entry_id = session.entries[41]["id"]
        full = os.stat(entries / f"{session.stem(entry_id)}.json")
        for short in (f"{entry_id}.json", "42.json"):
            equal(os.stat(entries / short).st_ino, full.st_ino, short)
            equal((entries / short).read_bytes(), session.line(entry_id), short)
        equal(len(os.listdir(entries)), 300, "listed names")
        for wrong in ("0.json", "301.json", "4294967338.json", "no-such-id.json", "42", "42.md", "000042-user-x.json"):
            fails_with(errno.ENOENT, os.stat, entries / wrong)


def test_sessions_resolve_by_id_and_unique_prefix(case):
    """by-id lists one link for each session; a unique prefix resolves without being listed, an ambiguous one does
    not."""
    with case.browse() as mount:
        by_id = mount / "by-id"
        equal(sorted(os.listdir(by_id)), sorted(session.id for session in case.store.values()), "by-id")
        shop = case.store["shop"]
        assert os.path.samefile(by_id / shop.id, mount.session(shop)), "a link to the session"
        fails_with(errno.ENOENT, os.stat, by_id / shop.id[:8])  # all four begin with it
        lone = case.agent.session("/srv/shop", session_id="7c0ffee000000001")
        lone.talk(1)
        lone.write()
    with case.mount() as mount:
        assert os.path.samefile(mount / "by-id" / "7c0f", mount.session(lone)), "a unique prefix"


def test_by_agent_lists_the_sessions_of_each_agent(case):
    """by-agent/ has one folder for each agent that has sessions, under their names; an id or a prefix that is unique
    among the agent's sessions resolves. A new session of another agent shows at once, and a removed one goes."""
    with case.browse() as mount:
        by_agent = mount / "by-agent"
        equal(os.listdir(by_agent), ["omp"], "agents")
        equal(sorted(os.listdir(by_agent / "omp")), sorted(map(mount.name_of, case.store.values())), "the only agent's sessions")
        shop = case.store["shop"]
        assert os.path.samefile(by_agent / "omp" / shop.id, mount.session(shop)), "a link to the session"
        fails_with(errno.ENOENT, os.stat, by_agent / "pi")
        pi = case.agent.session("/srv/shop", session_id="01a1ffda-dc19-779e-873a-5cc104ef1649")
        pi.talk(1)
        visible_within(1, pi.write, lambda: sorted(os.listdir(by_agent)) == ["omp", "pi"], "an agent's first session")
        assert os.path.samefile(by_agent / "pi" / "01a1", mount.session(pi)), "a unique prefix"
        assert mount.name_of(pi) not in os.listdir(by_agent / "omp")
        visible_within(1, pi.path.unlink, lambda: os.listdir(by_agent) == ["omp"], "an agent's last session")


def test_branches_resolve_by_any_name_of_an_entry(case):
    """branches/<id>, <ordinal>, <label> and the listed name all resolve to the branch that ends there."""
    with case.browse() as mount:
        session = case.store["shop"]
        branches = mount.session(session) / "branches"
        answer = session.entries[7]["id"]
        texts = {(branches / name / "transcript.md").read_text()
                 for name in (answer, "8", "checkpoint", session.branch(answer))}
        equal(len(texts), 1, "different transcripts for one branch")
        assert "Fixed by the first way." in texts.pop()
        fails_with(errno.ENOENT, os.stat, branches / "no-such-label")


def test_symbolic_links_are_relative_and_resolve(case):
    """Every symbolic link of a mount is relative and leads to something inside it."""
    with case.browse() as mount:
        links = [relative for relative in paths_below(mount.path) if os.path.islink(mount / relative)]
        for relative in links:
            target = os.readlink(mount / relative)
            assert not target.startswith("/"), f"{relative} -> {target}"
            assert os.path.realpath(mount / relative).startswith(str(mount.path)), f"{relative} -> {target}"
            assert os.path.exists(mount / relative), f"{relative} -> {target} leads nowhere"
        kinds = {relative.split("/")[0] for relative in links}
        assert {"by-id", "by-agent", "recent", "terminals"} <= kinds, kinds


def test_recent_lists_the_newest_first(case):
    """recent/ lists the sessions by the time of their last change, which their links have, and names them by the time of
    their creation and their title or first message."""
    with case.browse() as mount:
        order = ["long", "shop", "hurt", "notes"]
        for age, name in enumerate(order):
            os.utime(case.store[name].path, (START_MS / 1000 - age * 60,) * 2)
    with case.mount() as mount:
        names = os.listdir(mount / "recent")
        equal(output_of("ls", "-t", mount / "recent").split(), names, "ls -t")
        equal(output_of("ls", "-U", mount / "recent").split(), names, "ls -U")
        store = {mount.name_of(session): name for name, session in case.store.items()}
        equal([os.path.basename(os.readlink(mount / "recent" / name)) for name in names], names, "where they lead")
        equal([store[name] for name in names], order, "order")
        equal(names[:2], [f"{started(case.store['long'])}-long-haul", f"{started(case.store['shop'])}-mend-the-checkout"])
        for number, name in enumerate(names, 1):
            for spelled in (str(number), f"{number:02}"):
                assert os.path.samefile(mount / "recent" / spelled, mount / "recent" / name), spelled
        for spelled in ("0", str(len(names) + 1), "1x", "-1", f"{started(case.store['long'])}-long"):
            fails_with(errno.ENOENT, os.stat, mount / "recent" / spelled)


def test_names_in_recent_stay(case):
    """Names in recent/ stay when another session changes; a former name leads to its session."""
    first, second = case.agent.talk(3, title="First"), case.agent.talk(3, title="Second")
    os.utime(first.path, (START_MS / 1000,) * 2)
    with case.mount() as mount:
        recent = mount / "recent"
        names = [f"{started(second)}-second", f"{started(first)}-first"]
        equal(os.listdir(recent), names)
        first.user("more")
        visible_within(2, first.grow, lambda: os.listdir(recent) == names[::-1], "the other order")
        assert os.path.samefile(recent / "1", mount.session(first))
        (mount.session(second) / "title").write_text("Renamed\n")
        equal(os.listdir(recent), [f"{started(second)}-renamed", names[1]])
        assert os.path.samefile(recent / names[0], mount.session(second)), "a former name"
        fails_with(errno.ENOENT, os.stat, recent / f"{started(first)}-second")
    with case.mount() as mount:
        assert os.path.samefile(mount / "recent" / names[1], mount.session(first)), "a name that was not listed"


def names_in(mount, project):
    return sorted(name for name in os.listdir(mount / "projects" / project) if name != "cwd")


def test_sessions_have_one_name_everywhere(case):
    """A session is named after its creation and its title, else its first message, in its project, recent/, by-agent/
    and all links; a later one of two equal names has ~2, also in another project."""
    talks = [case.agent.talk(3, title="Größe: 1/2"), case.agent.talk(3), case.agent.talk(3, title="Twin")]
    twin = f"{started(talks[2])}-twin"
    for name, cwd in (("y", "/srv/shop"), ("z", "/srv/other")):
        header = {**talks[2].header, "id": name, "cwd": cwd, "title": "Twin"}
        (talks[2].path.parent / f"{name}.jsonl").write_text(json.dumps(header) + "\n")
    shop = [f"{started(talks[0])}-größe-1-2", f"{started(talks[1])}-turn-1", twin, f"{twin}~2"]
    for _ in range(2):
        with case.mount() as mount:
            equal(names_in(mount, "srv-shop"), sorted(shop), "a project")
            equal(names_in(mount, "srv-other"), [f"{twin}~3"])
            equal([mount.name_of(talk) for talk in talks], shop[:3], "the links in by-id/")
            equal(sorted(os.listdir(mount / "recent")), sorted([*shop, f"{twin}~3"]), "recent/")
            equal(sorted(os.listdir(mount / "by-agent" / "omp")), sorted(os.listdir(mount / "recent")), "by-agent/")
            fails_with(errno.ENOENT, os.stat, mount / "projects" / "srv-shop" / f"{twin}~4")
            fails_with(errno.ENOENT, os.stat, mount / "projects" / "srv-shop" / "by-title")


def test_other_names_of_a_session_lead_to_it(case):
    """The name of the log, the id and each former name lead to the folder that a project lists; all are one inode."""
    session = case.agent.talk(3, title="Title 0")
    with case.mount() as mount:
        project = mount.session(session).parent
        for number in range(1, 20):
            (mount.session(session) / "title").write_text(f"Title {number}\n")
            equal(names_in(mount, "srv-shop"), [f"{started(session)}-title-{number}"])
        inode = (project / f"{started(session)}-title-19").stat().st_ino
        for name in (session.name, session.id, *(f"{started(session)}-title-{number}" for number in range(20))):
            equal((project / name).lstat().st_ino, inode, name)
            assert name == session.name or os.path.samefile(mount / "by-agent" / "omp" / name, project / name), name
        equal(names_in(mount, "srv-shop"), [f"{started(session)}-title-19"], "the listed name")
        fails_with(errno.ENOENT, os.stat, project / session.id[:-1])


def test_no_session_hides_a_file_of_its_project(case):
    """The name of a log called cwd.jsonl does not lead to its session."""
    session = case.agent.talk(1)
    header = {**session.header, "id": "cwd"}
    (session.path.parent / "cwd.jsonl").write_text(json.dumps(header) + "\n")
    with case.mount() as mount:
        equal((mount / "projects" / "srv-shop" / "cwd").read_text(), "/srv/shop\n")
        equal(len(names_in(mount, "srv-shop")), 2)
        assert os.path.samefile(mount / "projects" / "srv-shop" / "cwd~2", mount / "by-id" / "cwd")


def test_terminals_link_to_their_last_session(case):
    """terminals/<id> is a link to the session of the breadcrumb; a breadcrumb that names no session is left out."""
    mount = case.browse()
    (case.agent.terminals / "pts-9").write_text("/srv/shop\n/no/such/log.jsonl\n")
    (case.agent.terminals / "pts-8").write_bytes(b"\x00\xff garbage")
    with case.mount() as mount:
        equal(os.listdir(mount / "terminals"), ["pts-3"], "terminals")
        assert os.path.samefile(mount / "terminals" / "pts-3", mount.session(case.store["shop"]))


def test_mtimes_equal_those_of_entries_and_logs(case):
    """The mtime of entries, texts and images is the entry's timestamp; for everything else of a session it is the
    log's."""
    with case.browse() as mount:
        session = case.store["shop"]
        folder = mount.session(session)
        for kind in ("entries", "text", "images"):
            names = os.listdir(folder / kind)
            assert names, kind
            for name in names:
                wanted = (session.started_ms + int(name.split("-")[0]) * STEP_MS) * 1_000_000
                equal(os.lstat(folder / kind / name).st_mtime_ns, wanted, f"{kind}/{name}")
        log = os.stat(session.path).st_mtime_ns
        for name in ("raw.jsonl", "context.json", "transcript.md", "tree.txt", "session.json", "usage.json", "."):
            equal(os.lstat(folder / name).st_mtime_ns, log, name)


def test_modes_and_owners_do_not_depend_on_the_store(case):
    """Folders are 0700, content files 0400 and files that can be written 0600, owned by the mounting user, whatever the
    store's modes are."""
    mount = case.browse()
    os.chmod(case.store["shop"].path, 0o666)
    os.chmod(case.store["shop"].path.parent, 0o777)
    with case.mount() as mount:
        for relative in ["."] + paths_below(mount.path):
            status = os.lstat(mount / relative)
            equal((status.st_uid, status.st_gid), (os.geteuid(), os.getegid()), f"owner of {relative}")
            mode = stat.S_IMODE(status.st_mode)
            if stat.S_ISDIR(status.st_mode):
                equal(oct(mode), "0o700", relative)
            elif stat.S_ISREG(status.st_mode):
                is_written = os.path.basename(relative) in {"title", "tags"} or is_control(relative)
                wanted = (0o400, 0o600) if is_written else (0o400,)
                assert mode in wanted, f"{relative} has mode {mode:o}"


def test_images_are_decoded(case):
    """images/ holds each image block, inline or stored as a blob, as the bytes that it encodes."""
    with case.browse() as mount:
        session = case.store["shop"]
        images = mount.session(session) / "images"
        stored, inline = session.entries[5]["id"], session.entries[6]["id"]
        equal(sorted(os.listdir(images)), [f"000006-{stored}-1.png", f"000007-{inline}-1.png"], "images")
        equal((images / f"000006-{stored}-1.png").read_bytes(), PNG * 40, "from a blob")
        equal((images / f"000007-{inline}-1.png").read_bytes(), PNG, "inline")
        blobs = os.listdir(mount / "blobs")
        equal(blobs, os.listdir(case.agent.blobs), "blobs")
        equal((mount / "blobs" / blobs[0]).read_bytes(), PNG * 40, "a blob")


def test_artifacts_are_shown(case):
    """artifacts/ shows the agent's files next to the log."""
    with case.browse() as mount:
        artifacts = mount.session(case.store["shop"]) / "artifacts"
        equal(os.listdir(artifacts), ["1.bash.log"])
        equal((artifacts / "1.bash.log").read_text(), "output of a tool\n")


def test_older_of_two_equal_labels_gets_an_id_suffix(case):
    """If two entries have the same label, the newer has the plain name, the other is name@<id>."""
    session = case.agent.session()
    older, newer = session.user("one"), session.user("two")
    session.label(older, "here")
    session.label(newer, "here")
    session.label(newer, "größe & co")
    session.label(older, "here")
    session.label(newer, "here")
    session.write()
    with case.mount() as mount:
        labels = mount.session(session) / "labels"
        equal(sorted(os.listdir(labels)), sorted(["here", f"here@{older}"]), "labels")
        equal(os.readlink(labels / "here"), f"../entries/{session.stem(newer)}.json")


def test_numeric_label_hides_no_entry(case):
    """entries/2.json is the second entry even if the first is labelled "2"; the label is in labels/."""
    session = case.agent.session()
    first, second = session.user("one"), session.user("two")
    session.label(first, "2")
    session.write()
    with case.mount() as mount:
        folder = mount.session(session)
        equal(json.loads((folder / "entries" / "2.json").read_text())["id"], second)
        equal((folder / "text" / "2.md").read_text(), "two\n")
        branches = folder / "branches"
        equal((branches / "2" / "context.json").read_text(),
              (branches / session.stem(second) / "context.json").read_text())
        equal(os.readlink(folder / "labels" / "2"), f"../entries/{session.stem(first)}.json")


def test_cleared_labels_are_not_listed(case):
    """A label entry without a label clears it; one whose target does not exist is not shown."""
    session = case.agent.session()
    target = session.user("one")
    session.label(target, "a")
    session.add("label", targetId=target)
    session.label("no-such-entry", "b")
    session.write()
    with case.mount() as mount:
        labels = mount.session(session) / "labels"
        equal(os.listdir(labels) if labels.exists() else [], [], "labels")


def test_file_system_type_is_arborfs(case):
    """The kernel knows the mount as fuse.arborfs, so that updatedb and others can skip it."""
    with case.browse() as mount:
        equal(output_of("findmnt", "-n", "-o", "FSTYPE", mount.path).strip(), "fuse.arborfs")
        options = output_of("findmnt", "-n", "-o", "OPTIONS", mount.path)
        assert "default_permissions" in options and "allow_other" not in options, options


def test_reads_at_any_offset_return_the_right_bytes(case):
    """Reads at any offset and of any length, even beyond the end, return those bytes of the file."""
    with case.browse() as mount:
        folder = mount.session(case.store["long"])
        for name in ("raw.jsonl", "context.json", "transcript.md"):
            whole = (folder / name).read_bytes()
            with open(folder / name, "rb", buffering=0) as file:
                for offset in (0, 1, 4095, 4097, len(whole) - 1, len(whole), len(whole) + 10):
                    for length in (1, 100, 70_000):
                        piece = os.pread(file.fileno(), length, offset)
                        equal(piece, whole[offset:offset + length], f"{name}@{offset}")


def test_listing_during_appends_shows_each_entry_once(case):
    """A listing that is in progress while others append shows every earlier entry exactly once."""
    session = case.agent.session()
    session.talk(3000)
    session.write()
    with case.mount() as mount:
        entries = mount.session(session) / "entries"
        found = []
        with os.scandir(entries) as listing:
            for count, entry in enumerate(listing):
                found.append(entry.name)
                if count % 500 == 0:
                    session.user("meanwhile")
                    session.grow()
        equal(len(found), len(set(found)), "names listed twice")
        missing = {f"{stem}.json" for stem in session.stems()[:3000]} - set(found)
        equal(missing, set(), "names not listed")
