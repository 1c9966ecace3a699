#!/bin/sh
# walls.sh [RUNS] [--json]: what single walls cost. In each group the first row is without the wall, the second one with it.
# It installs nothing and passes or fails nothing: times are for a person to read, on a machine that does nothing else.
set -eu
cd "$(dirname "$0")/../.."

runs=100 json=''
. tests/bench/lines.sh

jail=$(join "$agentjail" run --)

# A group for each wall: `put cell GROUP NAME FILE ARG...`, FILE `-` for none.
group='the network namespace'
put cell "$group" 'run --network host -- true' - "$agentjail" run --network host -- true
put cell "$group" 'run -- true' - "$jail" true

group='a log file, which the supervisor writes'
put cell "$group" 'run -- head -c 64M /dev/zero | cat > FILE' - /bin/sh -c '"$0" run -- head -c 64M /dev/zero | cat > "$1"' "$agentjail" "$out/log"
put cell "$group" 'run -- head -c 64M /dev/zero > FILE' - /bin/sh -c '"$0" run -- head -c 64M /dev/zero > "$1"' "$agentjail" "$out/log"
put cell "$group" 'run -- true > FILE' - /bin/sh -c '"$0" run -- true > "$1"' "$agentjail" "$out/log"
# 1000 connects to a listener of the jail's own; both rows start an interpreter for them.
connects='import os, socket, sys; p = sys.argv[1]; s = socket.socket(socket.AF_UNIX); s.bind(p); s.listen(9); go = lambda c: (c.connect(p), s.accept()[0].close(), c.close()); [go(socket.socket(socket.AF_UNIX)) for _ in range(1000)]; os.unlink(p)'
shared=$(mktemp -d)
chmod 777 "$shared" # root's jails have another id
trap 'rm -rf -- "$shared" "$lines"' EXIT
group='1000 connects, mediated where a folder is bound writable'
put cell "$group" 'run -- python3 (1000 connects), without one' - "$agentjail" run -- "$python" -I -S -c "$connects" /tmp/s
put cell "$group" 'the same, to /tmp, with --bind DIR:/w:rw' - "$agentjail" run --bind "$shared:/w:rw" -- "$python" -I -S -c "$connects" /tmp/s
put cell "$group" 'the same, to a socket in that folder' - "$agentjail" run --bind "$shared:/w:rw" -- "$python" -I -S -c "$connects" /w/s
# The jail's own terminal, relayed: Python makes the caller's, and reads what comes.
spawn='import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))'
group='a terminal of its own, relayed'
put cell "$group" 'run -- true, in a terminal' - "$python" -I -S -c "$spawn" "$agentjail" run -- true
put cell "$group" 'run -- seq 200000, in a terminal' - "$python" -I -S -c "$spawn" "$agentjail" run -- seq 200000
put cell "$group" 'seq 200000 in a terminal, without a jail' - "$python" -I -S -c "$spawn" seq 200000
# F_GETLK is not reported: what it costs is the call itself. A second thread has flock made by the supervisor, on a copy.
locks='import fcntl, os, struct, sys, threading, time; fd = os.open("/tmp/l", os.O_RDWR | os.O_CREAT); span = struct.pack("hhqqi4x", fcntl.F_RDLCK, 0, 0, 1, 0); how = sys.argv[1]; how == "flock" and threading.Thread(target=time.sleep, args=(99,), daemon=True).start(); call = (lambda: fcntl.flock(fd, fcntl.LOCK_EX)) if how == "flock" else (lambda: fcntl.fcntl(fd, int(how), span)); [call() for _ in range(1000)]; os._exit(0)'
database='import os, sqlite3; c = sqlite3.connect("/tmp/walls.%d" % os.getpid(), isolation_level=None); c.execute("pragma synchronous=off"); c.execute("create table t(a)"); [c.execute("insert into t values(1)") for _ in range(200)]; os.unlink("/tmp/walls.%d" % os.getpid())'
group='1000 locks, each looked at'
put cell "$group" 'run -- python3 (1000 F_GETLK, not looked at)' - "$jail" "$python" -I -S -c "$locks" 5
put cell "$group" 'run -- python3 (1000 F_SETLK)' - "$jail" "$python" -I -S -c "$locks" 6
put cell "$group" 'run -- python3 (1000 flock beside a thread)' - "$jail" "$python" -I -S -c "$locks" flock
group='200 transactions of sqlite, eight locks each'
put cell "$group" 'python3, without a jail' - "$python" -I -S -c "$database"
put cell "$group" 'run -- python3' - "$jail" "$python" -I -S -c "$database"
mkdir -p "$out/ws"
printf 'extends = "command"\n[filesystem]\nworkspace = "read-only"\n' > "$out/work.toml"
group='where a workspace lies'
put cell "$group" 'run --bind WS:/workspace -- true' - "$agentjail" run --bind "$out/ws:/workspace" -- true
put cell "$group" 'run --workspace WS -- true' - "$agentjail" run --policy-file "$out/work.toml" --workspace "$out/ws" -- true
# A writable bind is the old way: the host's inodes, in a folder that is the caller's own.
group='an overlay for each read-only folder'
put cell "$group" 'run --bind /usr:/mnt/usr:rw -- true' - "$agentjail" run --bind /usr:/mnt/usr:rw -- true
put cell "$group" 'run --bind /usr:/mnt/usr -- true' - "$agentjail" run --bind /usr:/mnt/usr -- true
group='an overlay for a single file'
put cell "$group" 'run --bind FILE:/mnt/f:rw -- true' - "$agentjail" run --bind "$out/bench:/mnt/f:rw" -- true
put cell "$group" 'run --bind FILE:/mnt/f -- true' - "$agentjail" run --bind "$out/bench:/mnt/f" -- true
group='looking up 5,000 names through an overlay'
put cell "$group" 'run --bind /usr:/mnt/usr:rw -- ls -lR /mnt/usr/share/doc' - "$agentjail" run --bind /usr:/mnt/usr:rw -- sh -c 'ls -lR /mnt/usr/share/doc | tail -n 1'
put cell "$group" 'run --bind /usr:/mnt/usr -- ls -lR /mnt/usr/share/doc' - "$agentjail" run --bind /usr:/mnt/usr -- sh -c 'ls -lR /mnt/usr/share/doc | tail -n 1'
if [ "$(id -u)" -eq 0 ] && [ ! -e /etc/agentjail/agentjail.toml ]; then
	: > "$out/site.toml"
	printf 'identity.uids = "2000000-2065535"\n' > "$out/range.toml"
	group='a host id of its own'
	put cell "$group" 'run --config SITE -- true' - "$agentjail" run --config "$out/site.toml" -- true
	put cell "$group" 'the same, with identity.uids' - "$agentjail" run --config "$out/range.toml" -- true
