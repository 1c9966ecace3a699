"""Runs each program of programs.txt in a jail and outside of one, by the same tree's Python, and compares what they print.
It judges no result by itself: a program that fails outside is an error of the test. Usage: programs.py AGENTJAIL TREE [WORD]"""
import glob
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
agentjail, tree = sys.argv[1], os.path.realpath(sys.argv[2])
word = sys.argv[3] if len(sys.argv) > 3 else ""


def outside(path):
    usr = tree + "/tree/usr"
    loader = sorted(glob.glob(usr + "/lib*/ld-*.so*") + glob.glob(usr + "/lib/*/ld-*.so*"))[0]
    libraries = os.path.dirname(sorted(glob.glob(usr + "/lib*/libc.so*") + glob.glob(usr + "/lib*/*/libc.so*"))[0])
    run = "import sys; sys.path.append(%r); sys.argv = ['']; exec(compile(open(%r).read(), '<snippet>', 'exec'))" % (
        usr + "/lib/python3/dist-packages", path)
    with tempfile.TemporaryDirectory() as home:
        return subprocess.run([loader, "--library-path", libraries, usr + "/bin/python3", "-S", "-B", "-c", run], capture_output=True, text=True,
                              env={"HOME": home, "OPENBLAS_NUM_THREADS": "1", "LC_CTYPE": "C.UTF-8", "MPLBACKEND": "agg"}, stdin=subprocess.DEVNULL)


def inside(path):
    return subprocess.run([agentjail, "exec", "--rootfs", tree, "--policy", "data-analysis", path], capture_output=True, text=True, stdin=subprocess.DEVNULL)


passed = failed = 0
with open(HERE + "/programs.txt", encoding="utf-8") as f:
    programs = re.findall(r"^#### (.*)\n((?:(?!####).*\n)*)", f.read(), re.M)
for name, code in programs:
    if word not in name:
        continue
    if "matplotlib.pyplot as plt" in code:
        code += "plt.close('all')\n"    # exec shows the figures that are open at the end
    with tempfile.NamedTemporaryFile("w", suffix=".py", encoding="utf-8") as file:
        file.write(code)
        file.flush()
        want, got = outside(file.name), inside(file.name)
    if want.returncode == 0 and (got.returncode, got.stdout) == (0, want.stdout):
        passed += 1
        continue
    failed += 1
    what = "outside: " + want.stderr[-400:] if want.returncode else "exit code %d" % got.returncode if got.returncode else "another output"
    lines = [(a, b) for a, b in zip(want.stdout.splitlines(), got.stdout.splitlines()) if a != b][:2]
    print("  FAIL  %s: %s: %s %s" % (name, what, got.stderr[-700:], lines))
print("%d passed, %d failed, 0 skipped" % (passed, failed))
sys.exit(failed > 0 or passed == 0)
