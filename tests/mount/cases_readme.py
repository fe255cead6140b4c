"""The walkthroughs of README and of docs/TASKS.md through the sample sessions: each command prints the promised
output."""

import contextlib
import json
import os
import re

from agents import running
from mounting import BINARY, Mount, SOURCE_DIR, equal, run

PROMPT = "$ "
SAMPLES = SOURCE_DIR / "tools" / "samples"
AGENTS = ("omp", "pi", "opal", "opencode", "claude", "codex", "goat")


def section_of_readme(title):
    text = (SOURCE_DIR / "README.md").read_text()
    return text.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def walk(text):
    """The commands of a text, each with the lines that it shows below them."""
    steps = []
    for line in text.splitlines():
        if not line.startswith("    "):
            continue
        line = line[4:]
        if line.startswith(PROMPT):
            steps.append((line.removeprefix(PROMPT), []))
        else:
            steps[-1][1].append(line)
    return steps


def copy_samples(folder):
    """The sample stores and a program `arborfs` that uses them, as tools/run makes them."""
    run(SAMPLES / "copy", folder, BINARY)
    return folder


def script_of(steps):
    """One shell script: every command, with a line before its output that gives its number."""
    lines = ['ls() { command ls -C -T 0 -w 88 "$@"; }  # as on a terminal']
    for number, (command, _) in enumerate(steps):
        lines += [f"echo '--- step {number}'", command]
    return "\n".join(lines)


def matches(promised, printed):
    """True if the lines are equal; `…/` matches the folders before a name, a `…` alone matches any lines."""
    pattern = ""
    for line in promised:
        if line.strip() == "…":
            pattern += r"(?:.*\n)*"
        else:
            pattern += re.escape(line.rstrip()).replace("…/", r"/\S*/") + r"\s*\n"
    return re.fullmatch(pattern, printed) is not None


def check_walk(case, text, beside=lambda samples: contextlib.nullcontext()):
    """Runs the text's commands in one shell on the mounted samples; each must print the lines below it. `beside` is
    active meanwhile."""
    steps = walk(text)
    assert len(steps) > 10, steps
    home = case.new_path("home")
    (home / "sessions").mkdir(parents=True)
    samples = copy_samples(case.new_path("samples"))
    environment = {**os.environ, "HOME": str(home), "TZ": "UTC", "LC_ALL": "C.UTF-8", "COLUMNS": "100",
                   "PATH": f"{samples}:{os.environ['PATH']}"}
    stores = [f"store={agent}={samples / agent}" for agent in AGENTS if agent != "omp"]
    with beside(samples / "omp"), Mount(case, stores, agent_dir=samples / "omp", mountpoint=home / "sessions"):
        output = run("bash", "-c", script_of(steps), env=environment, check=False).stdout
    output = output.decode()
    printed = re.split(r"--- step \d+\n", output)[1:]
    assert len(printed) == len(steps), output
    wrong = [f"$ {command}\n{got}--- the page says:\n" + "\n".join(promised)
             for (command, promised), got in zip(steps, printed) if promised and not matches(promised, got)]
    assert not wrong, "\n\n".join(wrong)


def test_walk_section_prints_the_shown_output(case):
    """The commands of README's section "A tour" print what README shows."""
    check_walk(case, section_of_readme("A tour"))


def test_writing_section_prints_the_shown_output(case):
    """The commands of README's section "Writing" print what README shows."""
    check_walk(case, section_of_readme("Writing"))


def test_each_task_is_one_command(case):
    """The commands of docs/TASKS.md, more than thirty, print what the page shows; each is below a sentence of its own."""
    text = (SOURCE_DIR / "docs" / "TASKS.md").read_text()
    steps = walk(text)
    assert len(steps) > 30 and all(promised for _, promised in steps), steps
    equal(len(re.findall(r"^\S.*:\n\n    \$ ", text, re.MULTILINE)), len(steps), "sentences with a command")
    check_walk(case, text)


def test_both_sections_work_beside_an_agent(case):
    """The commands of both sections print the same output while omp works on another session of each project's
    folder."""

    @contextlib.contextmanager
    def agent_at_work(samples):
        cwds = {json.loads(line)["cwd"] for log in samples.glob("sessions/*/*.jsonl")
                for line in log.read_bytes().splitlines()[:2] if b'"type":"session"' in line}
        terminals = samples / "terminal-sessions"
        terminals.mkdir(exist_ok=True)
        with contextlib.ExitStack() as all_of_them:
            for number, cwd in enumerate(sorted(cwds)):
                omp = all_of_them.enter_context(running(case, samples, "/"))
                (terminals / omp.terminal).write_text(f"{cwd}\n{samples}/sessions/-new/{number}_{number}.jsonl\n")
            yield

    for title in ("A tour", "Writing"):
        check_walk(case, section_of_readme(title), agent_at_work)


def test_samples_cover_the_features_in_the_walk(case):
    """The samples hold both generations, branches, labels, an image, damage and artifacts."""
    samples = SAMPLES / "omp"
    logs = [path.read_bytes() for path in samples.glob("sessions/*/*.jsonl")]
    assert any(log.startswith(b'{"type":"title"') for log in logs) and any(
        not log.startswith(b'{"type":"title"') for log in logs)
    assert any(b'"type":"label"' in log for log in logs) and any(b"\0\0\0" in log for log in logs)
    assert list(samples.glob("blobs/*")) and list(samples.glob("sessions/*/*/*"))


def test_samples_are_what_their_generator_writes(case):
    """tools/samples/make writes the same bytes as the repository has."""
    fresh = case.new_path("fresh")
    run(SAMPLES / "make", fresh)

    def content(folder):
        return {path.relative_to(folder): path.read_bytes() for name in (*AGENTS, "opencode-files", "times")
                for path in (folder / name, *(folder / name).rglob("*")) if path.is_file()}
    equal(content(fresh), content(SAMPLES), "the samples")
