"""Input files with a known SHA-256: text in lines, and binary data cut into values of many sizes."""

import hashlib
import random

WORDS = ("offset partition segment broker leader follower Klamm gorge water stone bridge Übergang straße naïve 東京 проверка "
         "batch epoch quota index time record header value key topic group member 😀 null \"quoted\" back\\slash a,b c;d").split(" ")


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def text_lines(folder, name="input.txt", lines=8000, seed=1):
    """A UTF-8 file without empty lines, about 120 bytes a line; returns its path."""
    chance = random.Random(seed)
    path = folder / name
    with open(path, "w", encoding="utf-8", newline="\n") as out:
        for number in range(lines):
            out.write(f"{number:07d} " + " ".join(chance.choice(WORDS) for _ in range(chance.randint(1, 30))) + "\n")
    return path


def binary_file(folder, name="input.bin", size=1 << 20, seed=2):
    """Half random, half compressible bytes, every byte value among them; returns its path."""
    chance = random.Random(seed)
    path = folder / name
    blocks = []
    left = size
    while left > 0:
        length = min(left, chance.randint(1, 9000))
        blocks.append(chance.randbytes(length) if chance.random() < 0.5 else bytes([chance.randrange(256)]) * length)
        left -= length
    path.write_bytes(b"".join(blocks))
    return path


def pieces(data, seed=3, largest=20_000):
    """Cuts data into values; empty ones, single bytes and large ones are among them. Joined, they are the data again."""
    chance = random.Random(seed)
    out, at = [], 0
    while at < len(data):
        length = chance.choice((0, 1, chance.randint(2, 200), chance.randint(200, 2000), chance.randint(2000, largest)))
        out.append(data[at:at + length])
        at += length
    return out
