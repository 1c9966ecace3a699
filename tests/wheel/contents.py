"""Looks into a wheel without installing it: names, modes, hashes, tags, licences, and what an installer or a host could trip over.
It is given the wheel, the tree it was made from, the client's folder, and texts that must be in no file (paths of the machine that built)."""
import base64
import csv
import email
import glob
import hashlib
import io
import os
import re
import stat
import subprocess
import sys
import tempfile
import zipfile

WHEEL, TREE, CLIENT, *FORBIDDEN = sys.argv[1:]
LIMIT = 20 << 20  # bytes
EXECUTABLE = {"scripts/agentjail", "tree/usr/bin/python3"}  # and the loader
LINKED = "libc6 libnl-3 libnl-route-3 libcap jansson libmd c-ares libedit ncurses libbsd tomlplusplus libstdc++ libgcc".split()
PACKED = "python3 libsqlite3 libexpat zlib1g liblzma libbz2 tzdata libc6".split()
counts = {"passed": 0, "failed": 0}


def check(name, good, why=""):
    counts["passed" if good else "failed"] += 1
    if not good:
        print("  FAIL  wheel/contents: %s: %s" % (name, why))


wheel = zipfile.ZipFile(WHEEL)
entries = wheel.infolist()
names = [e.filename for e in entries]
data = {name: wheel.read(name) for name in names}
info = next(n for n in names if n.endswith(".dist-info/WHEEL"))[: -len("WHEEL")]

check("tags in the name", re.search(r"-py3-none-manylinux_2_17_(\w+)\.musllinux_1_1_\1\.whl$", os.path.basename(WHEEL)), WHEEL)
tags = re.findall(r"^Tag: (.*)$", data[info + "WHEEL"].decode(), re.M)
check("the same tags inside", [re.sub("_[a-z].*", "", t) for t in tags] == ["py3-none-manylinux_2_17", "py3-none-musllinux_1_1"], tags)
check("is no pure wheel", b"Root-Is-Purelib: false" in data[info + "WHEEL"], data[info + "WHEEL"])
check("at most 20 MiB", os.path.getsize(WHEEL) <= LIMIT, os.path.getsize(WHEEL))

# --- names and modes ---
check("each name once", len(set(names)) == len(names), "")
check("names below the top", not [n for n in names if n.startswith("/") or ".." in n.split("/") or "\\" in n], "")
check("no folders as entries", not [n for n in names if n.endswith("/")], "")
types = {stat.S_IFMT(e.external_attr >> 16) for e in entries}
check("regular files alone", types <= {0, stat.S_IFREG}, types)
modes = {stat.S_IMODE(e.external_attr >> 16) for e in entries}
check("modes that installers keep", modes <= {0o644, 0o755}, [oct(m) for m in modes])
runs = [e.filename for e in entries if e.external_attr >> 16 & 0o111]
loaders = [n for n in runs if re.search(r"/tree/usr/lib(64)?/ld-linux[^/]*$", n)]
check("three executable files", len(runs) == 3 and len(loaders) == 1 and all(any(n.endswith(x) for x in EXECUTABLE) for n in set(runs) - set(loaders)), runs)
check("one date", len({e.date_time for e in entries}) == 1, "")

# --- RECORD ---
record = {row[0]: row[1:] for row in csv.reader(io.StringIO(data[info + "RECORD"].decode()))}
check("RECORD lists each file", set(record) == set(names), set(record) ^ set(names))
wrong = []
for name, (digest, size) in record.items():
    want = "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data[name]).digest()).rstrip(b"=").decode()
    if name != info + "RECORD" and (digest != want or int(size) != len(data[name])):
        wrong.append(name)
check("RECORD is right", not wrong, wrong[:3])

# --- the tree: what its manifest says, and nothing else ---
top = next(n for n in names if n.endswith("/rootfs/default/manifest"))[: -len("manifest")]
check("the manifest is the tree's", data[top + "manifest"] == open(TREE + "/manifest", "rb").read(), "")
listed = {}
for line in data[top + "manifest"].decode().split("\n\n", 1)[1].splitlines():
    digest, _, mode, path = line.split(" ", 3)
    listed[top + "tree" + path] = digest, int(mode, 8)
