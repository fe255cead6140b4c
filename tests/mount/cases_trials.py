"""Stores as people have them are shown as they should be, by the command line and in a mount (tests/trials)."""

import base64
import json
import re
import shlex
import shutil
from pathlib import Path

from mounting import equal, run, variants

TRIALS = Path(__file__).resolve().parent.parent / "trials"


def member(value, path):
    """The member of a JSON value at a dotted path; None if there is none."""
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def row_of(rows, prefix):
    """The row of the session whose id begins so; None if there is none."""
    return next((row for row in rows if row.get("session", "").startswith(prefix)), None)


def has_members(value, wanted, what):
    for path, expected in wanted.items():
        equal(member(value, path), expected, f"{what}: {path}")


def check_text(text, check, what):
    for words in check.get("texts", ()):
        assert words in text, f"{what}: {words!r} is not in {text!r}"
    at = 0
    for words in check.get("order", ()):
        found = text.find(words, at)
        assert found >= 0, f"{what}: {words!r} is not in {text[at:]!r}"
        at = found + len(words)
    for pattern in check.get("match", ()):
        assert re.search(pattern, text), f"{what}: nothing matches {pattern!r} in {text!r}"
    for pattern in check.get("not", ()):
        assert not re.search(pattern, text), f"{what}: {pattern!r} matches in {text!r}"


def check_count(count, check, what):
    if "count" in check:
        allowed = check["count"] if isinstance(check["count"], list) else [check["count"]]
        assert count in allowed, f"{what}: {count} instead of {allowed}"


def check_rows(rows, check, what):
    for prefix, wanted in check.get("rows", {}).items():
        row = row_of(rows, prefix)
        if wanted is None:
            equal(row, None, f"{what}: {prefix}")
        else:
            assert row is not None, f"{what}: no {prefix} in {rows}"
            has_members(row, wanted, f"{what}: {prefix}")
    for key, total in check.get("sum", {}).items():
        equal(sum(row.get(key) or 0 for row in rows), total, f"{what}: sum of {key}")
    if "ids" in check:
        equal(sorted(row["session"] for row in rows), sorted(check["ids"]), what)
    if "distinct" in check:
        values = [row[check["distinct"]] for row in rows]
        equal(len(set(values)), len(values), f"{what}: different values of {check['distinct']}")


def check_value(value, check, what):
    """Examines a JSON value."""
    value = member(value, check["at"]) if "at" in check else value
    if isinstance(value, list):
        rows = [row for row in value if all(row.get(key) == wanted for key, wanted in check.get("where", {}).items())]
        check_rows(rows, check, what)
        check_count(len(rows), check, what)
        value = rows
    if "equals" in check:
        equal(value, check["equals"], what)
    has_members(value, check.get("has", {}), what)
    if isinstance(value, str):
        check_text(value, check, what)
    else:  # one line for each element
        check_text("\n".join(json.dumps(part, ensure_ascii=False) for part in value) if isinstance(value, list) else str(value),
                   check, what)


class Trial:
    """A copy of a trial's store."""

    def __init__(self, case, name):
        self.case = case
        self.folder = case.new_path("trial")
        shutil.copytree(TRIALS / name, self.folder)
        self.description = json.loads((self.folder / "check.json").read_text())

    def stores(self, check):
        """AGENT=FOLDER of a check."""
        named = check.get("store", self.description["store"])
        for store in [named] if isinstance(named, str) else named:
            agent, _, folder = store.partition("=")
            yield agent, self.folder / folder

    def check(self, check):
        if "any" in check:
            self.check_alternatives(check)
        elif "sh" in check:
            run("sh", "-ec", check["sh"], cwd=self.folder)
        elif "run" in check:
            for agent, folder in self.stores(check):
                self.check_command(check, agent, folder)
        else:
            for agent, folder in self.stores(check):
                with self.case.mount(f"store={agent}={folder}", own_stores=True) as mount:
                    self.check_mount(check, mount.path, agent)

    def check_alternatives(self, check):
        failures = []
        for alternative in check["any"]:
            try:
                for part in alternative:
                    self.check({"store": check.get("store", self.description["store"]), **part})
                return
            except AssertionError as failure:
                failures.append(str(failure))
        raise AssertionError("\n  ".join([check["say"], *failures]))

    def check_command(self, check, agent, folder):
        is_plain = check.get("plain", False)
        what = f"arborfs {check['run']} ({agent})"
        done = self.case.arborfs(*shlex.split(check["run"]), *([] if is_plain else ["--json"]), "--store", f"{agent}={folder}",
                                 check=False, cwd=self.folder)
        output, message = done.stdout.decode(), done.stderr.decode()
        if "exit" in check:
            equal(done.returncode, check["exit"], f"{what}: exit status, after {output!r} and {message!r}")
        if check.get("quiet"):
            equal(message, "", what)
        if is_plain:
            check_text(output, check, what)
            check_count(len(output.splitlines()), check, what)
        else:
            assert output, f"{what}: no output, but {message!r}"
            check_value(json.loads(output), check, what)

    def check_mount(self, check, mount, agent):
        if "list" in check:
            what = f"{check['list']} ({agent})"
            folders = list(mount.glob(check["list"]))
            assert folders, f"{what}: there is none"
            names = [path.name for folder in folders for path in folder.iterdir()]
            check_text("\n".join(names), check, what)
            return check_count(len(names), check, what)
        patterns = [check["file"]] if isinstance(check["file"], str) else check["file"]
        files = [path for pattern in patterns for path in sorted(mount.glob(pattern)) if path.is_file()]
        what = f"{check['file']} ({agent})"
        assert files, f"{what}: there is none"
        content = b"".join(path.read_bytes() for path in files)
        if "base64" in check:
            return equal(content, base64.b64decode(check["base64"]), what)
        text = content.decode(errors="replace")  # a pattern may match images too
        check_text(text, check, what)
        check_count(len(text.splitlines()), check, what)
        if "has" in check or "equals" in check:
            has_members(json.loads(text), check.get("has", {}), what)


@variants(**{path.parent.name.replace("-", "_"): {"name": path.parent.name} for path in sorted(TRIALS.glob("*/check.json"))})
def test_store(case, name):
    """Every check of the trial holds."""
    trial = Trial(case, name)
    failures = []
    for check in trial.description["checks"]:
        try:
            trial.check(check)
        except AssertionError as failure:
            failures.append(str(failure))
    assert not failures, "\n".join([f"{len(failures)} checks fail:", *failures])
