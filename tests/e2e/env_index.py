"""A package index of small wheels, as PEP 503 says, for env.sh: `env_index.py FOLDER` makes FOLDER/simple."""
import base64
import hashlib
import os
import sys
import zipfile

# wheel -> (requirements, {file: text})
WHEELS = {
    ("ajbeta", "1.0", "py3-none-any"): ((), {
        "ajbeta/__init__.py": "from ajbeta.inner import value\n", "ajbeta/inner.py": "value = 41\n", "ajbeta/data file.txt": "text\n"}),
    ("ajbeta", "2.0", "py3-none-any"): ((), {"ajbeta/__init__.py": "value = 82\n"}),
    ("ajalpha", "1.0", "py3-none-any"): (("ajbeta",), {
        "ajalpha/__init__.py": "import ctypes, ssl, ajbeta\nsize = ctypes.sizeof(ctypes.c_long)\ndef answer():\n    return ajbeta.value + 1\n",
        "ajalpha/data file.txt": "text\n", "ajalpha/broken.py": "this is no Python\n", "ajalpha.pth": "import os; os.mkdir('/tmp/ran')\n"}),
    ("ajnative", "1.0", "cp311-cp311-manylinux_2_17_x86_64"): ((), {"ajnative.py": "fits = True\n"}),
    ("ajfuture", "1.0", "cp311-cp311-manylinux_2_99_x86_64"): ((), {"ajfuture.py": "fits = False\n"}),
}


def digest(data):
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def write(folder, name, version, tag, requires, files):
    info = "%s-%s.dist-info/" % (name, version)
    files = {path: text.encode() for path, text in files.items()}
    files[info + "METADATA"] = ("Metadata-Version: 2.1\nName: %s\nVersion: %s\nLicense: MIT\n" % (name, version)
                                + "".join("Requires-Dist: %s\n" % r for r in requires)).encode()
    files[info + "WHEEL"] = ("Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: %s\n" % tag).encode()
    record = "".join("%s,%s,%d\n" % (path, digest(data), len(data)) for path, data in files.items())
    files[info + "RECORD"] = (record + info + "RECORD,,\n").encode()
    os.makedirs(folder, exist_ok=True)
    file = "%s-%s-%s.whl" % (name, version, tag)
    with zipfile.ZipFile(os.path.join(folder, file), "w") as wheel:
        for path, data in files.items():
            wheel.writestr(path, data)
    with open(os.path.join(folder, "index.html"), "a", encoding="utf-8") as page:
        page.write('<a href="%s">%s</a><br>\n' % (file, file))


for (name, version, tag), (requires, files) in WHEELS.items():
    write(os.path.join(sys.argv[1], "simple", name), name, version, tag, requires, files)
