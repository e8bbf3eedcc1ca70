"""What the benchmarks send: files of random bytes."""

import os

SMALL = 4096
BLOCK = 1_000_000


def fill(out, size, content=os.urandom):
    """Writes so many bytes to an open file."""
    for begin in range(0, size, BLOCK):
        out.write(content(min(BLOCK, size - begin)))


def file_of(place, size):
    """Makes a file."""
    with open(place, "wb") as out:
        fill(out, size)


def tree_of(place, count):
    """Makes a tree of small files, 1,000 to a directory."""
    for number in range(count):
        below = place / f"{number // 1000:03}"
        below.mkdir(parents=True, exist_ok=True)
        (below / f"{number:06}").write_bytes(os.urandom(SMALL))
