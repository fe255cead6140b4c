"""The basis of all rows: the programs, the data by seed, mounts, timed commands."""
import contextlib
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SEED = 42
POLL_SECONDS = 0.0002
START_TIMEOUT = 120


@dataclass(frozen=True)
class Sizes:
    """Sizes of the data."""
    log_mb: int   # one big log
    logs: int     # of a store
    entries: int  # of a log of short entries
    agent_mb: int  # a log of Claude Code; those of other agents have a third
    parts: int     # of OpenCode's database
    files: int     # of OpenCode's JSON files
    sessions: int  # of all agents together
    part: int = 1  # how many times less often than else a row repeats what it measures

    def times(self, count):
        return max(2, count // self.part)


SIZES = Sizes(170, 2000, 1_000_000, 300, 1_000_000, 100_000, 20_000)
QUICK_SIZES = Sizes(22, 300, 100_000, 30, 100_000, 10_000, 2_000)
SMOKE_SIZES = Sizes(1, 8, 2_000, 3, 2_000, 1_100, 40, 20)


class Failure(Exception):
    """An error that makes the numbers worthless."""


def run(*command, **options):
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    if done.returncode != 0:
        raise Failure(f"{' '.join(command)} failed: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def timed(command, environment=None):
    """Runs a shell command and discards its output. Returns milliseconds."""
    start = time.perf_counter()
    done = subprocess.run(["/bin/sh", "-c", command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          env=environment, check=False)
    taken = (time.perf_counter() - start) * 1000
    if done.returncode != 0:
        raise Failure(f"{command} failed: {done.stderr.decode(errors='replace').strip()[:500]}")
    return taken


def file_hash(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def may_drop_caches():
    return os.access("/proc/sys/vm/drop_caches", os.W_OK)


def drop_caches():
    """Drops the page cache, dentries and inodes from memory."""
    os.sync()
    with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
        file.write("3")


def header_of(log):
    with open(log, "rb") as file:
        return json.loads(file.readline())


class Mount:
    """A daemon in the foreground, and the time since its start. `stores` are the words that name its stores."""

    def __init__(self, bed, stores, options="", prefix=()):
        self.point = tempfile.mkdtemp(prefix="arborfs-bench-")
        command = [*prefix, bed.arborfs, "mount", "-f", *stores]
        command += ["-o", options] if options else []
        outside = os.stat(self.point).st_dev
        self.started = time.perf_counter()
        with open(bed.log_path, "ab") as log:
            self.daemon = subprocess.Popen(command + [self.point], stdout=log, stderr=log, env=bed.environment)
        while os.stat(self.point).st_dev == outside:
            if self.daemon.poll() is not None or time.perf_counter() - self.started > START_TIMEOUT:
                self.close()
                raise Failure(f"the mount did not come up; see {bed.log_path}")
            time.sleep(POLL_SECONDS)

    def since_start(self):
        return (time.perf_counter() - self.started) * 1000

    def memory_mb(self, counter):
        """One of the kernel's counters for the daemon, such as RssAnon."""
        with open(f"/proc/{self.daemon.pid}/status", encoding="ascii") as status:
            for line in status:
                if line.startswith(counter + ":"):
                    return int(line.split()[1]) / 1024
        raise Failure(f"no {counter} in /proc")

    def processor_ms(self):
        """What the daemon has taken since its start, in steps of the kernel's clock, at least one."""
        with open(f"/proc/{self.daemon.pid}/stat", encoding="ascii") as stat:
            user, system = stat.read().rsplit(")", 1)[1].split()[11:13]
        return max(1, int(user) + int(system)) * 1000 / os.sysconf("SC_CLK_TCK")

    def close(self):
        subprocess.run(["fusermount3", "-u", self.point], check=False, stderr=subprocess.DEVNULL)
        try:
            self.daemon.wait(10)
        except subprocess.TimeoutExpired:
            subprocess.run(["fusermount3", "-uz", self.point], check=False, stderr=subprocess.DEVNULL)
            self.daemon.terminate()
            self.daemon.wait(10)
        with contextlib.suppress(OSError):
            os.rmdir(self.point)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Bed:
    def __init__(self, build, data, sizes):
        self.sizes = sizes
        self.build = build or self._build_release()
        self.arborfs = os.path.join(self.build, "tools", "arborfs")
        self.generate = os.path.join(self.build, "tools", "arborfs-generate")
        self.appends = os.path.join(self.build, "tools", "arborfs-appends")
        self.latencies = os.path.join(self.build, "tools", "arborfs-latencies")
        self.micro = os.path.join(self.build, "tools", "arborfs-micro")
        self.data = os.path.abspath(data or os.path.join(SOURCE, "build", "bench-data"))
        os.makedirs(self.data, exist_ok=True)
        self.log_path = os.path.join(self.data, "daemon.log")
        # The daemon's state must not mix with the user's own.
        state = os.path.join(self.data, "state")
        self.environment = dict(os.environ, XDG_STATE_HOME=state, XDG_DATA_HOME=state, XDG_CACHE_HOME=state)
        self._pristine = {}

    @staticmethod
    def _build_release():
        run("cmake", "--preset", "release", cwd=SOURCE)
        run("cmake", "--build", "--preset", "release", "--target", "arborfs", "arborfs-generate", "arborfs-appends",
            "arborfs-latencies", "arborfs-micro", cwd=SOURCE)
        return os.path.join(SOURCE, "build", "release")

    # Data, made once for each name and seed.

    def made(self, name, make):
        folder = os.path.join(self.data, name)
        if not os.path.exists(folder + ".done"):
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)
            make(folder)
            with open(folder + ".done", "w", encoding="ascii"):
                pass
        self._pristine.setdefault(folder, self._manifest(folder))
        return folder

    def agent_dir_with_log(self, megabytes):
        """(agent dir, log): one session of this size."""
        def make(folder):
            sessions = os.path.join(folder, "sessions", "--srv-bench--")
            os.makedirs(sessions)
            log = os.path.join(sessions, "new")
            run(self.generate, "session", str(megabytes), str(SEED), log, "--blobs", os.path.join(folder, "blobs"))
            os.rename(log, os.path.join(sessions, f"2026-01-05T08-00-00-000Z_{header_of(log)['id']}.jsonl"))
        folder = self.made(f"log-{megabytes}mb-{SEED}", make)
        sessions = os.path.join(folder, "sessions", "--srv-bench--")
        return folder, os.path.join(sessions, os.listdir(sessions)[0])

    def agent_dir_with_entries(self, entries):
        """(agent dir, log): one session of this many short entries."""
        def make(folder):
            sessions = os.path.join(folder, "sessions", "--srv-bench--")
            os.makedirs(sessions)
            run(self.generate, "entries", str(entries), os.path.join(sessions, "2026-01-05T08-00-00-000Z_many.jsonl"))
        folder = self.made(f"entries-{entries}", make)
        sessions = os.path.join(folder, "sessions", "--srv-bench--")
        return folder, os.path.join(sessions, os.listdir(sessions)[0])

    def store(self, sessions):
        return self.made(f"store-{sessions}-{SEED}", lambda folder: run(
            self.generate, "store", folder, str(sessions), "40", str(SEED), "--v18", "0.4", "--median-kb", "80"))

    def extracted(self, megabytes):
        """Entries and texts of a log as plain files, made by this version of arborfs."""
        agent_dir, log = self.agent_dir_with_log(megabytes)
        name = f"files-{megabytes}mb-{SEED}-{file_hash(self.arborfs)[:12]}"

        def make(folder):
            with self.mount(agent_dir, "ro") as mount:
                for part in ("entries", "text"):
                    run("cp", "-r", "--preserve=timestamps", self.session_in(mount, log) + "/" + part, folder)
        for old in os.listdir(self.data):
            if old.startswith(f"files-{megabytes}mb-") and not old.startswith(name):
                path = os.path.join(self.data, old)
                shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
        return self.made(name, make)

    def written_agent_dir(self):
        """(agent dir, log): a writable copy of a session of 1 MB, made again at each call."""
        return self.written_copy(*self.agent_dir_with_log(1))

    def written_copy(self, agent_dir, log):
        # State kept for the previous copy would be searched again and again.
        shutil.rmtree(self.environment["XDG_STATE_HOME"], ignore_errors=True)
        folder = os.path.join(self.data, "written")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(agent_dir, folder)
        os.sync()  # else what is measured also writes the copy
        return folder, os.path.join(folder, os.path.relpath(log, agent_dir))

    def benchmarks(self, agent_dir, names):
        """What arborfs-micro tells of each of these benchmarks: {name: ...} for {name: benchmark}."""
        said = json.loads(run(self.micro, agent_dir, "--benchmark_format=json",
                              f"--benchmark_filter=^({'|'.join(names.values())})/"))
        made = {one["name"].split("/")[0]: one for one in said["benchmarks"]}
        return {name: made[benchmark] for name, benchmark in names.items()}

    # Mounts.

    @staticmethod
    def has(program, package):
        """True if a peer is installed; prints a note if it is not."""
        if shutil.which(program):
            return True
        print(f"tools/bench: not against {program}, which is not installed (Debian package {package})", file=sys.stderr)
        return False

    def bindfs(self, folder):
        """Mounts this folder through another FUSE file system."""
        return self._peer("bindfs", folder)

    def squashfuse(self, folder):
        """Mounts an image of this folder, made once with the defaults of mksquashfs."""
        image = folder + ".squashfs"
        if not os.path.exists(image) or os.path.getmtime(image) < os.path.getmtime(folder):
            run("mksquashfs", folder, image, "-noappend", "-quiet", "-no-progress")
        return self._peer("squashfuse_ll", image)

    @staticmethod
    @contextlib.contextmanager
    def _peer(program, what):
        point = tempfile.mkdtemp(prefix="arborfs-bench-")
        try:
            run(program, what, point)
            try:
                yield point
            finally:
                run("fusermount3", "-u", point)
        finally:
            os.rmdir(point)

    def mount(self, agent_dir, options=""):
        return Mount(self, ["--agent-dir", agent_dir], options)

    def mount_stores(self, stores, options="", prefix=()):
        """Mounts the stores of this dict, a folder for each agent."""
        return Mount(self, [f"--store={agent}={folder}" for agent, folder in stores.items()], options, prefix)

    @staticmethod
    def session_in(mount, log):
        """The path of the session's folder below projects/, found without listing a folder."""
        cwd = header_of(log)["cwd"]
        stem = os.path.basename(log).removesuffix(".jsonl")
        return os.path.join(mount.point, "projects", cwd.strip("/").replace("/", "-"), stem)

    # Facts about the run.

    def facts(self):
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            models = [line.split(":")[1].strip() for line in info if line.startswith("model name")]
        file_system = run("df", "--output=fstype", self.data).split()[-1]
        return {"cpus": os.cpu_count(), "cpu": models[0] if models else platform.machine(),
                "kernel": platform.release(), "data": self.data, "file_system": file_system,
                "version": run(self.arborfs, "--version").strip(), **asdict(self.sizes)}

    def description(self):
        facts = self.facts()
        return (f"{facts['version']} on {facts['cpus']} x {facts['cpu']}, Linux {facts['kernel']}, "
                f"data in {self.data} on {facts['file_system']}\n"
                "fresh: the first pass over a new mount, the log in the page cache; warm: the second pass\n"
                "rw: an ordinary mount; ro: mounted with -o ro")

    def shown(self, command):
        """A command as tables show it."""
        return command.replace(self.data, "$DATA").replace(self.build, "$BUILD")

    # Reading a mount must not change its store.

    @staticmethod
    def _manifest(folder):
        listing = run("find", folder, "-printf", "%p %i %s %T@ %m\n")
        return hashlib.sha256("\n".join(sorted(listing.splitlines())).encode()).hexdigest()

    def check_untouched(self):
        for folder, before in self._pristine.items():
            if self._manifest(folder) != before:
                raise Failure(f"{folder} is not as it was before it was looked at")
