#!/bin/sh
# Attacks on the kernel's walls by a static probe, as a command and under the filter of a snippet, with controls outside.
# Whatever could hurt the host is tried in jails only; the probe itself refuses those verbs elsewhere.
. "$(dirname "$0")/../lib.sh"
runner_rootfs
start_canaries

NO='E(PERM|NOSYS|ACCES|ROFS|OPNOTSUPP)' # the answers of a wall
# Every line of the output must match.
every() { # NAME REGEX
	if [ -s "$T/out" ] && ! grep -vqaE -e "$2" "$T/out"; then ok "$1"; else fail "$1" "not all \`$2\`: $(shown)"; fi
}

# --- K10, K74: the first instruction finds every wall up ---
probe caps
for line in 'effective=0{16} permitted=0{16} inheritable=0{16} bounding=0 ambient=0' 'no_new_privs=1 seccomp=2' 'CapBnd:.0{16}$' 'NoNewPrivs:.1$' 'Seccomp:.2$' \
	'Uid:.1000.1000.1000.1000$' 'Groups:.1000 *$|Groups:.*$'; do says "K10 $line" "$line"; done
bare caps
says "control: outside the bounding set is not empty" 'bounding=[1-9]'
OPTIONS='--timeout 20s' runner ids
says "K10 a snippet is an ordinary user" 'uid=1000 '

# --- K01: ids ---
probe cat /proc/self/uid_map /proc/self/gid_map /proc/self/setgroups
says "K01 one id is mapped" '^ *1000 +[0-9]+ +1$'
silent "K01 host root is not behind it" '^ *[0-9]+ +0 +'
says "K01 setgroups is denied" '^deny$'
probe syscall 105:0 106:0 117:0:0:0 116:0:0 114:0:0
every "K01 no other id, no groups" "E(INVAL|PERM)$"

# --- K02, K03, K04: namespaces ---
for where in probe runner; do
	$where clone-flags
	silent "K02 no new namespace, $where" '^(clone|unshare) (user|mount|net|pid|ipc|uts|cgroup|high) OK'
	$where syscall 435:0:0
	every "K03 clone3 does not exist, $where" 'ENOSYS$'
done
probe clone-flags
says "control: a plain child in the same jail" '^clone plain OK'
runner clone-flags
says "K04 a snippet has no child at all" "^clone plain $NO"
probe cat /proc/sys/user/max_user_namespaces
says "K02 the second lock" '^0$'
bare clone-flags
says "control: outside there is a new user namespace" '^(clone|unshare) user OK'
bare syscall 435:0:0
says "control: outside clone3 exists" 'EINVAL'

