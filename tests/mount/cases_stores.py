"""Several stores in one mount: equal names stay distinct, and an unreadable store does not hide the others."""

import json
import os
import shutil

from agentdir import AgentDir
from mounting import SOURCE_DIR, equal, is_mounted, visible_within

APPEARS = 2  # seconds until a store is found that did not exist; nothing tells of it


def stores_of(case):
    """Three stores with a session each: two of omp with the same folder, name and id, and one of pi."""
    omp, other, pi = case.agent, case.agent_dir(), case.agent_dir()
    sessions = []
    for agent, text, options in ((omp, "of the first", {}), (other, "of the second", {}),
                                 (pi, "of pi", {"session_id": "1f9d2a6b9c0dbbbb"})):
        session = agent.session(**options)
        session.user(text)
        session.write()
        sessions.append(session)
    equal(sessions[0].path.relative_to(omp.path), sessions[1].path.relative_to(other.path), "the two places")
    return (omp, other, pi), sessions


def arguments(agents):
    omp, other, pi = agents
    return "--store", f"omp={omp.path}", "--store", f"omp={other.path}", "--store", f"pi={pi.path}"


def mounted(case, agents):
    return case.mount(f"store=omp={agents[1].path}", f"store=pi={agents[2].path}")


def texts(mount):
    """The first message of every session, read through by-id/."""
    return {name: json.loads(next((mount / "by-id" / name / "entries").iterdir()).read_text())["message"]["content"]
            for name in os.listdir(mount / "by-id")}


def test_sessions_of_several_stores_are_shown_side_by_side(case):
    """Equal ids of two stores get different names, and a write reaches only the store of its session."""
    agents, (first, second, third) = stores_of(case)
    with mounted(case, agents) as mount:
        equal(texts(mount), {first.id: "of the first", f"{first.id}@omp": "of the second", third.id: "of pi"}, "sessions")
        equal(sorted(os.listdir(mount / "projects" / first.project)),
              sorted(["cwd", *(os.path.basename(os.readlink(mount / "by-id" / name)) for name in texts(mount))]), "the project")
        for name, path in ((first.name, first.id), (f"{first.name}~2", f"{first.id}@omp"), (third.name, third.id)):
            assert os.path.samefile(mount / "projects" / first.project / name, mount / "by-id" / path), name
        before = first.path.read_bytes()
        (mount / "by-id" / f"{first.id}@omp" / "append").write_text("only here")
        assert b"only here" in second.path.read_bytes(), second.path
        equal(first.path.read_bytes(), before, "the other log of this name")
        third.user("and more")
        visible_within(1, third.grow, lambda: len(os.listdir(mount / "by-id" / third.id / "entries")) == 2, "the append")
        rows = json.loads((mount / "status.json").read_text())["stores"]
        equal([(row["agent"], row["place"], row["sessions"], row["problem"]) for row in rows],
              [(name, str(agent.path), 1, None) for name, agent in zip(("omp", "omp", "pi"), agents)], "status.json")


def test_new_sessions_of_each_store_appear(case):
    """Each store is watched: a new log, in a new folder, of any of them appears."""
    agents, _ = stores_of(case)
    with mounted(case, agents) as mount:
        for number, agent in enumerate(agents):
            session = agent.session(cwd=f"/srv/new{number}", session_id=f"aaaabbbbcccc000{number}")
            session.user("hello")
            visible_within(1, session.write, lambda: (mount / "by-id" / session.id).exists(), session.id)


def break_modes(sessions):
    os.chmod(sessions, 0)


def break_folder(sessions):
    shutil.rmtree(sessions)
    sessions.write_text("no folder")


def break_fifo(sessions):
    shutil.rmtree(sessions)
    os.mkfifo(sessions)


