"""The HTML pages: complete, linked, and made of nothing that a log can choose."""

import base64
import html
import json
import random
import re
import shutil
import subprocess
from pathlib import Path

from cases_stats import copies
from cases_utf8 import STORES, STRING, TESTS, change_store
from mounting import Skip, equal, needs, variants
from pages import Page, browser, crawl, driven, opened

SAMPLES = ("omp", "pi", "opal", "opencode", "claude", "codex", "goat")
# Each sets `owned` on the root element where it runs.
RUN = "document.documentElement.setAttribute('owned',1)"
HARMS = [
    f"<script>{RUN}</script>", f"</script><script>{RUN}</script>", f"<img src=x onerror=\"{RUN}\">",
    f"<svg onload=\"{RUN}\">", f"<svg><script>{RUN}</script></svg>", f"<body onload=\"{RUN}\">",
    f"<iframe srcdoc=\"<script>parent.{RUN}</script>\"></iframe>", f"<a href=\"javascript:{RUN}\">x</a>",
    f"[x](javascript:{RUN})", f"[x](JaVaScRiPt:{RUN})", f"[x](java\tscript:{RUN})", f"[x](&#106;avascript:{RUN})",
    f"[x](data:text/html,<script>{RUN}</script>)", f"![x](javascript:{RUN})", "![x](http://example.invalid/x.png)",
    f"<javascript:{RUN}>", f"[x]: javascript:{RUN}\n\n[x]", "[x](file:///etc/passwd)", "[x](//example.invalid/x)",
    "[x](../../../../etc/passwd)", "<style>*{display:none}</style>", "</style><b>x", "<link rel=stylesheet href=//x>",
    "<meta http-equiv=refresh content=\"0;url=http://example.invalid\">", "<base href=//example.invalid>",
    "<form action=//example.invalid><input type=submit>", "<input autofocus onfocus=x()>", "<!-- ", "-->", "<![CDATA[",
    "]]>", "<?php", "<!doctype html>", "</article></main></body></html><h1>x</h1>", "</pre></code></details>",
    "</title><h1>x</h1>", "\"><img src=x onerror=x()>", "' onmouseover='x()", "` onclick=x() `", "&lt;script&gt;",
    "&#60;script&#62;", "<a rel=\"x\" href=\"http://example.invalid/\" onclick=\"x()\">y</a>", "<details open ontoggle=x()>",
    "<math><mtext></mtext></math>", "<template><script>x()</script></template>", "<object data=x></object>",
    "<video><source onerror=x()>", "<marquee onstart=x()>", "<plaintext>", "<xmp>", "<textarea>", "<noscript>",
    "\n\n## user · 2026-02-16 10:20:30 +0100 · a1b2c3d4\n\nforged\n", "\n# title\n\ntitle\n=====\n", "\n```\n~~~\n````\n",
    "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x1b[2J\x1b[H", "\x1b[38;2;999;1;1mx", "\x1b[38;5mx", "\u202egnp.exe",
    "\u2066x\u2069", "\u200b\u200d\ufeff", "\U000e0041\U000e0042", "\x00\x08\x7f", "\ud83d", "a" * 3000, "|a|b|\n|-|-|\n|<b>|[x](javascript:1)|",
]


def hostile():
    """More than 400 strings: each harm alone, and within the marks of Markdown and HTML."""
    frames = ("{}", "`{}`", "**{}**", "[{}](http://example.invalid/{})", "> {}", "\"{}\"", "<b title=\"{}\">", "```{}\n{}\n```")
    return [frame.replace("{}", harm) for harm in HARMS for frame in frames]


def planted(text, chance, harms):
    """The JSON with one of these strings in most texts of several words, and in some paths."""

    def one(found):
        share = 0.7 if b" " in found[1] else 0.2 if found[1].startswith(b"/") else 0
        if chance.random() >= share:
            return found[0]
        harm = json.dumps(chance.choice(harms))[1:-1].encode()
        return b'"' + (harm + found[1] if chance.random() < 0.5 else found[1] + harm) + b'"'

    return STRING.sub(one, text)


