#!/bin/sh
# Attacks on the seams: what is checked against what is run, evil results, forged answers, output that talks to a terminal.
# Endless code and signals are in e2e/lifecycle; here everything ends at once, and the result must be true and well formed.
. "$(dirname "$0")/../lib.sh"

# --- P90, P91: the source is read once, as UTF-8 ---
printf '# -*- coding: utf-7 -*-\n+AG8AcwBfAA-\n' >"$T/utf7.py"
json "P90 a cookie does not change the encoding" 1 'error.type~NameError|SyntaxError' error.line=2 -- exec "$T/utf7.py"
printf '# -*- coding: latin-1 -*-\nlen("\303\251")\n' >"$T/latin.py"
json "P90 nor does latin-1" 0 value=1 -- exec "$T/latin.py"
printf '# -*- coding: utf-7 -*-\n+AGkAbQBwAG8AcgB0- os\n' >"$T/hidden.py"
json "P90 a hidden import is not found later" 1 'status~error|rejected' 'imports=[]' -- exec "$T/hidden.py"
odd() { # NAME EXIT EXPECT SOURCE (with printf escapes)
	# shellcheck disable=SC2059
	printf "$4" >"$T/odd.py"
	json "P91 $1" "$2" "$3" -- exec "$T/odd.py"
}
odd "control characters in a string" 0 value=3 'len("\\x0c\\x0b\\x01")\n'
odd "form feed between statements" 0 value=2 'x = 1\n\fx + 1\n'
odd "a carriage return ends a line" 1 error.line=2 'x = 1\ry = 1/0\r'
odd "U+2028 in a string" 0 value=1 'len("\342\200\250")\n'
odd "U+2028 is no line end" 1 status=error 'x = 1\342\200\250import os\n'
odd "a BOM in the middle" 1 status=error 'x = 1\n\357\273\277y = 2\n'
odd "an escaped surrogate as value" 0 status=ok '"\\ud800"\n'
odd "an escaped NUL as value" 0 status=ok '"a\\0b"\n'
odd "an escaped surrogate printed" 0 'status=ok' 'try: print("\\ud800")\nexcept UnicodeError: pass\n'
odd "a NUL printed" 0 truncated.total_bytes=4 'print("a\\0b")\n'

# --- what a snippet could do to others through files that it has in common with them ---
mkdir -p "$T/in"
"$PY" -I -S -c '
import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1] + "/log")
os.chmod(sys.argv[1] + "/log", 0o777)
print("bound", flush=True)
with open(sys.argv[1] + "/heard", "wb", 0) as f:
    while True:
        f.write(s.recv(99) + b"\n")' "$T/in" >"$T/listener" &
listener=$!
await test -s "$T/listener"
printf 'extends = "snippet"\n[python]\nlayer = false\n[filesystem]\nbinds = ["%s:/input"]\n' "$T/in" >"$T/input.toml"
json "a socket of the host, in a bind, hears nothing" 1 'error.type=OSError' stdout=sent -- exec --policy-file "$T/input.toml" -c '
import socket
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
a.send(b"x")
print("sent", end="", flush=True)
a.sendto(b"from a jail", "/input/log")'
"$PY" -I -S -c 'import socket, sys; socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"control", sys.argv[1] + "/log")' "$T/in"
await test -s "$T/in/heard"
is "control: it does hear" control "$(cat "$T/in/heard")"
kill $listener

# A lock on the host's /dev/null would be everybody's; on a file that others write, too, it has to be one.
LOCKED='
import fcntl, os, sys, time
path, name = sys.argv[1:]
free = "free"
with open(path, "r+b") as f:
    try:
        fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 7)
    except OSError:
        free = "locked"
with open(name, "w") as f:
    f.write(free)'
