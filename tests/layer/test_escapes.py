"""Escape attempts: the shared corpus and our own, each with the layer on and a control with the layer off.
It refuses a case whose control does not fire: then the case would prove nothing. Where cases are not chosen by a word, every third control
is run, always the same ones; WHOLE=1 runs all of them.
"""

import glob
import importlib.util
import json
import os
import sys
import zlib

import library_escapes
from harness import HERE, STDLIB, WHOLE, request, run

# Our own attempts. (name, imports, code): PWN is set to evidence if it works. With the layer on, PWN must stay
# unset; the second list (`CONTROL_DIES`) says where the attempt cannot work natively either, and why.
OWN = [
    ("getattr-assembled", [], "PWN = getattr((), '__cla'+'ss__').__base__"),
    ("getattr-str-subclass", [], """
class S(str):
    def __getitem__(self, k): return 'real'
    def startswith(self, *a): return False
PWN = getattr(print, S('__se' + 'lf__'))"""),
    ("vars-module", ["json"], "import json\nPWN = vars(json)['codecs'].open"),
    ("vars-class", [], "PWN = vars(type)['__di' + 'ct__'].__get__(type(lambda: 0))['__glo' + 'bals__']"),
    ("vars-own-class", [], "class A: pass\nPWN = vars(A)['__di' + 'ct__']"),
    ("vars-function", [], "def f(): pass\nf.x = 1\nPWN = vars(f)['x']"),
    ("vars-module-subclass", ["types"], """
import types
class M(types.ModuleType): pass
PWN = vars(M('x'))['__name__']"""),
    ("vars-named-module", ["types", "json"], """
import json
class Namespace(type(json)): pass
PWN = vars(Namespace('x'))['__name__']"""),
    ("vars-caller", ["concurrent.futures"], "from concurrent.futures import ThreadPoolExecutor\nPWN = ThreadPoolExecutor().submit(vars).result()['self']"),
    ("eval-dunder", [], "PWN = eval('print.__se' + 'lf__')"),
    ("eval-guarded", [], "PWN = eval('getattr(print, x)', {'x': '__se' + 'lf__'})"),
    ("eval-in-map", [], "PWN = list(map(eval, ['print.__se' + 'lf__']))[0]"),
    ("exec-import", [], "d = {}\nexec('import o' + 's', d)\nPWN = d['os'].getpid()"),
    ("exec-format", [], "d = {}\nexec('x = \"{0.__self' + '__}\".format(print)', d)\nPWN = d['x']"),
    ("exec-builtins-dict", [], "d = {'__builtins__': {'f': print}}\nexec('x = f.__se' + 'lf__', d)\nPWN = d['x']"),
    ("exec-builtins-open", [], "d = {}\nexec('1', d)\nb = d['__builtins__']\nPWN = (b['open'] if type(b) is dict else b.open)('/etc/hostname')"),
    ("exec-build-class", ["json"], """
import json
from abc import ABC
class X(ABC): pass
type.__setattr__(X, '__match' + '_args__', ('__glo' + 'bals__',))
X.register(type(json.dumps))
d = {}
exec('def f(o):\\n    class Y: pass\\n    match o:\\n        case Y(g): return g', d)
b = d['__builtins__']
if type(b) is dict: b['__build_class__'] = lambda *a: X
else: setattr(b, '__build_' + 'class__', lambda *a: X)
PWN = d['f'](json.dumps)"""),
    ("compile-replace", [], "PWN = compile('1', 'f', 'eval').replace(co_names=('x',))"),
    ("compile-function", [], "PWN = type(lambda: 0)(compile('1', 'f', 'eval'), {})() or True"),
    ("compile-attributes", [], "PWN = compile('1', 'f', 'eval').co_consts"),
    ("compile-forged", [], "c = compile('print.__self' + '__', 'f', 'eval')\nPWN = eval(c)"),
    ("eval-dataclass-frame", ["dataclasses", "functools"], """
import dataclasses, functools
@dataclasses.dataclass(frozen=True)
class D:
    x: object = dataclasses.field(default_factory=functools.partial(eval, '__dataclass_builtins_object__'))
PWN = D().x"""),
    ("eval-library-frame", ["contextlib"], """
import contextlib
with contextlib.ExitStack() as s:
    s.callback(exec, 'global PWNED; PWNED = sys')
import contextlib
PWN = contextlib.PWNED"""),
    ("getattr-in-map", [], "PWN = list(map(getattr, [print], ['__self' + '__']))[0].open"),
    ("getattr-default", [], "x = getattr(print, '__self' + '__', None)\nif x is None: raise ValueError\nPWN = x"),
    ("hasattr-probe", [], "if hasattr(print, '__self' + '__'): PWN = 1\nelse: raise ValueError"),
    ("object-getattribute", [], "PWN = object.__getattribute__(print, '__self' + '__')"),
    ("super-getattribute", [], """
class A:
    def f(self): return super().__getattribute__('__cl'+'ass__').__init__
a = A()
PWN = object.__getattribute__(a.f, '__fu' + 'nc__')"""),
    ("type-getattribute", [], "PWN = type.__getattribute__(int, '__ba' + 'se__')"),
    ("getattribute-by-getattr", [], "g = getattr(object, '__getattribute__')\nPWN = g(print, '__self' + '__')"),
    ("setattr-match-args", [], """
class X: pass
setattr(X, '__match' + '_args__', ('__class__',))
match X():
    case X(c): PWN = c"""),
    ("type-setattr-match-args", ["abc"], """
from abc import ABC
class X(ABC): pass
type.__setattr__(X, '__match' + '_args__', ('__glo' + 'bals__',))
def f(): pass
X.register(type(f))
match f:
    case X(g): PWN = g['__builtins__']"""),
    ("match-args-computed", [], """
class X:
    __match_args__ = tuple(['__cl' + 'ass__'])
match X():
    case X(c): PWN = c"""),
    ("match-args-tuple-target", [], """
class X:
    __match_args__, y = ('__class__',), 1
match X():
    case X(c): PWN = c"""),
    ("match-args-for-target", [], """
class X:
    for __match_args__ in [('__class__',)]: pass
match X():
    case X(c): PWN = c"""),
    ("match-rebound-class", [], """
class X: pass
T = type
X = T('X', (), {'__match' + '_args__': ('__class__',)})
match X():
    case X(c): PWN = c"""),
    ("match-decorated-class", [], """
def deco(c):
    T = type
    return T('X', (), {'__match' + '_args__': ('__class__',)})
@deco
class X: pass
match X():
    case X(c): PWN = c"""),
    ("match-metaclass-base", [], """
class M(type):
    def __getattr__(cls, n): return ('__class__',)
class B(metaclass=M): pass
class X(B): pass
match X():
    case X(c): PWN = c"""),
    ("match-keyword-dunder", [], """
def f(): pass
match f:
    case object(__globals__=g): PWN = g"""),
    ("match-keyword-obj", [], """
try: (1).nope
except AttributeError as e:
    match e:
        case AttributeError(obj=o): PWN = o"""),
    ("error-obj", [], "try: [].nope\nexcept AttributeError as e: PWN = e.obj"),
    ("error-obj-super", [], """
class E(AttributeError):
    def get(self): return super().obj
try: raise E('x', name='n', obj=print)
except E as e: PWN = e.get()"""),
    ("error-obj-descriptor", [], """
try: [].nope
except AttributeError as e: PWN = AttributeError.obj.__get__(e)"""),
    ("error-obj-augassign", [], """
class C:
    def __radd__(self, x):
        global PWN
        PWN = x
try: print.nope
except AttributeError as e: e.obj += C()"""),
    ("error-obj-format", [], "try: print.nope\nexcept AttributeError as e: PWN = '{0.obj}'.format(e)"),
    ("format-unbound", [], "PWN = str.format('{0.__' + 'class__}', 1)"),
    ("format-map-unbound", [], "PWN = list(map(str.format, ['{0.__' + 'class__}'], [1]))[0]"),
    ("format-getattr", [], "PWN = getattr('{0.__' + 'class__}', 'format')(1)"),
    ("format-getattr-type", [], "f = getattr(str, 'format')\nPWN = f('{0.__' + 'class__}', 1)"),
    ("format-getattribute", [], "PWN = object.__getattribute__('{0.__' + 'class__}', 'format')(1)"),
    ("format-nested-spec", [], "class d: pass\nPWN = ('{0:{1.__' + 'name__}}').format(1, d)"),
    ("formatter-colon-path", ["string"], "import string\nPWN = string.Formatter().get_field('0:x.__' + 'class__', (), {'0:x': 1})"),
    ("match-value-obj", [], """
class C:
    def __eq__(self, o):
        global PWN
        PWN = o
        return True
try: print.nope
except AttributeError as e:
    match C():
        case e.obj: pass"""),
    ("match-value-dunder", [], """
class C:
    def __eq__(self, o):
        global PWN
        PWN = o
        return True
match C():
    case print.__self__: pass"""),
    ("match-class-dotted", [], "def f(): pass\nmatch 1:\n    case f.__class__.__base__(): PWN = 1"),
    ("defaults", ["functools"], "import functools\nPWN = functools.wraps.__defaults__"),
    ("star-allows-no-layer", ["*"], "import agentjail.runtime.main\nPWN = agentjail.runtime.main"),
    ("star-allows-no-rail", ["*"], "from agentjail.rail import builtin_guards as guards\nPWN = guards"),
    ("catch-warnings-module", ["warnings"], "import warnings\nw = warnings.catch_warnings()\nPWN = getattr(w, '_mod' + 'ule')"),
    ("list-self-check", [], "PWN = [].append.__self__"),
    ("format-str-subclass", [], """
class S(str):
    def f(self, *a): return super().format(*a)
PWN = S('{0.__' + 'class__}').f(1)"""),
    ("format-subclass-lies", [], """
class S(str):
    def __str__(self): return '{}'
    def __contains__(self, x): return False
    def __getitem__(self, i): return '{}'
PWN = str.format(S('{0.__' + 'class__}'), 1)"""),
    ("format-augassign", [], """
class C:
    def __radd__(self, f): return f('__x__')
class S(str): pass
s = S('{0.__' + 'class__}')
s.format += C()
PWN = s.format"""),
    ("format-userstring-unbound", ["collections"], """
import collections
PWN = collections.UserString.format(collections.UserString('{0.__' + 'class__}'), 1)"""),
    ("format-formatter-base", ["string"], """
import string
class F(string.Formatter): pass
PWN = F.mro()[1]().format('{0.__' + 'class__}', 1)"""),
    ("format-frozen-private", ["random"], "import random\nt = '{0.' + '_os}'\nPWN = t.format(random)"),
    ("import-fallback-sys-modules", ["json"], "from json import scanner\nPWN = scanner"),
    ("import-submodule", ["collections"], "import collections.abc\nPWN = collections.abc.Mapping"),
    ("import-dotted-parent", ["json.decoder"], "import json.decoder\nPWN = json.dumps"),
    ("import-star-private", ["random"], "from random import *\nPWN = _os"),
    ("import-via-exec-name", [], "class X: __class_getitem__ = classmethod(lambda c, n: __import__(n))\nPWN = X['os']"),
    ("import-str-subclass", [], """
class S(str):
    def __eq__(self, o): return True
    def __hash__(self): return hash('math')
    def startswith(self, *a): return True
PWN = __import__(S('os'))"""),
    ("import-fromlist", ["math"], "PWN = __import__('o' + 's', None, None, ('path',))"),
    ("import-level", ["math"], "PWN = __import__('os', {'__package__': 'x', '__name__': 'x'}, None, (), 1)"),
    ("import-as-c-code", ["datetime", "time"], """
import datetime, time
f = __import__
m = f('_strptime', {}, {}, [], 0)
if m is None: raise ValueError
PWN = m.datetime_date"""),
    ("import-as-c-code-other", ["datetime"], "f = __import__\nPWN = f('o' + 's', {}, {}, [], 0)"),
    ("import-as-c-code-absent", [], "f = __import__\nPWN = f('sqlite3' + '.dump', {}, {}, [], 0)"),
    ("import-as-c-code-subclass", ["time"], """
import time
class S(str):
    def __hash__(self): return hash('_strptime')
    def __eq__(self, o): return True
f = __import__
PWN = f(S('os'), {}, {}, [], 0)"""),
    ("import-builtins-dict", [], "def f(): import os; return os\nPWN = f()"),
    ("wraps-assigned", ["functools", "json"], """
import functools, json
class W:
    def __setattr__(self, n, v):
        if n[:3] == '__g': globs.append(v)
globs = []
functools.update_wrapper(W(), json.dumps, assigned=['__globals' + '__'], updated=())
PWN = globs[0]"""),
    ("contextlib-wraps", ["contextlib", "json"], """
import contextlib, json
class W:
    def __setattr__(self, n, v):
        if n[:3] == '__g': globs.append(v)
globs = []
contextlib.wraps(json.dumps, assigned=['__globals' + '__'], updated=())(W())
PWN = globs[0]"""),
    ("redirect-stream", ["contextlib"], """
import contextlib
class R(contextlib.redirect_stdout): pass
setattr(R, '_str' + 'eam', 'modules')
r = R({})
with r: PWN = r._old_targets[0]"""),
    ("redirect-stream-type", ["contextlib"], """
import contextlib
T = type
R = T('R', (contextlib.redirect_stdout,), {'_str' + 'eam': 'version'})
r = R('x')
with r: PWN = r._old_targets[0]"""),
    ("dataclass-injection", ["dataclasses"], """
from dataclasses import dataclass
L = []
T = type
A = T('A', (), {'__annot' + 'ations__': {'x,L.append(1)': int}, 'x': 1})
C = dataclass(init=False, repr=False)(A)
C() == C()
PWN = L[:1] and L"""),
    ("dataclass-base-field", ["dataclasses"], """
import dataclasses
L = []
@dataclasses.dataclass(init=False)
class B: x: int = 1
dataclasses.fields(B)[0].name = 'x,L.append(1)'
@dataclasses.dataclass(init=False, repr=False)
class C(B): y: int = 1
C() == C()
PWN = L[:1] and L"""),
    ("dataclass-dunder-field", ["dataclasses"], """
import dataclasses
X = dataclasses.make_dataclass('X', ['__cl' + 'ass__'])
PWN = X"""),
    ("dataclass-two-faced-field", ["dataclasses"], """
import dataclasses
L = []
class Name(str):
    def isidentifier(self): return True
    def __format__(self, spec): return 'x=L.append(1)'
class Item(list):
    def __iter__(self): return iter((Name('x'), int))
try: dataclasses.make_dataclass('X', [Item(['x', int])])
except SyntaxError: PWN = 1
"""),
    ("dataclass-metaclass-fields", ["dataclasses"], """
import dataclasses
asked = []
class Meta(type):
    def __getattr__(cls, name):
        asked.append(name)
        raise AttributeError(name)
class Base(metaclass=Meta): pass
asked.clear()
class D(Base): pass
dataclasses.dataclass(D)
if any('dataclass' in n for n in asked): PWN = 1
"""),
    ("dataclass-no-class", ["dataclasses"], """
import dataclasses
asked = []
class Thing:
    def __getattr__(self, name):
        asked.append(name)
        raise AttributeError(name)
try: dataclasses.dataclass(Thing())
except AttributeError: pass
if asked: PWN = 1
"""),
    ("dataclass-base-no-class", ["dataclasses"], """
import dataclasses
class Base:
    def __getattr__(self, name): return ()
    def __mro_entries__(self, bases): return (A,)
class A: pass
X = dataclasses.make_dataclass('X', ['x'], bases=(Base(),))
PWN = 1
"""),
    ("dataclass-functiontype", ["dataclasses"], "import dataclasses\nPWN = dataclasses.FunctionType"),
    ("typing-hints-call", ["typing"], """
import typing
class A: x: 'list.append(L, 1) or int'
L = []
typing.get_type_hints(A, {'L': L, 'list': list})
PWN = L[0]"""),
    ("typing-hints-dunder", ["typing"], """
import typing
class A: x: '().__class__'
PWN = typing.get_type_hints(A)"""),
    ("singledispatch-hints", ["functools"], """
import functools
L = []
@functools.singledispatch
def f(x): pass
def g(x: 'L.append(1) or int'): pass
f.register(g)
PWN = L[0]"""),
    ("operator-attrgetter-from", ["operator"], "from operator import attrgetter\nPWN = attrgetter('__self' + '__')(print)"),
    ("operator-methodcaller-format", ["operator"], "from operator import methodcaller\nPWN = methodcaller('format', 1)('{0.__' + 'class__}')"),
    ("enum-convert", ["enum"], "import enum\nPWN = getattr(enum.IntEnum, '_conv' + 'ert_')"),
    ("enum-sys", ["enum"], "import enum\nPWN = enum.sys"),
    ("copy-slot-state", ["copy"], """
import copy
class X: pass
class R:
    def __reduce_ex__(self, p): return (lambda: X, (), (None, {'__match' + '_args__': ('__class__',)}))
copy.copy(R())
PWN = X.__match_args__"""),
    ("io-open", ["io"], "import io\nPWN = io.open('/etc/hostname').read()"),
    ("io-fileio", ["io"], "import io\nPWN = io.FileIO('/etc/hostname').read()"),
    ("builtins-module", ["builtins"], "import builtins\nPWN = builtins.breakpoint"),
    ("sys-modules", ["sys"], "from sys import modules\nPWN = modules['posix']"),
    ("sys-modules-get", ["sys", "json"], "import sys, json\nPWN = sys.modules['json'].codecs.builtins.open"),
    ("sys-stream-raw", ["sys"], "import sys\nPWN = type(sys.stderr.buffer.raw)('/etc/hostname').read()"),
    ("sys-stream-detach", ["sys"], "import sys\nPWN = type(sys.stderr.buffer.detach())('/etc/hostname').read()"),
    ("sys-stream-getattribute", ["sys"], "import sys\nPWN = type(object.__getattribute__(sys.stderr.buffer, 'raw'))('/etc/hostname').read()"),
    ("sys-stream-class", ["sys", "io"], """
import io, sys
PWN = type(io.BufferedWriter.raw.__get__(sys.stderr.buffer))('/etc/hostname').read()"""),
    ("sys-stream-attrgetter", ["sys", "operator"], """
import operator, sys
PWN = type(operator.attrgetter('buffer.raw')(sys.stderr))('/etc/hostname').read()"""),
    ("sys-stream-super", ["sys", "io"], """
import io
class F(io.BufferedReader):
    def f(self): return super().raw
PWN = type(F(open('/etc/hostname', 'rb', 0)).f())('/etc/hostname').read()"""),
    ("sys-settrace", ["sys"], "import sys\ngot = []\nsys.settrace(lambda f, e, a: got.append(f))\n(lambda: 1)()\nPWN = got[0]"),
    ("sys-set-hooks", ["sys"], "import sys\ngot = []\nsys.addaudithook(lambda e, a: got.append(e))\nopen('/dev/null')\nPWN = got[0]"),
    ("sys-path", ["sys"], "import sys\nsys.path.insert(0, '/tmp')\ndel sys\nimport sys\nif sys.path[0] != '/tmp': raise ValueError\nfrom site import os\nPWN = os"),
    ("sys-exc-traceback", ["sys"], "import sys\ntry: 1 / 0\nexcept ZeroDivisionError: PWN = sys.exc_info()[2].tb_frame"),
    ("sys-getframe-name", ["sys"], "import sys\nPWN = getattr(sys, '_get' + 'frame')()"),
    ("sys-getframe", ["sys"], "import sys\nPWN = sys._getframe()"),
    ("types-codetype", ["types"], "import types\nPWN = types.CodeType"),
    ("types-function-globals", ["types"], "import types\ndef f(): return open\nPWN = types.FunctionType(getattr(f, '__co' + 'de__'), {})()"),
    ("types-frame", ["types"], """
import types
try: 1 / 0
except ZeroDivisionError as e: PWN = getattr(e, '__trace' + 'back__').tb_frame"""),
    ("types-new-class", ["types"], "import types\nPWN = types.new_class('X', (), {}, lambda ns: ns.update(__match_args__=('__class__',)))"),
    ("name-mangling-import", [], "class C:\n    __import__ = __import__\nPWN = C.__import__('o' + 's')"),
    ("lambda-default-builtins", [], "PWN = (lambda __builtins__=1: __builtins__)()"),
    ("walrus-builtins", [], "(__builtins__ := {})\nPWN = 1"),
    ("del-builtins", [], "class __builtins__: pass\nPWN = 1"),
    ("except-name", [], "try: 1/0\nexcept ZeroDivisionError as __builtins__: PWN = 1"),
    ("for-name", [], "for __builtins__ in [1]: PWN = 1"),
    ("comprehension-name", [], "PWN = [1 for __builtins__ in [1]]"),
    ("with-name", ["contextlib"], "import contextlib\nwith contextlib.nullcontext() as __builtins__: PWN = 1"),
    ("match-name", [], "match 1:\n    case __builtins__: PWN = 1"),
    ("star-match-name", [], "match [1]:\n    case [*__builtins__]: PWN = 1"),
    ("kwarg-name", [], "def f(**__builtins__): return 1\nPWN = f()"),
    ("guard-name-load", [], "PWN = __agentjail_attr__"),
    ("guard-name-def", [], "def __agentjail_attr__(o, n): return 1\nPWN = 1"),
    ("global-guard", [], "def f():\n    global __agentjail_attr__\n    __agentjail_attr__ = 1\nf()\nPWN = 1"),
    ("prepare-namespace", [], """
class M(type):
    @classmethod
    def __prepare__(m, *a): return {'__annot' + 'ations__': {'x()': 1}}
class X(metaclass=M): pass
PWN = X.__annotations__"""),
    ("module-dunder-class-body", [], "class X: __module__ = 'os'\nPWN = X.__module__"),
    ("generator-frame", [], "g = (i for i in [1])\nPWN = g.gi_frame.f_globals"),
    ("traceback-with", [], """
class C:
    def __enter__(s): return s
    def __exit__(s, t, v, tb):
        global PWN
        PWN = tb.tb_frame.f_globals
        return True
with C(): 1/0"""),
    ("traceback-getattr", [], """
class C:
    def __enter__(s): return s
    def __exit__(s, t, v, tb):
        s.tb = tb
        return True
c = C()
with c: 1/0
PWN = getattr(c.tb, 'tb_fr' + 'ame')"""),
    ("reduce-read", [], "PWN = (1).__reduce_ex__(2)"),
    ("subclasses", [], "PWN = object.__subclasses__()"),
    ("super-self", [], "class A:\n    def f(s): return super().__thisclass__\nPWN = A().f()"),
    ("func-of-method", [], "class A:\n    def f(s): pass\nPWN = A().f.__func__.__code__"),
    ("property-fget", [], "class A:\n    @property\n    def f(s): pass\nPWN = A.f.fget.__globals__"),
    ("closure-cell", [], "def f():\n    x = 1\n    return lambda: x\nPWN = f().__closure__[0].cell_contents"),
    ("final-answer-globals", [], "PWN = final_answer.__globals__"),
    ("view-getattr-closure", ["json"], "import json\nPWN = json.__getattr__.__closure__"),
    ("view-dict", ["json"], "import json\nPWN = json.__dict__"),
    ("view-getattr-module", ["random"], "import random\nPWN = getattr(random, '_o' + 's')"),
    ("view-getattribute", ["random"], "import random\nPWN = object.__getattribute__(random, '_o' + 's')"),
    ("await-frame", [], "async def f(): pass\nc = f()\nPWN = c.cr_frame"),
    ("type-three-args", [], "PWN = type('X', (), {'__red' + 'uce__': 1, '__match' + '_args__': ('__dict__',)})"),
    ("logging-os", ["logging"], "from logging import os\nPWN = os"),
    ("logging-brace-style", ["logging"], "import logging\nPWN = logging.StrFormatStyle"),
    ("asyncio-hidden", ["asyncio"], "import asyncio\nPWN = asyncio.base_events.sys"),
    ("inspect-through-dataclasses", ["dataclasses"], "import dataclasses\nPWN = dataclasses.inspect.currentframe()"),
    ("deferred-annotation", [], "x: __import__('os') = 1\nPWN = 1"),
    # Attributes that code may read of its own objects, tried on others.
    ("own-dict-function", ["json"], "import json\nPWN = json.dumps.__dict__"),
    ("own-dict-class", ["json"], "import json\nPWN = json.JSONDecoder.__dict__['decode']"),
    ("own-dict-builtin-class", [], "PWN = str.__dict__['format']"),
    ("own-dict-getattr", ["json"], "import json\nPWN = getattr(json, '__di' + 'ct__')"),
    ("own-dict-super", [], """
class S(super): pass
class M(type): pass
class C(metaclass=M): pass
PWN = S(M, C).__dict__"""),
    ("own-dict-descriptor", [], "class A: pass\nPWN = A.__dict__['__di' + 'ct__'].__get__(A())"),
    ("own-dict-module-class", ["types"], "import types\nclass M(types.ModuleType): pass\nPWN = M('x').__dict__"),
    ("own-dict-proxy-spec", ["json"], "import json\njson.__spec__ = None\nPWN = json.__dict__"),
    ("own-dict-proxy-spec-setattr", ["json"], "import json\nsetattr(json, '__spe' + 'c__', None)\nPWN = json.__dict__"),
    ("own-dict-builtins", ["builtins"], "import builtins\nPWN = builtins.__dict__"),
    ("open-stdin-raw", ["io", "sys"], "import io, sys\nPWN = type(open(0, 'rb').raw)('/etc/hostname').read()"),
    ("own-dict-set-module", ["types"], "import types\nclass M(types.ModuleType): pass\nm = M('x')\nm.__class__ = types.ModuleType\nPWN = m"),
    ("own-defaults-library", ["textwrap"], "import textwrap\nPWN = textwrap.fill.__defaults__"),
    ("own-defaults-set", ["json"], "import json\njson.dumps.__kwdefaults__ = {'indent': 1}\nPWN = json.dumps"),
    ("own-subclasses-metaclass", [], "class M(type): pass\nPWN = M.__subclasses__(object)"),
    ("own-subclasses-getattr", [], "class M(type): pass\nPWN = getattr(M, '__subcla' + 'sses__')(object)"),
    ("own-base", [], "PWN = bool.__base__"),
    ("own-bases-set", ["json"], "import json\nclass A(json.JSONDecoder): pass\nclass B: pass\nA.__bases__ = (json.JSONDecoder, B)\nPWN = A"),
    ("own-class-set-library", ["json"], "import json\nclass A: pass\no = json.JSONDecoder()\no.__class__ = A\nPWN = o"),
    ("own-class-set-class", [], "class M(type):\n    def __getattr__(c, n): return n\nclass A(metaclass=M): pass\nclass N(type): pass\nA.__class__ = N\nPWN = A"),
    ("own-module-set", [], "class A: pass\nA.__module__ = 'os'\nPWN = A.__module__"),
    ("own-module-set-getattr", [], "class A: pass\nsetattr(A, '__mod' + 'ule__', 'os')\nPWN = A.__module__"),
    ("own-annotations-set", [], "class A: pass\nA.__annotations__ = {'x()': 1}\nPWN = A.__annotations__"),
    ("own-set-augmented", [], "class A: pass\na = A()\na.__dict__ |= {'x': 1}\nPWN = a.x"),
    ("own-set-guard-name", [], "class A: pass\nt = __agentjail_set__(A(), '__class__')\nPWN = t"),
    ("own-private-library", ["threading"], """
import threading
class A: pass
threading.Thread._A__x = 1
PWN = threading.Thread._A__x"""),
    ("own-private-getattr", ["threading"], "import threading\nclass A: pass\nPWN = getattr(threading.Barrier(1), '_A' + '__x', 0) or setattr(threading.Barrier, '_A' + '__x', 1) or 1"),
    ("own-code-object", [], "def f(): pass\ng = f\nPWN = g.__code__"),
    ("own-code-constants", [], "def f(): return 1\nPWN = f.__code__.co_consts"),
    ("own-code-getattr", [], "def f(): return 1\nPWN = getattr(f, '__co' + 'de__')"),
    ("own-code-dotted", [], "def f(): return 1\nsetattr(f, '__code__.co_name', 1)\nPWN = f.__code__"),
    ("own-traceback-frame", [], """
try: 1 / 0
except ZeroDivisionError as e: tb = e.__traceback__
PWN = tb.tb_frame"""),
    ("own-traceback-layer", [], """
try: getattr(1, '__dict__')
except AttributeError as e: tb = e.__traceback__
while tb.tb_next is not None: tb = tb.tb_next
PWN = getattr(tb, 'tb_fr' + 'ame')"""),
    ("main-builtins", [], "import __main__\nPWN = __main__.__builtins__"),
    ("main-from-builtins", [], "f = __import__\nPWN = getattr(f('__main__', None, None, ('__builtins__',)), '__built' + 'ins__')"),
    ("main-dict", [], "import __main__\nPWN = __main__.__dict__"),
    ("vars-main", [], "import __main__\nPWN = vars(__main__)['__name__']"),
    # globals() and locals(): the names on which the check relies stay as they are, and lead to no other namespace.
    ("globals-builtins", [], "globals()['__builtins__'] = {}\nPWN = 1"),
    ("globals-builtins-update", [], "globals().update(__builtins__={})\nPWN = 1"),
    ("globals-builtins-real", [], "PWN = globals()['__builtins__'].breakpoint"),
    ("globals-guard", [], "globals()['__agentjail_class0__'] = 1\nPWN = 1"),
    ("globals-pop", [], "globals().pop('__builtins__')\nPWN = 1"),
    ("globals-dict-method", [], "dict.__setitem__(globals(), '__doc' + '__', 'mine')\nif __doc__ != 'mine': raise ValueError\nPWN = 1"),
    ("globals-str-subclass", [], """
class S(str):
    def __getitem__(self, i): return 'x'
globals()[S('__builtins__')] = {}
PWN = 1"""),
    ("globals-of-library", ["concurrent.futures"], """
from concurrent.futures import ThreadPoolExecutor
PWN = ThreadPoolExecutor().submit(globals).result()['threading']"""),
    ("locals-of-library", ["concurrent.futures"], """
from concurrent.futures import ThreadPoolExecutor
PWN = ThreadPoolExecutor().submit(locals).result()['self']"""),
    ("locals-of-dataclass", ["dataclasses"], """
import dataclasses
@dataclasses.dataclass(frozen=True)
class D: x: object = dataclasses.field(default_factory=locals)
PWN = D().x['__dataclass_builtins_object__']"""),
    ("locals-class-body", ["json"], """
import json
class P: locals()['__match' + '_args__'] = ('__globals__',)
class M(type): pass
PWN = P.__match_args__"""),
    # Positional class patterns read what __match_args__ says, natively.
    ("match-exec-class", ["json"], """
import json
class P: pass
exec('class M(type):\\n    def __getattr__(c, n): return ("__globals__",)\\n    def __instancecheck__(c, o): return True\\nclass P(metaclass=M): pass')
match json.dumps:
    case P(g): PWN = g"""),
    ("match-exec-names", ["json"], """
import json
class M(type):
    def __getattr__(c, n): return ('__globals__',)
    def __instancecheck__(c, o): return True
class P(metaclass=M): pass
d = {'int': P, 'f': json.dumps}
exec('match f:\\n    case int(g): pass', d)
PWN = d['g']['__builtins__']"""),
    ("match-exec-two", ["json"], """
import json
class M(type):
    def __getattr__(c, n): return ('__doc__', '__globals__')
    def __instancecheck__(c, o): return True
class P(metaclass=M): pass
d = {'int': P, 'f': json.dumps}
exec('match f:\\n    case int(_, g): pass', d)
PWN = d['g']"""),
    ("match-exec-build-class", ["json"], """
import json
class M(type):
    def __getattr__(c, n): return ('__globals__',)
    def __instancecheck__(c, o): return True
class X(metaclass=M): pass
d = {}
exec('def g():\\n    def f(o):\\n        class Y: pass\\n        match o:\\n            case Y(g): return g\\n    return f', d)
d['__builtins__'] = {'__build_class__': lambda *a: X, '__agentjail_class__': lambda c: c}
PWN = d['g']()(json.dumps)"""),
    ("match-metaclass-later", ["json"], """
import json
class M(type):
    def __instancecheck__(c, o):
        M.__getattr__ = lambda c, n: ('__globals__',)
        return True
class P(metaclass=M): pass
match json.dumps:
    case P(g): PWN = g"""),
    ("match-metaclass-getattribute", ["json"], """
import json
class M(type):
    def __instancecheck__(c, o):
        M.__getattribute__ = lambda c, n: ('__globals__',)
        return True
class P(metaclass=M): __match_args__ = ('x',)
match json.dumps:
    case P(g): PWN = g
    case _: raise ValueError"""),
    ("match-abcmeta", ["abc", "json"], """
import abc, json
class P(abc.ABC): pass
P.register(type(json.dumps))
abc.ABCMeta.__getattr__ = lambda c, n: ('__globals__',)
match json.dumps:
    case P(g): PWN = g"""),
    ("match-descriptor", [], """
class D:
    n = 0
    def __get__(self, o, c):
        D.n += 1
        return ('x',) if D.n == 1 else ('__dict__',)
T = type
P = T('P', (), {'__match' + '_args__': D(), 'x': 1})
D.n = 1
match P():
    case P(g): PWN = g"""),
    ("match-namedtuple", ["collections", "abc"], """
import collections, abc
class P(collections.namedtuple('P', 'tb_frame'), abc.ABC): pass
try: 1 / 0
except ZeroDivisionError as e: tb = e.__traceback__
P.register(type(tb))
match tb:
    case P(f): PWN = f"""),
    ("match-class-body", ["json"], """
import json
class E(type):
    def __getattr__(c, n): return ('__globals__',)
    def __instancecheck__(c, o): return True
class X(metaclass=E): pass
class N(dict):
    def __getitem__(self, k): return X if k[:2] == '__' and 'class' in k or k == 'P' else dict.__getitem__(self, k)
class M(type):
    @classmethod
    def __prepare__(m, *a): return N()
class P: pass
class C(metaclass=M):
    match json.dumps:
        case P(g): PWN = g
PWN = C.PWN"""),
    ("match-global-name", ["json"], """
import json
class M(type):
    def __getattr__(c, n): return ('__globals__',)
    def __instancecheck__(c, o): return True
class X(metaclass=M): pass
class P: pass
def swap():
    globals()['P'] = X
    for n in list(dict.keys(globals())):
        if 'class' in n: globals()[n] = X
    return json.dumps
match swap():
    case P(g): PWN = g
    case _: raise ValueError"""),
    # Files of the code's own.
    ("open-host", [], "PWN = open('/etc/hostname').read()"),
    ("open-dots", [], "PWN = open('/tmp/../etc/hostname').read()"),
    ("open-folder", [], "PWN = open(__import__('os').path.abspath('/etc/hostname')).read()"),
    ("open-descriptor", [], "PWN = open(1, 'w')"),
    ("open-write", [], "PWN = open('/dev/shm/agentjail-test-x', 'w')"),
    # Functions of libraries that read and write attributes and namespaces under names of the code's own.
    ("own-code-replace", [], "def f(): return 1\nPWN = getattr(f, '__code__.replace')"),
    ("own-code-nested", [], "def f():\n    def g(): pass\nPWN = getattr(f, '__code__.co_consts')"),
    ("cached-property-read", ["functools", "json"], """
import functools, json
p = functools.cached_property(lambda o: 1)
p.attrname = '__globals__'
PWN = p.__get__(type(json.dumps)).__get__(json.dumps)"""),
    ("cached-property-write", ["functools", "json"], """
import functools, json, __main__
class M(type):
    def __getattr__(c, n): return ('__globals__',)
    def __instancecheck__(c, o): return True
class P(metaclass=M): pass
p = functools.cached_property(lambda o: lambda c: c)
p.attrname = '__agentjail_class__'
p.__get__(__main__)
match json.dumps:
    case P(g): PWN = g"""),
    ("wraps-class-dict", ["functools", "json"], """
import functools, json
got = []
class W:
    def __setattr__(self, name, value): got.append(value)
functools.update_wrapper(W(), type(json.dumps), assigned=('__dict__',), updated=())
PWN = got[0]['__globals__'].__get__(json.dumps)"""),
    ("wraps-class-updated", ["functools", "json"], """
import functools, json
got = []
class U:
    def update(self, names): got.append(names)
class W:
    def __getattribute__(self, name): return U()
functools.update_wrapper(W(), type(json.dumps), assigned=(), updated=('__dict__',))
PWN = got[0]['__globals__'].__get__(json.dumps)"""),
    ("wraps-module-of-class", ["functools", "json"], """
import functools, json
class A: pass
functools.update_wrapper(json.JSONDecoder, A, assigned=('__module__',), updated=())
PWN = json.JSONDecoder.__dict__['decode']"""),
    ("wraps-defaults-of-library", ["functools", "json"], """
import functools, json
def f(*, indent=3): pass
functools.update_wrapper(json.dumps, f, assigned=('__kwdefaults__',), updated=())
PWN = 1"""),
    ("copy-state-of-main", ["copy", "json"], """
import copy, json, __main__
class M(type):
    def __getattr__(c, n): return ('__globals__',)
    def __instancecheck__(c, o): return True
class P(metaclass=M): pass
class R:
    def __reduce_ex__(self, p): return (lambda: __main__, (), {'__agentjail_class__': lambda c: c})
copy.copy(R())
match json.dumps:
    case P(g): PWN = g"""),
    ("mock-autospec-name", ["unittest", "unittest.mock"], """
from unittest import mock
class S(str):
    def isidentifier(self): return True
    def __str__(self): return 'f(*a, **k): pass\\nimport __main__; __main__.PWN = print.__self__\\ndef f'
def f(): pass
f.__name__ = S('f')
mock.create_autospec(f)"""),
    ("dataclass-annotations-late", ["dataclasses"], """
import dataclasses
got = []
class D:
    def __get__(self, o, c):
        names = c.__annotations__
        if 'z' in names:
            del names['z']
            names['x) and got.append(print.__self__) or (self.x'] = int
        return 0
class B:
    x: int = D()
    z: int = 1
dataclasses.dataclass(repr=False, init=False, eq=False, unsafe_hash=True)(B)
hash(B())
PWN = got[0]"""),
    ("dataclass-super", ["copy", "dataclasses", "json"], """
import copy, dataclasses, json, __main__
class M(type):
    def __getattr__(c, n): return ('__globals__',)
    def __instancecheck__(c, o): return True
class P(metaclass=M): pass
def super(c, s): return __main__
@dataclasses.dataclass(frozen=True)
class D: x: int = 0
class E(D): pass
e = E()
class R:
    def __reduce_ex__(self, p): return (lambda: e, (), (None, {'__agentjail_class__': lambda c: c}))
copy.copy(R())
match json.dumps:
    case P(g): PWN = g"""),
    ("doctest-of-library", ["doctest", "json"], """
import doctest, json
def f():
    '''
    >>> import __main__
    >>> __main__.PWN = codecs
    '''
f.__module__ = 'json'
doctest.run_docstring_examples(f, None)
if 'PWN' not in globals(): raise ValueError"""),
    ("globals-equal-key", ["json"], """
import json
class M(type):
    def __getattr__(c, n): return ('__globals__',)
    def __instancecheck__(c, o): return True
class X(metaclass=M): pass
class P: pass
class E:
    def __init__(self, name): self.name = name
    def __hash__(self): return hash(self.name)
    def __eq__(self, other): return self.name == other
def swap():
    for name in ('P', '__agentjail_class0__'): globals()[E(name)] = X
    return json.dumps
match swap():
    case P(g): PWN = g"""),
    ("exec-equal-key", [], """
class E:
    def __hash__(self): return hash('__builtins__')
    def __eq__(self, other): return other == '__builtins__'
d = {E(): None}
exec('x = 1', d)
PWN = d"""),
    ("star-of-proxy", ["json"], """
import json
class M(type):
    def __getattr__(c, n): return ('__globals__',)
    def __instancecheck__(c, o): return True
class P(metaclass=M): pass
setattr(json, '__all__', ['__agentjail_class__', 'dumps'])
for name in ('__getattr__',): setattr(json, name, lambda n: lambda c: c)
from json import *
match json.dumps:
    case P(g): PWN = g"""),
    ("star-of-table", ["json", "sys", "types"], """
import json, sys, types
class M(type):
    def __getattr__(c, n): return ('__globals__',)
    def __instancecheck__(c, o): return True
class P(metaclass=M): pass
m = types.ModuleType('m')
m.__all__ = ['__agentjail_class__']
m.__dict__['__agentjail_class__'] = lambda c: c
sys.modules['__main__'] = m
from __main__ import *
match json.dumps:
    case P(g): PWN = g"""),
    ("table-traceback", ["sys"], """
import sys
try: 1 / 0
except ZeroDivisionError as e: tb = e.__traceback__
sys.modules['__main__'] = tb
from __main__ import tb_frame as f
PWN = f"""),
    ("logging-brace-field", ["json", "logging"], "import json, logging\nPWN = logging.Formatter('{f.__globals__}', style='{').format(logging.makeLogRecord({'f': json.dumps}))"),
    ("typing-hints-module-in-c", ["typing"], """
import typing
T = type
A = T('A', (), {'__module__': 'sys', '__annotations__': {'a': 'modules'}})
PWN = typing.get_type_hints(A) if hasattr(typing, 'Generic') else 0"""),
    ("decorator-getattr", [], "@(lambda f: getattr(f, '__glo' + 'bals__'))\ndef f(): pass\nPWN = f"),
]

