"""Honest programs, as models write them, that must run with the layer on: the whole language and the usual modules.
It refuses to call a program fine because it ran: each states the value of its last expression.
"""

import sys

from harness import STDLIB, request, run

# (name, code, expected repr of the last expression). Minimum version as a fourth item where syntax needs one.
PROGRAMS = [
    ("arithmetic", "2 + 2", "4"),
    ("no-value", "x = 1", "None"),
    ("docstring-only", "'hello'", "'hello'"),
    ("loop", "t = 0\nfor i in range(10):\n    if i % 2: continue\n    t += i\nelse: t += 100\nt", "120"),
    ("while-break", "n = 0\nwhile True:\n    n += 1\n    if n == 5: break\nn", "5"),
    ("function-defaults", "def f(a, /, b=2, *args, c, **kw): return a + b + c + sum(args) + len(kw)\nf(1, 2, 3, c=4, d=5)", "11"),
    ("closure-nonlocal", "def counter():\n    n = 0\n    def inc():\n        nonlocal n\n        n += 1\n        return n\n    return inc\nc = counter(); c(); c()", "2"),
    ("global", "n = 0\ndef f():\n    global n\n    n += 1\nf(); f()\nn", "2"),
    ("lambda-map", "list(map(lambda x: x * 2, filter(None, [0, 1, 2])))", "[2, 4]"),
    ("recursion", "def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\nfib(15)", "610"),
    ("comprehensions", "[{x: y} for x in range(2) for y in range(2) if x != y], {i for i in 'aab'} == {'a', 'b'}, {k: v for k, v in [(1, 2)]}", "([{0: 1}, {1: 0}], True, {1: 2})"),
    ("generator", "def g():\n    x = yield 1\n    yield x\n    yield from [7, 8]\n    return 9\ni = g()\n(next(i), i.send(5), list(i))", "(1, 5, [7, 8])"),
    ("generator-expression", "sum(x * x for x in range(4))", "14"),
    ("class-basic", "class P:\n    def __init__(self, x): self.x = x\n    def __repr__(self): return f'P({self.x})'\nP(3)", "P(3)"),
    ("class-inherit-super", "class A:\n    def __init__(self, n): self.n = n\n    def hi(self): return 'A'\nclass B(A):\n    def __init__(self, n):\n        super().__init__(n)\n        self.m = n * 2\n    def hi(self): return super().hi() + 'B'\nb = B(2); (b.hi(), b.m)", "('AB', 4)"),
    ("class-explicit-base-init", "class A:\n    def __init__(self): self.v = 1\nclass B(A):\n    def __init__(self): A.__init__(self)\nB().v", "1"),
    ("class-name", "class A:\n    def who(self): return self.__class__.__name__\n(A().who(), type(A()).__name__, A.__doc__)", "('A', 'A', None)"),
    ("class-compare-class", "class V:\n    def __init__(s, x): s.x = x\n    def __eq__(s, o): return o.__class__ is s.__class__ and s.x == o.x\n    def __hash__(s): return hash(s.x)\n(V(1) == V(1), V(1) == 1, len({V(1), V(1)}))", "(True, False, 1)"),
    ("class-operators", "class V:\n    def __init__(s, *c): s.c = c\n    def __add__(s, o): return V(*[a + b for a, b in zip(s.c, o.c)])\n    def __mul__(s, k): return V(*[a * k for a in s.c])\n    __rmul__ = __mul__\n    def __getitem__(s, i): return s.c[i]\n    def __len__(s): return len(s.c)\n    def __bool__(s): return any(s.c)\n    def __call__(s, i): return s.c[i]\n    def __contains__(s, x): return x in s.c\n    def __iter__(s): return iter(s.c)\nv = 2 * (V(1, 2) + V(3, 4))\n(list(v), len(v), v(0), 8 in v, bool(v))", "([8, 12], 2, 8, True, True)"),
    ("class-private-names", "class A:\n    def __init__(self): self.__secret = 5; self._half = 2\n    def get(self): return self.__secret + self._half\nA().get()", "7"),
    ("class-slots", "class A:\n    __slots__ = ('x',)\n    def __init__(self): self.x = 1\nA().x", "1"),
    ("class-property", "class A:\n    def __init__(self): self._v = 1\n    @property\n    def v(self): return self._v\n    @v.setter\n    def v(self, x): self._v = x\n    @staticmethod\n    def s(): return 's'\n    @classmethod\n    def c(cls): return cls.__name__\na = A(); a.v = 4\n(a.v, A.s(), A.c())", "(4, 's', 'A')"),
    ("class-descriptor", "class D:\n    def __set_name__(self, owner, name): self.name = '_' + name\n    def __get__(self, o, t=None): return getattr(o, self.name, 0)\n    def __set__(self, o, v): setattr(o, self.name, v + 1)\nclass A: x = D()\na = A(); a.x = 1\na.x", "2"),
    ("class-init-subclass", "class R:\n    kinds = []\n    def __init_subclass__(cls, **kw):\n        super().__init_subclass__(**kw)\n        R.kinds.append(cls.__name__)\nclass X(R): pass\nR.kinds", "['X']"),
    ("class-getattr", "class A:\n    def __getattr__(self, n): return n.upper()\n    def __getitem__(self, k): return k\nA().hello", "'HELLO'"),
    ("class-setattr-hook", "class A:\n    def __setattr__(self, n, v): super().__setattr__(n, v * 2)\na = A(); a.x = 2\na.x", "4"),
    ("class-object-setattr", "class A:\n    def __init__(self): object.__setattr__(self, 'x', 3)\n    def __setattr__(self, n, v): raise TypeError\nA().x", "3"),
    ("class-getitem", "class A:\n    def __class_getitem__(cls, k): return (cls.__name__, k)\nA[int]", "('A', <class 'int'>)"),
    ("class-new-singleton", "class S:\n    one = None\n    def __new__(cls):\n        if cls.one is None: cls.one = super().__new__(cls)\n        return cls.one\nS() is S()", "True"),
    ("metaclass-registry", "class M(type):\n    known = {}\n    def __new__(m, name, bases, ns):\n        c = super().__new__(m, name, bases, ns)\n        m.known[name] = c\n        return c\n    def __call__(cls, *a):\n        return super().__call__(*a)\nclass A(metaclass=M): pass\nA()\nlist(M.known)", "['A']"),
    ("type-three-arguments", "C = type('C', (object,), {'x': 1, '__repr__': lambda s: 'C!'})\nC()", "C!"),
    ("mro-isinstance", "class A: pass\nclass B(A): pass\n(isinstance(B(), A), issubclass(B, A), B.mro()[1].__name__)", "(True, True, 'A')"),
    ("context-manager", "class C:\n    def __enter__(self): return 1\n    def __exit__(self, *a): return True\nwith C() as c, C():\n    1 / 0\nc", "1"),
    ("contextlib", "from contextlib import contextmanager, suppress\n@contextmanager\ndef m():\n    yield 5\nwith m() as x, suppress(KeyError): {}['a']\nx", "5"),
    ("redirect-stdout", "import io, contextlib\nb = io.StringIO()\nwith contextlib.redirect_stdout(b): print('hi')\nb.getvalue()", "'hi\\n'"),
    ("decorator-wraps", "import functools\ndef deco(f):\n    @functools.wraps(f)\n    def w(*a, **k): return f(*a, **k) + 1\n    return w\n@deco\ndef g(x):\n    'doc'\n    return x\n(g(1), g.__name__, g.__doc__, g.__wrapped__(1))", "(2, 'g', 'doc', 1)"),
    ("function-source", "import functools\nclass A:\n    @functools.lru_cache  # kept\n    def m(self): return 'a'\ndef f(x,\n      y=1):\n    # a comment\n    return x\n(f.__source__, A.m.__wrapped__.__source__)", "('def f(x, y=1):\\n    return x', \"@functools.lru_cache\\ndef m(self):\\n    return 'a'\")"),
    ("function-without-source", "import json\n[hasattr(f, '__source__') for f in (lambda: 1, json.dumps, print, eval('lambda: 2'), int, 3)]", "[False, False, False, False, False, False]"),
    ("decorator-by-hand", "def deco(f):\n    def w(*a): return f(*a)\n    w.__name__ = f.__name__\n    w.__doc__ = f.__doc__\n    return w\n@deco\ndef g(): pass\ng.__name__", "'g'"),
    ("decorator-class", "class Count:\n    def __init__(self, f): self.f, self.n = f, 0\n    def __call__(self, *a):\n        self.n += 1\n        return self.f(*a)\n@Count\ndef f(): pass\nf(); f()\nf.n", "2"),
    ("try-finally", "log = []\ntry:\n    try: raise KeyError('k')\n    except ValueError: pass\n    finally: log.append('f')\nexcept (KeyError, TypeError) as e: log.append(str(e))\nelse: log.append('no')\nlog", "['f', \"'k'\"]"),
    ("exception-class", "class MyError(Exception):\n    def __init__(self, code):\n        super().__init__(f'code {code}')\n        self.code = code\ntry:\n    try: {}['x']\n    except KeyError as e: raise MyError(3) from e\nexcept MyError as e: r = (str(e), e.code, type(e.__cause__).__name__, e.args)\nr", "('code 3', 3, 'KeyError', ('code 3',))"),
    ("except-star", "out = []\ntry: raise ExceptionGroup('g', [ValueError(1), TypeError(2)])\nexcept* ValueError as e: out.append(len(e.exceptions))\nexcept* TypeError: out.append('t')\nout", "[1, 't']"),
    ("add-note", "e = ValueError('x'); e.add_note('n')\ne.__notes__", "['n']"),
    ("assert", "try: assert 1 == 2, 'no'\nexcept AssertionError as e: r = str(e)\nr", "'no'"),
    ("match-literals", "def f(x):\n    match x:\n        case 0: return 'zero'\n        case 'a' | 'b': return 'ab'\n        case [1, *rest]: return rest\n        case {'k': v, **more}: return (v, more)\n        case int() as n if n > 5: return n\n        case str(s): return s\n        case None: return 'none'\n        case _: return '?'\n[f(0), f('b'), f([1, 2, 3]), f({'k': 1, 'z': 2}), f(9), f('long'), f(None), f(2.5)]", "['zero', 'ab', [2, 3], (1, {'z': 2}), 9, 'long', 'none', '?']"),
    ("match-dataclass-positional", "from dataclasses import dataclass\n@dataclass\nclass Point:\n    x: int\n    y: int\ndef f(p):\n    match p:\n        case Point(0, y): return ('on axis', y)\n        case Point(x, y): return (x, y)\n(f(Point(0, 2)), f(Point(3, 4)))", "(('on axis', 2), (3, 4))"),
    ("match-args-literal", "class P:\n    __match_args__ = ('x', 'y')\n    def __init__(s, x, y): s.x, s.y = x, y\nmatch P(1, 2):\n    case P(a, b): r = (a, b)\nr", "(1, 2)"),
    ("match-inherited", "from dataclasses import dataclass\nclass Shape: pass\n@dataclass(frozen=True)\nclass Circle(Shape): r: float\n@dataclass\nclass Sq(Shape): a: float\ndef area(s):\n    match s:\n        case Circle(r): return 3 * r\n        case Sq(a=a): return a * a\n(area(Circle(2)), area(Sq(3)))", "(6, 9)"),
    ("match-abc-dataclass", "from abc import ABC, abstractmethod\nimport dataclasses\nclass S(ABC):\n    @abstractmethod\n    def area(self): ...\n@dataclasses.dataclass\nclass C(S):\n    r: int\n    def area(self): return self.r\nmatch C(2):\n    case C(r): v = r\nv", "2"),
    ("match-enum-value", "from enum import Enum\nclass Color(Enum):\n    RED = 1\n    BLUE = 2\ndef f(c):\n    match c:\n        case Color.RED: return 'r'\n        case Color.BLUE: return 'b'\n(f(Color.BLUE), Color['RED'].value, Color(2).name, [c.name for c in Color])", "('b', 1, 'BLUE', ['RED', 'BLUE'])"),
    ("walrus", "[y for x in range(4) if (y := x * x) > 1]", "[4, 9]"),
    ("f-strings", "x = 3.14159; n = 'w'\nf'{x:.2f} {n!r:>5} {x=:.1f} {\"a\" + n} {{}}'", "\"3.14   'w' x=3.1 aw {}\""),
    ("str-format", "'{} {1[0]} {name:>4} {0.real}'.format(1, [2], name='n') if 0 else '{0} {1[0]} {name:>4} {0.real} {0:{w}}'.format(1, [2], name='n', w=3)", "'1 2    n 1   1'"),
    ("str-format-map", "'{a}-{b:.1f}'.format_map({'a': 1, 'b': 2})", "'1-2.0'"),
    ("percent-format", "'%s %05.1f %(x)s' % () if 0 else '%s %05.1f' % ('a', 2)", "'a 002.0'"),
    ("format-own-method", "class T:\n    def format(self, x): return x + 1\n    obj = 5\nt = T(); (t.format(1), t.obj, list(map('{:02d}'.format, [1, 2])))", "(2, 5, ['01', '02'])"),
    ("format-builtin", "format(3.14159, '.2f') + format(255, 'x')", "'3.14ff'"),
    ("star-unpacking", "a, *b, c = range(5)\nd = {**{'x': 1}, 'y': 2}\n(b, [*b, *d], (lambda *a, **k: (a, k))(*b, **d))", "([1, 2, 3], [1, 2, 3, 'x', 'y'], ((1, 2, 3), {'x': 1, 'y': 2}))"),
    ("slices-del", "l = list(range(6)); del l[::2]; l[0:1] = [9, 9]\nl", "[9, 9, 3, 5]"),
    ("augmented", "x = [1]; y = x; x += [2]; n = 5; n //= 2; n **= 3; n <<= 1\n(y, n)", "([1, 2], 16)"),
    ("async-await", "async def f(x): return x * 2\nasync def main():\n    return [await f(i) for i in range(3)]\nawait main()", "[0, 2, 4]"),
    ("async-gen-for", "async def g():\n    for i in range(3): yield i\nout = []\nasync for i in g(): out.append(i)\nout", "[0, 1, 2]"),
    ("async-with", "class C:\n    async def __aenter__(self): return 4\n    async def __aexit__(self, *a): pass\nasync with C() as c: pass\nc", "4"),
    ("asyncio-run", "import asyncio\nasync def f(n):\n    await asyncio.sleep(0.01)\n    return n\nasync def main(): return await asyncio.gather(f(1), f(2))\nasyncio.run(main())", "[1, 2]"),
    ("asyncio-top-level", "import asyncio\nasync def f():\n    await asyncio.sleep(0.001)\n    return 'x'\nawait asyncio.wait_for(f(), 60)", "'x'"),
    ("type-hints", "from typing import Optional, List, Dict, Callable, TypeVar, Generic\nT = TypeVar('T')\nclass Box(Generic[T]):\n    item: Optional[T] = None\n    def get(self) -> List[T]: return [self.item]\ndef f(x: int, g: Callable[[int], str] = str) -> Dict[str, int]: return {g(x): x}\n(f(3), Box[int]().get(), f.__annotations__['x'])", "({'3': 3}, [None], <class 'int'>)"),
    ("future-annotations", "from __future__ import annotations\nfrom dataclasses import dataclass\n@dataclass\nclass N:\n    next: N | None = None\nN(N())", "N(next=N(next=None))"),
    ("get-type-hints", "import typing\nclass A:\n    x: 'int | None'\n    y: 'list[str]'\ntyping.get_type_hints(A)['x']", "int | None"),
    ("dataclass-full", "from dataclasses import dataclass, field, asdict, replace, fields\n@dataclass(order=True)\nclass D:\n    a: int\n    b: list = field(default_factory=list)\n    def __post_init__(self): self.b.append(self.a)\nd = D(1)\n(asdict(d), replace(d, a=2, b=[]), D(1) < D(2), [f.name for f in fields(D)])", "({'a': 1, 'b': [1]}, D(a=2, b=[2]), True, ['a', 'b'])"),
    ("namedtuple", "from collections import namedtuple\nfrom typing import NamedTuple\nP = namedtuple('P', 'x y')\nclass Q(NamedTuple):\n    z: int = 3\n(P(1, 2)._replace(x=5)._asdict(), Q())", "({'x': 5, 'y': 2}, Q(z=3))"),
    ("enum-flag", "from enum import Flag, IntEnum, auto\nclass F(Flag):\n    A = auto()\n    B = auto()\nclass I(IntEnum):\n    X = 5\n(F.A | F.B) & F.B == F.B and I.X + 1", "6"),
    ("abc", "from abc import ABC, abstractmethod\nclass A(ABC):\n    @property\n    @abstractmethod\n    def v(self): ...\ntry: A()\nexcept TypeError as e: r = 'abstract' in str(e)\nr", "True"),
    ("collections", "from collections import Counter, defaultdict, deque, OrderedDict, ChainMap\nd = defaultdict(list); d['a'].append(1)\n(Counter('aab').most_common(1), dict(d), deque([1, 2], 1)[0], ChainMap({1: 2})[1])", "([('a', 2)], {'a': [1]}, 2, 2)"),
    ("collections-abc", "from collections.abc import Iterable, Mapping\nimport collections.abc\n(isinstance([], Iterable), issubclass(dict, collections.abc.Mapping))", "(True, True)"),
    ("itertools-functools", "import itertools as it, functools\n@functools.lru_cache(maxsize=None)\ndef f(n): return n if n < 2 else f(n-1) + f(n-2)\n(list(it.chain([1], it.islice(it.count(5), 2))), functools.reduce(lambda a, b: a * b, [1, 2, 3]), f(50), f.cache_info().currsize)", "([1, 5, 6], 6, 12586269025, 51)"),
    ("singledispatch", "from functools import singledispatch, partial, cached_property, total_ordering\n@singledispatch\ndef f(x): return 'o'\n@f.register\ndef _(x: int): return 'i'\n@f.register(str)\ndef _(x): return 's'\n(f(1), f('a'), f(None), partial(int, base=2)('11'))", "('i', 's', 'o', 3)"),
    ("cached-property", "from functools import cached_property\nclass A:\n    n = 0\n    @cached_property\n    def v(self):\n        self.n += 1\n        return self.n\na = A(); a.v\na.v", "1"),
    ("json-re", "import json, re\nm = re.search(r'(?P<k>\\w+)=(\\d+)', 'a=12')\n(json.loads(json.dumps({'x': [1, None]})), m.group('k'), m[2], re.sub('a', 'b', 'aa'))", "({'x': [1, None]}, 'a', '12', 'bb')"),
    ("datetime", "from datetime import datetime, timedelta, timezone\nimport datetime as dt\n((datetime(2024, 1, 31, tzinfo=timezone.utc) + timedelta(days=1)).isoformat(), dt.date(2024, 2, 29).strftime('%d.%m.%y'))", "('2024-02-01T00:00:00+00:00', '29.02.24')"),
    ("math-stats", "import math, statistics, random\nrandom.seed(1)\n(math.isclose(math.sqrt(2) ** 2, 2), statistics.mean([1, 2, 3]), random.randint(1, 1), random.choice([7]))", "(True, 2, 1, 7)"),
    ("decimal-fractions", "from decimal import Decimal, getcontext\nfrom fractions import Fraction\ngetcontext().prec = 5\n(Decimal(1) / 3, Fraction(1, 3) + 1)", "(Decimal('0.33333'), Fraction(4, 3))"),
    ("string-module", "import string, textwrap\n(string.ascii_lowercase[:3], string.Template('$a').substitute(a=1), string.Formatter().format('{0} {x.real}', 1, x=2), textwrap.shorten('a b c d', 5, placeholder=''))", "('abc', '1', '1 2', 'a b c')"),
    ("heapq-bisect-copy", "import heapq, bisect, copy\nh = [3, 1]; heapq.heapify(h)\nd = copy.deepcopy({'a': [1]})\nclass A:\n    def __init__(s): s.l = [1]\nb = copy.copy(A())\n(heapq.heappop(h), bisect.bisect([1, 3], 2), d, b.l)", "(1, 1, {'a': [1]}, [1])"),
    ("operator", "import operator\nfrom operator import itemgetter, attrgetter\n(sorted([(2, 'a'), (1, 'b')], key=itemgetter(0)), operator.add(1, 2), attrgetter('real')(5), operator.methodcaller('upper')('a'))", "([(1, 'b'), (2, 'a')], 3, 5, 'A')"),
    ("hash-base64-uuid", "import hashlib, base64, uuid\n(hashlib.sha256(b'').hexdigest()[:4], base64.b64encode(b'a').decode(), len(str(uuid.uuid4())))", "('e3b0', 'YQ==', 36)"),
    ("logging", "import logging, io\ns = io.StringIO()\nl = logging.getLogger('x'); l.addHandler(logging.StreamHandler(s)); l.warning('w %d', 1)\ns.getvalue()", "'w 1\\n'"),
    ("getattr-setattr", "class A: pass\na = A()\nsetattr(a, 'x', 1)\n(getattr(a, 'x'), getattr(a, 'nope', 2), hasattr(a, 'x'), hasattr(a, '__iter__'), hasattr([], '__len__'), delattr(a, 'x'))", "(1, 2, True, False, True, None)"),
    ("main-guard", "def main(): return 'ran'\nif __name__ == '__main__':\n    r = main()\nr", "'ran'"),
    ("f-score-names", "class N:\n    def __init__(s): s.f_score = 1; s.co_author = 'x'; s.tb_count = 2; s.cr_limit = 3; s.gi_joe = 4\nn = N(); n.f_score + n.tb_count", "3"),
    ("underscore-names", "_ = 1; __ = 2; _x = 3; ___ = 4\nfor _ in range(2): pass\n_ + __ + _x + ___", "10"),
    ("shadow-builtins", "list = [1]; str = 'x'; type = 5\n(list, str, type)", "([1], 'x', 5)"),
    ("sorting-keys", "sorted([{'n': 2}, {'n': 1}], key=lambda d: (-d['n'],), reverse=True), max('ab', 'c', key=len), min([3, 1], default=0)", "([{'n': 1}, {'n': 2}], 'ab', 1)"),
    ("bytes-memoryview", "b = bytearray(b'abc'); m = memoryview(b); m[0] = 120\n(bytes(b), int.from_bytes(b'\\x01\\x00', 'big'), b'a'.hex())", "(b'xbc', 256, '61')"),
    ("big-ints", "(2 ** 200) % 1000007, pow(3, 100, 7), (5).bit_length(), 0x10, 1_000, 1e3, 1j * 1j", "(446616, 4, 3, 16, 1000, 1000.0, (-1+0j))"),
    ("unicode", "naïve = 'ü'; 变量 = '值'\nnaïve + 变量 + '\\N{BULLET}' + '😀'", "'ü值•😀'"),
    ("iter-sentinel", "it = iter([1, 2, 0, 3]); list(iter(lambda: next(it), 0))", "[1, 2]"),
    ("wrapped-print", "print('a', 'b', sep='-', end='!\\n', flush=True)", "None"),
    ("time", "import time\nt = time.perf_counter(); time.sleep(0.001)\ntime.perf_counter() - t > 0", "True"),
    ("queue-struct-array", "import queue, struct, array\nq = queue.PriorityQueue(); q.put(2); q.put(1)\n(q.get(), struct.unpack('<H', b'\\x01\\x00'), array.array('i', [1]).tolist())", "(1, (1,), [1])"),
    ("import-star", "from math import *\nfloor(pi)", "3"),
    ("import-in-function", "def f():\n    import math as m, json\n    from itertools import chain as c\n    return m.floor(2.5), list(c([1]))\nf()", "(2, [1])"),
    ("dunder-all", "__all__ = ['f']; __version__ = '1'; __author__ = 'me'\n__version__", "'1'"),
    ("class-body-code", "class A:\n    n = 3\n    for i in range(n): pass\n    sq = [x for x in range(3)]\n    def m(self): return __class__.n\n(A.i, A.sq, A().m())", "(2, [0, 1, 2], 3)"),
    ("conditional-import", "try:\n    import numpy\nexcept ImportError:\n    numpy = None\n1" if 0 else "try:\n    raise ImportError\nexcept ImportError: r = 1\nr", "1"),
    ("long-elif", "x = 50\n" + "if x == 0: r = 0\n" + "".join("elif x == %d: r = %d\n" % (i, i) for i in range(1, 80)) + "r", "50"),
    ("long-sum", "+".join(["1"] * 200), "200"),
    ("big-literal", "len([" + ",".join(str(i) for i in range(20000)) + "])", "20000"),
    ("type-params", "type X = int | str\ndef first[T](l: list[T]) -> T: return l[0]\nclass Box[T]:\n    def __init__(self, x: T): self.x = x\n(first([1]), Box(2).x, X.__name__)", "(1, 2, 'X')", (3, 12)),
    ("nested-f-quotes", "d = {'a': 1}\nf'{d['a']}'", "'1'", (3, 12)),
]