packed = {e.filename: (hashlib.sha256(data[e.filename]).hexdigest(), stat.S_IMODE(e.external_attr >> 16)) for e in entries if e.filename.startswith(top + "tree/")}
check("the tree is as in its manifest", packed == listed, sorted(set(packed.items()) ^ set(listed.items()))[:3])

# --- the client, and the one program ---
there = {os.path.relpath(p, os.path.dirname(CLIENT)) for p in glob.glob(CLIENT + "/**/*.py", recursive=True)} | {"agentjail/py.typed"}
check("the whole client", there == {n for n in names if n.startswith("agentjail/")}, there ^ {n for n in names if n.startswith("agentjail/")})
shared = {n.split(".data/data/share/")[1] for n in names if ".data/data/share/" in n}
check("manual and completions", shared == {"man/man1/agentjail.1", "man/man5/agentjail.toml.5", "bash-completion/completions/agentjail",
      "zsh/site-functions/_agentjail", "fish/vendor_completions.d/agentjail.fish"}, shared)
check("nothing beside client, program, tree, these and metadata", not [n for n in names if not n.startswith(("agentjail/", info, top))
      and not n.endswith("/scripts/agentjail") and ".data/data/share/" not in n], "")
program = next(n for n in names if n.endswith(".data/scripts/agentjail"))
check("one copy of the program", sum(d == data[program] for d in data.values()) == 1, "")
with tempfile.NamedTemporaryFile() as f:
    f.write(data[program])
    f.flush()
    headers = subprocess.run(["readelf", "-lSdW", f.name], capture_output=True, text=True, check=True).stdout
check("static", "INTERP" not in headers and "NEEDED" not in headers, re.findall(".*(?:INTERP|NEEDED).*", headers))
check("position-independent", "DYN (" in headers, "")
check("without symbols", not re.search(r"\.symtab|\.debug", headers), "")

for text in FORBIDDEN:
    found = [n for n, d in data.items() if text.encode() in d]
    check("no file holds %s" % text, not found, found[:3])

# --- metadata and licences ---
meta = email.message_from_bytes(data[info + "METADATA"])
check("name", meta["Name"] == "libagentjail", meta["Name"])
check("Python 3.10 and later", meta["Requires-Python"] == ">=3.10", meta["Requires-Python"])
check("needs nothing by itself", all("extra ==" in r for r in meta.get_all("Requires-Dist", [])), meta.get_all("Requires-Dist"))
check("extras", {"smolagents", "tinyagent", "mcp", "ray"} <= set(meta.get_all("Provides-Extra", [])), meta.get_all("Provides-Extra"))
texts = {n[len(info + "licenses/"):]: d.decode("utf-8", "replace") for n, d in data.items() if n.startswith(info + "licenses/")}
check("licences are those that the metadata lists", set(texts) == set(meta.get_all("License-File", [])), "")
check("agentjail's own", texts["LICENSE"].startswith("MIT License"), "")
index = texts["licenses/THIRD-PARTY.txt"]
rows = [line.split() for line in index.split("\n\n", 1)[1].splitlines()]
check("each text of the index is there", all(len(r) == 4 and "licenses/" + r[3] in texts for r in rows), rows)
for part, wanted in ("program", LINKED), ("tree", PACKED):
    have = [r[1] for r in rows if r[0] == part]
    lacking = [w for w in wanted if not any(w in h for h in have)]
    check("licences of what the %s holds" % part, not lacking, lacking)
lock = next(d for n, d in data.items() if n.endswith("/packages.lock")).decode().split("\n\n", 1)[1]
check("each package of the tree", {line.split()[2] for line in lock.splitlines()} == {r[1] for r in rows if r[0] == "tree"}, "")
pointed = set(re.findall(r"/usr/share/common-licenses/(L?GPL-[\d.]*\d)", "".join(texts.values())))
check("long licences that texts point to", {"GPL-2", "GPL-3", "LGPL-2.1"} <= pointed and all("licenses/common-%s.txt" % p in texts for p in pointed), pointed)

print("%(passed)d passed, %(failed)d failed, 0 skipped" % counts)
