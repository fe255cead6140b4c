"""`arborfs search` finds the sessions that `rg -i -F` finds in the mount's text/, for sessions of all agents; with the
search index too, whatever happens to it."""

import errno
import json
import os
import random
import re
import shutil
import sqlite3
import stat
import subprocess
import time
from pathlib import Path

from agentdir import started
from mounting import (at_most, concurrent, equal, eventually, fails_with, needs, needs_root, run, shell,
                      visible_within)
from volumes import MIB, tmpfs

TESTS = Path(__file__).resolve().parent.parent
STORES = {"opal": "opal/sessions", "opencode": "opencode/fresh-1.18.33", "claude": "claude", "codex": "codex/paginated",
          "goat": "goat/nested"}


def copies(case):
    """Options that name a copy of each agent's sample store, in addition to omp's store of the case."""
    options = [f"omp={case.agent.path}"]
    for agent, sample in STORES.items():
        folder = case.new_path(agent)
        source = TESTS / sample
        shutil.copytree(source.parent if agent == "opal" else source, folder)
        options.append(f"{agent}={folder}")
    return options


QUERIES = {"test": ["test"], "race condition": ["race", "condition"], '"race condition"': ["race condition"],
           "FooBar": ["foobar"], "foo_bar": ["foo_bar"], "a::b": ["a::b"], "straSSe": ["strasse"],
           "STRAßE": ["straße"], "σοφός": ["σοφός"], "日本語": ["日本語"], "écrit": ["écrit"], "KÖLN": ["köln"],
           "hello": ["hello"], "write": ["write"], "greet": ["greet"], "bash": ["bash"], "the a": ["the", "a"],
           "image": ["image"], "zyzzyva": ["zyzzyva"]}


def conversations(case):
    session = case.agent.session()
    session.user("Straße nach Köln, ΣΟΦΌΣ, 日本語のテキスト, fooBar foo_bar a::b")
    session.assistant("a race condition in the upload test")
    session.write()
    other = case.agent.session()
    other.user("condition of the race; FOOBAR")
    other.write()
    return session, other


def found_by_search(case, stores, query):
    words = [word for store in stores for word in ("--store", store)]
    done = case.arborfs("search", "--json", *words, "--", query, check=False)
    assert done.returncode in (0, 1), done.stderr
    return {row["path"].rsplit("/", 1)[1] for row in json.loads(done.stdout)}


def is_found(case, session, query):
    """True if the command finds this session and no other."""
    rows = json.loads(case.arborfs("search", "--json", "--agent-dir", case.agent.path, "--", query, check=False).stdout)
    return [row["session"] for row in rows] == [session.id]


def found_by_rg(mount, words):
    """The sessions whose texts contain each of the words."""
    every = None
    for word in words:
        paths = run("rg", "-l", "-i", "-F", "--no-ignore", "-g", "**/text/*.md", "-e", word, str(mount / "projects"),
                    check=False).stdout.decode()
        sessions = {re.search(r"/([^/]*)/text/[^/]*$", path)[1] for path in paths.splitlines()
                    if "/branches/" not in path}
        every = sessions if every is None else every & sessions
    return every


@needs("rg")
def test_search_finds_what_rg_finds_in_the_texts(case):
    """Words, parts of words, several words, phrases, identifiers, and letters of several scripts and cases."""
    conversations(case)
    stores = copies(case)
    with case.mount("ro", *(f"store={store}" for store in stores[1:])) as mount:
        hits = 0
        for query, words in QUERIES.items():
            expected = found_by_rg(mount, words)
            equal(found_by_search(case, stores, query), expected, query)
            hits += len(expected)
        assert hits > 25, hits


def test_search_follows_the_logs(case):
    """An append is found at once."""
    session, _ = conversations(case)
    stores = [f"omp={case.agent.path}"]
    equal(found_by_search(case, stores, "afterthought"), set(), "before")
    session.user("an afterthought")
    visible_within(1, session.grow, lambda: is_found(case, session, "afterthought"), "the append")