fi

# A folder without files, and one with 100,000 in 1,000 folders; as a rule on a disk, where making and removing a folder costs more.
folders=$(mktemp -d "${TMPDIR:-/var/tmp}/walls.XXXXXX")
trap 'rm -rf -- "$shared" "$folders" "$lines"' EXIT
mkdir "$folders/empty" "$folders/full"
"$python" -I -S -c 'import os, sys
for d in range(1000):
    os.mkdir(f"{sys.argv[1]}/{d}")
    for f in range(100):
        open(f"{sys.argv[1]}/{d}/{f}", "w").close()' "$folders/full"
chmod -R a+rwX "$folders"
printf 'extends = "offline-build"\n[filesystem]\nprotect = []\n' > "$out/none.toml"
group='a workspace: places that the host obeys are held, repositories looked for'
put cell "$group" 'a read-only bind of it' - "$agentjail" run --bind "$folders/empty:/workspace" -- true
put cell "$group" 'nothing held (protect = [])' - "$agentjail" run --policy-file "$out/none.toml" --workspace "$folders/empty" -- true
put cell "$group" 'the default list' - "$agentjail" run --policy offline-build --workspace "$folders/empty" -- true
group='the same with 100,000 files'
put cell "$group" 'a read-only bind of it' - "$agentjail" run --bind "$folders/full:/workspace" -- true
put cell "$group" 'nothing held (protect = [])' - "$agentjail" run --policy-file "$out/none.toml" --workspace "$folders/full" -- true
put cell "$group" 'the default list' - "$agentjail" run --policy offline-build --workspace "$folders/full" -- true
printf 'extends = "command"\n[filesystem]\nworkspace = "read-write"\nprotect = []\n' > "$out/unmeasured.toml"
{ cat "$out/unmeasured.toml"; printf '[limits]\nworkspace = "1G"\nworkspace_files = 1000\n'; } > "$out/measured.toml"
group='the growth of a workspace with 100,000 files, measured before and after'
put cell "$group" 'without a limit' - "$agentjail" run --policy-file "$out/unmeasured.toml" --workspace "$folders/full" -- true
put cell "$group" 'with limits.workspace' - "$agentjail" run --policy-file "$out/measured.toml" --workspace "$folders/full" -- true

group='shared memory refused by the policy'
printf 'extends = "command"\n[process]\ndeny_syscalls = ["shared-memory", "memfd", "ipc"]\n' > "$out/no-shared.toml"
put cell "$group" 'run -- true' - "$jail" true
put cell "$group" 'run --policy-file FILE -- true' - "$agentjail" run --policy-file "$out/no-shared.toml" -- true
$CC -std=gnu11 -O2 -Wall -Wextra -D_GNU_SOURCE -Isrc -o "$out/under" tests/bench/under.c "$(dirname "$agentjail")/gen/filters.o"
group='the listener of a filter, taken by the supervisor'
put cell "$group" 'run -- true, below a filter that forbids taking' - "$out/under" no-taking "$agentjail" run -- true
put cell "$group" 'run -- true, below a filter that forbids nothing' - "$out/under" allow "$agentjail" run -- true
group='the baseline filter before Python'
put cell "$group" 'python3 -I -S -c pass, below a filter that forbids nothing' - "$out/under" allow "$python" -I -S -c pass
put cell "$group" 'python3 -I -S -c pass, below the baseline' - "$out/under" baseline "$python" -I -S -c pass
group='limits of its own for a zygote, whose start is most of this'
warm=$(dirname "$agentjail")/warm
printf 'extends = "snippet"\n[limits]\nmemory = "none"\npids = "none"\n' > "$out/unlimited.toml"
put cell "$group" 'exec -c 1 from a zygote, the policy has no limits of memory and processes' - "$warm" exec --policy-file "$out/unlimited.toml" -c 1
put cell "$group" 'the same with its limits' - "$warm" exec --policy snippet -c 1

read -r load _ < /proc/loadavg
put note "$(uname -sr), $(nproc) CPUs, as $([ "$(id -u)" -eq 0 ] && echo root || echo 'an ordinary user'), load $load at the start"
"$out/bench" "$runs" ${json:+"$json"} < "$lines"

# The costs that jails can cause for the service's other clients: a table of its own, as it takes clients and not command lines.
if [ -z "$json" ]; then
	folder=$(mktemp -d)
	printf '\nthe service: another client, while 30 jails do this\n'
	AGENTJAIL_ROOTFS=$(pwd)/build/rootfs/default python3 -B tests/bench/thread.py "$(pwd)/build/agentjail" docs/examples "$folder" || echo 'walls: the service was not measured' >&2
	rm -rf -- "$folder"
fi
