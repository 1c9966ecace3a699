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
r = unittest.TextTestRunner(stream=io.StringIO()).run(unittest.TestLoader().loadTestsFromTestCase(T))
main = unittest.main(argv=['x'], exit=False, testRunner=unittest.TextTestRunner(stream=io.StringIO())).result
(r.testsRun, len(r.failures), len(r.skipped), main.testsRun, len(main.failures))"""),
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
    return got, [q.get_nowait() for _ in got], await asyncio.wait_for(asyncio.to_thread(sum, [1, 2]), 5)
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
