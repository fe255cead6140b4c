"""The HTML pages: complete, linked, and made of nothing that a log can choose."""

import json
import random
import re
import shutil

from cases_stats import copies
from cases_utf8 import STORES, STRING, change_store
from mounting import Skip, equal, variants
from pages import browser, crawl, opened

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
            equal([article[1] for article in page.articles if article[1] != "other"],
                  [role for role in heading.findall(markdown) if role in ("user", "assistant", "tool", "summary", "system")],
                  path)
            equal(len(page.articles), len(re.findall(r"^## ", markdown, re.M)), path)
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


def test_what_the_model_saw_is_the_context(case):
    """context.html of every entry has the texts of its context.json, and no article that is not of that."""
    checked = 0
    with mounted(case, copies(case)) as mount:
        for path, page in pages_of(mount).items():
            if path.name != "context.html":
                continue
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
    assert checked > 500, checked


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
