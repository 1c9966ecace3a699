# The harness of the shell tests: counters, one way to run agentjail, JSON expectations, and what must hold of the host.
# It holds no test, and it never changes the host outside the temporary folder $T that it makes and removes.
#
# A script is `. tests/lib.sh`, cases, `finish`. In it:
#   $ROOT_TOO             not empty: in the same run root has run this script, too, and so what no user id changes
#   $AJ $PROBE $ROOTFS    launcher, static probe, Python tree          $T         a folder of its own
#   aj ARGS...            runs the launcher under a time limit; leaves $rc, $T/out, $T/err
#   check NAME COMMAND... passes when COMMAND succeeds
#   counted NAME COMMAND...          COMMAND holds tests itself, and ends with their numbers
#   driver SCRIPT ARGS...            so does SCRIPT.py, which uses client.py
#   text NAME RC REGEX ARGS...       runs aj ARGS; exit code and (unless empty) a regex in its two outputs
#   json NAME RC EXPECT... -- ARGS...  the same with --json results: `path=value` (\n is a newline), `path~regex`, `path!regex`, `path<number`;
#                                    each result must also fit docs/reference/result.schema.json
#   field PATH            one field of the last result
#   probe ARGS... / runner ARGS...   the probe under `run`, or in place of Python under the filter of a snippet
#   says NAME REGEX / silent NAME REGEX   about the output of the last of these
#   await COMMAND...      until it succeeds, for a minute at most

set -u
umask 022
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin # where an ordinary user's PATH lacks HAProxy and its like

# A session and mounts of its own: whatever a run leaves behind is still to be recognised as ours.
read -r _ _ _ _ _ session _ </proc/$$/stat
[ "$session" = $$ ] || exec setsid -w sh "$0" "$@"
case $0 in */*) folder=${0%/*} ;; *) folder=. ;; esac
folder=$(cd "$folder" && pwd)
tests=${folder%/*}
[ -n "${AJ_APART+said}" ] || exec sh "$tests/apart.sh" sh "$0" "$@"
exec </dev/null
apart=$AJ_APART
unset AJ_APART

: "${AGENTJAIL:=$tests/../build/agentjail}" "${ROOT_TOO:=}"
AJ=$(readlink -f "$AGENTJAIL")
BUILD=${AJ%/*}
PROBE=$BUILD/probe
EXAMPLES=$tests/../docs/examples
if [ -z "${AGENTJAIL_ROOTFS:-}" ] && [ ! -e "$BUILD/rootfs/default" ]; then
	AGENTJAIL_ROOTFS=$tests/../build/rootfs/default
fi
ROOTFS=$(readlink -f "${AGENTJAIL_ROOTFS:-$BUILD/rootfs/default}")
# Which counts as an option: a launcher that finds the same tree beside itself is left alone.
if [ "$ROOTFS" -ef "$BUILD/rootfs/default" ]; then
	unset AGENTJAIL_ROOTFS
else
	export AGENTJAIL_ROOTFS="$ROOTFS"
fi
PY=/usr/bin/python3
[ -x $PY ] || PY=$(python3 -c 'import sys; print(sys.executable)')
self=${folder##*/}/$(basename "$0" .sh)

passed=0 failed=0 skipped=0
T=$(mktemp -d "${TMPDIR:-/tmp}/aj-test.XXXXXX") || exit 1
export XDG_STATE_HOME="$T/state" XDG_DATA_HOME="$T/data" # homes that are kept; environments
chmod 755 "$T" # root's jails run as another id and are to see what is bound from here
# Overlays leave folders that are closed to their owner, and Go's module cache is closed to changes.
trap 'end_canaries; rm -rf "$T" 2>/dev/null || { chmod -R u+rwx "$T"; rm -rf "$T"; }' EXIT
trap 'exit 130' INT TERM

