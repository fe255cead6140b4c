"""`arborfs tail` prints the last line of each session that changes, without a mount."""

import json
import os
import signal

from mounting import BINARY, equal, eventually


def follow(case, *words):
    """Starts the verb. Returns the process and a function that reads the objects printed so far."""
    log = case.new_path("lines")
    process = case.spawn([BINARY, "tail", "--json", "--agent-dir", case.agent.path, *words], log)
    return process, lambda: [json.loads(line) for line in log.read_text().splitlines()]


def test_tail_all_names_each_session_that_changes(case):
    """A session that grows and one that begins make a line each, until the verb is interrupted."""
    old = case.agent.talk(title="Old")
    process, lines = follow(case, "--all")

    def begun():
        """Writes until the verb watches: nothing tells when it does."""
        old.assistant("first words\n\n```\nlast words\n```\n\n")
        old.grow()
        return lines()

    eventually(10, begun, "the first line")
    equal({key: lines()[0][key] for key in ("session", "agent", "title", "text")},
          {"session": old.id, "agent": "omp", "title": "Old", "text": "last words"})
    new = case.agent.session(cwd="/srv/other")
    new.user("begun later")
    new.write()
    eventually(10, lambda: any(line["session"] == new.id and line["text"] == "begun later" for line in lines()),
               "the new session")
    process.send_signal(signal.SIGINT)
    equal(process.wait(10), -signal.SIGINT, "the end of the verb")


def test_tail_of_a_session_leaves_out_the_others(case):
    """The last line of the session is printed at once; changes of other sessions print nothing."""
    one, other = case.agent.talk(), case.agent.talk()
    _, lines = follow(case, one.id)
    eventually(10, lines, "the last line")
    other.user("elsewhere")
    other.grow()

    def said():
        one.user("here")
        one.grow()
        return lines()[-1]["text"] == "here"

    eventually(10, said, "the change")
    equal({line["session"] for line in lines()}, {one.id})


def test_tail_prints_a_text_once(case):
    """A change of a session that says nothing new, such as a label or a touch, prints no line."""
    one, other = case.agent.talk(), case.agent.talk()
    _, lines = follow(case, "--all")

    def said(session, text):
        """Says it until the verb, which begins to watch some time, has printed it."""
        session.user(text)
        session.grow()
        return any(line["text"] == text for line in lines())

    eventually(10, lambda: said(one, "begun"), "the first line")
    one.user("first")
    one.grow()
    eventually(10, lambda: any(line["text"] == "first" for line in lines()), "the first text")
    eventually(10, lambda: said(other, "elsewhere"), "the other session")
    before = lines()
    for text in ("a", "b", "c"):
        os.utime(one.path)
        eventually(10, lambda text=text: said(other, text), "the other session")
    equal({line["session"] for line in lines()[len(before):]}, {other.id})
