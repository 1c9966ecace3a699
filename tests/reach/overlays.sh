#!/bin/sh
# Sockets, FIFOs and locks of the host below folders that a jail may only read: an overlay has inodes of its own.
# Each is tried in a jail and, as a control, without one or through a writable bind; the host's side is looked at from the host.
. "$(dirname "$0")/../lib.sh"
ws=$T/ws
mkdir "$ws"
chmod 777 "$ws"

# Listens as a stream, for datagrams and as packets, and writes down whoever comes.
cat >"$T/host.py" <<'EOF'
import os, select, socket, sys
folder, log = sys.argv[1], open(sys.argv[2], "w", buffering=1)
kinds = {"stream": socket.SOCK_STREAM, "datagram": socket.SOCK_DGRAM, "packets": socket.SOCK_SEQPACKET}
names = {}
for name, kind in kinds.items():
    s = socket.socket(socket.AF_UNIX, kind)
    s.bind(folder + "/" + name)
    os.chmod(folder + "/" + name, 0o777)
    if name != "datagram":
        s.listen()
    names[s] = name
log.write("ready\n")
while True:
    for s in select.select(list(names), [], [])[0]:
        if names[s] == "datagram":
            s.recv(100)
        else:
            s.accept()[0].close()
        log.write(names[s] + "\n")
EOF
cat >"$T/visit.py" <<'EOF'
import errno, socket, sys
for name, kind in ("stream", socket.SOCK_STREAM), ("datagram", socket.SOCK_DGRAM), ("packets", socket.SOCK_SEQPACKET):
    for path in sys.argv[1:]:
        try:
            socket.socket(socket.AF_UNIX, kind).connect(path + "/" + name)
            print(name, "CONNECTED", flush=True)
        except OSError as e:
            print(name, errno.errorcode[e.errno], flush=True)
EOF
"$PY" -I -S "$T/host.py" "$ws" "$T/visitors.ws" &
HOST=$!
await grep -qs ready "$T/visitors.ws"
ln -s stream "$ws/link"

# --- sockets ---
printf 'extends = "command"\n[filesystem]\nworkspace = "read-only"\nbinds = ["%s:/mnt/policy"]\n' "$ws" >"$T/ro.toml"
aj run --policy-file "$T/ro.toml" --workspace "$ws" --bind "$ws:/mnt/ws" --bind "$T/visit.py:/opt/visit.py" -- \
	python3 -I -S /opt/visit.py /mnt/ws /mnt/policy /workspace
is "overlay-socket: bind, policy's bind, workspace; stream and packets" "0 6" "$rc $(grep -Ec '^(stream|packets) ECONNREFUSED$' "$T/out")"
silent "overlay-socket: nobody is connected" CONNECTED
printf 'extends = "command"\n[filesystem]\nworkspace = "overlay"\n' >"$T/layered.toml"
aj run --policy-file "$T/layered.toml" --workspace "$ws" --bind "$T/visit.py:/opt/visit.py" -- python3 -I -S /opt/visit.py /workspace
is "overlay-layered: a workspace below an upper layer; stream and packets" "0 2" "$rc $(grep -Ec '^(stream|packets) ECONNREFUSED$' "$T/out")"
is "overlay-socket: nobody came" ready "$(cat "$T/visitors.ws")"
text "overlay-socket: a socket that is not named is no source of a bind" 2 'is a socket of the host' run --bind "$ws/stream:/mnt/s" -- true
check "overlay-socket: control: without a jail all three are reached" test "$("$PY" -I -S "$T/visit.py" "$ws" | grep -c CONNECTED)" = 3
text "overlay-socket: a jail's own sockets work" 0 '^own$' run --bind "$ws:/mnt/ws" -- python3 -I -S -c '
import socket
a = socket.socket(socket.AF_UNIX); a.bind("/tmp/s"); a.listen()
b = socket.socket(socket.AF_UNIX); b.connect("/tmp/s"); b.send(b"own"); print(a.accept()[0].recv(9).decode())'
# Where the kernel makes no overlay, since something is mounted below the folder, connects are mediated.
below() { # FOLDER
	awk -v folder="$1/" 'index($5, folder) == 1 { found = 1 } END { exit !found }' /proc/self/mountinfo
}
if below /dev && other=$(mktemp -d /dev/shm/aj-test.XXXXXX); then
	chmod 755 "$other"
	"$PY" -I -S "$T/host.py" "$other" "$T/visitors.other" &
	OTHER=$!
	await grep -qs ready "$T/visitors.other"
	json "overlay-none: connects are mediated then" 0 'enforced.unix_sockets~^connect is mediated' 'stdout!CONNECTED' 'stdout~stream EACCES' \
		'violations.0.syscall~connect|socket' -- \
		run --bind /dev:/mnt/dev --bind "$T/visit.py:/opt/visit.py" -- python3 -I -S /opt/visit.py "/mnt$other"
	is "overlay-none: nobody came" ready "$(cat "$T/visitors.other")"
	text "overlay-none: a jail's own sockets work" 0 '^own$' run --bind /dev:/mnt/dev -- python3 -I -S -c '
