"""Records commands in a terminal of their own and draws what they printed, with its timing, as an animated SVG without a script.
It plays nothing that did not happen: commands are run here and now, and only the pauses of a reader are added.

Usage: recording.py COMMANDS > docs/pictures/session.svg   (COMMANDS: a file with one shell command a line; `\\n` in it is a newline of the command)
"""

import os
import pty
import re
import subprocess
import sys
import textwrap
import time
from html import escape

COLUMNS, FONT, LINE_PX, CHAR_PX, PAD = 96, 13, 18, 8.1, 14
TYPING_S, READING_S, LONGEST_S, END_S = 0.02, 1.2, 2.0, 4.0  # a character, after an output, of a wait that is shown, at the end
COLOURS = {"prompt": "#7fd1ae", "command": "#ffffff", "output": "#c8d3e0"}
SHELL = ["/bin/sh", "-c"]


def run(command):
    """[(seconds since the start, text)] as the terminal got it."""
    ours, theirs = pty.openpty()
    start = time.monotonic()
    process = subprocess.Popen([*SHELL, command], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    pieces = []
    while True:
        try:
            data = os.read(ours, 65536)
        except OSError:
            break
        if not data:
            break
        pieces.append((time.monotonic() - start, data.decode("utf-8", "replace")))
    process.wait()
    os.close(ours)
    return pieces


def wrapped(text):
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r", "")
    for line in text.split("\n"):
        yield from textwrap.wrap(line, COLUMNS, drop_whitespace=False, subsequent_indent="    ") or [""]


def record(commands):
    """[(second at which it appears, kind, text)], and the length of it all."""
    rows, now = [], 0.4
    for command in commands:
        real = command.replace("\\n", "\n")
        for i, line in enumerate(wrapped(real)):
            rows.append((now, "prompt" if i == 0 else "command", ("$ " if i == 0 else "") + line))
            now += TYPING_S * len(line)
        last, text, times = 0.0, "", []
        for at, piece in run(real):
            text += piece
            times.append((at, len(text)))
        shown = 0
        for line in list(wrapped(text))[:-1] if text.endswith("\n") else wrapped(text):
            shown += len(line) + 1
            at = next((t for t, have in times if have >= shown), times[-1][0] if times else 0.0)
            now += min(max(at - last, 0.0), LONGEST_S)
            last = max(at, last)
            rows.append((now, "output", line))
        now += READING_S
    return rows, now + END_S


def draw(rows, length):
    height = int(2 * PAD + LINE_PX * len(rows) + 6)
    width = int(2 * PAD + CHAR_PX * COLUMNS)
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="monospace" font-size="%d" xml:space="preserve">' % (width, height, FONT),
           '<rect width="100%" height="100%" rx="8" fill="#16202c"/>']
    for i, (at, kind, text) in enumerate(rows):
        # A reader without animation sees every line: the attribute is 1, and the animation alone hides the line at first.
        hidden = '<animate attributeName="opacity" values="0;1;1" keyTimes="0;%.4f;1" calcMode="discrete" dur="%.1fs" repeatCount="indefinite"/>' % (
            min(at / length, 0.9999), length)
        words = escape(text)
        if kind == "prompt":
            words = '<tspan fill="%s">$</tspan>%s' % (COLOURS["prompt"], escape(text[1:]))
        out.append('<text x="%d" y="%d" fill="%s" opacity="1">%s%s</text>' % (
            PAD, PAD + LINE_PX * (i + 1) - 5, COLOURS["command" if kind == "prompt" else kind], words, hidden))
    return "\n".join([*out, "</svg>", ""])


def main():
    with open(sys.argv[1]) as f:
        commands = [line.rstrip("\n") for line in f if line.strip() and not line.startswith("#")]
    sys.stdout.write(draw(*record(commands)))


if __name__ == "__main__":
    main()
