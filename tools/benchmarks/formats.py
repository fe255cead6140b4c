"""Rows about the stores of other agents than omp: a big session of each, OpenCode's database and files, all agents."""
import json
import os
import shutil

import stores
from bed import SEED, Failure, run, timed
from row import Row

LS_TARGET = 4
RESIDENT_MB = 64
LOG_AGENTS = ("claude", "codex", "opal", "goat")
OTHERS = 3  # logs of other agents than Claude Code are so many times smaller
CALLS = "trace=%file,getdents64,inotify_add_watch"


# Data.

def big_session(bed, agent):
    """(store, id, log) of one big session."""
    megabytes = bed.sizes.agent_mb if agent == "claude" else bed.sizes.agent_mb // OTHERS
    folder = bed.made(f"{agent}-{megabytes}mb-{SEED}", lambda folder: stores.big_log(folder, agent, megabytes))
    with open(os.path.join(folder, "session.json"), encoding="utf-8") as file:
        about = json.load(file)
    return os.path.join(folder, "store"), about["id"], about["log"]


def sessions_of(bed):
    """How many sessions the database has."""
    return bed.sizes.parts // (stores.MESSAGES * stores.PARTS)


def database_of(bed):
    return bed.made(f"opencode-{bed.sizes.parts}-{SEED}", lambda folder: stores.database(folder, sessions_of(bed)))


def files_of(bed):
    return bed.made(f"opencode-files-{bed.sizes.files}-{SEED}", lambda folder: stores.files(folder, bed.sizes.files))


def all_stores(bed):
    count = bed.sizes.sessions
    folder = bed.made(f"agents-{count}-{SEED}", lambda folder: stores.all_agents(folder, count))
    return {agent: os.path.join(folder, agent) for agent in stores.SHARES}


def allow(row, **limits):
    """Compares values with fixed figures; a space in a name is spelled _ here."""
    for name, limit in limits.items():
        row.allowance(f"{limit} {row.unit}", limit, "a fixed figure")
        row.compare(name.replace("_", " "), f"{limit} {row.unit}", 1.0)


# Rows.

def first_ls(bed, agent):
    store, session, log = big_session(bed, agent)
    row = Row(f"{agent}-ls")

    def listed(check):
        with bed.mount_stores({agent: store}, "ro") as mount:
            entries = f"{mount.point}/by-id/{session}/entries"
            timed(f"ls {entries}/")
            value = mount.since_start()
            if check and len(os.listdir(entries)) < int(run("wc", "-l", log).split()[0]) // 2:
                raise Failure(f"{entries} lacks entries")
        return {"ls": value}
    row.measure(listed, ls="from exec of `arborfs mount -f -o ro`: ls SESSION/entries/ of a log of "
                           f"{os.path.getsize(log) / 1e6:.0f} MB")
    row.plain("wc", f"wc -l {log}")
    row.compare("ls", "wc", LS_TARGET)
    return row


def database(bed):
    """OpenCode's database: mount it, list one of its sessions, read it."""
    folder = database_of(bed)
    row = Row("opencode-db")
    chosen = stores.opencode_id(sessions_of(bed) // 2)

    def measured(check):
        with bed.mount_stores({"opencode": folder}, "ro") as mount:
            value = {"mount": mount.since_start()}
            entries = f"{mount.point}/by-id/{chosen}/entries"
            value["list"] = timed(f"ls {entries}/")
            value["read"] = timed(f"cat {entries}/*")
            if check and len(os.listdir(entries)) != stores.MESSAGES:
                raise Failure(f"{entries} lacks messages")
        return value
    row.measure(measured, mount=f"from exec of `arborfs mount -f -o ro` of {bed.sizes.parts} parts in "
                                f"{sessions_of(bed)} sessions",
                list="ls SESSION/entries/ of 500 parts", read="cat of them")
    allow(row, mount=100, list=20, read=60)
    return row


def looks_at_messages(bed, folder):
    """True if a daemon that mounts a store of files names anything in message/ or part/ in a system call."""
    log = os.path.join(bed.data, "strace")
    with bed.mount_stores({"opencode": folder}, "ro", ("strace", "-f", "-y", "-e", CALLS, "-o", log)) as mount:
        timed(f"ls {mount.point}/ {mount.point}/recent/")
    with open(log, encoding="utf-8", errors="replace") as lines:
        return any("storage/message" in line or "storage/part" in line for line in lines)


def files(bed):
    """OpenCode's files of older versions: the mount must not look at messages and parts."""
    folder = files_of(bed)
    row = Row("opencode-files")
    chosen = stores.opencode_id(0)
    if shutil.which("strace") and looks_at_messages(bed, folder):
        raise Failure(f"mounting {folder} looks at messages or parts")

    def measured(_):
        with bed.mount_stores({"opencode": folder}, "ro") as mount:
            timed(f"ls {mount.point}/ {mount.point}/recent/")
            value = {"mount and ls": mount.since_start()}
            value["list"] = timed(f"ls {mount.point}/by-id/{chosen}/entries/")
        return value
    row.measure(measured, mount_and_ls="from exec of `arborfs mount -f -o ro`: ls MNT MNT/recent/ of a store of "
                                       f"{bed.sizes.files} files",
                list="ls SESSION/entries/ of 500 files")
    row.plain("find", f"find {folder} -printf %s")
    row.plain("cat", f"cat {folder}/storage/message/{chosen}/* {folder}/storage/part/msg_{0:06x}*/*")
    row.compare("mount and ls", "find")
    row.compare("list", "cat")
    return row


def all_agents(bed):
    places = all_stores(bed)
    row = Row("all-agents")

    def measured(check):
        with bed.mount_stores(places, "ro") as mount:
            value = {"mount": mount.since_start()}
            timed(f"ls {mount.point}/ {mount.point}/recent/")
            value["mount and ls"] = mount.since_start()
            value["ls"] = timed(f"ls {mount.point}/ {mount.point}/recent/")
            if check and len(os.listdir(f"{mount.point}/by-agent")) != len(places):
                raise Failure("by-agent/ lacks agents")
        return value
    row.measure(measured, mount=f"from exec of `arborfs mount -f -o ro` of {bed.sizes.sessions} sessions of all agents",
                mount_and_ls="the same, and ls MNT MNT/recent/", ls="ls MNT MNT/recent/, the second time")
    allow(row, mount=500, mount_and_ls=500, ls=500)
    return row


def memory(bed):
    """The most memory that the daemon had, program and libraries included."""
    row = Row("agents-memory", "MB")

    def after(name, places, command):
        def measured(_):
            with bed.mount_stores(places, "ro") as mount:
                timed(command.format(mount.point))
                return {name: mount.memory_mb("VmHWM")}
        row.measure(measured, **{name: "VmHWM after " + command.format("MNT")})
        allow(row, **{name: RESIDENT_MB})
    for agent in LOG_AGENTS:
        store, session, _ = big_session(bed, agent)
        after(agent, {agent: store}, f"ls {{0}}/by-id/{session}/entries/")
    entries = f"{{0}}/by-id/{stores.opencode_id(0)}/entries"
    after("database", {"opencode": database_of(bed)}, f"ls {entries}/ && cat {entries}/*")
    after("files", {"opencode": files_of(bed)}, f"ls {entries}/ && cat {entries}/*")
    after("all", all_stores(bed), "ls {0}/ {0}/recent/")
    return row


ROWS = {**{f"{agent}-ls": lambda bed, agent=agent: first_ls(bed, agent) for agent in LOG_AGENTS},
        "opencode-db": database, "opencode-files": files, "all-agents": all_agents, "agents-memory": memory}
