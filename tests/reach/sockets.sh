#!/bin/sh
# Unix sockets of the host that a jail could name: which of them it reaches, and that its own go on working.
. "$(dirname "$0")/../lib.sh"
here=$(cd "$(dirname "$0")" && pwd)

# The folder that is shared, with the host's listeners in it. Jails of root have another id than root.
W=$T/ws
mkdir -m 777 "$W"
NAME=$(basename "$T")
export NAME
cp "$here/sockets.py" "$T/try.py"
"$PY" "$here/sockets.py" host "$W" 2>"$T/host" &
host=$!
trap 'kill $host 2>/dev/null; end_canaries; rm -rf "$T"' EXIT
await test -e "$T/up"

visitors() {
	sleep 0.2
	cat "$T/visitors" 2>/dev/null
}
# A permitted connection is written down when the listener has its turn: until then there is nothing to forget.
forget_visitor() {
	await test -s "$T/visitors"
	: >"$T/visitors"
}
# Attempts in a jail that shares $W as the same path, writable.
try() { # VERB ARG...
	# shellcheck disable=SC2086
	aj run ${OPTIONS:-} --env NAME --bind "$W:$W:rw" --bind "$T/try.py:/opt/try.py" -- "$PY" -B /opt/try.py "$@"
}
given() { # NAME TEXT: what the attempts printed
	is "$1" "$2" "$(tr '\n' ';' <"$T/out" | sed 's/;$//')"
}
refused='EACCES'

# --- the host's, by path ---
try foreign "$W"
given "socket-path-rw: by path, relative, by links, renamed, made later" "plain $refused;relative $refused;seqpacket $refused;wrong type $refused;symlink $refused;hard link $refused;renamed $refused;moved to /tmp EXDEV;linked to /tmp EXDEV;/proc $refused;/proc, itself $refused;late $refused"
is "socket-path-rw: nobody came to the host's listeners" "" "$(visitors)"
rm -f "$W/late" "$W/late.sock"
OPTIONS=--json
try one "$W/a.sock"
check "socket-path-rw: the result says so, and what to do" expect status=ok 'violations.0.syscall=connect' 'violations.0.count=1' 'violations.0.why=a socket of the host' \
	'violations.0.instead~filesystem.sockets' 'enforced.unix_sockets~^connect is mediated' violations_seen=true
OPTIONS=
"$PY" "$here/sockets.py" one "$W/a.sock" >"$T/out"
given "socket-path-rw: control: without a jail it is reached" 'a.sock OK'
says_visitors() { visitors | grep -q "^$W/a.sock $1"; }
check "socket-path-rw: control: the listener notices" await says_visitors '[1-9]'
forget_visitor
if command -v tmux >/dev/null; then
	(cd "$W" && TMUX='' tmux -S tmux.sock -f /dev/null new -d 'sleep 60')
	chmod 777 "$W/tmux.sock" 2>/dev/null
	text "socket-path-rw: tmux of the host" 1 'ermission denied|not permitted' run --bind "$W:/mnt/ws:rw" -- tmux -S /mnt/ws/tmux.sock run-shell "touch $T/escaped"
	text "socket-path-rw: tmux of the host, a workspace" 1 'ermission denied|not permitted' run --policy offline-build --workspace "$W" -- tmux -S /workspace/tmux.sock run-shell "touch $T/escaped"
	check "socket-path-rw: and ran nothing" test ! -e "$T/escaped"
	tmux -S "$W/tmux.sock" kill-server
	aj run --bind "$W:$W:rw" -- sh -c "cd $W; tmux -S $W/in.sock -f /dev/null new -d && tmux -S $W/in.sock run-shell 'echo OK >$W/ran'; tmux -S $W/in.sock kill-server"
	is "socket-own: tmux in the jail" OK "$(cat "$W/ran" 2>/dev/null)"
	rm -f "$W/ran" "$W/in.sock" "$W/tmux.sock"
else
	skip "socket-path-rw: tmux" "it is not here"
