"""Secrets of many kinds, made at run time from seeds as tests/support/planted_secrets.cc describes them, so that no file
has text that looks like a key; and the escapes behind which they hide in strings of JSON."""

import base64
import html
import json
import re
import string
import urllib.parse
import zlib
from pathlib import Path

LISTED = Path(__file__).resolve().parent / "planted_secrets.cc"
WORDS = string.ascii_letters + string.digits
ALPHABETS = {"a": WORDS, "w": WORDS + "-_", "b": WORDS + "+/", "h": "0123456789abcdef",
             "u": string.ascii_uppercase + string.digits, "t": string.ascii_uppercase + "234567",
             "l": string.ascii_lowercase + string.digits, "d": string.digits, "p": "!#*+-_=" + WORDS}
BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
LITERAL = r'((?:\s*"(?:[^"\\]|\\.)*")+)'
ROW = re.compile(r"\{" + r",".join([LITERAL] * 4) + r"\}", re.S)


def kinds():
    """Those of the list: (name, before, secret, after), with templates such as {a20}."""
    text = LISTED.read_text()
    text = text[text.index("kinds() {"):text.index("Planted plant(")]
    rows = [tuple("".join(json.loads(part) for part in re.findall(r'"(?:[^"\\]|\\.)*"', literal)) for literal in row)
            for row in ROW.findall(text)]
    assert len(rows) >= 60, len(rows)
    return rows


def filled(template, chance):
    def some(alphabet, length):
        made = "".join(chance.choice(alphabet) for _ in range(length))
        is_name = length >= 10 and "0" in alphabet and not re.search("[0-9]", made)  # what has no digit may be a name
        return some(alphabet, length) if is_name else made

    def url64(text):
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    def one(found):
        word = found[1]
        if word == "crc":
            letters = some(WORDS, 30)
            left, digits = zlib.crc32(letters.encode()), ""
            while len(digits) < 6:
                digits, left = BASE62[left % 62] + digits, left // 62
            return letters + digits
        if word == "disc":
            return chance.choice("AEIMQUYcgk") + chance.choice("wxyz012345")
        if word == "basic":
            return base64.b64encode(f"{some(ALPHABETS['l'], 6)}:{some(WORDS, 14)}".encode()).decode()
        if word == "jwt":
            head, body = json.dumps({"alg": "HS256", "typ": "JWT"}), json.dumps({"sub": some(string.digits, 10)})
            return f"{url64(head)}.{url64(body)}.{some(ALPHABETS['w'], 43)}"
        return some(ALPHABETS[word[0]], int(word[1:]))

    return re.sub(r"\{(\w+)\}", one, template)


def planted(chance, each):
    """So many of each kind: (the secret, the text in which it stands)."""
    made = []
    for _, before, secret, after in kinds():
        for _ in range(each):
            filling = filled(secret, chance)
            made.append((filling, f"{before}{filling}{after}"))
    return made


ESCAPES = [
    lambda text: text,
    lambda text: json.dumps({"type": "message", "text": text}),
    lambda text: json.dumps({"a": json.dumps({"text": text})}),
    lambda text: "".join(f"\\u{ord(letter):04x}" for letter in text),
    lambda text: "GET /?q=" + urllib.parse.quote(text, safe="") + "&x=1",
    lambda text: "data " + base64.b64encode(text.encode()).decode() + " end",
]


def readings(data):
    """What a reader may make of bytes: these, and the texts behind one or two levels of escapes."""
    text = data.decode("utf8", "replace")
    found = {text}
    for _ in range(2):
        found |= {reading for known in list(found) for reading in
                  (urllib.parse.unquote(known, errors="replace"), html.unescape(known),
                   re.sub(r"\\u00([0-9a-fA-F]{2})", lambda hit: chr(int(hit[1], 16)), known),
                   re.sub(r'\\(["\\/])', r"\1", known.replace("\\n", "\n")))}
    runs = [run.translate({ord("-"): "+", ord("_"): "/"}) for run in re.findall(r"[A-Za-z0-9+/_-]{24,}", text)]
    return found | {base64.b64decode(run[:len(run) // 4 * 4]).decode("utf8", "replace") for run in runs}
