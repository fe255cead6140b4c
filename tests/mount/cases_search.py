"""`arborfs search` finds the sessions that `rg -i -F` finds in the mount's text/, for sessions of all agents."""

import json
import re
import shutil
from pathlib import Path

from mounting import equal, needs, run, visible_within

TESTS = Path(__file__).resolve().parent.parent
STORES = {"opal": "opal/sessions", "opencode": "opencode/fresh-1.18.33", "claude": "claude", "codex": "codex/paginated",
          "goat": "goat/nested"}


def copies(case):
    """Options that name a copy of each agent's sample store, beside omp's store of the case."""
    options = [f"omp={case.agent.path}"]
    for agent, sample in STORES.items():
        folder = case.new_path(agent)
        source = TESTS / sample
        shutil.copytree(source.parent if agent == "opal" else source, folder)
        options.append(f"{agent}={folder}")
    return options


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


def found_by_rg(mount, words):
    """The sessions in whose texts each of the words occurs."""
    every = None
    for word in words:
        paths = run("rg", "-l", "-i", "-F", "--no-ignore", "-g", "**/text/*.md", "-e", word, str(mount / "projects"),
                    check=False).stdout.decode()
        sessions = {re.search(r"projects/[^/]*/([^/]*)/text/", path)[1] for path in paths.splitlines()
                    if "/branches/" not in path}
        every = sessions if every is None else every & sessions
    return every


@needs("rg")
def test_search_finds_what_rg_finds_in_the_texts(case):
    """Words, parts of words, several words, phrases, identifiers, and letters of several scripts and cases."""
    conversations(case)
    stores = copies(case)
    queries = {"test": ["test"], "race condition": ["race", "condition"], '"race condition"': ["race condition"],
               "FooBar": ["foobar"], "foo_bar": ["foo_bar"], "a::b": ["a::b"], "straSSe": ["strasse"],
               "STRAßE": ["straße"], "σοφός": ["σοφός"], "日本語": ["日本語"], "écrit": ["écrit"], "KÖLN": ["köln"],
               "hello": ["hello"], "write": ["write"], "greet": ["greet"], "bash": ["bash"], "the a": ["the", "a"],
               "image": ["image"], "zyzzyva": ["zyzzyva"]}
    with case.mount("ro", *(f"store={store}" for store in stores[1:])) as mount:
        hits = 0
        for query, words in queries.items():
            expected = found_by_rg(mount, words)
            equal(found_by_search(case, stores, query), expected, query)
            hits += len(expected)
        assert hits > 25, hits


def test_search_follows_the_logs(case):
    """There is no index that could be out of date: what is appended is found at once."""
    session, _ = conversations(case)
    stores = [f"omp={case.agent.path}"]
    equal(found_by_search(case, stores, "afterthought"), set(), "before")
    session.user("an afterthought")
    visible_within(1, session.grow, lambda: found_by_search(case, stores, "afterthought") == {session.name}, "the append")


def test_search_prints_excerpts_and_fails_without_a_match(case):
    """One line leads to the entry; like grep, the exit status tells whether something matched."""
    session, _ = conversations(case)
    store = ("--agent-dir", str(case.agent.path))
    printed = case.arborfs("search", *store, '"race condition"').stdout.decode()
    assert f"projects/{session.project}/{session.name}" in printed, printed
    assert re.search(r"^  text/000002-assistant-\S+\.md: a race condition in the upload test$", printed, re.M), printed
    equal(case.arborfs("search", *store, "zyzzyva", check=False).returncode, 1, "no match")
    wrong = case.arborfs("search", *store, "after:soon", check=False)
    equal(wrong.returncode, 1, "not a date")
    assert b"date" in wrong.stderr, wrong.stderr
