#!/bin/sh
# Walls that only a policy asks for: masks, workspaces, denied groups of system calls, uid, required walls.
# Each test writes its policy, as lines of TOML; each denial has a control under a policy without it, and nothing outside $T changes.
. "$(dirname "$0")/../lib.sh"
ws=$T/ws

# `run` under a policy of these lines, or `exec --json`. A policy with a workspace shows $ws, or $WS, or none when that is empty.
# FILTER=NUMBER: below a filter under which that system call is unknown; FILTER=none: below one that allows all.
# OPTIONS: for agentjail.
jail() { # LINE... -- COMMAND..., or LINE... -c CODE
	local lines='' workspace='' command='run --' base=command
	while [ "$1" != -- ] && [ "$1" != -c ]; do
		lines="$lines$1
"
		case $1 in *filesystem.workspace*) workspace=${WS-$ws} ;; esac
		shift
	done
	if [ "$1" = -c ]; then command='exec --json' base=snippet; else shift; fi
	printf 'extends = "%s"\n%s' $base "$lines" >"$T/policy.toml"
	# shellcheck disable=SC2086
	set -- ${command%% *} ${OPTIONS:-} --policy-file "$T/policy.toml" ${workspace:+--workspace "$workspace"} ${command#* } "$@"
	if [ -n "${FILTER:-}" ]; then set -- "$PY" -I -S -c "$FILTERED" "$FILTER" "$AJ" "$@"; else set -- "$AJ" "$@"; fi
	timeout -k 5 60 "$@" >"$T/out" 2>"$T/err"
	rc=$?
}
FILTERED='
import ctypes, os, struct, sys
number = -1 if sys.argv[1] == "none" else int(sys.argv[1])
rows = (0x20, 0, 0, 0), (0x15, 0, 1, number & 0xffffffff), (6, 0, 0, 0x50026), (6, 0, 0, 0x7fff0000)  # load the number, compare, ENOSYS, allow
libc, code = ctypes.CDLL(None), ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in rows))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(rows), ctypes.addressof(code)))
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):
    sys.exit("no filter")
os.execv(sys.argv[2], sys.argv[2:])
'
# NAME EXIT REGEX ARGS...: exit code and, unless it is empty, a regex in the output.
under() {
	local name=$1 want=$2 regex=$3
	shift 3
	jail "$@"
	if [ "$rc" != "$want" ]; then fail "$name" "want exit $want: $(shown)"; elif [ -z "$regex" ]; then ok "$name"; else says "$name" "$regex"; fi
}

# --- a folder with secrets, which the jail's id could change throughout ---
fresh() {
	[ ! -d "$ws" ] || chmod -R u+rwX "$ws"
	rm -rf "$ws"
	mkdir -p "$ws/.git/hooks" "$ws/src/deep/er" "$ws/keys"
	echo hidden >"$ws/.env"
	echo hidden >"$ws/keys/a"
	echo hidden >"$ws/src/deep/er/key"
	echo plain >"$ws/src/main.c"
	ln -s .env "$ws/link"
	mkfifo "$ws/pipe"
	chmod -R a+rwX "$ws"
}
state() {
	(cd "$ws" && find . -printf '%p %y %m %l\n' | sort && cat .env keys/a src/deep/er/key src/main.c)
}
fresh
rw='filesystem.workspace = "read-write"'
ro='filesystem.workspace = "read-only"'

# --- workspaces ---
# shellcheck disable=SC2086
{
	under "a workspace is the working folder" 0 '^/workspace$' "$rw" -- sh -c 'pwd'
	under "and can be written" 0 '^made$' "$rw" -- sh -c 'echo made >new && cat new && chmod +x new'
	check "on the host too" grep -q made "$ws/new"
	under "commands in it can be executed" 0 '^ran$' "$rw" -- sh -c 'printf "#!/bin/sh\necho ran\n" >go && chmod +x go && ./go'
	under "read-only: it can be read" 0 '^plain$' "$ro" -- cat src/main.c
	under "read-only: nothing can be made" 1 'Read-only' "$ro" -- touch x
	under "read-only: nor changed" 1 'Read-only' "$ro" -- sh -c 'echo x >>src/main.c || exit 1'
	under "read-only: nor removed" 1 'Read-only' "$ro" -- rm src/main.c
	under "nosuid, nodev" 0 '^yes$' "$rw" -- sh -c 'grep " /workspace .*nosuid,nodev" /proc/self/mountinfo >/dev/null && echo yes'
	under "a snippet has one, too" 0 '"value":"plain\\n"' "$ro" 'python.layer = false' -c 'open("src/main.c").read()'
	under "a snippet can write in it" 0 '"value":"/workspace"' "$rw" 'python.layer = false' -c 'import os; open("s", "w").close(); os.getcwd()'
	under "a snippet with a read-only one cannot" 0 'Read-only' "$ro" 'python.layer = false' -c 'try: open("s", "w")
except OSError as e: print(e)'
	under "noexec for a snippet" 0 'Permission denied' "$rw" 'process.exec = true' 'python.layer = false' -c 'import os
try: os.execv("/workspace/go", ["go"])
except OSError as e: print(e)'
	WS='' under "a workspace that nobody named" 2 '--workspace' "$rw" -- true
	for mode in overlay copy; do
		under "$mode: writes reach no file of the host" 0 '^new$' "filesystem.workspace = \"$mode\"" -- sh -c 'echo new >src/main.c && cat src/main.c'
		is "$mode: the host's file is as it was" "plain" "$(cat "$ws/src/main.c")"
	done
	ln -s "$ws" "$T/wslink"
	WS=$T/wslink under "never through a symlink" 125 'symlink' "$rw" -- true
}
fresh
before=$(state)

