#!/bin/sh
# The library as programs of others see it: tests/library.c part by part, and the example of docs/ linked both ways.
# They were compiled against an installed tree; what the jails are made of is tested elsewhere.
. "$(dirname "$0")/../lib.sh"
B=$(dirname "$AJ")

if [ ! -x "$B/library-test" ]; then
	skip "everything" "this machine has no programs that use the library"
	finish
fi
LD_LIBRARY_PATH=$B
export LD_LIBRARY_PATH

# Each line of it is a test. PART LEAST [COMMAND...]
part() {
	name=$1 least=$2
	shift 2
	timeout -k 5 "${LIMIT:-60}" "$@" "$B/library-test" "$name" >"$T/out" 2>"$T/err"
	rc=$?
	set -- "$name" "$least"
	lines=0
	while read -r verdict name; do
		lines=$((lines + 1))
		case $verdict in
		ok) ok "$name" ;;
		*) fail "$name" ;;
		esac
	done <"$T/out"
	is "$1: it came to its end, and said nothing else" "0|" "$rc|$(head -c 500 "$T/err")"
	[ "$lines" -ge "$2" ] || fail "$1: all of its checks" "$lines, and not $2"
}
# Where root runs this as well, a user's run has what an owner of jails makes different: how they begin, whose host they are in, what is
# left of them. `make check-whole` has all parts as both.
part run 19
part session 31
part interrupt 6
part host 18
part leaks 14
part owner 5
if [ -z "$ROOT_TOO" ]; then
	part errors 29
	part tree 4
	part audit 6
	part files 24
	part tools 22
	part late 14
	part branch 18
	part loop 22
	part threads 6
	part log 5
	part copies 12
fi
[ "$(id -u)" != 0 ] || part host 18 setpriv --groups 4,24,27
timeout 60 "$B/library-test" closed <&- >&- 2>&-
is "without fds 0, 1 and 2" 0 $?

example() {
	timeout -k 5 60 "$@" >"$T/out" 2>"$T/err"
	is "$1: exit code" 0 $?
	is "$1: the tool was asked" 'searching: {"q":"walls"}' "$(cat "$T/err")"
	is "$1: output and value" '2 A JAIL' "$(head -n 2 "$T/out" | tr '\n' ' ' | sed 's/ $//')"
	sed 1,2d "$T/out" >"$T/last" && cp "$T/last" "$T/out"
	check "$1: the result" expect status=ok value=42 session=alive policy.name=snippet
}
example "$B/library-shared"
if grep -q __asan_init "$B/libagentjail.so.0"; then
	skip "the static example" "sanitizers do not link statically"
else
	check "the static example is static" sh -c "! readelf -d '$B/library-static' 2>/dev/null | grep NEEDED"
	example "$B/library-static"
fi

# Where the tree is: beside the library, when nobody says it.
mkdir -p "$T/usr/lib/agentjail/rootfs"
cp "$B/libagentjail.so.0" "$T/usr/lib/"
unset AGENTJAIL_ROOTFS
LD_LIBRARY_PATH=$T/usr/lib "$B/library-shared" >"$T/out" 2>"$T/err"
is "no tree: exit code" 1 $?
check "no tree: step, cause and fix" grep -q '^rootfs: no Python tree `default` is beside the library' "$T/err"
check "no tree: what helps" grep -q '^  fix: .*AGENTJAIL_ROOTFS' "$T/err"
cp -R "$ROOTFS" "$T/usr/lib/agentjail/rootfs/default"
LD_LIBRARY_PATH=$T/usr/lib example "$B/library-shared"
AGENTJAIL_ROOTFS=$ROOTFS
export AGENTJAIL_ROOTFS

# The library's names that a program sees: one family.
names() { nm "$@" | awk '$2 ~ /[A-Z]/ && $3 !~ /^agentjail_[a-z_]*(@.*)?$/ && $3 !~ /^AGENTJAIL_[0-9]+$/ { print $3 }'; }
if [ -e "$B/dest/usr/lib/libagentjail.a" ] && command -v nm >/dev/null 2>&1; then
	is "the shared library exports nothing else" "" "$(names -D --defined-only "$B/libagentjail.so.0")"
	is "nor does the static one" "" "$(names -g --defined-only "$B/dest/usr/lib/libagentjail.a")"
	check "and they do export" sh -c "nm -D --defined-only '$B/libagentjail.so.0' | grep -q ' T agentjail_open@'"
fi

finish