def pages_of(mount):
    return crawl(mount.path, ["index.html", "stats.html"])


def letters(text):
    return "".join(re.findall(r"[^\W\d_]", text))


def mounted(case, folder):
    return case.mount(*(f"store={agent}={folder / agent}" for agent in SAMPLES if agent != "omp"),
                      agent_dir=folder / "omp")


def test_every_link_of_the_samples_resolves(case):
    """From index.html and stats.html, all pages of all agents are reached, and no link leads nowhere."""
    with mounted(case, copies(case)) as mount:
        pages = pages_of(mount)
        sessions = {path.parent for path in mount.path.glob("projects/*/*/transcript.html")}
        sessions |= {path.parent for path in mount.path.glob("projects/*/*/children/*/transcript.html")}
        assert len(sessions) > 10 and all(folder / "transcript.html" in pages for folder in sessions), sessions
        equal([path for path in pages if path.stat().st_size != len(path.read_bytes())], [], "sizes")


def test_a_transcript_has_every_entry_with_its_text(case):
    """An article for each heading of transcript.md, in its order, with its words; so in branches."""
    heading = re.compile(r"^## (\S+) ", re.M)
    with mounted(case, copies(case)) as mount:
        pages = pages_of(mount)
        count = 0
        for path, page in pages.items():
            if path.name != "transcript.html":
                continue
            markdown = path.with_suffix(".md").read_text()
            own = [article for article in page.articles if article[0].startswith("e")]  # not of a sub-agent
            equal([article[1] for article in own if article[1] != "other"],
                  [role for role in heading.findall(markdown) if role in ("user", "assistant", "tool", "summary", "system")],
                  path)
            equal(len(own), len(re.findall(r"^## ", markdown, re.M)), path)
            said = letters("".join(page.text))
            for text in (path.parent / "text").glob("*-user-*.md"):
                if f"e{int(text.name.split('-')[0])}" in page.ids:
                    for line in text.read_text().splitlines():
                        if not re.search(r"[`*_<>\[\]|#~-]", line):
                            assert letters(line) in said, (text, line)
                            count += 1
        assert count > 30, count


def strings(value):
    """The texts that a model reads in a context: of texts, reasoning, outputs and prompts."""
    if isinstance(value, dict):
        for key, member in value.items():
            if isinstance(member, str):
                if key in ("text", "thinking", "content", "output", "summary", "prompt"):
                    yield member
            else:
                yield from strings(member)
    elif isinstance(value, list):
        for member in value:
            yield from strings(member)


def check_context(path):
    """A page has the texts of the context.json beside it, and no article that is not of that. The number of lines."""
    page, checked = Page(path), 0
    context = json.loads(path.with_suffix(".json").read_text())
    shown = letters(" ".join(article[2] for article in page.articles))
    for text in strings(context):
        for line in text.splitlines():
            if len(line) > 3 and not re.search(r"[`*_<>\[\]|#~&]|^[-\d]", line.strip()):
                assert letters(line) in shown, (path, line)
                checked += 1
    words = letters(json.dumps(context, ensure_ascii=False).replace("\\n", " "))
    for article in page.articles:
        for line in article[2].splitlines()[1:]:
            if re.fullmatch(r"[A-Za-z ,.]{12,}", line) and not line.startswith("output of "):
                assert all(word in words for word in re.findall(r"[A-Za-z]{4,}", line)), (path, line)
    return checked


def test_what_the_model_saw_is_the_context(case):
    """context.html of every entry has the texts of its context.json."""
    with mounted(case, copies(case)) as mount:
        checked = sum(check_context(path) for path in pages_of(mount) if path.name == "context.html")
    assert checked > 500, checked


