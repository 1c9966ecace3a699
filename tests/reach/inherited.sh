#!/bin/sh
# What a process inherits from whoever starts it: open files that are logs, attributes, limits. Each check names its row.
. "$(dirname "$0")/../lib.sh"

python() { # OPTIONS... : Python on standard input, under `run`, with our standard output and error as they are
	cat >"$T/code.py"
	timeout -k 5 60 "$AJ" run --bind "$T/code.py:/opt/code.py" "$@" -- "$PY" -I -S -B /opt/code.py
}
flat() { # a file as one line
	tr '\n' ' ' <"$1" | tr -d '\000' | sed 's/ $//'
}

# --- a log that the command's output is appended to ---
cat >"$T/spoil.py" <<'X'
import fcntl, os
os.write(1, b"one\n")
for fd in (1, 2):
    for way in (lambda: fcntl.fcntl(fd, fcntl.F_SETFL, 0), lambda: os.ftruncate(fd, 0), lambda: os.lseek(fd, 0, 0),
                lambda: os.write(fd, b"two\n"), lambda: os.pwrite(fd, b"three\n", 0)):
        try:
            way()
        except OSError as e:
            pass
X
echo "before" >"$T/log"
python >>"$T/log" 2>>"$T/log" <"$T/spoil.py"
is "log-file: what others appended stays" "before one two two" "$(flat "$T/log")"
echo "before" >"$T/log"
"$PY" -I -S -B "$T/spoil.py" >>"$T/log" 2>>"$T/log"
is "log-file: control: without a jail it does not" "three" "$(flat "$T/log" | cut -c1-5)"
: >"$T/log"
python >"$T/log" 2>&1 <<'X'
import os
for i in range(20000):
    os.write(1 + i % 2, b"%d\n" % i)
X
seq 0 19999 >"$T/want"
check "log-file: both outputs in one file keep their order, and nothing is lost" cmp "$T/want" "$T/log"
python >"$T/log" 2>"$T/log2" <<'X'
import os
os.write(1, b"x" * 3000000); os.write(2, b"y" * 3000000)
if os.fork() == 0:
    os.setsid(); os.write(1, b"last"); os._exit(0)
os.wait()
X
is "log-file: large output is whole" "3000004 3000000" "$(wc -c <"$T/log") $(wc -c <"$T/log2")"
python >"$T/log" <<'X'
import os, stat
print(stat.S_ISREG(os.fstat(1).st_mode), stat.S_ISFIFO(os.fstat(1).st_mode))
X
is "log-file: the command holds a pipe" "False True" "$(cat "$T/log")"
# The disk, or the caller's limit, is full: not a success.
echo 'import os
while True: os.write(1, b"x" * 4096)' >"$T/flood.py"
(
	ulimit -f 8
	python <"$T/flood.py" >"$T/log" 2>"$T/err"
	echo $? >"$T/code"
)
is "log-file: what cannot be written is an error and ends the run" 125 "$(cat "$T/code")"
check "log-file: and says why" grep -q "File too large" "$T/err"
cat >"$T/small.toml" <<'X'
extends = "command"
[limits]
file_size = "1M"
X
python --policy-file "$T/small.toml" <"$T/flood.py" >"$T/log" 2>"$T/err"
is "log-file: the policy's limit of a file holds for it" 122 $?
check "log-file: and little more was written" test "$(wc -c <"$T/log")" -le 1200000

# --- a file as standard input ---
echo "keep me" >"$T/in"
cat >"$T/code.py" <<'X'
import os
for way in (lambda: os.write(0, b"gone"), lambda: os.ftruncate(0, 0)):
    try:
        way(); print("OUT")
    except OSError as e:
        print("refused", e.errno)
print(os.read(0, 100))
X
timeout 60 "$AJ" run --bind "$T/code.py:/opt/code.py" -- "$PY" -I -S -B /opt/code.py 0<>"$T/in" >"$T/out" 2>"$T/err"
is "input-file: it is open for reading only" "refused 9 refused 22 b'keep me\\n'" "$(flat "$T/out")"
is "input-file: and as it was" "keep me" "$(cat "$T/in")"
finish