def test_search_prints_excerpts_and_fails_without_a_match(case):
    """One line leads to the entry; like grep, the exit status tells whether something matched."""
    session, _ = conversations(case)
    store = ("--agent-dir", str(case.agent.path))
    printed = case.arborfs("search", *store, '"race condition"').stdout.decode()
    assert f"projects/{session.project}/{started(session)}-" in printed, printed
    assert re.search(r"^  text/000002-assistant-\S+\.md: a race condition in the upload test$", printed, re.M), printed
    equal(case.arborfs("search", *store, "zyzzyva", check=False).returncode, 1, "no match")
    wrong = case.arborfs("search", *store, "after:soon", check=False)
    equal(wrong.returncode, 1, "not a date")
    assert b"date" in wrong.stderr, wrong.stderr
    wrong = case.arborfs("search", *store, "agent:opm race", check=False)
    assert wrong.returncode == 1 and b"there are stores of omp" in wrong.stderr, wrong.stderr


def links_in(folder):
    """The sessions that a query's folder links to, in the order of its names, which is the order of rank."""
    names = sorted(name for name in os.listdir(folder) if name not in ("excerpts.md", "hits.json"))
    return [os.path.realpath(folder / name).rsplit("/", 1)[1] for name in names]


def test_folder_of_a_query_says_what_the_command_says(case):
    """The links, excerpts.md and hits.json of search/QUERY/ name the sessions that `arborfs search` finds; the paths in
    both files lead to texts with the words. With and without -o ro."""
    conversations(case)
    stores = copies(case)
    for options in ((), ("ro",)):
        with case.mount(*options, *(f"store={store}" for store in stores[1:])) as mount:
            equal(os.listdir(mount / "search"), [], "no query is listed")
            for query in ("race condition", '"race condition"', "hello", "agent:claude write", "zyzzyva"):
                folder = mount / "search" / query
                expected = found_by_search(case, stores, query)
                equal(set(links_in(folder)), expected, query)
                hits = json.loads((folder / "hits.json").read_text())
                equal([row["path"].rsplit("/", 1)[1] for row in hits], links_in(folder), query)
                text = (folder / "excerpts.md").read_text()
                paths = re.findall(r"^- `([^`]+)`: ", text, re.M)
                equal(len(paths), sum(len(row["hits"]) for row in hits), query)
                for row in hits:
                    for hit in row["hits"]:
                        equal((mount / hit["path"]).read_text(), (folder / row["link"] / "text" /
                                                                  f"{hit['entry']}.md").read_text(), query)
                for path in paths:
                    assert any(word.strip('"') in (folder / path).read_text().lower() for word in query.split()), path
            for name in (".git", "after:soon", '"open'):
                fails_with(errno.ENOENT, os.stat, mount / "search" / name)
            fails_with(errno.EINVAL, os.stat, mount / "search" / "agent:opm race")


def test_folder_of_a_query_follows_the_logs(case):
    """An append is in the folder at once if arborfs wrote it, and within a second if another program did. A reader that
    holds the old excerpts keeps them."""
    session, other = conversations(case)
    for options in ((), ("nonotify",)):
        with case.mount(*options) as mount:
            word = f"afterthought{len(options)}{''.join(options)}"
            folder = mount / "search" / word
            equal(links_in(folder), [], "before")
            with open(folder / "excerpts.md", encoding="utf8") as held:
                session.user(f"an {word}")
                visible_within(1, session.grow, lambda: links_in(folder) == [mount.name_of(session)], "the append")
                assert word in (folder / "excerpts.md").read_text().split("\n", 1)[1]
                assert "No session matches." in held.read()
            (mount.session(other) / "append").write_text(f"own {word}")
            equal(set(links_in(folder)), {mount.name_of(session), mount.name_of(other)}, "own append")
            equal(len(json.loads((folder / "hits.json").read_text())), 2, "own append")
            (mount.session(other) / "append").write_text(f"see src/{word}.ts")
            equal(links_in(mount / "search" / f'"src%2F{word}.ts" after:yesterday'), [mount.name_of(other)], "a slash")
            equal(links_in(mount / "search" / f"src%252F{word}.ts"), [], "a percent sign")


