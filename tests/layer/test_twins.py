"""What the layer and the C code both state, because neither can include the other: compared as text or by the same rows.
It refuses to find nothing: a table that is not where it was fails.
"""

import json
import keyword
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")

SAID = """
import json, sys
sys.path.insert(0, FOLDER)
from agentjail.check.allowed_imports import AllowedImports
from agentjail.runtime import tools
print(json.dumps([sorted(tools.KEYWORDS), sorted(tools.RESERVED_NAMES), [AllowedImports(patterns.split()).allows(module) for patterns, module in ROWS]]))
"""


def text(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def c_names(source, array):
    """The strings of an array of C."""
    return sorted(re.findall(r'"(\w+)"', re.search(r"\b%s\[\] = \{(.*?)\};" % array, source, re.S).group(1)))


def test(score):
    rows = re.findall(r'^IMPORT\("([^"]*)", "([^"]*)", (true|false)\)$', text("tests", "unit", "policy", "imports.h"), re.M)
    code = "FOLDER = %r\nROWS = %r\n%s" % (sys.path[0], [row[:2] for row in rows], SAID)
    done = subprocess.run([sys.executable, "-I", "-S", "-B", "-c", code], capture_output=True, text=True)
    score.check("twins/starts", done.returncode == 0, done.stderr)
    if done.returncode:
        return
    keywords, taken, allowed = json.loads(done.stdout)
    tools = text("src", "session", "tools", "declaration.c")
    score.check("twins/keywords", keywords == sorted(keyword.kwlist) == c_names(text("src", "base", "python_name.c"), "keywords"), keywords)
    score.check("twins/names-of-the-layer", taken == c_names(tools, "ours"), taken)
    score.check("twins/imports", len(rows) > 20, len(rows))
    for (patterns, module, want), got in zip(rows, allowed):
        score.check("twins/import/%s/%s" % (patterns, module), got == (want == "true"), got)
