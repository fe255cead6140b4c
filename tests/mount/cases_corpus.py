"""The corpus of real and hand-made sessions, read through a mount and compared with the results of the real agents."""

import hashlib
import json
import os
import re
import shutil
import sys
import urllib.parse
from functools import cached_property
from pathlib import Path

from agentdir import ROLES
from mounting import SOURCE_DIR, Skip

CORPUS = SOURCE_DIR / "tests" / "corpus"
NEWER_TYPES = {"title_change", "model_usage", "credential_pin", "reset_boundary"}  # only generation 18 writes these
TIME = "2026-02-16T10-20-30-000Z"

# Cases whose expectation differs from the oracle's, with the reason.
CONTEXT_EXCEPTIONS = {
    "h-blob-corrupt": "a blob with other bytes is served by the agents; here its reference stays (CONTRACT.md 7.7)",
}
ENTRY_EXCEPTIONS = {
    "h-utf16le": "its entries are shown decoded: the bytes of the log are UTF-16",
}

sys.setrecursionlimit(30_000)  # h-deep-nesting


class Sample:
    """One folder of the corpus: its log, and the oracle of each generation."""

    def __init__(self, folder):
        self.folder = folder
        self.name = folder.name
        self.log = (folder / "session.jsonl").read_bytes()
        self.oracles = {generation: _oracle(folder, generation) for generation in (13, 18)}

    @cached_property
    def generation(self):
        """18 for a log with a title slot or with an entry that only 18 writes, else 13 (CONTRACT.md 6.2)."""
        newer = self.oracles[18]
        types = {entry.get("type") for entry in json.loads(newer.get("entries", "[]")) if entry}
        return 18 if json.loads(newer.get("titleSlot", "null")) or types & NEWER_TYPES else 13

    @property
    def oracle(self):
        return self.oracles[self.generation]

    def says(self, key, default="null"):
        """A value of the oracle, parsed."""
        return json.loads(self.oracle.get(key, default))

    @property
    def readable(self):
        """True if the agent of its generation opened it. arborfs also reads the logs on which the agent crashed."""
        return self.says("outcome") == "ok"

    @property
    def migrated(self):
        return self.says("migrated") is True

    @cached_property
    def entries(self):
        return self.says("entries", "[]")

    def place(self, agent):
        """Copies log and blobs into an agent dir."""
        target = agent.sessions / self.name
        target.mkdir()
        (target / f"{TIME}_{self.name}.jsonl").write_bytes(self.log)
        if (self.folder / "blobs").is_dir():
            shutil.copytree(self.folder / "blobs", agent.blobs)


def _oracle(folder, generation):
    """The raw text of each value of an oracle, taken from its lines."""
    text = (folder / f"oracle-{generation}.json").read_text("utf-8")
    lines = text.split("\n")  # not splitlines(): U+2028 does not end a line
    pairs = (re.match(r'\{?"(\w+)":(.*?)[,}]?$', line) for line in lines)
    return {pair[1]: pair[2] for pair in pairs if pair}


def samples():
    found = [Sample(folder.parent) for folder in sorted(CORPUS.glob("*/session.jsonl"))]
    if not found:
        raise Skip("no corpus")
    return found


class Findings:
    """Collects the failures of all samples, so that one run shows all of them."""

    def __init__(self):
        self.wrong = []
        self.checked = 0

    def check(self, sample, function, *arguments):
        self.checked += 1
        try:
            function(sample, *arguments)
        except (AssertionError, OSError, ValueError, LookupError, RecursionError) as error:
            self.wrong.append(f"{sample.name} ({sample.generation}): {type(error).__name__}: {error}")

    def report(self):
        print(f"{self.checked} samples checked")
        assert not self.wrong, f"{len(self.wrong)} of {self.checked} samples:\n" + "\n".join(self.wrong)


def for_each_sample(case, function):
    """Mounts the whole corpus and calls function(sample, folder of the session in the mount) for each sample. Samples
    with blobs get their own agent dir, because some lack blobs that others have."""
    findings = Findings()
    everything = samples()
    plain = [sample for sample in everything if not (sample.folder / "blobs").is_dir()]
    groups = [plain] + [[sample] for sample in everything if sample not in plain]
    for group in groups:
        agent = case.agent_dir()
        for sample in group:
            sample.place(agent)
        with case.mount(agent_dir=agent.path) as mount:
            folders = {sample.name: next((mount / "projects").glob(f"*/{TIME}_{sample.name}")) for sample in group}
            for sample in group:
                findings.check(sample, lambda one: function(one, folders[one.name]))
    findings.report()


def listed_stems(session):
    return sorted(name.removesuffix(".json") for name in os.listdir(session / "entries"))