# --- lists of calls: every one refused, in both filters ---
calls() { # NAME NUMBER...: refused as a command and as a snippet
	what=$1
	shift
	probe syscall "$@"
	every "$what, run" "$NO\$"
	runner syscall "$@"
	every "$what, snippet" "$NO\$"
}
calls "K05 mounts" 165 166 155 428 429 430 431 432 433 442 467 161
calls "K09 files by handle" 303 304
calls "K15 other processes" 310 311 312 438
calls "K39 io_uring" 425 426 427
calls "K40 keyrings" 248 249 250
calls "K41 userfaultfd" 323
calls "K43 the host's control" 246 320 175 313 176 172:3 173:0:3:1 167 168 163 164 227 159 305 103 179 212 153 180 154 170 171
calls "K44 and the rest" 300 256 279 237 238 440 447 321 298 308 272:0x10000000 134 139 156 174 177 178
runner syscall 57 58 59 322 56:17 41:1:1 41:2:1 42 49 50 43 288 302 160 157 319 317 135 105 106 117 119 90 91 92 94 88 133 259 29 101 434 424 253 294 62:99999
silent "a snippet has no fork, exec, socket, limits, ids, modes" '^(57|58|59|322|56:17|41:1:1|41:2:1|42|49|50|43|288|302|160|157|319|317|135|105|106|117|119|90|91|92|94|88|133|259|29|101|434|424|253|294) '"(OK|E(INVAL|FAULT|BADF|AFNOSUPPORT|NOENT|CHILD|AGAIN|SRCH|NOTSOCK))"
bare syscall 250:0 428 272:0 135:0xffffffff
says "control: outside keyrings answer" '^250:0 (OK|ENOKEY|EINVAL)'
says "control: outside open_tree is there" '^428 EFAULT'
says "control: outside unshare is there" '^272:0 OK'
probe trace 1
every "K15 no tracing" "$NO\$"
printf 'extends = "command"\n[process]\nptrace = true\n' >"$T/traced.toml"
chmod 644 "$T/traced.toml"
traced() { OPTIONS="--policy-file $T/traced.toml" probe "$@"; }
traced trace 1
says "K15 where the policy allows tracing: a child's" '^traceme OK'
silent "K15 but not the jail's init" '^(attach|seize|readv|writev|kcmp|pidfd_getfd) OK'
traced tracer 272 0x10000000
says "K15 a tracer's call is made" '^setregs OK'
says "K15 and meets the filter all the same" '^call EPERM'
says "K15 the filter is not suspended" '^suspend EPERM'
says "K15 nor by a request that old kernels did not check" '^seize EPERM'
probe tracer 272 0x10000000
silent "control: without the key nothing is traced" '^(options|setregs) OK'
bare tracer 39 0
says "control: outside it works" '^call OK'
sleep 60 &
bare trace $! # attaching stops it, so it is nobody else
kill -KILL $!
# Traced, it stops, which its parent takes for its end: it continues to write where the next one's output will be.
await grep -q '^pidfd_getfd' "$T/out"
says "control: outside a process may be traced" 'traceme OK'
probe handle
every "K09 handles" "$NO\$"
bare handle
says "control: outside a handle is given" 'name_to_handle_at OK'
probe kill-init
says "K15 init outlives the signals of its jail" 'end-init (OK|EPERM)'
is "and the run continues" 0 "$rc"
runner kill-init
says "also for a snippet" 'end-init (OK|EPERM)'
is "whose run continues too" 0 "$rc"

# --- K45: other doors ---
for where in probe runner; do
	for door in x32 int80; do
		$where $door 165
		if [ $where = probe ]; then says "K45 $door ends the process" "$door 165 SIGSYS"; else is "K45 $door ends the snippet" 159 "$rc"; fi
	done
done
json "K45 and the result of a snippet names the cause" 159 status=signal 'reason~SIGSYS.*another architecture .i386' -- exec --rootfs "$T/runner" -c 'x32 165'
printf 'extends = "command"\nprocess.fork = false\n' >"$T/single.toml"
json "K45 and that of a command" 159 status=signal 'reason~SIGSYS.*another architecture .i386' -- run --policy-file "$T/single.toml" \
	--bind "$PROBE:/opt/probe" -- /opt/probe int80 20
probe x32 0 1 59 101 520 521
every "K45 x32, the harmless ones too" SIGSYS
bare int80 20
if grep -q 'int80 20 OK' "$T/out"; then ok "control: outside int80 answers"; else skip "control: outside int80 answers" "this kernel has no 32-bit calls"; fi

# --- K47, K49, K50: arguments ---
for where in probe runner; do
	$where ioctl 0x5412 0x100005412 0x541c 0x8000000000005412 0x541d 0x5423
	every "K47 no typing into a terminal, $where" 'EIO$|ENOTTY$'