# Attempts through modules that a caller opted into: each evaluates text, or hands out frames, modules or real functions.
OPTED = [
    ("inspect-eval-str", ["inspect"], """
import inspect
def f(a: "open"): pass
f.__wrapped__ = inspect.cleandoc
f.__wrapped__ = inspect.getdoc
PWN = inspect.get_annotations(f, eval_str=True, globals={})['a']"""),
    ("inspect-signature-eval-str", ["inspect"], """
import inspect
def f(a: "[c for c in ().__class__.__base__.__subclasses__()]"): pass
PWN = inspect.signature(f, eval_str=True).parameters['a'].annotation"""),
    ("inspect-annotation-of-library", ["inspect"], """
import inspect
def f(a: "sys"): pass
f.__wrapped__ = inspect.getdoc
PWN = inspect.get_annotations(f, eval_str=True)['a'].modules"""),
    ("pickle-other-module", ["pickle"], "import pickle\nPWN = pickle.loads(b'cposix\\ngetpid\\n(tR.')"),
    ("pickle-file", ["pickle", "io"], "import io, pickle\nPWN = pickle.load(io.BytesIO(b'cposix\\ngetpid\\n(tR.'))"),
    ("pickle-inner-function", ["pickle", "json"], "import pickle\nPWN = pickle.loads(b'cjson.decoder\\nscanstring\\n.')"),
    ("pickle-names-module", ["pickle"], """
import pickle
class A: pass
A.__module__, A.__qualname__ = 'antigravity', 'fly'
try: pickle.dumps(A)
except pickle.PicklingError as e: assert 'import of module' not in str(e); PWN = 1"""),
    ("pickle-inner-class", ["pickle", "logging"], "import pickle\nPWN = pickle.loads(b'clogging.handlers\\nSocketHandler\\n.')"),
    ("pickle-private-module", ["pickle", "random"], "import pickle\nPWN = pickle.loads(b'crandom\\n_os\\n.')"),
    ("pickle-dotted", ["pickle", "json"], "import pickle\nPWN = pickle.loads(b'\\x80\\x04\\x8c\\x04json\\x8c\\x11loads.__globals__\\x93.')"),
    ("pickle-build", ["pickle"], "import pickle\nclass A: pass\npickle.loads(b'c__main__\\nA\\n(N(dV__match_args__\\n(Vx\\ntstb.')\nPWN = A.__match_args__"),
    ("pickle-private-helper", ["pickle", "typing"], """
import pickle, typing
evaluate = pickle.loads(b'ctyping\\n_eval_type\\n.')
PWN = evaluate(typing.Optional['exec'].__args__[0], {}, {})"""),
    ("pickle-state-of-main", ["json", "pickle"], """
import json, pickle
import __main__ as m
class M(type):
    def __getattr__(c, n): return ('__globals__',)
    def __instancecheck__(c, o): return True
class P(metaclass=M): pass
f = lambda c: c
pickle.loads(b'c__main__\\nm\\n(dV__agentjail_class__\\nc__main__\\nf\\nsb.')
match json.dumps:
    case P(g): PWN = g"""),
    ("pickle-builtin", ["pickle"], "import pickle\nPWN = pickle.loads(b'cbuiltins\\ngetattr\\n(cbuiltins\\nprint\\nV__self__\\ntR.')"),
    ("inspect-getmodule", ["inspect", "json"], "import inspect, json\nPWN = inspect.getmodule(json.loads).codecs.builtins.open"),
    ("inspect-classify", ["inspect"], """
import inspect
def f(): pass
PWN = [a.object for a in inspect.classify_class_attrs(type(f)) if a.name == '__glo' + 'bals__'][0].__get__(inspect.getdoc)['sys']"""),
    ("inspect-members-static", ["inspect"], "import inspect\nPWN = inspect.getmembers_static(type(lambda: 1))"),
    ("inspect-argvalues", ["inspect", "traceback"], """
import inspect, traceback
PWN = [inspect.getargvalues(f) for f, _ in traceback.walk_stack(None)]"""),
    ("traceback-walk", ["traceback"], "import traceback\nPWN = list(traceback.walk_stack(None))"),
    ("task-stack-locals", ["asyncio", "traceback"], """
import asyncio, traceback
async def main():
    frames = asyncio.current_task().get_stack()
    return traceback.StackSummary.extract([(f, 1) for f in frames], capture_locals=True)
PWN = [f.locals for f in asyncio.run(main()) if f.locals and ("/agentjail/runtime/" in f.filename or "/agentjail/rail/" in f.filename)][0]"""),
    ("threading-setprofile", ["threading"], """
import threading
got = []
threading.setprofile(lambda frame, event, arg: got.append(arg) if event == 'c_call' else None)
t = threading.Thread(target=lambda: hasattr((), 'x'))
t.start(); t.join()
PWN = got[0]"""),
    ("threading-settrace", ["threading"], """
import threading
got = []
threading.settrace(lambda frame, event, arg: got.append(frame))
t = threading.Thread(target=lambda: len(''))
t.start(); t.join()
PWN = got[0]"""),
    ("typing-hints-builtins", ["typing"], """
import typing
def f(a: "open"): pass
PWN = typing.get_type_hints(f, globalns={})['a']"""),
    ("typing-hints-library", ["typing", "json"], """
import typing, json
def f(a: "codecs.builtins"): pass
f.__wrapped__ = json.loads
def g(a: "detect_encoding"): pass
g.__wrapped__ = json.loads
PWN = typing.get_type_hints(g)['a']"""),
    ("typing-hints-thread", ["typing", "threading", "json"], """
import typing, threading, json
def g(a: "detect_encoding"): pass
g.__wrapped__ = json.loads
got = []
def hook(args): got.append(args.exc_value)
threading.excepthook = hook
class L(dict):
    def __missing__(self, k): raise KeyError(k)
t = threading.Thread(target=lambda: got.append(typing.get_type_hints(g)))
t.start(); t.join()
PWN = got[0]['a']"""),
    ("singledispatch-hints", ["functools", "json"], """
import functools, json
@functools.singledispatch
def s(x): pass
def g(a: "JSONDecoder"): pass
g.__wrapped__ = json.loads
s.register(g)
PWN = s.registry"""),
    ("typing-hints-frame", ["typing"], """
import typing
def gen(): yield 1
g = gen()
def f(a: "g.gi_frame"): pass
PWN = typing.get_type_hints(f)['a']"""),
    ("timeit-text", ["timeit"], "import timeit\ngot = []\ntimeit.timeit('got.append(breakpoint)', number=1, globals={'got': got})\nPWN = got[0]"),
    ("timeit-setup", ["timeit"], "import timeit\ngot = []\ntimeit.repeat(lambda: 1, 'got.append(breakpoint)', number=1, globals={'got': got})\nPWN = got[0]"),
    ("timeit-globals", ["timeit"], "import timeit\nd = {}\ntimeit.Timer(lambda: 1, globals=d).timeit(1)\nif not d: raise ValueError\nPWN = d['__builtins__']"),
    ("timeit-str-callable", ["timeit"], """
import timeit
class S(str):
    def __call__(self): pass
got = []
timeit.Timer(S('got.append(breakpoint)'), globals={'got': got}).timeit(1)
PWN = got[0]"""),
    ("doctest-debugger", ["doctest"], """
import doctest
r = doctest.DocTestRunner(verbose=False)
r.run(doctest.DocTestParser().get_doctest('>>> 1\\n1', {}, 't', 't', 0))
PWN = r.debugger.runctx"""),
    ("doctest-finder", ["doctest", "json"], "import doctest, json\nPWN = doctest.DocTestFinder(exclude_empty=False).find(json)[0].globs['codecs']"),
    ("doctest-runner-text", ["doctest"], """
import doctest
got = []
t = doctest.DocTestParser().get_doctest('>>> got.append(().__class__.__base__.__subclasses__)', {'got': got}, 't', 't', 0)
doctest.DocTestRunner(verbose=False).run(t, out=lambda s: None)
PWN = got[0]"""),
    ("own-self-builtin", [], "f = print\nPWN = f.__self__"),
    ("own-self-getattr", [], "PWN = getattr([].append, '__se' + 'lf__')"),
    ("own-func-library", ["random"], "import random\nm = random.Random().shuffle\nPWN = m.__func__"),
    ("doctest-text", ["doctest"], """
import doctest
got = []
test = doctest.DocTestParser().get_doctest('>>> got.append(breakpoint)', {'got': got}, 'x', None, 0)
doctest.DocTestRunner().run(test)
PWN = got[0]"""),
    ("bdb-run", ["bdb"], "import bdb\ngot = []\nbdb.Bdb().runeval('got.append(breakpoint)', {'got': got})\nPWN = got[0]"),
    ("pdb-run", ["pdb"], "import pdb\ngot = []\npdb.Pdb.set_trace = None\nPWN = pdb.Pdb"),
    ("trace-run", ["trace"], "import trace\ngot = []\ntrace.Trace(count=0, trace=0).runctx('got.append(breakpoint)', {'got': got})\nPWN = got[0]"),
    ("profile-run", ["cProfile"], "import cProfile\ngot = []\ncProfile.Profile().runctx('got.append(breakpoint)', {'got': got}, {})\nPWN = got[0]"),
    ("profile-python-run", ["profile"], "import profile\ngot = []\nprofile.Profile().runctx('got.append(breakpoint)', {'got': got}, {})\nPWN = got[0]"),
    ("runpy-module", ["runpy"], "import runpy\nPWN = runpy.run_module('keyword')['__builtins__']"),
    ("pkgutil-resolve", ["pkgutil"], "import pkgutil\nPWN = pkgutil.resolve_name('os:getpid')()"),
    ("pydoc-locate", ["pydoc"], "import pydoc\nPWN = pydoc.locate('os')"),
    ("rlcompleter-eval", ["rlcompleter"], "import rlcompleter\nPWN = rlcompleter.Completer({}).complete('ope', 0)"),
    ("importlib-util-spec", ["importlib.util"], "import importlib.util\nPWN = importlib.util.module_from_spec(importlib.util.find_spec('keyword'))"),
    ("importlib-machinery", ["importlib.machinery"], "import importlib.machinery\nPWN = importlib.machinery.BuiltinImporter.load_module('posix')"),
    ("importlib-entry-point", ["importlib.metadata"], """
import importlib.metadata
PWN = importlib.metadata.EntryPoint('x', 'os:getpid', 'g').load()()"""),
    ("logging-config", ["logging.config"], """
import logging.config
c = logging.config.BaseConfigurator({})
PWN = c.resolve('os.getpid')()"""),
    ("mock-patch", ["unittest.mock"], """
import unittest.mock
with unittest.mock.patch('os.getpid', lambda: 1) as m: PWN = m"""),
    ("mock-patch-object", ["unittest.mock"], """
from unittest import mock
p = mock.patch.object(print, '__self__', 1)
try: p.__enter__()
except (AttributeError, TypeError): pass
PWN = p.temp_original.open"""),
    ("loader-by-name", ["unittest"], """
import unittest
got = []
class S(unittest.TestSuite): pass
class Box:
    def __init__(self, f): self.f = f
loader = unittest.TestLoader()
try: loader.loadTestsFromName('xml.sax.handler')
except TypeError: pass
import sys
PWN = sys.modules['xml.sax']"""),
    ("xmlrpc-resolve", ["xmlrpc.server"], """
import xmlrpc.server
def gen(): yield xmlrpc.server.resolve_dotted_attribute(g, 'gi_frame.f_back.f_builtins')
g = gen()
PWN = next(g)['open']"""),
    ("os-system", ["os"], "import os\nPWN = os.system('true')"),
    ("posix-system", ["posix"], "import posix\nPWN = posix.system"),
    ("posix-through-os", ["os", "posix"], "import os, posix\nPWN = posix.fork"),
    ("os-fork", ["os"], "import os\nPWN = os.fork\nos.getpid()"),
    ("os-from", ["os"], "from os import execv, kill, popen\nPWN = popen"),
    ("os-control", ["os"], "import os\nPWN = os.write(3, b'x')"),
    ("os-control-terminal", ["os"], "import os\nPWN = [os.isatty(3)]"),
    ("os-control-fdopen", ["os"], "import os\nPWN = os.fdopen(3, 'wb', 0, closefd=False)"),
    ("os-control-stat", ["os"], "from os import fstat\nPWN = fstat(3)"),
    ("os-number-like", ["os"], "import os\nclass N(int):\n    def __lt__(s, o): return False\n    __le__ = __ge__ = lambda s, o: True\nPWN = os.fstat(N(3))"),
    ("os-descriptors", ["os"], "import os\nPWN = os.dup(0)"),
    ("os-close", ["os"], "import os\nPWN = [os.close(1)]"),
    ("os-through-pathlib", ["os", "pathlib"], "import pathlib\nPWN = pathlib.os.system"),
    ("pathlib-flavour", ["pathlib"], "from pathlib import Path\nf = getattr(Path(), '_flav' + 'our')\nPWN = f.pathmod.os if hasattr(f, 'pathmod') else f.os"),
    ("shutil-os", ["shutil"], "import shutil\nPWN = shutil.os.system"),
    ("glob-os", ["glob"], "import glob\nPWN = glob.os.system"),
    ("open-without-files", ["io", "codecs"], "import codecs, io\nPWN = codecs.open('/etc/hostname').read()"),
    ("mock-target-attribute", ["unittest.mock", "json"], """
from unittest import mock
import json
p = mock.patch.object(type(json.dumps), '__glo' + 'bals__', 1)
try: p.__enter__()
except (AttributeError, TypeError): pass
PWN = p.temp_original.__get__(json.dumps)['codecs']"""),
    ("mock-wraps", ["unittest.mock"], """
from unittest import mock
def gen(): yield 1
PWN = mock.Mock(wraps=gen()).__getattr__('gi_' + 'frame')._mock_wraps.f_builtins"""),
    ("mock-autospec", ["unittest.mock"], """
from unittest import mock
class A:
    def __get__(s, o, c): return 1
def gen(): yield 1
PWN = mock.create_autospec(gen()).gi_frame"""),
    ("mock-resolve-private", ["unittest.mock", "random"], """
from unittest import mock
with mock.patch('random._os.getpid', lambda: 1): PWN = 1"""),
    ("mock-dict", ["unittest.mock"], """
from unittest import mock
with mock.patch.dict('os.environ', {'a': 'b'}) as d: PWN = d"""),
    ("mock-build-class", ["unittest.mock"], """
from unittest import mock
with mock.patch('builtins.__build_' + 'class__', lambda *a: 5):
    class X: pass
PWN = X + 0"""),
    ("mock-configure", ["unittest.mock"], """
from unittest import mock
m = mock.Mock(a=print)
m.configure_mock(**{'a.__self' + '__.pwned': 7})
PWN = m.a"""),
    ("mock-configure-defaults", ["unittest.mock", "json"], """
import json
from unittest import mock
mock.Mock(a=json.loads).configure_mock(**{'a.__kwdefaults' + '__': {'x': 1}})
PWN = json.loads"""),
    ("mock-autospec-code", ["unittest.mock"], """
from unittest import mock
class S(str):
    def __getitem__(self, i): return 'x'
def f(): pass
f.__dict__[S('__co' + 'de__')] = 1
PWN = list(mock.create_autospec(f).mock._mock_children.values())[0].spec.replace"""),
    ("mock-eval", ["unittest.mock"], "from unittest import mock\nPWN = mock.Mock(side_effect=eval)('sys').modules"),
    ("mock-exec-globals", ["unittest.mock"], """
from unittest import mock
mock.Mock(side_effect=exec)('global PWN\\nPWN = inspect')
import unittest.mock
PWN = unittest.mock.PWN"""),
    ("unittest-main-module", ["unittest"], """
import unittest
p = unittest.main('os', argv=['x'], exit=False)
PWN = p.module.getpid()"""),
    ("unittest-load-name", ["unittest"], """
import unittest
try: unittest.TestLoader().loadTestsFromName('os.getpid')
except (TypeError, AttributeError) as e: PWN = e
PWN = PWN"""),
    ("unittest-load-module", ["unittest", "json"], """
import unittest, json
PWN = unittest.TestLoader().loadTestsFromNames(['x'], json.decoder)"""),
    ("doctest-finder", ["doctest", "json"], """
import doctest, json
PWN = doctest.DocTestFinder(exclude_empty=False).find(json.dumps)[0].globs['codecs'].open"""),
    ("doctest-module", ["doctest", "json"], "import doctest, json\nPWN = doctest.testmod(json)"),
    ("doctest-examples", ["doctest"], '''
def f():
    """
    >>> got.append(().__class__.__base__.__subclasses__)
    """
import doctest
got = []
doctest.run_docstring_examples(f, {'f': f, 'got': got})
PWN = got[0]'''),
    ("ast-fields", ["ast"], """
import ast
names = [n for n in dir(ast) if n == 'Attribute']
ast.Attribute._fields = ()
PWN = eval('(lambda: 0).__glo' + 'bals__')"""),
    ("ast-property", ["ast"], """
import ast
names = {}
ast.Attribute.attr = property(lambda node: names.pop(id(node), 'real'), lambda node, name: names.__setitem__(id(node), name))
PWN = eval('print.__self' + '__')"""),
    ("ast-visitor", ["ast", "json"], """
import ast, json
def f(): pass
f._fields = ('__glo' + 'bals__',)
PWN = [v for k, v in ast.iter_fields(f)][0]['__name__']"""),
    ("ast-compile", ["ast"], "import ast\nPWN = eval(compile(ast.parse('print.__self' + '__', mode='eval'), 'f', 'eval'))"),
    ("inspect-members-function", ["inspect"], "import inspect\ndef f(): pass\nPWN = dict(inspect.getmembers(f))['__globals__']"),
    ("inspect-members-predicate", ["inspect"], """
import inspect
got = []
class P:
    def __eq__(self, other): return True
    def __call__(self, value):
        if callable(value): got.append(value)
inspect.getmembers('{0.__self' + '__}', P())
for f in got:
    try: text = f(print)
    except Exception: continue
    if type(text) is str and 'module' in text: PWN = text
PWN = PWN"""),
    ("tempfile-default", ["tempfile", "inspect"], """
import inspect, tempfile
closer = type(tempfile.NamedTemporaryFile()._closer)
PWN = [p.default for f in ('close', 'cleanup') if hasattr(closer, f) for p in inspect.signature(getattr(closer, f)).parameters.values() if p.name == 'unlink'][0]
try: unlink = PWN('/dev/shm/agentjail-test-absent')
except FileNotFoundError: pass
except PermissionError:
    del PWN
    raise"""),
    ("inspect-signature-text", ["inspect"], """
import inspect
A = type('A', (), {'__doc__': 'A(x=zlib.ZLIB_VERSION, y=sys.executable)\\n--\\n\\n'})
PWN = inspect.signature(A).parameters['y'].default"""),
    ("logging-file", ["logging"], "import logging\nlogging.basicConfig(filename='/dev/shm/agentjail-test-log')\nlogging.error('x')\nPWN = 1"),
    ("logging-handler", ["logging"], "import logging\nPWN = logging.FileHandler('/dev/shm/agentjail-test-log')"),
    ("warnings-line", ["warnings"], "import warnings\nPWN = warnings.formatwarning('m', UserWarning, '/etc/hostname', 1).split('\\n')[1][0]"),
    ("traceback-line", ["traceback"], "import traceback\nPWN = traceback.FrameSummary('/etc/hostname', 1, 'f').line[0]"),
    ("xml-file", ["xml.etree.ElementTree"], """
import xml.etree.ElementTree as E
E.ElementTree(E.Element('a')).write('/dev/shm/agentjail-test-xml')
PWN = 1"""),
    ("argparse-file", ["argparse"], """
import argparse
p = argparse.ArgumentParser()
p.add_argument('f', type=argparse.FileType())
try: PWN = p.parse_args(['/etc/hostname']).f.read()
except SystemExit as e: raise ValueError(e)"""),
    ("configparser-file", ["configparser"], """
import configparser
c = configparser.ConfigParser()
try:
    if not c.read('/etc/hostname'): raise ValueError
except configparser.Error: PWN = 1"""),
    ("shlex-file", ["shlex"], "import shlex\nPWN = shlex.shlex('x').sourcehook('/etc/hostname')"),
    ("futures-processes", ["concurrent.futures"], "import concurrent.futures\nPWN = concurrent.futures.ProcessPoolExecutor"),
    ("tracemalloc-snapshot", ["tracemalloc"], "import tracemalloc\ntracemalloc.start()\nPWN = tracemalloc.take_snapshot()"),
    ("http-client", ["http"], "import http.client\nPWN = http.client"),
    ("gc-objects", ["gc"], "import gc\nPWN = gc.get_objects()"),
    ("gc-referrers", ["gc"], "import gc\nPWN = gc.get_referrers(int)"),
    ("code-interpreter", ["code"], "import code\ngot = []\ncode.InteractiveInterpreter({'got': got}).runsource('got.append(breakpoint)')\nPWN = got[0]"),
    ("codeop-compile", ["codeop"], "import codeop\nPWN = codeop.compile_command('1')"),
    ("asyncio-task-stack", ["asyncio"], """
import asyncio
async def f(): return asyncio.current_task().get_stack()
PWN = asyncio.run(f())[0].f_back"""),
    ("dis-code", ["dis"], "import dis\nPWN = dis.Bytecode(lambda: 1).codeobj.co_consts"),
]