import socket
a = socket.socket(socket.AF_UNIX); a.bind("/tmp/s"); a.listen()
b = socket.socket(socket.AF_UNIX); b.connect("/tmp/s"); b.send(b"own"); print(a.accept()[0].recv(9).decode())'
	kill "$OTHER"
	wait "$OTHER" 2>/dev/null
	rm -rf "$other"
else
	skip "overlay-none: connects are mediated then" "nothing is mounted below /dev, or /dev/shm is not ours to write"
fi
kill "$HOST"
wait "$HOST" 2>/dev/null

# --- FIFOs ---
mkfifo "$ws/fifo"
chmod 666 "$ws/fifo"
mkdir "$ws/deep"
mkfifo "$ws/deep/fifo"
chmod -R a+rwX "$ws/deep"
exec 8<>"$ws/fifo" 9<>"$ws/deep/fifo"
echo host >&8
echo host >&9
# A writer without a reader gets ENXIO, and a reader without a writer the end of the file.
TRY='
import os, sys
for path in sys.argv[1:]:
    for name, how in ("read", os.O_RDONLY), ("write", os.O_WRONLY):
        try:
            fd = os.open(path, how | os.O_NONBLOCK)
            print(name, os.read(fd, 100) if name == "read" else os.write(fd, b"jail\n"))
        except OSError as e:
            print(name, e.strerror)'
aj run --bind "$ws:/mnt/ws" -- python3 -I -S -c "$TRY" /mnt/ws/fifo /mnt/ws/deep/fifo
is "overlay-fifo: what the host writes is not read" "2" "$(grep -c "^read b''$" "$T/out")"
is "overlay-fifo: nothing is written to it" "2" "$(grep -Ec '^write (No such device|Permission denied)' "$T/out")"
aj run --bind "$ws/deep:/mnt/deep:rw" -- python3 -I -S -c "$TRY" /mnt/deep/fifo
says "overlay-fifo: control: through a writable bind it is read" "^read b'host"
says "overlay-fifo: control: and written to" '^write 5'
is "overlay-fifo: the host's text is still there" host "$(timeout 60 head -n 1 <&8)"
text "overlay-fifo: a FIFO is no source of a read-only bind" 125 'a FIFO of the host cannot be bound read-only' run --bind "$ws/fifo:/mnt/f" -- true
json "overlay-fifo: and what is writable is said" 0 'enforced.filesystem~the host.s FIFOs below /mnt/deep$' -- \
	run --bind "$ws:/mnt/ws" --bind "$ws/deep:/mnt/deep:rw" -- true

aj run --policy-file "$T/layered.toml" --workspace "$ws/deep" -- python3 -I -S -c "$TRY" fifo
is "overlay-layered: what the host writes to a FIFO is not read" "1" "$(grep -c "^read b''$" "$T/out")"
is "overlay-layered: what is in the host's FIFO stays there" jail "$(timeout 60 head -n 1 <&9)"