done
bare ioctl 0x5412
says "control: outside the kernel itself answers" 'ENOTTY|EIO|OK'
probe syscall 135:0x100000 135:0x400000 135:0x100400000 135:0x440000
every "K49 no other personality" "$NO\$"
probe syscall 135:0x40000 135:8 135:0x20008 135:0
every "K49 but the addresses of its own programs, and another name of the machine" 'OK$'
probe syscall 135:0xffffffff
says "K49 the query works" 'OK$'
bare syscall 135:0x40000
says "control: outside it can be changed" 'OK$'
probe prctl 4:2 35:1 47:2 28:1 24:0 59:1 53:0:2 0x100000023:1 67:1
every "K50 prctl" "$NO\$|EINVAL\$"
probe prctl 4:0 4:1 8:1 26:1 41:1 42 47:4 1:9 38:1
every "control: harmless ones work" 'OK$'
bare prctl 4:1
says "control: outside dumpable can be set" 'OK$'
# What gives up rights, and what programs ask to see which kernel there is.
probe caps
says "capabilities may be given up, where there are none" 'given-up=OK'
aj run -- sh -ec 'ulimit -c 0; ulimit -n 100; setarch -R true; setarch linux32 true; ionice -c3 true; nice true; chrt --batch 0 true; echo fine'
says "limits, addresses, priorities: less is allowed" '^fine$'
is "and nothing is reported" "" "$(cat "$T/err")"
if command -v cc >/dev/null && printf 'int main(void) { return !__builtin_malloc(77); }' | cc -x c -fsanitize=address -o "$T/asan" - 2>/dev/null &&
	printf 'int main(void) { return 0; }' | cc -x c -fsanitize=thread -o "$T/tsan" - 2>/dev/null; then
	chmod 755 "$T/asan" "$T/tsan"
	aj run --bind "$T:/opt/t" --env ASAN_OPTIONS=detect_leaks=0 -- sh -ec '/opt/t/asan; /opt/t/tsan; echo fine'
	says "sanitizers run" '^fine$'
	aj run --bind "$T:/opt/t" -- /opt/t/asan
	says "LeakSanitizer: the fix is named" 'detect_leaks=0'
	aj run --policy-file "$T/traced.toml" --bind "$T:/opt/t" -- sh -c '/opt/t/asan; flock /tmp true && echo locked'
	says "LeakSanitizer finds a leak where tracing is allowed" '77 byte.s. leaked'
	says "and locks go on" '^locked$'
else
	skip "sanitizers" "the compiler has none"
fi
if command -v strace >/dev/null && command -v gdb >/dev/null; then
	aj run --policy-file "$T/traced.toml" -- sh -ec 'strace -fo /tmp/calls sh -c "ls / >/dev/null"; grep -q "execve.*bin/ls" /tmp/calls && echo traced; gdb -nx -batch -ex starti -ex "info registers rip" true'
	says "strace follows a program" '^traced$'
	says "gdb stops one" '^rip '
else
	skip "gdb and strace" "one of them is not installed"
fi
runner prctl 15:0 4:0 38:1
every "K50 a snippet has none" "$NO\$"
runner mmap-exec
every "no new executable memory in a snippet" "$NO\$"
probe mmap-exec
says "control: a command may have it" 'mprotect OK'

# --- K51: sockets: FAMILY:TYPE:PROTOCOL ---
families='40:1 17:3:0 17:2:0 38:5 44:3 30:1 31:3:1 29:3:1 21:5 41:2 43:1 16:3:12 16:3:9 4:2 5:2 10:3:58 2:3:1 2:3:255 45:1 0x100000028:1 0x100000011:3'
REFUSED='E(PERM|NOSYS|ACCES|AFNOSUPPORT|PROTONOSUPPORT|SOCKTNOSUPPORT)$'
for network in none loopback; do
	# shellcheck disable=SC2086
	OPTIONS="--network $network" probe socket $families
	every "K51 sockets, network $network" "$REFUSED"
done
probe socket 2:1 2:2 10:1 10:2 16:3:0
every "K51 no internet socket without a network" "$REFUSED"
# shellcheck disable=SC2086
runner socket 1:1 2:1 10:1 16:3:0 $families
every "K51 no socket at all in a snippet" "$REFUSED"
OPTIONS='--network loopback' probe socket 2:1 10:1 1:1 16:3:0
every "control: with loopback they open" 'OK$'
bare socket 16:3:9
says "control: outside an audit or netlink socket answers otherwise" 'OK|EPROTONOSUPPORT|EPERM'

