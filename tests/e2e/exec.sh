#!/bin/sh
# The promises of `agentjail exec` to a caller: sources, values, errors, inputs, files, variables, options and exit codes.
# It attacks nothing (tests/escape does) and takes the Python layer's own rules for tested (tests/layer).
. "$(dirname "$0")/../lib.sh"

# --- values and statuses: NAME EXIT EXPECT... -- exec ARGS... ---
json "a value" 0 status=ok value=4 repr=4 type=int reason=finished exit_code=0 signal=null -- exec -c '2+2'
json "no value" 0 status=ok value=null type=NoneType -- exec -c 'x = 1'
json "a string" 0 'value=a b' "repr='a b'" type=str -- exec -c '"a" + " b"'
json "a tuple is tagged" 0 value.__type__=tuple 'value.data=[1,2]' -- exec -c '(1, 2)'
json "a set is tagged" 0 value.__type__=set -- exec -c '{1}'
json "bytes are tagged" 0 value.__type__=bytes -- exec -c 'b"x"'
json "unicode" 0 'value=žluť 😀' -- exec -c '"žluť 😀"'
json "stdout and value are two things" 0 'stdout=hi\n' value=1 -- exec -c 'print("hi")
1'
json "imports are listed" 0 'imports=["math","json"]' -- exec -c 'import math, json'
json "an assignment has a value on request" 0 value=5 type=int -- exec --value-of statement -c 'x = 5'
json "an assignment has none otherwise" 0 value=null type=NoneType -- exec --value-of=expression -c 'x = 5'
json "str beside repr" 0 str=2024-01-02 'repr=datetime.date(2024, 1, 2)' -- exec -c 'import datetime; datetime.date(2024, 1, 2)'
json "a seed" 0 value=0.8444218515250481 -- exec --seed 0 -c 'import random
random.random()'
json "a seed, without the layer" 0 value=0.8444218515250481 -- exec --seed 0 --layer off -c 'import random
random.random()'
json "a seed, for a module that another one imports" 0 value=0.8444218515250481 -- exec --seed 0 -c 'import statistics, random
random.random()'
cold json "a seed loads no module" 0 value=false -- exec --seed 0 --layer off -c 'import sys
"random" in sys.modules'
mkdir -p "$T/hash"
printf 'extends = "snippet"\n[python]\nhash_seed = "%s"\n' 0 >"$T/hash/zero.toml"
printf 'extends = "snippet"\n[python]\nclock = "2026-01-01T00:00:00Z"\nsleep_max = "10ms"\n' >"$T/hash/clock.toml"
json "a policy's clock and sleep" 0 "repr=('2026-01-01 00:00:00', 2026, '2026-01-01')" -- exec --policy-file "$T/hash/clock.toml" -c 'import asyncio, time, datetime
time.sleep(25); await asyncio.sleep(25)
str(datetime.datetime.now()), time.gmtime().tm_year, str(datetime.date.today())' --allow-import asyncio
json "a shifted clock, without the layer" 0 repr=True "policy.options=[\"--clock=+24h\",\"--layer=false\"]" -- exec --clock +24h --layer off -c 'import time, datetime
now = time.clock_gettime(time.CLOCK_REALTIME); abs(now - time.time()) < 9 and datetime.datetime.now().timestamp() - now < 9'
hash=$("$AJ" exec --policy-file "$T/hash/zero.toml" -c 'hash("a seed")')
json "a hash seed" 0 "repr=$hash" -- exec --policy-file "$T/hash/zero.toml" -c 'hash("a seed")'
text "a seed that is none" 2 'seed .-1.: not a number' exec --seed -1 -c 1
text "a value of nothing known" 2 'value-of .*expression, statement' exec --value-of all -c 1
json "final answer" 0 status=ok is_final=true final_answer.n=1 'stdout=' -- exec -c 'final_answer({"n": 1}); print("never")'
json "no final answer" 0 is_final=false final_answer=null -- exec -c '1'
json "what is enforced" 0 'enforced.seccomp~snippet' 'enforced.namespaces~user pid mount' 'enforced.capabilities~empty' 'enforced.python_layer~on' \
	'enforced.memory~^(rlimit|cgroup)' policy.name=snippet 'id~^[0-9a-f]{16}$' 'wall_ms<60000' 'peak_memory_bytes~^[1-9][0-9]{5,}$' -- exec -c 1
json "the hash of the code" 0 "code_sha256=$(printf 1 | sha256sum | cut -d' ' -f1)" -- exec -c 1
json "an id of the caller's" 0 id=run-7 -- exec --id run-7 -c 1
json "an exception" 1 status=error error.type=ZeroDivisionError error.line=2 error.column=5 'error.source=y = 1 / 0' 'error.traceback~line 2' exit_code=0 -- \
	exec -c 'x = 1
y = 1 / 0'
json "an exception in a function" 1 error.line=2 'error.traceback~in f' -- exec -c 'def f():
    return {}["k"]
f()'
json "a syntax error" 1 status=error error.type=SyntaxError error.line=2 'error.source=y = = 2' -- exec -c 'x = 1
y = = 2'
json "a rejected import" 126 status=rejected error.type=PolicyError error.rule=PY-IMPORT error.line=2 error.column=8 'error.source=import pty' \
	'error.message~Import of pty is not allowed. Allowed: .*math' stdout= -- exec -c 'print("not even this")
