"""The HTML pages in a browser: as they looked before, for everybody, with the keyboard alone, and without scripts."""

import base64
import os
import re
import urllib.parse
from contextlib import contextmanager
from pathlib import Path

import pictures
from cases_pages import SAMPLES, bytes_of, mounted
from cases_stats import copies
from mounting import SANITIZED, SOURCE_DIR, Skip, equal, needs, run, variants
from pages import Page, driven

PICTURES = SOURCE_DIR / "tests" / "pictures"
AXE = (SOURCE_DIR / "tests" / "third_party" / "axe-core" / "axe.min.js").read_text()
WIDTHS = (360, 800, 1400)
THEMES = ("light", "dark")
HIGH = 3000  # pixels of a page that are compared
SCALE = 0.06
MOST_DIFFERENT = 3  # pictures.difference: what another version of the browser may draw in another way
AGENTS = variants(**{name: {"agent": name} for name in SAMPLES}, all={"agent": ""})


@contextmanager
def shown(case, agent):
    """A browser, a mount, and the pages of an agent's samples: of each session, of those that it started, and of its
    first branch. Without an agent, those at the root."""
    if SANITIZED:
        raise Skip("the pages are the same in every build")
    with mounted(case, copies(case)) as mount, driven(case.new_path("browser")) as page:
        if not agent:
            yield page, mount, [mount / "index.html", mount / "stats.html"]
            return
        folders = [path.resolve() for path in sorted(mount.path.glob(f"by-agent/{agent}/*")) if path.is_symlink()]
        folders += [child for folder in folders for child in sorted(folder.glob("children/*"))]
        folders = sorted(set(folders))
        folders += [next(path for path in sorted((folder / "branches").iterdir()) if path.name != "current")
                    for folder in folders]
        yield page, mount, [folder / name for folder in folders for name in ("transcript.html", "context.html")]


def settled(page):
    """A page that is drawn whole: all of it near the window, its code in colours, its images there."""
    page.run("document.querySelectorAll('.part, .parts').forEach(part => { part.style.contentVisibility = 'visible'; })")
    page.wait("(() => { const head = [...document.querySelectorAll('article > header')]"
              ".find(one => !one.querySelector('.copy')); if (head) head.scrollIntoView(); return !head; })()")
    page.run("scrollTo(0, 0)")
    page.wait("[...document.images].every(image => image.complete)")


def unfold(page):
    page.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    page.run("document.querySelectorAll('.fold:not(.open) > .sum').forEach(one => one.click())")


def picture_of(page, width, theme):
    """The page that is open, reduced."""
    page.look(width, HIGH, theme)
    settled(page)
    high = int(page.run("Math.min(document.body.getBoundingClientRect().height, %d)" % HIGH))
    taken = page.tell("Page.captureScreenshot", captureBeyondViewport=True,
                      clip={"x": 0, "y": 0, "width": width, "height": high, "scale": SCALE})
    return pictures.coarse(pictures.read(base64.b64decode(taken["data"])))


def parts_of(sheet, widths):
    """The pictures that pictures.beside put together."""
    parts, at = [], 0
    for width in widths:
        parts.append([row[at * 3:(at + width) * 3] for row in sheet])
        at += width + 1
    return parts


def font_of(case, family):
    """The font that programs take for a family."""
    return run("fc-match", "-f", "%{family[0]}", family, env=case.environment).stdout.decode()


