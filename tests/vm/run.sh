#!/bin/sh
# Boots the test machine, runs one script in it, and brings back its output and its exit status.
# It refuses to wait for ever, and to take a machine that died or hung for a result: that is 125, with the end of the console.
#
# Usage: tests/vm/run.sh [--kernel VERSION] [--user|--loose|--root|--session] [--limit SECONDS] SCRIPT [ARGS...]
#        --user     (default) user 1000, in a delegated cgroup of a machine without systemd
#        --loose    the same, with a cgroup file system that is mounted without nsdelegate
#        --root     root there
#        --session  user 1000 in a login session, systemd as the first process
#        SCRIPT is a file of this system, run by sh in /agentjail. AGENTJAIL_VM=ARCHIVE of image.sh (build/vm/agentjail.cpio);
#        AGENTJAIL_CACHE as for fetch.sh; AGENTJAIL_VM_MORE=ARCHIVE: one more, unpacked over the others; CPUS=1; V=1: the console too
set -u
here=$(cd "$(dirname "$0")" && pwd)
cache=${AGENTJAIL_CACHE:-$HOME/.cache/agentjail}/vm
archive=${AGENTJAIL_VM:-$here/../../build/vm/agentjail.cpio}
kernel='' as=user nsdelegate=yes limit=300
NO_RESULT=125

usage() {
	sed -n 's/^# \{0,1\}//; /^Usage/,/^ *AGENTJAIL_CACHE/p' "$0" >&2
	exit $NO_RESULT
}
while [ $# -gt 0 ]; do
	case $1 in
	--kernel) kernel=$2; shift 2 ;;
	--limit) limit=$2; shift 2 ;;
	--loose) nsdelegate=no; shift ;;
	--user | --root | --session) as=${1#--}; shift ;;
	-*) usage ;;
	*) break ;;
	esac
done
if [ $# = 0 ] || [ ! -r "$1" ]; then usage; fi
[ -n "$kernel" ] || kernel=$(ls "$cache/kernel" | sort -V | head -n 1)
for need in "$cache/kernel/$kernel/vmlinuz" "$cache/system/system.cpio" "$archive"; do
	[ -e "$need" ] || { echo "tests/vm/run.sh: $need is missing; tests/vm/fetch.sh, tests/vm/image.sh" >&2; exit $NO_RESULT; }
done

work=$(mktemp -d) || exit $NO_RESULT
qemu=''
trap '[ -z "$qemu" ] || kill $qemu 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 130' HUP INT TERM
token=aj-$(od -An -N8 -tx8 /dev/urandom | tr -d ' ')

# The files that differ from run to run are one more archive; the kernel unpacks one after the other.
mkdir -p "$work/extra/modules"
cp "$1" "$work/extra/script"
shift
for word; do printf '%s\n' "$word"; done >"$work/extra/arguments"
cp "$cache/kernel/$kernel/modules/"*.ko "$work/extra/modules/"
chmod -R a+rX "$work/extra"
(cd "$work/extra" && find . -mindepth 1 | "$cache/system/busybox" cpio -o -H newc -R 0:0 2>/dev/null) >"$work/extra.cpio"
cat "$cache/system/system.cpio" "$archive" ${AGENTJAIL_VM_MORE:+"$AGENTJAIL_VM_MORE"} "$work/extra.cpio" >"$work/initrd"
rm -rf "$work/extra" "$work/extra.cpio"

words="AJ_AS=$as AJ_NSDELEGATE=$nsdelegate AJ_TOKEN=$token"
[ "$as" != session ] || words="$words systemd.unit=agentjail-test.target systemd.show_status=1 systemd.log_target=console"
# -cx16: QEMU 7.2 has been seen to break the flags after cmpxchg16b, and 6.12 uses it. +rdrand: entropy from the start.
timeout -k 5 "$limit" qemu-system-x86_64 -machine pc -accel tcg,thread=multi -cpu Nehalem,+rdrand,-cx16 -smp "${CPUS:-1}" -m 1024 \
	-nodefaults -no-user-config -display none -no-reboot -kernel "$cache/kernel/$kernel/vmlinuz" -initrd "$work/initrd" \
	-append "console=ttyS0 rdinit=/agentjail/tests/vm/guest.sh quiet loglevel=4 panic=-1 oops=panic reboot=t audit=0 no_timer_check nokaslr mitigations=off cryptomgr.notests $words" \
	-serial "file:$work/console" -serial "file:$work/out" </dev/null >"$work/qemu" 2>&1 &
qemu=$!
wait $qemu
ended=$?
qemu=''

touch "$work/out" "$work/console"
[ -z "${V:-}" ] || cat "$work/console" >&2
tr -d '\r' <"$work/out" | grep -av "^$token "
status=$(tr -d '\r' <"$work/out" | sed -n "s/^$token \([0-9][0-9]*\)\$/\1/p" | tail -n 1)
if [ -z "$status" ]; then
	[ $ended != 124 ] || echo "tests/vm/run.sh: the limit of $limit s is over" >&2
	echo "tests/vm/run.sh: no result from the machine (kernel $kernel, qemu ended with $ended); the end of its console:" >&2
	tail -n 30 "$work/console" "$work/qemu" >&2
	exit $NO_RESULT
fi
exit "$status"
