#!/bin/sh
# `agentjail session`: at a terminal, with a person's keys, and fed from elsewhere.
# The jail of a session is tested with that of exec; here its input and output are.
. "$(dirname "$0")/../lib.sh"
say() { printf '%b' "$1" >"$T/in"; }
fed() { # NAME RC REGEX ARGS...: with $T/in
	local name=$1 want=$2 regex=$3
	shift 3
	timeout -k 5 "${LIMIT:-60}" "$AJ" session "$@" <"$T/in" >"$T/out" 2>"$T/err"
	rc=$?
	if [ "$rc" != "$want" ]; then
		fail "$name" "want exit $want: $(shown)"
	elif ! cat "$T/out" "$T/err" | grep -qaE -e "$regex"; then
		fail "$name" "no \`$regex\`: $(shown)"
	else
		ok "$name"
	fi
}

# --- fed ---
say 'x = 41\n# %%\nprint("hi")\nx + 1\n'
fed "variables stay" 0 '^42$'
is "output, then the value" "hi 42" "$(tr '\n' ' ' <"$T/out" | sed 's/ $//')"
is "and nothing else" "" "$(cat "$T/err")"
say 'def f():\n\n    return 1\n\n\nf()\n'
fed "without a separator all of it is one snippet" 0 '^1$'
say '# %% first\n1/0\n# %%\n"on"\n# %%\nimport pty\n'
fed "the session continues after an error and exits with its status" 1 "^'on'\$"
check "a traceback as Python's" grep -q '^ZeroDivisionError: division by zero$' "$T/err"
check "a rejection with its reason" grep -q 'Import of pty is not allowed' "$T/err"
say '\n# %%\n\n# %%\n'
"$AJ" session <"$T/in" >"$T/out" 2>"$T/err"
is "nothing to run is nothing to say" "0||" "$?|$(cat "$T/out")|$(cat "$T/err")"
say 'x = 1\n# %%\nwhile True: pass\n# %%\nx\n'
fed "variables survive a timeout" 124 '^1$' --timeout 800ms
check "the time limit of a snippet interrupts it" grep -q '^TimeoutError: the snippet took longer than 800 ms' "$T/err"
say 'final_answer({"n": 1})\n# %%\nprint("e")\n'
fed "a final answer, and on" 0 '^final answer: \{"n":1\}$'
check "on it went" grep -q '^e$' "$T/out"
say '\377\n'
fed "what is not UTF-8" 2 'not UTF-8'
say 'print("a" + chr(27) + "[31mb")\n'
fed "a pipe gets the bytes" 0 "$(printf 'a\033\\[31mb')"

mkdir -m 777 "$T/ws"
printf 'extends = "snippet"\n[filesystem]\nworkspace = "read-write"\n[python]\nlayer = false\n' >"$T/ws.toml"
say 'open(".mcp.json", "w").write("{}")\n# %%\n1\n# %%\nimport os; os.mkdir("r"); [os.mkdir("r/" + x) for x in ("objects", "refs")]; open("r/HEAD", "w").close()\n'
fed "planted files are reported" 0 'workspace: `.mcp.json`: made' --policy-file "$T/ws.toml" --workspace "$T/ws"
is "once" 1 "$(grep -c 'mcp.json' "$T/err")"
check "and what comes later, too" grep -q 'repository `r` (bare): made' "$T/err"
say '1\n# %%\n2\n'
rm -rf "$T/ws/.mcp.json" "$T/ws/r"
fed "nothing planted is nothing to say" 0 '^2$' --policy-file "$T/ws.toml" --workspace "$T/ws"
is "of a workspace" "" "$(cat "$T/err")"

say '1\n# %%\n2/0\n# %%\n3\n'
fed "JSON: the code of the first failure" 1 '"value":3' --json
is "JSON: one result a line" 3 "$(wc -l <"$T/out")"
sed -n 2p "$T/out" >"$T/one" && cp "$T/one" "$T/out"
check "JSON: the whole result" expect status=error error.type=ZeroDivisionError session=alive
say 'b = []\nwhile True: b.append(bytearray(1 << 20))\n# %%\n2\n'
fed "JSON: memory" '137' '"status":"oom"' --json --memory 128M --layer off
is "JSON: an unknown thing is the last" 137 "$rc"

say 'import os; os.write(3, b"x")\nwhile True: pass\n'
fed "JSON: a junk byte on the control socket" 123 '"limits_hit":\[\]' --json --layer off --timeout 30s

