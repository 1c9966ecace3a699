#!/bin/sh
# Objects of the host that a system call reaches past every mount and namespace: huge pages, modules of the kernel, device nodes.
# What a wall refuses is told by the result's violations, since a host may lack the object and answer with the same errno.
. "$(dirname "$0")/../lib.sh"
runner_rootfs

every() { # NAME REGEX: of each line
	if [ -s "$T/out" ] && ! grep -vqaE -e "$2" "$T/out"; then ok "$1"; else fail "$1" "not all \`$2\`: $(shown)"; fi
}
refused() { # NAME STDOUT SYSCALL COUNT WHY -- PROBE ARGUMENTS
	local name=$1 stdout=$2 call=$3 count=$4 why=$5
	shift 6
	OPTIONS="--json ${OPTIONS:-}" probe "$@"
	check "$name" expect "stdout=$stdout" "violations.0.syscall=$call" "violations.0.count=$count" "violations.0.why~$why" violations_seen=true
}

# --- huge pages ---
refused "mmap of huge pages" '9:0:0x200000:3:0x40022 ENOMEM\n9:0:0x200000:3:0x54040021 ENOMEM\n' mmap 2 "huge pages" -- \
	syscall 9:0:0x200000:3:0x40022 9:0:0x200000:3:0x54040021
refused "memfd of huge pages" '319:0:4 ENOMEM\n319:0:0x54000005 ENOMEM\n' memfd_create 2 "huge pages" -- syscall 319:0:4 319:0:0x54000005
refused "System V segment of huge pages" '29:0:0x200000:04600 ENOMEM\n' shmget 1 "huge pages" -- syscall 29:0:0x200000:04600
probe syscall 9:0:0x1000:3:0x22 29:0:0x1000:01600
says "control: ordinary memory" '^9:.* OK$'
says "control: an ordinary segment" '^29:.* OK$'
runner syscall 9:0:0x200000:3:0x40022 319:0:4 29:0:0x200000:04600
says "a snippet: mmap" '^9:.* ENOMEM$'
says "a snippet: memfd and segment" '^319:.* EPERM$'
json "a snippet's call is reported" 0 'violations~"syscall":"mmap".*huge pages' -- exec --rootfs "$T/runner" -c 'syscall 9:0:0x200000:3:0x40022'

# --- protocols and families, for which the kernel would load a module ---
#       MPTCP   SCTP           DCCP     UDP-Lite      L2TP     others
others='2:1:262 2:1:132 2:5:132 2:6:33 2:2:136 10:1:262 10:2:136 2:2:115 2:1:33 2:4:0 2:2:47 10:5:132'
OPTIONS='--network loopback --json'
# shellcheck disable=SC2086
probe socket $others
check "protocols: all of them are refused by the filter" expect 'violations.0.syscall=socket' 'violations.0.count=12' 'violations.0.why~loads modules for|other types'
check "protocols: with errnos that programs know" expect 'stdout!OK|ENOSYS|EPERM' 'stdout~2:1:262 EPROTONOSUPPORT' 'stdout~2:5:132 ESOCKTNOSUPPORT'
OPTIONS='--network loopback'
probe socket 2:1:6 2:1 2:2 2:2:17 10:1:6 10:2:17 2:0x80801 16:3:0
every "control: TCP, UDP and the list of addresses" 'OK$'
OPTIONS=

# --- options of TCP that have the kernel load ciphers ---
cat >"$T/options.py" <<'P'
import errno, socket
s = socket.socket()
for name, number, value in ("md5sig", 14, bytes(216)), ("md5sig_ext", 32, bytes(216)), ("ao", 38, bytes(400)), ("tls", 31, b"tls"), ("nodelay", 1, 1), \
        ("congestion", 13, b"no-such-module"):
    try:
        s.setsockopt(6, number, value)
        print(name, "OK")
    except OSError as e:
        print(name, errno.errorcode[e.errno])
P
json "options: refused by the filter" 0 'stdout=md5sig ENOPROTOOPT\nmd5sig_ext ENOPROTOOPT\nao ENOPROTOOPT\ntls ENOENT\nnodelay OK\ncongestion ENOENT\n' \
	'violations.0.syscall=setsockopt' 'violations.0.count=4' -- run --network loopback --bind "$T/options.py:/opt/options.py" -- "$PY" -I -S -B /opt/options.py

# --- a device node where a file was ---
mkdir "$T/work"
cat >"$T/work/whiteout.py" <<'P'
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
for name, flags in ("plain", 0), ("whiteout", 4), ("noreplace-whiteout", 5):
    open("a", "w").close()
    r = libc.syscall(316, -100, b"a", -100, b"b-" + name.encode(), flags)
    print(name, "OK" if r == 0 else errno.errorcode[ctypes.get_errno()], oct(os.lstat("a").st_mode) if os.path.lexists("a") else "gone")
P
chmod -R a+rwX "$T/work"
aj run --workspace "$T/work" --workspace-mode rw -- "$PY" -I -S -B whiteout.py
says "control: a file is renamed" '^plain OK gone$'
says "no whiteout" '^whiteout EINVAL 0o100'
says "nor with RENAME_NOREPLACE" '^noreplace-whiteout EINVAL 0o100'
is "and no device in the user's folder" "" "$(find "$T/work" -type c)"

# --- the host's device nodes ---
cat >"$T/work/devices.py" <<'P'
import errno, os, sys
def attempt(name, do):
    try:
        do()
        print(name, "OK")
    except OSError as e:
        print(name, errno.errorcode[e.errno])
for path in "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty":
    attempt("now " + path, lambda: os.utime(path))
    attempt("time " + path, lambda: os.utime(path, (1, 1)))
    attempt("mode " + path, lambda: os.chmod(path, 0o666))
    attempt("owner " + path, lambda: os.chown(path, os.getuid(), -1))
for fd in 0, 1, 2:
    attempt("now %d" % fd, lambda: os.utime(fd)) if os.path.samestat(os.fstat(fd), os.stat("/dev/null")) else None
print("wrote", os.write(os.open("/dev/null", os.O_WRONLY | os.O_TRUNC), b"x"))
print("read", len(os.read(0, 1)))
P
"$AJ" run --workspace "$T/work" --workspace-mode rw -- "$PY" -I -S -B devices.py </dev/null >"$T/out" 2>/dev/null
says "devices work" '^wrote 1$'
says "also that which the caller gave" '^read 0$'
silent "no times, modes or owners of a device" '^(now|time|mode|owner) [^ ]* OK$'
is "each one is refused as on a read-only file system" "" "$(grep -E '^(now|mode) ' "$T/out" | grep -v 'EROFS$')"
is "all were tried" 26 "$(grep -cE '^(now|time|mode|owner) ' "$T/out")"

finish
