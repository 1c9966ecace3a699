"""Runs each program of programs/*.txt as an ordinary program and in jails, by the same tree's Python, and compares what they print and write.
It judges no result by itself: a program that fails outside is an error of the test.

Usage: programs.py AGENTJAIL FOLDER TREE [WORD]: only programs whose name holds WORD. A program sees the files of inputs() in /input, and may write /output and
/tmp; outside these are folders of its own. In jails it runs twice: in one of `agentjail exec`, and in one of a service, from a zygote."""
import base64
import concurrent.futures
import glob
import hashlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import zipfile

from client import FOLDER, Server, check, done, skip

HERE = os.path.dirname(os.path.abspath(__file__))
AGENTJAIL = sys.argv[1]
COLD = os.environ.get("AGENTJAIL_COLD", AGENTJAIL)
TREE = os.path.realpath(sys.argv[3])
WORD = sys.argv[4] if len(sys.argv) > 4 else ""
FOLDERS = ("input", "output", "tmp")
# Files of /output whose bytes are the same each time. Others hold dates, or numbers drawn by chance.
SAME_BYTES = (".csv", ".tsv", ".json", ".jsonl", ".txt", ".log", ".html", ".npy", ".png", ".jpg", ".gif", ".webp", ".tiff")
# A program counts only in a tree with the packages that it imports.
NEEDS = re.compile(r"^\s*(?:import|from) (sklearn|seaborn)\b", re.M)