locked() { # NAME WANT PATH CODE OPTION...
	local name=$1 want=$2 path=$3 code=$4
	shift 4
	rm -f "$T/up" "$T/seen"
	"$AJ" exec --timeout 60s "$@" -c "$code
print('up', flush=True)
import time
time.sleep(60)" >"$T/up" 2>&1 &
	await test -s "$T/up"
	"$PY" -I -S -c "$LOCKED" "$path" "$T/seen"
	is "$name" "up $want" "$(cat "$T/up") $(cat "$T/seen")"
	kill $!
	wait $! 2>/dev/null
}
printf 'extends = "snippet"\n[python]\nlayer = false\n[filesystem]\nworkspace = "read-write"\n' >"$T/work.toml"
echo data >"$T/in/file"
chmod 777 "$T/in" && chmod 666 "$T/in/file"
take=$(printf 'import fcntl, os
f = os.open("FILE", os.O_RDWR)
fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 7)')
locked "a lock on /dev/null stays in the jail" free /dev/null "$(printf %s "$take" | sed s,FILE,/dev/null,)" --layer off
locked "a lock on a file that is shared is one" locked "$T/in/file" "$(printf %s "$take" | sed s,FILE,/workspace/file,)" --policy-file "$T/work.toml" --workspace "$T/in"
json "sqlite works in /tmp" 0 value=3 -- exec --layer off -c '
import sqlite3
c = sqlite3.connect("/tmp/x.db")
c.execute("create table t (a)")
c.execute("insert into t values (3)")
c.commit()
sqlite3.connect("/tmp/x.db").execute("select a from t").fetchone()[0]'

# --- sources that break parsers: never a crash ---
for shape in '"(" * 100000 + ")" * 100000' '"[" * 50000 + "]" * 50000' '"-" * 100000 + "1"' '"a" + ".a" * 100000' '"1" + "+1" * 100000' \
	'"x = " + "{0:" * 20000 + "}" * 20000' '"if 1:\n" + "".join(" " * i + "if 1:\n" for i in range(1, 300)) + " " * 301 + "pass"' \
	'"lambda: " * 5000 + "1"' '"f\"{" * 200 + "1" + "}\"" * 200' '"not " * 50000 + "1"' '"x" * 900000' '"9" * 900000' '"@f\n" * 50000 + "def g(): pass"'; do
	"$PY" -I -S -c "import sys; sys.stdout.write($shape)" >"$T/deep.py"
	aj exec --json "$T/deep.py"
	check "P91 a source of $shape" expect 'status~^(ok|error|rejected)$' 'peak_memory_bytes<500000000'
done

# --- P96, P102: evil objects as result, in both tiers ---
layers='on off'
[ -z "${AGENTJAIL_COLD:-}" ] || [ -n "${WHOLE:-}" ] || layers=off # a warm jail: where nothing is guarded the objects are at their worst
while IFS='#' read -r name want code; do
	for layer in $layers; do
		aj exec --json --layer $layer --memory 256M --timeout 20s -c "$(printf '%b' "$code")"
		check "P102 $name, layer $layer" expect "$want"
		check "P102 $name, layer $layer: the size is bounded" test "$(wc -c <"$T/out")" -lt 12000000
	done