import pty'
json "sys.exit(0) ends the snippet" 0 status=ok reason=finished value=null 'stdout=1\n' -- exec -c 'import sys; print(1); sys.exit(0); print(2)'
json "another code is an error" 1 status=error error.type=SystemExit error.exit_code=3 -- exec -c 'import sys; sys.exit(3)'
json "a text for sys.exit is an error" 1 status=error error.exit_code=1 error.message=no -- exec -c 'import sys; sys.exit("no")'
json "an early end gives no result" 1 status=error 'reason~no result' exit_code=0 -- exec --layer off -c 'import os; os._exit(0)'
junk='import os; os.write(3, b"x")
'
json "a junk byte on the control socket, and the end" 123 status=protocol_error 'reason~bytes that are not a message' -- exec --layer off -c "${junk}os._exit(0)"
json "a junk byte ends the run at once, not at its limit" 123 status=protocol_error 'limits_hit=[]' 'wall_ms<30000' -- exec --layer off --timeout 30s -c "${junk}while True: pass"
json "an exit code is not a status" 1 status=error exit_code=137 -- exec --layer off -c 'import os; os._exit(137)'
json "an exit code is not a timeout" 1 status=error exit_code=124 -- exec --layer off -c 'import os; os._exit(124)'
json "a signal" 137 status=signal signal=9 -- exec --layer off -c 'import os; os.kill(os.getpid(), 9)'
json "abort" 134 status=signal signal=6 -- exec --layer off -c 'import os; os.abort()'
json "time" 124 status=timeout 'limits_hit=["wall_clock"]' 'reason~1000 ms' 'wall_ms<60000' -- exec --timeout 1s -c 'while True: pass'
json "a snippet is interrupted at its limit: the result has the output and the line" 124 status=timeout 'stdout=before\n' error.type=TimeoutError error.line=2 \
	'error.message=the snippet took longer than 500 ms' told_to_stop=wall_clock 'reason~limit of 500 ms reached; the snippet was interrupted and stopped$' -- \
	exec --timeout 500ms -c 'print("before")
while True: pass'
json "a snippet that catches the interrupt is ok and has told_to_stop" 0 status=ok value=5 told_to_stop=wall_clock 'limits_hit=["wall_clock"]' -- exec --timeout 300ms -c 'import time
try: time.sleep(99)
except KeyboardInterrupt: pass
5'
json "the same without the layer" 0 status=ok value=5 told_to_stop=wall_clock -- exec --layer off --timeout 300ms -c 'import time
try: time.sleep(99)
except KeyboardInterrupt: pass
5'
json "what does not stop is killed" 124 status=timeout told_to_stop=wall_clock 'reason~limit of 300 ms reached; the snippet was interrupted and did not stop' -- \
	exec --layer off --timeout 300ms -c 'sum(range(10 ** 12))'
json "a snippet that catches the interrupt and continues is killed" 124 status=timeout 'reason~did not stop' -- exec --timeout 300ms -c 'while True:
    try:
        while len("x"): pass
    except BaseException: pass'
for layer in on off; do
	json "layer $layer: what was printed before the limit is kept" 124 status=timeout 'stdout=before\n' 'reason~did not stop' -- \
		exec --layer $layer --timeout 300ms -c 'print("before")
while True:
    try:
        while len("x"): pass
    except BaseException: print("lost")'
done
aj exec --json -c 1
check "a result without an interrupt has no told_to_stop" sh -c "! grep -q told_to_stop '$T/out'"
json "time asleep" 124 status=timeout -- exec --timeout 300ms -c 'import time; time.sleep(1000)'
json "memory" 137 status=oom 'limits_hit=["memory"]' -- exec --memory 128M -c 'b = []
while True: b.append(bytearray(1 << 20))'
json "memory in one piece: the limit is named, and listed as a claim" 1 status=error error.type=MemoryError 'limits_hit=[]' 'limits_claimed=["memory"]' \
	'error.message=the kernel gave no memory; the limit of the jail is 128 MiB (limits.memory)' 'error.traceback~MemoryError: the kernel' -- \
	exec --memory 128M -c 'bytearray(1 << 40)'
json "a MemoryError of the snippet's own keeps its message" 1 'limits_claimed=["memory"]' error.message=mine -- exec -c 'raise MemoryError("mine")'
aj exec --json -c 1/0
check "another exception claims no limit" sh -c "! grep -q limits_claimed '$T/out'"
json "output" 122 status=limit 'limits_hit=["output"]' truncated.stdout=true -- exec -c 'while True: print("x" * 65536)'

# --- plain text ---
text "text: output, then the value" 0 '^41$' exec -c 'print(41)
42'
is "text: both lines in order" "41 42" "$(tr '\n' ' ' <"$T/out" | sed 's/ $//')"
text "text: None is not shown" 0 '' exec -c 'None'
is "text: nothing at all" "" "$(cat "$T/out" "$T/err")"
text "text: final answer" 0 '^final answer: \[1\]$' exec -c 'final_answer([1])'
text "text: an error with place and source" 1 'line 1, column 1: ZeroDivisionError' exec -c '1/0'
says "text: the source line" '^    1/0$'
says "text: the status" '^agentjail: error:'
text "text: a rejection" 126 'Import of pty is not allowed. Allowed: ' exec -c 'import pty'
is "text: the allowed modules once" 1 "$(aj exec -c 'import pty, requests'; grep -c 'Allowed: ' "$T/err")"
says "text: a hint for a model" '  hint: This code has no network: call a tool'
check "text: no command line" sh -c "! grep -q -e '--allow' '$T/err'"
text "text: the frames of the snippet" 1 'line 1, in f$' exec -c 'def f(): return 1 / 0
f()'
text "text: what to do in place of a refused call" 1 '^  hint: ' exec --layer off -c 'import os; os.fork()'
json "a top-level await without asyncio" 1 error.type=NameError error.line=1 'error.hint~asyncio is not allowed' stderr= -- exec --policy text -c 'await asyncio.sleep(0)'
json "a top-level await with asyncio" 0 value=5 stderr= -- exec --allow-import asyncio -c 'import asyncio
await asyncio.sleep(0, 5)'
text "text: a warning of a module that weakens the check" 0 '^--allow-import: warning AJ101: the module `marshal`' exec --allow-import marshal -c 1
text "text: of another kind" 0 'warning AJ101: the module `urllib.request`' exec --allow-import urllib.request -c 1
aj exec --allow-import ast -c 1
is "text: no warning of a harmless one" "" "$(cat "$T/err")"
aj exec --json --allow-import inspect -c 1
is "none beside JSON" "" "$(cat "$T/err")"
text "text: a timeout" 124 'agentjail: timeout: ' exec --timeout 300ms -c 'while True: pass'
text "text: stderr goes to stderr" 0 '' exec --layer off -c 'import sys; print("E", file=sys.stderr)'
is "text: and only there" "|E" "$(cat "$T/out")|$(cat "$T/err")"