# -- contexts


def members(text):
    """The top-level members of a JSON object's text as {key: raw text of the value}."""
    decoder, found, place = json.JSONDecoder(), {}, 1
    while text[place] != "}":
        key, place = decoder.raw_decode(text, place)
        _, end = decoder.raw_decode(text, place + 1)
        found[key] = text[place + 1:end]
        place = end + 1 if text[end] == "," else end
    return found


def joined(parts):
    return "{" + ",".join(f"{json.dumps(key)}:{value}" for key, value in parts.items()) + "}"


def context_text(path):
    """The JSON of a context file, which has newlines only between the messages."""
    data = path.read_bytes()
    assert data.endswith(b"\n"), "no newline at the end"
    json.loads(data.decode("utf-8", "surrogatepass"))
    return data.replace(b"\n", b"").decode("utf-8", "surrogatepass")


def as_dated_by_182(text):
    """18.2.3 writes the time of the rewrite in place of the compaction's own time; 18.3 writes both."""
    return re.sub(r'"historyRewriteAt":(\d+),"timestamp":\d+}', r'"timestamp":\1}', text)


def same_context(path, oracle, newer):
    """The text has the oracle's SHA-256. `models` of a generation 13 log follows 18's rule (CONTRACT.md 6.2,
    omp/FORMAT.md C11), so it is compared with `newer` and replaced by 13's value before hashing."""
    text = context_text(path)
    if newer is not None:
        parts = members(text)
        wanted = _models(newer, parts["models"])  # where 18 crashed, any value
        assert parts["models"] == wanted, f"models {parts['models']}, expected {wanted}"
        parts["models"] = _models(oracle)
        text = joined(parts)
    digest = hashlib.sha256(as_dated_by_182(text).encode("utf-8", "surrogatepass")).hexdigest()
    wanted = json.loads(oracle["contextSha256"])
    assert digest == wanted, f"{path.parent.name}/{path.name} is not the agent's context:\n" + _context_difference(
        text, oracle)


def _models(oracle, otherwise=None):
    """The raw text of the context's models, which abridged contexts keep."""
    for key in ("context", "contextAbridged"):
        if key in oracle:
            return members(oracle[key])["models"]
    return members(json.loads(oracle["contextText"]))["models"] if "contextText" in oracle else otherwise


def _context_difference(text, oracle):
    expected = oracle.get("context", "")
    place = next((at for at, (left, right) in enumerate(zip(text, expected)) if left != right),
                 min(len(text), len(expected)))
    around = slice(max(0, place - 80), place + 120)
    return f"    at {place}\n    expected ...{expected[around]}\n    actual   ...{text[around]}"


def check_leaf_context(sample, session):
    path = session / "context.json"
    if sample.name in CONTEXT_EXCEPTIONS:
        return
    if not sample.readable or "contextSha256" not in sample.oracle:
        context_text(path)  # the agent crashed or hung on it; arborfs serves it
        return
    newer = sample.oracles[18] if sample.generation == 13 else None
    same_context(path, sample.oracle, newer)


def test_leaf_contexts_equal_the_agents(case):
    """context.json of every corpus session equals the context that its agent computes, byte for byte except for
    newlines."""
    for_each_sample(case, check_leaf_context)


def check_other_contexts(sample, session):
    if not sample.readable or sample.name in CONTEXT_EXCEPTIONS:
        return
    places = {str(entry.get("id")): place for place, entry in enumerate(sample.entries, 1)}
    newer_at = members(sample.oracles[18].get("contextAt", "{}"))
    for entry_id, said in members(sample.oracle.get("contextAt", "{}")).items():
        path = session / "branches" / str(places.get(entry_id, entry_id)) / "context.json"
        oracle = members(said)
        if "context" not in oracle:  # the agent hangs on it, or it is too long for the oracle
            context_text(path)
            continue
        newer = members(newer_at[entry_id]) if sample.generation == 13 else None
        same_context(path, oracle, newer)


def test_branch_contexts_equal_the_agents(case):
    """branches/<entry>/context.json is the context that the agent computes at that entry."""
    for_each_sample(case, check_other_contexts)


# -- entries


def word_of(value):
    """The word in an entry's name: its role, from the role of a message or the type; "value" if there is none
    (CONTRACT.md 2.2)."""
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return "value"
    message = value.get("message")
    if value["type"] == "message" and isinstance(message, dict) and isinstance(message.get("role"), str):
        return ROLES.get(message["role"], message["role"])
    return ROLES.get(value["type"], value["type"])