# One that is fed bit by bit has its answer when the separator comes.
cat >"$T/talk.py" <<'PY'
import json, subprocess, sys
p = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
for i in range(3):
    p.stdin.write("n = %d\nn * 2\n# %%%%\n" % i)
    p.stdin.flush()
    if json.loads(p.stdout.readline())["value"] != i * 2:
        sys.exit(3)
p.stdin.close()
sys.exit(p.wait())
PY
check "a program that talks to it" timeout 60 "$PY" "$T/talk.py" "$AJ" session --json
text "an operand is refused" 2 'unexpected `x.py`' session x.py
text "an option of others is refused" 2 'unknown option `--bind`' session --bind /tmp
text "a policy that is none" 2 'no-such' session --policy no-such
text "a tree that is none" 125 'contains no tree' session --rootfs "$T"
text "and that as JSON" 2 '^{.*"status":"setup_error".*no-such' session --json --policy no-such
say 'import os\nos.fork()\n'
fed "a refused call, with what to do instead" 1 '^  hint: Compute in this process' --layer off
text "--help" 0 'lines that begin with `# %%`' session --help

# A limit by an option that this host does not enforce exactly has one line. One percent less than all processors is exact with a cpu cgroup alone.
percent=$(($(nproc) * 100 - 1)) line='' half='' seen=$(nproc)
if ! "$AJ" exec --json --cpu-percent $percent -c 1 | grep -q '"cpu":"cgroup'; then
	line="agentjail: --cpu-percent $percent is not enforced: no cpu cgroup, so the jail may use every processor"
	half=$line seen=1
	[ "$(nproc)" = 1 ] || half="agentjail: --cpu-percent 50 is enforced by affinity to 1 of $(nproc) processors (no cpu cgroup), which is more than the share that was asked for"
fi
say '1\n# %%\n2\n'
fed "a limit by its option" 0 '^2$' --memory 64M --cpu-percent $percent
is "standard error says once what is not enforced" "$line" "$(cat "$T/err")"
fed "to a program" 0 '"value":2' --json --cpu-percent $percent
is "the result alone says it" "" "$(cat "$T/err")"
if [ "$(nproc)" -gt 1 ]; then
	say 'import os; len(os.sched_getaffinity(0))\n'
	fed "half a processor without a cpu cgroup is a whole one" 0 "^$seen\$" --layer off --cpu-percent 50
	is "standard error says what is enforced" "$half" "$(cat "$T/err")"
	fed "whole processors" 0 "^$seen\$" --layer off --cpu-percent 100
	is "are exact" "" "$(cat "$T/err")"
fi

# A policy's files, in a jail that is warm; a workspace's.
mkdir -m 755 "$T/p" "$T/shown"
echo 'from the host' >"$T/shown/f"
printf 'extends = "snippet"\n[filesystem]\nbinds = ["%s:/data"]\n' "$T/shown" >"$T/p/binds.toml"
printf 'extends = "snippet"\n[filesystem]\nworkspace = "read-only"\n' >"$T/p/space.toml"
printf 'open("/data/f").read()\n# %%%%\nopen("f")\n' | timeout 60 "$AJ" session --json --policy-file "$T/p/binds.toml" >"$T/out" 2>"$T/err"
says "open() reads the policy's files" '"value":"from the host.n"'
says "and no others" '"type":"FileNotFoundError"|Only the files that the caller shows'
printf 'open("f").read()\n' | timeout 60 "$AJ" session --policy-file "$T/p/space.toml" --workspace "$T/shown" >"$T/out" 2>"$T/err"
says "and a workspace's, where the session begins" "^'from the host.n'"

# --- at a terminal ---
printf 'extends = "snippet"\n[limits]\nfile_size = "2048G"\n' >"$T/p/sparse.toml"
export XDG_STATE_HOME="$T/state" SHARED="$T/shared" SPARSE="$T/p/sparse.toml"
mkdir -p "$SHARED"
mkdir -p "$T/state"
cat >"$T/person.py" <<'PY'
import os, signal, stat, sys
sys.path.insert(0, sys.argv[1])
from terminal import Terminal, check
aj = sys.argv[2]
history = os.path.join(os.environ["XDG_STATE_HOME"], "agentjail", "history")
C, D, UP = "\x03", "\x04", "\x1b[A"