ok() {
	passed=$((passed + 1))
	[ -z "${V:-}" ] || echo "  ok    $self: $1"
}
fail() {
	failed=$((failed + 1))
	printf '  FAIL  %s: %s%s\n' "$self" "$1" "${2:+: $2}" | head -c 4000
}
skip() {
	skipped=$((skipped + 1))
	printf '  SKIP  %s: %s: %s\n' "$self" "$1" "$2"
}
check() {
	local name=$1
	shift
	if "$@" >"$T/check" 2>&1; then ok "$name"; else fail "$name" "\`$*\` gave $?: $(head -c 600 "$T/check")"; fi
}
# A script that judges for itself: shows what it has to say, and adds up its last line, `N passed, N failed, N skipped`.
counted() { # NAME COMMAND...
	local name=$1
	shift
	"$@" >"$T/counted" 2>&1
	grep -a '^  ' "$T/counted" | cut -c1-900
	set -- $(tail -n 1 "$T/counted" | sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p')
	if [ $# = 3 ] && [ "$1$2$3" != 000 ]; then
		passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
	else
		fail "$name came to its end" "$(tail -c 1500 "$T/counted")"
	fi
}
# listened COMMAND...: the command below a listener of another: there can be no second one. `no listener` on stderr: none was to be had.
listened() {
	timeout 60 "$PY" -I -S - "$@" <<'EOF'
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
class prog(ctypes.Structure): _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
allow = ctypes.create_string_buffer(b"\x06\0\0\0\0\0\xff\x7f")
libc.prctl(38, 1, 0, 0, 0)
fd = libc.syscall(317, 1, 8, ctypes.byref(prog(1, ctypes.addressof(allow))))
if fd < 0:
    sys.exit("no listener: %d" % ctypes.get_errno())
os.set_inheritable(fd, True)
os.execv(sys.argv[1], sys.argv[1:])
EOF
}
is() { # NAME WANT GOT
	if [ "$2" = "$3" ]; then ok "$1"; else fail "$1" "\`$3\` in place of \`$2\`"; fi
}
# A script of Python with checks of its own, with a folder of its own (client.py): its numbers are added, and nothing is left of its jails.
driver() { # SCRIPT [ARGUMENT...]: below tests/, without .py
	local script=$1
	shift
	mkdir -m 755 "$T/${script##*/}"
	counted "$script" env PYTHONPATH="$tests" "$PY" -s -S -B "$tests/$script.py" "$AJ" "$T/${script##*/}" "$@"
	check "$script: nothing is left of it" gone
}

# Until COMMAND succeeds, or a minute is over: no check waits for less, since the machine may be busy.
await() {
	local tries=600
	until "$@" >/dev/null 2>&1; do
		[ $((tries -= 1)) -gt 0 ] || return 1
		sleep 0.1
	done
}
hash_of() { # of standard input
	sha256sum | cut -d' ' -f1
}

# --- running agentjail ---

aj() {
	timeout -k 5 "${LIMIT:-60}" "$AJ" "$@" >"$T/out" 2>"$T/err"
	rc=$?
	if grep -qF "$SECRET" "$T/out" "$T/err"; then fail "the secret is in the output of: $*"; fi
}
# The check with a jail that was made for it alone, also where the scripts run with jails from a zygote: a lasting jail has every module of
# its policy loaded, and /input, /output and open(), because a later request may bring files.
cold() { # CHECK...
	local AJ=${AGENTJAIL_COLD:-$AJ}
	"$@"
}
shown() {
	# On one line, or whoever looks for lines of failures would see half of it.
	printf 'exit %s, stdout `%s`, stderr `%s`' "$rc" "$(head -c 500 "$T/out" | tr -d '\000' | tr '\n' '|')" \
		"$(head -c 700 "$T/err" | tr -d '\000' | tr '\n' '|')"
}
text() {
	local name=$1 want=$2 regex=$3
	shift 3
	aj "$@"
	if [ "$rc" != "$want" ]; then
		fail "$name" "want exit $want: $(shown)"
	elif [ -n "$regex" ] && ! grep -qaE -e "$regex" "$T/out" "$T/err"; then
		fail "$name" "no \`$regex\`: $(shown)"
	else
		ok "$name"
	fi
}

# Compares the last result with expectations and says what differs, or prints one field of it. One process answers all questions of a
# script, because the start of a Python is what most of them would take; it leaves when $T is gone.
JUDGE='
import json, os, re, signal, sys
ask, answer, result = (sys.argv[1] + name for name in ("/ask", "/answer", "/out"))
sys.path.insert(0, sys.argv[2])
sys.dont_write_bytecode = True
from result_schema import is_result, problems
def at(value, path):
    for key in filter(None, path.split(".")):
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
def judge(verb, wants):
    try:
        with open(result, encoding="utf-8") as f:
            doc = json.load(f)
    except Exception as e:
        return "the result is no JSON object: %s" % e, ""
    if verb == "field":
        try:
            return "", at(doc, wants[0])
        except Exception as e:
            return "no field %s: %r" % (wants[0], e), ""
    bad = problems(doc) if is_result(doc) else []
    for want in wants:
        path, how, value = re.fullmatch(r"([\w.]*)([=~!<])(.*)", want, re.S).groups()
        try:
            got = at(doc, path)
        except (KeyError, IndexError, TypeError):
            got = "(absent)"
        good = {"=": lambda: got == value.replace("\\n", "\n"), "~": lambda: re.search(value, got), "!": lambda: not re.search(value, got),
                "<": lambda: float(got) < float(value)}[how]()
        if not good:
            bad.append("%s: got %.300s" % (path, got))
    return "; ".join(bad), ""
def look(*_):
    signal.alarm(5)
    if not os.path.exists(ask):
        os._exit(0)
signal.signal(signal.SIGALRM, look)
look()
while True:
    with open(ask, encoding="utf-8", errors="surrogateescape") as f:
        verb, *wants = f.read().split("\x1e")[:-1]
    try:
        bad, text = judge(verb, wants)
    except Exception as e:
        bad, text = "the test asks for nonsense: %r" % e, ""
    with open(answer, "w", encoding="utf-8", errors="surrogateescape") as f:
        f.write("%d\n%s%s\n" % (bool(bad), bad, text))
'
asked() { # VERB WORD...
	local bad line
	if [ ! -p "$T/ask" ]; then
		mkfifo "$T/answer" "$T/ask"
		# No child of this shell, which may wait for all of its own. Without the judge it would wait for an answer for ever.
		({
			"$PY" -I -S -c "$JUDGE" "$T" "$tests" 2>"$T/judge" && exit
			sed 's/^/  the judge: /' "$T/judge" >>"/proc/$$/fd/1"
			kill -- "-$$"
		} </dev/null >/dev/null 2>&1 &)
	fi
	printf '%s\036' "$@" >"$T/ask"
	{
		IFS= read -r bad
		while IFS= read -r line; do printf '%s\n' "$line"; done
	} <"$T/answer"
	return "$bad"
}
expect() {
	asked expect "$@"
}
field() {
	asked field "$1"
}
# The command word (exec or run) comes first among ARGS; --json is added after it.
json() {
	local name=$1 want=$2 count=0 index=0 wants command why word
	shift 2
	for word; do
		[ "$word" != -- ] || break
		count=$((count + 1))
	done
	wants=$count
	: >"$T/wants"
	for word; do # expectations may hold spaces: one a line, newlines are not needed in them
		[ $index -lt $wants ] || break
		printf '%s\n' "$word" >>"$T/wants"
		index=$((index + 1))
	done
	shift $((wants + 1))
	command=$1
	shift
	aj "$command" --json "$@"
	set --
	while IFS= read -r word; do set -- "$@" "$word"; done <"$T/wants"
	if ! why=$(expect "$@" 2>&1); then
		fail "$name" "$why: $(shown)"
	elif [ "$rc" != "$want" ]; then
		fail "$name" "want exit $want: $(shown)"
	else
		ok "$name"
	fi
}

# The probe under `run`. OPTIONS may hold options for agentjail.
probe() {
	# shellcheck disable=SC2086
	aj run ${OPTIONS:-} --bind "$PROBE:/opt/probe" -- /opt/probe "$@"
}
# The probe as the runner of a snippet, under the snippet's filter.
runner() {
	# shellcheck disable=SC2086
	aj exec ${OPTIONS:-} --rootfs "$T/runner" -c "$*"
}
runner_rootfs() {
	mkdir -p "$T/runner/tree/usr/bin"
	cp "$PROBE" "$T/runner/tree/usr/bin/python3"
	chmod -R a+rX "$T/runner"
}
# The control: the same verb without a jail.
bare() {
	timeout -k 5 60 "$PROBE" "$@" >"$T/out" 2>"$T/err"
	rc=$?
}
says() {
	if grep -qaE -e "$2" "$T/out" "$T/err"; then ok "$1"; else fail "$1" "no \`$2\`: $(shown)"; fi
}
silent() {
	if grep -qaE -e "$2" "$T/out" "$T/err"; then fail "$1" "there is \`$2\`: $(shown)"; else ok "$1"; fi
}

# System calls as this system's headers number them, `NUMBER NAME` a line. It fails without a compiler; CC may be several words.
call_numbers() {
	# shellcheck disable=SC2086
	printf '#include <sys/syscall.h>\n' | ${CC:-cc} -E -dM - 2>/dev/null | sed -n 's/^#define __NR_\([a-z0-9_]*\) \([0-9]*\)$/\2 \1/p' | grep .
}

# --- what must hold of the host ---

# Live processes of our jails: in a PID namespace below ours. Their init keeps the session of its caller, which is us. One without memory
# has ended: the first process of a namespace waits until somebody has waited for all others.
jailed() {
	cat /proc/[0-9]*/status 2>/dev/null | awk -v session=$$ '
		/^State:/ { zombie = $2 == "Z" || $2 == "X" }
		/^Pid:/ { pid = $2 }
		/^NSpid:/ { deep = NF > 2 }
		/^NSsid:/ { ours = $2 == session }
		/^VmSize:/ { if (deep && !zombie && ours) print pid }'
}
none_jailed() {
	[ -z "$(jailed)" ]
}
gone() { # all of them: what was killed takes its time to go on a busy machine; what was not has longer to live than this
	local pid
	! await none_jailed || return 0
	for pid in $(jailed); do
		echo "pid $pid survives: $(tr '\0' ' ' <"/proc/$pid/cmdline")"
	done
	return 1
}
# Other people's mounts come and go, too, unless ours are apart; without root a jail's are never the host's, so then the names do.
mounts() {
	cut -d' ' -f3- /proc/self/mountinfo | if [ -n "$apart" ]; then cat; else grep -F -e agentjail -e "$T"; fi | sort
}
# The mounts that are not as at the beginning. A mount that went with its mount point was another process's, of which our namespace had a copy.
other_mounts() {
	local line
	mounts | comm -3 "$T/mounts" - | while IFS= read -r line; do
		case $line in
		"	"*) echo "new: $line" ;;
		*) [ ! -e "$(echo "$line" | cut -d' ' -f3)" ] || echo "gone: $line" ;;
		esac
	done
}
cgroups() { # leaves of launchers that are no more
	find /sys/fs/cgroup -type d -name 'agentjail-[0-9]*' 2>/dev/null | while read -r dir; do
		pid=${dir##*/agentjail-}
		[ -d "/proc/${pid%%-*}" ] || echo "$dir"
	done
}
# The time of the last change of an inode is the kernel's: a file that was written to and put back has another. To hash the large files
# took more than all else that is done around a script's cases; the script's own files are small, and it may set their modes.
untouched() {
	stat -L -c '%n %i %s %a %u %y %z' "$AJ" "$PROBE" "$ROOTFS/manifest" "$ROOTFS/tree/usr/bin/python3" 2>&1
	sha256sum "$HOME/.ssh/id_rsa" "$T/canary" 2>&1
}

# Listens on TCP, UDP, a unix socket and an abstract one; writes down whoever comes.
CANARIES='
import os, select, socket, sys
folder, log = sys.argv[1], open(sys.argv[1] + "/visitors", "w", buffering=1)
tcp = socket.socket(); tcp.bind(("127.0.0.1", 0)); tcp.listen()
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); udp.bind(("127.0.0.1", 0))
path = socket.socket(socket.AF_UNIX); path.bind(folder + "/socket"); path.listen(); os.chmod(folder + "/socket", 0o777)
name = socket.socket(socket.AF_UNIX); name.bind("\0aj-canary-%d" % os.getpid()); name.listen()
with open(folder + "/ports.new", "w") as f:
    f.write("%d %d %d\n" % (tcp.getsockname()[1], udp.getsockname()[1], os.getpid()))