@AGENTS
@needs("chromedriver", "fc-match")
def test_pages_look_as_before(case, agent):
    """Each page of the samples, light and dark, at 360, 800 and 1,400 pixels, beside its picture in tests/pictures; and
    none is wider than the window. With ARBORFS_RECORD_PICTURES=1, the pictures are made anew: look at them."""
    name = agent or "all"
    with shown(case, agent) as (page, _, paths):
        fonts = [font_of(case, family) for family in ("system-ui", "monospace")]
        if fonts != ["DejaVu Sans", "DejaVu Sans Mono"]:
            raise Skip(f"the pictures have the fonts DejaVu Sans and DejaVu Sans Mono, not {fonts}")
        for theme in THEMES:
            made = []
            for width in WIDTHS:
                for path in paths:
                    page.look(width, HIGH, theme)
                    page.open(path)
                    made.append((f"{path} at {width}", picture_of(page, width, theme)))
                    wide = page.run("document.documentElement.scrollWidth")
                    assert wide <= width, (path, wide, width)
            file = PICTURES / f"{name}-{theme}.png"
            if os.environ.get("ARBORFS_RECORD_PICTURES"):
                PICTURES.mkdir(exist_ok=True)
                file.write_bytes(pictures.write(pictures.beside([rows for _, rows in made])))
                continue
            widths = [len(rows[0]) // 3 for _, rows in made]
            before = parts_of(pictures.read(file.read_bytes()), widths)
            for (what, rows), other in zip(made, before):
                grey = bytes([128])
                high = max(at for at, row in enumerate(other) if row.strip(grey)) + 1
                different = pictures.difference(rows, other[:high])
                assert different <= MOST_DIFFERENT, (f"{what}, {theme}, differs from {file.name} by {different:.1f}; "
                                                     "ARBORFS_RECORD_PICTURES=1 records how it looks now")


def is_of_missing_image(said):
    """True if the browser says that it could not load an image, and nobody can: its blob is gone."""
    found = re.match(r"file://(\S+/images/\S+) - Failed to load resource", said)
    return bool(found) and bytes_of(Path(urllib.parse.unquote(found[1]))) is None


@AGENTS
@needs("chromedriver")
def test_pages_are_for_everybody(case, agent):
    """axe-core finds nothing in a page, light and wide, dark and narrow, with all that is folded open; the console says
    nothing, and nothing is asked for but the page and its images."""
    with shown(case, agent) as (page, mount, paths):
        page.open(paths[0])
        page.requests()  # those of the browser's own first page
        for path in paths:
            for width, theme in ((1400, "light"), (360, "dark")):
                page.look(width, 900, theme)
                page.open(path)
                settled(page)
                unfold(page)
                page.run(f"(() => {{ {AXE} }})()")
                found = page.after("axe.run().then(all => done(all.violations.map("
                                   "one => [one.id, one.nodes.map(node => node.html.slice(0, 200))])))")
                equal(found, [], f"{path}, {theme}")
            equal([said for said in page.complaints() if not is_of_missing_image(said)], [], path)
            for address in page.requests():
                assert address.startswith(f"file://{mount.path.resolve()}/"), (path, address)


FOCUSABLE = "a[href], button, input, select, summary, [tabindex]"


@AGENTS
@needs("chromedriver")
def test_the_keyboard_reaches_everything(case, agent):
    """Tab goes to every link, button, box, list, fold and block of code of a page in its order, and each shows that it
    is there; what scrolls has one of these or can be focused itself."""
    with shown(case, agent) as (page, _, paths):
        page.look(360, 900)
        path = max(paths, key=lambda one: one.stat().st_size)
        page.open(path)
        settled(page)
        unfold(page)
        all_of = f"[...document.querySelectorAll('{FOCUSABLE}')].filter(one => one.checkVisibility())"
        page.run(f"{all_of}.forEach((one, at) => {{ one.dataset.at = at; }})")
        count = page.run(f"{all_of}.length")
        reached = []
        for _ in range(count):
            page.press("\ue004")  # Tab
            reached.append(page.run("Number(document.activeElement.dataset.at)"))
            assert page.run("getComputedStyle(document.activeElement).outlineStyle !== 'none' || "
                            "document.activeElement.matches('input[type=checkbox], select')"), (path, reached[-1])
        equal(reached, list(range(count)), path)
        scrolled = ("[...document.querySelectorAll('main *')].filter(one => one.checkVisibility() && "
                    "/auto|scroll/.test(getComputedStyle(one).overflow + getComputedStyle(one).overflowX) && "
                    "(one.scrollHeight > one.clientHeight || one.scrollWidth > one.clientWidth) && "
                    f"!one.matches('[tabindex]') && !one.querySelector('{FOCUSABLE}')).map(one => one.outerHTML)")
        equal(page.run(scrolled), [], path)


@AGENTS
@needs("chromedriver")
def test_pages_need_no_scripts(case, agent):
    """Without them, a page shows all of its text, its links, folds and boxes work; what needs scripts is not there."""
    with shown(case, agent) as (page, _, paths):
        page.tell("Emulation.setScriptExecutionDisabled", value=True)
        page.look(800, 900)
        for path in paths:
            page.open(path)
            static = Page(path)
            equal(page.run("document.documentElement.className"), "", path)
            idle = "[...document.querySelectorAll('.needs-script')].filter(one => one.checkVisibility()).length"
            equal(page.run(idle), 0, path)
            equal(page.run("document.querySelectorAll('article').length"), len(static.articles), path)
            equal(page.run("[...document.querySelectorAll('a[href]')].filter(one => !one.checkVisibility() && "
                           "!one.closest('details:not([open])')).length"), 0, path)
            unfold(page)
            hidden = ("[...document.querySelectorAll('body *')].filter(one => !one.checkVisibility() && "
                      "one.textContent.trim() && !one.closest('.needs-script, script, svg')).map(one => one.outerHTML)")
            equal(page.run(hidden), [], path)
        tools = "[...document.querySelectorAll('.tools')].filter(one => one.checkVisibility()).length"
        talk = [path for path in paths if path.name == "transcript.html" and 'class="tools' in path.read_text()]
        if agent:
            page.open(talk[0])
            assert page.run(tools) > 0, talk[0]
            page.click("#show-tools")
            equal(page.run(tools), 0, talk[0])
            page.click("article a[href$='context.html']")
            page.wait("location.pathname.endsWith('context.html')")
        else:
            page.click("td a")
            page.wait("location.pathname.endsWith('transcript.html')")


@needs("chromedriver")
def test_the_index_is_filtered_and_a_page_is_searched(case):
    """By project, agent, tag and day, and by words, together; words in an address are found and marked in a page, where
    a sub-agent that has them is unfolded; the list of prompts and n and p go from prompt to prompt."""
    with mounted(case, copies(case)) as mount, driven(case.new_path("browser")) as page:
        session = next(mount.path.glob("by-id/019c65b8*")).resolve()
        (session / "tags").write_text("flaky\n")
        page.open(mount / "index.html")
        rows = "[...document.querySelectorAll('tr[data-item]')].filter(one => one.checkVisibility())"
        total = page.run(f"{rows}.length")

        def choose(of, value):
            page.run(f"document.querySelector('select[data-of={of}]').value = {value!r}")
            page.run(f"document.querySelector('select[data-of={of}]').dispatchEvent(new Event('change'))")

        def shown_rows(wanted):
            page.wait(f"{rows}.length === {wanted}")

        equal(page.run("[...document.querySelector('select[data-of=agent]').options].map(one => one.value)"),
              ["", *sorted(SAMPLES)])
        choose("agent", "goat")
        shown_rows(2)
        choose("day", "2026-02-12")
        shown_rows(1)
        page.press("/tide\ue00c")  # finds, and Escape shows all again
        shown_rows(total)
        choose("tags", "flaky")
        shown_rows(1)
        choose("tags", "")
        choose("project", session.parent.name)
        shown_rows(len([path for path in session.parent.iterdir() if path.is_dir() and path.name[0] == "2"]))
        claude = next(path.parent for path in mount.path.glob("projects/*/*/children") if "uploads" in str(path))
        page.open(claude / "transcript.html", "find=push.go")
        page.wait("CSS.highlights.get('found') && CSS.highlights.get('found').size > 0")
        equal(page.run("document.querySelector('details.started').open"), True)
        equal(page.run("document.getElementById('find').value"), "push.go")
        page.open(session / "transcript.html")
        prompts = [article[0] for article in Page(session / "transcript.html").articles if article[1] == "user"]
        equal(page.run("[...document.querySelectorAll('.outline a')].map(one => one.hash.slice(1))"), prompts)
        page.press("n")
        first = page.run("document.activeElement.id")
        page.press("np")
        equal((first, page.run("document.activeElement.id")), (prompts[0], prompts[0]))
