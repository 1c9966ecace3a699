"""Writes what runs of warm.sh printed into docs/performance.md: warm_page.py PAGE LOG...; the last log is shown whole, and the aims of all.
It computes nothing: each figure stands as the bench printed it."""

import re
import sys

BEGIN, END = "<!-- warm begin: written by tests/bench/warm_page.py -->\n", "<!-- warm end -->\n"
AIM = re.compile(r"^  (\S.*?)\s{2,}([\d.]+), (at (?:most|least) [\d.]+): (met|not met)$", re.M)


def main():
    page, *logs = sys.argv[1:]
    runs = []
    for log in logs:
        with open(log, encoding="utf-8") as f:
            runs.append(f.read().strip())
    aims = [AIM.findall(run) for run in runs]
    out = ["".join("    %s\n" % line if line else "\n" for line in runs[-1].splitlines())]
    out.append("\n| aim | %s | |\n|---|%s---|\n" % (" | ".join("run %d" % (i + 1) for i in range(len(runs) - 1)) + " | the run above", "---|" * len(runs)))
    for rows in zip(*aims):
        said = {row[3] for row in rows}
        out.append("| %s: %s | %s | %s |\n" % (rows[0][0], rows[0][2], " | ".join(row[1] for row in rows), said.pop() if len(said) == 1 else "not in each run"))
    with open(page, encoding="utf-8") as f:
        text = f.read()
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    if not after:
        sys.exit("%s: the lines between which the figures stand are missing" % page)
    with open(page, "w", encoding="utf-8") as f:
        f.write(before + BEGIN + "\n" + "".join(out) + "\n" + END + after)


main()