os.rename(folder + "/ports.new", folder + "/ports")
while True:
    for s in select.select([tcp, udp, path, name], [], [])[0]:
        if s is udp:
            s.recv(100)
        else:
            s.accept()[0].close()
        log.write({tcp: "tcp", udp: "udp", path: "path", name: "name"}[s] + "\n")
'
start_canaries() {
	"$PY" -I -S -c "$CANARIES" "$T" &
	await test -e "$T/ports"
	read -r TCP UDP CANARY <"$T/ports"
	export TCP UDP CANARY
}
end_canaries() {
	[ -z "${CANARY:-}" ] || kill "$CANARY" 2>/dev/null
	CANARY=
}

# --- beginning and end of a script ---

SECRET=aj-secret-$$-$(od -An -N8 -tx8 /dev/urandom | tr -d ' ')
HOME=$T/home
mkdir -p "$HOME/.ssh" "$T/tmp"
echo "$SECRET" >"$HOME/.ssh/id_rsa"
echo "$SECRET" >"$T/canary"
# The machine's own settings for networks would be passed, each with a line.
unset SSL_CERT_FILE NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE CURL_CA_BUNDLE PIP_CERT GIT_SSL_CAINFO CARGO_HTTP_CAINFO NPM_CONFIG_CAFILE AWS_CA_BUNDLE PIP_INDEX_URL \
	PIP_EXTRA_INDEX_URL PIP_TRUSTED_HOST UV_INDEX_URL UV_DEFAULT_INDEX UV_EXTRA_INDEX_URL NPM_CONFIG_REGISTRY npm_config_registry YARN_REGISTRY GOPROXY GONOPROXY GOSUMDB GONOSUMDB GOPRIVATE