def check_stem(stem, ordinal, value, entry_id):
    assert re.fullmatch(r"\d{6,}-[A-Za-z0-9._%~-]+", stem), f"name {stem!r}"
    assert int(stem.split("-")[0]) == ordinal, f"name {stem!r} of entry {ordinal}"
    if len(stem) > 240:
        return  # cut, and ends in a hash
    said = urllib.parse.unquote(stem.split("-", 1)[1], errors="surrogateescape")
    word = word_of(value)
    wanted = f"{word}-{entry_id}" if isinstance(entry_id, str) and entry_id else word
    assert said == wanted or (not isinstance(entry_id, str) and said.startswith(word)), f"{stem!r}, expected {wanted!r}"


def check_entries(sample, session):
    stems = listed_stems(session)
    if sample.readable:
        assert len(stems) == len(sample.entries), f"{len(stems)} entries, the agent has {len(sample.entries)}"
    place = 0
    for ordinal, stem in enumerate(stems, 1):
        data = (session / "entries" / f"{stem}.json").read_bytes()
        assert data.endswith(b"\n"), f"{stem}: no newline at the end"
        value = json.loads(data.decode("utf-8", "replace"))
        if sample.name not in ENTRY_EXCEPTIONS:
            place = sample.log.find(data[:-1], place)
            assert place >= 0, f"{stem}: not the bytes of the log"
            place += len(data) - 1
        said = sample.entries[ordinal - 1] if sample.readable else None
        if said is not None and not sample.migrated and isinstance(value, dict):
            found = (value.get("id"), value.get("type"))
            wanted = (said.get("id"), said.get("type"))
            assert found == wanted, f"{stem}: id and type {found}, the agent has {wanted}"
        entry_id = said.get("id") if said is not None else value.get("id") if isinstance(value, dict) else None
        check_stem(stem, ordinal, value, entry_id)


def test_entries_equal_the_lines_of_the_log(case):
    """entries/ holds the agent's entries in its order, named by ordinal, role and id; each file is the entry's bytes of
    the log and a newline."""
    for_each_sample(case, check_entries)


def check_raw(sample, session):
    data = (session / "raw.jsonl").read_bytes()
    assert data == sample.log, f"{len(data)} bytes, the log has {len(sample.log)}"


def test_raw_jsonl_equals_the_log(case):
    """raw.jsonl equals the log byte for byte."""
    for_each_sample(case, check_raw)


# -- tree


def parent_of(entry, last_with_id):
    """The index of the parent by the agents' rules (omp/FORMAT.md C2, C3); None for a root and an orphan."""
    parent = entry.get("parentId")
    return last_with_id.get(_key(parent)) if parent else None


def _key(entry_id):
    return (type(entry_id) in (int, float), entry_id) if not isinstance(entry_id, (dict, list)) else None


def tips_of(entries):
    """Indices of the entries that no entry names as its parent."""
    last_with_id = {_key(entry["id"]): place for place, entry in enumerate(entries) if "id" in entry}
    parents = {parent_of(entry, last_with_id) for entry in entries}
    return [place for place in range(len(entries)) if place not in parents]


def check_branches(sample, session):
    stems = listed_stems(session)
    listed = os.listdir(session / "branches") if (session / "branches").exists() else []
    found = sorted(int(name.split("-")[0]) for name in listed if name != "current")
    if not stems:
        assert not found, f"branches {listed} without entries"
        assert not os.path.lexists(session / "leaf"), "a leaf without entries"
        return
    leaf = os.readlink(session / "leaf")
    assert leaf == f"entries/{stems[-1]}.json", f"leaf -> {leaf}"
    current = os.readlink(session / "branches" / "current")
    assert int(current.split("-")[0]) == len(stems), f"branches/current -> {current}"
    if not sample.readable:
        return
    tips = {place + 1 for place in tips_of(sample.entries)} | {len(stems)}
    assert set(found) <= tips and len(stems) in found, f"branches {found}, expected some of {tips}"


def test_branches_list_the_tips_and_the_leaf(case):
    """branches/ lists the leaf and only tips: those at which a conversation ends. leaf and branches/current point to
    the last entry."""
    for_each_sample(case, check_branches)


def check_branch_paths(sample, session):
    if not (session / "branches").exists():
        return
    for branch in (session / "branches").iterdir():
        links = sorted(os.listdir(branch / "entries"))
        for name in links:
            target = os.readlink(branch / "entries" / name)
            assert target == f"../../../entries/{name}", f"{branch.name}: {name} -> {target}"
            assert (branch / "entries" / name).exists(), f"{branch.name}: {name} leads nowhere"
        end = branch.name if branch.name != "current" else os.readlink(branch)
        assert any(int(name.split("-")[0]) == int(end.split("-")[0]) for name in links), f"{branch.name} lacks its end"


