"""mount -o redact: beside a plain mount of the same stores, no planted secret is anywhere in it."""

import base64
import errno
import itertools
import json
import os
import random
import shutil
import subprocess

import secrets_planted
from agentdir import append_bytes, compact, overwrite_bytes, slot_line
from cases_history import add, typed
from cases_utf8 import STORES, STRING, change_store
from crawl import paths_below
from mounting import equal, eventually, fails_with, needs, variants

ABSENT = ("raw.jsonl", "native", "artifacts", "checkpoints")


def everything(root):
    """Each name, symlink target, extended attribute and file of a mount, as (where, bytes); also what no listing has."""
    for path in [root / relative for relative in [*paths_below(root), "stats.html"]]:
        yield path, os.fsencode(path.name)
        for name in os.listxattr(path, follow_symlinks=False):
            yield f"{path} {name}", os.getxattr(path, name, follow_symlinks=False)
        if path.is_symlink():
            yield path, os.fsencode(os.readlink(path))
        elif path.is_file():
            try:
                data = path.read_bytes()
            except OSError as error:
                assert (error.errno, path.parent.name) == (errno.EIO, "images"), error  # its data is no image any more
                continue
            equal(path.stat().st_size, len(data), path)
            yield path, data


def plant(store, chance, said):
    """Puts each of these texts into strings of the store: into texts of several words, and into some paths."""
    takes = lambda string: b" " in string or (string.startswith(b"/") and chance.random() < 0.2)  # noqa: E731
    places = []
    change_store(store, lambda text: (places.extend(filter(takes, STRING.findall(text))), text)[1])
    each = len(said) // len(places) + 1
    left = itertools.cycle(chance.sample(said, len(said)))

    def one(found):
        if not takes(found[1]):
            return found[0]
        more = "".join(f" {next(left)} " for _ in range(1 if found[1].startswith(b"/") else each))
        return b'"' + found[1] + json.dumps(more)[1:-1].encode() + b'"'

    change_store(store, lambda text: STRING.sub(one, text))


def options_of(name, store, *more):
    agent = name.split("_", 1)[0]
    return (f"store={agent}={store}", "xattr", *more) if agent != "omp" else ("xattr", *more)


def both(case, name, store):
    """A plain mount and a redacted one."""
    more = {"agent_dir": store} if name == "omp" else {"own_stores": True}
    return case.mount(*options_of(name, store, "ro"), **more), case.mount(*options_of(name, store, "redact"), **more)


# The texts of opal_dets keep their lengths, so that no secret fits into them.
@variants(**{name: {"name": name} for name in STORES if name != "opal_dets"},
          codex_compressed={"name": "codex", "is_compressed": True})
@needs("rg", "zstd")
def test_no_planted_secret_is_anywhere(case, name, is_compressed=False):
    """600 secrets of 60 kinds, in all fields of each format and behind escapes, and in tags."""
    chance = random.Random(f"redacted mount {name}")
    store = case.new_path(name)
    shutil.copytree(STORES[name], store)
    known = secrets_planted.planted(chance, 10)
    plant(store, chance, [chance.choice(secrets_planted.ESCAPES)(text) for _, text in known])
    for rollout in list(store.rglob("rollout-*.jsonl")) if is_compressed else ():
        subprocess.run(["zstd", "-q", "--rm", rollout], check=True)
    agent = name.split("_", 1)[0]
    listed = [one["session"] for one in json.loads(case.arborfs("ls", "--json", "--store", f"{agent}={store}").stdout)]
    tag = next(word for word, said in known if word == said and word.isalnum())
    case.arborfs("tag", "--store", f"{agent}={store}", listed[0], tag)
    plain, redacted = both(case, name, store)
    words = [secret for secret, _ in known]
    patterns = case.new_path("patterns")
    patterns.write_text("\n".join(line for word in words for line in word.split("\n") if len(line) > 9) + "\n")
    with plain, redacted:
        shown = {word for _, data in everything(plain.path) for word in words if word in data.decode("utf8", "replace")}
        assert len(shown) > 100, len(shown)
        for where, data in everything(redacted.path):
            for reading in secrets_planted.readings(data):
                left = [word for word in words if word in reading]
                assert not left, (where, left, reading[max(0, reading.find(left[0]) - 80):][:300])
        rg = ["rg", "-a", "--no-ignore", "-F", "-f", patterns, "--count"]
        assert subprocess.run([*rg, plain.path], capture_output=True).stdout
        found = subprocess.run([*rg, redacted.path], capture_output=True, text=True)
        equal((found.returncode, found.stdout), (1, ""))
        for folder in (redacted / "projects").glob("*/*"):
            equal([one for one in ABSENT if (folder / one).exists()], [], folder)
        assert not any((redacted / "blobs").iterdir())
        status = json.loads((redacted / "status.json").read_text())
        assert sum(status["redacted"]["secrets"].values()) > 20, status
        for word in list(shown)[:5]:
            query = '"' + word.replace("/", "%2F").replace('"', "") + '"'
            equal([one for one in os.listdir(redacted / "search" / query) if "-" in one[:4]], [], query)


