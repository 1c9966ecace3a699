#!/bin/sh
# The load that a jail can put on the host's disks. The kernel says whether a file's pages have been written (cachestat, Linux 6.5).
. "$(dirname "$0")/../lib.sh"

D=$(mktemp -d /var/tmp/aj-disk.XXXXXX)
chmod 777 "$D"
trap 'end_canaries; rm -rf "$D" "$T"' EXIT

# Dirty pages of a file that has been written to just now, and then after what the arguments run.
cat >"$T/dirty.py" <<'EOS'
import ctypes, os, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
class cachestat(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulong) for name in ("cache", "dirty", "writeback", "evicted", "recently")]
class span(ctypes.Structure):
    _fields_ = [("at", ctypes.c_ulong), ("bytes", ctypes.c_ulong)]
def unwritten(fd):
    it = cachestat()
    if libc.syscall(451, fd, ctypes.byref(span(0, 0)), ctypes.byref(it), 0):
        sys.exit("cachestat: " + os.strerror(ctypes.get_errno()))
    return it.dirty + it.writeback
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o666)
os.fchmod(fd, 0o666)
for _ in range(20):  # others' sync(2) writes these, too
    os.pwrite(fd, bytes(1 << 20), 0)
    before = unwritten(fd)
    if before == 256:
        break
said = subprocess.run(sys.argv[2:], stdin=subprocess.DEVNULL).returncode if sys.argv[2:] else 0
print("exit", said, "before", before, "after", "none" if not unwritten(fd) else "some")
EOS
dirty() { "$PY" -I -S -B "$T/dirty.py" "$D/f" "$@" 2>&1; }
# What the arguments leave unwritten. Others' sync(2), and the kernel where memory is scarce, write it meanwhile, but not each time.
left() {
	for _ in 1 2 3 4 5 6 7 8; do
		found=$(dirty "$@")
		case $found in *'after some') break ;; esac
	done
	echo "$found"
}
CALLS='import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.sync()
fd = os.open(sys.argv[1], os.O_RDONLY)
sys.exit(libc.syncfs(fd) or libc.syncfs(99))'

case $(dirty) in
*'before 0'* | *cachestat*) skip "disk-sync: nothing is written" "the kernel does not say what is dirty in $D" ;;
*)
	is "disk-sync: what others have written stays unwritten" "exit 0 before 256 after some" \
		"$(left "$AJ" run --bind "$D:/w:rw" -- /usr/bin/python3 -I -S -c "$CALLS" /w)"
	is "disk-sync: nor by a file system that is only read" "exit 0 before 256 after some" \
		"$(left "$AJ" run --bind "$D:/w" -- /usr/bin/python3 -I -S -c "$CALLS" /w)"
	is "disk-sync: nor by sync(1)" "exit 0 before 256 after some" "$(left "$AJ" run --bind "$D:/w:rw" -- sh -c 'sync && sync -f /w')"
	is "disk-sync: control: on the host it is written" "exit 0 before 256 after none" "$(dirty sync -f "$D")"
	is "disk-fsync: of a file in a writable folder is made" "exit 0 before 256 after none" \
		"$(dirty "$AJ" run --bind "$D:/w:rw" -- /usr/bin/python3 -I -S -c 'import os; os.fsync(os.open("/w/f", os.O_RDWR))')"
	is "disk-fsync: and not of one that is only read" "exit 0 before 256 after some" \
		"$(left "$AJ" run --bind "$D:/w" -- /usr/bin/python3 -I -S -c 'import os; os.fsync(os.open("/w/f", os.O_RDONLY))')"
	;;
esac
finish
