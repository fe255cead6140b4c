"""Reads the HTML pages of a mount: their elements, links and texts, and what a browser makes of them."""

import base64
import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import urllib.parse
import urllib.request
from html.parser import HTMLParser
from pathlib import Path

from mounting import eventually

VOID = {"meta", "link", "br", "hr", "img", "input"}
# All that a page may have, with the attributes of each. class, id and aria-label may stand everywhere.
ELEMENTS = {
    "html": {"lang"}, "head": set(), "meta": {"charset", "http-equiv", "content", "name"}, "title": set(),
    "style": set(), "script": set(), "body": set(), "a": {"href", "rel", "title"}, "header": set(), "footer": set(),
    "main": set(), "nav": set(), "section": {"data-group"}, "article": {"data-item"}, "h1": set(), "h2": set(),
    "h3": set(), "h4": set(), "h5": set(), "h6": set(), "p": set(), "dl": set(), "dt": set(), "dd": set(),
    "div": {"role"}, "span": set(), "ul": set(), "ol": {"start"}, "li": set(), "time": {"datetime"}, "b": set(),
    "i": set(), "em": set(), "strong": set(), "del": set(), "ins": set(), "code": set(), "pre": {"tabindex"},
    "blockquote": set(), "br": set(), "hr": set(), "details": {"open"}, "summary": set(), "label": set(),
    "input": {"type", "checked", "placeholder"}, "select": {"data-of"}, "option": {"value"},
    "output": set(), "button": {"type"}, "img": {"src", "alt", "loading"},
    "table": {"tabindex"}, "thead": set(), "tbody": set(), "tr": {"data-item"}, "th": {"align"}, "td": {"align"},
    "figure": set(), "figcaption": set(), "svg": {"role", "viewbox", "preserveaspectratio"},
    "rect": {"x", "y", "width", "height"},
}
EVERYWHERE = {"class", "id", "aria-label", "data-item"}
IMAGE = re.compile(r"data:image/(png|jpeg|gif|webp|bmp|avif|svg\+xml);base64,[A-Za-z0-9+/=]*$")
ADDRESS = re.compile(r"(https?://|mailto:)", re.I)


class Page(HTMLParser):
    """One page. `elements`: (name, attributes); `links`: of href and src; `ids`; `articles`: (id, class, text)."""

    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        self.path = Path(path)
        self.elements, self.links, self.ids, self.articles = [], [], [], []
        self.scripts, self.policy, self.text, self._open = [], "", [], []
        self.images = set()  # that are in the page itself
        self.feed(self.path.read_text(encoding="utf-8"))
        self.close()

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        assert len(attributes) == len(attrs), f"{self.path}: an attribute twice in {tag}: {attrs}"
        self.elements.append((tag, attributes))
        self.links += [attributes[name] for name in ("href", "src") if name in attributes]
        if tag == "img" and IMAGE.match(attributes["src"]):
            self.images.add(attributes["src"])
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if attributes.get("http-equiv") == "Content-Security-Policy":
            self.policy = attributes["content"]
        if tag == "article":
            self.articles.append([attributes.get("id", ""), attributes.get("class", ""), ""])
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open and self._open.pop() == tag, f"{self.path}: </{tag}> closes no element"

    def handle_data(self, data):
        if self._open and self._open[-1] in ("script", "style"):
            self.scripts.append((self._open[-1], data))
        else:
            self.text.append(data)
            if "article" in self._open:
                self.articles[-1][2] += data

    def check(self):
        """Only elements and attributes that arborfs makes, scripts and styles of the policy, links that are safe."""
        assert not self._open, f"{self.path}: {self._open} are not closed"
        for tag, attributes in self.elements:
            assert tag in ELEMENTS, f"{self.path}: <{tag}>"
            extra = set(attributes) - ELEMENTS[tag] - EVERYWHERE
            assert not extra, f"{self.path}: <{tag} {extra}>"
        assert len(self.ids) == len(set(self.ids)), f"{self.path}: an id twice"
        for kind, source in self.scripts:
            digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in self.policy, f"{self.path}: a {kind} that the policy does not name"
        for link in self.links:
            split = urllib.parse.urlsplit(link)
            assert not split.scheme or ADDRESS.match(link) or link in self.images, f"{self.path}: {link[:200]}"
            assert split.scheme or not split.netloc, f"{self.path}: {link}"
        assert "default-src 'none'" in self.policy and "unsafe" not in self.policy, self.policy


