"""Rich results: what `_repr_*_` methods, display() and open figures put into the claim, and what they cannot break.
Figures come from a module that stands in for matplotlib where this Python lacks it.
"""

from harness import request, run

A = "class A:\n    def __repr__(self): return 'A()'\n    def %s\n"


def bundle(body, end="A()"):
    return A % body + end


# (name, code, results)
SHOWN = [
    ("html", bundle("_repr_html_(self): return '<b>é</b>'"), [{"text/plain": "A()", "text/html": "<b>é</b>"}]),
    ("png", bundle("_repr_png_(self): return b'\\x89PNG'"), [{"text/plain": "A()", "image/png": "iVBORw=="}]),
    ("png-base64", bundle("_repr_png_(self): return 'iVBO\\nRw==\\n'"), [{"text/plain": "A()", "image/png": "iVBORw=="}]),
    ("jpeg", bundle("_repr_jpeg_(self): return b'\\xff'"), [{"text/plain": "A()", "image/jpeg": "/w=="}]),
    ("svg", bundle("_repr_svg_(self): return '<svg/>'"), [{"text/plain": "A()", "image/svg+xml": "<svg/>"}]),
    ("markdown", bundle("_repr_markdown_(self): return '*a*'"), [{"text/plain": "A()", "text/markdown": "*a*"}]),
    ("latex", bundle("_repr_latex_(self): return '$x$'"), [{"text/plain": "A()", "text/latex": "$x$"}]),
    ("json", bundle("_repr_json_(self): return {'a': (1, 'x\\0')}"), [{"text/plain": "A()", "application/json": {"a": [1, "x\0"]}}]),
    ("metadata", bundle("_repr_html_(self): return '<i>', {'isolated': True}"), [{"text/plain": "A()", "text/html": "<i>"}]),
    ("mimebundle", bundle("_repr_mimebundle_(self, include=None, exclude=None): return {'text/plain': 'A', 'application/vnd.x.v1+json': [1]}"),
     [{"text/plain": "A", "application/vnd.x.v1+json": [1]}]),
    ("none", bundle("_repr_html_(self): return None"), [{"text/plain": "A()"}]),
    ("inherited", bundle("_repr_html_(self): return 'a'", "class B(A): pass\nB()"), [{"text/plain": "A()", "text/html": "a"}]),
    ("final-answer", bundle("_repr_html_(self): return 'a'", "final_answer(A())"), [{"text/plain": "A()", "text/html": "a"}]),
    ("display", "display(1, 'a')\n5", [{"text/plain": "1"}, {"text/plain": "'a'"}]),
    ("display-raw", "display({'text/html': 'h'}, raw=True)", [{"text/html": "h"}]),
    ("display-options", "display(1, display_id=True, metadata={})", [{"text/plain": "1"}]),
    ("display-and-value", bundle("_repr_html_(self): return 'a'", "display(2)\nA()"), [{"text/plain": "2"}, {"text/plain": "A()", "text/html": "a"}]),
    ("display-before-error", "display(1)\n1/0", [{"text/plain": "1"}]),
    ("nul-visible", bundle("_repr_html_(self): return 'a\\0b'"), [{"text/plain": "A()", "text/html": "a\\x00b"}]),
    ("surrogate-visible", bundle("_repr_html_(self): return '\\ud800'"), [{"text/plain": "A()", "text/html": "\\ud800"}]),
    ("str-subclass", "class S(str):\n    def __len__(self): return 0\n" + bundle("_repr_html_(self): return S('<p>')"), [{"text/plain": "A()", "text/html": "<p>"}]),
]
# (name, code): there is no member `results`
PLAIN = [
    ("values", "[5, 'a', None, (1,), {'a': b''}]"), ("assignment", bundle("_repr_html_(self): return 'a'", "x = A()")), ("print", "print(1)"),
    ("class", bundle("_repr_html_(self): return 'a'", "1")), ("instance-attribute", "class A: pass\na = A()\nsetattr(a, 'x', 1)\na"),
    ("named-display", "def display(*a): return 5\ndisplay(6)"), ("inside", bundle("_repr_html_(self): return 'a'", "[A()]")),
]
# (name, body of the method, what a warning says): the run is ok, and only this entry is missing
BROKEN = [
    ("raises", "_repr_html_(self): raise ValueError('boom')", "_repr_html_ failed: ValueError: boom"),
    ("raises-worse", "_repr_html_(self):\n        class E(Exception):\n            def __str__(self): raise ValueError\n        raise E", "_repr_html_ failed: E"),
    ("recursion", "_repr_html_(self): return self._repr_html_()", "RecursionError"),
    ("html-int", "_repr_html_(self): return 5", "text/html was dropped: a str is expected, not int"),
    ("html-bytes", "_repr_html_(self): return b'a'", "text/html was dropped: a str is expected, not bytes"),
    ("png-list", "_repr_png_(self): return [1]", "image/png was dropped: bytes are expected, not list"),
    ("png-text", "_repr_png_(self): return 'é'", "image/png was dropped: UnicodeEncodeError"),
    ("json-object", "_repr_json_(self): return object()", "application/json was dropped: JSON is expected, and has no value of type object"),
    ("bundle-list", "_repr_mimebundle_(self, include=None, exclude=None): return [1]", "_repr_mimebundle_ failed: TypeError"),
    ("bundle-names", "_repr_mimebundle_(self, include=None, exclude=None): return {5: 'a'}", "an entry was dropped"),
    ("bundle-space", "_repr_mimebundle_(self, include=None, exclude=None): return {'text/a b': 'a'}", "an entry was dropped"),
    ("bundle-many", "_repr_mimebundle_(self, include=None, exclude=None): return {'text/plain': 'A()', **{'x/%d' % n: n for n in range(99)}}", "x/0 was dropped"),
]
# Stands in for matplotlib: sys.modules is filled before the session begins.
FIGURES = '''
import sys
from types import ModuleType
class Figure:
    axes = [1]
    def savefig(self, out, format, bbox_inches):
        out.write(b"PNG" if self.axes != [2] else 1 / 0)
    def _repr_html_(self): return None
    def __repr__(self): return "<Figure>"
pyplot, helpers, figure, top = [ModuleType("matplotlib" + n) for n in (".pyplot", "._pylab_helpers", ".figure", "")]
class Gcf: figs = {}
helpers.Gcf, figure.Figure = Gcf, Figure
pyplot.get_fignums = lambda: sorted(Gcf.figs)
pyplot.figure = lambda n=None: Gcf.figs.setdefault(n or len(Gcf.figs) + 1, Figure())
pyplot.close = lambda which: Gcf.figs.clear()
for m in (pyplot, helpers, figure, top): sys.modules[m.__name__] = m
plt = pyplot
'''
PNG = {"text/plain": "<Figure>", "image/png": "UE5H"}
# (name, code after FIGURES, results)
DRAWN = [
    ("one", "plt.figure()\n1", [PNG]), ("two", "plt.figure(), plt.figure()\n1", [PNG, PNG]), ("empty", "plt.figure().axes = []\n1", None),
    ("displayed", "display(plt.figure())\n1", [PNG]), ("value", "plt.figure()", [PNG]), ("closed-value", "f = plt.figure(); plt.close('all'); f", [PNG]),
    ("error", "plt.figure()\n1/0", [PNG]), ("stopped", "plt.figure()\nraise KeyboardInterrupt", None), ("none", "1", None),
]