def test_a_broken_store_hides_no_other(case):
    """Each of three stores in turn cannot be read, is not a folder, or is a FIFO. The sessions of the others are listed
    and readable, nothing hangs, and status.json and `arborfs stores` say why the third is missing. root may read a
    folder of mode 000, so it skips that way."""
    ways = [(break_modes, "Permission denied"), (break_folder, "is not a folder"), (break_fifo, "is not a folder")]
    for broken in range(3):
        for break_it, words in ways[os.geteuid() == 0:]:
            agents, sessions = fresh_stores(case)
            break_it(agents[broken].sessions)
            try:
                with case.mount(f"store=omp={agents[1].path}", f"store=pi={agents[2].path}",
                                agent_dir=agents[0].path) as mount:
                    others = [session for number, session in enumerate(sessions) if number != broken]
                    equal(sorted(texts(mount).values()), sorted(session.entries[0]["message"]["content"]
                                                                for session in others), (broken, words))
                    rows = json.loads((mount / "status.json").read_text())["stores"]
                    assert words in rows[broken]["problem"], rows
                    equal([row["problem"] for number, row in enumerate(rows) if number != broken], [None, None], rows)
                listed = json.loads(case.arborfs("stores", "--json", *arguments(agents), timeout=20).stdout)
                equal([row["state"] for row in listed],
                      ["unreadable" if number == broken else "ok" for number in range(3)], "states")
                equal([row["sessions"] for row in listed], [0 if number == broken else 1 for number in range(3)], "numbers")
                assert words in listed[broken]["problem"], listed
                done = case.arborfs("ls", "-q", *arguments(agents), timeout=20)
                equal(len(done.stdout.split()), 2, "arborfs ls")
                assert words.encode() in done.stderr, done.stderr
            finally:
                if agents[broken].sessions.is_dir():
                    os.chmod(agents[broken].sessions, 0o700)


def fresh_stores(case):
    """As stores_of, in new folders."""
    case.agent = case.agent_dir()
    return stores_of(case)


def test_own_stores_of_omp_and_pi_are_both_shown(case):
    """Without options ~/.omp/agent and ~/.pi/agent are shown in one mount."""
    for agent, name in (("omp", "of omp"), ("pi", "of pi")):
        session = AgentDir(case.home / f".{agent}" / "agent", case.home).session(session_id=f"aaaabbbbcccc{len(name):04d}")
        session.user(name)
        session.write()
    equal(len(case.arborfs("ls", "-q").stdout.split()), 2, "arborfs ls")
    lines = case.arborfs("stores").stdout.decode().splitlines()
    for line, agent in zip(lines[1:], ("omp", "pi")):
        equal(line.split(), [agent, str(case.home / f".{agent}" / "agent"), "1", "ok"], "arborfs stores")


def test_stores_that_appear_after_mounting_are_shown(case):
    """The sessions of an agent that runs for the first time while its store is mounted appear like the others."""
    with case.mount(own_stores=True) as mount:
        equal(os.listdir(mount / "by-id"), [], "before")
        for agent, folder in (("claude", ".claude"), ("codex", ".codex"), ("opal", ".opal"), ("pi", ".pi/agent"),
                              ("opencode", "../data/opencode")):
            sample = SOURCE_DIR / "tools" / "samples" / agent
            visible_within(APPEARS, lambda: shutil.copytree(sample, case.home / folder),
                           lambda: agent in os.listdir(mount / "by-agent"), agent)


def test_a_named_store_that_is_not_there_is_refused(case):
    """A folder that --store names must exist, as the path may be wrong. One that is empty is shown, and an agent dir may
    appear later."""
    point = case.new_path("mnt")
    point.mkdir()
    missing = case.new_path("nowhere")
    for words in (["--store", f"claude={missing}"], ["-o", f"store=claude={missing}"],
                  ["--store", f"omp={case.agent.path}", "--store", f"goat={missing}"]):
        done = case.arborfs("mount", *words, point, check=False)
        equal((done.returncode, is_mounted(point)), (1, False), words)
        assert f"there is no folder {missing}".encode() in done.stderr and b"--store" in done.stderr, done.stderr
    missing.mkdir()
    with case.mount(f"store=claude={missing}", agent_dir=case.new_path("later")) as mount:
        equal(os.listdir(mount / "by-id"), [])


def test_stores_without_a_session_are_absent(case):
    """`arborfs stores` works where no agent ever ran, and says so."""
    rows = json.loads(case.arborfs("stores", "--json").stdout)
    assert {"omp", "pi"} <= {row["agent"] for row in rows}, rows
    for row in rows:
        reason = "no default folder" if row["agent"] == "goat" else "there is no folder"
        assert row["state"] == "absent" and row["sessions"] == 0 and reason in row["problem"], row
    failed = case.arborfs("ls", "--store", "nobody=/x", check=False)
    assert failed.returncode == 2 and b"omp, pi" in failed.stderr, failed


def test_new_sessions_are_of_omp_where_only_its_data_has_a_folder(case):
    """omp may keep its data below XDG_DATA_HOME; a folder of pi does not replace it then."""
    data = case.root / "data" / "omp"
    data.mkdir(parents=True)
    (case.home / ".pi" / "agent" / "sessions").mkdir(parents=True)
    case.arborfs("new", "/tmp")
    equal(len(list((data / "sessions").glob("*/*.jsonl"))), 1, "sessions of omp")
    equal(os.listdir(case.home / ".pi" / "agent" / "sessions"), [], "pi's folder")
