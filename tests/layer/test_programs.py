"""Programs as people and models write them, with the modules of the built-in policy `snippet`: the layer must make no difference.
It refuses to call a program equal because it failed twice: each ends well without the layer, and has a value.
"""

import os
import re

from harness import HERE, request, run

# (name, code); the value of the last expression is compared.
PROGRAMS = [
    ("sys", "import sys\n(sys.maxsize, sys.version_info >= (3, 8), sys.byteorder, sys.float_info.max, sys.getsizeof(0) > 0, sys.platform)"),
    ("sys-streams", """
import io, sys
old, sys.stdout = sys.stdout, io.StringIO()
print('caught'); sys.stdout.write('too')
text, sys.stdout = sys.stdout.getvalue(), old
sys.stdout.write(''); sys.stdout.flush()
kept = sys.stdout is sys.__stdout__
from sys import stdout
(text, kept, stdout is old)"""),
    ("sys-redirect", """
import contextlib, io, sys
with contextlib.redirect_stdout(io.StringIO()) as out:
    sys.stdout.write('a'); print('b')
out.getvalue()"""),
    ("unittest-warnings", """
import unittest, warnings
class T(unittest.TestCase):
    def test(self):
        with self.assertWarns(DeprecationWarning): warnings.warn('old', DeprecationWarning)
        with self.assertWarnsRegex(UserWarning, 'x+'): warnings.warn('xx')
result = unittest.TestResult()
unittest.defaultTestLoader.loadTestsFromTestCase(T).run(result)
(result.testsRun, result.errors, result.failures)"""),
    ("tempfile-without-name", """
import tempfile
with tempfile.TemporaryFile('w+') as f:
    f.write('x'); f.seek(0)
    text = f.read()
with tempfile.NamedTemporaryFile('w') as f: named = f.name[:5]
(text, named)"""),
    ("main-module", """
import sys, __main__
x = 1
__main__.y = 2
def f(): return 3
from __main__ import f as g
(__main__.x, y, hasattr(__main__, 'nope'), g(), sys.modules[__name__] is __main__, 'x' in dir(__main__), __main__.__name__)"""),
    ("sys-recursion", "import sys\nsys.setrecursionlimit(5000)\ndef f(n): return 0 if n == 0 else 1 + f(n - 1)\n(f(3000), sys.getrecursionlimit())"),
    ("sys-modules", "import sys, json\ndef f(): return 7\n(sys.modules['json'] is json, getattr(sys.modules[__name__], 'f')(), 'nothing' in sys.modules)"),
    ("sys-exc-info", "import sys\ntry: 1 / 0\nexcept ZeroDivisionError: kind, e, _ = sys.exc_info()\n(kind, str(e))"),
    ("sys-stdin", "import sys\nsys.stdin = __import__('io').StringIO('1 2\\n3')\n[int(x) for line in sys.stdin for x in line.split()]"),
    ("argparse", """
import argparse, sys
p = argparse.ArgumentParser(prog='p')
p.add_argument('n', type=int); p.add_argument('--name', default='x'); p.add_argument('-v', action='store_true')
a = p.parse_args(['3', '--name=y', '-v'])
sys.argv = ['p', '5']
(a.n, a.name, a.v, p.parse_args().n, p.format_help())"""),
    ("typing", """
from typing import Any, Callable, Dict, Generic, List, NamedTuple, Optional, Protocol, TypedDict, TypeVar, Union, runtime_checkable
T = TypeVar('T')
class Stack(Generic[T]):
    def __init__(self) -> None: self.items: List[T] = []
    def push(self, x: T) -> "Stack[T]": self.items.append(x); return self
class P(NamedTuple):
    x: int
    y: Optional["P"] = None
class Movie(TypedDict, total=False): name: str
@runtime_checkable
class Sized(Protocol):
    def size(self) -> int: ...
class A:
    def size(self): return 1
(Stack[int]().push(1).items, P(1, P(2)), Movie(name='m'), isinstance(A(), Sized), Dict[str, Union[int, None]], Callable[[int], Any])"""),
    ("types", """
import types
from types import FunctionType, TracebackType, SimpleNamespace
class C:
    def __exit__(self, t: type, v: BaseException, tb: TracebackType) -> None: pass
(isinstance(len, FunctionType), isinstance(C.__exit__, FunctionType), isinstance(lambda: 1, types.LambdaType),
 isinstance(C().__exit__, types.MethodType), SimpleNamespace(a=1), types.MappingProxyType({1: 2})[1])"""),
    ("operator", "from operator import attrgetter, itemgetter, methodcaller, mul\nclass A: b = 'text'\n(attrgetter('b')(A), itemgetter(1)('ab'), methodcaller('upper')('x'), mul(2, 3))"),
    ("abc", """
from abc import ABC, abstractmethod
class Shape(ABC):
    @abstractmethod
    def area(self): ...
    @property
    @abstractmethod
    def name(self): ...
class Sq(Shape):
    name = 'sq'
    def area(self): return 4
try: Shape()
except TypeError as e: text = str(e)
(Sq().area(), 'abstract' in text)"""),
    ("io", "import io\nb = io.BytesIO(b'abc'); t = io.TextIOWrapper(io.BytesIO()); t.write('x'); t.flush()\n(b.read(2), t.detach().getvalue(), io.StringIO('a\\nb').readlines())"),
    ("eval", "x = 5\ndef f(y): return eval('x + y')\n(eval('x * 2'), f(1), eval('a + b', {'a': 1}, {'b': 2}), eval(' 1'), [eval(s) for s in ('1', '[2]')])"),
    ("eval-names", """
try: eval('len([1])', {'__builtins__': {}})
except NameError as e: a = str(e)
try: eval('abs(-1)', {'__builtins__': None})
except (NameError, TypeError): b = 1
d = {'__builtins__': {'abs': abs}}
(a, b, eval('abs(-2)', d), d['__builtins__'] == {'abs': abs})"""),
    ("exec", "d = {}\nexec('def f(n):\\n    return n * k\\nk = 3', d)\nexec('y = 4')\nclass A: exec('z = 5')\n(d['f'](2), y, A.z, '__builtins__' in d)"),
    ("compile", "c = compile('a + 1', 'f', 'eval')\n[eval(c, {'a': i}) for i in range(3)]"),
    ("calculator", """
import ast, operator
OPS = {ast.Add: operator.add, ast.Mult: operator.mul, ast.USub: operator.neg}
def calc(node):
    if isinstance(node, ast.Constant): return node.value
    if isinstance(node, ast.BinOp): return OPS[type(node.op)](calc(node.left), calc(node.right))
    if isinstance(node, ast.UnaryOp): return OPS[type(node.op)](calc(node.operand))
    raise ValueError(ast.dump(node))
tree = ast.parse('2 + 3 * -4', mode='eval')
(calc(tree.body), eval(compile(tree, 'x', 'eval')), ast.literal_eval("{'a': [1, (2,)]}"), ast.unparse(tree))"""),
    ("builtins", "import builtins\nbuiltins.shout = lambda s: s.upper()\n(shout('a'), builtins.len([1]), hasattr(builtins, 'print'))"),
    ("warnings", """
import warnings
with warnings.catch_warnings(record=True) as w:
    warnings.simplefilter('always')
    warnings.warn('old', DeprecationWarning)
(len(w), str(w[0].message), w[0].category)"""),
    ("logging", """
import io, logging
out = io.StringIO()
log = logging.getLogger('app')
log.setLevel(logging.INFO)
h = logging.StreamHandler(out)
h.setFormatter(logging.Formatter('%(levelname)s:%(name)s:%(message)s'))
log.addHandler(h); log.propagate = False
log.info('a %d', 1); log.debug('no')
try: 1 / 0
except ZeroDivisionError: log.exception('failed')
out.getvalue().splitlines()[:2]"""),
    ("unittest", """
import io, unittest
class Stack:
    def __init__(self): self.items = []
    def pop(self): return self.items.pop()
class T(unittest.TestCase):
    def setUp(self): self.s = Stack()
    def test_pop(self):
        with self.assertRaises(IndexError): self.s.pop()
    def test_sub(self):
        for i in range(3):
            with self.subTest(i=i): self.assertLess(i, 3)
    def test_wrong(self): self.assertEqual(1, 2)
    @unittest.skip('later')
    def test_skip(self): pass
    @unittest.expectedFailure
    def test_expected(self): self.fail()
    @unittest.expectedFailure
    def test_unexpected(self): pass
@unittest.skip('all of it')
class Skipped(unittest.TestCase):
    def test_wrong(self): self.fail()
r = unittest.TextTestRunner(stream=io.StringIO()).run(unittest.TestLoader().loadTestsFromTestCase(T))
main = unittest.main(argv=['x'], exit=False, testRunner=unittest.TextTestRunner(stream=io.StringIO())).result
(r.testsRun, len(r.failures), len(r.skipped), main.testsRun, len(main.failures), len(main.expectedFailures),
 len(main.unexpectedSuccesses), [why for _, why in main.skipped])"""),
    ("unittest-async", """
import asyncio, io, unittest
class T(unittest.IsolatedAsyncioTestCase):
    async def test_a(self): self.assertEqual(await asyncio.sleep(0, 3), 3)
unittest.TextTestRunner(stream=io.StringIO()).run(unittest.defaultTestLoader.loadTestsFromTestCase(T)).wasSuccessful()"""),
    ("mock", """
import unittest.mock
import io, json, sys, time
from unittest.mock import ANY, AsyncMock, MagicMock, Mock, call, create_autospec, mock_open, patch
class Service:
    def fetch(self, n): return n * 2
    def run(self): return self.fetch(3)
def read(path):
    with open(path) as f: return f.read()
out = []
with patch.object(Service, 'fetch', return_value=7) as m: out.append((Service().run(), m.mock_calls == [call(3)]))
with patch('time.sleep') as m: time.sleep(1000); out.append(m.call_count)
with patch('builtins.input', return_value='bob'): out.append(input('name? '))
with patch('builtins.open', mock_open(read_data='data')): out.append(read('/x'))
with patch('__main__.open', mock_open(read_data='main')) as m: out += [read('/x'), m.call_count]
with patch('__main__.ord', return_value=101): out.append(ord('c'))
numbers = {'one': 1}
@patch.dict(numbers, {'two': 2})
class OfTests:
    def test_both(self): return dict(numbers)
out += [OfTests().test_both(), dict(numbers)]
out.append(ord('c'))
with patch('sys.stdout', new_callable=io.StringIO) as s: print('hello')
out += [s.getvalue(), sys.stdout is sys.__stdout__]
with patch('__main__.Service', autospec=True) as S: S.return_value.fetch.return_value = 9; out.append(Service().fetch(1))
with patch.dict('sys.modules', {'nothing': 1}): out.append('nothing' in sys.modules)
with patch.multiple(Service, fetch=lambda self, n: 5): out.append(Service().run())
m = MagicMock(side_effect=[1, ValueError('no')]); m.__len__.return_value = 4
out += [m(), len(m), Mock(spec=Service).fetch(1) is not None, Service().run(), 'nothing' in sys.modules]
out.append(create_autospec(read, return_value=3)('p'))
out"""),
    ("doctest", """
import doctest
def add(a, b):
    '''Add.

    >>> add(2, 3)
    5
    >>> add('a', 1)
    Traceback (most recent call last):
        ...
    TypeError: can only concatenate str (not "int") to str
    >>> for i in range(2): print(i)
    0
    1
    '''
    return a + b
tuple(doctest.testmod())"""),
    ("inspect", """
import inspect
class A:
    def f(self, a: int, *, b=2) -> str: 'Doc.'
    async def g(self): pass
(str(inspect.signature(A.f)), inspect.iscoroutinefunction(A.g), inspect.getdoc(A.f), [n for n, _ in inspect.getmembers(A(), inspect.ismethod)],
 [p.name for p in inspect.signature(A.f).parameters.values()], inspect.isclass(A))"""),
    ("traceback", "import traceback\ntry: int('x')\nexcept ValueError as e: text = traceback.format_exc(limit=0)\ntext.splitlines()[-1]"),
    ("threads", """
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
lock, total = threading.Lock(), 0
def add(n):
    global total
    with lock: total += n
ts = [threading.Thread(target=add, args=(i,)) for i in range(5)]
for t in ts: t.start()
for t in ts: t.join()
with ThreadPoolExecutor(max_workers=3) as pool:
    squares = sorted(f.result() for f in as_completed([pool.submit(pow, i, 2) for i in range(4)]))
(total, squares)"""),
    ("asyncio", """
import asyncio
async def work(n, q):
    await asyncio.sleep(0.001 * n); await q.put(n); return n
async def main():
    q = asyncio.Queue()
    got = await asyncio.gather(*(work(n, q) for n in (2, 1)))
    return got, [q.get_nowait() for _ in got], await asyncio.wait_for(asyncio.to_thread(sum, [1, 2]), 60)
if __name__ == '__main__': r = asyncio.run(main())
r"""),
    ("parsers", """
import configparser, shlex, tomllib, xml.etree.ElementTree as ET
from html.parser import HTMLParser
from urllib.parse import parse_qs, urlencode, urlparse
c = configparser.ConfigParser(); c.read_string('[a]\\nb = 1')
class H(HTMLParser):
    def handle_starttag(self, tag, attrs): tags.append(tag)
tags = []; H().feed('<p><a href="x">')
(c.getint('a', 'b'), shlex.split("a 'b c'"), tomllib.loads('x = [1]'), [e.tag for e in ET.fromstring('<a><b/></a>')], tags,
 urlparse('http://h/p?q=1').query, parse_qs('a=1&a=2'), urlencode({'a': 'b c'}))"""),
    ("small-modules", """
import errno, fnmatch, gc, html, ipaddress, keyword, locale, os.path, platform, pprint, reprlib, sched, secrets, timeit, uuid, weakref
from http import HTTPStatus
(html.escape('<'), ipaddress.ip_address('10.0.0.1').is_private, keyword.iskeyword('if'), os.path.join('a', 'b.txt'), os.path.splitext('b.txt'),
 pprint.pformat({'a': 1}), len(secrets.token_hex(4)), uuid.UUID(int=1), fnmatch.fnmatch('a.py', '*.py'), HTTPStatus.NOT_FOUND.phrase,
 timeit.timeit(lambda: 1, number=1) >= 0, gc.collect() >= 0, errno.ENOENT, platform.python_implementation())"""),
    ("vars", """
import argparse, types
class A:
    def __init__(self): self.a = 1
    def __eq__(self, o): return vars(self) == vars(o)
p = argparse.ArgumentParser(); p.add_argument('n')
a = A(); vars(a)['b'] = 2
(vars(p.parse_args(['5'])), vars(types.SimpleNamespace(x=1)), A() == A(), a.b)"""),
    ("timeit", "import timeit\nn = []\ntimeit.timeit('n.append(k)', 'k = 2', number=2, globals={'n': n})\n(n, timeit.timeit('sum(range(9))', number=1) >= 0)"),
    ("own-dict", """
import json
class P:
    shared = {}
    def __init__(self, **k): self.__dict__.update(k)
    def __eq__(self, o): return self.__dict__ == o.__dict__
class Borg:
    def __init__(self): self.__dict__ = P.shared
class Record(dict):
    def __init__(self, **k):
        super().__init__(**k)
        self.__dict__ = self
a, b = Borg(), Borg(); a.x = 1
r = Record(n=1); r.m = 2
(json.dumps([P(a=1)], default=lambda o: o.__dict__), P(a=1) == P(a=1), b.x, dict(r), hasattr(1, '__dict__'), getattr(P(z=3), '__dict__'),
 [k for k in P.__dict__ if k[:1] != '_'], sorted(k for k in vars(P) if k[:1] != '_'), 'shared' in P.__dict__)"""),
    ("own-private", """
class A:
    def __init__(self): self.__x = 1
    __y = 2
class B(A): pass
a = B(); a._A__x = 3
a._A__z = 4
(a._A__x, A._A__y, getattr(a, '_A__x'), hasattr(a, '_A__q'), vars(a))"""),
    ("own-classes", """
class A: pass
class B(A): pass
class C(B, dict): pass
class On:
    def press(self): self.__class__ = Off
class Off: pass
s = On(); s.press()
([c.__name__ for c in C.__mro__], C.__bases__ == (B, dict), B.__base__ is A, A.__subclasses__() == [B], [c.__name__ for c in bool.__mro__],
 type(s).__name__, [c.__name__ for c in type(KeyError()).__bases__],
 [any('press' in k.__dict__ for k in c.__mro__) for c in (On, A)])"""),
    ("own-functions", """
def deco(f):
    def wrapper(*a, **k): return f(*a, **k)
    wrapper.__name__, wrapper.__doc__, wrapper.__module__, wrapper.__qualname__ = f.__name__, f.__doc__, f.__module__, f.__qualname__
    wrapper.__annotations__ = f.__annotations__
    wrapper.__dict__.update(f.__dict__)
    wrapper.__wrapped__ = f
    return wrapper
def g(a, b=2, *c, d: int = 3) -> str: return a
g.mark = 1
h = deco(g)
def curry(f, n): return f.__code__.co_argcount - n
g.__defaults__ = (5,)
class M:
    def m(self, x=1): pass
(h(1), h.mark, h.__annotations__, h.__module__, g.__defaults__, g.__kwdefaults__, curry(g, 1), g.__code__.co_varnames, g.__code__.co_name,
 M.m.__defaults__, M().m.__code__.co_argcount, g.__wrapped__ if hasattr(g, '__wrapped__') else None)"""),
    ("own-methods", """
class A:
    def m(self): return 1
    @classmethod
    def c(cls): pass
    class E(dict):
        E = vars()
        for i in range(3): E['n%d' % i] = i
def f(): y = 2; return vars()
a = A(); k = a.m
(k.__self__ is a, k.__func__ is A.m, A.c.__self__ is A, getattr(k, '__self__') is a, A.E.n2, f())"""),
    ("doctest-runner", """
import doctest
test = doctest.DocTestParser().get_doctest('>>> x + 1\\n3\\n', {'x': 2}, 'name', 'file', 0)
r = doctest.DocTestRunner(verbose=False).run(test)
try: doctest.DebugRunner(verbose=False).run(doctest.DocTestParser().get_doctest('>>> 1\\n2\\n', {}, 'n', 'f', 0))
except doctest.DocTestFailure as e: got = e.got, e.example.want
(tuple(r), got, doctest.script_from_examples('>>> 1\\n1\\n'), doctest.OutputChecker().check_output('1', '1', 0))"""),
    ("own-tracebacks", """
import sys, traceback
def f(): raise ValueError('bad')
try: f()
except ValueError as e:
    tb = e.__traceback__
    lines = tb.tb_lineno, tb.tb_next.tb_lineno, tb.tb_next.tb_next, sys.exc_info()[2].tb_lineno
    text = traceback.format_exception(type(e), e, e.__traceback__)
    names = [x.name for x in traceback.extract_tb(tb)][1:]
    try: raise KeyError('k').with_traceback(tb) from None
    except KeyError as k: again = k.__traceback__ is not None
(lines, text[-1], names, again, (i for i in '').gi_running)"""),
    ("namespaces", """
import __main__, timeit
def op_add(a, b): return a + b
for i in range(3): globals()['v%d' % i] = i
globals().update(alpha=1)
x = 3
exec('x = x + 1', globals())
def f(a):
    b = 2
    return locals(), eval('a + b + x', globals(), locals())
class K:
    p = 1
    q = sorted(n for n in locals() if n[:1] != '_')
d = dict(globals())
(globals()['op_' + 'add'](3, 4), v0, v2, alpha, 'nope' in globals(), globals().get('nope'), x, f(1), K.q, '{x}{v1}'.format(**locals()), '%(x)s' % globals(),
 d['x'], [k for k, v in globals().items() if v is op_add], isinstance(globals(), dict), __main__.x, eval('x', globals()), globals().setdefault('x', 9),
 globals().pop('alpha'), 'alpha' in globals(), timeit.timeit('op_add(1, 2)', globals=globals(), number=1) >= 0)"""),
    ("input", """
import io, sys
sys.stdin = io.StringIO('2\\n3 4\\nlast')
n = int(input()); a = list(map(int, input().split())); rest = sys.stdin.read()
try: input()
except EOFError as e: end = str(e)
(n, a, rest, end)"""),
    ("own-builtins", "g = {'__builtins__': __builtins__}\nexec('x = len([1])', g)\n(g['x'], hasattr(__builtins__, 'print'), __builtins__.abs(-1))"),
    ("own-module", """
import types
m = types.ModuleType('solution', 'doc')
exec('import math\\ndef f(x): return math.sqrt(x)', m.__dict__)
(m.f(9), m.__doc__, 'f' in vars(m), sorted(k for k in m.__dict__ if k[:1] != '_'))"""),
    ("open-own", """
import csv, json
with open('/tmp/agentjail-test.csv', 'w', newline='') as f: csv.writer(f).writerows([['a', 'b'], [1, 2]])
with open('/tmp/agentjail-test.csv') as f: rows = [line.rstrip() for line in f]
with open('/tmp/agentjail-test.csv', 'a') as f: print('c', file=f)
json.dump({'a': [1]}, open('/tmp/agentjail-test.csv', 'wt'))
try: open('/tmp/agentjail-test.none')
except FileNotFoundError as e: absent = e.errno
(rows, json.load(open('/tmp/agentjail-test.csv')), absent)"""),
    ("patterns", """
import abc, collections, dataclasses, enum, fractions, typing
P = collections.namedtuple('P', 'x y')
class Q(typing.NamedTuple):
    a: int
    b: int = 0
class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self): ...
@dataclasses.dataclass
class Sq(Shape):
    s: int
    def area(self): return self.s ** 2
class Meta(type): pass
class Own(metaclass=Meta):
    __match_args__ = ('v', 'w')
    def __init__(self, v, w): self.v, self.w = v, w
def made():
    @dataclasses.dataclass
    class Inner: k: str
    return Inner
Inner = made()
def look(o):
    match o:
        case P(x, y): return 'P', x, y
        case Q(a, b): return 'Q', a, b
        case Sq(s): return 'Sq', s
        case Own(v, w=9): return 'nine', v
        case Own(v, w): return 'Own', v, w
        case [Inner(k), *rest]: return k, rest
        case {'k': Sq(s) | Own(s), **more}: return s, more
        case int(n) | float(n) if n > 5: return 'n', n
        case bool(): return 'bool'
        case int(0 | 1 as n): return 'small', n
        case str(s): return 's' + s
        case (int(), str(t)): return t
        case Own(): return 'own'
        case _: return None
[look(o) for o in (P(1, 2), Q(3), Sq(4), Own(1, 9), Own(1, 2), [Inner('i'), 5], {'k': Sq(7), 'z': 1}, {'k': Own(8, 1)}, 9, 6.5, True, 1, 0, 'a', (1, 'b'), None)]"""),
    ("patterns-top", """
import dataclasses
@dataclasses.dataclass
class A: x: int
out = []
for o in (A(1), A(2), 3):
    match o:
        case A(1): out.append('one')
        case A(x): out.append(x)
        case int(n): out.append(-n)
exec('match [1, "a"]:\\n    case [int(i), str(s)]: out.append((i, s))')
class K:
    match 3:
        case int(n): pass
out, K.n"""),
    ("members", "import inspect\nclass A:\n    def m(self): pass\n    @staticmethod\n    def s(): pass\n[n for n, v in inspect.getmembers(A, inspect.isfunction)]"),
    ("exit", "import sys\nx = 1\ndef main(): return 0\ntry: sys.exit(main())\nexcept SystemExit as e: x = e.code\nx"),
]


