"""Runs a bench, shows what it prints, and keeps the same as JSON: its tables, its aims and all its lines, with the machine and the time.
It computes nothing: each figure is one that the bench printed.

Usage: record.py FOLDER NAME COMMAND...   writes FOLDER/NAME-TIME.json; the exit status is the command's
"""

import json
import os
import platform
import re
import subprocess
import sys
import time

TITLE = re.compile(r"^(\S(?:\S| (?! ))*)  +(\S.*)$")
ROW = re.compile(r"^  (\S(?:\S| (?! ))*)  +(?=[-\d]|failed:)(.*)$")
UNIT = re.compile(r"  +(?:us|\(.*\))$")  # behind the last column
AIM = re.compile(r"^  (\S.*?)\s{2,}([\d.]+), (at (?:most|least)) ([\d.]+): (met|not met)$")


def busy_share(seconds=2):
    """The part of the processors' time that other programs use now. The load is no measure of that: it still counts what ended a minute ago."""
    def times():
        with open("/proc/stat") as file:
            fields = [int(word) for word in file.readline().split()[1:9]]
        return fields[3] + fields[4], sum(fields)   # idle, waiting for a disk; see proc_stat(5)
    before = times()
    time.sleep(seconds)
    idle, every = [after - earlier for earlier, after in zip(before, times())]
    return round(1 - idle / max(1, every), 2)


def value(word):
    try:
        return float(word.rstrip("x"))
    except ValueError:
        return word


def words(text, start):
    """Each word with the place of its end: values stand right-aligned below the word of their column."""
    return [(found.group(), start + found.end()) for found in re.finditer(r"\S+", text)]


def parse(text):
    tables, aims = [], []
    for line in text.splitlines():
        title, row, aim = TITLE.match(line), ROW.match(line), AIM.match(line)
        if aim:
            aims.append({"aim": aim[1], "value": float(aim[2]), "limit": "%s %s" % aim.group(3, 4), "met": aim[5] == "met"})
        elif row and tables:
            columns, cells, found = tables[-1]["ends"], {}, words(row[2], row.start(2))
            for place, (word, end) in enumerate(found):
                column = place if len(found) == len(columns) else min(range(len(columns)), key=lambda at: abs(columns[at][1] - end))
                cells[columns[column][0]] = value(word)
            tables[-1]["rows"].append({"name": row[1], **({"failed": row[2]} if row[2].startswith("failed:") else cells)})
        elif title and not line.endswith("."):
            tables.append({"title": title[1], "ends": words(UNIT.sub("", title[2]), title.start(2)), "rows": []})
    for one in tables:
        del one["ends"]
    return {"tables": [one for one in tables if one["rows"]], "aims": aims, "lines": text.splitlines()}


def main():
    folder, name, *command = sys.argv[1:]
    run = {"made": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "command": command,
           "machine": {"system": "%s %s" % (platform.system(), platform.release()), "cpus": os.cpu_count(), "load_at_start": os.getloadavg()[0], "busy_at_start": busy_share(),
                       "user": "root" if os.geteuid() == 0 else "an ordinary user"},
           "commit": subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip()}
    bench, printed = subprocess.Popen(command, stdout=subprocess.PIPE, text=True), []
    for line in bench.stdout:
        sys.stdout.write(line)
        sys.stdout.flush()
        printed.append(line)
    status = bench.wait()
    if status == 0:
        path = os.path.join(folder, "%s-%s.json" % (name, time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())))
        os.makedirs(folder, exist_ok=True)
        with open(path, "w") as f:
            json.dump({**run, **parse("".join(printed))}, f, indent=1)
        print(path)
    return status


if __name__ == "__main__":
    sys.exit(main())
