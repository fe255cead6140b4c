"""Sessions that an agent moves beside the mount (CONTRACT.md 3.2): every name of such a session leads to its new place
in time, and no name that remains is missing in between."""

import contextlib
import os
import statistics
import threading
import time

from agentdir import replace_by_rename
from cases_freshness import EVENTS_LIMIT, absent, in_each_mode, is_current
from mounting import PATIENCE, visible_within


def agents_move(session, cwd):
    """Moves a log as /move of the agents does: renames it into the folder of the new project, then rewrites it with the
    new working directory in its header."""
    before = session.path
    session.cwd = cwd
    session.folder = f"--{cwd.strip('/').replace('/', '-')}--"
    session.path.parent.mkdir(exist_ok=True)
    os.rename(before, session.path)
    session.set_cwd(cwd)
    replace_by_rename(session.path, session.bytes)


def shortcuts(mount, session):
    """Every link of the mount that leads to a session."""
    names = [mount / "by-id" / session.id, mount / "by-id" / session.id[:-1], mount / "terminals" / "pts-7"]
    return names + [mount / "recent" / name for name in os.listdir(mount / "recent")]


def prime_links(mount, session):
    """Fills the kernel's caches with the names on the way to a session."""
    for path in [*shortcuts(mount, session), mount.session(session), *mount.session(session).parent.iterdir()]:
        os.lstat(path)
        with contextlib.suppress(OSError):
            os.readlink(path)


def all_resolve(mount, session):
    """True if every name leads to the place that the session's current header gives."""
    name = mount.name_of(session)
    home = f"../projects/{session.project}/{name}"
    return (all(os.readlink(link) == home for link in shortcuts(mount, session))
            and name in os.listdir(mount.session(session).parent)
            and is_current(mount.session(session), session, "turn 20"))


@in_each_mode
def test_agent_move_updates_every_name(case, limit, options):
    """When its agent moves a log to another project, by-id/ (also by a prefix), recent/, terminals/ and projects/ lead
    to the new place, and the old one is gone."""
    session = case.agent.talk(20)
    case.agent.breadcrumb("pts-7", session)
    with case.mount(*options) as mount:
        for cwd in ("/srv/new", "/srv/shop", "/srv/newer", "/srv/new"):
            prime_links(mount, session)
            before = mount.session(session)

            def move(to=cwd):
                agents_move(session, to)
                case.agent.breadcrumb("pts-7", session)

            visible_within(limit, move, lambda: all_resolve(mount, session) and absent(before), f"moved to {cwd}")


def test_by_id_follows_moves_without_a_gap(case):
    """Half of a hundred moves are shown in by-id/ within 200 ms. A reader that reads the link continuously never finds
    it missing."""
    session = case.agent.talk(20)
    case.agent.talk(20, cwd="/srv/new")
    with case.mount() as mount:
        link = mount / "by-id" / session.id
        missing, done, times = [], threading.Event(), []
        reader = threading.Thread(target=look_for_gaps, args=(link, missing, done))
        reader.start()
        try:
            for number in range(100):
                agents_move(session, ("/srv/new", "/srv/shop")[number % 2])
                start = time.monotonic()
                home = f"../projects/{session.project}/{mount.name_of(session)}"
                while os.readlink(link) != home and time.monotonic() - start < 10:
                    time.sleep(0.001)
                times.append(time.monotonic() - start)
        finally:
            done.set()
            reader.join()
        times.sort()
        print(f"moves seen after {statistics.median(times) * 1000:.1f} ms (median), {times[98] * 1000:.1f} ms (p99)")
        assert statistics.median(times) <= EVENTS_LIMIT * PATIENCE, times
        assert not missing, missing


def look_for_gaps(link, missing, done):
    while not done.is_set():
        try:
            os.readlink(link)
        except OSError as error:
            missing.append(error)
