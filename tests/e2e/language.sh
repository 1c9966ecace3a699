#!/bin/sh
# Whether a snippet has the whole language, with the import check and the restricted builtins on.
# It is no test of Python; each case is a construct that a half-built interpreter or checker would not know.
. "$(dirname "$0")/../lib.sh"

number=0
while IFS='|' read -r name want code; do
	number=$((number + 1))
	json "$name" 0 status=ok "value=$want" -- exec -c "$(printf '%b' "$code")"
done <<'TABLE'
class and inheritance|3|class A:\n    def __init__(s, n): s.n = n\n    def f(s): return s.n\nclass B(A):\n    def f(s): return super().f() + 1\nB(2).f()
property, staticmethod, classmethod|[1,2,3]|class A:\n    @property\n    def a(s): return 1\n    @staticmethod\n    def b(): return 2\n    @classmethod\n    def c(k): return 3\n[A().a, A.b(), A.c()]
slots and operators|7|class V:\n    __slots__ = ("x",)\n    def __init__(s, x): s.x = x\n    def __add__(s, o): return V(s.x + o.x)\n(V(3) + V(4)).x
decorator with arguments|6|def times(n):\n    def wrap(f): return lambda *a: n * f(*a)\n    return wrap\n@times(3)\ndef f(x): return x\nf(2)
metaclass|tag|class M(type):\n    def __new__(m, n, b, d): d["tag"] = "tag"; return super().__new__(m, n, b, d)\nclass C(metaclass=M): pass\nC.tag
generator and send|[0,10,1]|def g():\n    x = yield 0\n    yield x\n    yield from (1,)\ni = g()\n[next(i), i.send(10), next(i)]
comprehensions|[[0,1,4],{"0":0},3]|[[x * x for x in range(3)], {str(k): k for k in range(1)}, len({x for x in (1, 2, 3, 3)})]
walrus|10|[y := 5, y * 2][1]
match|[1,"pair 2 3","key v","other"]|def f(x):\n    match x:\n        case int(): return 1\n        case [a, b]: return f"pair {a} {b}"\n        case {"k": v}: return f"key {v}"\n        case _: return "other"\n[f(0), f([2, 3]), f({"k": "v"}), f("z")]
try, else, finally|["e","f"]|r = []\ntry:\n    1 / 0\nexcept ZeroDivisionError as e: r.append("e")\nelse: r.append("no")\nfinally: r.append("f")\nr
raise from|ValueError|try:\n    try: {}["x"]\n    except KeyError as k: raise ValueError from k\nexcept ValueError as e: x = type(e).__name__\nx
with and context manager|[1,2,3]|from contextlib import contextmanager\nr = []\n@contextmanager\ndef c():\n    r.append(1); yield; r.append(3)\nwith c(): r.append(2)\nr
async and await|3|async def f(x): return x\nasync def g(): return await f(1) + await f(2)\nawait g()
async generator and comprehension|[0,1]|async def g():\n    for i in range(2): yield i\n[x async for x in g()]
lambda, closure, nonlocal|2|def c():\n    n = 0\n    def f():\n        nonlocal n\n        n += 1\n        return n\n    return f\nf = c()\nf(); f()
star arguments|[1,[2,3],4,{"k":5}]|def f(a, *b, c, **d): return [a, list(b), c, d]\nf(1, *[2, 3], c=4, **{"k": 5})
positional-only and defaults|3|def f(a, /, b=2): return a + b\nf(1)
unpacking|[1,[2,3],4]|a, *b, c = 1, 2, 3, 4\n[a, b, c]
f-string formats|0x1f  2.50 'q'|f"{31:#x} {2.5:5.2f} {chr(113)!r}"
slices and del|[1,4]|x = [1, 2, 3, 4]\ndel x[1:3]\nx
while, else, break, continue|9|t = 0\nfor i in range(10):\n    if i % 2: continue\n    if i > 6: break\n    t += i\nwhile t < 9: t -= 1\nelse: t -= 3\nt
dataclass|[1,2]|from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n    y: int = 2\np = P(1)\n[p.x, p.y]
enum|B|from enum import Enum\nclass E(Enum):\n    A = 1\n    B = 2\nE(2).name
type hints|3|def f(x: int, y: "list[int]" = None) -> int: return x\nz: int = f(3)\nz
global statement|5|n = 1\ndef f():\n    global n\n    n = 5\nf()\nn
recursion|55|fib = lambda n: n if n < 2 else fib(n - 1) + fib(n - 2)\nfib(10)
big numbers|40|len(str(2 ** 130))
sorting with a key|["b","aa"]|sorted(["aa", "b"], key=len)
regular expression|42|import re\nre.search("[0-9]+", "x42y").group()
json both ways|{"a":[1,null]}|import json\njson.loads(json.dumps({"a": [1, None]}))
date arithmetic|2024-03-01|from datetime import date, timedelta\nstr(date(2024, 2, 28) + timedelta(days=2))
decimal|0.3|from decimal import Decimal\nstr(Decimal("0.1") + Decimal("0.2"))
Counter and defaultdict|[["a",2]]|from collections import Counter\n[list(x) for x in Counter("aab").most_common(1)]
itertools and functools|24|from functools import reduce\nfrom itertools import count, islice\nreduce(lambda a, b: a * b, islice(count(1), 4))
statistics|2.5|import statistics\nstatistics.median([1, 2, 3, 4])
hash|ba7816bf|import hashlib\nhashlib.sha256(b"abc").hexdigest()[:8]
csv|["1","2"]|import csv\nnext(csv.reader(["1,2"]))
exception group|1|try:\n    raise ExceptionGroup("g", [ValueError(1), TypeError(2)])\nexcept ExceptionGroup as g: n = len([e for e in g.exceptions if isinstance(e, ValueError)])\nn
TABLE
check "control: the table was read" test "$number" -gt 30
json "control: a wrong expectation fails here too" 0 'value!^3$' -- exec -c '2'