# --- masks ---
m='filesystem.masks = ["/workspace/.env", "/workspace/keys", "/workspace/src/deep/er", "/workspace/pipe"]'
# shellcheck disable=SC2086
for base in "$rw" "$ro"; do
	case $base in *=rw*) how=rw ;; *) how=ro ;; esac
	under "control: without masks the secrets are there, $how" 0 hidden "$base" -- cat .env keys/a src/deep/er/key
	jail "$base" "$m" -- sh -c 'cat .env pipe keys/* src/deep/er/*; cat link; ls -A keys src/deep/er; for f in $(find / -xdev -name key -o -name a 2>/dev/null); do cat $f; done; grep -r hidden /workspace'
	silent "masks hide, $how" hidden
	under "a masked file is an empty file, $how" 0 '^regular empty file 444 0$' "$base" "$m" -- stat -c '%F %a %s' .env
	under "a masked folder is an empty folder, $how" 0 '^directory 555$' "$base" "$m" -- stat -c '%F %a' keys
	for try in 'echo x >.env' 'echo x >>link' 'rm -f .env' 'mv .env e' 'touch keys/x' 'rmdir keys' 'mv keys k' 'mkdir keys/d' 'ln .env hard' 'chmod 777 keys' \
		'chmod 666 .env' 'mv src s' 'mv src/deep src/d' 'mv src/deep/er src/deep/e' 'rm -rf src/deep' 'mv -T src keys' \
		'truncate -s 1 .env' 'cp src/main.c .env' 'ln -sf main.c .env && readlink .env'; do
		jail "$base" "$m" -- sh -c "$try"
		if [ "$rc" != 0 ]; then ok "masked, $how: $try"; else fail "masked, $how: $try" "$(shown)"; fi
		is "and the host's files are as before, $how: $try" "$(printf '%s\n' "$before" | grep -v main)" "$(state | grep -v main)"
		case $how in rw) fresh ;; esac
	done
