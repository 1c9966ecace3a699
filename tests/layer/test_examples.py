"""The examples in the documentation strings of the modules that built-in policies allow: the same with the layer as without it.
It refuses to compare with what a documentation says: only with what this interpreter does. `make doctests` runs all there are, in jails.
"""

import json
import os
import subprocess
import sys

from harness import HERE, request, run


def ordinary(what, items):
    done = subprocess.run([sys.executable, "-I", "-S", "-B", os.path.join(HERE, "..", "doctests", "examples.py")], input=json.dumps([what, items]),
                          capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else []


def test(score):
    if not score.wants("examples/"):
        return
    # Not earlier: other tests compare the modules that are loaded.
    sys.path.insert(0, os.path.join(HERE, "..", "doctests"))
    import doctests
    from explained import explained_example
    imports = [name for name in doctests.imports_of_presets() if name.partition(".")[0] not in doctests.PACKAGES]
    units = ordinary("find", imports)
    first = ordinary("run", units)
    inside = [outcomes(unit, one, imports) for unit, one in zip(units, first)]
    equal = 0
    for unit, verdicts in zip(units, doctests.settle(units, first, inside, lambda again: ordinary("run", again))):
        for source, (verdict, why) in zip(unit["examples"], verdicts):
            equal += verdict == "equal"
            score.check("examples/%s/%s" % (unit["name"], source.strip()), verdict != "differs" or explained_example(unit["name"], source, why) is not None, why)
    score.check("examples/counted", equal > 150, equal)


def outcomes(unit, ordinary_ones, imports):
    claims, _ = run(*[request(source, imports=imports) for source in unit["prelude"] + unit["examples"]])
    found = []
    for claim, want in zip(claims[len(unit["prelude"]):], ordinary_ones):
        error = claim["error"] or {}    # the output goes nowhere here: it counts as equal
        found.append([want[0], None if error else claim["repr"], error.get("type"), error.get("message"), error.get("rule")])
    return found