@concurrent
def test_killed_client_of_a_search_exits_at_once(case):
    """A search that has to read a log of 60 GB can be killed, delays no other request, and ends with the mount."""
    good, slow = case.agent.talk(), case.agent.talk(2)
    os.truncate(slow.path, 60_000_000_000)
    mount = case.mount().start()
    try:
        clients = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for command in
                   (["ls", mount / "search/x y"], ["cat", mount / "search/x y/excerpts.md"],
                    ["cat", mount / "search/other/hits.json"])]
        with at_most(0.5, "others beside a search"):
            equal((mount.session(good) / "raw.jsonl").read_bytes(), good.bytes)
            os.stat(mount / "search/third")
        for client in clients:
            assert client.poll() is None, "the search has ended already"
        with at_most(0.5, "killing the clients"):
            for client in clients:
                client.kill()
                client.wait()
    finally:
        with at_most(5, "the daemon's end"):
            mount.unmount()
            mount.wait_gone()


# -- the index


def index_of(case):
    return case.root / "cache" / "arborfs" / "search.db"


def make_old(folder):
    """Logs that were written a moment ago are not indexed yet."""
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, (time.time() - 1000, time.time() - 1000))


def indexed(case):
    """How many sessions are in the index."""
    try:
        with sqlite3.connect(f"file:{index_of(case)}?mode=ro", uri=True) as database:
            return database.execute("SELECT count(*) FROM sessions").fetchone()[0]
    except sqlite3.Error:
        return 0


def build_index(case, mount):
    """The first search starts it."""
    links_in(mount / "search" / "zyzzyva")
    sessions = len(os.listdir(mount / "by-id"))
    eventually(20, lambda: indexed(case) == sessions, "all sessions are indexed")


@needs("rg")
def test_index_changes_no_result(case):
    """With the index, without it, and after the logs changed, both searches find what rg finds."""
    session, _ = conversations(case)
    stores = copies(case)
    make_old(case.root)
    with case.mount("ro", *(f"store={store}" for store in stores[1:])) as mount:
        build_index(case, mount)
        for query, words in QUERIES.items():
            expected = found_by_rg(mount, words)
            equal(set(links_in(mount / "search" / query)), expected, query)
            equal(found_by_search(case, stores, query), expected, query)
        session.user("an afterthought")
        visible_within(1, session.grow, lambda: links_in(mount / "search" / "afterthought") == [mount.name_of(session)], "append")
        equal(found_by_search(case, stores, "afterthought"), {mount.name_of(session)}, "append")
        shutil.rmtree(index_of(case).parent)
        for query, words in list(QUERIES.items())[:5]:
            equal(set(links_in(mount / "search" / f" {query}")), found_by_rg(mount, words), query)
        make_old(case.agent.path)
        build_index(case, mount)


SENTENCE = """the cache Lookup returns a stale entry_17, because parser::reads (twice) per session; rebuild it after
write_test fails on src.core.index: 42 timeouts, so we keep one -> Worker 0x7f3a naive request handler""".split()


def random_store(case, chance):
    """Sessions of frequent words in random order."""
    sessions = []
    for _ in range(40):
        session = case.agent.session()
        for number in range(chance.randint(1, 12)):
            text = " ".join(chance.choices(SENTENCE, k=chance.randint(1, 400)))
            (session.user if number % 2 == 0 else session.assistant)(text)
        session.write()
        sessions.append(session)
    return sessions


def texts_by_session(mount):
    """The texts of each session in lower-case ASCII."""
    texts = {}
    paths = [path for below in ("", "children/*/", "children/*/children/*/")
             for path in (mount / "projects").glob(f"*/*/{below}text/*.md")]
    for path in paths:
        texts.setdefault(path.parent.parent.name, []).append(path.read_bytes().lower())
    return texts


def random_queries(texts, chance, count):
    """Queries and the words that they mean: some words of one text, a part of a line of one, or something random."""
    pool = [text for several in texts.values() for text in several]
    while count > 0:
        text = chance.choice(pool).decode("utf8", "replace")
        words = re.findall(r"[a-z0-9_]+", text)
        line = chance.choice(text.split("\n"))
        begin = chance.randrange(len(line) + 1)
        part = line[begin:begin + chance.randint(1, 30)]
        kind = chance.randrange(5)
        if kind < 2 and words:
            meant = chance.choices(words, k=chance.randint(1, 3))
            query = " ".join(meant)
        elif kind < 4 and part.isascii() and part.isprintable() and not set(part) & set('/"'):
            meant, query = [part], f'"{part}"'
        else:
            meant = ["".join(chance.choices("abcdefghij_ ", k=chance.randint(2, 6))).strip() or "zz"]
            query = f'"{meant[0]}"'
        if any(meant) and len(query) < 200:
            count -= 1
            yield query, [word.encode() for word in meant]


