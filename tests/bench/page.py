"""Writes runs of the benches into docs/internals/performance.md: the last run of each as it was printed, and one table of all aims over all runs.
It takes no figure from elsewhere, and computes medians and the quotient of two medians alone.

Usage: page.py DOCS RUN.json...   runs of record.py (start-*, warm-*, sdk-*) and of scale/measure.py (scale-*, kinds-*); a kind without a run stays as it is,
and the table of aims does where all runs are those of sdk, whose aims stand below its own figures, too
"""

import json
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))

# Aims that are quotients of a row by another: table, row, by, column, limit. Those of warm.sh are in its runs.
RUN_TRUE, WALLS = "agentjail run -- true", "floor: the walls, the fewest calls"
START = (
    ("`run -- true` / the floor launcher with the same walls", "true", RUN_TRUE, WALLS, "median", "at most 1.20"),
    ("`run -- true` / bubblewrap with the same filter", "true", RUN_TRUE, "bubblewrap, our filter -- true", "median", "at most 1.00"),
    ("`run -- true` / `true`", "true", RUN_TRUE, "bare", "median", "at most 6.50"),
    ("`exec` of 2+2 / `python3 -c 'print(2+2)'`", "Python", "agentjail exec --json -c 2+2", "bare python3 -c 'print(2+2)'", "median", "at most 0.95"),
    *(("`exec` a second / bubblewrap's Pythons, %s" % ("1 client" if clients == "1" else clients + " clients"), "runs a second, by number of clients",
       "agentjail exec --json -c 2+2", "bubblewrap -- python3 -I -S -c pass", clients, "at least 1.00") for clients in ("1", "2", "4", "16")),
)
KINDS = (("a session snippet through the service / monty's", "session"), ("a fresh sandbox through the service / monty's", "fresh"),
         ("a snippet with one call through the service / monty's", "one call"))


def cell(run, table, row, column):
    for one in run["tables"]:
        if one["title"] == table:
            for line in one["rows"]:
                if line["name"] == row and isinstance(line.get(column), float):
                    return line[column]
    return None


def quotients(runs, table, row, by, column):
    pairs = [(cell(run, table, row, column), cell(run, table, by, column)) for run in runs]
    return [above / below for above, below in pairs if above and below]


def beside_monty(run, kind):
    us = {row["peer"]: row["median_us"] for row in run["kinds"] if row["kind"] == kind and "median_us" in row}
    return us["agentjail"] / us["monty"] if "monty" in us and "agentjail" in us else None


def aims(runs):
    """(aim, limit, its figure in each run)."""
    for name, *of, limit in START:
        yield name, limit, quotients(runs["start"], *of)
    for kind in ("warm", "sdk"):
        for aim in runs[kind][-1]["aims"] if runs[kind] else ():
            yield aim["aim"], "%s %.2f" % (aim["limit"].rpartition(" ")[0], float(aim["limit"].split()[-1])), [
                one["value"] for run in runs[kind] for one in run["aims"] if one["aim"] == aim["aim"]]
    for name, kind in KINDS:
        yield name, "at most 1.00", [figure for figure in (beside_monty(run, kind) for run in runs["scale"] + runs["kinds"]) if figure]


def is_met(limit, figure):
    return round(figure, 2) <= float(limit.split()[-1]) if limit.startswith("at most") else round(figure, 2) >= float(limit.split()[-1])


def table(runs):
    lines = ["| aim | wanted | median | least to most | runs | |", "|---|---|---|---|---|---|"]
    for name, limit, figures in aims(runs):
        if figures:
            middle = statistics.median(figures)
            lines.append("| %s | %s | %.2f | %.2f to %.2f | %d | %s |" % (
                name, limit, middle, min(figures), max(figures), len(figures), "met" if is_met(limit, middle) else "**not met**"))
        else:
            lines.append("| %s | %s | - | - | 0 | not measured |" % (name, limit))
    every = [run for kind in runs.values() for run in kind]
    loads = [run["machine"]["load_at_start"] for run in every]
    others = [run["machine"]["busy_at_start"] for run in every if "busy_at_start" in run["machine"]]
    commits = sorted({run["commit"] for run in every if run.get("commit")})
    machine = every[0]["machine"]
    busy = " The processors had other work: what several processes take part in then waits for its turns, and its ratios say little."
    return lines + ["", "%s, %d CPUs, as %s, load %.2f to %.2f at the start of a run (of the minute before, in which another run ended); %s.%s" % (
        machine["system"], machine["cpus"], machine["user"], min(loads), max(loads), ", ".join(commits) or "no commit",
        busy if others and statistics.median(others) > BUSY else "")]


