#!/bin/sh
# Walls that only a policy asks for: masks, workspaces, denied groups of system calls, uid, required walls.
# build/jail spells the policy out; each denial has a control under a policy without it, and nothing outside $T changes.
. "$(dirname "$0")/../lib.sh"
JAIL=$(dirname "$AJ")/jail
export AGENTJAIL_ROOTFS="$ROOTFS" # it knows no other way to a tree
[ -x "$JAIL" ] || { fail "build/jail is there" "make build/jail"; finish; }

jail() { # FIELD=VALUE... -- COMMAND...
	timeout -k 5 60 "$JAIL" "$@" >"$T/out" 2>"$T/err"
	rc=$?
}
# NAME EXIT REGEX ARGS...: exit code and, unless it is empty, a regex in the output.
under() {
	local name=$1 want=$2 regex=$3
	shift 3
	jail "$@"
	if [ "$rc" != "$want" ]; then fail "$name" "want exit $want: $(shown)"; elif [ -z "$regex" ]; then ok "$name"; else says "$name" "$regex"; fi
}

# --- a folder with secrets, which the jail's id could change throughout ---
ws=$T/ws
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
rw="workspace=rw request.workspace=$ws"
ro="workspace=ro request.workspace=$ws"

# --- workspaces ---
# shellcheck disable=SC2086
{
	under "a workspace is the working folder" 0 '^/workspace$' $rw -- sh -c 'pwd'
	under "and can be written" 0 '^made$' $rw -- sh -c 'echo made >new && cat new && chmod +x new'
	check "on the host too" grep -q made "$ws/new"
	under "commands in it can be executed" 0 '^ran$' $rw -- sh -c 'printf "#!/bin/sh\necho ran\n" >go && chmod +x go && ./go'
	under "read-only: it can be read" 0 '^plain$' $ro -- cat src/main.c
	under "read-only: nothing can be made" 1 'Read-only' $ro -- touch x
	under "read-only: nor changed" 1 'Read-only' $ro -- sh -c 'echo x >>src/main.c || exit 1'
	under "read-only: nor removed" 1 'Read-only' $ro -- rm src/main.c
	under "nosuid, nodev" 0 '^yes$' $rw -- sh -c 'grep " /workspace .*nosuid,nodev" /proc/self/mountinfo >/dev/null && echo yes'
	under "a snippet has one, too" 0 '"value":"plain\\n"' $ro layer=off -c 'open("src/main.c").read()'
	under "a snippet can write in it" 0 '"value":"/workspace"' $rw layer=off -c 'import os; open("s", "w").close(); os.getcwd()'
	under "a snippet with a read-only one cannot" 0 'Read-only' $ro layer=off -c 'try: open("s", "w")
except OSError as e: print(e)'
	under "noexec for a snippet" 0 'Permission denied' $rw exec=on layer=off -c 'import os
try: os.execv("/workspace/go", ["go"])
except OSError as e: print(e)'
	under "a workspace that nobody named" 2 '--workspace' workspace=rw -- true
	under "an overlay is not built" 125 'not built yet' workspace=overlay "request.workspace=$ws" -- true
	ln -s "$ws" "$T/wslink"
	under "never through a symlink" 125 'symlink' workspace=rw "request.workspace=$T/wslink" -- true
}
fresh
before=$(state)

# --- masks ---
m="mask=/workspace/.env mask=/workspace/keys mask=/workspace/src/deep/er mask=/workspace/pipe"
# shellcheck disable=SC2086
for base in "$rw" "$ro"; do
	case $base in *=rw*) how=rw ;; *) how=ro ;; esac
	under "control: without masks the secrets are there, $how" 0 hidden $base -- cat .env keys/a src/deep/er/key
	jail $base $m -- sh -c 'cat .env pipe keys/* src/deep/er/*; cat link; ls -A keys src/deep/er; for f in $(find / -xdev -name key -o -name a 2>/dev/null); do cat $f; done; grep -r hidden /workspace'
	silent "masks hide, $how" hidden
	under "a masked file is an empty file, $how" 0 '^regular empty file 444 0$' $base $m -- stat -c '%F %a %s' .env
	under "a masked folder is an empty folder, $how" 0 '^directory 555$' $base $m -- stat -c '%F %a' keys
	for try in 'echo x >.env' 'echo x >>link' 'rm -f .env' 'mv .env e' 'touch keys/x' 'rmdir keys' 'mv keys k' 'mkdir keys/d' 'ln .env hard' 'chmod 777 keys' \
		'chmod 666 .env' 'mv src s' 'mv src/deep src/d' 'mv src/deep/er src/deep/e' 'rm -rf src/deep' 'mv -T src keys' \
		'truncate -s 1 .env' 'cp src/main.c .env' 'ln -sf main.c .env && readlink .env'; do
		jail $base $m -- sh -c "$try"
		if [ "$rc" != 0 ]; then ok "masked, $how: $try"; else fail "masked, $how: $try" "$(shown)"; fi
		is "and the host's files are as before, $how: $try" "$(printf '%s\n' "$before" | grep -v main)" "$(state | grep -v main)"
		case $how in rw) fresh ;; esac
	done
