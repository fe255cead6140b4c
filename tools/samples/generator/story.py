"""The common parts of all samples: the invented user and projects, times, ids made of names, a picture."""

import datetime
import hashlib
import json
import struct
import uuid
import zlib

HOME = "/home/sam"
HARBOR, KITE, NOTES = f"{HOME}/work/harbor", f"{HOME}/work/kite", f"{HOME}/notes"
START = datetime.datetime(2026, 2, 16, 9, 12, 0, tzinfo=datetime.timezone.utc)


def day(days, hours=0):
    """That many days and hours after START."""
    return START + datetime.timedelta(days=days, hours=hours)


def iso(moment):
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def millis(moment):
    return int(moment.timestamp() * 1000)


def dump(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def lines(values):
    """One JSON value per line."""
    return "".join(dump(value) + "\n" for value in values).encode()


def hex_id(name, digits):
    """Hexadecimal digits that are always the same for a name."""
    return hashlib.sha256(name.encode()).hexdigest()[:digits]


def uuid4(name):
    return str(uuid.UUID(bytes=hashlib.sha256(name.encode()).digest()[:16], version=4))


def uuid7(name, moment):
    digest = hashlib.sha256(name.encode()).digest()
    return str(uuid.UUID(bytes=struct.pack(">Q", millis(moment))[2:] + b"\x70" + digest[:1] + b"\x80" + digest[1:8]))


class Store:
    """The folder of one agent's samples. `times` has the time of each session's file, for copies of the folder."""

    def __init__(self, folder):
        self.folder, self.times = folder, {}

    def write(self, path, content, moment=None):
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        if moment:
            self.times[path] = moment


class Clock:
    """The time in a session: each step is some seconds later than the one before."""

    def __init__(self, moment):
        self.moment, self.count = moment, 0

    def step(self):
        self.moment += datetime.timedelta(seconds=23 + self.count % 7 * 11)
        self.count += 1
        return self.moment


def png(width, height, bars=(14, 22, 31, 27, 40)):
    """A small picture: a bar chart on white."""
    rows = b""
    for y in range(height):
        row = b""
        for x in range(width):
            tall = bars[x * 5 // width]
            inside = (x * 5 % width) < width * 4 // 5 and y > height - tall
            row += bytes((46, 111, 187) if inside else (255, 255, 255))
        rows += b"\0" + row

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")
