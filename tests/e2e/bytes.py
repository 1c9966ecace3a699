"""Every byte of output and every character of a string arrives as it is, or is refused by name: through `exec` and `run`.
Strings are random over all code points, NUL and lone surrogates among them; no two of them may look the same on the way."""

import base64
import json
import random
import subprocess

from client import AJ, check, main, test

TAG = "__type__"
CORNERS = ["", "\0", "\\x00", "\\u0000", "\ud800", "\\ud800", "\ud83d\ude00", "\U0001f600", "\ude00\ud83d", "\ud800\0", "\ufffd", "\x7f\x80", "\"\\\n\r\x1b"]


def strings(seed, count=200):
    rng = random.Random(seed)
    ranges = ((0, 0x7f), (0, 0), (0xd800, 0xdfff), (0xd83d, 0xd83d), (0xde00, 0xde00), (0x80, 0xffff), (0, 0x10ffff))
    some = CORNERS + ["".join(chr(rng.randint(*rng.choice(ranges))) for _ in range(rng.randint(1, 9))) for _ in range(count)]
    return list(dict.fromkeys(some))


def read(value):
    if isinstance(value, dict) and value.get(TAG) == "str":
        return base64.b64decode(value["data"], validate=True).decode("utf-8", "surrogatepass")
    return value


def exec_json(code, *options):
    r = subprocess.run([AJ, "exec", "--json", *options, "-"], input=code, capture_output=True, encoding="utf-8", timeout=120)
    return json.loads(r.stdout), r


def keeps(name, values, want):
    got = [read(v) for v in values or []]
    check(name + ": the same", got == want, [(g, w) for g, w in zip(got, want) if g != w][:5] or values)
    check(name + ": no two are alike", len({json.dumps(v) for v in values or []}) == len(want))


@test
def values_of_exec():
    some = strings(1)
    result, _ = exec_json(ascii(some))
    keeps("value", result.get("value"), some)
    result, _ = exec_json("final_answer(%a)" % some)
    keeps("final answer", result.get("final_answer"), some)
    result, _ = exec_json("{s: 1 for s in %a}" % some)
    keeps("key", [k for k, _ in result["value"]["data"]], some)
    result, run = exec_json("raise ValueError('a\\0b \\ud800')")
    check("a message stays text for people", result["error"]["message"] == "a\\x00b \\ud800", run.stdout)
    run = subprocess.run([AJ, "exec", "-c", "final_answer('a\\0b')"], capture_output=True, timeout=60)
    check("the text form shows a NUL", run.stdout == b'final answer: "a\\u0000b"\n', run)


main()
