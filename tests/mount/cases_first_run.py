"""A new user's first run: tools/run builds, mounts the user's sessions or the samples, and its suggestions work."""

import json
import os
import re
import shutil
import subprocess

from mounting import BINARY, SANITIZED, SOURCE_DIR, Skip, equal, eventually, is_mounted, output_of, run

BUILD_DEADLINE = 800
SAMPLES = SOURCE_DIR / "tools" / "samples"
PNG = b"\x89PNG"

# A session of each agent: the last question, and whether the agent keeps costs and pictures.
TOLD = {
    "omp": ("Bars for the yearly page",
            "The bars on the yearly page look like this. Is the last one right?", True, True),
    "pi": ("The weak bridle point",
           "Do not guess, the drawing says 0.18. Put it in and run the model again.", True, True),
    "opal": ("Umlauts in the list of notes", "Is there a library that knows the rules of the language?", False, False),
    "opencode": ("Import of the flight logs",
                 "This is the height in five minutes of a flight. Import the other logs like this.", True, True),
    "claude": ("Drag of the tail", "Could the last tail have touched the ground?", True, True),
    "codex": ("Speed of the note index", "Read the folder once instead of asking for each file.", False, True),
    "goat": ("Tide table for the quay", "Days are never negative. What is the highest water & when?", True, True),
}


def first_user(case):
    """The environment of a user without sessions that shares the compiler cache."""
    environment = dict(case.environment)
    if shutil.which("ccache"):
        environment["CCACHE_DIR"] = output_of("ccache", "-k", "cache_dir").strip()
    return environment


def suggestions(said, heading):
    """The indented lines below a heading in the output of tools/run."""
    part = said.split(f"\n{heading}\n", 1)[1].split("\n\n", 1)[0]
    return [line.strip() for line in part.splitlines()]


def tools_run(place, environment):
    """What tools/run prints."""
    if SANITIZED:
        raise Skip("the release configuration is the same whatever the tests are built with")
    return run(SOURCE_DIR / "tools" / "run", place, env=environment, timeout=BUILD_DEADLINE).stdout.decode()


def check_session(folder, question, has_cost, has_picture):
    """Finds the last question, the cost, and the pasted picture in a session: one command each."""
    equal(output_of("bash", "-c", "grep -A 2 '^## user' transcript.md | tail -n 1", cwd=folder).rstrip("\n"), question)
    cost = json.loads(output_of("jq", ".cost", "usage.json", cwd=folder))
    assert (cost > 0) if has_cost else cost is None, cost
    pictures = run("bash", "-c", "cat images/*.png", cwd=folder, check=False).stdout
    assert pictures.startswith(PNG) if has_picture else not pictures, pictures


def test_run_builds_mounts_and_prints_working_suggestions(case):
    """The release configuration builds, every suggestion prints something, and the example session has no damage. The
    sessions of all agents tell what was asked, what it cost and what was pasted."""
    environment = first_user(case)
    place = case.new_path("my sessions ")
    said = tools_run(place, environment)
    assert "sample sessions of all agents (you have none of your own yet) are mounted at" in said, said
    tries = suggestions(said, "Try:")
    assert [line.split()[0] for line in tries] == ["ls", "cat", "less", "jq", "rg"], said
    for line in tries:
        assert output_of("bash", "-c", line, env=environment).strip(), f"nothing from: {line}"
    listing, doctor = suggestions(said, "Without a mount:")
    assert "Fix the flaky upload test" in output_of("bash", "-c", listing, env=environment)
    assert b"sessions examined" in run("bash", "-c", doctor, env=environment, check=False).stdout
    equal(set(os.listdir(place / "by-agent")), set(TOLD))
    for agent, (title, *told) in TOLD.items():
        found = output_of("bash", "-c", f"grep -lxF '{title}' by-agent/{agent}/*/title", cwd=place).splitlines()
        check_session((place / found[0]).parent, *told)
    example = re.fullmatch(r"cat (.*)/tree\.txt", tries[1])[1]
    run("bash", "-c", f"{doctor} {example}", env=environment)  # 0: no damage found
    run("bash", "-c", suggestions(said, "Unmount:")[0], env=environment)
    assert not is_mounted(place)


def test_run_mounts_the_sessions_of_the_agents_that_are_there(case):
    """A home with sessions of Claude Code alone, then with those of OpenCode besides: these are mounted, no samples."""
    environment = first_user(case)
    del environment["XDG_DATA_HOME"]
    shutil.copytree(SAMPLES / "claude", case.home / ".claude")
    place = case.new_path("sessions")
    assert "your sessions are mounted at" in tools_run(place, environment)
    equal(os.listdir(place / "by-agent"), ["claude"])
    shutil.copytree(SAMPLES / "opencode", case.home / ".local" / "share" / "opencode")
    said = tools_run(place, environment)
    equal(set(os.listdir(place / "by-agent")), {"claude", "opencode"})
    for line in suggestions(said, "Try:"):
        assert output_of("bash", "-c", line, env=environment).strip(), f"nothing from: {line}"
    run("bash", "-c", suggestions(said, "Unmount:")[0], env=environment)