# --- where the source comes from ---
echo 'print("from file")' >"$T/a.py"
text "FILE" 0 '^from file$' exec "$T/a.py"
printf '1/0\n' >"$T/b.py"
json "FILE is named in errors" 1 "error.traceback~b.py" -- exec "$T/b.py"
aj exec - <"$T/a.py"
says "- is standard input" '^from file$'
aj exec <"$T/a.py"
says "no operand is standard input" '^from file$'
json "an empty source" 0 status=ok value=null -- exec -c ''
: >"$T/empty.py"
json "an empty file" 0 status=ok value=null -- exec "$T/empty.py"
cold json "machine code that comes too late: with a hint" 1 error.type=ImportError 'error.hint~for a single snippet those that its import statements name' -- exec --layer off -c 'm = "_sqlite3"
__import__(m)'
printf 'extends = "snippet"\n[python]\nnative = "tree"\nlayer = false\n' >"$T/native.toml"
json "and that comes at any time, of the tree" 0 'value=_sqlite3' -- exec --policy-file "$T/native.toml" -c 'm = "_sqlite3"
__import__(m).__name__'
json "machine code of the snippet's own: with another hint" 1 error.type=ImportError "error.hint~from the jail's read-only tree alone" -- exec --policy-file "$T/native.toml" -c 'import sys
m = "_sqlite3"
with open(__import__(m).__file__, "rb") as f, open("/tmp/own.so", "wb") as to: to.write(f.read())
sys.path.append("/tmp")
import own'
text "a coroutine of one's own that nobody awaits" 0 "line 2, column 1: RuntimeWarning: coroutine 'f' was never awaited" exec -c 'async def f(): pass
f()'
says "with what to write" 'hint: .f. is async: write .await f'
json "CRLF, BOM and form feed" 0 value=3 -- exec -c "$(printf '\357\273\277x = 1\r\n\fx + 2\r\n')"
mkfifo "$T/fifo"
printf 'x = "a\000b"\n' >"$T/nul.py"
printf 'x = 1\ny = "\377"\n' >"$T/utf8.py"
cp "$PROBE" "$T/binary.py"
{ printf 'x = "'; head -c 2000000 /dev/zero | tr '\0' a; printf '"\n'; } >"$T/large.py"
{ printf 'x = "'; head -c 1000000 /dev/zero | tr '\0' a; printf '"\nlen(x)'; } >"$T/most.py"
json "almost the largest source" 0 value=1000000 -- exec "$T/most.py"
text "a missing file" 2 'missing.py.*No such file' exec "$T/missing.py"
text "a folder" 2 'not a regular file' exec "$T"
text "a FIFO does not block" 2 'not a regular file' exec "$T/fifo"
text "a device" 2 'not a regular file' exec /dev/zero
text "a NUL byte" 2 'not UTF-8 text: byte 0x00 .*line 1' exec "$T/nul.py"
text "bad UTF-8, with its line" 2 'byte 0xff .*line 2' exec "$T/utf8.py"
text "a variable that is no text" 2 'the value of A is not UTF-8' exec --env "A=$(printf '\377')" -c 1
text "a binary" 2 'not UTF-8 text' exec "$T/binary.py"
json "a NUL byte, as JSON" 2 status=rejected id=run-8 error.type=SourceError 'reason~byte 0x00 .*line 1' 'error.message~not UTF-8' -- exec --id run-8 "$T/nul.py"
json "a binary, as JSON" 2 status=rejected 'reason~not UTF-8 text' 'id~^[0-9a-f]{16}$' -- exec "$T/binary.py"
"$PY" -I -S -c 'print("x = 1\n" * 200000)' >"$T/long.py"
json "too long, as JSON" 2 status=rejected 'reason~larger than a snippet may be' -- exec "$T/long.py"
aj exec --nope --json -c 1
check "a wrong option before --json, as JSON" expect status=setup_error error.type=UsageError
json "a wrong option, as JSON" 2 status=setup_error error.type=UsageError 'reason~unknown option `--nope`' 'error.fix~--help' -- exec --nope
json "a wrong value, as JSON" 2 status=setup_error error.type=UsageError 'reason~--timeout' -- exec --timeout x -c 1
json "an unknown policy, as JSON" 2 status=setup_error error.type=UsageError 'reason~AJ009: there is no policy .nosuch' 'error.fix~policy list' -- exec --policy nosuch -c 1
json "a missing file, as JSON" 2 status=setup_error id=run-9 error.type=UsageError 'reason~missing.py' -- exec --id run-9 "$T/missing.py"
json "an invalid input, as JSON" 2 status=setup_error error.type=UsageError 'reason~not JSON' -- exec --input a=x -c 1
cold json "a tree that is none, as JSON" 125 status=setup_error error.type=SetupError -- exec --rootfs "$T/none" -c 1
json "no command, as JSON" 2 status=setup_error 'reason~no command' -- run
json "an option of the command, which is no --json" 0 'stdout~^x --json' -- run -- echo x --json
aj run --nope -- echo --json
is "nor is one of its operands" "" "$(cat "$T/out")"
text "a source that is too large" 2 'larger than' exec "$T/large.py"
echo 1 >"$T/unreadable.py"
chmod 0 "$T/unreadable.py"
if [ "$(id -u)" = 0 ]; then
	skip "an unreadable file" "root may read everything"
else
	text "an unreadable file" 2 'Permission denied' exec "$T/unreadable.py"
