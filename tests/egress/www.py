"""Mirrors for package managers, as files that servers.py gives out by host and path: an index of PyPI, npm's registry, the Go module
mirror, crates.io's index and a git repository, each with one package of one line."""

import base64
import hashlib
import io
import json
import os
import subprocess
import tarfile
import zipfile


def write(folder, path, data):
    path = os.path.join(folder, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())


def tar(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))
    return out.getvalue()


def zipped(files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return out.getvalue()


def python(folder):
    about = "nut-1.0.dist-info/"
    files = {"nut.py": "TASTE = 'fine'\n", about + "METADATA": "Metadata-Version: 2.1\nName: nut\nVersion: 1.0\n",
             about + "WHEEL": "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    rows = ["%s,sha256=%s,%d" % (name, base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode(), len(text))
            for name, text in files.items()]
    files[about + "RECORD"] = "\n".join(rows + [about + "RECORD,,"]) + "\n"
    wheel = zipped(files)
    name = "nut-1.0-py3-none-any.whl"
    write(folder, "files.pythonhosted.org/packages/" + name, wheel)
    write(folder, "pypi.org/simple/nut/index.html", '<!DOCTYPE html><html><body><a href="https://files.pythonhosted.org/packages/%s#sha256=%s">%s</a></body></html>\n'
          % (name, hashlib.sha256(wheel).hexdigest(), name))


def node(folder):
    about = {"name": "nut", "version": "1.0.0", "main": "index.js"}
    archive = tar({"package/package.json": json.dumps(about), "package/index.js": "module.exports = 'fine'\n"})
    about["dist"] = {"tarball": "https://registry.npmjs.org/nut/-/nut-1.0.0.tgz", "shasum": hashlib.sha1(archive).hexdigest(),
                     "integrity": "sha512-" + base64.b64encode(hashlib.sha512(archive).digest()).decode()}
    write(folder, "registry.npmjs.org/nut/-/nut-1.0.0.tgz", archive)
    write(folder, "registry.npmjs.org/nut/index.html", json.dumps({"name": "nut", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": about}}))


def go(folder):
    module, mod = "proxy.golang.org/example.org/nut/@v/", "module example.org/nut\n\ngo 1.18\n"
    write(folder, module + "list", "v1.0.0\n")
    write(folder, module + "v1.0.0.info", '{"Version":"v1.0.0","Time":"2026-01-01T00:00:00Z"}')
    write(folder, module + "v1.0.0.mod", mod)
    write(folder, module + "v1.0.0.zip", zipped({"example.org/nut@v1.0.0/go.mod": mod, "example.org/nut@v1.0.0/nut.go": "package nut\n"}))


def rust(folder):
    about = '[package]\nname = "nut"\nversion = "1.0.0"\nedition = "2021"\n[lib]\npath = "lib.rs"\n'
    crate = tar({"nut-1.0.0/Cargo.toml": about, "nut-1.0.0/lib.rs": "pub fn taste() {}\n"})
    write(folder, "index.crates.io/config.json", '{"dl":"https://static.crates.io/crates","api":"https://crates.io"}')
    write(folder, "index.crates.io/3/n/nut", json.dumps({"name": "nut", "vers": "1.0.0", "deps": [], "features": {}, "yanked": False,
                                                        "cksum": hashlib.sha256(crate).hexdigest()}) + "\n")
    write(folder, "static.crates.io/crates/nut/1.0.0/download", crate)


def git(folder):
    work, bare = folder + "/.work", folder + "/github.com/example/nut.git"
    env = dict(os.environ, GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_SYSTEM="/dev/null", HOME=folder)
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    for words in (["init", "-q", work], ["-C", work, *who, "commit", "-q", "--allow-empty", "-m", "one"], ["clone", "-q", "--bare", work, bare],
                  ["-C", bare, "update-server-info"]):
        subprocess.run(["git", *words], check=True, env=env)


def make(folder):
    for maker in (python, node, go, rust, git):
        maker(folder)