done
fresh
# shellcheck disable=SC2086
{
	under "control: without masks a parent can be renamed" 0 '' $rw -- mv src s
	fresh
	under "beside a mask all works" 0 '^ok$' $rw $m -- sh -c 'mv src/main.c src/m.c && mkdir src/new && mv src/new src/newer && rmdir src/newer && touch .git/x && echo ok'
	fresh
	under "what does not exist, but could be made" 125 '/workspace/no.* does not exist' $rw mask=/workspace/no -- true
	says "and what helps" 'fix: .*read-only'
	under "deeper too" 125 '/workspace/src/no/no' $rw mask=/workspace/src/no/no -- true
	under "a file in place of a folder" 125 'does not exist' $rw mask=/workspace/.env/x -- true
	under "unless the mask may be missing" 0 '^$' $rw mask=no:if-present mask=src/no/no:if-present mask=.env/x:if-present mask=.env:if-present -- sh -c 'cat .env; echo'
	under "present, it is held like any other" 1 'usy' $rw mask=src/deep/er:if-present -- mv src s
	under "relative to the workspace" 0 '^$' $rw mask=.env mask=src/deep/er -- sh -c 'cat .env; ls -A src/deep/er; echo'
	under "in /tmp as well" 125 '/tmp' mask=/tmp/x -- true
	under "what nobody can make needs no mask" 0 '' $ro mask=/workspace/no mask=/workspace/src/no/no mask=/usr/no mask=/no/no mask=/proc/no -- true
	under "control: and it is not there" 1 'No such file' $ro mask=/workspace/no -- cat no
	under "a symlink is an error" 125 'link.* is a symlink' $rw mask=/workspace/link -- true
	under "on the way, too" 125 'is a symlink' mask=/proc/self/fd -- true
	under "a file below /usr" 126 '' mask=/usr/bin/env -- env
	under "control: without" 0 '' -- env
	under "a folder below /usr" 0 '^0$' mask=/usr/share -- sh -c 'ls -A /usr/share | wc -l'
	under "/tmp itself" 2 'Read-only' mask=/tmp -- sh -c 'ls -A /tmp; echo x >/tmp/x || exit 2'
	under "a mask over a bind" 0 '^$' "bind=$ws:/data:rw" mask=/data -- sh -c 'ls -A /data; echo'
	silent "hides all of it" 'src|env'
	under "a mask over a bind of a file" 0 '^0$' "bind=$ws/.env:/data/f:rw" mask=/data/f -- stat -c %s /data/f
	under "a mask over the folder of a bind" 0 '^$' "bind=$ws:/data/in:rw" mask=/data -- sh -c 'ls -A /data; echo'
	under "a mask in a bind in a writable folder" 1 'busy|Busy' "bind=$ws:/tmp/x/y:rw" mask=/tmp/x/y/.env -- mv /tmp/x /tmp/z
	under "masks in masks" 0 '^$' $rw mask=/workspace/src/deep mask=/workspace/src mask=/workspace/src/deep/er mask=/workspace/src -- sh -c 'ls -A src; echo'
	under "two masks in one folder" 0 '^$' $rw mask=/workspace/keys/a mask=/workspace/src/main.c mask=/workspace/src/deep/er/key -- sh -c 'cat keys/a src/main.c src/deep/er/key; echo'
	silent "are both there" 'hidden|plain'
	under "without Landlock it is the same" 1 'usy' $rw $m host.landlock=off -- mv src s
	under "for a snippet" 0 '"value":\["",\[\],"OSError"\]' $rw $m layer=off -c 'import os
def tried(f):
    try: return f()
    except OSError as e: return "OSError"
[open(".env").read(), os.listdir("keys"), tried(lambda: os.rename("src", "s"))]'
	under "under another id" 0 '^4321 0$' uid=4321 $rw $m -- sh -c 'echo $(id -u) $(stat -c %s .env)'
}
is "control: the secrets are where they were" "$before" "$(state)"