fi

# --- datagrams ---
try datagrams "$W"
given "socket-datagram: neither a socket nor a pair, and no address for others" "socket $refused;pair $refused;raw pair $refused;sendto 1 ENOTSUP;sendmsg 1 ENOTSUP;sendto 5 ENOTCONN;sendmsg 5 ENOTCONN"
"$PY" -c '
import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
os.dup2(s.fileno(), 0)
os.execv(sys.argv[1], sys.argv[1:])' "$AJ" run --bind "$W:$W:rw" -- true >"$T/out" 2>"$T/err"
is "socket-datagram: an inherited one is refused before anything runs" 2 $?
says "socket-datagram: with the reason" 'descriptor 0 is a Unix socket that could still reach'
is "socket-datagram: none came" "" "$(visitors)"

# --- those that the policy names ---
OPTIONS="--connect $W/a.sock" try one "$W/a.sock" "$W/b.sock"
given "socket-named: that one and no other" "a.sock OK;b.sock $refused"
if [ "$(id -u)" = 0 ]; then id=65534; else id=$(id -u); fi
await test -s "$T/visitors"
is "socket-named: the listener sees the jail's ids" "$id $id" "$(visitors | sed -n "s|^$W/a.sock [0-9]* ||p")"
forget_visitor
aj run --connect "$W/a.sock" --bind "$W:$W:rw" --bind "$T/try.py:/opt/try.py" -- sh -c "mv $W/a.sock $W/keep; mv $W/b.sock $W/a.sock; $PY -B /opt/try.py one $W/a.sock $W/keep; mv $W/a.sock $W/b.sock; mv $W/keep $W/a.sock"
given "socket-named: another by its name is still another" "a.sock $refused;keep OK"
forget_visitor
printf 'extends = "command"\n[filesystem]\nsockets = ["%s"]\n' "$W/nothing.sock" >"$T/policy.toml"
text "socket-named: one that is not there" 125 'sockets: open the socket' run --policy-file "$T/policy.toml" --bind "$W:$W:rw" -- true
ln -s "$W/a.sock" "$T/link.sock"
text "socket-named: through a symlink" 125 'a symlink in the path' run --connect "$T/link.sock" --bind "$W:$W:rw" -- true
text "socket-named: no socket" 125 'is not a socket' run --connect "$T/try.py" --bind "$W:$W:rw" -- true
text "socket-bound: a folder that is named as a socket is not shown" 125 'is not a socket' run --connect "$W" -- ls "$W"
text "socket-bound: nor a file" 125 'is not a socket' run --connect /etc/hostname -- cat /etc/hostname
text "socket-bound: a bind of a socket itself" 2 'is a socket of the host, and filesystem.sockets does not name it' run --bind "$W/a.sock:/run/a.sock" -- true
aj run --connect "$W/a.sock" --bind "$W/a.sock:/run/a.sock" --bind "$T/try.py:/opt/try.py" -- "$PY" -B /opt/try.py one /run/a.sock
given "socket-bound: named, it is reached" 'a.sock OK'
forget_visitor
ours() { # NAME PATHS OPTION...: both sockets, of which the first is named
	local name=$1 a=$2 b=$3
	shift 3
	aj run --connect "$W/a.sock" "$@" --bind "$T/try.py:/opt/try.py" -- "$PY" -B /opt/try.py one "$a" "$b"
	given "socket-bound: $name" "a.sock OK;b.sock ${refused_so:-$refused}"
	forget_visitor
}
refused_so=ENOENT ours "without a bind, at its own path" "$W/a.sock" "$W/b.sock"
refused_so=ECONNREFUSED
ours "in a folder that is shown read-only" "$W/a.sock" "$W/b.sock" --bind "$W"
ours "in a folder that is shown elsewhere" /x/y/a.sock /x/y/b.sock --bind "$W:/x/y"
ours "in a folder above, and one in it" /x/a.sock /x/b.sock --bind "$T" --bind "$W:/x"
printf 'extends = "command"\n[filesystem]\nworkspace = "overlay"\nprotect = []\nworkspace_under = ["@anywhere"]\n' >"$T/overlay.toml"
ours "in a workspace whose changes are kept apart" /workspace/a.sock /workspace/b.sock --policy-file "$T/overlay.toml" --workspace "$W"
unset refused_so
ours "in a folder that is writable" "$W/a.sock" "$W/b.sock" --bind "$W:rw"