done <<'TABLE'
a repr that raises#status~^(ok|error)$#class R:\n    def __repr__(s): 1 / 0\nR()
a repr that is no string#status~^(ok|error)$#class R:\n    def __repr__(s): return 5\nR()
a repr of 100 MB#status~^(ok|error|oom)$#class R:\n    def __repr__(s): return "x" * 100000000\nR()
a str that raises in an exception#status=error#class E(Exception):\n    def __str__(s): raise ValueError("inner")\nraise E
an error message of 50 MB#status=error#raise ValueError("x" * 50000000)
an error without end in its chain#status=error#e = ValueError(1)\nf = ValueError(2)\ne.__cause__ = f\nf.__cause__ = e\nraise e
a list in itself#status~^(ok|error)$#x = []\nx.append(x)\nx
a dict in itself#status~^(ok|error)$#x = {}\nx["x"] = x\nx
a list 100000 deep#status~^(ok|error)$#x = []\nfor i in range(100000): x = [x]\nx
a lying length#status~^(ok|error)$#class L(list):\n    def __len__(s): return 1 << 60\nL([1])
an endless iterator#status~^(ok|error)$#class L(list):\n    def __iter__(s):\n        while True: yield 1\nL([1])
a dict with odd keys#status~^(ok|error)$#{1: 2, (1, 2): 3, None: 4, b"x": 5}
not a number#status=ok#[float("nan"), float("inf"), -float("inf")]
a number of 10000 digits#status=ok#1 << 33000
a number of 10 million digits#status~^(ok|error)$#1 << 33000000
20 MB of text#status=ok#"x" * 20000000
20 million numbers#status~^(ok|error|oom|timeout)$#list(range(2000000))
a final answer that raises#status~^(ok|error)$#class R:\n    def __repr__(s): 1 / 0\nfinal_answer(R())
deep recursion#status=error#def f(): return f()\nf()
an exception in a finalizer#status=ok#class T:\n    def __del__(s): 1 / 0\nt = T()\n1
an exception class with evil attributes#status~^(error|rejected)$#class E(Exception):\n    @property\n    def __class__(s): return int\n    def __getattr__(s, n): raise KeyError(n)\nraise E(1)
TABLE
json "P96 recursion without a limit" 1 'status~error' -- exec --layer off --timeout 20s -c 'def f(): return f()
f()'
aj exec --json --layer off --allow-import sys --memory 128M --timeout "${PATIENCE:-50}s" -c 'import sys
sys.setrecursionlimit(10 ** 9)
def f(n): return [f(n + 1)]
sorted([1, 2], key=f)'
check "P96 a raised limit ends in the jail" expect 'status~^(signal|error|oom)$'
check "P96 no core file" sh -c "! ls core* '$T'/core* '$T'/tmp/core* 2>/dev/null"
json "P98 no result is never ok" 1 status=error 'reason~no result' -- exec --layer off -c 'import os; os._exit(0)'
json "P101 a finalizer runs in the jail or not at all" 0 status=ok -- exec --layer off -c 'class T:
    def __del__(s): open("/tmp/late", "w").write("x")
t = T()'
check "P101 and not on the host" test ! -e /tmp/late
json "P105 an import after tampering with the checker" 126 status=rejected error.line=3 -- exec --allow-import ast -c 'import ast
ast.walk = lambda t: []
import pty'
json "P105 tampering with builtins does not free anything" 1 'status=error' 'stdout!PWNED' -- exec -c 'isinstance = lambda *a: True
type = str = len = None
x = __import__("pt" + "y")
print("PWN" + "ED")'
for name in print getattr __import__ isinstance len list str type; do
	json "a snippet that replaces $name still gets a true result" 0 status=ok value=5 -- exec --layer off -c "import builtins
builtins.$name = None
5"
done

# --- an answer of its own on the control socket (fd 3) ---
forge='import os, struct
def frame(kind, text):
    os.write(3, struct.pack(">I", 1 + len(text)) + kind + text)
'
json "a forged result beside the real one" 123 status=protocol_error 'value!forged' -- exec --layer off --allow-import struct -c "$forge"'frame(b"R", b"{\"status\":\"ok\",\"value\":\"forged\"}")
"real"'
json "a forged result cannot attest" 123 status=protocol_error 'enforced.seccomp~snippet' -- exec --layer off --allow-import struct -c "$forge"'frame(b"R", b"{\"status\":\"ok\",\"enforced\":{},\"exit_code\":0}")'
json "a forged rejection" 123 status=protocol_error -- exec --layer off --allow-import struct -c "$forge"'frame(b"R", b"{\"status\":\"rejected\"}")'
json "a forged rejection and no real result" 123 status=protocol_error -- exec --layer off --allow-import struct -c "$forge"'frame(b"R", b"{\"status\":\"rejected\"}")
os._exit(0)'
json "a word about the start, twice" 123 status=protocol_error -- exec --layer off --allow-import struct -c "$forge"'frame(b"S", b""); frame(b"S", b"")'
json "a closed control socket" 1 status=error 'reason~no result' -- exec --layer off --timeout 20s -c 'import os
os.close(3)'
json "a forged timeout" 123 status=protocol_error -- exec --layer off --allow-import struct -c "$forge"'frame(b"R", b"{\"status\":\"timeout\"}")'
json "a result printed is output" 1 status=error 'stdout~forged' -- exec --json -c 'print("{\"status\":\"ok\",\"value\":\"forged\"}")
1/0'
is "one object, one line" 1 "$(wc -l <"$T/out")"