# --- groups of system calls ---
calls() { # GROUP NUMBER...: EPERM with the group, another answer without
	group=$1
	shift
	jail "bind=$PROBE:/opt/probe" "deny=$group" -- /opt/probe syscall "$@"
	if [ "$(grep -c ' EPERM$' "$T/out")" = $# ]; then ok "$group denied"; else fail "$group denied" "$(shown)"; fi
	jail "bind=$PROBE:/opt/probe" -- /opt/probe syscall "$@"
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
for exe in "$PY"; do
	under "threads denied" 1 "can't start new thread" deny=threads -- "$exe" -ISc "$THREAD"
	under "control: threads" 0 '^thread$' deny=fork -- "$exe" -ISc "$THREAD"
	under "fork denied" 1 PermissionError fork=off -- "$exe" -ISc "$FORK"
	under "control: fork" 0 '^forked$' deny=threads -- "$exe" -ISc "$FORK"
	under "posix_spawn denied" 1 PermissionError fork=off -- "$exe" -ISc "$SPAWN"
	under "control: posix_spawn" 0 '^spawned$' -- "$exe" -ISc "$SPAWN"
	under "without fork a shell cannot start anything" 2 'annot fork' fork=off -- sh -c 'id; echo x'
	under "but be replaced" 0 '^x$' fork=off -- sh -c 'exec echo x'
done
all='deny=threads deny=sockets deny=ipc deny=inotify deny=memfd deny=fork'
own=$(awk '/^Seccomp_filters:/ { print $2 }' /proc/self/status)
# shellcheck disable=SC2086
{
	under "all of them" 0 "^Seccomp_filters:.$((own + 1))$" $all -- grep Seccomp_filters: /proc/self/status
	under "none of them" 0 "^Seccomp_filters:.$((own + 1))$" -- grep Seccomp_filters: /proc/self/status
	under "a snippet under all of them" 0 '"value":2' $all -c '1 + 1'
	under "a snippet without threads" 1 '"status":"error".*start new thread' deny=threads layer=off -c "$THREAD"
	under "control: a snippet has threads" 0 '"stdout":"thread' layer=off -c "$THREAD"
}

# --- a snippet that may start programs; a command in the Python tree ---
under "the command's list for a snippet" 0 '"stdout":"forked' exec=on fork=on layer=off -c "$FORK"
says "is said so" 'allow-list `command`'
under "without fork" 1 'PermissionError' exec=on layer=off -c "$FORK"
under "the control has neither" 1 'PermissionError' layer=off -c "$FORK"
under "exec in a snippet" 1 '"stdout":"x' exec=on layer=off -c 'import os; os.execv("/usr/bin/python3", ["python3", "-c", "print(chr(120))"])'
under "a command in the Python tree" 0 '^1 agent$' rootfs=default -- /usr/bin/python3 -c 'import os, pwd; print(1, pwd.getpwuid(os.getuid()).pw_name)'
under "has nothing else in it" 127 '' rootfs=default -- sh -c true
under "a snippet in the host's tree" 2 'no runner' rootfs=host -c 1
under "a command without exec" 2 'process.exec' exec=off -- true

# --- a runner that leaves the filter out, or brings one of its own ---
runner_rootfs
lie() { # NAME EXIT REGEX
	echo "$1" >"$T/runner/tree/usr/evil"
	AGENTJAIL_ROOTFS=$T/runner under "a runner that is $1" "$2" "$3" deny=sockets deny=memfd -c 'caps'
}
lie honest 0 '"status":"ok"'
lie one-more 125 'attest.*number'
lie unfiltered 125 'attest'

# --- where the supervisor is under a filter itself, as in most containers ---
FILTERED='
import ctypes, os, struct, sys
libc, allow = ctypes.CDLL(None), ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7fff0000))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 1, ctypes.addressof(allow)))
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):
    sys.exit("no filter")
os.execv(sys.argv[1], sys.argv[1:])
'
timeout -k 5 60 "$PY" -I -S -c "$FILTERED" "$JAIL" deny=memfd -c '1 + 1' >"$T/out" 2>"$T/err"
rc=$?
says "its filters are inherited, and counted" '"status":"ok"'
timeout -k 5 60 "$PY" -I -S -c "$FILTERED" "$JAIL" -- grep Seccomp_filters: /proc/self/status >"$T/out" 2>"$T/err"
says "control: there is one more" "^Seccomp_filters:.$((own + 2))$"

# --- uid, variables, required walls, what is not built ---
under "the policy's uid" 0 '^4321 4321 agent$' uid=4321 -- sh -c 'echo $(id -u) $(id -g) $(id -un)'
under "the policy's variables" 0 '^b$' env=A=a env=A=b -- sh -c 'echo $A'
under "a snippet's" 0 '"value":"b"' env=A=b layer=off -c 'import os; os.environ["A"]'
under "Landlock required and there" 0 '' require=landlock require=network -- true
under "Landlock required and not there" 125 'require.walls = "landlock"' require=landlock host.landlock=off -- true
under "a network required, with the host's" 2 'require.walls = "network"' require=network network=host -- true
under "the layer required and off" 2 'require.walls = "python-layer"' require=python-layer layer=off -c 1
under "the layer required of a command" 2 'no Python layer' require=python-layer -- true
under "the layer required and on" 0 '"value":1' require=python-layer -c 1
under "a network by names is not built" 125 'network.mode = "allow" is not built' network=allow -- true
under "a plan for looking at is never run" 125 'looking' request.inspect=on -- true

finish