# Ids, texts and forms of every version of a store.
EVERY_STORE = {**STORES, "claude_more": TESTS / "claude", "codex_paginated": TESTS / "codex" / "paginated",
               "pi_more": TESTS / "pi", "opal_more": TESTS / "opal", "goat_nested": TESTS / "goat" / "nested"}


@variants(**{name: {"name": name} for name in EVERY_STORE})
def test_what_the_model_saw_at_200_entries(case, name):
    """At entries of all sessions of a store, drawn by lot."""
    chance = random.Random(name)
    store = case.new_path(name)
    shutil.copytree(EVERY_STORE[name], store)
    with case.mount("ro", f"store={name.split('_')[0]}={store}") as mount:
        entries = [(path, int(entry.name.split("-")[0])) for path in sorted(mount.path.glob("by-id/*"))
                   if (path / "entries").is_dir() for entry in sorted((path / "entries").iterdir())]
        for folder, number in chance.sample(entries, min(200, len(entries))):
            check_context(folder.resolve() / "branches" / str(number) / "context.html")
        assert entries, name


def headings_by_pandoc(markdown):
    """The levels of the headings of a document that stand in nothing else, and how many do."""
    document = json.loads(subprocess.run(["pandoc", "--from", "gfm", "--to", "json"], input=markdown.encode(),
                                         capture_output=True, check=True).stdout)
    levels = [block["c"][0] for block in document["blocks"] if block["t"] == "Header"]
    return levels, json.dumps(document).count('{"t": "Header"') - len(levels)


def headings_by_cmark(markdown):
    """The same."""
    made = subprocess.run(["cmark-gfm", "--extension", "table", "--to", "xml"], input=markdown.encode(), capture_output=True,
                          check=True).stdout.decode()
    levels = [int(level) for level in re.findall(r'^  <heading level="(\d)">', made, re.M)]
    return levels, made.count("<heading ") - len(levels)


@variants(**{name: {"name": name} for name in EVERY_STORE})
@needs("pandoc", "cmark-gfm")
def test_headings_are_the_turns(case, name):
    """In transcript.md and an export as Markdown of each session, as pandoc and cmark-gfm read them: one heading for each
    entry of the page, and no other."""
    agent = name.split("_")[0]
    store = case.new_path(name)
    shutil.copytree(EVERY_STORE[name], store)
    count = 0
    with case.mount("ro", f"store={agent}={store}") as mount:
        for link in sorted(mount.path.glob("by-id/*")):
            if not (link / "transcript.md").exists():
                continue
            turns = sum(article[0].startswith("e") for article in Page(link.resolve() / "transcript.html").articles)
            for text in ((link / "transcript.md").read_text(), exported(case, ["--store", f"{agent}={store}"], link.name, "--markdown")):
                for headings in (headings_by_pandoc, headings_by_cmark):
                    equal(headings(text), ([2] * turns, 0), (link.name, headings.__name__))
            count += turns
    assert count > 0, name


@variants(**{name: {"name": name} for name in STORES})
def test_hostile_strings_make_no_element(case, name):
    """More than 400 strings in the texts, names and ids of every format: pages have only elements of arborfs, with its
    attributes, its scripts and its links; each article has one heading that counts; a browser runs nothing."""
    agent = name.split("_", 1)[0]
    strings_in = hostile()
    assert len(set(strings_in)) > 400, len(set(strings_in))
    store = case.new_path(agent)
    shutil.copytree(STORES[name], store)
    chance = random.Random(name)
    change_store(store, lambda text: planted(text, chance, strings_in))
    with case.mount(f"store={agent}={store}") as mount:
        pages = pages_of(mount)
        transcripts = [page for path, page in pages.items() if path.name == "transcript.html"]
        assert transcripts, list(pages)
        for page in transcripts:
            tags = [tag for tag, _ in page.elements]
            equal((tags.count("h1"), tags.count("h2")), (1, len(page.articles)), page.path)
        if browser():
            largest = sorted(transcripts, key=lambda page: -len(page.articles))[:2]
            for page in [*largest, pages[mount.path / "index.html"]]:
                dom, said = opened(case.new_path("browser"), page.path)
                assert "owned=" not in re.sub(r"<(script|pre|code|p|div|span|li|td|a|b)[^>]*>[^<]*", "", dom), page.path
                assert "has-script" in dom, said[-2000:]
                assert "Refused" not in said and "CONSOLE" not in said, said[-3000:]