def crawl(root, first):
    """All pages of a mount that can be reached from `first` by links, each checked; every link must lead somewhere."""
    pages, todo = {}, []

    def page(path):
        if path not in pages:
            pages[path] = Page(path)
            pages[path].check()
            todo.append(path)
        return pages[path]

    for name in first:
        page(Path(root, name))
    while todo:
        at = pages[todo.pop()]
        for link in at.links:
            split = urllib.parse.urlsplit(link)
            if split.scheme:
                continue
            path = Path(os.path.normpath(at.path.parent / urllib.parse.unquote(split.path))) if split.path else at.path
            assert path.exists(), f"{at.path}: {link} leads nowhere"
            if path.suffix == ".html":
                ids = page(path).ids
                assert not split.fragment or split.fragment in ids, f"{at.path}: {link} has no target"
    return pages


def browser():
    """The path of Chromium; None where it is not installed."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def opened(folder, page):
    """What a browser makes of a page: its elements as text once the scripts have run, and what it printed."""
    done = subprocess.run(
        [browser(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", f"--user-data-dir={folder}",
         "--enable-logging=stderr", "--virtual-time-budget=3000", "--dump-dom", f"file://{urllib.parse.quote(str(page))}"],
        capture_output=True, timeout=120, check=True)
    return done.stdout.decode(), done.stderr.decode()


class Driven:
    """A page in a browser that is driven from outside (WebDriver)."""

    def __init__(self, base, session):
        self._base, self._session = base, session

    def _call(self, method, path, body=None):
        request = urllib.request.Request(f"{self._base}/session/{self._session}{path}", method=method,
                                         data=None if body is None else json.dumps(body).encode(),
                                         headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)["value"]

    def open(self, page, fragment=""):
        self._call("POST", "/url", {"url": f"file://{urllib.parse.quote(str(page))}" + (fragment and "#" + fragment)})

    def click(self, selector):
        """Clicks on the first element that a selector finds."""
        found = self._call("POST", "/element", {"using": "css selector", "value": selector})
        self._call("POST", f"/element/{next(iter(found.values()))}/click", {})

    def run(self, script):
        """The value of a JavaScript expression."""
        return self._call("POST", "/execute/sync", {"script": f"return {script}", "args": []})

    def wait(self, script):
        """Until the value of an expression is true."""
        eventually(20, lambda: self.run(script), script)

    def after(self, script):
        """What a script passes to `done`."""
        return self._call("POST", "/execute/async", {"script": f"const done = arguments[0]; {script}", "args": []})

    def tell(self, command, **parameters):
        """A command of the Chrome DevTools Protocol."""
        return self._call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def look(self, width, height, theme="light"):
        """The size of the window, and whether the user prefers light or dark pages."""
        self.tell("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.tell("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])

    def complaints(self):
        """What the console said since the last call."""
        return [entry["message"] for entry in self._call("POST", "/se/log", {"type": "browser"})]

    def requests(self):
        """The addresses that pages asked for since the last call."""
        told = (json.loads(entry["message"])["message"] for entry in self._call("POST", "/se/log", {"type": "performance"}))
        return [one["params"]["request"]["url"] for one in told if one["method"] == "Network.requestWillBeSent"]

    def press(self, keys):
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self._call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def close(self):
        self._call("DELETE", "")


@contextlib.contextmanager
def driven(folder):
    """A browser window of 1000 by 900 pixels for an own profile."""
    server = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        port = next(found[1] for line in server.stdout if (found := re.search(r"successfully on port (\d+)", line)))
        base = f"http://127.0.0.1:{port}"
        wanted = {"browserName": "chrome", "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
                  "goog:chromeOptions": {
            "binary": browser(), "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                                          "--window-size=1000,900", f"--user-data-dir={folder}"]}}
        request = urllib.request.Request(f"{base}/session", headers={"Content-Type": "application/json"},
                                         data=json.dumps({"capabilities": {"alwaysMatch": wanted}}).encode())
        with urllib.request.urlopen(request, timeout=120) as answer:
            page = Driven(base, json.load(answer)["value"]["sessionId"])
        try:
            yield page
        finally:
            page.close()
    finally:
        server.kill()
        server.wait()
