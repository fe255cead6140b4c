"""Small pictures as PNG files, and whether two are alike. A picture is a list of rows, a row the bytes of its pixels,
three each (red, green, blue)."""

import struct
import zlib

HEAD = b"\x89PNG\r\n\x1a\n"


def _chunks(png):
    at = len(HEAD)
    while at < len(png):
        size, = struct.unpack(">I", png[at:at + 4])
        yield png[at + 4:at + 8], png[at + 8:at + 8 + size]
        at += 12 + size


def _nearest(left, above, corner):
    """The predictor of the filter type 4."""
    guess = left + above - corner
    return min((abs(guess - left), 0, left), (abs(guess - above), 1, above), (abs(guess - corner), 2, corner))[2]


def read(png):
    """The picture in a PNG of 8 bits a colour, without interlacing."""
    chunks = list(_chunks(png))
    width, height, bits, kind, _, _, interlaced = struct.unpack(">IIBBBBB", dict(chunks)[b"IHDR"])
    assert (bits, interlaced) == (8, 0) and kind in (2, 6), (bits, kind, interlaced)
    size = 3 if kind == 2 else 4
    data = zlib.decompress(b"".join(body for name, body in chunks if name == b"IDAT"))
    rows, above = [], bytearray(width * size)
    for at in range(height):
        start = at * (width * size + 1)
        filtered, row = data[start], bytearray(data[start + 1:start + 1 + width * size])
        for place in range(len(row)):
            left = row[place - size] if place >= size else 0
            corner = above[place - size] if place >= size else 0
            row[place] = (row[place] + (0, left, above[place], (left + above[place]) // 2,
                                        _nearest(left, above[place], corner))[filtered]) & 255
        rows.append(row if size == 3 else bytearray(value for place, value in enumerate(row) if place % 4 < 3))
        above = row
    return [bytes(row) for row in rows]


def write(rows):
    """The PNG of a picture."""
    def chunk(name, body):
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    size = struct.pack(">IIBBBBB", len(rows[0]) // 3, len(rows), 8, 2, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + row for row in rows), 9)
    return HEAD + chunk(b"IHDR", size) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def coarse(rows):
    """With 16 shades a colour, which need less space."""
    return [bytes(value // 17 * 17 for value in row) for row in rows]


def beside(pictures, ground=128):
    """One picture of several, from left to right, with a pixel between them."""
    height = max(len(rows) for rows in pictures)
    empty = bytes([ground])
    return [b"".join((rows[at] if at < len(rows) else empty * len(rows[0])) + empty * 3 for rows in pictures)
            for at in range(height)]


def difference(rows, others):
    """How far a picture is from one of the same width, in thousandths of black from white. Below the shorter one, its
    last row goes on."""
    assert len(rows[0]) == len(others[0]), (len(rows[0]), len(others[0]))
    high = max(len(rows), len(others))
    total = 0
    for at in range(high):
        row, other = rows[min(at, len(rows) - 1)], others[min(at, len(others) - 1)]
        if row != other:
            total += sum(abs(one - two) for one, two in zip(row, other))
    return 1000 * total / (255 * high * len(rows[0]))