def test(score):
    for name, code, want in SHOWN:
        if score.wants("rich/" + name):
            (claim,), _ = run(request(code))
            score.check("rich/" + name, claim.get("results") == want and "warnings" not in claim and claim["truncated"] == {}, claim)
    for name, code in PLAIN:
        if score.wants("rich/plain-" + name):
            (claim,), _ = run(request(code))
            score.check("rich/plain-" + name, claim["status"] == "ok" and "results" not in claim and "warnings" not in claim, claim)
    for name, body, want in BROKEN:
        if score.wants("rich/" + name):
            (claim,), _ = run(request(bundle(body)))
            score.check("rich/" + name, claim["status"] == "ok" and claim["results"][0]["text/plain"] == "A()"
                        and any([want in w["message"] for w in claim["warnings"]]), claim)
    sizes(score)
    figures(score)
    sets(score)


def sizes(score):
    def case(name, code, ok, value_bytes=1000):
        if score.wants("rich/" + name):
            (claim,), _ = run(request(code, limits={"value_bytes": value_bytes, "repr_bytes": 1000}))
            score.check("rich/" + name, ok(claim.get("results"), claim["truncated"].get("results")), claim)
    html = "_repr_html_(self): return '<' * %d"
    case("large", bundle(html % 2000), lambda r, cut: r == [{"text/plain": "A()"}] and cut is True)
    case("fits", bundle(html % 900), lambda r, cut: len(r[0]["text/html"]) == 900 and cut is None)
    case("escapes-count", bundle("_repr_html_(self): return '\\n' * 600"), lambda r, cut: r == [{"text/plain": "A()"}] and cut is True)
    case("base64-counts", bundle("_repr_png_(self): return b'a' * 800"), lambda r, cut: r == [{"text/plain": "A()"}] and cut is True)
    case("json-counts", bundle("_repr_json_(self): return list(range(999))"), lambda r, cut: r == [{"text/plain": "A()"}] and cut is True)
    case("together", bundle(html % 900, "for i in range(9): display(A())"), lambda r, cut: sum([len(str(b)) for b in r]) < 1500 and len(r) > 1 and cut is True)
    case("many", "for i in range(101): display(i)", lambda r, cut: len(r) == 100 and cut is True, 10000)
    case("cycle", bundle("_repr_json_(self): l = []; l.append(l); return l"), lambda r, cut: r == [{"text/plain": "A()"}] and cut is True)
    case("claim-in-bounds", bundle("_repr_json_(self): return [[0] * 90] * 9000", "for i in range(9): display(A())"), lambda r, cut: len(r) == 9 and cut is True)