# Attempts through a tool `t` (and `at`, a coroutine function): it must lead to nothing but what it returns.
TOOL_OWN = [
    ("tool-globals", [], "PWN = t.__globals__"),
    ("tool-closure", [], "PWN = t.__closure__[0].cell_contents"),
    ("tool-code", [], "PWN = t.__code__"),
    ("tool-defaults", [], "PWN = t.__defaults__"),
    ("tool-dict", [], "PWN = t.__dict__"),
    ("tool-builtins", [], "PWN = getattr(t, '__buil' + 'tins__')"),
    ("tool-closure-getattr", [], "PWN = getattr(t, '__clo' + 'sure__')"),
    ("tool-closure-getattribute", [], "PWN = object.__getattribute__(t, '__clo' + 'sure__')"),
    ("tool-closure-attrgetter", ["operator"], "from operator import attrgetter\nPWN = attrgetter('__clo' + 'sure__')(t)"),
    ("tool-closure-wraps", ["functools"], """
import functools
class W:
    def __setattr__(self, n, v):
        if n[:3] == '__c': got.append(v)
got = []
functools.update_wrapper(W(), t, assigned=['__clo' + 'sure__'], updated=())
PWN = got[0]"""),
    ("tool-closure-format", [], "PWN = ('{0.__clo' + 'sure__}').format(t)"),
    ("tool-match", [], "match t:\n    case object(__closure__=c): PWN = c"),
    ("tool-replace-code", [], "def g():\n    x = 1\n    def f(): return x\n    return f\nt.__code__ = g().__code__\nPWN = 1"),
    ("tool-coroutine-frame", [], "c = at('x')\nPWN = c.cr_frame"),
    ("tool-coroutine-code", [], "c = at('x')\nPWN = getattr(c, 'cr_' + 'code')"),
    ("tool-coroutine-locals", ["inspect"], "import inspect\nPWN = inspect.getcoroutinelocals(at('x'))"),
    ("tool-generator-locals", ["inspect"], "import inspect\nPWN = inspect.getgeneratorlocals((i for i in [1]))"),
    ("tool-error-traceback", [], "try: t('x' * 2000000)\nexcept ToolError as e: PWN = e.__traceback__.tb_frame"),
    ("tool-error-context", [], """
try: t(print)
except TypeError as e: PWN = e.__context__.__traceback__"""),
    ("tool-error-class", [], "PWN = ToolError.__init__.__globals__"),
    ("tool-error-bases", [], "PWN = ToolError.__mro__"),
    ("tool-argument-frame", ["dataclasses"], """
from dataclasses import dataclass
@dataclass
class D:
    x: int = 1
class P:
    def __get__(s, o, c):
        global PWN
        try: 1/0
        except ZeroDivisionError as e: PWN = e.__traceback__.tb_frame
        return 1
    def __set__(s, o, v): pass
D.x = P()
t(D())"""),
]
TOOLS = [{"name": name, "async": name == "at", "parameters": {"properties": {"x": {}, "y": {"default": [1]}}, "required": ["x"]}}
         for name in ("t", "at")]