def default_imports():
    """The import list of the built-in policy `snippet`."""
    with open(os.path.join(HERE, "..", "..", "policies", "snippet.toml"), encoding="utf-8") as f:
        text = re.search(r"^imports = \[(.*?)^\]", f.read(), re.S | re.M).group(1)
    return re.findall(r'"([\w.]+)"', re.sub(r"#.*", "", text))


def test(score):
    imports = default_imports()
    for name, code in PROGRAMS:
        name = "program/" + name
        if not score.wants(name):
            continue
        (claim,), _ = run(request(code, imports=imports))
        (bare,), _ = run(request(code, layer=False))
        score.check(name, bare["status"] == claim["status"] == "ok" and bare["repr"] == claim["repr"] != "None",
                    (claim["repr"], bare["repr"], (claim["error"] or {}).get("traceback"), (bare["error"] or {}).get("traceback")))
    for name, code, want in (("exit-0", "import sys\nsys.exit(0)", "ok"), ("exit-none", "exit()", "ok"), ("exit-false", "raise SystemExit(False)", "ok"),
                             ("exit-1", "quit(1)", "error"), ("exit-text", "exit('no')", "error"),
                             ("exit-subclass", "class E(SystemExit): pass\nraise E(0)", "ok")):
        if score.wants("program/" + name):
            (claim,), _ = run(request(code, imports=imports))
            score.check("program/" + name, claim["status"] == want and claim["value"] is None, claim)