def github(chance):
    return secrets_planted.filled("gh" + "p_{crc}", chance)


def test_what_is_appended_is_redacted(case):
    """While a mount is open: whole lines, lines in two parts, an end without a line feed, a title in place; a secret
    keeps its label, and entries that were read stay what they are."""
    chance = random.Random("appended")
    token, later, other = github(chance), github(chance), secrets_planted.filled("{a24}", chance)
    session = case.agent.session("/srv/shop", title="a title", slot=True)
    first = session.user(f"use {token} please")
    session.write()
    with case.mount("redact", "xattr") as mount:
        folder = mount.session(session)
        transcript = folder / "transcript.md"
        assert "use [redacted:github#1] please" in transcript.read_text()
        entry = folder / "entries" / f"{session.stem(first)}.json"
        before, inode = entry.read_bytes(), entry.stat().st_ino
        session.assistant(f"{later} and {token}")
        session.grow()
        eventually(3, lambda: "[redacted:github#2] and [redacted:github#1]" in transcript.read_text())
        last = session.user(f"API_TOKEN={other} is {'x' * 5000}")
        line = session.pending()
        append_bytes(session.path, line[:3000])
        eventually(5, lambda: json.loads((folder / "status.json").read_text())["bytes"] > len(session.bytes) - 3000)
        assert other not in transcript.read_text()
        append_bytes(session.path, line[3000:-1])  # JSON now, but no line
        eventually(3, lambda: "API_TOKEN=[redacted:" in transcript.read_text())
        append_bytes(session.path, b"\n" + compact({"type": "label", "id": "abcd1234", "parentId": last, "targetId": first,
                                                    "label": f"of {token}", "timestamp": "2026-02-16T10:20:30.000Z"}) + b"\n")
        eventually(3, lambda: [one for one in os.listdir(folder / "labels") if "github" in one])
        equal((entry.read_bytes(), entry.stat().st_ino), (before, inode))
        equal(transcript.stat().st_size, len(transcript.read_bytes()))
        for _, data in everything(mount.path):
            assert not any(secret.encode() in data for secret in (token, later, other))


def test_a_title_that_is_overwritten_is_redacted(case):
    """omp overwrites the first line in place: the title changes, and no byte of the secret in it shows."""
    token = github(random.Random("slot"))
    session = case.agent.session("/srv/shop", title="before", slot=True)
    session.user("words")
    session.write()
    with case.mount("redact", "xattr") as mount:
        title = mount / "by-id" / session.id / "title"
        assert "words" in (title.parent / "transcript.md").read_text()
        equal(title.read_text(), "before\n")
        overwrite_bytes(session.path, 0, slot_line(f"uses {token}"))
        eventually(3, lambda: title.read_text() == "uses [redacted:github#1]\n")
        assert "words" in (title.parent / "transcript.md").read_text()
        assert not any(token.encode() in data for _, data in everything(mount.path))
        assert "redacted-github-1" in mount.name_of(session)


def test_what_shows_itself_later_is_taken_everywhere(case):
    """In a long log: a token without a name, before the record that names it; images, also those in blobs."""
    chance = random.Random("long")
    token = secrets_planted.filled("{a24}", chance)
    session = case.agent.session("/srv/shop", title=f"about {token}")
    for number in range(40):
        session.user("many words " * 4000)
        session.assistant(f"as {token} says, {number}")
    picture = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8
    session.image(base64.b64encode(picture).decode())
    session.image(case.agent.blob(picture))
    session.user(f"export API_TOKEN={token}")
    session.write()
    with case.mount("ro") as plain, case.mount("redact", "xattr") as redacted:
        assert len(os.listdir(plain.session(session) / "images")) == 2
        folder = redacted.session(session)
        text = (folder / "transcript.md").read_text()
        assert len(text) > 1 << 20 and "as [redacted:" in text
        equal(os.listdir(folder / "images"), [])
        eventually(3, lambda: "about [redacted:" in (folder / "title").read_text())
        for path, data in everything(redacted.path):
            assert token.encode() not in data and b"iVBORw0KGgo" not in data, path


