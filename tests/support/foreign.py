"""Another program that writes a log as the newer agents do (omp/FORMAT.md G4 to G6): the abstract socket, the lock
file, one write(2) through a descriptor that is closed before the lock is released."""

import contextlib
import errno
import json
import os
import socket
import time
from pathlib import Path

from agentdir import append_bytes, compact

PATIENCE = 0.5  # how long the agents wait for a lock
BETWEEN_TRIES = 0.002
TAIL = 1 << 16

_MASK = (1 << 64) - 1
_PRIMES = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
_SEEDS = (0x4F4D502D4C4F434B, 0x50492D46494C454C)


class LockError(OSError):
    """Another process held the lock for all of PATIENCE."""


def _rotated(value, bits):
    return (value << bits | value >> (64 - bits)) & _MASK


def _round(lane, word):
    return _rotated((lane + word * _PRIMES[1]) & _MASK, 31) * _PRIMES[0] & _MASK


def xxh64(data, seed):
    one, two, three, four, five = _PRIMES
    at = 0

    def word(size):
        nonlocal at
        at += size
        return int.from_bytes(data[at - size:at], "little")

    if len(data) >= 32:
        lanes = [(seed + one + two) & _MASK, (seed + two) & _MASK, seed & _MASK, (seed - one) & _MASK]
        while len(data) - at >= 32:
            lanes = [_round(lane, word(8)) for lane in lanes]
        digest = sum(_rotated(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18))) & _MASK
        for lane in lanes:
            digest = ((digest ^ _round(0, lane)) * one + four) & _MASK
    else:
        digest = (seed + five) & _MASK
    digest = (digest + len(data)) & _MASK
    while len(data) - at >= 8:
        digest = (_rotated(digest ^ _round(0, word(8)), 27) * one + four) & _MASK
    if len(data) - at >= 4:
        digest = (_rotated(digest ^ word(4) * one & _MASK, 23) * two + three) & _MASK
    while at < len(data):
        digest = _rotated(digest ^ word(1) * five & _MASK, 11) * one & _MASK
    digest = (digest ^ digest >> 33) * two & _MASK
    digest = (digest ^ digest >> 29) * three & _MASK
    return digest ^ digest >> 32


def lock_path(log):
    return Path(log).with_name(f".{Path(log).name}.lock")


def gate_name(log):
    """The abstract address that the holder of the lock binds."""
    path = f"{lock_path(log)}.os".encode()
    return "\0omp-file-lock-" + "".join(f"{xxh64(path, seed):016x}" for seed in _SEEDS)


@contextlib.contextmanager
def locked(log, gate=None):
    """Holds the log's lock. `gate` is gate_name(log), for callers that need it often."""
    gate, path = gate or gate_name(log), lock_path(log)
    deadline = time.monotonic() + PATIENCE
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as owner:
        _retried(lambda: owner.bind(gate), errno.EADDRINUSE, deadline)
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC
        descriptor = _retried(lambda: os.open(path, flags, 0o600), errno.EEXIST, deadline)
        os.write(descriptor, f"{os.getpid()}:{int(time.time() * 1000)}\n".encode())
        os.close(descriptor)
        try:
            yield
        finally:
            os.unlink(path)


def _retried(attempt, taken, deadline):
    while True:
        try:
            return attempt()
        except OSError as error:
            if error.errno != taken:
                raise
        if time.monotonic() > deadline:
            raise LockError(errno.EBUSY, "the log's lock is held")
        time.sleep(BETWEEN_TRIES)


def last_id(log):
    """The id of the last entry of the log."""
    with open(log, "rb") as file:
        file.seek(max(0, os.stat(log).st_size - TAIL))
        return json.loads(file.read().splitlines()[-1])["id"]


def append(log, entry, gate=None):
    """Appends an entry as child of the last one, under the lock."""
    with locked(log, gate):
        append_bytes(log, compact(dict(entry, parentId=last_id(log))) + b"\n")