# --- locks ---
echo data >"$ws/data"
chmod 666 "$ws/data"
libc=$(readlink -f "$(ldd /bin/sh | sed -n 's|.*=> \(/[^ ]*libc\.so[^ ]*\) .*|\1|p')")
# In a jail it says when it holds them, and waits for its end; on the host it says which could be had.
cat >"$T/lock.py" <<'EOF'
import fcntl, os, struct, sys, time
OFD_SETLK, how, paths = 37, sys.argv[1], sys.argv[2:]
held = []
for path in paths:
    folder = os.path.isdir(path)
    writable = os.access(path, os.W_OK) and not folder and how == "try"
    for kind in "flock", "posix", "ofd":
        if folder and kind != "flock":
            continue
        fd = os.open(path, os.O_RDWR if writable else os.O_RDONLY)
        held.append(fd)
        lock = struct.pack("hhqqi4x", fcntl.F_WRLCK if writable else fcntl.F_RDLCK, 0, 0, 0, 0)
        try:
            if kind == "flock":
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            else:
                fcntl.fcntl(fd, fcntl.F_SETLK if kind == "posix" else OFD_SETLK, lock)
            print(kind, path, "HELD", flush=True)
        except OSError as e:
            print(kind, path, e.strerror, flush=True)
        if how == "try":
            os.close(held.pop())
print("done", flush=True)
if how == "hold":
    time.sleep(60)
EOF
# held MODE...: locks of a jail on data, the folder and libc; what of them the host still can have.
held() {
	rm -f "$T/held"
	"$AJ" run --bind "$ws:/mnt/ws$1" --bind "$T/lock.py:/opt/lock.py" -- \
		python3 -I -S /opt/lock.py hold /mnt/ws/data /mnt/ws "$libc" >"$T/held" 2>&1 &
	local jail=$!
	await grep -qs done "$T/held"
	"$PY" -I -S "$T/lock.py" "try" "$ws/data" "$ws" "$libc" >"$T/out" 2>"$T/err"
	kill "$jail"
	wait "$jail" 2>/dev/null
}
held ''
is "overlay-locks: a jail gets its locks" 7 "$(grep -c HELD "$T/held")"
is "overlay-locks: the host gets all of them meanwhile" 7 "$(grep -c HELD "$T/out")"
held :rw
is "overlay-locks: control: not those on a writable bind" 3 "$(grep -c HELD "$T/out")"

# --- inotify ---
cat >"$T/watch.py" <<'EOF'
import ctypes, os, select, sys
libc, folder = ctypes.CDLL(None), sys.argv[1]
fd = libc.inotify_init1(os.O_NONBLOCK)
print("watching", libc.inotify_add_watch(fd, folder.encode(), 0xFFF) > 0, flush=True)
print("host", bool(select.select([fd], [], [], 1)[0]), flush=True)
os.listdir(folder)
print("own", bool(select.select([fd], [], [], 1)[0]), flush=True)
EOF
# watched MODE: what a jail sees of the host's opening a file.
watched() {
	rm -f "$T/watched"
	"$AJ" run --bind "$ws:/mnt/ws$1" --bind "$T/watch.py:/opt/watch.py" -- python3 -I -S /opt/watch.py /mnt/ws >"$T/watched" 2>&1 &
	local jail=$!
	await grep -qs watching "$T/watched"
	cat "$ws/data" >/dev/null
	wait "$jail"
}
watched ''
is "overlay-inotify: the jail's own events, and none of the host's" "watching True host False own True" "$(tr '\n' ' ' <"$T/watched" | sed 's/ $//')"
watched :rw
is "overlay-inotify: control: a writable bind shows the host's" "host True" "$(grep host "$T/watched")"

# --- a folder beside a file that is shown, too: both out of one overlay of their parent ---
mkdir "$T/both" "$T/both/folder" "$T/both/other"
chmod -R a+rX "$T/both"
echo file >"$T/both/file"
echo inner >"$T/both/folder/inner"
echo covered >"$T/both/other/covered"
LOOK='sed -n "s|^[0-9]* [0-9]* \([0-9:]*\) .* /mnt/\([a-z]*\) \(r[ow]\),.* - \([a-z0-9]*\) .*|\2 \4 \3 \1|p" /proc/self/mountinfo'
aj run --bind "$T/both/file:/mnt/file" --bind "$T/both/folder:/mnt/folder" -- sh -c "cat /mnt/file /mnt/folder/inner; ls /mnt/folder /mnt/folder/..; $LOOK"
is "overlay-beside: both show the host's files, and of their parent nothing else" "file inner inner file folder" \
	"$(grep -v : "$T/out" | sed 's|/.*||' | tr '\n' ' ' | tr -s ' ' | sed 's/ $//')"
