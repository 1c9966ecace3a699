"""A jail that lasts and lies on its control socket: what it says is a claim about its own run, or the end of it; never more.
After each lie the supervisor is as small as before, and the next session is as good as the first."""

import time

from client import FOLDER, Sessions, check, done
from procfs import status

POLICY = FOLDER + "/off.toml"
with open(POLICY, "w") as f:
    f.write('extends = "snippet"\n[python]\nlayer = false\n[limits]\nwall = "3s"\n')
TOOLS = [{"name": "t", "description": "d", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}]
LIES = r'''
import posix, json, time, _thread
def send(data):
    while data:
        data = data[posix.write(3, data):]
def frame(kind, body=b"", size=None):
    send((1 + len(body) if size is None else size).to_bytes(4, "big") + kind + body)
CLAIM = {"status": "ok", "value": "forged", "repr": "'forged'", "type": "str", "error": None, "errors": [], "final_answer": None, "is_final": False, "imports": [], "truncated": {}}
def claim(**more):
    return json.dumps(dict(CLAIM, **more)).encode()
def call(n, tool="t", args="{}"):
    frame(b"C", ('{"call":%s,"tool":%s,"args":%s}' % (n, json.dumps(tool), args)).encode())
'''
# Name: code; all of them end the session.
ENDED = {
    "a result with a wrong nonce": "frame(b'R', b'12345678' + claim())",
    "a result without a nonce": "frame(b'R', claim())",
    "an empty result": "frame(b'R')",
    "a result twice as soon as may be": "frame(b'R', b'00000000' + claim())\nframe(b'R', b'00000000' + claim())",
    "started again": "frame(b'S')",
    "armed again": "frame(b'A')",
    "a listener, late": "frame(b'L')",
    "failed, late": "frame(b'E', b'the runner could not start')",
    "ready, as a zygote": "frame(b'Y')",
    "a request to itself": "frame(b'Q', claim())",
    "a frame without a kind": "frame(b'', b'', 0)",
    "kind 0": "frame(b'\\0')",
    "every kind of frame": "for k in range(256):\n    frame(bytes([k]))",
    "a length of 2^32-1": "frame(b'R', b'x', 2**32 - 1)",
    "a length of 2^31": "frame(b'C', b'x', 2**31)",
    "garbage": "send(bytes(range(256)) * 4096)",
    "a byte of junk": "posix.write(3, b'x')\nwhile True: pass",
    "a part of a length": "posix.write(3, b'\\0\\0')\nwhile True: pass",
    "zeros for ever": "while True: send(bytes(65536))",
    "a call that is none": "frame(b'C', b'[]')",
    "a call that is not JSON": "frame(b'C', b'{')",
    "a call with a key twice": "frame(b'C', b'{\"call\":1,\"call\":2,\"tool\":\"t\",\"args\":{}}')",
    "a call with NaN": "call('NaN')",
    "a call with a negative number": "call(-1)",
    "a call with a number beyond 2^53": "call(2 ** 60)",
    "a call of bytes that are no text": "frame(b'C', b'{\"call\":1,\"tool\":\"\\xff\",\"args\":{}}')",
    "a call nested ten thousand deep": "call(1, 't', '{\"a\":' + '[' * 10000 + ']' * 10000 + '}')",
    "one number for two calls under way": "call(7)\ncall(7)",
    "answers that are never read, for want of room": "n = 4000000\nwhile True:\n    n += 1\n    call(n)",
    "a tool's answer to itself": "frame(b'T', b'{\"call\":1,\"value\":1}')",
}
# This one ends by its count of refused calls, before the answers that it does not read fill its socket.
REFUSED = {"answers that are never read": "while True: call(1000000, 'none')"}
# These only harm the liar's own run.
HARMLESS = {
    "calls of tools that are none": "for n, name in enumerate(('none', '__class__', '../x', '', 'x' * 100000)):\n    call(n + 1000000, name)\n    posix.read(3, 100000)\n'alive'",
    "calls whose arguments do not fit": "for n in range(100):\n    call(n + 2000000, 't', '{\"a\":\"x\"}')\n    posix.read(3, 100000)\n'alive'",
    "a call of a million empty lists": "call(3000000, 't', '{\"a\":[' + '[],' * 1000000 + '[]]}')\nassert b'ArgumentError' in posix.read(3, 100000)\n'alive'",
    "a call byte by byte, after its length": "body = b'{\"call\":1000000,\"tool\":\"none\",\"args\":{}}'\n"
                           "posix.write(3, (1 + len(body)).to_bytes(4, 'big'))\n"
                           "for byte in b'C' + body:\n    posix.write(3, bytes([byte]))\n    time.sleep(0.002)\n"
                           "posix.read(3, 100000)\n'alive'",
}