fi
(printf 1 >"$T/$(printf 'x\377.py')") 2>/dev/null && text "a name that is no UTF-8" 0 '^1$' exec "$T/$(printf 'x\377.py')"
text "both -c and FILE" 2 'both' exec -c 1 "$T/a.py"
text "two files" 2 'one snippet' exec "$T/a.py" "$T/b.py"

# --- inputs, files, variables ---
json "inputs" 0 'value=[1,{"k":[true,null]},"s"]' -- exec --input 'a=1' --input 'b={"k":[true,null]}' --input 'c="s"' -c '[a, b, c]'
printf '3\n1 2\nlast' >"$T/in.txt"
chmod 644 "$T/in.txt"
json "a standard input" 0 value.0=3 'value.1=1 2\n' 'value.2=["last"]' value.3= 'stdout=n? ' -- exec --stdin "$T/in.txt" -c 'import sys
[input("n? "), sys.stdin.readline(), list(sys.stdin), sys.stdin.read()]'
json "with the layer off" 0 'value.data=Mwo=' -- exec --layer off --stdin "$T/in.txt" -c 'import sys
sys.stdin.buffer.readline()'
json "it has no descriptor" 1 error.type=UnsupportedOperation -- exec --stdin "$T/in.txt" -c 'import sys
sys.stdin.fileno()'
json "but where open() is the real one" 0 value.data.0.data=Mwo= 'value.data.1=1 2\nlast' -- exec --policy data-analysis --stdin "$T/in.txt" -c 'import os
os.read(0, 2), open(0).read()'
json "fileinput" 0 'value.0=3\n' 'value.1=1 2\n' value.2=last value.3= -- exec --policy data-analysis --stdin "$T/in.txt" -c 'import fileinput
[*fileinput.input(), open(0).read()]'
printf 'extends = "snippet"\n[limits]\nfile_size = "1"\n' >"$T/byte.toml"
json "within the limit of a file it is in memory" 0 value.data.0= 'value.data.1=3\n1 2\nlast' -- exec --policy-file "$T/byte.toml" --layer off --stdin "$T/in.txt" -c 'import sys
open(0, closefd=False).read(), sys.stdin.read()'
json "one that ends" 1 error.type=EOFError 'error.hint~Standard input ends here' -- exec --stdin "$T/in.txt" -c 'while True: input()'
json "none" 1 error.type=EOFError 'error.hint~has no user here' -- exec -c 'input()'
echo ours >"$T/ours.txt"
json "our own" 0 'value=ours' -- exec --stdin - -c 'input()' <"$T/ours.txt"
text "which holds the snippet" 2 'holds the snippet, so .--stdin -. has nothing to read' exec --stdin - - <"$T/ours.txt"
text "also without an operand" 2 'holds the snippet' exec --stdin - <"$T/ours.txt"
text "a standard input that is not there" 2 'stdin: open .*No such file' exec --stdin "$T/nowhere" -c 1
text "a folder as standard input" 2 'is not a regular file' exec --stdin "$T" -c 1
printf '1\n\377' >"$T/bytes.txt"
chmod 644 "$T/bytes.txt"
text "a standard input that is no text" 2 'bytes.txt. is not UTF-8 text: byte 0xff at offset 2 \(line 2\)' exec --stdin "$T/bytes.txt" -c 1
truncate -s 17M "$T/large.txt"
text "a standard input that is too large" 2 'large.txt. is larger than a snippet.s standard input may be \(16 MiB\)' exec --stdin "$T/large.txt" -c 1
rm "$T/large.txt"
text "an input that is no JSON" 2 '`a`.*not JSON' exec --input 'a=x' -c 1
text "an input without a value" 2 'not NAME=JSON' exec --input a -c 1
text "an input twice" 2 'given twice' exec --input a=1 --input a=2 -c 1
text "an input with NaN" 2 'not JSON' exec --input a=NaN -c 1
for name in 1x a-b __builtins__ 'a b'; do
	text "an input named \`$name\` is refused" 2 "the name .$name. (must not|is not a variable name)" exec --input "$name=1" -c 1
done
text "an input named as a keyword is refused" 2 'the name .class. is a keyword of Python' exec --input class=1 -c 1
json "an input with another letter" 0 value=1 -- exec --input é=1 -c é
text "a limit of 0" 2 '`0`: a limit of 0 lets nothing run: from 10ms to 168h, or "none", which is no limit' exec --timeout 0 -c 1
text "a size as others write it" 2 'did you mean 512M\?' exec --memory 512MB -c 1
echo "host data" >"$T/data.txt"
chmod 644 "$T/data.txt"
text "two files of one name" 2 "data.txt. is already at /input/data.txt: .*HOST:/input/NAME" exec --file "$T/data.txt" --file "$T/other/data.txt" -c 1
ln -s "$T/data.txt" "$T/link.txt"
json "a file, as open() reads it" 0 'value.0=host data\n' 'value.1.0=host data\n' value.2=/input/data.txt value.3=r -- exec --file "$T/data.txt" -c 'with open("/input/data.txt") as f:
    text = f.read()