# The attempts that do nothing natively either: they would clash with a guard that a plain interpreter has not.
CONTROL_DIES = {
    "guard-name-load": "there is no such name",
    "own-set-guard-name": "there is no such name",
    "own-code-replace": "functions have no such attribute",
    "own-code-nested": "functions have no such attribute",
    "format-augassign": "str objects take no attribute of that name",
    "import-star-private": "star imports leave private names out",
    "import-level": "there is no such package",
    "view-getattr-closure": "modules have no such function",
}


def test(score):
    with open(os.path.join(HERE, "corpus.json"), encoding="utf-8") as f:
        corpus = json.load(f)
    for item in corpus:
        name = "corpus/" + item["id"]
        if not score.wants(name):
            continue
        if item.get("since") and sys.version_info[:2] < tuple(item["since"]):
            want, control = {"status": "error", "type": "SyntaxError"}, False
        else:
            want, control = item["expect"], True
        (claim,), held = run(request(item["code"], imports=item["imports"]), probe="PWN")
        error = claim["error"] or {}
        ok = (claim["status"] == want["status"] and want.get("type") in (None, error.get("type"))
              and want.get("rule") in (None, error.get("rule")) and ("harmless" in item) == (held is not None))
        if want["status"] == "rejected":
            ok = ok and error["line"] >= 1 and error["column"] >= 1 and error["hint"]
        score.check(name, ok, (claim["status"], error.get("rule"), error.get("type"), error.get("message"), held))
        if control:
            control_run(score, name, item["code"])
    for name, imports, code in OWN + OPTED + library_escapes.CASES:
        name = "own/" + name
        if not score.wants(name):
            continue
        (claim,), held = run(request(code, imports=imports), probe="PWN")
        error = claim["error"] or {}
        score.check(name, held is None and claim["status"] in ("rejected", "error"),
                    (claim["status"], error.get("rule"), error.get("message"), held))
        # The refusal must be about the attempt: an error that names a rule, or speaks of what is not allowed.
        text = error.get("message", "")
        score.check(name + "/reason", error.get("rule") or "allowed" in text or "plain" in text
                    or "not available" in text or "is not defined" in text or error.get("type") == "KeyError" or "has no attribute" in text or "cannot import" in text
                    or error.get("type") in ("ValueError", "IndexError", "TypeError", "Error", "NotFoundErr"), error)
        if name[4:] not in CONTROL_DIES:
            control_run(score, name, code)
    if score.wants("own/arrays"):
        test_arrays(score)
    for name, imports, code in TOOL_OWN:
        name = "own/" + name
        if score.wants(name):
            (claim,), held = run(request(code, imports=imports, tools=TOOLS), probe="PWN")
            error = claim["error"] or {}
            score.check(name, held is None and claim["status"] in ("rejected", "error") and (
                error.get("rule") or "allowed" in error["message"] or error["type"] == "IndexError"), (claim["status"], error, held))
            control_run(score, name, code, tools=TOOLS)


