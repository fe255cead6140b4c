"""Stores as a year of use leaves them (tests/support/years.py): every session is there, named, complete and counted
once."""

import json

from mounting import equal, needs, variants
from years import ClaudeYear, CodexYear

YEARS = {"claude": ClaudeYear, "codex": CodexYear}
AGENTS = variants(claude={"agent": "claude"}, codex={"agent": "codex"})


def year_of(case, agent):
    return YEARS[agent](case.new_path(agent), seed=28)


def answer(case, agent, year, *words, **more):
    return json.loads(case.arborfs(*words, "--json", "--store", f"{agent}={year.root}", **more).stdout)


@needs("zstd")
@AGENTS
def test_every_session_is_listed_with_its_name(case, agent):
    """No session is missing, listed twice, without a name or said to be damaged."""
    year = year_of(case, agent)
    rows = {row["session"]: row for row in answer(case, agent, year, "ls", "-c")}
    equal(sorted(rows), sorted(session.id for session in year.sessions))
    for session in year.sessions:
        row = rows[session.id]
        equal((row["title"] or row["firstMessage"], row["startedBy"], row["problem"]), (session.name, session.parent, ""), session.id)
    equal(len(answer(case, agent, year, "ls")), sum(not session.parent for session in year.sessions))
    listing = case.arborfs("ls", "--store", f"{agent}={year.root}").stdout.decode()
    for session in year.sessions:
        assert session.parent or session.name[:40] in listing, session
    equal(listing.count("(no conversation)"), sum(not session.name for session in year.sessions))


@needs("zstd")
@AGENTS
def test_tokens_count_once(case, agent):
    """Each session has the output of its own answers, however often records repeat."""
    year = year_of(case, agent)
    rows = {row["session"]: row for row in answer(case, agent, year, "stats", "--by", "session")}
    for session in year.sessions:
        equal((rows.get(session.id) or {}).get("output") or 0, session.output, session.id)


@needs("zstd")
@AGENTS
def test_a_store_as_its_program_leaves_it_has_no_finding(case, agent):
    """But for the gaps that Claude Code left in conversations."""
    year = year_of(case, agent)
    found = answer(case, agent, year, "doctor", check=False)["findings"]
    gaps = [finding for finding in found if finding["kind"] == "orphan"]
    equal([finding for finding in found if finding not in gaps and not finding["note"]], [])
    equal(len(gaps), sum(session.has_gap for session in year.sessions))


@needs("zstd")
@AGENTS
def test_transcripts_have_every_word(case, agent):
    """What was typed and answered stands in the transcript, in order; a search finds the session by it."""
    year = year_of(case, agent)
    with case.mount(f"store={agent}={year.root}", own_stores=True) as mount:
        for session in year.sessions:
            folder = mount / "by-id" / session.id
            transcript = (folder / "transcript.md").read_text()
            at = 0
            for words in session.words:
                found = transcript.find(words, at)
                assert found >= 0, f"{session}: {words!r} is not in {transcript[at:]!r}"
                at = found
            if session.words:
                found = {hit["session"] for hit in answer(case, agent, year, "search", f'"{session.words[-1]}"')}
                assert session.id in found, (session, found)
        for names in (mount / "recent", mount / "projects"):
            assert not [name for name in names.rglob("*") if "untitled" in name.name], names