# Programs of the smallest set: what it holds is enough for functions and classes.
MINIMAL = [
    ("class", "class A:\n    def __init__(self, x): self.x = x\n    @property\n    def y(self): return self.x + 1\nA(1).y", "2"),
    ("math", "import math\nround(sum([abs(-1), max(1, 2), min(1, 2)]) + math.pi, 2)", "7.14"),
    ("errors", "try: int('x')\nexcept ValueError as e: r = type(e).__name__\nr", "'ValueError'"),
]


# Modules that a caller opts into, whose text, frames and lookups are guarded: (name, imports, code, repr).
OPTED = [
    ("inspect", ["inspect", "typing"], """
import inspect
from typing import Optional
class Node: pass
def f(a: "int", b: "Optional[Node]" = None, *c: "list[str]", d: float = 1.5) -> "None": pass
s = inspect.signature(f, eval_str=True)
(list(s.parameters), s.parameters['a'].annotation, s.parameters['b'].annotation == Optional[Node], s.return_annotation,
 inspect.get_annotations(f, eval_str=True)['d'], inspect.isfunction(f), inspect.getdoc(len)[:6], str(inspect.signature(sorted)))""",
     "(['a', 'b', 'c', 'd'], <class 'int'>, True, None, <class 'float'>, True, 'Return', '(iterable, /, *, key=None, reverse=False)')"),
    ("typing-hints", ["typing"], """
import typing
class Node:
    left: "Node | None"
    name: "str"
    items: "dict[str, list[int]]"
def f(a: "Node", *rest: "typing.Any") -> "typing.Union[int, str]": pass
h = typing.get_type_hints(Node)
(h['left'] == Node | None, h['name'], h['items'], typing.get_type_hints(f)['return'], typing.get_type_hints(f)['a'] is Node,
 typing.get_type_hints(f, localns={'Node': int})['a'])""",
     "(True, <class 'str'>, dict[str, list[int]], typing.Union[int, str], True, <class 'int'>)"),
    ("threading", ["threading"], """
import threading
got = []
lock = threading.Lock()
def work(n):
    with lock: got.append(n)
ts = [threading.Thread(target=work, args=(i,)) for i in range(3)]
for t in ts: t.start()
for t in ts: t.join()
(sorted(got), threading.current_thread().name)""", "([0, 1, 2], 'MainThread')"),
    ("timeit", ["timeit"], """
import timeit
n = []
def f(): n.append(1)
t = timeit.timeit(f, number=5)
r = timeit.Timer(f, setup=lambda: None, globals={}).repeat(2, 3)
(t >= 0, len(r), len(n), timeit.timeit(number=1) >= 0, timeit.default_timer() > 0)""", "(True, 2, 11, True, True)"),
    ("traceback", ["traceback"], """
import traceback
try: 1 / 0
except ZeroDivisionError as e:
    text = traceback.format_exc()
    lines = traceback.format_exception(e)
(text.splitlines()[-1], lines[-1], traceback.format_exception_only(KeyError(1)))""",
     "('ZeroDivisionError: division by zero', 'ZeroDivisionError: division by zero\\n', ['KeyError: 1\\n'])"),
    ("traceback-lines", ["traceback", "warnings"], """
import traceback, warnings
def f(d): return d["x"]["y"] + 1  # a form feed \\x0c ends no line
try: f({"x": {}})
except KeyError as e:
    text = traceback.format_exc()
    lines = [frame.line for frame in traceback.extract_tb(e.__traceback__)]
try: exec("1 / 0")
except ZeroDivisionError as e: lines.append(traceback.extract_tb(e.__traceback__)[-1].line)
(lines, [line.strip() for line in text.splitlines()[1:] if "File" not in line], warnings.formatwarning("w", UserWarning, "/etc/passwd", 1).count(chr(10)))""",
     """(['try: f({"x": {}})', 'def f(d): return d["x"]["y"] + 1  # a form feed \\\\x0c ends no line', ''], ['try: f({"x": {}})', '^^^^^^^^^^^^', """
     """'def f(d): return d["x"]["y"] + 1  # a form feed \\\\x0c ends no line', '~~~~~~^^^^^', "KeyError: 'y'"], 1)"""),
    ("unittest", ["unittest"], """
import unittest, unittest as u
class T(u.TestCase):
    def test_a(self): self.assertEqual(1, 1)
    def test_b(self): self.assertEqual(1, 2)
loader = u.TestLoader()
r = u.TestResult()
loader.loadTestsFromTestCase(T).run(r)
(r.testsRun, len(r.failures), loader.loadTestsFromName('T.test_a', type('M', (), {'T': T})).countTestCases())""", "(2, 1, 1)"),
    ("unittest-mock", ["unittest.mock"], """
from unittest.mock import Mock, MagicMock, call
m = MagicMock(return_value=3)
m(1); m.x.y.return_value = 5
(m(2), m.x.y(), m.call_args_list == [call(1), call(2)], Mock(side_effect=[1, 2])())""", "(3, 5, True, 1)"),
    ("metadata", ["importlib.metadata"], """
import importlib.metadata
try: importlib.metadata.version('no-such-package')
except importlib.metadata.PackageNotFoundError as e: x = str(e)
'no-such-package' in x""", "True"),
    ("gc-weakref", ["gc", "weakref"], "import gc, weakref\nclass A: pass\na = A(); r = weakref.ref(a); del a; gc.collect(); r() is None", "True"),
    ("singledispatch", ["functools"], """
import functools
@functools.singledispatch
def f(x): return 'other'
@f.register
def _(x: "int"): return 'int'
@f.register
def _(x: list): return 'list'
(f(1), f([]), f(''))""", "('int', 'list', 'other')"),
    # C code imports by way of the agent's __import__: the modules that these need are not allowed here.
    ("c-strptime", ["datetime", "time"], "import datetime, time\n(datetime.datetime.strptime('3 May 2020', '%d %b %Y').month, time.strptime('17:40', '%H:%M').tm_hour)", "(5, 17)"),
    ("c-date", ["datetime"], "import datetime\n(datetime.date.today().timetuple().tm_hour, datetime.date(2020, 5, 3).strftime('%d.%m.'))", "(0, '03.05.')"),
    ("c-memoryview", ["array"], "from array import array\nmemoryview(array('f', [1])) == memoryview(array('d', [1]))", "True"),
    ("c-character-name", [], "'°'.encode('ascii', 'namereplace')", "b'\\\\N{DEGREE SIGN}'"),
    ("pickle", "pickle dataclasses enum datetime decimal fractions collections functools uuid re random array io math types".split(), """import pickle, dataclasses, enum, datetime, decimal, fractions, collections, functools, uuid, re, random, array, io, math, types
class E(enum.Enum): a = 1
@dataclasses.dataclass
class D:
    x: int = 3
class Outer:
    class Inner:
        def __getstate__(self): return {'v': 1}
        def __setstate__(self, s): self.s = s
P = collections.namedtuple('P', 'a b')
class Slots:
    __slots__ = ('x',)
slots = Slots(); slots.x = 5
class Mine(Exception): pass
def f(): return 7
values = [None, True, 1 << 70, 1.5, 'é', b'x', bytearray(b'y'), (1, (2,)), {1, 2}, frozenset([3]), {'a': [1]}, 1j, range(3), slice(1, 2), ..., E.a, D(), P(1, 2), int, D, f, len, math.sin,
          datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc), decimal.Decimal('1.5'), fractions.Fraction(1, 3), collections.OrderedDict(a=1), collections.Counter('aab'),
          collections.deque([1], 5), uuid.UUID(int=5), re.compile('a+'), array.array('i', [1]), types.SimpleNamespace(a=1)]
for protocol in range(6):
    for v in values:
        w = pickle.loads(pickle.dumps(v, protocol))
        assert w == v and type(w) is type(v), (protocol, v, w)
    assert pickle.loads(pickle.dumps(slots, max(protocol, 2))).x == 5 and str(pickle.loads(pickle.dumps(Mine('m'), protocol))) == 'm'
    assert pickle.loads(pickle.dumps(random.Random(5), protocol)).random() == random.Random(5).random()
    assert pickle.loads(pickle.dumps(functools.partial(int, base=2), protocol))('11') == 3 and pickle.loads(pickle.dumps(collections.defaultdict(list, a=[1]), protocol)).default_factory is list
assert pickle.loads(pickle.dumps(Outer.Inner(), 4)).s == {'v': 1}
l = [1]; l.append(l); m = pickle.loads(pickle.dumps(l)); assert m[1] is m
b = io.BytesIO(); pickle.dump({'k': 1}, b); b.seek(0)
r = []
for data in (b'junk', b'?', b''):
    try: pickle.loads(data)
    except (pickle.UnpicklingError, EOFError) as e: r.append(str(e) or 'Ran out of input')
(pickle.load(b), r, pickle.HIGHEST_PROTOCOL)""", "({'k': 1}, ['pickle data was truncated', \"invalid load key, '?'.\", 'Ran out of input'], 5)"),
    ("type-module", ["dataclasses"], "import dataclasses\nC = type('C', (), {'__annotations__': {'x': int}, 'n': 1})\n(C, dataclasses.dataclass(C)(3))", "(<class '__main__.C'>, C(x=3))"),
    ("time-zone", ["time", "os"], "import os, time\nfrom time import tzname\nos.environ['TZ'] = 'EST+05EDT'; time.tzset()\ntime.tzname", "('EST', 'EDT')"),
    ("method-name", [], "class A: pass\n(A.__setattr__.__name__, A().__getattribute__.__qualname__)", "('__setattr__', 'object.__getattribute__')"),
    ("make-dataclass-errors", ["dataclasses"], """
import dataclasses
out = []
for fields in ([()], [(1,)], ['a-b'], [('class', int)]):
    try: dataclasses.make_dataclass('C', fields)
    except TypeError as e: out.append(str(e))
out""", "['Invalid field: ()', 'Invalid field: (1,)', \"Field names must be valid identifiers: 'a-b'\", \"Field names must not be keywords: 'class'\"]"),
    ("dataclass-text", ["dataclasses", "typing"], """
from __future__ import annotations
import dataclasses, typing as t
@dataclasses.dataclass
class A:
    x: dataclasses.InitVar[int]
    n: t.ClassVar[int] = 3
    z: int = 0
    def __post_init__(self, x): self.z = x
(A(4), [f.name for f in dataclasses.fields(A)])""", "(A(z=4), ['z'])"),
    ("pickle-methods", ["pickle"], "import pickle\nclass A:\n    def f(self): return 5\n"
     "[pickle.loads(pickle.dumps('a'.upper))(), pickle.loads(pickle.dumps(A().f))(), list(pickle.loads(pickle.dumps(iter([1, 2]))))]", "['A', 5, [1, 2]]"),
    ("c-pickle", ["pickle", "itertools"], """
import pickle, itertools
class P:
    def __init__(self, x): self.x = x
(pickle.loads(pickle.dumps(P(3))).x, next(pickle.loads(pickle.dumps(itertools.cycle('ab')))))""", "(3, 'a')"),
    ("c-import-by-hand", ["json"], "__import__('json', {}, {}, [], 0).dumps(1)", "'1'"),
]


def test(score):
    for name, imports, code, want in OPTED:
        name = "language/opted-" + name
        if score.wants(name):
            (claim,), _ = run(request(code, imports=imports))
            score.check(name, claim["status"] == "ok" and claim["repr"] == want, (claim["repr"], claim["error"]))
            score.check(name + "/imports", set(claim["imports"]) <= set(imports), claim["imports"])
    for name, code, want, *since in PROGRAMS:
        name = "language/" + name
        if not score.wants(name):
            continue
        if since and sys.version_info[:2] < since[0]:
            score.skip(name, "needs Python %d.%d" % since[0])
            continue
        (claim,), _ = run(request(code, imports=STDLIB))
        score.check(name, claim["status"] == "ok" and claim["repr"] == want,
                    (claim["status"], claim["repr"], (claim["error"] or {}).get("rule"), (claim["error"] or {}).get("message"),
                     (claim["error"] or {}).get("traceback")))
    for name, code, want in MINIMAL:
        name = "minimal/" + name
        if score.wants(name):
            (claim,), _ = run(request(code, imports=["math"], builtins="minimal"))
            score.check(name, claim["status"] == "ok" and claim["repr"] == want, (claim["repr"], claim["error"]))
