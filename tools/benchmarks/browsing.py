"""Rows about reading a mount: walking, searching, copying; warm, fresh and from a cold disk."""
import json

from bed import drop_caches, run, timed
from row import MODES, Row, check_entries

FIND = "find {} -printf %s"
LS = "ls -lR {}"
RG = "rg --no-ignore -c 'no matching function' {}"
GREP = "grep -rc 'no matching function' {}"
CAT = "find {} -type f -print0 | xargs -0 cat"
TAR = "tar cPf - {} | cat"


def check_folders(session, log, plain):
    check_entries(session, log)
    for part in ("entries", "text"):
        run("diff", "-rq", f"{session}/{part}", f"{plain}/{part}")


def browse(name, command, targets, squashfuse=False):
    """A row that runs one command over entries/ and text/, fresh and warm. `targets`: contestant -> ratio."""
    def make(bed):
        agent_dir, log = bed.agent_dir_with_log(bed.sizes.log_mb)
        plain = bed.extracted(bed.sizes.log_mb)
        row = Row(name)
        both = command.format("SESSION/{entries,text}")

        def twice(check, mode):
            with bed.mount(agent_dir, MODES[mode]) as mount:
                session = bed.session_in(mount, log)
                filled = command.format(f"{session}/entries {session}/text")
                values = {f"{mode} fresh": timed(filled), f"{mode} warm": timed(filled)}
                if check:
                    check_folders(session, log, plain)
            return values

        def squashed(_):
            with bed.squashfuse(plain) as point:
                filled = command.format(f"{point}/entries {point}/text")
                return {"squashfuse fresh": timed(filled), "squashfuse warm": timed(filled)}
        for mode in MODES:
            row.measure(lambda check, mode=mode: twice(check, mode), **{f"{mode}_fresh": both, f"{mode}_warm": both})
        row.plain("ext4", command.format(f"{plain}/entries {plain}/text"))
        if squashfuse and bed.has("squashfuse_ll", "squashfuse"):
            again = command.format("IMAGE/{entries,text}")
            row.measure(squashed, squashfuse_fresh=again, squashfuse_warm=again)
        for mode in MODES:
            for age in ("fresh", "warm"):
                row.compare(f"{mode} {age}", "ext4", targets.get(f"{mode} {age}"))
                if f"squashfuse {age}" in row.commands:
                    row.compare(f"{mode} {age}", f"squashfuse {age}", targets.get(f"{mode} {age}, squashfuse"))
        return row
    return make


def cold(name, command, target):
    """The same with cold caches, including the start of the daemon."""
    def make(bed):
        agent_dir, log = bed.agent_dir_with_log(bed.sizes.log_mb)
        plain = bed.extracted(bed.sizes.log_mb)
        row = Row(name)

        def mounted(_):
            drop_caches()
            with bed.mount(agent_dir, "ro") as mount:
                session = bed.session_in(mount, log)
                timed(command.format(f"{session}/entries {session}/text"))
                return {"cold": mount.since_start()}

        def files(_):
            drop_caches()
            return {"cold ext4": timed(command.format(f"{plain}/entries {plain}/text"))}
        row.measure(mounted, cold="from exec of `arborfs mount -f -o ro`: " + command.format("SESSION/{entries,text}"))
        row.measure(files, cold_ext4=command.format(f"{plain}/entries {plain}/text"))
        row.compare("cold", "cold ext4", target)
        return row
    return make


def read_one(bed):
    """Opens, reads and closes one entry of about 2 KB at a time, in a program that does nothing else."""
    agent_dir, log = bed.agent_dir_with_log(bed.sizes.log_mb)
    plain = bed.extracted(bed.sizes.log_mb)
    row = Row("read-one", "µs")
    size = ("1500", "2500")

    def p50(folder):
        return json.loads(run(bed.latencies, "reads", folder, *size))["p50"]

    def mounted(mode):
        with bed.mount(agent_dir, MODES[mode]) as mount:
            return {f"{mode} warm": p50(bed.session_in(mount, log) + "/entries")}
    for mode in MODES:
        row.measure(lambda check, mode=mode: mounted(mode),
                    **{f"{mode}_warm": "open, read, close of each entry of 1,500 to 2,500 bytes, p50, second time"})
    row.measure(lambda check: {"ext4": p50(plain + "/entries")}, ext4="the same on plain files")
    row.compare("rw warm", "ext4")
    row.compare("ro warm", "ext4", 2.0)
    return row


def raw(bed):
    agent_dir, log = bed.agent_dir_with_log(bed.sizes.log_mb)
    row = Row("raw")
    command = "dd if={} of=/dev/null bs=1M status=none"

    def twice(check, mode):
        with bed.mount(agent_dir, MODES[mode]) as mount:
            path = bed.session_in(mount, log) + "/raw.jsonl"
            values = {f"{mode} fresh": timed(command.format(path)), f"{mode} warm": timed(command.format(path))}
            if check:
                run("cmp", path, log)
        return values
    for mode in MODES:
        shown = command.format("SESSION/raw.jsonl")
        row.measure(lambda check, mode=mode: twice(check, mode), **{f"{mode}_fresh": shown, f"{mode}_warm": shown})
    row.plain("ext4", command.format(log))
    for mode in MODES:
        row.compare(f"{mode} fresh", "ext4", 2.4)
        row.compare(f"{mode} warm", "ext4", 1.4)
    return row


ROWS = {
    "ls": browse("ls", LS, {"rw fresh": 1.5, "rw warm": 0.85}),
    "find": browse("find", FIND, {"rw fresh": 2.4, "rw warm": 1.0}),
    "rg": browse("rg", RG, {"rw fresh, squashfuse": 0.6, "rw warm, squashfuse": 0.85, "ro fresh": 3.7, "ro warm": 1.35},
                 squashfuse=True),
    "grep": browse("grep", GREP, {"ro fresh": 2.0, "ro warm": 1.4}),
    "cat": browse("cat", CAT, {"ro fresh": 1.75, "ro warm": 1.25}),
    "tar": browse("tar", TAR, {"ro fresh": 2.0, "ro warm": 1.15}),
    "read-one": read_one,
    "raw": raw,
    "cold-rg": cold("cold-rg", RG, 0.7),
    "cold-grep": cold("cold-grep", GREP, 0.45),
    "cold-tar": cold("cold-tar", TAR, 0.45),
    "cold-cat": cold("cold-cat", CAT, 0.55),
    "cold-ls": cold("cold-ls", LS, 0.8),
}
