"""Text that libraries evaluate leads no further than the snippet's own code: each row raises, and its control does not."""
import io
import pickle

import joblib
import numpy as np
import pandas as pd
import sympy

df = pd.DataFrame({"a": [1, 2]})
system = b"cposix\ngetpid\n(tR."
plain = pickle.dumps([df])
array = io.BytesIO()
np.save(array, np.array([None, "a"], dtype=object), allow_pickle=True)
header = array.getvalue()[:array.getvalue().index(b"\n") + 1]
rows = [
    (lambda: sympy.sympify("__import__('os').getpid()"), lambda: sympy.sympify("sin(x)**2 + E")),
    (lambda: sympy.sympify("().__class__.__base__"), lambda: sympy.sympify("_x + x_1.subs(x_1, 2)")),
    (lambda: sympy.sympify("open('/etc/passwd')"), lambda: sympy.sympify("max(1, 2) + abs(-3)")),
    (lambda: sympy.parse_expr("getattr(x, 'a')", evaluate=False), lambda: sympy.parse_expr("2 + 3", evaluate=False)),
    (lambda: df.query("@pd.io.common.os.getcwd() == 'x'"), lambda: df.query("a > 1")),
    (lambda: df.query("@df.__class__.__init__.__globals__['sys'].modules"), lambda: df.eval("a + 1")),
    (lambda: pickle.loads(system), lambda: pickle.loads(plain)),
    (lambda: pd.read_pickle(io.BytesIO(system)), lambda: pd.read_pickle(io.BytesIO(plain))),
    (lambda: np.load(io.BytesIO(header + system), allow_pickle=True), lambda: np.load(io.BytesIO(array.getvalue()), allow_pickle=True)),
    (lambda: joblib.load(io.BytesIO(system)), lambda: joblib.load(io.BytesIO(plain))),
    # Classes and functions of inner modules that make functions of text, import by a name or start programs.
    *((lambda data=data: pickle.loads(data), lambda: pickle.loads(plain)) for data in (
        b"cscipy._lib.decorator\nFunctionMaker\n.", b"cnumpy.core\n_ufunc_reconstruct\n(Vos\nVgetpid\ntR.",
        b"cjoblib.externals.cloudpickle.cloudpickle\nsubimport\n(Vos\ntR.", b"cjoblib.externals.cloudpickle.cloudpickle\n_make_function\n.",
        b"cjoblib.externals.loky.process_executor\nProcessPoolExecutor\n.", b"cnumpy.distutils.exec_command\n_exec_command\n.",
        b"cnumpy.testing._private.utils\nrundocs\n.", b"cpandas.core.computation.scope\nScope\n.", b"cpandas.io.common\nos\n.",
        b"csympy.plotting.experimental_lambdify\nLambdifier\n.", b"cpytz\nopen_resource\n(V../../../etc/passwd\ntR.",
        b"clogging.handlers\nSocketHandler\n.", b"cconcurrent.futures.process\nProcessPoolExecutor\n.", b"cunittest.__main__\nmain\n.")),
]
for refused, control in rows:
    control()
    try:
        print("not refused:", refused())
    except (AttributeError, NameError, TypeError, sympy.SympifyError, pickle.UnpicklingError):
        print("refused")