def test_arrays(score):
    """With the packages of this Python, or those that the tests of the client have installed."""
    folders = glob.glob(os.path.join(HERE, "../../build/venv/sdk/lib/python%d.%d/site-packages" % sys.version_info[:2]))
    sys.path += folders
    try:
        if not (importlib.util.find_spec("numpy") and importlib.util.find_spec("pandas")):
            score.skip("own/arrays", "numpy and pandas are not installed")
            return
        for name, code in library_escapes.OF_ARRAYS + [("honest", library_escapes.ARRAYS_HONEST)]:
            (claim,), held = run(request(code, imports=["numpy", "numpy.lib.stride_tricks", "pandas", "json"]), probe="PWN")
            error = claim["error"] or {}
            if name == "honest":
                score.check("own/arrays/honest", held == repr(
                    [(2, 2), (2, 2), [2, 4, 6], (2, 2), (3, 1), (2, 2), 108, [[0, 2], [2, 4], [4, 6]]]), (held, error))
            else:
                score.check("own/arrays/" + name, held is None and (error.get("rule") or error.get("type") == "ValueError"), (held, error))
                control_run(score, "own/arrays/" + name, code)
    finally:
        del sys.path[len(sys.path) - len(folders):]


def control_run(score, name, code, **keys):
    if not WHOLE and not score.only and zlib.crc32(name.encode()) % 3:
        return
    (claim,), held = run(request(code, layer=False, **keys), probe="PWN")
    if name.endswith(("P60", "P61", "P62", "P69")):
        return  # needs `site`, or a native __import__ that is a Python function: nothing to compare with
    if name.endswith("dataclass-functiontype") and sys.version_info >= (3, 13):
        return  # the module no longer has that name
    score.check(name + "/control", held is not None, ((claim["error"] or {}).get("message"), "the control did not fire"))