# --- the jail's own ---
kinds='folder OK;relative OK;/tmp OK;/dev/shm OK;abstract OK'
rest='multiprocessing OK;manager OK;stale ECONNREFUSED;absent ENOENT;a file ECONNREFUSED;a folder ECONNREFUSED;below a file ENOTDIR;not dumpable OK'
try own "$W"
given "socket-own: in the folder, scratch space, abstract; and errors are the kernel's" "$kinds;$rest"
OPTIONS='--network loopback' try own "$W" inet
given "socket-own: with loopback" "$kinds;inet OK;$rest"
try waiting "$W"
given "socket-own: a connect that waits ends as the kernel ends it, and holds nobody up" "not blocking EAGAIN;with a time limit EAGAIN;a signal ETIME;another meanwhile OK;killed 9;room OK;another beside a flood OK"
try passed "$W"
given "socket-path-rw: by a socket that was passed on" "passed on $refused"

# --- another jail's ---
"$AJ" run --bind "$W:$W:rw" --bind "$T/try.py:/opt/try.py" -- "$PY" -B /opt/try.py stay "$W" >/dev/null 2>&1 &
other=$!
await test -e "$W/jail.sock"
sleep 0.3
try one "$W/jail.sock"
given "socket-other-jail: through a folder that both share" "jail.sock $refused"
kill $other
wait $other 2>/dev/null
rm -f "$W/jail.sock"

# --- the host's network ---
OPTIONS='--network host' try one "$W/a.sock" "@aj-reach-$NAME"
given "socket-host-network: by path and by an abstract name" "a.sock $refused;@aj-reach-$NAME $refused"
aj run --network host --bind "$W:$W:rw" --bind "$T/try.py:/opt/try.py" --chdir /tmp -- "$PY" -B /opt/try.py own /tmp inet
says "socket-host-network: in scratch space the jail's own work" '^/dev/shm OK'
says "socket-host-network: and the internet's" '^inet OK'
says "socket-host-network: abstract ones of its own do not" "^abstract $refused"
OPTIONS="--network host --json"
try one "$W/a.sock"
check "socket-host-network: the result says why" expect 'enforced.unix_sockets~does not say to which jail'
OPTIONS=

# --- inherited ---
inherit() { # LINES OF PYTHON that make s
	"$PY" -c "
import os, socket, sys
$1
os.dup2(s.fileno(), 0)
os.execv(sys.argv[1], sys.argv[1:])" "$AJ" run --env NAME --bind "$W:$W:rw" --bind "$T/try.py:/opt/try.py" -- "$PY" -B /opt/try.py inherited "$W" >"$T/out" 2>"$T/err"
}
inherit 's = socket.socket(socket.AF_UNIX)'
says "socket-inherited: one that is not connected is refused before anything runs" 'descriptor 0 is a Unix socket that could still reach'
inherit 's = socket.socket(socket.AF_UNIX)
s.bind("'"$T"'/listens")
s.listen()'
given "socket-inherited: one that listens connects to nothing" "connect $refused;abstract $refused"
inherit 's, t = socket.socketpair()
t.set_inheritable(True)'
given "socket-inherited: nor does one that is connected already" "connect $refused;abstract $refused"
is "socket-inherited: nobody came" "" "$(visitors)"
for kind in 'socket.AF_UNIX' 'socket.AF_UNIX, socket.SOCK_DGRAM' 'socket.AF_INET' 'socket.AF_INET6, socket.SOCK_DGRAM' 'socket.AF_NETLINK, socket.SOCK_RAW'; do
	"$PY" "$T/try.py" give "$kind" "$AJ" run -- true >"$T/out" 2>"$T/err"
	is "socket-inherited: without any folder, too: $kind" "2 1" "$? $(grep -c 'descriptor 0 is a .*socket' "$T/err")"