f = open("/input/data.txt")
[text, list(f), f.name, f.mode]'
json "and its bytes" 0 'value.data=aG9zdCBkYXRhCg==' -- exec --file "$T/data.txt" -c 'open("/input/data.txt", mode="rb").read()'
printf 'name,qty\r\nnut,3\r\n' >"$T/table.csv"
json "as csv wants it" 0 'value=[["name","qty"],["nut","3"]]' -- exec --file "$T/table.csv:/data/t.csv" -c 'import csv
list(csv.reader(open("/data/t.csv", newline="")))'
json "lines end as in Python" 0 'value.0=name,qty\n' 'value.1=nut,3\n' -- exec --file "$T/table.csv" -c 'open("/input/table.csv").readlines()'
printf '\351' >"$T/latin.txt"
json "another encoding" 0 value=é -- exec --file "$T/latin.txt" -c 'open("/input/latin.txt", encoding="latin-1").read()'
mkdir -p "$T/folder/sub"
echo deep >"$T/folder/sub/x"
json "a file of a folder" 0 'value=deep\n' -- exec --file "$T/folder:/in" -c 'open("/in/sub/x").read()'
json "a file that is not there" 1 error.type=FileNotFoundError -- exec --file "$T/folder:/in" -c 'open("/in/y")'
json "nor where a relative path leads" 1 error.type=FileNotFoundError "error.hint~use '/input/data.txt'" -- exec --file "$T/data.txt" -c 'open("data.txt")'
json "nor with its folder" 1 error.type=FileNotFoundError "error.hint~use '/input/data.txt'" -- exec --file "$T/data.txt" -c 'import pathlib
pathlib.Path("input/data.txt").read_text()'
json "and of one that is nowhere, which files there are" 1 error.type=FileNotFoundError "error.hint~The caller's files are: '/input/data.txt'" -- exec --file "$T/data.txt" -c 'open("other.txt")'
json "a file of the tree is not" 1 error.type=PermissionError 'error.message~Only the files that the caller shows can be read here: /input/data.txt' -- \
	exec --file "$T/data.txt" -c 'open("/usr/bin/python3", "rb")'
json "nor by way of one" 1 error.type=PermissionError -- exec --file "$T/data.txt" -c 'open("/input/data.txt/../../../usr/bin/python3", "rb")'
json "writing is refused with what to do" 1 error.type=PermissionError 'error.message~can only be read; write below /tmp' -- exec --file "$T/data.txt" -c 'open("/input/data.txt", "a")'
json "what was read is no place to write" 1 error.type=UnsupportedOperation -- exec --file "$T/data.txt" -c 'open("/input/data.txt").write("x")'
json "nor are its bytes" 1 error.type=UnsupportedOperation -- exec --file "$T/data.txt" -c 'open("/input/data.txt", "rb").writelines([b"x"])'
json "the smallest set has it as well" 0 'value=host data\n' -- exec --builtins minimal --file "$T/data.txt" -c 'open("/input/data.txt").read()'
cold json "without files open() has those of /tmp alone" 1 error.type=PermissionError 'error.message~own are allowed here, below /tmp' -- exec -c 'open("/usr/bin/python3")'
json "a file" 0 'value=host data\n' -- exec --builtins full --file "$T/data.txt:/input/d.txt" -c 'open("/input/d.txt").read()'
json "a file by its own name" 0 'value=host data\n' -- exec --builtins full --file "$T/data.txt" -c 'open("/input/data.txt").read()'
json "a file is read-only" 1 'error.type~OSError|PermissionError' -- exec --builtins full --file "$T/data.txt" -c 'open("/input/data.txt", "w")'
is "the file is unchanged" "host data" "$(cat "$T/data.txt")"
text "a file behind a symlink" 125 'symlink' exec --file "$T/link.txt" -c 1
ln -s "$T" "$T/folderlink"
text "a file below a symlink" 125 'symlink' exec --file "$T/folderlink/data.txt" -c 1
text "a missing file to show" 125 'nothing-here' exec --file "$T/nothing-here" -c 1
text "a file over the library" 2 'cover' exec --file "$T/data.txt:/usr/lib/x" -c 1
text "a file over a device" 2 'cover' exec --file "$T/data.txt:/dev/null" -c 1
text "a writable file" 2 'read-only' exec --file "$T/data.txt:/input/x:rw" -c 1
for target in /a/../b // /a//b relative /./a /; do
	text "a file at \`$target\`" 2 '' exec --file "$T/data.txt:$target" -c 1
done

# --- files out ---
json "files of /output" 0 'files.0.name=a.csv' files.0.size=4 files.0.media_type=text/csv files.1.name=sub/b.bin \
	files.1.sha256=b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9 'truncated!files' -- exec --output "$T/out1" --allow-import os -c 'import os
os.mkdir("/output/sub")
with open("/output/a.csv", "w") as f: print(1, 2, sep=",", file=f)
f = open("/output/sub/b.bin", "wb")
f.write(b"hello ")
f.write(b"world")
f.close()'
is "and their copies" "1,2 hello world" "$(cat "$T/out1/a.csv") $(cat "$T/out1/sub/b.bin")"
json "without --output there is no list" 0 'truncated!files' 'files=(absent)' 'files_skipped=(absent)' -- exec -c 1
cold json "and no folder" 0 'value=false' -- exec --layer off -c 'import os; os.path.lexists("/output")'
json "nothing came" 0 'files=[]' 'warnings=(absent)' -- exec --output "$T/out2" -c 1
json "what was written elsewhere" 0 'files=[]' "warnings.0.message~the code wrote '/tmp/report.csv', '/tmp/sub/b.txt'" 'warnings.0.hint=Write files for the caller to /output/NAME.' \
	-- exec --output "$T/out20" -c 'import os
os.mkdir("sub")
for name in ("/tmp/report.csv", "sub/b.txt"):
    with open(name, "w") as f: f.write("x")'
json "as the hint says" 0 files.0.name=report.csv 'warnings=(absent)' -- exec --output "$T/out21" -c 'with open("/output/report.csv", "w") as f: f.write("x")'
json "and beside it" 0 files.0.name=a 'warnings=(absent)' -- exec --output "$T/out22" -c 'for name in ("/tmp/scratch", "/output/a"):
    with open(name, "w") as f: f.write("x")'
text "text: a value over the cap" 0 'the value was returned as text of at most 65536 bytes' exec -c '"x" * 3000000'
json "files of a run that fails" 1 files.0.name=half -- exec --output "$T/out3" -c 'open("/output/half", "x").write("1")
1/0'
json "of one that is killed" 124 files.0.name=half files.0.size=1 -- exec --timeout 300ms --output "$T/out4" -c 'with open("/output/half", "w") as f: f.write("1")
while True: pass'
json "too many bytes" 0 'files=[]' files_skipped.0.name=big 'files_skipped.0.why~output.files' truncated.files=true -- exec --output "$T/out5" -c 'with open("/output/big", "wb") as f: f.write(bytes(9 << 20))'
json "appending, and reading it again" 0 'value=one\ntwo\n' files.0.size=8 -- exec --output "$T/out6" -c 'for line in ("one", "two"):
    with open("/output/log", "a") as f: print(line, file=f)
