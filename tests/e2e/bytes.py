"""Every byte of output and every character of a string arrives as it is, or is refused by name: through `exec`, `run` and the service.
Strings are random over all code points, NUL and lone surrogates among them; no two of them may look the same on the way."""

import base64
import json
import random
import subprocess

from client import AJ, check, exchange, frame, main, same, test

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


# --- output ---

# (bytes, are they text?)
OUTPUTS = [(b"", True), (b"caf\xc3\xa9\n", True), (b"a\0b", True), (b"\xff", False), (b"a\xff\0\xfeb\xc3\xa9", False), (b"caf\xc3", False),
           (b"\xed\xa0\x80", False), (b"\xc3\xa9" * 2000 + b"\xff", False), (bytes(range(256)) * 100, False)]


def output_is(name, result, stream, want, text):
    other = {"stdout": "stderr", "stderr": "stdout"}[stream]
    check(name + ": the text", result[stream] == want.decode() if text else "\ufffd" in result[stream], result[stream][:200])
    held = result.get(stream + "_base64")
    check(name + ": the bytes", held is None if text else base64.b64decode(held, validate=True) == want, str(held)[:200])
    check(name + ": of the other stream", other + "_base64" not in result and result[other] == "", result[other][:200])


def writes(stream, data):
    return "import sys\nn = sys.%s.buffer.write(%r)" % (stream, data)


@test
def output_of_exec_and_run():
    for i, (data, text) in enumerate(OUTPUTS):
        stream = ("stdout", "stderr")[i % 2]
        result, _ = exec_json(writes(stream, data), "--layer", "off")
        output_is("exec %d" % i, result, stream, data, text)
        octal = "".join("\\%03o" % b for b in data[:5000])
        r = subprocess.run([AJ, "run", "--json", "--", "sh", "-c", "printf '%s'%s" % (octal, " >&2" if i % 2 else "")], capture_output=True, timeout=60)
        short = data[:5000]
        output_is("run %d" % i, json.loads(r.stdout), stream, short, text)


@test
def output_beyond_the_cap():
    half = 32 << 10     # of output.capture
    data = b"A" * (half - 99) + b"\xff" * 30000 + b"B" * (half - 50)
    result, _ = exec_json(writes("stdout", data), "--layer", "off")
    want = data[:half] + b"\n[... %d bytes omitted ...]\n" % (len(data) - 2 * half) + data[-half:]
    check("head and tail of the bytes are those of the text", base64.b64decode(result["stdout_base64"]) == want, result["stdout"][-200:])
    check("the cap holds", result["stdout"].count("\ufffd") == 149 and result["truncated"]["stdout"] is True, result["truncated"])
    result, _ = exec_json(writes("stdout", "\u20ac".encode() * 30000), "--layer", "off")
    check("a character that the cap cuts makes no bytes", "stdout_base64" not in result and result["truncated"]["stdout"], result["stdout"][-50:])


@test
def truncated_values():
    for code, marks in (("'x' * 3000000", ["repr", "value"]), ("final_answer('x' * 3000000)", ["final_answer", "repr"]), ("list(range(500000))", ["repr", "value"]),
                        ("'x' * 100000", ["repr"]), ("object()", []), ("[1]", []), ("final_answer(1)", [])):
        result, _ = exec_json(code)
        check("truncated: " + code, sorted(k for k in result["truncated"] if k not in ("stdout", "stderr", "total_bytes")) == marks, result["truncated"])


@test
def output_of_the_service(s):
    c = s.client()
    for data, text in OUTPUTS:
        events = []
        c.send(op="exec", id=1, policy="open", code=writes("stdout", data), stream=True)
        while "event" in (event := c.receive()):
            events.append(event)
        output_is("service", event["result"], "stdout", data, text)
        same(b"".join(base64.b64decode(e["data_base64"]) if "data_base64" in e else e["data"].encode() for e in events), data)
        same(any("data_base64" in e for e in events), not text)
        same("".join(e["data"] for e in events), event["result"]["stdout"])