done
fresh
# shellcheck disable=SC2086
{
	under "control: without masks a parent can be renamed" 0 '' "$rw" -- mv src s
	fresh
	under "beside a mask all works" 0 '^ok$' "$rw" "$m" -- sh -c 'mv src/main.c src/m.c && mkdir src/new && mv src/new src/newer && rmdir src/newer && touch .git/x && echo ok'
	fresh
	under "what does not exist, but could be made" 125 '/workspace/no.* does not exist' "$rw" 'filesystem.masks = ["/workspace/no"]' -- true
	says "and what helps" 'fix: .*read-only'
	under "deeper too" 125 '/workspace/src/no/no' "$rw" 'filesystem.masks = ["/workspace/src/no/no"]' -- true
	under "a file in place of a folder" 125 'does not exist' "$rw" 'filesystem.masks = ["/workspace/.env/x"]' -- true
	under "unless the mask may be missing" 0 '^$' "$rw" 'filesystem.masks = ["no:if-present", "src/no/no:if-present", ".env/x:if-present", ".env:if-present"]' -- sh -c 'cat .env; echo'
	under "present, it is held like any other" 1 'usy' "$rw" 'filesystem.masks = ["src/deep/er:if-present"]' -- mv src s
	under "relative to the workspace" 0 '^$' "$rw" 'filesystem.masks = [".env", "src/deep/er"]' -- sh -c 'cat .env; ls -A src/deep/er; echo'
	under "in /tmp as well" 125 '/tmp' 'filesystem.masks = ["/tmp/x"]' -- true
	under "what nobody can make needs no mask" 0 '' "$ro" 'filesystem.masks = ["/workspace/no", "/workspace/src/no/no", "/usr/no", "/no/no", "/proc/no"]' -- true
	under "control: and it is not there" 1 'No such file' "$ro" 'filesystem.masks = ["/workspace/no"]' -- cat no
	under "a symlink is an error" 125 'link.* is a symlink' "$rw" 'filesystem.masks = ["/workspace/link"]' -- true
	under "on the way, too" 125 'is a symlink' 'filesystem.masks = ["/proc/self/fd"]' -- true
	under "a file below /usr" 126 '' 'filesystem.masks = ["/usr/bin/env"]' -- env
	under "control: without" 0 '' -- env
	under "a folder below /usr" 0 '^0$' 'filesystem.masks = ["/usr/share"]' -- sh -c 'ls -A /usr/share | wc -l'
	under "/tmp itself" 2 'Read-only' 'filesystem.masks = ["/tmp"]' -- sh -c 'ls -A /tmp; echo x >/tmp/x || exit 2'
	OPTIONS="--bind $ws:/data:rw" under "a mask over a bind" 0 '^$' 'filesystem.masks = ["/data"]' -- sh -c 'ls -A /data; echo'
	silent "hides all of it" 'src|env'
	OPTIONS="--bind $ws/.env:/data/f:rw" under "a mask over a bind of a file" 0 '^0$' 'filesystem.masks = ["/data/f"]' -- stat -c %s /data/f
	OPTIONS="--bind $ws:/data/in:rw" under "a mask over the folder of a bind" 0 '^$' 'filesystem.masks = ["/data"]' -- sh -c 'ls -A /data; echo'
	under "a mask in a bind in a writable folder" 1 'busy|Busy' "filesystem.binds = [\"$ws:/tmp/x/y:rw\"]" 'filesystem.masks = ["/tmp/x/y/.env"]' -- mv /tmp/x /tmp/z
	under "masks in masks" 0 '^$' "$rw" 'filesystem.masks = ["/workspace/src/deep", "/workspace/src", "/workspace/src/deep/er", "/workspace/src"]' -- sh -c 'ls -A src; echo'
	under "two masks in one folder" 0 '^$' "$rw" 'filesystem.masks = ["/workspace/keys/a", "/workspace/src/main.c", "/workspace/src/deep/er/key"]' -- sh -c 'cat keys/a src/main.c src/deep/er/key; echo'
	silent "are both there" 'hidden|plain'
	FILTER=444 under "without Landlock it is the same" 1 'usy' "$rw" "$m" -- mv src s
	under "for a snippet" 0 '"value":\["",\[\],"OSError"\]' "$rw" "$m" 'python.layer = false' -c 'import os
def tried(f):
    try: return f()
    except OSError as e: return "OSError"
[open(".env").read(), os.listdir("keys"), tried(lambda: os.rename("src", "s"))]'
	under "under another id" 0 '^4321 0$' 'process.uid = 4321' "$rw" "$m" -- sh -c 'echo $(id -u) $(stat -c %s .env)'
}
is "control: the secrets are where they were" "$before" "$(state)"

# --- groups of system calls ---
calls() { # GROUP NUMBER...: EPERM with the group, another answer without
	group=$1
	shift
	case $group in fork) line='process.fork = false' ;; *) line="process.deny_syscalls = [\"$group\"]" ;; esac
	jail "filesystem.binds = [\"$PROBE:/opt/probe\"]" "$line" -- /opt/probe syscall "$@"
	if [ "$(grep -c ' EPERM$' "$T/out")" = $# ]; then ok "$group denied"; else fail "$group denied" "$(shown)"; fi
	jail "filesystem.binds = [\"$PROBE:/opt/probe\"]" -- /opt/probe syscall "$@"
	silent "control: $group" 'EPERM'
}
calls sockets 41:1:1 53:1:1 42 49 50:99 43:99 288:99 44:99 46:99 307:99 45:99 47:99 299:99
calls ipc 29:0:1 30:99 31 67 68:0 69:99 70:99 71:99 64:0 65:99 66:99 220:99 240 241 242:99 243:99 244:99 245:99
calls inotify 253 294 254:99 255:99
calls memfd 319
calls fork 57 58
THREAD='import threading
t = threading.Thread(target=lambda: print("thread")); t.start(); t.join()'
FORK='import os
p = os.fork()
if p == 0: os._exit(0)
os.waitpid(p, 0); print("forked")'
SPAWN='import os
os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0); print("spawned")'
under "threads denied" 1 "can't start new thread" 'process.deny_syscalls = ["threads"]' -- "$PY" -ISc "$THREAD"
under "control: threads" 0 '^thread$' 'process.fork = false' -- "$PY" -ISc "$THREAD"
under "fork denied" 1 PermissionError 'process.fork = false' -- "$PY" -ISc "$FORK"
under "control: fork" 0 '^forked$' 'process.deny_syscalls = ["threads"]' -- "$PY" -ISc "$FORK"
under "posix_spawn denied" 1 PermissionError 'process.fork = false' -- "$PY" -ISc "$SPAWN"
under "control: posix_spawn" 0 '^spawned$' -- "$PY" -ISc "$SPAWN"
under "without fork a shell cannot start anything" 2 'annot fork' 'process.fork = false' -- sh -c 'id; echo x'
under "but be replaced" 0 '^x$' 'process.fork = false' -- sh -c 'exec echo x'
all='process.fork = false
process.deny_syscalls = ["threads", "sockets", "ipc", "inotify", "memfd"]'
own=$(awk '/^Seccomp_filters:/ { print $2 }' /proc/self/status)
# shellcheck disable=SC2086
{
	under "all of them" 0 "^Seccomp_filters:.$((own + 1))$" "$all" -- grep Seccomp_filters: /proc/self/status
	under "none of them" 0 "^Seccomp_filters:.$((own + 1))$" -- grep Seccomp_filters: /proc/self/status
	under "a snippet under all of them" 0 '"value":2' "$all" -c '1 + 1'
	under "a snippet without threads" 1 '"status":"error".*start new thread' 'process.deny_syscalls = ["threads"]' 'python.layer = false' -c "$THREAD"
	under "control: a snippet has threads" 0 '"stdout":"thread' 'python.layer = false' -c "$THREAD"
}