BUSY = 0.1    # of the processors' time, other programs'
LATENCY, FLOW, START_OF_PYTHON = "latency", "runs a second, by number of clients", "Python"
PING, BIRTH = "floor: a warm Python behind a socket", "a birth: processor time of all, to the jail's end"
WAITING = "a jail that waits (of 16; 16 inits are the zygote's)"


def floors(runs):
    """Aims of one floor each: the floor, the figure that the aim allows, and the one that was reached, as medians over the runs."""
    warm, start = runs["warm"], runs["start"]

    def middle(of, *place):
        found = [figure for figure in (cell(run, *place) for run in of) if figure]
        return statistics.median(found) if found else None

    def of_flow(row):  # microseconds of a processor for each: with two clients two processors work, where there are as many
        rate = middle(warm, FLOW, row, "2")
        return rate and min(2, warm[-1]["machine"]["cpus"]) * 1e6 / rate

    ping = middle(warm, LATENCY, PING, "median")
    pings = middle(warm, LATENCY, "back to back: floor: a warm Python", "median")
    bwrap = of_flow("bubblewrap -- python3 -I -S -c pass")
    walls = middle(start, "true", WALLS, "median")
    python = middle(start, START_OF_PYTHON, "bare python3 -c 'print(2+2)'", "median")
    return (
        ("pool hit, µs", "the ping: no wall, no check", ping, ping and 2.2 * ping,
         middle(warm, LATENCY, "agentjail: pool hit, a fresh jail", "median")),
        ("session snippet, µs", "the ping", ping, ping and 1.6 * ping, middle(warm, LATENCY, "agentjail: session snippet", "median")),
        ("session snippets back to back, µs", "the ping", pings, pings and 2.5 * pings,
         middle(warm, LATENCY, "back to back: session snippets", "median")),
        ("fresh jails, 2 clients: µs of a processor each", "fork into the namespaces, the policy's modules in memory, no other wall",
         middle(warm, BIRTH, "floor: the same, the policy's modules loaded", "us"), bwrap and bwrap / 5, of_flow("agentjail: fresh jails, 2+2")),
        ("memory of a waiting jail, KiB", "its private pages, nothing shared counted", middle(warm, "memory, KiB", WAITING, "private"), 1.6 * 1024,
         middle(warm, "memory, KiB", WAITING, "PSS")),
        ("`exec` of 2+2, ms", "`python3 -I -S -c pass` in the floor's walls", middle(start, START_OF_PYTHON, "floor: python3 -I -S -c pass", "median"),
         python and 0.95 * python, middle(start, START_OF_PYTHON, "agentjail exec --json -c 2+2", "median")),
        ("`run -- true`, ms", "the floor launcher", walls, walls and 1.2 * walls, middle(start, "true", RUN_TRUE, "median")),
    )


def floors_table(runs):
    lines = ["", "| of | floor | floor's figure | the aim allows | reached |", "|---|---|---|---|---|"]
    for name, floor, *figures in floors(runs):
        lines.append("| %s | %s | %s |" % (name, floor, " | ".join("-" if figure is None else "%.4g" % figure for figure in figures)))
    return lines


def put(text, name, lines):
    """Between the marks of that name."""
    head, begin, rest = text.partition("<!-- %s begin" % name)
    mark, _, rest = rest.partition("-->\n")
    _, end, tail = rest.partition("<!-- %s end -->" % name)
    if not end:
        sys.exit("docs/internals/performance.md: the lines between which the figures of `%s` stand are missing" % name)
    return head + begin + mark + "-->\n" + "\n".join(["", *lines, ""]) + "\n" + end + tail


def main():
    docs, *paths = sys.argv[1:]
    runs, last = {"start": [], "warm": [], "sdk": [], "scale": [], "kinds": []}, {}
    for path in sorted(paths):
        kind = os.path.basename(path).partition("-")[0]
        with open(path, encoding="utf-8") as file:
            runs[kind].append(json.load(file))
        last[kind] = path
    if not last:
        sys.exit("page.py: no run is given")
    page = os.path.join(docs, "performance.md")
    if "scale" in last:
        subprocess.run([sys.executable, os.path.join(HERE, "scale", "draw.py"), last["scale"], docs], check=True)
    with open(page, encoding="utf-8") as file:
        text = file.read()
    for kind in ("start", "warm", "sdk"):
        if kind in last:
            lines = "\n".join(runs[kind][-1]["lines"]).strip("\n").split("\n")
            text = put(text, kind, ["    " + line if line else "" for line in lines])
    if set(last) != {"sdk"}:
        text = put(text, "aims", table(runs) + floors_table(runs))
    with open(page, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