def test_a_browser_opens_every_kind_of_page_in_silence(case):
    """Chromium opens a page of each kind and agent: no error at the console, nothing refused, code in colours."""
    if not browser():
        raise Skip("no browser is installed")
    with mounted(case, copies(case)) as mount:
        shown = [mount.path / "index.html", mount.path / "stats.html"]
        by_agent = {}
        for path in sorted(mount.path.glob("by-agent/*/*/transcript.html")):
            by_agent[path.parts[-3]] = path.resolve()
        equal(set(by_agent), set(SAMPLES))
        shown += by_agent.values()
        shown += [path.with_name("context.html") for path in by_agent.values()]
        for path in shown:
            dom, said = opened(case.new_path("browser"), path)
            assert "has-script" in dom, (path, said[-2000:])
            assert "CONSOLE" not in said and "Refused" not in said, (path, said[-3000:])


@needs("chromedriver")
def test_the_keyboard_finds_folds_and_goes_on(case):
    """j and k go from entry to entry, / finds and hides the rest, Escape shows all again, f folds; without the mouse."""
    with mounted(case, copies(case)) as mount, driven(case.new_path("browser")) as page:
        path = next(mount.path.glob("by-id/019c65b8*")).resolve() / "transcript.html"
        page.open(path)
        page.press("jj")
        second = page.run("document.activeElement.id")
        page.press("j")
        third = page.run("document.activeElement.id")
        ids = [article[0] for article in Page(path).articles]
        equal(ids.index(third), ids.index(second) + 1)
        page.press("k")
        equal(page.run("document.activeElement.id"), second)
        page.press("/goroutine")
        equal(page.run("document.activeElement.id"), "find")
        shown = "[...document.querySelectorAll('article')].filter(e => e.offsetParent).length"
        while page.run(shown) == len(ids):
            pass  # the search begins when typing pauses
        assert 0 < page.run(shown) < len(ids)
        page.press("\ue00c")  # Escape
        equal(page.run(shown), len(ids))
        folds = "document.querySelectorAll('main .fold.open').length"
        opened_now = page.run(folds)
        page.press("f")
        while page.run(folds) == opened_now:
            pass  # a long page is folded in slices
        near = "document.querySelector('.sum[role=button]')"
        opened_now = page.run(f"{near}.parentElement.className")
        page.run(f"{near}.focus()")
        page.press("\ue007")  # Enter
        assert page.run(f"{near}.parentElement.className") != opened_now
        equal(page.run(f"{near}.ariaExpanded"), str("open" not in opened_now).lower())
        equal(page.run("getComputedStyle(document.querySelector('article .tools')).display !== 'none'"), True)
        page.run("document.getElementById('show-tools').click()")
        equal(page.run("getComputedStyle(document.querySelector('article .tools')).display"), "none")


def bytes_of(path):
    """The content of a file; None if it cannot be read, as an image whose blob is missing."""
    try:
        return path.read_bytes()
    except OSError:
        return None


def exported(case, stores, *words):
    return case.arborfs("export", *stores, *words).stdout.decode()


