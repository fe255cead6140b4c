"""What people see at a terminal: its width, colours, the pager, and the editor of a message."""

import contextlib
import fcntl
import os
import pty
import re
import shutil
import struct
import subprocess
import termios
import unicodedata

from mounting import BINARY, SOURCE_DIR, equal

SAMPLES = SOURCE_DIR / "tools" / "samples"
STORES = [word for agent in ("omp", "pi", "claude", "codex", "goat") for word in ("--store", f"{agent}={SAMPLES / agent}")]
SESSION = "019c65b8"
VERBS = (("ls",), ("ls", "--cost", "--size", "--sort=title"), ("show", SESSION), ("tree", SESSION), ("stats",),
         ("stats", "--by", "session"), ("search", "upload"), ("text", SESSION), ("files", SESSION), ("commands", SESSION),
         ("changes", SESSION), ("stores",), ("du",), ("du", "harbor"))
WITHOUT_OPTION = {"stores", "du"}  # that have no --color
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
CAN_WRAP = {"show", "text", "commands", "changes"}  # words of a text, and paths that can be copied


def screen(case, *words, width=80, typed="", with_stores=True, **variables):
    """What a terminal of this width gets from arborfs, and the exit status."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    environment = dict(case.environment, TERM="xterm-256color", PAGER="cat")
    environment.update(variables)
    for name in [name for name, value in environment.items() if value is None]:
        del environment[name]
    command = [BINARY, words[0], *(STORES if with_stores else ()), *words[1:]]
    program = subprocess.Popen([os.fspath(word) for word in command], stdin=follower, stdout=follower, stderr=follower,
                               env=environment, start_new_session=True)
    os.close(follower)
    os.write(leader, typed.encode())
    said = b""
    with contextlib.suppress(OSError):  # EIO: nobody has the terminal open any more
        while piece := os.read(leader, 65536):
            said += piece
    os.close(leader)
    return said.decode().replace("\r\n", "\n"), program.wait(30)


def columns(line):
    """The columns that a line without escapes takes."""
    return sum(0 if unicodedata.category(c) in ("Mn", "Me", "Cf") else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def test_no_line_is_wider_than_the_terminal(case):
    """ls, show, tree, stats, search, text and stores at 40 to 200 columns, in colours and without."""
    for width in (40, 60, 80, 120, 200):
        for words in VERBS:
            for variables in ({}, {"NO_COLOR": "1"}):
                said, status = screen(case, *words, width=width, **variables)
                equal(status, 0, said)
                equal("\x1b" in said, not variables, f"{words} at {width}: {said[:300]!r}")
                plain = ESCAPE.sub("", said)
                assert "\x1b" not in plain, repr(plain[:300])
                lines = plain.split("\n")
                if words[0] not in CAN_WRAP:
                    wide = [line for line in lines if columns(line) > width and not line.startswith("arborfs: ")]
                    equal(wide, [], f"{words} at {width}")
                elif words[0] == "show":
                    wide = [line for line in lines if columns(line) > width and " " in line[11:].strip()]
                    equal(wide, [], f"{words} at {width}")


def test_wide_characters_keep_the_columns(case):
    """Titles and texts in other scripts and with emoji: columns stay aligned, and no line is wider than the terminal."""
    titles = ("日本語のタイトルはとても長い" * 3, "✅ done ⚡ and 🎉", "שָׁלוֹם עֲלֵיכֶם", "ภาษาไทยที่นี่", "cafe\u0301 au lait",
              "👩‍👧 family", "plain")
    for title in titles:
        session = case.agent.session(title=title)
        session.user(f"needle ✅ {title} " * 6)
        session.write()
    store = ("--agent-dir", case.agent.path)
    for width in (40, 60, 80, 120):
        for words in (("ls", *store), ("search", *store, "needle")):
            said, status = screen(case, *words, width=width, with_stores=False, NO_COLOR="1")
            equal(status, 0, said)
            equal([line for line in said.splitlines() if columns(line) > width], [], f"{words} at {width}")
    said, _ = screen(case, "ls", *store, width=120, with_stores=False, NO_COLOR="1")
    ends = {columns(line) for line in said.splitlines()[1:]}
    equal(len(ends), 1, said)


def test_words_of_a_text_are_not_broken(case):
    """On a terminal, text breaks its lines at spaces, outside of code; with the blanks, it is the text of a pipe."""
    whole = case.arborfs("text", *STORES, SESSION, check=True).stdout.decode()
    for width in (40, 60, 80, 120, 200):
        said, status = screen(case, "text", SESSION, width=width, NO_COLOR="1")
        words, all_words = ([word for word in text.split() if word != ">"] for text in (said, whole))
        equal((status, words), (0, all_words), f"at {width}")
        outside = "".join(said.split("```")[::2])
        wide = [line for line in outside.splitlines() if columns(line) > width and " " in line]
        equal(wide, [], f"at {width}")


def test_comments_of_commands_and_changes_fit(case):
    """On a terminal the comments are broken at spaces into comments; what a command or a change has stays as it is."""
    for verb in ("commands", "changes"):
        whole = case.arborfs(verb, *STORES, SESSION, check=True).stdout.decode()
        for width in (60, 80, 120, 200):
            said, status = screen(case, verb, SESSION, width=width, NO_COLOR="1")
            words, all_words = ([word for word in text.split() if word != "#"] for text in (said, whole))
            equal((status, words), (0, all_words), f"{verb} at {width}")
            equal([line for line in said.splitlines() if line.startswith("#") and columns(line) > width], [], f"{verb} at {width}")


def test_colours_can_be_read_on_light_and_dark_backgrounds(case):
    """With 256 colours no verb uses one of the first eight, of which some cannot be read on white, some on black."""
    for words in VERBS:
        for number in re.findall(r"\x1b\[([0-9;]*)m", screen(case, *words)[0]):
            assert number in {"0", "1", "2", "38;5;28", "38;5;31", "38;5;130", "38;5;160", "1;38;5;160"}, (words, number)


def test_colours_are_only_for_terminals_that_have_them(case):
    """No escape in a pipe, on a dumb terminal, with NO_COLOR or --color=never; escapes everywhere with always."""
    for words in VERBS:
        assert b"\x1b" not in case.arborfs(words[0], *STORES, *words[1:]).stdout, words
        for variables in ({"TERM": "dumb"}, {"NO_COLOR": "1"}):
            assert "\x1b" not in screen(case, *words, **variables)[0], (words, variables)
        if words[0] in WITHOUT_OPTION:
            continue
        equal("\x1b" in screen(case, words[0], "--color=never", *words[1:])[0], False, words)
        assert b"\x1b" in case.arborfs(words[0], "--color=always", *STORES, *words[1:]).stdout, words


def test_a_pager_shows_long_output_on_a_terminal(case):
    """$ARBORFS_PAGER before $PAGER before less; none for cat, an empty word and a pipe. Leaving it early is no error."""
    pager = case.new_path("pager")
    pager.write_text(f"#!/bin/sh\necho paged by \"$1\" with $LESS\nhead -n 1\n")
    pager.chmod(0o755)
    for verb in ("text", "tree", "show"):
        said, status = screen(case, verb, SESSION, ARBORFS_PAGER=f"{pager} own", PAGER=f"{pager} other")
        equal((said.split("\n")[0], len(said.strip().split("\n")), status), ("paged by own with FRX", 2, 0), said)
        said, status = screen(case, verb, SESSION, ARBORFS_PAGER="", PAGER=f"{pager} other")
        assert "paged" not in said and len(said.split("\n")) > 3, said
        assert "paged" not in screen(case, verb, SESSION, ARBORFS_PAGER="cat")[0]
        piped = case.arborfs(verb, *STORES, SESSION, check=True)
        assert b"paged" not in piped.stdout
    said, status = screen(case, "text", SESSION, ARBORFS_PAGER="no-such-pager")
    assert "cannot run the pager 'no-such-pager'; set ARBORFS_PAGER to another one, or to cat for none" in said, said
    if shutil.which("less"):
        said, status = screen(case, "text", "733d6541", PAGER=None, typed="q")
        equal(status, 0, said)
        assert "## user" in said, said


def test_an_editor_gives_the_message(case):
    """append without a text opens $EDITOR on the terminal; an empty message sends nothing."""
    session = case.agent.session()
    session.user("first")
    session.write()
    editor = case.new_path("editor")
    editor.write_text("#!/bin/sh\ntest -t 0 && test -t 1 || exit 9\necho typed > \"$1\"\n")
    editor.chmod(0o755)
    words = ("append", "--agent-dir", case.agent.path, session.id)
    said, status = screen(case, *words, with_stores=False, EDITOR=editor)
    equal(status, 0, said)
    assert '"typed"' in session.path.read_text().splitlines()[-1]
    before = session.path.read_bytes()
    said, status = screen(case, *words, with_stores=False, EDITOR="true")
    equal((status, said), (1, "arborfs: the message is empty; nothing was appended\n"))
    equal(session.path.read_bytes(), before)
