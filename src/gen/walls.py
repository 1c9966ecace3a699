"""Draws the walls around a snippet as SVG, from `enforced` of a real result: a picture of what this host's supervisor attests.
It judges nothing: a member of `enforced` that has no place here is left out, and a wall that is not there is drawn as missing.

Usage: agentjail exec --json -c 1 | python3 src/gen/walls.py > docs/pictures/walls.svg
"""

import json
import sys
from html import escape

# From outside to inside: title, colour, the members of `enforced` that it consists of.
WALLS = (
    ("namespaces", "#1b6b93", ("namespaces", "network", "identity")),
    ("limits", "#2a7f62", ("memory", "pids", "cpu_time", "wall_clock")),
    ("files", "#7a6a1f", ("filesystem", "landlock", "unix_sockets")),
    ("system calls", "#a3483d", ("seccomp", "capabilities")),
)
WIDTH, STEP, LINE, CHARS = 860, 26, 15, 100


def short(text):
    text = text.partition(" (")[0].partition(": ")[0]
    return text if len(text) <= CHARS else text[:CHARS - 1] + "…"


def box(x, y, width, height, colour, dashed=False):
    return ('<rect x="%d" y="%d" width="%d" height="%d" rx="8" fill="%s" fill-opacity="0.07" stroke="%s" stroke-width="1.6"%s/>'
            % (x, y, width, height, colour, colour, ' stroke-dasharray="6 4"' if dashed else ""))


def text(x, y, words, colour="#222222", weight="normal", size=12):
    return '<text x="%d" y="%d" fill="%s" font-weight="%s" font-size="%d">%s</text>' % (x, y, colour, weight, size, escape(words))


def draw(enforced):
    heads = [18 + LINE * len(members) + 12 for _, _, members in WALLS]
    rail, code = 44, 46
    height = 58 + sum(heads) + rail + code + 12 + STEP // 2 * len(WALLS)
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif">' % (WIDTH, height),
           '<rect width="100%" height="100%" fill="#ffffff"/>',
           text(16, 24, "the host: its files, processes, network and secrets", weight="bold"),
           text(16, 44, "the supervisor, outside: starts the jail, kills it at its limits, and attests the result")]
    x, y, bottom = 16, 58, height - 12
    for (title, colour, members), head in zip(WALLS, heads):
        out.append(box(x, y, WIDTH - 2 * x, bottom - y, colour))
        out.append(text(x + 12, y + 20, title, colour, "bold", 13))
        for i, member in enumerate(members):
            line = "%s: %s" % (member.replace("_", " "), short(enforced.get(member, "none")))
            out.append(text(x + 130, y + 20 + LINE * i, line))
        y += head
        x += STEP // 2
        bottom -= STEP // 2
    out.append(box(x, y, WIDTH - 2 * x, bottom - y, "#777777", dashed=True))
    out.append(text(x + 12, y + 20, "Python layer", "#777777", "bold", 13))
    out.append(text(x + 130, y + 20, "import check and restricted built-in functions: a rail that tells a model early, not a wall"))
    y += rail - 6
    out.append(box(x + 12, y, WIDTH - 2 * x - 24, bottom - y - 12, "#000000"))
    out.append(text(x + 24, y + 24, "the agent's code, in a Python of the jail's own: whatever it says is a claim", weight="bold"))
    return "\n".join([*out, "</svg>", ""])


if __name__ == "__main__":
    sys.stdout.write(draw(json.load(sys.stdin)["enforced"]))
