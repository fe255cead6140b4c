"""SQLite databases that are the same bytes at each run."""

import pathlib
import sqlite3
import tempfile

LIBRARY_VERSION = (96, 4, 3_040_001)  # offset, bytes and value: the library that wrote last, which readers ignore


def database(schema, tables):
    """The bytes of a closed database in WAL mode with these rows, one dict per row, by table."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "database"
        connection = sqlite3.connect(path, isolation_level=None)
        connection.executescript("PRAGMA page_size = 1024; PRAGMA journal_mode = WAL;" + schema)
        connection.execute("BEGIN")
        for table, rows in tables.items():
            for row in rows:
                names = ", ".join(row)
                connection.execute(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(row))})",
                                   list(row.values()))
        connection.execute("COMMIT")
        connection.close()
        offset, size, version = LIBRARY_VERSION
        content = bytearray(path.read_bytes())
        content[offset:offset + size] = version.to_bytes(size, "big")
        return bytes(content)