is "overlay-beside: they are read-only mounts of one overlay" "2 1" \
	"$(grep -Ec '^(file|folder) overlay ro ' "$T/out") $(sed -n 's/^\(file\|folder\) overlay ro //p' "$T/out" | sort -u | wc -l)"
aj run --bind "$T/both/folder:/mnt/before" --bind "$T/both/file:/mnt/file" --bind "$ws:/mnt/ws" --bind "$T/both/other:/mnt/other:rw" -- sh -c "$LOOK"
is "overlay-beside: control: before the file, elsewhere, or writable it is another mount" "3 4" \
	"$(grep -c 'overlay ro' "$T/out") $(sed -n 's/.* //p' "$T/out" | sort -u | wc -l)"
aj run --bind "$T/both/file:/mnt/file" --bind "$ws:/mnt/both" --bind "$T/lock.py:/opt/lock.py" -- python3 -I -S -c '
import os
try:
    os.open("/mnt/both/fifo", os.O_WRONLY | os.O_NONBLOCK)
    print("OPENED")
except OSError as e:
    print("refused", e.strerror)'
says "overlay-beside: a FIFO of the host below such a folder has no reader" '^refused'
# In a mount namespace of its own: what is mounted on the folder, or below it, is what a jail sees.
if unshare -m mount -t tmpfs x "$T/both/other" 2>/dev/null; then
	for place in other other/deep; do
		mkdir -p "$T/both/other/deep"
		chmod 755 "$T/both/other/deep"
		unshare -m sh -c 'mount -t tmpfs -o mode=755 x "$1/both/$2" && echo mounted >"$1/both/$2/mounted" && exec timeout 60 "$3" run \
			--bind "$1/both/file:/mnt/file" --bind "$1/both/other:/mnt/other" -- find /mnt/other -type f' sh "$T" "$place" "$AJ" >"$T/out" 2>"$T/err"
		is "overlay-beside: what is mounted at $place is shown" "/mnt/$place/mounted" "$(grep mounted "$T/out")"
	done
	silent "overlay-beside: and not what it covers" 'deep/covered'
else
	skip "overlay-beside: what is mounted at other is shown" "this user mounts nothing"
fi

# --- where the kernel makes no overlay ---
if below /dev; then
	json "overlay-none: the result says so" 0 \
		'enforced.filesystem~no overlay, and so the host.s FIFOs, at or below /mnt/dev \(another mount lies there\)$' -- \
		run --bind /dev:/mnt/dev --bind "$ws:/mnt/ws" -- true
	text "overlay-none: what is mounted below is shown" 0 '^ptmx$' run --bind /dev:/mnt/dev -- ls /mnt/dev/pts
else
	skip "overlay-none: the result says so" "nothing is mounted below /dev"
fi

# --- what no overlay changes ---
cat >"$T/futex.py" <<'EOF'
"""A word in a file that others have mapped too: wait for a wake, or wake and say how many there were."""
import ctypes, mmap, os, sys, time
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
writes = sys.argv[1] == "host"
fd = os.open(sys.argv[3], os.O_RDWR if writes else os.O_RDONLY)
at = ctypes.c_void_p(libc.mmap(None, 4096, 3 if writes else 1, mmap.MAP_SHARED, fd, ctypes.c_long(0)))
if sys.argv[2] == "wait":
    print("waits", flush=True)
    print("woken", libc.syscall(202, at, 0, 0, (ctypes.c_long * 2)(20, 0), None, 0), flush=True)
else:
    end, woken = time.monotonic() + 20, 0
    while not woken and time.monotonic() < end:
        woken = libc.syscall(202, at, 1, 1, None, None, 0)
        time.sleep(0.05)
    print("woke", woken, flush=True)
EOF
head -c 4096 /dev/zero >"$ws/word"
"$PY" -I -S "$T/futex.py" host wait "$ws/word" >"$T/waiter" 2>&1 &
waiter=$!
text "overlay-futex: what the table says of it is so: the host's waiter is woken" 0 '^woke 1$' run --bind "$ws:/mnt/ws" \
	--bind "$T/futex.py:/opt/futex.py" -- python3 -I -S /opt/futex.py jail wake /mnt/ws/word
