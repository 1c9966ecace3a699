"""Draws the executors' times as bars on a logarithmic axis, as SVG text.
It knows no executor by name and computes no figure."""

import math
from html import escape

COLOURS = ("#8c8c8c", "#c9a227", "#d1495b", "#8f6fbf", "#b79fdc", "#1b6b93", "#59a5d8")
LEFT, WIDTH, BAR, GAP, TOP = 130, 560, 9, 14, 62
LEAST_MS, MOST_MS = 0.01, 10000.0


def at(ms):
    span = math.log10(MOST_MS / LEAST_MS)
    return LEFT + WIDTH * math.log10(min(max(ms, LEAST_MS), MOST_MS) / LEAST_MS) / span


def bars(figures, names, cases):
    """`figures`: {name: {case: ms}}; a case without a number has no bar. Shorter is better."""
    height = TOP + len(cases) * (len(names) * BAR + GAP) + 30
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="11">' % (LEFT + WIDTH + 60, height),
           '<rect width="100%" height="100%" fill="#ffffff"/>']
    x, line = 10, 8
    for name, colour in zip(names, COLOURS):
        if x + 24 + 7 * len(name) > LEFT + WIDTH:
            x, line = 10, line + 18
        out.append('<rect x="%d" y="%d" width="10" height="10" fill="%s"/><text x="%d" y="%d">%s</text>' % (x, line, colour, x + 14, line + 9, escape(name)))
        x += 24 + 7 * len(name)
    for power in range(-2, 5):
        place = at(10.0 ** power)
        out.append('<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="#dddddd"/>' % (place, place, TOP - 8, height - 24))
        label = "%g ms" % 10.0 ** power if power < 3 else "%g s" % 10.0 ** (power - 3)
        out.append('<text x="%.1f" y="%d" text-anchor="middle" fill="#555555">%s</text>' % (place, height - 10, label))
    y = TOP
    for case in cases:
        out.append('<text x="%d" y="%d" text-anchor="end">%s</text>' % (LEFT - 8, y + len(names) * BAR // 2 + 4, escape(case)))
        for name, colour in zip(names, COLOURS):
            figure = figures[name].get(case)
            if isinstance(figure, (int, float)):
                width = max(at(figure) - LEFT, 1)
                out.append('<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"><title>%s, %s: %.3g ms</title></rect>'
                           % (LEFT, y, width, BAR - 1, colour, escape(name), escape(case), figure))
            y += BAR
        y += GAP
    return "\n".join([*out, "</svg>", ""])