# --- a snippet that may start programs; a command in the Python tree ---
under "the command's list for a snippet" 0 '"stdout":"forked' 'process.exec = true' 'process.fork = true' 'python.layer = false' -c "$FORK"
says "is said so" 'allow-list `command`'
under "without fork" 1 'PermissionError' 'process.exec = true' 'python.layer = false' -c "$FORK"
under "the control has neither" 1 'PermissionError' 'python.layer = false' -c "$FORK"
under "exec in a snippet" 1 '"stdout":"x' 'process.exec = true' 'python.layer = false' -c 'import os; os.execv("/usr/bin/python3", ["python3", "-c", "print(chr(120))"])'
under "a command in the Python tree" 0 '^1 agent$' 'filesystem.rootfs = "default"' -- /usr/bin/python3 -c 'import os, pwd; print(1, pwd.getpwuid(os.getuid()).pw_name)'
under "has nothing else in it" 127 '' 'filesystem.rootfs = "default"' -- sh -c true
under "a snippet in the host's tree" 2 'no runner' 'filesystem.rootfs = "host"' 'process.exec = true' -c 1
under "a command without exec" 2 'process.exec' 'process.exec = false' -- true

# --- a runner that leaves the filter out, or brings one of its own ---
runner_rootfs
lie() { # NAME EXIT REGEX
	echo "$1" >"$T/runner/tree/usr/evil"
	AGENTJAIL_ROOTFS=$T/runner under "a runner that is $1" "$2" "$3" 'process.deny_syscalls = ["sockets", "memfd"]' -c 'caps'
}
lie honest 0 '"status":"ok"'
lie one-more 125 'attest.*number'
lie unfiltered 125 'attest'

# --- where the supervisor is under a filter itself, as in most containers ---
FILTER=none under "its filters are inherited, and counted" 0 '"status":"ok"' 'process.deny_syscalls = ["memfd"]' -c '1 + 1'
FILTER=none under "control: there is one more" 0 "^Seccomp_filters:.$((own + 2))$" -- grep Seccomp_filters: /proc/self/status

# --- uid, variables, required walls ---
under "the policy's uid" 0 '^4321 4321 agent$' 'process.uid = 4321' -- sh -c 'echo $(id -u) $(id -g) $(id -un)'
under "the policy's variables" 0 '^b$' 'process.env = ["A=b"]' -- sh -c 'echo $A'
under "a snippet's" 0 '"value":"b"' 'process.env = ["A=b"]' 'python.layer = false' -c 'import os; os.environ["A"]'
under "Landlock required and there" 0 '' 'require.walls = ["landlock", "network"]' -- true
FILTER=444 under "Landlock required and not there" 125 'require.walls = "landlock"' 'require.walls = ["landlock"]' -- true
under "a network required, with the host's" 2 'require.walls asks for the network wall' 'require.walls = ["network"]' 'network.mode = "host"' -- true
under "the layer required and off" 2 'require.walls asks for the Python layer' 'require.walls = ["python-layer"]' 'python.layer = false' -c 1
under "the layer required of a command" 2 'no Python layer' 'require.walls = ["python-layer"]' -- true
under "the layer required and on" 0 '"value":1' 'require.walls = ["python-layer"]' -c 1
under "a network by names, required" 0 '' 'require.walls = ["network"]' 'network.mode = "allow"' 'network.allow = ["example.org:443"]' -- true

finish