@test
def values_of_the_service(s):
    some = strings(2)
    c = s.client()
    for session in (None, c.ask("open", policy="open", tools=[ECHO])["session"]):
        ask = (lambda **m: c.ask("run", session=session, **m)) if session else (lambda **m: c.ask("exec", tools=[ECHO], **m))
        values = ask(code=ascii(some))["value"]
        keeps("service", values, some)
        # Back in, as they came out.
        result = ask(code="list(x.values()) == %a" % some, inputs={"x": {"k%d" % i: v for i, v in enumerate(values)}})
        same(result["value"], True, result["reason"])
        if session:
            c.ask("set", session=session, variables={"y": values})
            same(ask(code="y == %a" % some)["value"], True)
        # To a tool and back: the tool gets what the snippet's value would be.
        seen = []
        result = ask(code="[echo(s) for s in %a] == %a" % (some, some), functions={"echo": lambda text: seen.append(text) or text})
        same(result["value"], True, result["error"])
        keeps("arguments", seen, some)


ECHO = {"name": "echo", "parameters": {"type": "object", "properties": {"text": {}}, "required": ["text"]}}
TYPED = {"name": "typed", "parameters": {"type": "object", "properties": {"text": {"type": "string", "maxLength": 3}}, "required": ["text"]},
         "returns": {"type": "string"}}


@test
def a_string_is_checked_as_it_is(s):
    """A schema sees the characters that the tool gets; the string that JSON has no text for is refused by name."""
    c = s.client()
    seen = []
    def ask(code, answer=None):
        return c.ask("exec", code=code, tools=[TYPED], functions={"typed": lambda text: seen.append(text) or (text if answer is None else answer)})
    same(ask("typed('a\\0b') == 'a\\0b'")["value"], True)
    same(seen, ["a\0b"])
    e = ask("typed('a\\0bc')")["error"]
    same((e["type"], e["message"]), ("ToolError", "ArgumentError: typed: /text: expected at most 3 code points, got 4"))
    e = ask("typed('\\ud800')")["error"]
    same((e["type"], e["message"]), ("ToolError", "ArgumentError: typed: /text: expected string, got a string with a lone surrogate"))
    same(seen, ["a\0b"])
    c.send(op="exec", id=1, code="typed('a')", tools=[TYPED])
    call = c.receive()
    c.send(op="tool_result", id=2, request=1, call=call["call"], value={TAG: "str", "data": "7aCA"})
    answer = c.receive()
    same((answer["id"], answer["error"]["code"]), (2, "no_such_call"))
    assert "a string with a lone surrogate" in answer["error"]["message"], answer
    c.socket.sendall(frame(b'{"op":"tool_result","id":3,"request":1,"call":%d,"value":"\\ud800"}' % call["call"]))
    answer = c.receive()
    same((answer["id"], answer["error"]["code"]), (3, "bad_request"))
    c.send(op="tool_result", request=1, call=call["call"], value="\0")
    same(c.receive()["result"]["value"], "\0")


@test
def a_refusal_names_its_request(s):
    c = s.client()
    for body, word in ((b'"code":"a\\u0000b"', "`code` holds a NUL"), (b'"code":"a\0b"', "control character"), (b'"code":"\xff"', "not UTF-8"),
                       (b'"code":"\\ud800"', "a surrogate"), (b'"code":"1","inputs":{"class":1}', "`class` is a keyword of Python"),
                       (b'"code":"1","inputs":{"1a":1}', "`1a` must not start with a digit"), (b'"code":"1","inputs":{"__name__":1}', "`__name__` must not start"),
                       (b'"code":"1","inputs":{"a-b":1}', "`a-b` is not a variable name")):
        answer = exchange(c, b'{"op":"exec","id":"mine",%s}' % body)
        same((answer["id"], answer["error"]["code"]), ("mine", "bad_request"))
        assert word in answer["error"]["message"], answer
    answer = exchange(c, b'{"op":"exec","code":"\xff","id":"mine"}')
    same((answer["id"], answer["error"]["code"]), (None, "bad_request"))
    same(c.ask("ping"), {})


@test
def inputs_of_the_command_line():
    for text, want in (('"a\\u0000b"', "a\0b"), ('{"__type__":"str","data":"7aCA"}', "\ud800"), ('"\\ud83d\\ude00"', "\U0001f600")):
        result, run = exec_json("x == %a" % want, "--input", "x=" + text)
        check("--input " + text, result.get("value") is True, run)
    r = subprocess.run([AJ, "exec", "--input", 'x="\\ud800"', "-c", "x"], capture_output=True, timeout=60)
    check("--input of a lone surrogate is refused", r.returncode == 2 and b"the value of `x` is not JSON" in r.stderr, r)


main()
