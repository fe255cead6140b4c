"""A row: the contestants, which of them are compared, and the targets of their ratios."""
import os
from dataclasses import dataclass, field
from typing import Optional

from bed import Failure, timed

MODES = {"rw": "", "ro": "ro"}


@dataclass
class Comparison:
    measured: str
    against: str
    target: Optional[float] = None  # of the ratio measured / against
    at_least: bool = False          # the target is a minimum, not a maximum

    def holds(self, ratio):
        if self.target is None:
            return None
        return ratio >= self.target if self.at_least else ratio <= self.target

    def target_text(self):
        if self.target is None:
            return ""
        return f"{'≥' if self.at_least else '≤'} {self.target:.3g}"


@dataclass
class Row:
    name: str
    unit: str = "ms"
    contestants: list = field(default_factory=list)  # functions: check -> {name: value}
    comparisons: list = field(default_factory=list)
    commands: dict = field(default_factory=dict)     # name -> the command that was run

    def measure(self, contestant, **commands):
        """Adds a contestant that returns a value for each name; a space in a name is spelled _ here."""
        self.contestants.append(contestant)
        self.commands.update({name.replace("_", " "): command for name, command in commands.items()})

    def plain(self, name, command):
        """Adds a contestant that is one command on plain files."""
        self.commands[name] = command
        self.contestants.append(lambda check: {name: timed(command)})

    def allowance(self, name, value, meaning):
        """Adds a fixed figure to compare with."""
        self.commands[name] = meaning
        self.contestants.append(lambda check: {name: value})

    def compare(self, measured, against, target=None, at_least=False):
        self.comparisons.append(Comparison(measured, against, target, at_least))


def same_lines(got, wanted, what):
    if got != wanted:
        raise Failure(f"{what}: {len(got)} lines differ from {len(wanted)} wanted")


def log_lines(log):
    """The lines after the header, without their line feeds."""
    with open(log, "rb") as file:
        return file.read().splitlines()[1:]


def check_entries(session, log):
    for name, line in zip(sorted(os.listdir(session + "/entries")), log_lines(log), strict=True):
        with open(f"{session}/entries/{name}", "rb") as file:
            if file.read() != line + b"\n":
                raise Failure(f"entries/{name} is not its line of the log")
