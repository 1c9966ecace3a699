"""What the runner compiles without the checker (guest/plain_code.c) is what the checker accepts as it stands: programs, attacks and mutants of both.
What it takes out of a request (guest/plain_request.c) is what runtime/request.py reads.
It refuses to be content with a walk that declines everything: most programs of models must be accepted.
"""

import json
import os
import subprocess
import sys

from harness import GUEST, WHOLE
from test_language import PROGRAMS

HERE = os.path.dirname(os.path.abspath(__file__))
MUTANTS = os.environ.get("PLAIN_MUTANTS", "20000" if WHOLE else "600")
SEED = os.environ.get("PLAIN_SEED", "1")


def test(score):
    if not score.wants("plain/walk"):
        return
    with open(os.path.join(HERE, "corpus.json"), encoding="utf-8") as file:
        attacks = [case["code"] for case in json.load(file)]
    programs = [program[1] for program in PROGRAMS]
    for name, sources, least in (("programs", programs, 0.6), ("attacks", attacks, 0)):
        done = subprocess.run([sys.executable, "-I", "-B", os.path.join(HERE, "plain_code.py"), sys.path[0], GUEST, MUTANTS, SEED],
                              input=json.dumps(sources), capture_output=True, text=True)
        said = json.loads(done.stdout) if done.returncode == 0 else {"wrong": [done.stderr[-1000:]]}
        score.check("plain/" + name, not said["wrong"], said["wrong"])
        score.check("plain/many-" + name, said.get("accepted", 0) >= least * len(sources) and said.get("mutants_accepted", 0) > 20 and
                    said.get("expressions", 0) > 20, said)
    done = subprocess.run([sys.executable, "-I", "-B", os.path.join(HERE, "plain_request.py"), sys.path[0], GUEST, MUTANTS, SEED],
                          capture_output=True, text=True)
    said = json.loads(done.stdout) if done.returncode == 0 else {"wrong": [done.stderr[-1000:]]}
    score.check("plain/requests", not said["wrong"] and said.get("accepted", 0) > int(MUTANTS) // 20, said)