t = Terminal(aj, "session", "--timeout", "20s")
t.expect("a greeting with the policy", r"policy snippet.*Ctrl-D")
t.expect("a prompt", r">>> ")
t.type("x = 41\n")
t.expect("an assignment says nothing", r"x = 41\r\n>>> ")
t.type("print('hi'); x + 1\n")
t.expect("output, then the value", r"\nhi\r\n42\r\n>>> ")
t.type("def f(n):\n")
t.expect("a block asks for more", r"\.\.\. ")
t.type("    return n * 2\n")
t.expect("and for more", r"\.\.\. ")
t.type("\n")
t.expect("until an empty line", r">>> ")
t.type("f(x)\n")
t.expect("its function is there", r"\n82\r\n>>> ")
t.type("(1,\n2)\n")
t.expect("an open bracket continues", r"\.\.\. .*\(1, 2\)\r\n>>> ")
t.type("1/0\n")
t.expect("an error as Python shows it", r"Traceback.*ZeroDivisionError: division by zero\r\n>>> ")
t.type("import pty\n")
t.expect("a refusal with its reason", r"Import of pty is not allowed.*rejected.*>>> ")
t.type("print('a\\x1b[31mb\\x9b', end='')\n")
t.expect("no control character of the jail's", r"a\\x1b\[31mb\\xc2\\x9b\r\n>>> ")
check("none at all", "\x1b[31m" not in t.text and "\x9b" not in t.text, repr(t.text[-200:]))
t.type("print('\u017e' * 3000)\n")
t.expect("long text in UTF-8 is whole", "\u017e{3000}\r\n>>> ")
t.type("if not print('turns'):\n  while True: pass\n\n")
t.expect("an endless loop", r"\nturns\r\n")
t.type(C)
t.expect("Ctrl-C stops a snippet", r"KeyboardInterrupt.*>>> ")
t.type("x\n")
t.expect("and variables stay", r"\n41\r\n>>> ")
t.type("forgotten = (")
t.expect("a line that nobody sends", r"forgotten = \(")
t.type(C)
t.expect("Ctrl-C clears a line", r">>> ")
t.type("(1,\n")
t.expect("a bracket again", r"\.\.\. ")
t.type(C)
t.expect("Ctrl-C clears a block", r">>> ")
t.type("x + 2\n")
t.expect("and nothing of it is left", r"\n43\r\n>>> ")
t.type(UP + "0\n")
t.expect("the arrow brings the last line", r"x \+ 20\r\n61\r\n>>> ")
t.type("import time\n")
t.expect("time is there", r">>> ")
t.type("print('one'); time.sleep(60)\n")
t.expect("output comes as it is written", r"\none\r\n", 10)
t.type(C)
t.expect("and the sleeper wakes", r"KeyboardInterrupt.*>>> ")
stubborn = "while True:\n  try: print('sleeps'); time.sleep(60)\n  except KeyboardInterrupt: pass\n\n"
t.type(stubborn)
for _ in range(3):
    t.expect("a sleeper that does not care", r"sleeps\r\n")
    t.type(C)
t.expect("what does not stop is ended", r"its jail was ended.*>>> ")
t.type("x\n")
t.expect("and its variables are gone", r"NameError.*>>> ")
t.type("20 + 2\n")
t.expect("a value", r"\n22\r\n>>> ")
t.type("_ * 2\n")
t.expect("is _ in the next snippet", r"\n44\r\n>>> ")
t.type("z = None\n")
t.expect("none says nothing", r"z = None\r\n>>> ")
t.type("_ + 1\n")
t.expect("and leaves the value before it", r"\n45\r\n>>> ")
PASTE = "\x1b[200~def g(n):\r    m = n * 2\r\r    return m\r\x1b[201~"
t.type(PASTE)
t.expect("a function with an empty line is pasted whole", r"return m.*\.\.\. ")
t.type("\n")
t.expect("and defined by Enter", r"^\r\n>>> ")
t.type("g(21)\n")
t.expect("all of it", r"g\(21\)\r\n42\r\n>>> ")
t.type(PASTE.replace("return m\r", "return -m\r\rg(4)"))
t.type("\n")
t.expect("a pasted call after a block runs with it", r"g\(4\)\r\n-8\r\n>>> ")
t.type("\x1b[200~exit()\x1b[201~" + 6 * "\x7f" + "1\x1b[200~\x07 + 1\x1b[201~\n")
t.expect("a paste is edited like typed text, and brings no control characters", r"\n2\r\n>>> ")
t.type("\x1b[200~if True:\r  1\r")
t.expect("an unfinished paste", r"\.\.\. ")
t.type(C)
t.expect("is dropped by Ctrl-C", r">>> ")
t.type("y = 7\n")
t.expect("a new jail works", r">>> ")
t.type(":vars\n")
t.expect(":vars lists them", r"y  int  7\r\n.*>>> ")
t.type(":new\n:vars\ny\n")
t.expect(":new is another jail", r"NameError.*>>> ")