# The same while the supervisor is stopped: it finds the lie and the end of its teller at once.
"$PY" -I -S - "$AJ" <<'EOS' >"$T/out" 2>&1
import json, os, signal, subprocess, sys, time
forge = '''import os, struct, time
def frame(kind, text):
    os.write(3, struct.pack(">I", 1 + len(text)) + kind + text)
time.sleep(0.6)
'''
lies = {
    "two starts": 'frame(b"S", b""); frame(b"S", b"")',
    "a rejection": 'frame(b"R", b\'{"status":"rejected"}\'); os._exit(0)',
    "a timeout": 'frame(b"R", b\'{"status":"timeout"}\'); os._exit(0)',
    "two results": 'frame(b"R", b\'{"status":"ok"}\')',
    "garbage": 'os.write(3, b"\\xff" * 100); os._exit(0)',
}
for name, lie in lies.items():
    p = subprocess.Popen([sys.argv[1], "exec", "--json", "--layer", "off", "--allow-import", "struct", "-c", forge + lie], stdout=subprocess.PIPE)
    time.sleep(0.3)
    p.send_signal(signal.SIGSTOP)
    time.sleep(0.8)
    p.send_signal(signal.SIGCONT)
    print(name + ":", json.load(p.stdout)["status"], p.wait())
EOS
for lie in 'two starts' 'a rejection' 'a timeout' 'two results' garbage; do says "a lie told while nobody looks: $lie" "^$lie: protocol_error 123"; done

# --- output that talks to the terminal ---
"$PY" -I -S - "$AJ" <<'EOS' >"$T/out" 2>&1
import os, pty, sys
def on_a_terminal(arguments):
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(sys.argv[1], [sys.argv[1]] + arguments)
    text = b""
    while True:
        try:
            piece = os.read(fd, 65536)
        except OSError:
            break
        if not piece:
            break
        text += piece
    os.waitpid(pid, 0)
    return text
evil = "\\x1b]0;title\\x07\\x1b[2J\\x9b31m\\u202e"
for name, arguments in (("print", ["exec", "-c", "print('shown %s')" % evil]), ("value", ["exec", "-c", "'shown %s'" % evil]),
                        ("final answer", ["exec", "-c", "final_answer('shown %s')" % evil]), ("error", ["exec", "-c", "raise ValueError('shown %s')" % evil]),
                        ("json", ["exec", "--json", "-c", "print('shown %s')" % evil]),
                        ("source", ["exec", "-c", "1/0 # shown " + evil.encode().decode("unicode_escape")])):
    text = on_a_terminal(arguments)
    bad = [c for c in text.decode("utf-8", "replace") if (ord(c) < 32 and c not in "\r\n\t") or 0x7f <= ord(c) < 0xa0]
    print(name, "clean" if b"shown" in text and not bad else "NOT CLEAN %r" % text[:300])
print("control", "clean" if b"\x1b" not in on_a_terminal(["run", "--", "printf", "\\033[0m"]) else "raw")
EOS
for name in print value 'final answer' error json source; do says "no control character reaches a terminal: $name" "^$name clean"; done
says "control: a command's own output is not touched" '^control raw'

finish
