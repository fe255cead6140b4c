"""Every JSON that arborfs writes is JSON in UTF-8, whatever bytes are in the logs, in their names and in other files of
the stores. raw.jsonl, entries/, native/, damage/, artifacts/ and checkpoints/ have the agent's own bytes."""

import json
import os
import random
import re
import shutil
import sqlite3

from mounting import SOURCE_DIR, variants

SAMPLES = SOURCE_DIR / "tools" / "samples"
TESTS = SOURCE_DIR / "tests"
STORES = {"omp": SAMPLES / "omp", "pi": SAMPLES / "pi", "opal": SAMPLES / "opal", "opal_dets": TESTS / "opal" / "dets",
          "opencode": SAMPLES / "opencode", "opencode_files": SAMPLES / "opencode-files", "claude": SAMPLES / "claude",
          "codex": SAMPLES / "codex", "codex_legacy": TESTS / "codex" / "legacy", "goat": SAMPLES / "goat",
          "goat_flat": TESTS / "goat" / "flat"}
# What no UTF-8 has: a byte of no sequence, an overlong form, a surrogate, the beginning and the rest of a sequence.
BAD = [b"\xff", b"\xc0\xaf", b"\xed\xa0\xbd", b"\xf0\x9f\x98", b"\x80", b"\xfe\xfe"]
VERBATIM = {"raw.jsonl", "entries", "native", "damage", "artifacts", "checkpoints", "blobs", "images"}
STRING = re.compile(rb'"((?:[^"\\\x00-\x1f]|\\[^u]|\\u[0-9A-Fa-f]{4})*)"')
PIECE = re.compile(rb"\\u[0-9A-Fa-f]{4}|\\[^u]|.", re.S)


def spoiled(text, chance, share):
    """The JSON with bad bytes in some of its strings, keys included."""

    def one(found):
        if chance.random() > share:
            return found[0]
        pieces = PIECE.findall(found[1])
        pieces.insert(chance.randint(0, len(pieces)), chance.choice(BAD))
        return b'"' + b"".join(pieces) + b'"'

    return STRING.sub(one, text)


def change_texts(path, change):
    """Changes the texts of a database. `change` takes JSON; of a text that is not JSON, it gets the string."""
    with sqlite3.connect(path) as database:
        database.text_factory = bytes
        for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            table = table.decode()
            for _, column, kind, *_ in database.execute(f'PRAGMA table_info("{table}")').fetchall():
                if kind.decode().lower() != "text" or column.decode() in ("id", "session_id", "message_id", "project_id"):
                    continue
                name = column.decode()
                rows = database.execute(f'SELECT rowid, "{name}" FROM "{table}" WHERE "{name}" IS NOT NULL').fetchall()
                for row, text in rows:
                    is_json = text[:1] in b"{["
                    changed = change(text) if is_json else change(b'"' + text + b'"')[1:-1]
                    if changed != text:
                        database.execute(f'UPDATE OR IGNORE "{table}" SET "{name}" = CAST(? AS TEXT) WHERE rowid = ?',
                                         (changed, row))
    database.close()


def change_terms(path, change):
    """Changes long texts of an Erlang table, which keep their lengths."""
    path.write_bytes(re.sub(rb"[a-z ]{12,}", lambda found: change(b'"' + found[0] + b'"')[1:-1][:len(found[0])].ljust(len(found[0])),
                            path.read_bytes()))


def change_store(store, change):
    """Changes the JSON in the files of a store. Where there is none, `change` gets long texts as strings."""
    for path in sorted(store.rglob("*"), reverse=True):
        if not path.is_file():
            continue
        if path.suffix in (".jsonl", ".json"):
            times = (path.stat().st_atime_ns, path.stat().st_mtime_ns)
            path.write_bytes(change(path.read_bytes()))
            os.utime(path, ns=times)
        elif path.suffix in (".db", ".sqlite"):
            change_texts(path, change)
        elif path.suffix == ".dets":
            change_terms(path, change)


def rename_folders(store, below, chance):
    """Folders named after projects get bad bytes in their names."""
    for folder in sorted((store / below).iterdir()) if (store / below).is_dir() else []:
        if folder.is_dir():
            os.rename(folder, os.fsencode(folder) + chance.choice(BAD))


def check(text, what):
    """A JSON text, or several, one a line."""
    assert text, f"{what} is empty"
    try:
        said = text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise AssertionError(f"{what}: {error}: {text[max(0, error.start - 60):error.end + 20]!r}") from None
    try:
        json.loads(said)
        return
    except ValueError:
        pass
    for line in said.splitlines():
        try:
            json.loads(line)
        except ValueError as error:
            raise AssertionError(f"{what}: {error}: {line[:200]!r}") from None


def check_tree(root):
    """Every JSON file that arborfs makes; how many there are."""
    count = 0
    for place, folders, names in os.walk(os.fsencode(root)):
        folders[:] = [name for name in folders if os.fsdecode(name) not in VERBATIM]
        for name in names:
            path = os.path.join(place, name)
            if name.endswith(b".json") and not os.path.islink(path):
                with open(path, "rb") as file:
                    check(file.read(), path)
                count += 1
    return count


def ids_of(case, store):
    listed = case.arborfs("ls", "--json", "-c", "--store", store).stdout
    check(listed, "ls")
    return [session["session"] for session in json.loads(listed) if session["session"]]


def check_commands(case, store):
    """The output of every command that only reads, with --json."""
    for words in (["stores"], ["stats"], ["stats", "--by", "project"], ["search", "the"], ["search", "a", "-n", "50"],
                  ["history"], ["doctor"], ["trash"], ["prune", "--dry-run", "--keep-count", "1"]):
        done = case.arborfs(*words, "--json", "--store", store, check=False)
        if words[0] not in ("history", "trash"):
            check(done.stdout, words)  # the others have nothing to say
    for session in ids_of(case, store):
        for words in (["show"], ["tree"], ["context"], ["text"], ["resume", "--print"], ["text", "--code"], ["doctor"]):
            done = case.arborfs(words[0], session, *words[1:], "--json", "--store", store, check=False)
            if done.stdout or done.returncode == 0:
                check(done.stdout, [*words, session])
        for number in range(1, 8):
            for verb in ("text", "context"):
                done = case.arborfs(verb, session, f"#{number}", "--json", "--store", store, check=False)
                if done.stdout:
                    check(done.stdout, [verb, session, number])


@variants(**{f"{name}_{share}": {"name": name, "share": share} for name in STORES for share in (5, 60)})
def test_json_of_spoiled_stores_is_utf8(case, name, share):
    """Bad bytes in strings of every file of a store: in values and keys, ids and working directories."""
    agent = name.split("_", 1)[0]
    chance = random.Random(f"{name} {share}")
    store = case.new_path(agent)
    shutil.copytree(STORES[name], store)
    change_store(store, lambda text: spoiled(text, chance, share / 100))
    rename_folders(store, "projects" if agent == "claude" else "sessions", chance) if agent in ("claude", "omp", "pi") else None
    with case.mount(f"store={agent}={store}") as mount:
        assert check_tree(mount.path) > 3
        for query in ("the", "a", '"to the"'):
            check((mount / "search" / query / "hits.json").read_bytes(), query)
    check_commands(case, f"{agent}={store}")