open("/output/log").read()'
json "a file that is there already" 1 error.type=FileExistsError -- exec --output "$T/out7" -c 'open("/output/x", "x").close(); open("/output/x", "x")'
json "an unknown mode" 1 error.type=ValueError -- exec --output "$T/out8" -c 'open("/output/x", "rw")'
json "elsewhere nothing is written" 1 error.type=PermissionError 'error.message~write below /output or /tmp' -- exec --output "$T/out9" -c 'open("/usr/x", "w")'
json "what is open for writing alone cannot be read" 1 error.type=UnsupportedOperation -- exec --output "$T/out10" -c 'open("/output/x", "w").read()'
text "where the copies are" 0 'file `.*/out11/x`: 1 bytes' exec --output "$T/out11" -c 'with open("/output/x", "w") as f: f.write("1")'
text "a name that would reverse the line" 0 'file `.*/out11b/a.xe2.x80.xaecod.exe`: 1 bytes' exec --output "$T/out11b" -c 'with open("/output/a\u202ecod.exe", "w") as f: f.write("1")'
text "a folder with something in it" 2 'is not empty' exec --output "$T/out11" -c 1
ln -s "$T/out2" "$T/outlink"
text "a folder behind a symlink" 2 'symlink' exec --output "$T/outlink" -c 1
text "a file" 2 '' exec --output "$T/data.txt" -c 1
mkdir -m 555 "$T/outclosed"
if [ -w "$T/outclosed" ]; then
	skip "a folder that cannot be written to" "root may write everywhere"
else
	text "a folder that cannot be written to" 2 'write to the folder' exec --output "$T/outclosed" -c 1
fi
text "with a file at /input" 0 'host data' exec --file "$T/data.txt" --output "$T/out2" -c 'print(open("/input/data.txt").read())'
# --- a text for a model ---
json "for a model: a value and output" 0 'for_model=The code ran to its end.\nValue: 4\nOutput:\nhi\n' -- exec --for-model -c 'print("hi"); 2+2'
json "for a model: an error" 1 'for_model=The code failed.\nLine 2: ZeroDivisionError: division by zero\n    y = 1 / 0\n' -- exec --for-model -c 'x = 1
y = 1 / 0'
json "for a model: a rejection" 126 'for_model~^The code was refused before it ran. Correct it:\nLine 1: PolicyError: Import of pty is not allowed. Allowed: .*\n    import pty' -- exec --for-model -c 'import pty'
json "for a model: a timeout" 124 'for_model~^The code was stopped: .*300 ms' -- exec --for-model --timeout 300ms -c 'while True: pass'
json "for a model: the end of long output, and whole characters" 0 'for_model~^The code ran to its end.\nFinal answer: .ž+\.\.\.\n\(the end of the output\)\nOutput:\nž+\n$' -- exec --for-model -c 'print("ž" * 5000); final_answer("ž" * 5000)'
is "at most 2000 bytes" yes "$("$AJ" exec --json --for-model -c 'import sys
class E(Exception): pass
print("ž" * 5000); sys.stderr.write("é" * 5000); raise E("ü" * 9999)' --allow-import sys | "$PY" -c 'import json, sys; n = len(json.load(sys.stdin)["for_model"].encode()); print("yes" if 1500 < n <= 2000 else n)')"
json "no for_model without the option" 0 'for_model=(absent)' -- exec -c 1
# --- rich results ---
PICTURE='class Picture:
    def __init__(self, data=b"\x89PNG"): self.data = data
    def _repr_png_(self): return self.data
    def _repr_html_(self): return "<b>x</b>"
    def __repr__(self): return "Picture()"
'
json "a value as a notebook shows it" 0 'results=[{"text/plain":"Picture()","text/html":"<b>x</b>","image/png":"iVBORw=="}]' 'repr=Picture()' -- exec -c "${PICTURE}Picture()"
json "display" 0 'results=[{"text/plain":"1"},{"text/html":"h"}]' value=5 'stdout=' -- exec -c 'display(1)
display({"text/html": "h"}, raw=True)
5'
json "nothing of it where nothing is shown" 0 'results=(absent)' 'truncated!results' 'warnings=(absent)' -- exec -c '[1, "a"]'
json "results of a run that fails" 1 'results=[{"text/plain":"7"}]' error.type=ZeroDivisionError -- exec -c 'display(7); 1/0'
json "what is too big is left out" 0 'results=[{"text/plain":"Picture()","text/html":"<b>x</b>"}]' truncated.results=true -- exec -c "${PICTURE}Picture(bytes(3 << 20))"
json "a method of the wrong type" 0 'results=[{"text/plain":"Picture()","text/html":"<b>x</b>"}]' 'warnings.0.message~image/png was dropped: bytes are expected, not int' -- exec -c "${PICTURE}Picture(5)"
json "a method that fails" 0 'warnings.0.message~_repr_png_ failed: AttributeError' status=ok -- exec -c "${PICTURE}p = Picture()
del p.data
p"
json "a method that does not end" 124 status=timeout told_to_stop=wall_clock -- exec --timeout 300ms -c 'class A:
    def _repr_html_(self):
        while True: pass
