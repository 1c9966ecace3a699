"""Escape attempts by way of library code that reads, sets or calls what a name of the agent's says: (name, imports, code), as in test_escapes.py.
A case that names a table of rail/patches.py in a comment is the reason for that row.
"""

# Evidence: the module of the real built-in functions, a FileIO, the globals of a library's function, a frame, a guard that was replaced.
OPENS = "type({})('/etc/hostname').read()"
REPLACED_GUARD = """
class M(type):
    def __getattr__(c, n): return ('__globals__',)
    def __instancecheck__(c, o): return True
class P(metaclass=M): pass
match json.dumps:
    case P(g): PWN = g"""
TAKER = """
got = []
class W:
    def __setattr__(self, name, value): got.append(value)
"""

CASES = [
    # functools and contextlib: update_wrapper(assigned=...)
    ("wraps-raw", ["functools", "sys"], "import functools, sys" + TAKER + """
functools.update_wrapper(W(), sys.stderr.buffer, assigned=['raw'], updated=())
PWN = """ + OPENS.format("got[0]")),
    ("wraps-getattribute", ["functools"], "import functools" + TAKER + """
functools.update_wrapper(W(), print, assigned=['__getattribute__'], updated=())
PWN = got[0]('__self__').open"""),
    ("wraps-format", ["functools"], "import functools" + TAKER + """
functools.update_wrapper(W(), '{0.__self' + '__}', assigned=['format'], updated=())
PWN = got[0](print)"""),
    ("wraps-flavour", ["functools", "pathlib"], "import functools, pathlib" + TAKER + """
functools.update_wrapper(W(), pathlib.Path(), assigned=['_flavour'], updated=())
PWN = got[0].pathmod.os if hasattr(got[0], 'pathmod') else got[0].os"""),
    ("wraps-evaluate", ["functools", "typing"], "import functools, typing" + TAKER + """
reference = typing.List['breakpoint'].__args__[0]
functools.update_wrapper(W(), reference, assigned=['_evaluate'], updated=())
PWN = got[0]({}, {}, frozenset())"""),
    ("wraps-objclass", ["functools", "json"], "import functools, json" + TAKER + """
functools.update_wrapper(W(), type(json.dumps), assigned=['__getattribute__'], updated=())
PWN = got[0](json.dumps, '__glo' + 'bals__')['codecs']"""),
    ("contextlib-wraps-raw", ["contextlib", "sys"], "import contextlib, sys" + TAKER + """
contextlib.wraps(sys.stderr.buffer, assigned=['raw'], updated=())(W())
PWN = """ + OPENS.format("got[0]")),
    ("wraps-dict-of-partial", ["functools"], """
import functools
class G:
    def __get__(self, o, c): return print
    def __call__(self): pass
p = functools.partialmethod(G()).__get__(1, int)
class U:
    def update(self, names): got.append(names)
class W:
    def __getattribute__(self, name): return U()
got = []
functools.update_wrapper(W(), p, assigned=(), updated=('__dict__',))
PWN = got[0]['__self__'].open"""),
    # copy: deepcopy(memo=...) chooses the arguments of the function that a reduction names
    ("deepcopy-memo-dict", ["copy"], """
import copy
text = 'a text'
m = text.__add__
PWN = copy.deepcopy(m, {id(text): print, id('__add__'): '__self__'}).open"""),
    # unittest
    ("mock-original-swapped", ["unittest.mock", "json"], """
import json
from unittest import mock
p = mock.patch.object(json, 'x')
def getter():
    p.attribute = '__glo' + 'bals__'
    return type(json.dumps)
p.getter = getter
PWN = p.get_original()[0].__get__(json.dumps)['codecs']"""),
    ("mock-original-raw", ["unittest.mock", "sys"], """
import sys
from unittest import mock
PWN = """ + OPENS.format("mock.patch.object(sys.stderr.buffer, 'raw').get_original()[0]")),
    ("mock-original-getattribute", ["unittest.mock"], """
from unittest import mock
PWN = mock.patch.object(print, '__getattribute__').get_original()[0]('__self__').open"""),
    ("mock-wraps-raw", ["unittest.mock", "sys"], """
import sys
from unittest import mock
PWN = """ + OPENS.format("mock.Mock(wraps=sys.stderr.buffer).raw._mock_wraps")),
    ("testcase-run-function", ["unittest", "json"], """
import json, unittest
f = json.dumps
got = []
f._testMethodName = '__glo' + 'bals__'
f._callTestMethod = got.append
f._callSetUp = f._callTearDown = f.doCleanups = f._addDuration = lambda *a: None
f.failureException, f._testMethodDoc, f._cleanups, f._subtest = Exception, '', [], None
f.shortDescription = f.id = lambda: 'f'
try: unittest.TestCase.run(f, unittest.TestResult())
except Exception as e: error = e
if not got: raise error
PWN = got[0]['codecs']"""),
    ("testcase-run-class", ["unittest", "json"], """
import json, unittest
got = []
class X(unittest.TestCase):
    _testMethodName = '__getattribute__'
    failureException, _testMethodDoc = Exception, ''
    _callTestMethod = got.append
    _callSetUp = _callTearDown = doCleanups = _addDuration = shortDescription = lambda *a: None
    id = lambda *a: 'x'
try: unittest.TestCase.run(X, unittest.TestResult())
except Exception as e: error = e
if not got: raise error
PWN = got[0](json.dumps, '__glo' + 'bals__')"""),
    ("testcase-method-name", ["unittest"], """
import unittest
got = []
class X(unittest.TestCase):
    def _callTestMethod(self, method): got.append(method)
try: X('__getattribute__').run()
except Exception as e: error = e
if not got: raise error
PWN = got[0]('__red' + 'uce_ex__')"""),
    ("testcase-assertion", ["unittest", "json"], """
import json, unittest
json.dumps._type_equality_funcs = {int: '__glo' + 'bals__'}
PWN = unittest.TestCase._getAssertEqualityFunc(json.dumps, 1, 1)['codecs']"""),
    ("test-runner-stream", ["unittest", "sys"], """
import sys, unittest
PWN = """ + OPENS.format("unittest.TextTestRunner(stream=sys.stderr.buffer).stream.raw")),
    # dataclasses and pprint: fields whose names code has changed
    ("dataclass-asdict-class", ["dataclasses", "json"], """
import dataclasses, json
T = type
Meta = dataclasses.dataclass(T('Meta', (T,), {'__annotations__': {'x': int}, '__module__': '__main__'}))
dataclasses.fields(Meta)[0].name = '__getattribute__'
X = Meta.__new__(Meta, 'X', (), {})
PWN = dataclasses.astuple(X)[0](json.dumps, '__glo' + 'bals__')"""),
    ("dataclass-asdict-super", ["dataclasses", "json"], """
import dataclasses, json
@dataclasses.dataclass
class S(super):
    x: int = 0
    def __init__(self, *a): super().__init__(*a)
dataclasses.fields(S)[0].name = '__getattribute__'
got = dataclasses.asdict(S(type(json.dumps), json.dumps))
PWN = list(got.values())[0]('__glo' + 'bals__')"""),
    ("dataclass-replace", ["dataclasses", "json"], """
import dataclasses, json
got = []
@dataclasses.dataclass
class S(super):
    x: int = 0
    def __init__(self, *a, **k):
        got.append(k)
        if a: super().__init__(*a)
dataclasses.fields(S)[0].name = '__getattribute__'
s = S(type(json.dumps), json.dumps)
dataclasses.replace(s)
PWN = list(got[-1].values())[0]('__glo' + 'bals__')"""),
    ("pprint-dataclass", ["dataclasses", "json", "pprint"], """
import dataclasses, json, pprint
got = []
@dataclasses.dataclass
class S(super):
    x: int = 0
    def __init__(self, *a): super().__init__(*a)
dataclasses.fields(S)[0].name = '__getattribute__'
class Printer(pprint.PrettyPrinter):
    def _format_namespace_items(self, items, *a): got.extend(items)
class Out:
    def write(self, text): pass
Printer()._pprint_dataclass(S(type(json.dumps), json.dumps), Out(), 0, 0, {}, 0)
PWN = got[0][1]('__glo' + 'bals__')"""),
    # What passes an attribute on to another object, in C and in Python
    ("generic-alias-raw", ["types", "sys"], "import sys, types\nPWN = " + OPENS.format("types.GenericAlias(sys.stderr.buffer, (int,)).raw")),
    ("generic-alias-self", ["types"], "import types\nPWN = getattr(types.GenericAlias(print, (int,)), '__self' + '__').open"),
    ("generic-alias-getattribute", ["types"], "import types\nPWN = types.GenericAlias(print, (int,)).__getattribute__('__self__')"),
    ("generic-alias-obj", ["types"], """
import types
try: print.nope
except AttributeError as e: PWN = types.GenericAlias(e, (int,)).obj"""),
    ("method-type-obj", ["types"], """
import types
try: print.nope
except AttributeError as e: PWN = types.MethodType(AttributeError, 1).obj.__get__(e)"""),
    ("method-type-raw", ["io", "sys", "types"], """
import io, sys, types
PWN = """ + OPENS.format("types.MethodType(io.BufferedWriter, 1).raw.__get__(sys.stderr.buffer)")),
    ("typing-alias-raw", ["io", "sys", "typing"], """
import io, sys, typing
class C(io.BufferedWriter, typing.Generic[typing.TypeVar('T')]): pass
PWN = """ + OPENS.format("C[int].raw.__get__(sys.stderr.buffer)")),
    ("typing-alias-obj", ["typing"], """
import typing
class C(AttributeError, typing.Generic[typing.TypeVar('T')]): pass
try: print.nope
except AttributeError as e: PWN = C[int].obj.__get__(e)"""),
    ("weak-proxy-detach", ["sys", "weakref"], "import sys, weakref\nPWN = " + OPENS.format("weakref.proxy(sys.stderr.buffer).detach()")),
    ("codecs-reader-raw", ["codecs", "sys"], "import codecs, sys\nPWN = " + OPENS.format("codecs.getreader('utf-8')(sys.stderr.buffer).raw")),
    ("codecs-writer-detach", ["codecs", "sys"], "import codecs, sys\nPWN = " + OPENS.format("codecs.getwriter('utf-8')(sys.stderr.buffer).detach()")),
    ("codecs-recoder-raw", ["codecs", "sys"], "import codecs, sys\nPWN = " + OPENS.format("codecs.EncodedFile(sys.stderr.buffer, 'utf-8').raw")),
    ("tempfile-wrapper-raw", ["sys", "tempfile"], """
import sys, tempfile
PWN = """ + OPENS.format("type(tempfile.NamedTemporaryFile())(sys.stderr.buffer, 'x', delete=False).raw")),
    ("saxutils-writer", ["xml.sax.saxutils", "sys"], """
import sys
from xml.sax import saxutils
class Out:
    def __init__(self, o): self.o = o
g = saxutils.XMLGenerator(sys.stderr)
PWN = """ + OPENS.format("g._write.__self__.buffer.raw")),
    # Functions that take a name
    ("optparse-ensure", ["optparse", "sys"], "import optparse, sys\nPWN = " + OPENS.format("optparse.Values.ensure_value(sys.stderr.buffer, 'raw', 1)")),
    ("optparse-ensure-method", ["optparse"], "import optparse\nPWN = optparse.Values.ensure_value(print, '__getattribute__', 1)('__self__').open"),
    ("ast-fields-method", ["ast", "json"], """
import ast, json
json.dumps._fields = ('__getattribute__',)
PWN = list(ast.iter_fields(json.dumps))[0][1]('__glo' + 'bals__')['codecs']"""),
    ("dom-builder-feature", ["xml.dom.minidom"], """
import xml.dom.minidom as m
b = m.getDOMImplementation().createDOMBuilder(1, None)
b._options = print
PWN = b.getFeature('__self__').open"""),
    ("dom-builder-set", ["json", "xml.dom.minidom"], """
import json, __main__
import xml.dom.minidom as m
b = m.getDOMImplementation().createDOMBuilder(1, None)
b._options = __main__
b._settings = {('json', 1): [('__agentjail_class__', lambda c: c)]}
b.setFeature('json', 1)""" + REPLACED_GUARD),
    # Library code that writes names into an object's namespace: that of the code itself leads the guards astray
    ("main-log-record", ["json", "logging"], """
import json, logging, __main__
logging.setLogRecordFactory(lambda *a, **k: __main__)
logging.makeLogRecord({'__agentjail_class__': lambda c: c})""" + REPLACED_GUARD),
    ("main-log-extra", ["json", "logging"], """
import json, logging, __main__
logging.setLogRecordFactory(lambda *a, **k: __main__)
logging.getLogger().makeRecord('n', 1, 'f', 1, 'm', (), None, extra={'__agentjail_class__': lambda c: c})""" + REPLACED_GUARD),
    ("main-optparse", ["json", "optparse"], """
import json, optparse, __main__
optparse.Values._update_loose(__main__, {'__agentjail_class__': lambda c: c})""" + REPLACED_GUARD),
    ("main-email-policy", ["json", "email.policy"], """
import json, __main__
from email import policy
class X:
    def __new__(cls): return __main__
T = type
Fake = T('Fake', (), {'__cl' + 'ass__': property(lambda self: X), '__getattr__': lambda self, name: 1})
policy.Policy.clone(Fake(), **{'__agentjail_class__': lambda c: c})""" + REPLACED_GUARD),
    ("email-policy-defaults", ["json", "email.policy"], """
import json
from email import policy
class X:
    def __new__(cls): return json.dumps
T = type
Fake = T('Fake', (), {'__cl' + 'ass__': property(lambda self: X), '__getattr__': lambda self, name: 1})
policy.Policy.clone(Fake(), **{'__kwdefaults__': {'indent': 3, 'skipkeys': False, 'ensure_ascii': True, 'check_circular': True, 'allow_nan': True,
    'cls': None, 'separators': None, 'default': None, 'sort_keys': False}})
PWN = json.dumps([1]).count('\\n')"""),
    ("main-unittest", ["json", "optparse", "unittest"], """
import json, optparse, unittest
class P(unittest.TestProgram):
    def parseArgs(self, argv): pass
    def runTests(self): pass
p = P('__main__', argv=['x'])
optparse.Values._update_loose(p.module, {'__agentjail_class__': lambda c: c})""" + REPLACED_GUARD),
    ("gettext-builtins", ["fractions", "gettext"], """
import fractions, gettext
class N(str):
    asked = 0
    def __hash__(self):
        N.asked += 1
        return hash('gettext') if N.asked == 1 else str.__hash__(self)
    def __eq__(self, o): return N.asked == 1 or str.__eq__(self, o)
called = []
class T(gettext.NullTranslations):
    def divmod(self, a, b): return called.append(a) or (0, 0)
names = [N('divmod')]
T().install(names)
round(fractions.Fraction(7, 3))
PWN = called[0]"""),
    # The classes of syntax trees, changed while a check runs
    ("ast-thread", ["ast", "threading", "time"], """
import ast, threading, time
kept, done, refused = {}, [], []
def change():
    try:
        while not done:
            ast.Attribute.attr = property(lambda node: kept.get(id(node), 'real'), lambda node, name: kept.update({id(node): 'real'}) or node.__init__)
            del ast.Attribute.attr
    except TypeError as e: refused.append(e)
thread = threading.Thread(target=change)
thread.start()
time.sleep(0.01)
done.append(1)
thread.join()
if refused: raise TypeError('%s is not allowed' % refused[0])
PWN = 1"""),
    ("ast-class-set", ["ast"], "import ast\nast.Attribute.attr = property(lambda node: 'real')\nPWN = 1"),
    ("ast-class-by-type", ["ast"], "import ast\ntype.__setattr__(ast.Attribute, 'attr', property(lambda node: 'real'))\nPWN = 1"),
]