def figures(score):
    for name, code, want in DRAWN:
        if score.wants("rich/figures-" + name):
            (claim, after), _ = run(request(FIGURES + code, layer=False), request("len(Gcf.figs), 1", layer=False))
            score.check("rich/figures-" + name, claim.get("results") == want and after["value"]["data"] == [0, 1] and "results" not in after, (claim, after))
    if score.wants("rich/figures-broken"):
        (claim,), _ = run(request(FIGURES + "plt.figure().axes = [2]\n1", layer=False))
        score.check("rich/figures-broken", claim["status"] == "ok" and "savefig failed: ZeroDivisionError" in claim["warnings"][0]["message"], claim)


def sets(score):
    """display is there in every set of built-in functions but `minimal`, and is no variable of the agent's."""
    for builtins, keys, want in (("minimal", {}, False), ("standard", {}, True), ("full", {}, True), ("full", {"layer": False}, True)):
        if score.wants("rich/builtin-" + builtins):
            (claim,), _ = run(request("display(1)", builtins=builtins, **keys))
            score.check("rich/builtin-" + builtins, ("results" in claim) is want and (want or claim["error"]["type"] == "NameError"), claim)
    if score.wants("rich/not-a-variable"):
        (_, claim), _ = run(request("x = 1"), request(None, vars=True))
        score.check("rich/not-a-variable", [row["name"] for row in claim["value"]] == ["x"], claim)
    if score.wants("rich/each-snippet"):
        (first, second), _ = run(request("display(1)"), request("2"))
        score.check("rich/each-snippet", first["results"] == [{"text/plain": "1"}] and "results" not in second, (first, second))
