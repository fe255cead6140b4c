"""Control files in editors: what a user types next to the text that the editor has read is never sent along with it."""

import os
import shutil
from pathlib import Path

from mounting import equal, needs, run, shell, variants
from writing import added, one_session, reason, texts

SAMPLES = Path(__file__).resolve().parent.parent
# What a user types into each control file.
TYPED = {"append": "fix the bug", "branch": "#1", "label": "#1 mark", "fork": "#1", "summary": "what I did",
         "replace": '{"first":"#1","messages":[]}', "checkpoint": "before a.txt", "rewind": "before"}
STORES = {"goat": "goat/nested", "opal": "opal", "opencode": "opencode/files", "claude": "claude", "codex": "codex/paginated"}


def by_ex(path, place, typed):
    """vim, as ex: types a text before the first or after the last line, and saves with `:wq`."""
    script = {"above": f"0a\n{typed}\n.\nwq!\n", "below": f"$a\n{typed}\n.\nwq!\n",
              "beside": f"1s/^/{typed.replace('/', '.')}/\nwq!\n", "nothing": "wq!\n",
              "instead": f"1,$c\n{typed}\n.\nwq!\n"}[place]
    return run("ex", "-s", "-n", "-u", "NONE", "-i", "NONE", path, input=script.encode(), stdin=None, check=False)


def by_ed(path, place, typed):
    script = {"above": f"0a\n{typed}\n.\nw\nq\nq\n", "below": f"$a\n{typed}\n.\nw\nq\nq\n",
              "beside": f"1s|^|{typed}|\nw\nq\nq\n", "nothing": "w\nq\nq\n",
              "instead": f"1,$c\n{typed}\n.\nw\nq\nq\n"}[place]
    return run("ed", "-s", path, input=script.encode(), stdin=None, check=False)


def edited(text, place, typed):
    return {"above": f"{typed}\n{text}", "below": f"{text}{typed}\n", "beside": typed + text, "nothing": text,
            "instead": typed + "\n"}[place]


def in_place(path, place, typed):
    """Truncates the file and writes it, as nano does."""
    text = edited(Path(path).read_text(), place, typed)
    return run("python3", "-c", "import sys\nwith open(sys.argv[2], 'w') as file:\n  file.write(sys.argv[1])\n", text,
               path, check=False)


def line_by_line(path, place, typed):
    """Each line in a write of its own, until one fails."""
    text = edited(Path(path).read_text(), place, typed)
    return run("python3", "-c", "import os, sys\nfd = os.open(sys.argv[2], os.O_WRONLY | os.O_TRUNC)\n"
               "for line in sys.argv[1].splitlines(True):\n  os.write(fd, line.encode())\nos.close(fd)\n", text, path,
               check=False)


def by_rename(path, place, typed):
    """A temporary beside the file, renamed to it, as Emacs and others do."""
    text = edited(Path(path).read_text(), place, typed)
    return run("bash", "-c", 'printf %s "$1" > "$2.tmp" && mv "$2.tmp" "$2"', "bash", text, path, check=False)


def by_backup(path, place, typed):
    """The file becomes a backup, and a new one is written."""
    text = edited(Path(path).read_text(), place, typed)
    return run("bash", "-c", 'mv "$2" "$2~" && printf %s "$1" > "$2"', "bash", text, path, check=False)


EDITORS = {"ex": by_ex, "ed": by_ed, "in_place": in_place, "line_by_line": line_by_line, "by_rename": by_rename,
           "by_backup": by_backup}


