"""Draws a run of measure.py: latency by live sandboxes and fresh sandboxes a second by clients, each as an SVG and as a table of the page.
It computes no figure: each point is one that the run has. Standard library only.

Usage: draw.py RUN.json DOCS   writes DOCS/latency.svg and DOCS/throughput.svg, and the block `scale` of DOCS/performance.md
"""

import json
import math
import os
import sys
from html import escape

COLOURS = {"agentjail": "#1b6b93", "agentjail exec": "#59a5d8", "bare python3": "#8c8c8c", "bubblewrap": "#c9a227", "sandlock": "#d1495b", "monty": "#8f6fbf"}
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 360, 70, 130, 20, 50


def decades(values):
    """From the power of ten below the least value to the one above the greatest."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def plot(series, title_x, title_y):
    """`series`: {name: [(x, y)]}; both axes are logarithmic."""
    xs = sorted({x for points in series.values() for x, _ in points})
    low, high = decades([y for points in series.values() for _, y in points])
    left, right = math.log(xs[0]), math.log(max(xs[-1], xs[0] * 2))

    def at(x, y):
        return (LEFT + (WIDTH - LEFT - RIGHT) * (math.log(x) - left) / (right - left),
                HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (math.log10(y) - low) / (high - low))

    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="11">' % (WIDTH, HEIGHT),
           '<rect width="100%" height="100%" fill="#ffffff"/>']
    for power in range(low, high + 1):
        y = at(xs[0], 10.0 ** power)[1]
        out.append('<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#dddddd"/>' % (LEFT, WIDTH - RIGHT, y, y))
        out.append('<text x="%d" y="%.1f" text-anchor="end" fill="#555555">%s</text>' % (LEFT - 6, y + 4, "{:,g}".format(10.0 ** power)))
    for x in xs:
        out.append('<text x="%.1f" y="%d" text-anchor="middle" fill="#555555">%d</text>' % (at(x, 10.0 ** low)[0], HEIGHT - BOTTOM + 16, x))
    out.append('<text x="%d" y="%d" text-anchor="middle">%s</text>' % ((LEFT + WIDTH - RIGHT) // 2, HEIGHT - 14, escape(title_x)))
    out.append('<text transform="rotate(-90 14 %d)" x="14" y="%d" text-anchor="middle">%s</text>' % (HEIGHT // 2, HEIGHT // 2, escape(title_y)))
    ends = sorted((at(*points[-1])[1], name) for name, points in series.items())
    place = TOP
    for end, name in ends:
        place = max(place + 14, end)  # names of lines that end together stand below one another
        colour, points = COLOURS.get(name, "#333333"), series[name]
        out.append('<polyline fill="none" stroke="%s" stroke-width="2" points="%s"/>' % (colour, " ".join("%.1f,%.1f" % at(*p) for p in points)))
        for x, y in points:
            out.append('<circle cx="%.1f" cy="%.1f" r="3" fill="%s"><title>%s, %d: %g</title></circle>' % (*at(x, y), colour, escape(name), x, y))
        out.append('<text x="%d" y="%.1f" fill="%s">%s</text>' % (WIDTH - RIGHT + 8, place + 4, colour, escape(name)))
    return "\n".join([*out, "</svg>", ""])


def series_of(rows, x, y):
    series = {}
    for row in rows:
        if row.get(y, 0) > 0:
            series.setdefault(row["peer"], []).append((row[x], row[y]))
    return {name: sorted(points) for name, points in series.items()}


def table(rows, x, shown, corner):
    xs, names = sorted({row[x] for row in rows}), list(dict.fromkeys(row["peer"] for row in rows))
    cell = {(row["peer"], row[x]): "not measured" if "not_measured" in row else shown(row) for row in rows}
    lines = ["| %s | %s |" % (corner, " | ".join(map(str, xs))), "|---|%s" % ("---|" * len(xs))]
    return lines + ["| %s | %s |" % (name, " | ".join(cell.get((name, at), "-") for at in xs)) for name in names]


def page(run):
    machine = run["machine"]
    lines = ["![latency of a snippet by the number of live sandboxes](latency.svg)", "",
             *table(run["alive"], "alive", lambda row: "%.0f / %.0f" % (row["median_us"], row["p99_us"]), "µs, median / p99, by live sandboxes"), "",
             "![fresh sandboxes a second by the number of clients](throughput.svg)", "",
             *table(run["kinds"], "kind", lambda row: "%.0f / %.0f" % (row["median_us"], row["p99_us"]), "µs, median / p99, one sandbox"), "",
             *table(run["fresh"], "clients", lambda row: "%.0f" % row["per_second"], "fresh sandboxes a second, by clients"), ""]
    missing = dict(run["missing"])
    for kind, what in (("kinds", "kind"), ("alive", "alive"), ("fresh", "clients")):
        for row in run[kind]:
            if "not_measured" in row:
                missing.setdefault(row["peer"], "%s %s: %s" % (what, row[what], row["not_measured"]))
    if missing:
        lines += ["Not measured: %s." % "; ".join("%s (%s)" % item for item in missing.items()), ""]
    lines.append("%s, %d CPUs, as %s, load %.2f at the start; %s." % (machine["system"], machine["cpus"], machine["user"], machine["load_at_start"],
                                                                     ", ".join(run["versions"].values())))
    return "\n".join(lines)


def main():
    with open(sys.argv[1]) as f:
        run = json.load(f)
    docs = sys.argv[2]
    for name, text in (("latency.svg", plot(series_of(run["alive"], "alive", "median_us"), "live sandboxes", "µs for 2+2 in one of them, median")),
                       ("throughput.svg", plot(series_of(run["fresh"], "clients", "per_second"), "clients", "fresh sandboxes a second"))):
        with open(os.path.join(docs, name), "w", encoding="utf-8") as f:
            f.write(text)
    path = os.path.join(docs, "performance.md")
    with open(path, encoding="utf-8") as f:
        whole = f.read()
    head, begin, rest = whole.partition("<!-- scale begin")
    mark, _, rest = rest.partition("-->\n")
    _, end, tail = rest.partition("<!-- scale end -->")
    if not end:
        sys.exit("%s: the lines between which the figures stand are missing" % path)
    with open(path, "w", encoding="utf-8") as f:
        f.write(head + begin + mark + "-->\n" + page(run) + "\n" + end + tail)


if __name__ == "__main__":
    main()
