"""Opal: lines without times in the order of a hash table, a failed command, and a branch with a summary."""

from .story import day, dump, hex_id


class Session:
    def __init__(self, name, title):
        self.name, self.title = name, title
        self.current, self.messages = None, []

    def add(self, role, content, parent="", **fields):
        """Appends a message, by default below the last one. Returns its id."""
        message_id = hex_id(f"opal {self.name} {len(self.messages)}", 16)
        self.messages.append({"content": content, "id": message_id, "is_error": False, **fields, "role": role,
                              "parent_id": self.current if parent == "" else parent})
        self.current = message_id
        return message_id

    def call(self, say, tool, arguments, result, is_error=False, **fields):
        call_id = f"call_{len(self.messages):02d}"
        self.add("assistant", say, tool_calls=[{"arguments": arguments, "call_id": call_id, "name": tool}], **fields)
        return self.add("tool_result", result, call_id=call_id, is_error=is_error)

    def save(self, store, moment):
        session_id = hex_id(f"opal {self.name}", 32)
        header = {"current_id": self.current, "metadata": {"title": self.title}, "session_id": session_id}
        in_hash_order = sorted(self.messages, key=lambda message: hex_id(message["id"], 8))
        content = "".join(dump(dict(sorted(line.items()))) + "\n" for line in [header, *in_hash_order])
        store.write(f"sessions/{session_id}.jsonl", content.encode(), moment)


def write(store):
    """Fills a data folder of Opal."""
    session = Session("umlauts", "Umlauts in the list of notes")
    session.add("user", "Sort the notes by title. \"Ähre\" comes last, but it should come after \"Aal\".")
    session.call("I will look at how they are sorted.", "read_file", {"path": "lib/notes/list.ex"},
                 "defmodule Notes.List do\n  def sorted(notes), do: Enum.sort_by(notes, & &1.title)\nend\n",
                 thinking="Enum.sort_by compares code points, and Ä is U+00C4.")
    asked = session.call(None, "shell", {"command": "mix test test/list_test.exs"},
                         "** (CompileError) test/list_test.exs:7: undefined function collate/1\n", is_error=True)
    session.add("assistant", "I will sort by the title without its accents.")
    session.add("user", "And what about ß?")
    session.add("assistant", "It becomes ss, as in the phone book.")
    session.add("user", "[Branch context] The following is a summary of a branch that was explored and returned "
                "from:\n\n<branch-summary>\nSorting by titles without accents; ß as ss.\n</branch-summary>\n\n"
                "This exploration was abandoned. Consider what was learned when proceeding.", parent=asked,
                metadata={"from_leaf": session.current, "type": "branch_summary"})
    session.add("user", "Is there a library that knows the rules of the language?")
    session.add("assistant", "Yes: `ex_cldr_collation`. With it \"Ähre\" comes after \"Aal\", and ß after s.")
    session.save(store, day(-2))