done
for options in '' "--bind $W:$W:rw"; do
	# shellcheck disable=SC2086 # several words, or none
	"$PY" "$T/try.py" tcp "$AJ" run $options >"$T/out" 2>"$T/err"
	given "socket-inherited: a connection of the host's network is not begun anew ($options)" "exit 2;nobody came"
done
"$PY" "$T/try.py" tcp "$AJ" run --network host >"$T/out" 2>"$T/err"
given "socket-inherited: with the host's network it stays what it was" "fetched;exit 0;came b'anew'"
"$PY" "$T/try.py" tcp "$AJ" exec -c '1' >"$T/out" 2>"$T/err"
given "socket-inherited: control: a snippet has no input" "1;exit 0;nobody came"

# --- nobody can listen ---
listened "$AJ" run --json --bind "$W:$W:rw" --bind "$T/try.py:/opt/try.py" -- "$PY" -B /opt/try.py datagrams "$W" >"$T/out" 2>"$T/err"
if grep -q 'no listener' "$T/err"; then
	skip "socket-without-listener: under another's listener" "$(tail -n 1 "$T/err")"
else
	check "socket-without-listener: under another's listener no socket can be made" expect violations_seen=false 'enforced.unix_sockets~^refused except for pairs' 'stderr~Address family not supported'
fi

# --- snippets ---
json "socket-snippet: no connect" 0 'value=EPERM' 'enforced.unix_sockets~^no socket that connects' -- exec --layer off -c 'import errno, socket
def f():
    try: socket.socket(socket.AF_UNIX)
    except OSError as e: return errno.errorcode[e.errno]
f()'
printf 'extends = "snippet"\n[filesystem]\nworkspace = "read-write"\n[python]\nlayer = false\n[process]\nexec = true\nfork = true\n' >"$T/exec.toml"
json "socket-snippet: nor under the list of commands" 0 'value=["EAFNOSUPPORT","EACCES","OK"]' 'enforced.unix_sockets~^refused except for pairs' -- exec --policy-file "$T/exec.toml" --workspace "$W" -c 'import errno, socket
def f(make, *kind):
    try: make(socket.AF_UNIX, *kind)
    except OSError as e: return errno.errorcode[e.errno]
    return "OK"
[f(socket.socket), f(socket.socketpair, socket.SOCK_DGRAM), f(socket.socketpair)]'

# --- while it is looked at, everything changes ---
# Both processors are busy for so many seconds: root's jails are raced for longer.
try race "$W" "$([ -n "$ROOT_TOO" ] && echo 1 || echo 4)"
says "socket-path-rw: races: all five were run" 'descriptor=.*folder=.*link=.*memory=.*names='
says "socket-path-rw: races: and connects were made" 'memory=OK'
rm -rf "$W/two" "$W/link" "$W/new" "$W/mine.sock"
try killed "$W" 100
given "socket-path-rw: callers that are killed in the middle" "after them $refused"
OPTIONS='--timeout 20s --json' try flood "$W" 2
check "socket-path-rw: a flood is refused and counted" expect status=ok 'stdout=refused True\n' violations.0.syscall=connect
OPTIONS=
is "socket-path-rw: and nobody came" "" "$(visitors)"

# --- the end ---
"$AJ" run --bind "$W:$W:rw" --bind "$T/try.py:/opt/try.py" -- "$PY" -B /opt/try.py waiting "$W" >"$T/out" 2>"$T/err" &
pid=$!
sleep 1
kill -9 $pid
wait $pid 2>/dev/null
check "socket-own: kill -9 of the supervisor leaves no process that connects" gone
kill $host
wait $host 2>/dev/null
finish