def test_an_export_is_one_file(case):
    """As a page it needs nothing else: no link leads out of it but to the web, images are inside, all branches and
    sub-agents too if they are wanted; as Markdown, JSON and ATIF it is what the mount shows."""
    samples = copies(case)
    stores = [word for agent in SAMPLES for word in ("--store", f"{agent}={samples / agent}")]
    file = case.new_path("page.html")
    with mounted(case, samples) as mount:
        for link in mount.path.glob("by-id/*"):
            session = link.resolve()
            case.arborfs("export", *stores, link.name, "--all-branches", "--with-children", "-o", file)
            page = Page(file)
            page.check()
            for address in page.links:
                assert address.startswith(("#", "http://", "https://", "mailto:", "data:image/")), (link, address[:100])
                assert address[0] != "#" or address[1:] in page.ids, (link, address)
            shown = {article[0] for article in page.articles}
            wanted = {article[0] for path in session.glob("branches/*/transcript.html") for article in Page(path).articles}
            assert wanted <= shown, (link, wanted - shown)
            children = list(session.glob("children/*/transcript.html"))
            equal(sum(name.startswith("s") for name in shown), sum(len(Page(path).articles) for path in children), link)
            assert len(page.images) >= len(set(filter(None, map(bytes_of, session.glob("images/*"))))), link
            transcript = (session / "transcript.md").read_text()
            equal(exported(case, stores, link.name, "--markdown"), re.sub(r"(?m)^!\[image \d+\]\(images/.*\n\n", "", transcript))
            equal(json.loads(exported(case, stores, link.name, "--atif")),
                  json.loads((session / "trajectory.json").read_text()))
            document = json.loads(exported(case, stores, link.name, "--json", "--all-branches"))
            equal(document["session"], json.loads((session / "session.json").read_text()))
            equal(document["entries"], [json.loads(entry.read_text()) for entry in sorted(session.glob("entries/*"))])


def test_a_failed_export_leaves_the_file_as_it_was(case):
    """Where no file can be written, and of a session that is not there: a sentence, and nothing else."""
    samples = copies(case)
    file = case.new_path("page.html")
    file.write_text("before")
    done = case.arborfs("export", "--store", f"omp={samples / 'omp'}", "nothing", "-o", file, check=False)
    equal((done.returncode, file.read_text()), (1, "before"))
    done = case.arborfs("export", "--store", f"omp={samples / 'omp'}", "019c65b8", "-o", "/proc/page.html", check=False)
    equal(done.returncode, 1)
    assert b"/proc" in done.stderr or b"permitted" in done.stderr or b"No such" in done.stderr, done.stderr
    equal([path.name for path in file.parent.iterdir() if path.name.startswith(".") and "page" in path.name], [])


def test_open_takes_the_page_of_a_mount_else_makes_one(case):
    """With a mount that shows the session, the path of its page there; else a page in the user's cache, which nobody
    else reads; xdg-open gets that path. Without a session, index.html of a mount."""
    samples = copies(case)
    store = ["--store", f"omp={samples / 'omp'}"]
    programs = case.new_path("programs")
    programs.mkdir()
    (programs / "xdg-open").write_text(f'#!/bin/sh\necho "opened $1" > {programs}/opened\n')
    (programs / "xdg-open").chmod(0o755)
    environment = {"PATH": f"{programs}:{case.environment['PATH']}", "DISPLAY": ":0",
                   "XDG_CACHE_HOME": str(case.new_path("cache"))}
    case.environment.update(environment)
    path = case.arborfs("open", *store, "019c65b8").stdout.decode().strip()
    assert path.startswith(environment["XDG_CACHE_HOME"]), path
    equal(subprocess.run(["stat", "-c", "%a", path], capture_output=True, check=True).stdout, b"600\n")
    Page(path).check()
    equal((programs / "opened").read_text(), f"opened {path}\n")
    with case.mount(agent_dir=samples / "omp") as mount:
        path = case.arborfs("open", *store, "019c65b8").stdout.decode().strip()
        assert path.startswith(str(mount.path / "projects")) and path.endswith("/transcript.html"), path
        equal((programs / "opened").read_text(), f"opened {path}\n")
        assert case.arborfs("open").stdout.decode().strip().endswith("/index.html")