def test_branches_link_to_the_entries_of_their_path(case):
    """branches/<b>/entries/ holds relative links into entries/, all of which resolve."""
    for_each_sample(case, check_branch_paths)


def shown_label(text):
    """A label as a file name, for labels that need no encoding."""
    return text if isinstance(text, str) else json.dumps(text, separators=(",", ":"))


def check_labels(sample, session):
    if not sample.readable or sample.migrated:
        return
    places = {entry.get("id"): place for place, entry in enumerate(sample.entries, 1)
              if not isinstance(entry.get("id"), (dict, list))}
    wanted = [(text, target) for target, text in sample.says("labels", "{}").items() if target in places]
    listed = sorted(os.listdir(session / "labels")) if (session / "labels").exists() else []
    assert len(listed) == len(wanted), f"labels {listed}, expected {wanted}"
    stems = listed_stems(session)
    targets = sorted(os.readlink(session / "labels" / name) for name in listed)
    assert targets == sorted(f"../entries/{stems[places[target] - 1]}.json" for _, target in wanted), f"-> {targets}"
    for name in listed:
        text = urllib.parse.unquote(name)
        assert any(text == shown_label(label) or text == f"{shown_label(label)}@{target}"
                   for label, target in wanted), f"label {name!r}, expected one of {wanted}"


def test_labels_link_to_their_entries(case):
    """labels/ holds one link for each current label whose target exists."""
    for_each_sample(case, check_labels)


# -- the other files


def check_documents(sample, session):
    header = json.loads((session / "session.json").read_text("utf-8"))
    if sample.readable:
        wanted = json.loads(sample.oracle["header"])
        assert header.get("agent") in ("omp", "pi"), f"agent {header.get('agent')!r}"
        wanted |= {"agent": header["agent"], "format": f"{header['agent']}-jsonl"}
        assert header == wanted, f"session.json {header}, expected {wanted}"
    status = json.loads((session / "status.json").read_text("utf-8"))
    assert isinstance(status, dict)
    json.loads((session / "usage.json").read_text("utf-8"))
    for name in ("transcript.md", "tree.txt"):
        (session / name).read_text("utf-8")


def test_session_documents_are_valid_json_or_utf8(case):
    """session.json is the header with the current title, agent and format; the other documents are valid JSON or UTF-8
    text."""
    for_each_sample(case, check_documents)


def check_title(sample, session):
    if sample.readable:
        wanted = sample.says("sessionName", '""') or ""
        title = (session / "title").read_text("utf-8").removesuffix("\n")
        assert " ".join(title.split()) == " ".join(wanted.split()), f"title {title!r}, expected {wanted!r}"


def test_titles_equal_the_agents(case):
    """title equals the agent's name for the session."""
    for_each_sample(case, check_title)


def check_usage(sample, session):
    if not sample.readable or "usage" not in sample.oracle:
        return
    usage = json.loads((session / "usage.json").read_text("utf-8"))
    wanted = sample.says("usage")
    found = {key: usage.get(key) for key in wanted}
    assert found == wanted, f"usage {usage}, expected {wanted}"


def test_usage_equals_the_agents(case):
    """usage.json holds the same sums as the agent's."""
    for_each_sample(case, check_usage)


def check_texts(_, session):
    stems = listed_stems(session)
    texts = sorted(name.removesuffix(".md") for name in os.listdir(session / "text"))
    assert texts == stems, f"text/ {texts[:5]}..., entries/ {stems[:5]}..."
    for stem in stems:
        text = (session / "text" / f"{stem}.md").read_bytes().decode("utf-8")
        wrong = re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)
        assert not wrong, f"text/{stem}.md has a control character {wrong[0]!r}"


def test_every_entry_has_a_text_without_control_characters(case):
    """text/ has one file for each entry, valid UTF-8, with every control character made visible."""
    for_each_sample(case, check_texts)


CONTROL_FILES = {"append", "branch", "label", "fork"}  # their size says nothing


def check_sizes(_, session):
    for folder, _, files in os.walk(session):
        for name in files:
            path = Path(folder) / name
            if path.is_symlink() or name in CONTROL_FILES:
                continue
            size = path.lstat().st_size
            try:
                data = path.read_bytes()
            except OSError as error:
                assert path.parent.name == "images", f"{path.name}: {error}"
                continue
            assert len(data) == size, f"{path.relative_to(session)}: {len(data)} bytes, st_size says {size}"


def test_sizes_of_all_files_are_exact(case):
    """st_size of every file of every corpus session is the number of bytes read from it."""
    for_each_sample(case, check_sizes)