wait $waiter
is "overlay-futex: and says so" "waits woken 0 " "$(tr '\n' ' ' <"$T/waiter")"
timeout 60 "$AJ" run --bind "$ws:/mnt/ws" --bind "$T/futex.py:/opt/futex.py" -- \
	python3 -I -S /opt/futex.py jail wait /mnt/ws/word >"$T/waiter" 2>&1 &
waiter=$!
is "overlay-futex: a jail that waits there takes a wake of the host's" "woke 1" "$("$PY" -I -S "$T/futex.py" host wake "$ws/word")"
wait $waiter
check "overlay-futex: control: it was the jail's" grep -q '^woken 0$' "$T/waiter"

cat >"$T/lock.py" <<'EOF'
import errno, fcntl, os, sys
try:
    fcntl.flock(os.open(sys.argv[1], os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
    print("locked")
except OSError as e:
    print(errno.errorcode[e.errno])
EOF
exec 7<"$ws/word"
flock 7
aj run --bind "$ws/word:/mnt/word" --bind "$T/lock.py:/opt/lock.py" -- python3 -I -S /opt/lock.py /mnt/word
is "overlay-file: the host's lock is not seen" "0 locked" "$rc $(cat "$T/out")"
aj run --bind "$ws:/mnt/ws" --bind "$T/lock.py:/opt/lock.py" -- python3 -I -S /opt/lock.py /mnt/ws/word
is "overlay-file: control: by its folder it is not" "0 locked" "$rc $(cat "$T/out")"
exec 7<&-
printf 'one\n' >"$ws/word"
aj run --bind "$ws/word:/mnt/word" --bind "$ws/word:/mnt/deep/word" -- sh -c 'ls /mnt /mnt/deep && cat /mnt/word /mnt/deep/word && ! echo two >>/mnt/word && ! touch /mnt/word'
is "overlay-file: it is there, alone, and read-only" "0 deep word /mnt/deep: word one one" "$rc $(sed '/^\/mnt:$/d;/^$/d' "$T/out" | tr '\n' ' ' | sed 's/ $//')"
cat >"$T/same.py" <<'EOS'
import os, sys
print(all(os.stat(path).st_dev != int(dev) for path, dev in zip(sys.argv[1::2], sys.argv[2::2])))
EOS
aj run --bind "$ws/word:/mnt/word" --bind "$T/same.py:/opt/same.py" -- python3 -I -S /opt/same.py /mnt/word "$(stat -c %d "$ws/word")" /etc/ld.so.cache "$(stat -c %d /etc/ld.so.cache)"
is "overlay-file: its inode is the jail's own, and that of /etc/ld.so.cache" "0 True" "$rc $(cat "$T/out")"
ln -s word "$ws/link9"
aj run --bind "$ws/link9:/mnt/word" -- true
says "overlay-file: a link to one is refused as ever" 'a symlink in the path'
rm "$ws/link9"
json "overlay-file: without an overlay of its folder the file is bound, and the result says so" 0 'stdout~^Linux' \
	'enforced.filesystem~no overlay, and so the host.s FIFOs, at or below /mnt/version' 'enforced.unix_sockets~^no socket file' -- \
	run --json --bind /proc/version:/mnt/version -- cat /mnt/version

# --- a snippet that may execute programs, in a tree of which the kernel makes no overlay ---
cp -r "$ROOTFS" "$T/tree" && chmod -R a+rX "$T/tree"
printf 'extends = "snippet"\n[process]\nexec = true\n[filesystem]\nmasks = ["/usr/share"]\n[python]\nlayer = false\n' >"$T/programs.toml"
cat >"$T/split.sh" <<'EOF'
folder=$1
shift
mount -t tmpfs none "$folder" && exec "$@"
EOF
in_split_tree() { # COMMAND [-]
	timeout -k 5 60 unshare --user --map-root-user --mount sh "$T/split.sh" "$T"/tree/tree/usr/lib/python3.*/xml \
		"$AJ" "$1" --json --policy-file "$T/programs.toml" --rootfs "$T/tree" ${2-} <"$T/unix.py" >"$T/out" 2>"$T/err"
}
cat >"$T/unix.py" <<'EOF'
import errno, socket
try:
    said = socket.socket(socket.AF_UNIX) and "made"
except OSError as e:
    said = errno.errorcode[e.errno]
said
EOF
if unshare --user --map-root-user --mount true 2>/dev/null; then
	for how in 'exec -' session; do
		# shellcheck disable=SC2086 # a command and its argument
		in_split_tree $how
		check "overlay-split: $how: no Unix socket, and the result says so" expect value=EAFNOSUPPORT 'enforced.filesystem~at or below /usr' \
			'enforced.unix_sockets~^refused except for pairs' 'violations~"socket"'
	done
else
	skip "overlay-split" "no user namespace can be made"
fi

# --- warm ---
printf 'extends = "snippet"\n[python]\nlayer = false\n[filesystem]\nbinds = ["%s:/mnt/ws"]\n' "$ws" >"$T/warm.toml"
echo host >&8
timeout 60 "$AJ" session --json --policy-file "$T/warm.toml" >"$T/out" 2>"$T/err" <<'EOF'
import os
os.read(os.open("/mnt/ws/fifo", os.O_RDONLY | os.O_NONBLOCK), 100)
EOF
says "overlay-warm: a FIFO can be read" 'host'
says "overlay-warm: and the result says so" '"filesystem":"[^"]*; the host.s FIFOs below /mnt/ws"'
timeout 60 "$AJ" session --json --policy-file "$T/warm.toml" >"$T/out" 2>"$T/err" <<'EOF'
import os
try:
    os.open("/mnt/ws/fifo", os.O_WRONLY | os.O_NONBLOCK)
    print("OPENED")
except OSError as e:
    print(e.strerror)
EOF
if grep -q '"landlock":"ABI' "$T/out"; then
	says "overlay-warm: it cannot be written to" 'Permission denied'
else
	skip "overlay-warm: it cannot be written to" "this kernel has no Landlock"
fi
json "overlay-fifo: nor read by a snippet that starts cold" 0 "value~^b''" 'enforced.filesystem!FIFOs' -- \
	exec --policy-file "$T/warm.toml" -c 'import os
repr(os.read(os.open("/mnt/ws/fifo", os.O_RDONLY | os.O_NONBLOCK), 100))'
exec 8>&- 9>&-
# --- the page cache ---
cat >"$T/resident.py" <<'EOF'
import ctypes, mmap, os, sys
libc = ctypes.CDLL(None, use_errno=True)
fd = os.open(sys.argv[1], os.O_RDWR)
bytes = os.fstat(fd).st_size
m = mmap.mmap(fd, bytes)
seen = ctypes.create_string_buffer(bytes // 4096)
assert libc.mincore(ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(m))), ctypes.c_size_t(bytes), seen) == 0
print(sum(byte & 1 for byte in seen.raw[:bytes // 4096]) > 0)
EOF
cat >"$T/drop.py" <<'EOF'
import os, sys
os.posix_fadvise(os.open(sys.argv[1], os.O_RDONLY), 0, 0, os.POSIX_FADV_DONTNEED)
print("dropped")
EOF
mkdir "$T/cached"
head -c 65536 /dev/zero >"$T/cached/file"
"$PY" -I -S -c 'import os, sys; os.fsync(os.open(sys.argv[1], os.O_RDWR))' "$T/cached/file"
chmod 755 "$T/cached"
cat "$T/cached/file" >/dev/null
text "overlay-page-cache: a jail drops no file" 0 '^dropped$' run --bind "$T/cached:/mnt/ws" --bind "$T/drop.py:/opt/drop.py" -- \
	python3 -I -S /opt/drop.py /mnt/ws/file
is "overlay-page-cache: it is still there" True "$("$PY" -I -S "$T/resident.py" "$T/cached/file")"
"$PY" -I -S "$T/drop.py" "$T/cached/file" >/dev/null
if [ "$("$PY" -I -S "$T/resident.py" "$T/cached/file")" = False ]; then ok "overlay-page-cache: control: without a jail it goes"; else
	skip "overlay-page-cache: control: without a jail it goes" "this file system keeps it"
fi

finish