def sessions_with(texts, words):
    return {session for session, all_of in texts.items()
            if all(any(word in text for text in all_of) for word in words)}


def expect_all_found(mount, texts, queries, when):
    found = 0
    for query, words in queries:
        expected = sessions_with(texts, words)
        equal(set(links_in(mount / "search" / query)), expected, f"{when}: {query}")
        found += len(expected) > 0
    assert found > len(queries) / 2, found


def test_all_of_200_random_queries_are_found(case):
    """Words and parts of lines of the texts, of all agents: with the index, while it is made, and after logs changed."""
    chance = random.Random(5)
    sessions = random_store(case, chance)
    stores = copies(case)
    make_old(case.root)
    with case.mount("ro", *(f"store={store}" for store in stores[1:])) as mount:
        texts = texts_by_session(mount)
        queries = list(random_queries(texts, chance, 200))
        expect_all_found(mount, texts, queries[:40], "while the index is made")
        build_index(case, mount)
        expect_all_found(mount, texts, queries, "with the index")
        for session in sessions[:5]:
            session.user(" ".join(chance.choices(SENTENCE, k=50)) + " afterthought")
            session.grow()
        gone = mount.name_of(sessions[5])
        sessions[5].path.unlink()
        eventually(10, lambda: len(links_in(mount / "search" / f"afterthought{' ' * chance.randint(0, 99)}")) == 5,
                   "the appends are found")
        eventually(10, lambda: gone not in texts_by_session(mount), "the removed session is gone")
        expect_all_found(mount, texts_by_session(mount), queries[:100], "after logs changed")


def test_index_is_private_and_made_in_idle_time(case):
    """No other user can read it, a mount that is never searched has none, and its thread yields to all others."""
    conversations(case)
    make_old(case.agent.path)
    with case.mount() as mount:
        assert not index_of(case).exists()
        build_index(case, mount)
        equal(stat.S_IMODE(index_of(case).parent.stat().st_mode), 0o700, "the folder")
        for path in index_of(case).parent.iterdir():
            equal(stat.S_IMODE(path.stat().st_mode), 0o600, path.name)
        tasks = Path(f"/proc/{mount.process.pid}/task")
        policies = [os.sched_getscheduler(int(task.name)) for task in tasks.iterdir()]
        equal(policies.count(os.SCHED_IDLE), 1, "idle threads")


def test_nosearchindex_keeps_nothing(case):
    """-o nosearchindex: searches leave no file in the cache folder."""
    session, _ = conversations(case)
    make_old(case.agent.path)
    with case.mount("nosearchindex") as mount:
        equal(links_in(mount / "search" / "afterthought"), [], "search")
        equal(links_in(mount / "search" / "upload"), [mount.name_of(session)], "search")
    assert not index_of(case).parent.exists()


@needs_root
def test_full_disk_ends_indexing_and_not_the_mount(case):
    """Searches and appends go on as if there were no index."""
    agent = case.agent
    volume = tmpfs(case, size=1 * MIB)
    case.agent = agent
    session, _ = conversations(case)
    make_old(case.agent.path)
    case.environment["XDG_CACHE_HOME"] = str(volume.point)
    with volume.filled(), case.mount() as mount:
        equal(links_in(mount / "search" / "upload"), [mount.name_of(session)], "search")
        idle = Path(f"/proc/{mount.process.pid}/task")
        eventually(10, lambda: all(os.sched_getscheduler(int(task.name)) != os.SCHED_IDLE for task in idle.iterdir()),
                   "indexing has ended")
        equal(links_in(mount / "search" / "uploads"), [], "search")
        shell("echo an afterthought > append", cwd=mount.session(session))
        equal(links_in(mount / "search" / "afterthought"), [mount.name_of(session)], "search")