A()'
json "a claim of other bundles" 123 status=protocol_error 'results=(absent)' -- exec --layer off -c "import os
claim = b'{\"status\":\"ok\",\"results\":[{\"image/png\":\"<script>\"}]}'
os.write(3, (len(claim) + 1).to_bytes(4, 'big') + b'R' + claim); os._exit(0)"
json "minimal has no display" 1 error.type=NameError -- exec --builtins minimal -c 'display(1)'
text "text for people" 0 '^7$' exec -c 'display(7)'
is "the value comes once" "7 Picture()" "$("$AJ" exec -c "${PICTURE}display(7); Picture()" | tr '\n' ' ' | sed 's/ $//')"
json "pictures are files of --output" 0 files.0.name=result-1.png files.0.media_type=image/png 'files.1=(absent)' -- exec --output "$T/out13" -c "${PICTURE}Picture()"
text "even those that are too big for the result" 0 'out14/result-1.png.: 3145728 bytes' exec --output "$T/out14" -c "${PICTURE}Picture(bytes(3 << 20))"
json "a file of the snippet's stays" 0 files.0.size=4 'warnings.0.message~/output/result-1.png was not written' -- exec --output "$T/out15" -c "${PICTURE}with open('/output/result-1.png', 'w') as f: f.write('mine')
Picture()"
aj exec --dry-run --output "$T/out12" -c 1
if [ -e "$T/out12" ]; then fail "a dry run makes no folder" "$(ls -la "$T")"; else ok "a dry run makes no folder"; fi
json "a variable" 0 'value=v=w' -- exec --layer off --env 'AJ_X=v=w' -c 'import os; os.environ["AJ_X"]'
MINE=passed-on
export MINE
json "a variable of ours" 0 'value=passed-on' -- exec --layer off --env "MINE=$MINE" -c 'import os; os.environ["MINE"]'
json "no other variable" 0 'value!CANARY|SSH_|MINE' -- exec --layer off -c 'import os; sorted(os.environ)'
text "a name without a value is an environment's" 2 'fix: .*--env AJ_NOT_SET=VALUE' exec --env AJ_NOT_SET -c 1
text "a variable without name" 2 'without a name' exec --env =x -c 1
for name in LD_PRELOAD=/x LD_AUDIT=/x PYTHONPATH=/tmp PYTHONSTARTUP=/tmp/x PYTHONHOME=/; do
	aj exec --layer off --env "$name" -c 'import sys; sys.flags.isolated, sys.path'
	check "\`--env $name\` is refused or without effect" sh -c "test $rc = 2 || grep -q '^(1, ' '$T/out'"
done
for name in PYTHONPATH PYTHONSTARTUP PYTHONHOME PYTHONINSPECT LD_PRELOAD; do
	(
		eval "$name=/nonexistent; export $name"
		timeout 60 env "$AJ" exec -c '6*7' >"$T/hook" 2>&1
	)
	is "$name of the caller is ignored" "42" "$(grep -v 'object .* from LD_PRELOAD' "$T/hook")"
done

# --- imports, builtins, layer ---
json "an import allowed" 0 'value=a' -- exec --allow-import netrc -c 'import netrc; netrc.__name__[4:3] + "a"'
json "data-analysis works on the files of the jail" 0 status=ok 'violations.0=(absent)' 'stdout=["a.csv", "s/b.csv"] [[5]] hello gz OSError\n' -- exec --policy data-analysis -c '
import glob, gzip, json, os, pathlib, shutil, sqlite3, tempfile, zipfile
d = tempfile.mkdtemp()
with open(d + "/a.csv", "w") as f: f.write("x,y")
os.makedirs(d + "/s"); shutil.copy(d + "/a.csv", d + "/s/b.csv")
found = sorted(os.path.relpath(p, d) for p in glob.glob(d + "/**/*.csv", recursive=True))
with zipfile.ZipFile(d + "/z.zip", "w") as z: z.writestr("t", "hello")
db = sqlite3.connect(d + "/t.db"); db.execute("create table t (a int)"); db.execute("insert into t values (5)"); db.commit()
rows = sqlite3.connect(d + "/t.db").execute("select a from t").fetchall()
with gzip.open(d + "/g", "wt") as f: f.write("gz")
text = zipfile.ZipFile(d + "/z.zip").read("t").decode()
try: pathlib.Path("/usr/x").write_text("no")
except OSError as e: refused = type(e).__name__
print(json.dumps(found), json.dumps(rows), text, gzip.open(d + "/g", "rt").read(), refused)'
cold json "a policy without files has the snippet's own alone" 1 error.type=PermissionError -- exec -c 'open("/usr/bin/python3", "rb")'
json "and no process where it has files" 1 error.type=AttributeError -- exec --policy data-analysis -c 'import os; os.system("true")'
json "a package with its submodules" 0 status=ok -- exec --allow-import 'wsgiref.*' -c 'import wsgiref.headers as h; h.Headers([("a", "b")])["a"]'
json "a package alone" 126 status=rejected -- exec --allow-import wsgiref -c 'import wsgiref.util'
json "another import is not" 126 status=rejected 'error.hint~.' -- exec --allow-import netrc -c 'import subprocess'
json "an import that the code guards" 0 status=ok value=no 'imports_refused=[{"module":"requests","line":2}]' -- exec -c 'try:
    import requests
except ImportError as e:
    r = "no" if str(e) == "Import of requests is not allowed" else e
r'
json "guarded, and never run" 0 status=ok 'imports_refused=(absent)' -- exec -c 'if False:
    import pty'
json "a refused import next to a guarded one is reported before anything runs" 126 status=rejected errors.0.line=5 stdout= 'imports_refused=(absent)' -- exec -c 'print(1)
try: import pty
except ImportError: pass
finally:
    import subprocess'
json "each refused import is reported with its line" 1 status=error error.type=ImportError error.rule=PY-IMPORT error.line=2 'stdout=1\n' \
	'error.message~Import of pty is not allowed. Allowed: .*math' 'imports_refused=[{"module":"pty","line":2}]' -- exec --imports-checked run -c 'print(1)