def size(service):
    return int(status(service.pid)["VmRSS"].split()[0])


service = Sessions(POLICY)
service.open("warm-up")
service.run("warm-up", "1")
service.close("warm-up")
first = size(service)
most = int(status(service.pid)["VmHWM"].split()[0])


def neighbour():
    """A session beside and after all lies."""
    service.open("good", tools=TOOLS)
    service.start("good", "t(a=5) + 1")
    event = service.wait("call")
    service.send("tool_result", "good", call=event["call"], value=event["args"]["a"] * 2)
    result = service.result("good")
    service.close("good")
    return result.get("value") == 11, result


for name, code in {**ENDED, **REFUSED}.items():
    status_wanted = "limit" if name in REFUSED else "protocol_error"
    service.open("liar", tools=TOOLS)
    setup = service.run("liar", LIES)
    service.start("liar", code)
    result = service.result("liar")
    why = service.wait("ended", "liar")["why"]
    check(name + ": " + status_wanted, result.get("status") == status_wanted and result.get("session") == "ended", result)
    check(name + ": nothing of it is passed on", result.get("value") is None and not result.get("final_answer") and "forged" not in str(result), result)
    check(name + ": and no more can be run", service.run("liar", "1").get("event") == "error")
    service.close("liar")
check("an honest session works after all forged answers", *neighbour())

for name, code in HARMLESS.items():
    service.open("odd", tools=TOOLS)
    service.run("odd", LIES)
    result = service.run("odd", code)
    check(name + ": is the end of nothing", result.get("value") == "alive" and result.get("session") == "alive", result)
    service.close("odd")

# --- by a thread that a snippet left behind: it does not run between snippets, as all of Python does not, and speaks up in the next one ---
for name, code in {"a frame": "frame(b'S')", "a result": "frame(b'R', b'12345678' + claim())", "half a frame": "send(b'\\5')",
                   "two gigabytes announced": "frame(b'R', b'', 2**31)"}.items():
    service.open("late", tools=TOOLS)
    service.run("late", LIES)
    result = service.run("late", "go, said = [], []\ndef later():\n    while not go: time.sleep(0.001)\n    %s\n    said.append(1)\n_thread.start_new_thread(later, ())\n5" % code)
    check(name + " after the answer: the answer was there before", result.get("value") == 5, result)
    result = service.run("late", "go.append(1)\nwhile not said: time.sleep(0.001)")
    check(name + " after the answer: ends the session", result.get("status") in ("protocol_error", "timeout") and result.get("session") == "ended", result)
    service.close("late")

service.open("shut")
service.run("shut", LIES)
result = service.run("shut", "posix.close(3)\n5")
check("a channel that is closed: no answer", result.get("status") == "error" and result.get("value") is None, result)
check("and the session ends at once", service.wait("ended", "shut")["event"] == "ended")
service.close("shut")

# --- a hundred calls at once: those beyond the limit are told so, and the run continues ---
service.events.clear()
service.open("crowd", tools=TOOLS)
service.run("crowd", LIES)
service.start("crowd", "for n in range(1000000, 1000100):\n    call(n)\nseen = b''\nwhile seen.count(b'too many calls') < 36:\n    seen += posix.read(3, 65536)\n'alive'")
result = service.result("crowd")
check("of a hundred calls at once 64 run and 36 are refused", result.get("value") == "alive", result)
calls = [e for e in service.events if e["event"] == "call"]
check("64 calls came to the host", len(calls) == 64, len(calls))
service.send("tool_result", "crowd", call=calls[0]["call"], value=1)
check("and after the answer nobody waits for them", service.wait("error", "crowd")["code"] == "no_such_request")
service.events.clear()
check("the session continues", service.run("crowd", "7").get("value") == 7)
service.close("crowd")

check("a good session at last", *neighbour())
time.sleep(0.2)
peak = int(status(service.pid)["VmHWM"].split()[0])
check("the supervisor stayed small (%d KiB before, %d after, %d at most)" % (first, size(service), peak), peak < most + (48 << 10), peak)
check("no log tells of trouble", service.said().count("\n") == 1, service.said())
check("the service ends", service.stop() == 0)
done()