t.type(":new\n")
t.expect("a jail without files", r">>> ")
there = os.environ["SHARED"] + "/"
def got(name, path, content=None):
    try: here = open(there + path, "rb").read()
    except OSError: here = None
    check(name, here == content and not os.path.islink(there + path) if content is not None else here is None, repr(here))
for path, content in ("data.csv", b"a,b\n"), ("taken", b"mine"):
    open(there + path, "wb").write(content)
os.symlink("taken", there + "link")
os.symlink("none", there + "dangling")
os.mkdir(there + "real")
os.symlink("real", there + "folder")
t.type(":get nothing\n")
t.expect("without a jail there is no file", r"the session has no jail now.*>>> ")
t.type(":put %sdata.csv\n" % there)
t.expect(":put gives a file", r"/input/data\.csv\r\n.*>>> ")
t.type(":put %sdata.csv /tmp/x.csv\n" % there)
t.expect("under another name, too", r"/tmp/x\.csv\r\n.*>>> ")
t.type("open('/input/data.csv').read() + open('/tmp/x.csv').read()\n")
t.expect("and the code reads it", r"'a,b\\na,b\\n'\r\n>>> ")
t.type(":put %snone\n" % there)
t.expect("a file that is not there", r"No such file.*>>> ")
t.type(":put %sdata.csv /etc/x\n" % there)
t.expect("or may not be there", r"not at or below.*>>> ")
t.type(":put\n")
t.expect("a file is named", r":put FILE \[NAME\].*>>> ")
t.type("f = open('out.bin', 'wb'); _ = f.write(bytes(range(256)) * 8192); f.close()\n")
t.expect("the jail makes a file", r">>> ")
t.type(":get out.bin %sout.bin\n" % there)
t.expect(":get copies it", r"out\.bin: 2097152 bytes\r\n.*>>> ")
got("as it is", "out.bin", bytes(range(256)) * 8192)
t.type(":get /tmp/x.csv %sreal/y\n" % there)
t.expect("from a path", r"/y: 4 bytes.*>>> ")
for path, words in ("taken", "exists"), ("link", "exists"), ("dangling", "exists"), ("folder/new", "symlink"), ("none/new", "No such"), ("real", "exists"):
    t.type(":get out.bin %s\n" % (there + path))
    t.expect("no copy at " + path, words + ".*>>> ")
got("what was there stays", "taken", b"mine")
got("no link is followed", "none")
got("nor one on the way", "real/new")
t.type(":get none %snew\n" % there)
t.expect("no file of the jail's", r"No such file.*>>> ")
t.type(":get /etc/passwd %snew\n" % there)
t.expect("nor one of the host's", r"not at or below.*>>> ")
got("leaves none", "new")
for _ in range(500):  # also while a prompt is being written
    os.kill(t.pid, signal.SIGINT)
    t.read(0.0005)
t.type("6 * 7\n")
t.expect("the session continues after many interrupts", r"\n42\r\n>>> ")
t.type(":help\n")
t.expect(":help", r":put FILE.*:get NAME.*:quit.*>>> ")
t.type(D)
t.exits("Ctrl-D ends, with 0", 0)

mode = os.stat(history)
check("the history is there for us alone", stat.S_IMODE(mode.st_mode) == 0o600, oct(mode.st_mode))
check("its folder as well", stat.S_IMODE(os.stat(os.path.dirname(history)).st_mode) == 0o700, "")
lines = open(history, encoding="utf-8").read().split("\n")
check("what was typed is in it", "f(x)" in lines and "    return n * 2" in lines, repr(lines))