import pty'
json "builtins minimal" 1 error.type=NameError -- exec --builtins minimal -c 'hex(1)'
json "builtins standard" 0 "value=0x1" -- exec --builtins standard -c 'hex(1)'
cold json "open in standard" 0 value=y -- exec -c 'open("/tmp/x", "w").write("y"); open("/tmp/x").read()'
cold json "no open in minimal" 1 error.type=NameError 'error.hint~open' -- exec --builtins minimal -c 'open("/tmp/x")'
json "open in full" 0 status=ok -- exec --builtins full -c 'open("/tmp/x", "w").write("y")'
json "eval in full is checked" 1 'error.message~pty' -- exec --builtins full -c 'eval("__import__(\"pty\")")'
json "control: layer off" 0 status=ok enforced.python_layer='none: switched off' -- exec --layer off -c 'import os; __import__("os").getpid()'
json "several violations at once" 126 errors.0.line=1 errors.1.line=2 -- exec -c 'import pty
import subprocess'

# --- bad options: OPTION VALUE, one a line; each must end with 2 and name the option ---
while IFS='|' read -r option value; do
	text "bad: $option $value" 2 "agentjail: .*$option" exec "$option" "$value" -c 1
done <<'TABLE'
--timeout|x
--timeout|0
--timeout|-1
--timeout|1h30
--timeout|200h
--timeout|
--timeout|99999999999999999999s
--memory|1
--memory|x
--memory|-1M
--memory|1E
--memory|99999999999999999999
--pids|0
--pids|x
--pids|-3
--pids|9999999999
--imports-checked|never
--imports-checked|
--builtins|all
--builtins|
--layer|maybe
--allow-import|a b
--allow-import|../x
--allow-import|
--allow-import|*.x
--allow-import|a.*.b
--input|
--input|=1
--file|
--limits|none
--cgroup|relative
--rootfs|
--id|
--network|none
--bind|/tmp
--proc|none
--nonsense|x
--timeou|1s
-x|x
TABLE
for option in --timeout --memory --builtins -c --file --env --input --rootfs --id; do
	text "no value: $option" 2 "$option needs a value" exec "$option"
done
text "a value for a switch" 2 'takes no value' exec --json=1 -c 1
text "an unknown command" 2 'unknown command' frobnicate
text "no command" 2 'Usage' # the program's own name alone
text "help" 0 'Usage: agentjail COMMAND' --help
for command in '' exec run session serve changes policy 'policy list' 'policy show' 'policy explain' 'policy check' 'policy diff' 'policy schema' doctor rootfs homes audit; do
	# shellcheck disable=SC2086
	aj $command --help
	is "help of ${command:-all}: at most 80 columns" "0 " "$rc $(awk 'length > 80' "$T/out")"
done
for command in exec run session serve; do
	aj $command --help
	check "help of $command: groups, and examples of this command" sh -c 'grep -q "^Limits:$" "$1" && sed -n "/^Examples:$/,\$p" "$1" | grep -q "^  agentjail $2 "' sh "$T/out" $command
done
while read -r meant line; do
	# shellcheck disable=SC2086
	text "did you mean: $line" 2 "did you mean \`(agentjail .*)?$meant\`" $line
done <<'TABLE'
exec exce -c 1
changes chnages
--network run --netwrok none -- true
--memory exec --memmory=64M -c 1
--network run --network-mode allow -- true
--parked serve --praked 1
command run --policy comand -- true
list policy lsit
apply changes aply
--policy-file policy show --polcy-file x
TABLE
while read -r meant line; do
	# shellcheck disable=SC2086
	text "did you mean: $line" 2 "; did you mean \"$meant\"\?" $line
done <<'TABLE'
allow run --network alow -- true
overlay run --workspace-mode overlya -- true
full exec --builtins fulll -c 1
statement exec --value-of statment -c 1
fresh run --proc fersh -- true
keep run --changes-end kep -- true
strict serve --limits stict
allow policy explain command --network alow
TABLE
text "an option of other commands" 2 'fix: .--workspace-mode. is an option of .agentjail run. and .agentjail exec.' session --workspace-mode rw
"$PY" - "$AJ" <<'PY' >"$T/screen" 2>&1
import os, pty, sys

def screen(*words, **env):
    """What a terminal gets."""
    pid, fd = pty.fork()
    if pid == 0:
        os.environ.pop("NO_COLOR", None)
        os.environ.update({"TERM": "xterm"}, **env)
        os.execv(sys.argv[1], (sys.argv[1],) + words)
    got = b""
    try:
        while data := os.read(fd, 65536):
            got += data
    except OSError:
        pass
    os.waitpid(pid, 0)
    return got

HOSTILE = "x\x1b[2J\x9b\u202e\u00e9"
SHOWN = b"x\\x1b[2J\\xc2\\x9b\\xe2\\x80\\xae\xc3\xa9"
for name, words in (("command", [HOSTILE]), ("option", ["run", "--" + HOSTILE]), ("value", ["run", "--memory", HOSTILE, "--", "true"]),
                    ("plan", ["run", "--dry-run", "--", HOSTILE]), ("subcommand", ["policy", HOSTILE]), ("file", ["audit", "verify", HOSTILE]),
                    ("policy", ["policy", "explain", "--path", "/" + HOSTILE])):
    got = screen(*words, NO_COLOR="1")
    print("%s %s" % (name, "ok" if SHOWN in got and b"\x1b" not in got else repr(got)))
print("colours", "ok" if b"\x1b[1;31magentjail:\x1b[0m" in screen("exce") else repr(screen("exce")))
print("no colours", "ok" if b"\x1b" not in screen("exce", NO_COLOR="1") + screen("exce", TERM="dumb") else "escape")
PY
is "a terminal: arguments are shown without control or bidi characters, and colours are ours" \
	"command ok option ok value ok plan ok subcommand ok file ok policy ok colours ok no colours ok" "$(tr '\n' ' ' <"$T/screen" | sed 's/ $//')"
text "help of exec" 0 '--allow-import' exec --help
text "version" 0 '^agentjail [0-9]' --version
json "--option=value" 124 status=timeout -- exec --timeout=200ms -c 'while True: pass'

finish
