"""Rows about the time to a first result: indexing, first listings, the context, a whole store."""
import glob
import json
import os

from bed import Failure, run, timed
from row import MODES, Row, log_lines, same_lines


def index(bed):
    """Inside one process, without a mount: the index alone, and with the exact sizes of all texts."""
    agent_dir, log = bed.agent_dir_with_log(bed.sizes.log_mb)
    row = Row("index")
    names = {"newlines": "newlines", "names": "index_names", "names and sizes": "index_sizes"}

    def measured(_):
        return {name: made["real_time"] / 1000 for name, made in bed.benchmarks(agent_dir, names).items()}
    row.measure(measured, newlines=f"memchr for the line feeds of {os.path.getsize(log) / 1e6:.0f} MB in memory",
                names="index of the log", names_and_sizes="index of the log, and the sizes of all texts")
    row.compare("names", "newlines", 2.5)
    row.compare("names and sizes", "newlines", 4.0)
    return row


def check_names(session, log):
    names = sorted(os.listdir(session + "/entries"))
    ids = [json.loads(line)["id"] for line in log_lines(log)]
    same_lines([name.removesuffix(".json").rsplit("-", 1)[1] for name in names], ids, "names in entries/")


def first_ls(bed):
    agent_dir, log = bed.agent_dir_with_log(bed.sizes.log_mb)
    row = Row("first-ls")

    def listed(check, mode):
        with bed.mount(agent_dir, MODES[mode]) as mount:
            timed(f"ls {bed.session_in(mount, log)}/entries/")
            value = mount.since_start()
            if check:
                check_names(bed.session_in(mount, log), log)
        return {mode: value}
    for mode in MODES:
        row.measure(lambda check, mode=mode: listed(check, mode),
                    **{mode: "from exec of `arborfs mount -f`: ls SESSION/entries/ of a log of "
                             f"{os.path.getsize(log) / 1e6:.0f} MB"})
    row.plain("wc", f"wc -l {log}")
    row.plain("jq", f"jq -c .id {log}")
    for mode in MODES:
        row.compare(mode, "wc", 4.0)
        row.compare(mode, "jq", 1 / 15)
    return row


def context(bed):
    agent_dir, log = bed.agent_dir_with_log(bed.sizes.log_mb)
    row = Row("context")

    def shown(check):
        with bed.mount(agent_dir, "ro") as mount:
            path = bed.session_in(mount, log) + "/context.json"
            timed(f"cat {path}")
            first = mount.since_start()
            second = timed(f"cat {path}")
            if check and int(run("jq", ".messages | length", path)) == 0:
                raise Failure("context.json holds no messages")
        return {"from exec": first, "again": second}
    row.measure(shown, from_exec="from exec of `arborfs mount -f -o ro`: cat SESSION/context.json",
                again="cat SESSION/context.json, the second time")
    row.plain("jq", f"jq -c .id {log}")
    row.compare("from exec", "jq", 0.2)
    row.compare("again", "jq")
    return row


def store(bed):
    agent_dir = bed.store(bed.sizes.logs)
    row = Row("store")
    logs = glob.glob(agent_dir + "/sessions/*/*.jsonl")

    def mounted(check):
        with bed.mount(agent_dir) as mount:
            timed(f"ls {mount.point}/projects/*/")
            value = mount.since_start()
            if check:
                names = {os.path.realpath(path) for path in glob.glob(mount.point + "/by-id/*")}
                shown = glob.glob(mount.point + "/projects/*/*")
                wanted = {os.path.realpath(path) for path in shown if not path.endswith("/cwd")}
                same_lines(sorted(names), sorted(wanted), "sessions below projects/")
                same_lines([str(len(names))], [str(len(logs))], "how many they are")
        return {"mount and ls": value}

    def listed(check):
        command = f"{bed.arborfs} ls --agent-dir {agent_dir}"
        value = timed(command, bed.environment)
        if check:
            shown = run(bed.arborfs, "ls", "--agent-dir", agent_dir, env=bed.environment)
            if len(shown.splitlines()) < len(logs):
                raise Failure("arborfs ls leaves sessions out")
        return {"arborfs ls": value}
    row.measure(mounted, mount_and_ls=f"from exec of `arborfs mount -f`: ls MNT/projects/*/ of {len(logs)} sessions")
    row.measure(listed, arborfs_ls="arborfs ls --agent-dir STORE")
    row.plain("find", f"find {agent_dir} -printf %s")
    row.compare("mount and ls", "find", 3.0)
    row.compare("arborfs ls", "find", 3.0)
    return row


ROWS = {"index": index, "first-ls": first_ls, "context": context, "store": store}