# --- K61: host services ---
probe unix /run/docker.sock /var/run/docker.sock /run/containerd/containerd.sock /run/dbus/system_bus_socket "$T/socket" /tmp/.X11-unix/X0 "/run/user/$(id -u)/bus"
every "K61 no service of the host by path" 'ENOENT|ECONNREFUSED'
probe unix "@aj-canary-$CANARY"
every "K61 nor by abstract name" 'ECONNREFUSED|EPERM'
probe tcp 127.0.0.1 "$TCP"
every "no TCP to the host" 'E(AFNOSUPPORT|NETUNREACH|PERM|ACCES|NOSYS)$'
probe udp 127.0.0.1 "$UDP"
every "no UDP to the host" 'E(AFNOSUPPORT|NETUNREACH|PERM|ACCES|NOSYS)$'
OPTIONS='--network loopback' probe udp 127.0.0.1 "$UDP"
OPTIONS='--network loopback' probe tcp 127.0.0.1 "$TCP"
every "loopback is another loopback" 'OK|ECONNREFUSED'
if "$AJ" doctor | grep -qE 'landlock +ABI ([6-9]|[1-9][0-9])'; then
	OPTIONS='--network host' probe unix "@aj-canary-$CANARY"
	every "K61 with the host's network, Landlock still keeps its abstract sockets" 'EPERM'
else
	skip "K61 abstract sockets with the host's network" "Landlock here is older than ABI 6"
fi

# --- files: K16, K18, K28, K29, K31, K35, K37, K38, K65 ---
probe open-write /proc/self/exe /proc/1/exe /opt/probe /usr/bin/env /lib64/ld-linux-x86-64.so.2
every "K18 no program can be written" 'E(ROFS|ACCES|TXTBSY|PERM|NOENT)$'
probe open-write /dev/null
every "control: what is writable is" 'OK$'
probe create /usr/x /usr/bin/x /etc/x /x /dev/x /proc/x /lib/x
every "K38 nothing new outside /tmp" 'E(ROFS|ACCES|PERM|NOENT)$'
probe create /tmp/x /dev/shm/x
every "control: in /tmp there is" 'OK$'
runner create /usr/x /usr/lib/x /usr/lib/python3.11/x /x /dev/x /lib/x
every "K38 nothing new outside /tmp in a snippet" 'E(ROFS|ACCES|PERM|NOENT)$'
probe rename /usr/bin/env /tmp/env
every "K28 nothing leaves its region" 'E(XDEV|ROFS|ACCES|PERM|BUSY)$'
probe rename /etc/passwd /tmp/p
every "K28 nor from /etc" 'E(XDEV|ROFS|ACCES|PERM|BUSY)$'
writes='/proc/sys/kernel/core_pattern /proc/sys/kernel/modprobe /proc/sys/kernel/hostname /proc/sys/fs/binfmt_misc/register /proc/sysrq-trigger /proc/sys/user/max_user_namespaces
/proc/sys/vm/overcommit_memory /proc/self/oom_score_adj /proc/self/loginuid /proc/self/uid_map /proc/self/attr/current /proc/1/mem /proc/self/mem /sys/kernel/mm/ksm/run /sys/fs/cgroup/cgroup.procs'
# shellcheck disable=SC2086
probe open-write $writes
every "K29 nothing in /proc or /sys can be written" 'E(ROFS|ACCES|PERM|NOENT)$'
probe cat /proc/kcore /proc/keys /proc/timer_list /proc/kallsyms /proc/key-users
every "K29 the kernel's own are empty or absent" '^/proc/[a-z_-]+ (OK|E(ACCES|NOENT|PERM))$|^$'
bare cat /proc/kallsyms
says "control: outside there are symbols" ' [tTdDaA] '
probe cat /proc/1/environ /proc/1/mem /proc/1/maps
every "K15 init's memory is closed" 'E(ACCES|PERM|NOENT|IO)$'
probe ls /sys /root /home /var /run /boot /proc/1/fd /proc/1/cwd /proc/1/root
every "nothing of the host's tree" ':E(NOENT|ACCES|PERM)$'
bare ls /var
says "control: outside there is" '/var: [a-z]'
probe cat /proc/self/mountinfo
silent "K31 mountinfo does not tell where the test lives" "$T|upperdir|lowerdir=[^.]|lowerdir=\\.[^:]|lowerdir=\\.:[^.]"
probe ls /dev
is "K35 devices" "fd full null ptmx pts random shm stderr stdin stdout tty urandom zero" "$(sed 's/.*: //' "$T/out" | tr ' ' '\n' | sort | tr '\n' ' ' | sed 's/ $//')"
runner ls / /dev
says "K35 devices of a snippet" '^/dev: (null urandom|urandom null)$'
probe nodes /tmp
silent "K35 no device can be made" 'mknod-(block|char) OK'
says "control: a FIFO can" 'fifo OK'
probe setid /tmp
silent "K37 no set-id file, by no call" '^(chmod|fchmod|fchmodat2|openat|mkdir-bits|setuid0) OK'
says "control: the file itself is made" '^file OK'
bare setid "$T/tmp"
says "control: outside it gets the bit" '^chmod OK'
probe syscall 188 189 190
every "K37 no extended attributes, as of a file system that has none" "EOPNOTSUPP\$"
grep -q nosuid /proc/self/mountinfo
probe cat /proc/self/mountinfo
is "K11 every mount is nosuid" "" "$(awk 'NF > 6 && $6 !~ /nosuid/' "$T/out")"
is "K35 every mount but the devices is nodev" "" "$(awk 'NF > 6 && $6 !~ /nodev/ && $5 !~ /^\/dev\// && $5 !~ /^\/proc\//' "$T/out")"
probe create "$HOME/.bashrc" "$HOME/.config/systemd/user/x.service" /etc/cron.d/x /var/spool/cron/x
every "K65 nowhere to persist" 'E(NOENT|ROFS|ACCES)$'
check "K73 the launcher has no set-id bit" sh -c "! test -u '$AJ' && ! test -g '$AJ'"
is "K73 nor file capabilities" "" "$(getcap "$AJ" 2>/dev/null)"
is "K73 nor has anything in the Python tree" "" "$(find "$ROOTFS/tree" -perm /6000)"