export HOME TMPDIR="$T/tmp" AJ_CANARY_SECRET="$SECRET" SSH_AUTH_SOCK="$T/socket"
mounts >"$T/mounts"
files_before=$(untouched)

# The first call of a script: without jails nothing else makes sense.
aj run -- true
if [ "$rc" != 0 ]; then
	if [ "${AGENTJAIL_MUST_WORK:-0}" = 1 ]; then fail "a jail can be made here" "$(shown)"; else skip "everything" "no jail can be made here: $(shown)"; fi
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" = 0 ]
	exit
fi

finish() {
	check "no process is left" gone
	is "no mount is left" "" "$(other_mounts)"
	is "no cgroup is left" "" "$(cgroups)"
	is "no temporary file is left" "" "$(ls -A "$T/tmp")"
	is "launcher, tree and canary files are as before" "$files_before" "$(untouched)"
	if [ -n "${CANARY:-}" ]; then
		is "nobody came to the canary sockets" "" "$(cat "$T/visitors")"
		"$PROBE" tcp 127.0.0.1 "$TCP" >/dev/null
		"$PROBE" udp 127.0.0.1 "$UDP" >/dev/null
		"$PROBE" unix "$T/socket" "@aj-canary-$CANARY" >/dev/null
		await sh -c "test \$(wc -l <'$T/visitors') -ge 4"
		is "control: the canaries notice a visitor" "name path tcp udp" "$(sort "$T/visitors" | tr '\n' ' ' | sed 's/ $//')"
	fi
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" = 0 ]
	exit
}
