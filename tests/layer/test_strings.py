"""Strings of all code points, NUL and lone surrogates among them: out as a value, in as an input, to a tool and back, always the same.
It decodes with code of its own, so that an encoder and a decoder with the same mistake do not agree.
"""

import base64
import json
import random

from guest import Guest
from harness import request, run

TAG = "__type__"
ANY = {"name": "t", "parameters": {"type": "object", "properties": {"x": {}}, "required": ["x"]}}
# Where a generator of random strings rarely goes: what the escapes look like, and halves of characters side by side.
CORNERS = ["", "\0", "\\x00", "\\u0000", "\\\\x00", "\0\0", "a\0", "\ud800", "\\ud800", "\\udc80", "\udc80", "\ud83d\ude00", "\U0001f600",
           "\ude00\ud83d", "\ud800\0", "\ufffd", "?", "7aCA", "\x7f\x80\x9f", "\"\\\b\f\n\r\t\x1b", "\ufeff", "\u2028\u2029", "\U0010ffff"]


def strings(seed, count):
    rng = random.Random(seed)
    ranges = ((0, 0), (0, 0x7f), (0x80, 0x7ff), (0xd800, 0xdfff), (0xd83d, 0xd83d), (0xde00, 0xde00), (0xe000, 0xffff), (0, 0x10ffff))
    return CORNERS + ["".join(chr(rng.randint(*rng.choice(ranges))) for _ in range(rng.randint(1, 12))) for _ in range(count)]


def read(value):
    """The string that JSON or its tag stands for."""
    if type(value) is dict and value.get(TAG) == "str" and set(value) == {TAG, "data"}:
        data, out = base64.b64decode(value["data"], validate=True), []
        while data:
            size = 1 if data[0] < 0x80 else 2 if data[0] < 0xe0 else 3 if data[0] < 0xf0 else 4
            code = data[0] & (0x7f, 0x1f, 0xf, 7)[size - 1]
            for byte in data[1:size]:
                code = code << 6 | byte & 0x3f
            out.append(chr(code))
            data = data[size:]
        return "".join(out)
    return value


def pairs(value):
    """The (key, value) pairs of a dict, in either form."""
    if value.get(TAG) == "dict_with_complex_keys":
        return [(read(k), v) for k, v in value["data"]]
    return list(value.items())


def test(score):
    some = strings(1, 400)
    different = list(dict.fromkeys(some))
    def case(name, code, ok, **keys):
        name = "strings/" + name
        if score.wants(name):
            (claim,), _ = run(request(code, imports=["pathlib"], **keys))
            score.check(name, ok(claim), (str(claim["value"])[:300], claim["error"]))
    for layer in (True, False):
        case("out/layer-%s" % layer, ascii(some), lambda c: [read(v) for v in c["value"]] == some, layer=layer)
    case("differ", ascii(different), lambda c: len({json.dumps(v) for v in c["value"]}) == len(different))
    case("plain", ascii(some), lambda c: all(type(v) is str for v, s in zip(c["value"], some) if not any("\ud800" <= x <= "\udfff" for x in s)))
    case("final", "final_answer(%a)" % some, lambda c: [read(v) for v in c["final_answer"]] == some)
    case("keys", "{s: i for i, s in enumerate(%a)}" % different, lambda c: pairs(c["value"]) == [(s, i) for i, s in enumerate(different)])
    case("key-alone", "[{s: 1} for s in %a]" % different, lambda c: [pairs(v) for v in c["value"]] == [[(s, 1)] for s in different])
    case("path", "import pathlib\n[pathlib.PurePosixPath('/a' + s) for s in %a]" % [s for s in different if "/" not in s and s],
         lambda c: [read(v["data"]) for v in c["value"]] == ["/a" + s for s in different if "/" not in s and s])
    case("field", "class A: pass\nA.__dataclass_fields__ = {'a\\0': 1}\nA()", lambda c: c["value"][TAG] == "repr", layer=False)
    case("message", "raise ValueError('\\ud800 \\0')", lambda c: c["error"]["message"] == "\\ud800 \\x00")
    if score.wants("strings/in"):
        (claim,), _ = run(request(ascii(some)))
        for name, value in (("strings/in", claim["value"]), ("strings/in-paths", {TAG: "dict_with_complex_keys", "data": [[v, 1] for v in claim["value"]]})):
            (back,), _ = run(request("list(x) == list(dict.fromkeys(%a)) if type(x) is dict else x == %a" % (some, some), inputs={"x": value}))
            score.check(name, back["value"] is True, (back["repr"], back["error"]))
    if score.wants("strings/tool"):
        with Guest() as guest:
            claim = guest.run("got = [t(s) for s in %a]\n[g['x'] for g in got] == %a" % (some, some), tools=[ANY])
            score.check("strings/tool", claim["value"] is True and [read(c["args"]["x"]) for c in guest.calls] == some, (claim["repr"][:300], claim["error"]))
            score.check("strings/tool-differ", len({json.dumps(c["args"]) for c in guest.calls}) == len(different), len(guest.calls))