# The same with numpy and pandas.
OF_ARRAYS = [
    ("eval-frame", """
import pandas as pd
try: 1 / 0
except ZeroDivisionError as e: tb = e.__traceback__
PWN = pd.DataFrame({'a': [1]}).eval('@tb.tb_frame.f_builtins', engine='python')"""),
    ("eval-globals", """
import json
import pandas as pd
PWN = pd.eval('f.__globals__', engine='python', local_dict={'f': json.dumps})['codecs']"""),
    ("eval-level", """
import pandas as pd
for depth in range(12):
    for name in ('session', 'self', 'guards', 'namespace'):
        try: PWN = pd.eval(name, engine='python', level=depth)
        except Exception: continue
if 'PWN' not in globals(): raise ValueError('no such name')"""),
    ("apply-name", "import pandas as pd\nPWN = pd.Series([1]).agg('__getattribute__', 0, '__red' + 'uce_ex__')"),
    ("as-strided", """
import numpy as np
from numpy.lib.stride_tricks import as_strided
PWN = as_strided(np.zeros(1, 'u1'), shape=(4096,), strides=(1,))[4095]"""),
    ("as-strided-subclass", """
import numpy as np
from numpy.lib.stride_tricks import as_strided
T = type
A = T('A', (np.ndarray,), {'__array_' + 'interface__': {'shape': (8,), 'typestr': '|u1', 'data': (id(int), False), 'version': 3}})
read = bytes(as_strided(np.zeros(8, 'u1').view(A), (8,), (1,), subok=True))
if not any(read): raise ValueError
PWN = read"""),
    ("array-interface", "import numpy as np\nclass F: __array_interface__ = {'shape': (8,), 'typestr': '|u1', 'data': (id(int), False), 'version': 3}\nPWN = bytes(np.asarray(F()))"),
]
ARRAYS_HONEST = """
import numpy as np, pandas as pd
from numpy.lib.stride_tricks import as_strided
table = pd.DataFrame({'a': [1, 2, 3], 'g': ['x', 'y', 'x']})
limit = 2
def f(x):
    y = x
    return table.query('a > @y').shape
x = np.arange(10)
PWN = [table.query('a >= @limit').shape, f(1), table.eval('a * @limit').tolist(), table.query('g.str.contains("x")').shape, table[['a']].apply('sqrt').shape,
       table.groupby('g').agg({'a': ['sum', 'mean']}).shape, as_strided(x, (8, 3), (8, 8)).sum().item(), as_strided(x[::2], (3, 2), (16, 16)).tolist()]"""