t = Terminal(aj, "session")
t.expect("a second session", r">>> ")
t.type(UP + "\n")
t.expect("begins with the history of the first", r":quit.*>>> ")
t.type("\x12f(x")
t.expect("which can be searched", r"f\(x\)")
t.type("\n")
t.expect("and is run again", r"NameError.*>>> ")
t.type("'\u017elu\u0165' + '\U0001f600'\n")
t.expect("typed UTF-8", "'\u017elu\u0165\U0001f600'\r\n>>> ")
t.type(":quit\n")
t.exits(":quit ends", 0)
check("pastes are marked from its beginning to its end", t.text.count("\x1b[?2004h") == t.text.count("\x1b[?2004l") == 1, repr(t.text))
for word in "exit()", "exit", "quit()", "quit":
    t = Terminal(aj, "session")
    t.expect("a session for " + word, r">>> ")
    t.type(word + "\n")
    t.exits(word + " ends it", 0)

os.unlink(history)
os.symlink("/etc/hostname", history)
t = Terminal(aj, "session", "--timeout", "1s", "--json")
t.expect("without a history file the prompt has no history", r">>> ")
t.type("x = '\\x1b'\n")
t.expect("JSON at a terminal", r'\{"id".*"status":\s*"ok".*\}\r\n>>> ')
t.type("while True: pass\n")
t.expect("a timeout", r'"status":"timeout".*"session":"alive".*>>> ')
t.type("x\n")
t.expect("which variables survive, in plain ASCII", r'"value":"\\u001[bB]".*>>> ')
t.type(D)
t.exits("and the end of it", 0)
check("a foreign history file is not changed", os.readlink(history) == "/etc/hostname", "")
os.unlink(history)

t = Terminal(aj, "session", "--layer", "off", "--policy-file", os.environ["SPARSE"])
t.expect("a session whose files may be large", r">>> ")
for name, size in ("most", 64 << 20), ("more", (64 << 20) + 1), ("huge", 1 << 40):
    t.type("f = open('%s', 'wb'); f.truncate(%d)\n" % (name, size))
    t.expect("a sparse file of %d bytes" % size, r"\n%d\r\n>>> " % size)
    t.type(":get %s %s\n" % (name, there + name))
    t.expect("which is copied" if name == "most" else "which is not copied", ("most: %d bytes" % size if name == "most" else "larger than 64 MiB") + r"\r\n.*>>> ")
got("whole", "most", bytes(64 << 20))
got("nor in part", "more")
got("of any size", "huge")
t.type(D)
t.exits("and the end of that", 0)

t = Terminal(aj, "session", "--memory", "100M", "--layer", "off")
t.expect("a session to be ended", r">>> ")
t.type("open('huge', 'wb').truncate(1 << 40)\n")
t.expect("a file beyond the policy's limit ends the jail", r"limit of 67108864 bytes for a file\r\n.*the jail has ended.*>>> ")
t.type(":get huge %shuge\n" % there)
t.expect("and its files", r"the session has no jail now.*>>> ")
t.type(":put %smost f\n" % there)
t.expect("a file for which the jail's memory is too small", r"agentjail: files: .*the jail has ended.*>>> ")
t.type("import os; os._exit(3)\n")
t.expect("when the jail ends it says so", r"the jail has ended.*>>> ")
t.type("1 + 1\n")
t.expect("and another one is there", r"\n2\r\n>>> ")
os.kill(t.pid, signal.SIGTERM)
t.exits("SIGTERM ends it", -signal.SIGTERM)
PY
"$PY" -B "$T/person.py" "$tests" "$AJ" >"$T/lines" 2>"$T/err"
while read -r verdict name; do
	case $verdict in
	ok) ok "terminal: $name" ;;
	*) fail "terminal: $name" ;;
	esac
done <"$T/lines"
is "terminal: nothing went wrong in the test itself" "" "$(head -c 800 "$T/err")"
[ "$(wc -l <"$T/lines")" -ge 111 ] || fail "terminal: all of its checks" "$(wc -l <"$T/lines")"

# Ctrl-C ends a session that is fed by a program.
say 'while True: pass\n# %%\nprint("never")\n'
# A busy machine may not have begun with the loop by then.
for seconds in 2 6 20 60; do
	timeout -s INT -k 10 $seconds "$AJ" session --timeout 200s <"$T/in" >"$T/out" 2>"$T/err"
	! grep -q KeyboardInterrupt "$T/err" || break
done
check "SIGINT ends one that is fed" sh -c "! grep -q never '$T/out' && grep -q KeyboardInterrupt '$T/err'"

finish
