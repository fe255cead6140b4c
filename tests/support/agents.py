"""Programs that look like running agents."""

import contextlib
import os
import pty
import shutil
import signal
import subprocess

SLEEP = "/bin/sleep"


class Agent:
    """A process called `name` that does nothing. It was started for an agent dir, in a folder, with or without a
    terminal of its own. `variables` are added to its environment."""

    def __init__(self, case, agent_dir, cwd, *, name="omp", terminal=True, variables=None):
        folder = case.new_path("bin")
        folder.mkdir()
        program = shutil.copy(SLEEP, folder / name)
        self.master, self.terminal, tty = None, None, subprocess.DEVNULL
        if terminal:
            self.master, tty = pty.openpty()
            self.terminal = os.ttyname(tty).removeprefix("/dev/").replace("/", "-")
        environment = dict(case.environment, PI_CODING_AGENT_DIR=os.fspath(agent_dir)) | (variables or {})
        self.process = subprocess.Popen([program, "1000"], cwd=cwd, env=environment, stdin=tty,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        if terminal:
            os.close(tty)

    @property
    def pid(self):
        return self.process.pid

    def end(self, number=signal.SIGKILL, reap=True):
        """Kills it; without `reap` it stays a zombie."""
        self.process.send_signal(number)
        os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        if reap:
            self.process.wait()


@contextlib.contextmanager
def running(case, agent_dir, cwd, **how):
    """An Agent for as long as the block runs."""
    agent = Agent(case, agent_dir, cwd, **how)
    try:
        yield agent
    finally:
        if agent.process.returncode is None:
            agent.process.kill()
            agent.process.wait()
        if agent.master is not None:
            os.close(agent.master)