def stand_ins(case, **scripts):
    """The environment with these programs in front of the real ones in PATH."""
    folder = case.new_path("bin")
    folder.mkdir()
    for name, script in scripts.items():
        (folder / name.replace("_", "-")).write_text(f"#!/bin/bash\n{script}\n")
        (folder / name.replace("_", "-")).chmod(0o755)
    return {**case.environment, "PATH": f"{folder}:{os.environ['PATH']}"}


def built_checkout(case):
    """A checkout with the program that is tested, and an environment in which tools/run builds nothing."""
    tree = case.new_path("checkout")
    shutil.copytree(SOURCE_DIR / "tools" / "samples", tree / "tools" / "samples", symlinks=True)
    for name in ("run", "setup", "progress.bash"):
        shutil.copy2(SOURCE_DIR / "tools" / name, tree / "tools")
    (tree / "build" / "release" / "tools").mkdir(parents=True)
    (tree / "build" / "release" / "tools" / "arborfs").symlink_to(BINARY)
    return tree, stand_ins(case, dpkg_query="echo 'ii '", cmake="exit 0")


def test_run_with_samples_leaves_the_users_sessions_alone(case):
    """With --samples, a user with sessions gets the samples, and without it the user's own again."""
    tree, environment = built_checkout(case)
    shutil.copytree(SAMPLES / "claude", case.home / ".claude")
    place = case.new_path("sessions")
    for options, words, agents in ((["--samples"], "sample sessions of all agents are mounted at", set(TOLD)),
                                   ([], "your sessions are mounted at", {"claude"})):
        said = output_of(tree / "tools" / "run", *options, place, env=environment)
        assert f"{words} {place}" in said, said
        equal(set(os.listdir(place / "by-agent")), agents)
        for line in suggestions(said, "Try:"):
            assert output_of("bash", "-c", line, env=environment).strip(), f"nothing from: {line}"
    run("bash", "-c", suggestions(said, "Unmount:")[0], env=environment)
    assert (tree / "build" / "samples" / "omp").is_dir()


def test_run_keeps_a_copy_of_the_samples_that_is_there(case):
    """Another run of tools/run takes nothing from a mount of the samples: it mounts the same copy, with what was written
    to it, and a copy of its own when the samples have changed."""
    tree, environment = built_checkout(case)
    places = [case.new_path("sessions") for _ in range(3)]
    try:
        for place in places:
            if place is places[2]:
                (tree / "tools" / "samples" / "omp" / "new.txt").write_text("a new sample\n")
            run(tree / "tools" / "run", place, env=environment, timeout=BUILD_DEADLINE)
            if place is places[0]:
                session = next(path for path in (place / "by-agent" / "goat").iterdir()).name
                (place / "by-agent" / "goat" / session / "append").write_text("kept from the first run\n")
        said = ["kept from the first run" in (place / "by-agent" / "goat" / session / "transcript.md").read_text()
                for place in places]
        equal(said, [True, True, False])
        equal(sorted(path.name for path in (tree / "build").iterdir()), ["release", "samples", "samples-2"])
    finally:
        for place in places:
            run(BINARY, "umount", place, env=environment, check=False)


def test_run_reports_build_progress(case):
    """With a cmake that reaches 42 % and then waits, tools/run repeats the percentage, then reports the failure."""
    gate = case.new_path("gate")
    os.mkfifo(gate)
    environment = stand_ins(case, dpkg_query="echo 'ii '", cmake=f"""
        [[ $1 == --build ]] || exit 0
        echo "$NINJA_STATUS" | sed 's/%p/ 42%/'
        read -r < '{gate}'
        echo 'no such thing'
        exit 1""")
    said = case.new_path("said")
    with open(said, "wb") as output, subprocess.Popen([SOURCE_DIR / "tools" / "run", case.new_path("mount")],
                                                      stdout=output, stderr=output, stdin=subprocess.DEVNULL,
                                                      env=environment) as running:
        try:
            times = eventually(60, lambda: len(re.findall(r"(?m)^building 42 %, \d+ s$", said.read_text())) >= 2)
            assert times
        finally:
            gate.write_text("go on\n")
        assert running.wait(60) == 1
    seconds = [int(number) for number in re.findall(r"(?m)^building.*, (\d+) s$", said.read_text())]
    assert all(after - before <= 5 for before, after in zip(seconds, seconds[1:])), seconds
    assert "no such thing\ntools/run: the build failed" in said.read_text()


def test_setup_reports_progress(case):
    """With an apt-get that reports progress, tools/setup prints each step and passes on the error of a failure."""
    programs = {"dpkg_query": "exit 1", "sudo": '[[ $1 == -v ]] || exec "$@"'}
    environment = stand_ins(case, **programs, apt_get="echo 'dlstatus:1:7.5:Retrieving file 1 of 9'")
    said = output_of(SOURCE_DIR / "tools" / "setup", env=environment)
    for step in ("installing: cmake", "updating the list of packages, 0 s", "downloading packages, ",
                 "installing packages, "):
        assert step in said, said
    environment = stand_ins(case, **programs, apt_get="echo 'pmstatus:less:50:Unpacking'; echo 'E: no room' >&2; exit 100")
    failed = run(SOURCE_DIR / "tools" / "setup", env=environment, check=False)
    assert failed.returncode == 1
    assert failed.stderr == b"E: no room\ntools/setup: updating the list of packages failed\n", failed.stderr