# C code imports by way of the snippet's __import__: the tree's table says which modules.
json "strptime" 0 status=ok 'value=["2020-05-03",17]' -- exec -c 'import datetime, time
[str(datetime.datetime.strptime("3 May 2020", "%d %b %Y").date()), time.strptime("17:40", "%H:%M").tm_hour]'
data=$(dirname "$ROOTFS")/data
if [ -f "$data/manifest" ] && grep -q '^with .*numpy' "$data/manifest"; then
	json "methods of arrays" 0 status=ok 'value=[45.0,4.5,"array([0, 1])"]' -- exec --rootfs "$data" --policy data-analysis -c 'import numpy as np
a = np.arange(10.0)
[float(a.sum()), float(a.mean()), repr(np.arange(2))]'
else
	skip "methods of arrays" "build/rootfs/data has no numpy (rootfs/build.sh --with numpy)"
fi

# Modules that are loaded before the filter stands, as --allow-import says; extension modules cannot be mapped later.
allow=
for module in asyncio threading concurrent.futures os tempfile sqlite3 zlib gzip bz2 lzma random uuid xml.etree.ElementTree; do
	allow="$allow --allow-import $module"
done

# With the layer off, more of the library: what must work under the filter of system calls alone.
while IFS='|' read -r name want code; do
	# shellcheck disable=SC2086
	json "layer off: $name" 0 status=ok "value=$want" -- exec --layer off $allow -c "$(printf '%b' "$code")"
done <<'TABLE'
asyncio|[1,2]|import asyncio\nasync def f(x):\n    await asyncio.sleep(0.01)\n    return x\nasync def m(): return await asyncio.gather(f(1), f(2))\nasyncio.run(m())
threads|499500|import threading\nt = []\ndef f(n): t.append(sum(range(n)))\nx = threading.Thread(target=f, args=(1000,)); x.start(); x.join()\nt[0]
thread pool|[0,1,4]|from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(2) as p: r = list(p.map(lambda x: x * x, range(3)))\nr
files in /tmp|data|import os, tempfile\nwith tempfile.TemporaryDirectory() as d:\n    p = os.path.join(d, "f")\n    open(p, "w").write("data")\n    r = open(p).read()\nr
sqlite|[[3]]|import sqlite3\nc = sqlite3.connect(":memory:")\n[list(r) for r in c.execute("select 1 + 2")]
sqlite in a file|[[5]]|import sqlite3\nc = sqlite3.connect("/tmp/x.db")\nc.execute("create table t (x)"); c.execute("insert into t values (5)"); c.commit()\n[list(r) for r in c.execute("select x from t")]
compression|True|import zlib, gzip, bz2, lzma\nb = b"x" * 1000\nstr(all(m.decompress(m.compress(b)) == b for m in (zlib, gzip, bz2, lzma)))
random and uuid|True|import random, uuid\nstr(random.random() != random.random() and uuid.uuid4() != uuid.uuid4())
xml|t|import xml.etree.ElementTree as e\ne.fromstring("<a><t/></a>")[0].tag
TABLE

finish