def files_of(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@variants(**{name: {"edit": edit} for name, edit in EDITORS.items()})
@needs("ex", "ed")
def test_usage_text_is_never_sent_by_an_editor(case, edit):
    """Wherever a user types in the usage text of a control file, saving fails, and the log stays as it is."""
    with one_session(case) as (session, folder, mount):
        for name in ("append", "branches/current/append", "label", "fork", "new"):
            path = mount / "new" if name == "new" else folder / name
            typed = "/srv/q" if name == "new" else TYPED[path.name]
            for place in ("above", "below", "beside", "nothing"):
                if edit is line_by_line and place == "above" and name in ("label", "fork", "new"):
                    continue  # the first line is a command of its own
                done = edit(path, place, typed)
                assert done.returncode != 0 or done.stdout or done.stderr, f"{name}, {place}: no error was shown"
                equal(session.path.read_bytes(), session.bytes, f"{name}, {place}: the log")
                equal(os.listdir(session.path.parent), [session.path.name], f"{name}, {place}: names in the store")
        if edit not in (by_rename, by_backup):
            assert "usage text" in reason(folder), reason(folder)


@variants(**{name: {"agent": name, "sample": sample} for name, sample in STORES.items()})
@needs("ex", "ed")
def test_usage_text_of_other_agents_is_never_sent(case, agent, sample):
    """The same for every control file of a session of every agent."""
    store = case.new_path(agent)
    shutil.copytree(SAMPLES / sample, store)
    before = files_of(store)
    with case.mount(f"store={agent}={store}") as mount:
        folder = sorted(path for path in (mount / "by-agent" / agent).iterdir() if (path / "fork").exists())[0].resolve()
        controls = [folder / name for name in TYPED if (folder / name).exists()]
        assert folder / "fork" in controls, controls
        for path in controls:
            if path.name == "branch":
                continue  # its content is the leaf
            for edit in (by_ex, by_ed, in_place):
                for place in ("above", "below", "beside", "nothing"):
                    edit(path, place, TYPED[path.name])
                    equal(files_of(store), before, f"{path.name}, {edit.__name__}, {place}: the store")


@variants(ex={"edit": by_ex}, ed={"edit": by_ed}, in_place={"edit": in_place})
@needs("ex", "ed")
def test_text_instead_of_the_usage_text_is_sent(case, edit):
    """A text that replaces the usage text is one message, as from any program; lines that begin with # belong to it."""
    with one_session(case) as (session, folder, _):
        done = edit(folder / "append", "instead", "# Plan: fix the bug")
        equal((done.returncode, texts(session)), (0, ["# Plan: fix the bug"]), done.stderr)


def test_each_line_of_a_usage_text_is_a_comment(case):
    """The lines cannot be mistaken for a message or for the lines of a template that a program takes out again."""
    with one_session(case) as (_, folder, mount):
        for path in (folder / "append", folder / "label", folder / "fork", mount / "new"):
            lines = path.read_text().splitlines()
            assert len(lines) > 2 and all(line.startswith("# ") and len(line) > 20 for line in lines), lines


def test_a_part_of_the_usage_text_is_refused(case):
    """Also far behind the beginning of a long text that arrives in pieces, inside write(2)."""
    with one_session(case) as (session, folder, _):
        last = (folder / "append").read_text().splitlines()[-1]
        descriptor = os.open(folder / "append", os.O_WRONLY)
        try:
            os.write(descriptor, b"a long prompt\n" * 10_000)
            cut = len(last) // 2
            os.write(descriptor, last[:cut].encode())
            failed = None
            try:
                os.write(descriptor, last[cut:].encode() + b"\n")
            except OSError as error:
                failed = error.strerror
            equal(failed, "Invalid argument")
        finally:
            os.close(descriptor)
        equal(added(session), [])


@variants(ex={"edit": by_ex}, ed={"edit": by_ed}, in_place={"edit": in_place})
@needs("ex", "ed")
def test_leaf_that_branch_showed_is_no_summary(case, edit):
    """An entry typed above the leaf that a read of `branch` returned does not make the leaf's id a summary."""
    with one_session(case) as (session, folder, _):
        edit(folder / "branch", "above", session.entries[0]["id"])
        equal(added(session), [])
        equal((folder / "branch").read_text(), session.leaf + "\n", "the leaf")
        edit(folder / "branch", "instead", session.entries[0]["id"])
        equal((folder / "branch").read_text(), session.entries[0]["id"] + "\n", "the leaf")


def test_a_title_edited_in_place_is_one_title(case):
    """`title` is a text that an editor may change."""
    session = case.agent.session(title="Old")
    session.talk(2)
    session.write()
    with case.mount() as mount:
        title = mount.session(session) / "title"
        run("ex", "-s", "-n", "-u", "NONE", "-i", "NONE", title, input=b"1s/Old/New name/\nwq\n", stdin=None)
        equal(title.read_text(), "New name\n")
        shell("printf '1c\\nNewer\\n.\\nw\\nq\\n' | ed -s title", cwd=title.parent)
        equal(title.read_text(), "Newer\n")