# --- K19, K20: a tree or a bind that was prepared ---
mkdir -p "$T/evil/tree/usr/bin" "$T/evil2/tree" "$T/evil3/tree/usr/bin"
cp "$PROBE" "$T/evil/tree/usr/bin/python3"
ln -s /etc "$T/evil/tree/usr/etc"
ln -s ../../../../../.. "$T/evil/tree/usr/up"
chmod -R a+rX "$T/evil"
aj exec --rootfs "$T/evil" -c 'ls /usr/etc /usr/up/root /usr/up/etc /usr/up/home'
silent "K20 links in the tree lead nowhere" 'passwd|shadow'
ln -s /usr "$T/evil2/tree/usr"
aj exec --rootfs "$T/evil2" --timeout 5s -c 1
check "K20 a tree that is the host's /usr shows no host file" sh -c "test $rc != 0 || ! grep -q RAN '$T/out'"
mkdir "$T/ws"
ln -s /proc/sys/kernel/core_pattern "$T/ws/link"
text "K24 a planted link is no bind source" 125 symlink run --bind "$T/ws/link:/work" -- true
text "K19 nor a bind target" 125 '' run --bind "$T/ws:/work" --bind "$T/canary:/work/link" -- true

# --- K54: limits ---
probe rlimit-raise
every "K54 limits do not rise, init's do not change" 'E(PERM|SRCH|NOSYS)$'
runner rlimit-raise
every "K54 in a snippet" "$NO\$"

# --- K56, K57: with a real terminal ---
"$PY" -I -S - "$AJ" "$PROBE" <<'EOS' >"$T/out" 2>&1
import fcntl, os, pty, select, struct, sys, termios
def on_a_terminal(command):
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(command[0], command)
    text = b""
    while select.select([fd], [], [], 20)[0]:
        try:
            piece = os.read(fd, 65536)
        except OSError:
            break
        text += piece
        if not piece:
            break
    os.waitpid(pid, 0)
    return text.decode().replace("\r", "")
commands = ["ioctl", "0x5412", "0x100005412", "0x541c", "0xffffffff00005412"]
for line in on_a_terminal([sys.argv[1], "run", "--bind", sys.argv[2] + ":/opt/probe", "--", "/opt/probe"] + commands).splitlines():
    print("jail", line)
for line in on_a_terminal([sys.argv[2]] + commands[:2]).splitlines():
    print("bare", line)
EOS
is "K56 a command cannot type into its terminal" 4 "$(grep -cE "^jail 0x[0-9a-f]+ (EPERM|EIO|ENOTTY)\$" "$T/out")"
if grep -qE '^bare i*0x5412 OK' "$T/out"; then ok "control: outside it could"; else skip "control: outside it could" "the kernel has TIOCSTI switched off"; fi

finish
