"""pi 1.5: a picture in the log, a failed command, a label, a title, and a question that was asked again on a branch."""

import base64

from .entries import EntryLog, thinking
from .story import KITE, dump, iso, png, uuid7


class Log(EntryLog):
    def __init__(self, name, cwd, day):
        super().__init__(name, cwd, day)
        self.began, self.id = self.moment, uuid7(name, self.moment)
        self.head = {"type": "session", "version": 3, "id": self.id, "timestamp": iso(self.began), "cwd": cwd}

    def save(self, store):
        inside = self.cwd.strip("/").replace("/", "-")
        stem = iso(self.began).replace(":", "-").replace(".", "-") + "_" + self.id
        lines = [dump(self.head).encode()] + self.lines
        store.write(f"sessions/--{inside}--/{stem}.jsonl", b"".join(line + b"\n" for line in lines), self.began)


def write(store):
    """Fills an agent dir of pi."""
    log = Log("bridle", KITE, -1)
    log.add("model_change", provider="anthropic", modelId="claude-sonnet-4-5")
    log.add("thinking_level_change", thinkingLevel="low")
    log.message("user", [{"type": "text", "text": "The pull at five bridle points, the lowest first. Why is p2 weak?"},
                         {"type": "image", "mimeType": "image/png",
                          "data": base64.b64encode(png(120, 48, (30, 12, 28, 26, 24))).decode()}])
    log.call("bash", {"command": "python3 bridle.py --points 5"},
             "Traceback (most recent call last):\n  File \"bridle.py\", line 31, in <module>\nKeyError: 'p2'\n",
             "I will run the model with the same points.", is_error=True)
    log.call("read", {"path": "bridle.py"}, "POINTS = {\"p1\": 0.0, \"p3\": 0.42, \"p4\": 0.61, \"p5\": 0.80}\n")
    found = log.assistant(thinking("p2 is missing in the table, so its pull is what the spar alone gives."),
                          "`p2` is not in the table `POINTS`. The second bar is only the pull of the spar.")
    log.label(found, "cause")
    log.user("Guess its place from the neighbours.")
    log.assistant("Half way between `p1` and `p3`, at 0.21. That is a guess: the drawing may say something else.")
    log.add("branch_summary", parent=found, fromId=found, summary="Guessed p2 at 0.21, half way from p1 to p3.")
    log.user("Do not guess, the drawing says 0.18. Put it in and run the model again.")
    log.call("edit", {"path": "bridle.py", "oldText": "\"p3\"", "newText": "\"p2\": 0.18, \"p3\""}, "Edited bridle.py")
    log.call("bash", {"command": "python3 bridle.py --points 5"}, "30 29 28 26 24\n")
    log.assistant("With `p2` at 0.18 the pull falls evenly from 30 to 24 N.")
    log.add("session_info", name="The weak bridle point")
    log.save(store)