def secrets(chance):
    """Keys and passwords of many kinds, made now, and how they stand in a text."""
    def some(alphabet, length):
        return "".join(chance.choice(alphabet) for _ in range(length))

    letters_and_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
    words = letters_and_digits[:52]
    made = [("gh" + "p_" + some(letters_and_digits, 36), "{}"), ("sk-" + "ant-api03-" + some(letters_and_digits + "-_", 93) + "AA", "{}"),
            ("AK" + "IA" + some("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16), "aws {}"),
            ("xox" + "b-" + some("0123456789", 12) + "-" + some("0123456789", 12) + "-" + some(letters_and_digits, 24), "{}"),
            ("sk_" + "live_" + some(letters_and_digits, 24), "{}"), ("glp" + "at-" + some(letters_and_digits, 20), "{}"),
            (some(letters_and_digits, 20), "DB_PASSWORD={}"), (some(letters_and_digits, 18), "postgres://app:{}@db.internal/x"),
            (some(letters_and_digits, 40), "Authorization: Bearer {}"), (some(words, 9).lower() + "@" + some(words, 7).lower() + ".io", "write to {}")]
    return [(secret, frame.format(secret)) for secret, frame in made]


# The texts of opal_dets keep their lengths, so that no secret fits into them.
@variants(**{name: {"name": name} for name in STORES if name != "opal_dets"})
def test_a_redacted_export_has_no_secret(case, name):
    """Secrets in the texts of every format are in no byte of a redacted page, transcript, document or trajectory."""
    agent = name.split("_", 1)[0]
    chance = random.Random(f"secrets {name}")
    store = case.new_path(agent)
    shutil.copytree(STORES[name], store)
    known = secrets(chance)
    change_store(store, lambda text: planted(text, chance, [f" {said} " for _, said in known]))
    listed = json.loads(case.arborfs("ls", "--json", "-c", "--store", f"{agent}={store}").stdout)
    found = taken = 0
    for session in filter(None, (one["session"] for one in listed)):
        for form in ("--html", "--markdown", "--json", "--atif"):
            words = ["export", "--store", f"{agent}={store}", session, form]
            plain = case.arborfs(*words).stdout.decode("utf8", "replace")
            done = case.arborfs(*words, "--redact", "--yes")
            for text in {done.stdout.decode("utf8", "replace"), html.unescape(done.stdout.decode("utf8", "replace"))}:
                left = [secret for secret, _ in known if secret in text]
                assert not left, (session, form, left)
            found += any(secret in plain for secret, _ in known)
            taken += b"[redacted:" in done.stdout
    assert found > 0 and taken >= found, (found, taken)


def test_a_long_redacted_page_knows_what_shows_itself_later(case):
    """Of a page above a MiB: a token without a name, before the record that names it; a token across the end of what
    a title shows; the data of an image in the records."""
    chance = random.Random("long")
    token = "".join(chance.choice("ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789") for _ in range(24))
    github = "gh" + "p_" + "".join(chance.choice("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789") for _ in range(36))
    session = case.agent.session("/srv/shop", title="x" * 175 + " " + github)
    for number in range(40):
        session.user("many words " * 4000)
        session.assistant(f"as {token} says, {number}")
    session.image(base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8).decode())
    session.user(f"export API_TOKEN={token}")
    session.write()
    store = ["--agent-dir", case.agent.path]
    page = case.arborfs("export", *store, "latest", "--redact", "--yes").stdout.decode()
    assert len(page) > 1 << 20 and token not in page and "[redacted:" in page, len(page)
    assert not any(github[at:at + 12] in page for at in range(len(github) - 12)), "a part of the token in the title"
    for form in ("--json", "--markdown"):
        said = case.arborfs("export", *store, "latest", "--redact", "--yes", form).stdout.decode()
        assert token not in said and github not in said and "iVBORw0KGgo" not in said, form


def test_a_page_of_a_branch_stays_what_it_was(case):
    """Within a generation, whatever is appended and however the session is called; its tokens are those of its path."""
    session = case.agent.talk(6)
    with case.mount() as mount:
        folder = mount.path / "projects" / session.project
        pages = [next(folder.glob("*/branches")) / "3" / name for name in ("transcript.html", "context.html")]
        before = [page.read_bytes() for page in pages]
        next(folder.glob("*/title")).write_text("Another title, which is longer than before\n")
        next(folder.glob("*/append")).write_text("more\n")
        for number in range(4, 7):
            (pages[0].parent.parent / str(number) / "transcript.html").read_bytes()
        equal([page.read_bytes() for page in pages], before)
        equal([page.stat().st_size for page in pages], [len(text) for text in before])


def test_a_long_page_is_the_same_wherever_its_parts_are(case):
    """Above a MiB, parts of a page are in a scratch file; where there can be none, they are made again. The sizes are
    exact, and a browser lays out no more than eight entries at once."""
    session = case.agent.session("/srv/shop")
    for number in range(400):
        session.user(f"question {number} " + "many words " * 200)
        session.assistant(f"**answer** {number} " + "more words " * 200)
    session.write()
    made = []
    for folder in (str(case.new_path("scratch")), "/proc"):
        case.environment["TMPDIR"] = folder
        if folder != "/proc":
            Path(folder).mkdir()
        with case.mount() as mount:
            pages = [next(mount.path.glob(f"projects/*/*/{name}")) for name in ("transcript.html", "context.html")]
            made.append([page.read_bytes() for page in pages])
            equal([page.stat().st_size for page in pages], [len(text) for text in made[-1]])
            backwards = b""
            with open(pages[0], "rb") as file:
                for offset in reversed(range(0, len(made[-1][0]), 100_000)):
                    file.seek(offset)
                    backwards = file.read(100_000) + backwards
            equal(backwards, made[-1][0])
            page = Page(pages[0])
            page.check()
    equal(made[1], made[0])
    assert min(map(len, made[0])) > 1 << 20, list(map(len, made[0]))
    most = max(section.count("<article") for section in made[0][0].decode().split('<section class="part"'))
    equal(most, 8)
    assert b"<details" not in made[0][0]


def test_the_page_of_all_sessions_shows_each_change(case):
    """A new session, a title and a tag are in index.html at the next look."""
    session = case.agent.talk(2)
    with case.mount() as mount:
        index = mount.path / "index.html"
        folder = next((mount.path / "projects" / session.project).glob("*/title")).parent
        for change, word in ((lambda: (folder / "title").write_text("Heron\n"), "Heron"),
                             (lambda: (folder / "tags").write_text("+kite\n"), "kite"),
                             (lambda: (folder / "title").write_text("Egret\n"), "Egret")):
            assert word not in index.read_text()
            change()
            assert word in index.read_text(), word
        equal(index.stat().st_size, len(index.read_bytes()))


def test_redaction_is_shown_and_agreed_to_first(case):
    """Without a terminal and without --yes, nothing is written; a rule of the user's own counts at once, and one that is
    wrong stops the export."""
    samples = copies(case)
    file = case.new_path("page.html")
    words = ["export", "--store", f"omp={samples / 'omp'}", "019c65b8", "--redact", "-o", file]
    done = case.arborfs(*words, check=False)
    equal(done.returncode, 1)
    assert b"--yes" in done.stderr and not file.exists(), done.stderr
    config = case.new_path("config")
    (config / "arborfs").mkdir(parents=True)
    case.environment["XDG_CONFIG_HOME"] = str(config)
    own = config / "arborfs" / "redact.tsv"
    own.write_text("name\tkeywords\tpattern\nflaky\tTestUpload\tTestUploadResumes\n")
    done = case.arborfs(*words, "--yes")
    assert b"flaky" in done.stderr and "TestUploadResumes" not in file.read_text() and "[redacted:flaky#1]" in file.read_text()
    file.unlink()
    own.write_text("name\tkeywords\tpattern\nflaky\tTestUpload\t(\n")
    done = case.arborfs(*words, "--yes", check=False)
    equal((done.returncode, file.exists()), (1, False))
    assert b"redact.tsv" in done.stderr, done.stderr