def inputs(folder):
    """What programs find in /input. The rows come from a rule, not from chance."""
    def write(name, text):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(text)
    regions, products = ("North", "South", "East"), (("apple", 1.2), ("pear", 2.05), ("plum", 3.5), ("fig", 4.1))
    rows = ["date,region,product,units,price"]
    for n in range(240):
        product, price = products[n * 7 % 4]
        rows.append("2024-%02d-%02d,%s,%s,%d,%.2f" % (n // 80 + 1, n % 28 + 1, regions[n * 5 % 3], product, n * n % 11 + 1, price + n % 9 / 20))
    write("sales.csv", "\n".join(rows) + "\n")
    write("people.json", json.dumps([{"id": n, "name": name, "age": age} for n, (name, age) in enumerate(
        [("Ann", 34), ("Bob", 28), ("Cy", 41), ("Dee", 30)], 1)]))
    write("events.jsonl", "".join(json.dumps({"user": n % 3 + 1, "kind": ("view", "buy")[n % 4 == 0], "n": n}) + "\n" for n in range(12)))
    write("notes.txt", "The first line of the notes.\nThe second: numbers 1, 2 and 3!\nThe end of the notes, and the file.\n")
    with open(os.path.join(folder, "photo.ppm"), "wb") as f:
        f.write(b"P6 64 48 255\n" + bytes(v for y in range(48) for x in range(64) for v in (x * 4, y * 5, (x * y) % 256)))
    with zipfile.ZipFile(os.path.join(folder, "archive.zip"), "w") as z:
        z.writestr("a.txt", "alpha")
        z.writestr("b/c.csv", "x,y\n1,2\n")
    db = sqlite3.connect(os.path.join(folder, "shop.db"))
    with db:
        db.execute("CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT)")
        db.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER, amount REAL)")
        db.executemany("INSERT INTO customers VALUES (?, ?)", [(1, "Ann"), (2, "Bob")])
        db.executemany("INSERT INTO orders VALUES (?, ?, ?)", [(n, n % 2 + 1, n * 1.5) for n in range(1, 8)])
    db.close()


def moved(text, here):
    """The program, with the folders of a jail where they are outside."""
    return re.sub(r"(?<![\w/])/(%s)\b" % "|".join(FOLDERS), lambda m: here + m.group(), text)


def outside(code):
    """(exit code, output, what is in /output, errors) of an ordinary program."""
    usr = TREE + "/tree/usr"
    loader = sorted(glob.glob(usr + "/lib*/ld-*.so*") + glob.glob(usr + "/lib/*/ld-*.so*"))[0]
    libraries = os.path.dirname(sorted(glob.glob(usr + "/lib*/libc.so*") + glob.glob(usr + "/lib*/*/libc.so*"))[0])
    with tempfile.TemporaryDirectory() as here:
        shutil.copytree(INPUT, here + "/input")
        os.mkdir(here + "/output")
        os.mkdir(here + "/tmp")
        with open(here + "/program.py", "w", encoding="utf-8") as f:
            f.write(moved(code, here))
        run = "import sys; sys.path.append(%r); sys.argv = ['']; exec(compile(open(%r).read(), '<snippet>', 'exec'))" % (
            usr + "/lib/python3/dist-packages", here + "/program.py")
        got = subprocess.run([loader, "--library-path", libraries, usr + "/bin/python3", "-S", "-B", "-c", run], cwd=here + "/tmp", capture_output=True, text=True,
                             env={"HOME": here, "TMPDIR": here + "/tmp", "OPENBLAS_NUM_THREADS": "1", "LC_CTYPE": "C.UTF-8", "MPLBACKEND": "agg"},
                             stdin=subprocess.DEVNULL)
        return got.returncode, got.stdout.replace(here, ""), left_in(here + "/output"), got.stderr[-600:]


def left_in(folder):
    """{name: the hash of its bytes, or None where these differ each time}"""
    found = {}
    for top, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(top, name)
            with open(path, "rb") as f:
                found[os.path.relpath(path, folder)] = hash_of(name, f.read())
    return found


def hash_of(name, data):
    return hashlib.sha256(data).hexdigest() if name.endswith(SAME_BYTES) else None


def cold(code):
    with tempfile.TemporaryDirectory() as here:
        with open(here + "/program.py", "w", encoding="utf-8") as f:
            f.write(code)
        options = [o for name in sorted(os.listdir(INPUT)) for o in ("--file", INPUT + "/" + name)]
        got = subprocess.run([COLD, "exec", "--rootfs", TREE, "--policy", "data-analysis", *options, "--output", here + "/output", here + "/program.py"],
                             capture_output=True, text=True, stdin=subprocess.DEVNULL)
        return got.returncode, got.stdout, left_in(here + "/output"), got.stderr[-900:]


def warm(client, code):
    files = []
    for name in sorted(os.listdir(INPUT)):
        with open(INPUT + "/" + name, "rb") as f:
            files.append({"name": name, "data": base64.b64encode(f.read()).decode()})
    result = client.ask("exec", code=code, files=files, output="data")
    left = {f["name"]: hash_of(f["name"], base64.b64decode(f["data"]) if "data" in f else f["text"].encode()) for f in result.get("files", ())}
    error = result.get("error") or {}
    return result["status"] != "ok", result["stdout"], left, "%s %s line %s: %s" % (result["status"], error.get("type"), error.get("line"), error.get("message"))


def programs():
    with open(TREE + "/manifest", encoding="ascii") as f:
        has = next(line.split()[1].split(",") for line in f if line.startswith("with "))
    for path in sorted(glob.glob(HERE + "/programs/*.txt")):
        with open(path, encoding="utf-8") as f:
            for name, code in re.findall(r"^#### (.*)\n((?:(?!####).*\n)*)", f.read(), re.M):
                if WORD not in name:
                    continue
                lacks = set(NEEDS.findall(code)) - set(has)
                if lacks:
                    skip(name, "the tree has no " + ", ".join(sorted(lacks)))
                    continue
                # The figures that are open at the end are shown, and kept as files where /output is collected.
                yield name, code + ("plt.close('all')\n" if "matplotlib.pyplot as plt" in code else "")


def compare(name, how, want, got):
    rc, text, left, why = got
    lines = [(a, b) for a, b in zip(want[1].splitlines(), text.splitlines()) if a != b][:2]
    files = sorted(set(want[2].items()) ^ set(left.items()), key=str)[:4]
    check("%s, %s" % (name, how), (rc, text, left) == (0, *want[1:3]), "%s %s %s %d lines for %d" % (
        "exit code %d: %s" % (rc, why) if rc else "another output", lines, files, text.count("\n"), want[1].count("\n")))


with tempfile.TemporaryDirectory() as INPUT, Server("--rootfs", TREE, "--policy", "data-analysis", "--parked", "1", program=AGENTJAIL) as server:
    inputs(INPUT)
    client = server.client()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for name, want, got, code in [(name, pool.submit(outside, code), pool.submit(cold, code), code) for name, code in programs()]:
            if check("%s, outside" % name, want.result()[0] == 0, want.result()[3]):
                compare(name, "cold", want.result(), got.result())
                compare(name, "warm", want.result(), warm(client, code))
done()
