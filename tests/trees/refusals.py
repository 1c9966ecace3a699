"""Text that libraries evaluate leads no further than the snippet's own code: each row raises, and its control does not."""
import pandas as pd
import sympy

df = pd.DataFrame({"a": [1, 2]})
rows = [
    (lambda: sympy.sympify("__import__('os').getpid()"), lambda: sympy.sympify("sin(x)**2 + E")),
    (lambda: sympy.sympify("().__class__.__base__"), lambda: sympy.sympify("_x + x_1.subs(x_1, 2)")),
    (lambda: sympy.sympify("open('/etc/passwd')"), lambda: sympy.sympify("max(1, 2) + abs(-3)")),
    (lambda: sympy.parse_expr("getattr(x, 'a')", evaluate=False), lambda: sympy.parse_expr("2 + 3", evaluate=False)),
    (lambda: df.query("@pd.io.common.os.getcwd() == 'x'"), lambda: df.query("a > 1")),
    (lambda: df.query("@df.__class__.__init__.__globals__['sys'].modules"), lambda: df.eval("a + 1")),
]
for refused, control in rows:
    control()
    try:
        print("not refused:", refused())
    except (AttributeError, NameError, TypeError, sympy.SympifyError):
        print("refused")
