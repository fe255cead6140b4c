"""Rows about what is shown and shared: the page of a long session beside its Markdown, and redaction."""
import os

from bed import timed
from row import Row

FIRST_BYTE_MS = 100
PEAK_MB = 64
REDACTED_MB = 100  # a second
KINDS = {"md": "transcript.md", "html": "transcript.html"}


def page(bed):
    """The first look at the file of a session, and the whole of it, each on a new mount."""
    agent_dir, log = bed.agent_dir_with_log(bed.sizes.log_mb)
    row = Row("page")
    of = f"SESSION/{{}} of a log of {os.path.getsize(log) / 1e6:.0f} MB"

    def read(kind):
        with bed.mount(agent_dir, "ro") as mount:
            path = f"{bed.session_in(mount, log)}/{KINDS[kind]}"
            first = timed(f"head -c 1 {path}")
            whole = first + timed(f"cat {path}")
            work = mount.processor_ms()
            return {f"{kind} first byte": first, kind: whole, f"{kind} work": work,
                    f"{kind} again": timed(f"head -c 1 {path}")}
    for kind, name in KINDS.items():
        row.measure(lambda check, kind=kind: read(kind),
                    **{f"{kind}_first_byte": "head -c 1 " + of.format(name), kind: "the same, then cat",
                       f"{kind}_work": "the daemon's processor time of both, its start included",
                       f"{kind}_again": "head -c 1 once more"})
    row.allowance("allowed", FIRST_BYTE_MS, f"{FIRST_BYTE_MS} ms")
    row.compare("html", "md", 2.0)
    row.compare("html work", "md work", 2.0)
    row.compare("html first byte", "allowed", 1.0)
    row.compare("html again", "allowed", 1.0)
    return row


def page_memory(bed):
    """The daemon's peak, program and libraries included, after the page of a long session was read."""
    agent_dir, log = bed.agent_dir_with_log(bed.sizes.log_mb)
    row = Row("page-memory", "MB")

    def peak(kind):
        with bed.mount(agent_dir, "ro") as mount:
            timed(f"cat {bed.session_in(mount, log)}/{KINDS[kind]}")
            return {kind: mount.memory_mb("VmHWM")}
    for kind, name in KINDS.items():
        row.measure(lambda check, kind=kind: peak(kind), **{kind: f"VmHWM after cat SESSION/{name}"})
    row.allowance("allowed", PEAK_MB, f"{PEAK_MB} MB")
    row.compare("html", "allowed", 1.0)
    row.compare("html", "md")
    return row


def redact(bed):
    """Megabytes a second of processor time, on one thread, without a mount."""
    agent_dir, _ = bed.agent_dir_with_log(bed.sizes.log_mb)
    row = Row("redact", "MB/s")

    def measured(_):
        made = bed.benchmarks(agent_dir, {"text": "redact_text", "JSON": "redact_json"})
        return {name: one["bytes_per_second"] * one["real_time"] / one["cpu_time"] / 1e6 for name, one in made.items()}
    row.measure(measured, text="arborfs-micro AGENT_DIR --benchmark_filter=redact_text",
                JSON="arborfs-micro AGENT_DIR --benchmark_filter=redact_json")
    row.allowance("wanted", REDACTED_MB, f"{REDACTED_MB} MB/s")
    row.compare("text", "wanted", 1.0, at_least=True)
    row.compare("JSON", "wanted", 1.0, at_least=True)
    return row


ROWS = {"page": page, "page-memory": page_memory, "redact": redact}
