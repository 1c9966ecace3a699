"""Requests that guest/plain_request.c takes apart, beside runtime/request.py: C may decline what the layer reads, and takes out nothing else.
Run by test_plain.py in a process of its own, as the runner's library is loaded here. Usage: FOLDER GUEST.SO COUNT SEED
"""

import ctypes
import json
import random
import sys

PLAIN = (("2+2", "<snippet>", 0, False), ("x = 'é'\n", "agent.py", 5000, True), ("", "f", (1 << 64) - 1, False), ("a\0b", "é.py", 1, True))
PIECES = (b"2+2", b"x = 1\n", b"\xc3\xa9", b"\xff", b"\xed\xa0\x80", b"\0", b"<snippet>", b"{}", b"", b"\xf0\x9f\x98\x80")


def framed(flags, soft_ms, name, code, rest=b"", name_bytes=None, code_bytes=None):
    numbers = ((flags, 4), (soft_ms, 8), (len(name) if name_bytes is None else name_bytes, 4), (len(code) if code_bytes is None else code_bytes, 4))
    return b"".join([number.to_bytes(size, "little") for number, size in numbers]) + name + code + rest


def main():
    folder, library, count, seed = sys.argv[1:]
    sys.path.insert(0, folder)
    take = ctypes.PyDLL(library).aj_plain_request_in_test
    take.restype, take.argtypes = ctypes.py_object, (ctypes.c_char_p, ctypes.c_size_t)
    from agentjail.runtime.request import read_request
    wrong, accepted, chance = [], 0, random.Random(seed)

    def judge(data, must=None):
        taken = take(data, len(data))
        try:
            req, policy = read_request(data)
            known = (req["code"], req["filename"], req["soft_ms"], req["last"])
            others = {key: value for key, value in req.items() if key not in ("code", "filename", "soft_ms", "last")}
            plain = not policy and others == {key: value for key, value in read_request(framed(1, 0, b"", b""))[0].items() if key in others}
        except ValueError:
            known, plain = None, False
        if taken and (taken != known or not plain) or must is not None and taken != must:
            wrong.append([repr(data), repr(taken), repr(known)])
        return bool(taken)

    for code, name, soft_ms, last in PLAIN:
        whole = framed(3 if last else 1, soft_ms, name.encode(), code.encode())
        judge(whole, (code, name, soft_ms, last))
        for end in range(len(whole)):
            judge(whole[:end], ())
        for bit in range(2, 32):
            judge((whole[0] | 1 << bit).to_bytes(4, "little") + whole[4:], ())
        for changed in (b"{}" + whole, whole + b"{}", whole + b" ", framed(0, 0, name.encode(), b""), framed(1, 0, b"f", b"\xff"), framed(1, 0, b"\xff", b"1"),
                        framed(1, 0, b"f", b"1", name_bytes=(1 << 32) - 1), framed(1, 0, b"f", b"1", code_bytes=(1 << 32) - 1),
                        framed(1, 0, b"f", b"1", name_bytes=(1 << 32) - 1, code_bytes=3)):
            judge(changed, ())
    for _ in range(int(count)):
        name, code, rest = [b"".join(chance.choices(PIECES, k=chance.randrange(4))) for _ in range(3)]
        data = bytearray(framed(chance.choice((0, 1, 1, 1, 2, 3, 3, 5, 129)), chance.randrange(1 << 64), name, code, chance.choice((b"", b"", rest))))
        if chance.random() < 0.3:
            data[chance.randrange(len(data))] = chance.randrange(256)
        accepted += judge(bytes(data))
    print(json.dumps({"wrong": wrong[:20], "accepted": accepted, "count": int(count)}))


main()