def test_what_cannot_be_scanned_is_left_out_and_counted(case):
    """Lines that are no JSON, or too long: a label stands for each, and status.json says how many."""
    chance = random.Random("unscanned")
    tokens = [github(chance) for _ in range(3)]
    session = case.agent.session("/srv/shop")
    session.user("before")
    session.raw(b'{"type":"message","text":"' + tokens[0].encode() + b'\n')
    session.raw(compact({"type": "message", "text": tokens[1] + " word" * (4 << 20)}) + b"\n")
    session.raw(b"\xff\xfe " + tokens[2].encode() + b"\n")
    session.user("after")
    session.write()
    with case.mount("redact", "xattr") as mount:
        folder = mount.session(session)
        text = (folder / "transcript.md").read_text()
        assert "before" in text and "after" in text
        equal(json.loads((mount / "status.json").read_text())["redacted"], {"secrets": {}, "linesLeftOut": 3})
        assert b"[redacted:unscanned]" in b"".join(path.read_bytes() for path in (folder / "damage").iterdir())
        assert not any(token.encode() in data for _, data in everything(mount.path) for token in tokens)


def test_notes_prompts_and_names_are_redacted(case):
    """Tags, labels and titles that arborfs keeps, typed prompts, names of folders and links, and the operations."""
    chance = random.Random("notes")
    tokens = [github(chance) for _ in range(5)]
    store = case.new_path("codex")
    shutil.copytree(STORES["codex"], store)
    session = case.agent.session(f"/srv/{tokens[3]}/shop")
    session.label(session.user("words"), f"on {tokens[4]}")
    session.write()
    database = typed(case)
    add(database, f"use {tokens[2]} please", 1771237230)
    add_options = [f"store=codex={store}"]
    with case.mount(*add_options) as mount:
        folder = next((mount / "by-agent" / "codex").glob("2*"))
        (folder / "tags").write_text(tokens[0] + "\n")
        entry = next(path.stem for path in (folder / "entries").glob("*-user-*"))
        (folder / "label").write_text(f"{entry} {tokens[1]}\n")
        assert tokens[0] in os.listdir(mount / "tags") and tokens[1] in os.listdir(folder / "labels")
    with case.mount(*add_options, "redact", "xattr") as mount:
        equal(len(os.listdir(mount / "tags")), 1)
        assert "use [redacted:github#" in (mount / "history" / "2026-02-16.md").read_text()
        assert any("%5Bredacted%3Agithub" in name for name in os.listdir(mount / "projects"))
        for path, data in everything(mount.path):
            left = [token for token in tokens if token.encode() in data]
            assert not left, (path, left)


def test_a_rule_of_the_user_holds_for_the_next_mount(case):
    """A rule that is added to redact.tsv; with one that is wrong, nothing is mounted."""
    session = case.agent.session("/srv/shop")
    session.user("the codename is bluebird")
    session.write()
    config = case.new_path("config")
    (config / "arborfs").mkdir(parents=True)
    case.environment["XDG_CONFIG_HOME"] = str(config)
    own = config / "arborfs" / "redact.tsv"
    with case.mount("redact") as mount:
        assert "bluebird" in (mount.session(session) / "transcript.md").read_text()
        own.write_text("name\tkeywords\tpattern\ncodename\tbluebird\tbluebird\n")
        with case.mount("redact") as other:
            assert "is [redacted:codename#1]" in (other.session(session) / "transcript.md").read_text()
    own.write_text("name\tkeywords\tpattern\ncodename\tbluebird\t(\n")
    point = case.new_path("mnt")
    point.mkdir()
    failed = case.arborfs("mount", "--agent-dir", case.agent.path, "-o", "redact", point, check=False)
    equal(failed.returncode, 1)
    assert b"redact.tsv" in failed.stderr and b"nothing is redacted" in failed.stderr, failed.stderr


def test_it_is_read_only_and_says_so(case):
    """No write reaches a store; README.md says what to do; the table of mounts names no folder of the user."""
    session = case.agent.talk(2)
    before = case.agent.state()
    with case.mount("redact", "rw") as mount:
        folder = mount.session(session)
        for write in (lambda: (folder / "append").write_text("x"), lambda: (mount / "x").mkdir(),
                      lambda: (folder / "title").write_text("x"), lambda: os.rename(folder, mount / "x")):
            fails_with(errno.EROFS, write)
        assert "mount without `-o redact`" in (mount / "README.md").read_text()
        line = next(line for line in open("/proc/mounts") if f" {mount.path} " in line)
        assert line.startswith("arborfs ") and " ro," in line, line
    equal(case.agent.state(), before)


def test_searches_find_what_is_shown(case):
    """Beside an index of the same texts: a secret is found by nobody, words and labels are."""
    token = github(random.Random("search"))
    session = case.agent.session("/srv/shop")
    session.user(f"deploy with {token} tonight")
    session.write()
    with case.mount("ro") as plain, case.mount("redact") as redacted:
        eventually(10, lambda: len(os.listdir(plain / "search" / token)) > 2)
        equal([name for name in os.listdir(redacted / "search" / token) if name[0].isdigit()], [])
        assert "with [redacted:github#1] tonight" in (redacted / "search" / "tonight" / "excerpts.md").read_text()
        equal(len([name for name in os.listdir(redacted / "search" / "redacted github") if name[0].isdigit()]), 1)
