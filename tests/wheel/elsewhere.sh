#!/bin/sh
# The wheel on other systems, and built a second time: Debian 11 (glibc 2.31, older than the one that the program was built with), Debian
# 13 with its own pip and Python, a system with musl in place of glibc, one with no libc at all, and another clone of the repository.
# Packages come from Debian's archive as apt verifies them, and stay in ~/.cache/agentjail; nothing is installed on this host.
#
# Usage: tests/wheel/elsewhere.sh     as root; `make check-elsewhere`
export AGENTJAIL_CACHE="${AGENTJAIL_CACHE:-${HOME:?}/.cache/agentjail}" # before a test's own home
. "$(dirname "$0")/../lib.sh"

top=$(cd "$tests/.." && pwd -P)
WHEEL=$(readlink -f "$(echo "$top"/build/wheel/*.whl)")
unset AGENTJAIL AGENTJAIL_ROOTFS PYTHONPATH
USER_ID=58902

[ "$(id -u)" = 0 ] || { skip "other systems" "only root can change the root of all files"; finish; }

. "$tests/wheel/systems.sh"

# The program of the wheel and its tree, as pip puts them below a prefix.
unpack() { # ROOT
	mkdir -p "$T/$1/usr/local/bin" "$T/unpacked"
	[ -d "$T/unpacked/agentjail" ] || (cd "$T/unpacked" && "$PY" -m zipfile -e "$WHEEL" .)
	cp "$T"/unpacked/*.data/scripts/agentjail "$T/$1/usr/local/bin/"
	cp -R "$T"/unpacked/*.data/data/libexec "$T/$1/usr/local/"
	# zipfile makes no file executable, installers do.
	chmod +x "$T/$1"/usr/local/bin/agentjail "$T/$1"/usr/local/libexec/agentjail/rootfs/default/tree/usr/bin/python3 \
		"$T/$1"/usr/local/libexec/agentjail/rootfs/default/tree/usr/lib64/ld-*
	chmod -R a+rX "$T/$1"
}
on() { # SYSTEM ROOT: what must hold on each
	for user in 0 $USER_ID; do
		is "$1, user $user: a snippet" 4 "$(enter "$2" $user /usr/local/bin/agentjail exec -c 2+2)"
		is "$1, user $user: modules of the tree" "3.14 1" "$(enter "$2" $user /usr/local/bin/agentjail exec -c 'import decimal, hashlib, json
print(decimal.Decimal("3.14"), json.loads("1"))')"
		is "$1, user $user: the tree is as in its manifest" "/usr/local/libexec/agentjail/rootfs/default: 1" \
			"$(enter "$2" $user /usr/local/bin/agentjail rootfs verify /usr/local/libexec/agentjail/rootfs/default | sed 's/: .*/: 1/')"
	done
}

# --- no libc at all: nothing but the wheel's files ---
mkdir -p "$T/nothing/proc" "$T/nothing/dev" "$T/nothing/tmp"
unpack nothing
on "no libc" nothing

# --- musl: a program that is linked to it runs, one that is linked to glibc does not ---
if release bookworm musl busybox-static >"$T/log" 2>&1; then
	mv "$T/bookworm" "$T/musl"
	rm -rf "$T"/musl/usr/lib/x86_64-linux-gnu/libc.so.6 "$T"/musl/usr/lib64/ld-linux*
	unpack musl
	is "musl: it is" "musl libc" "$(enter musl 0 /lib/ld-musl-x86_64.so.1 | head -n 1 | cut -d' ' -f1,2)"
	on musl musl
	is "musl: a command of the system" "hello" "$(enter musl $USER_ID /usr/local/bin/agentjail run -- /bin/busybox echo hello)"
else
	fail "musl" "$(tail -c 500 "$T/log")"
fi

# --- Debian 11: an older glibc. Its Python is older than the client's 3.10, so the program alone is tried ---
if release bullseye libc-bin dash coreutils python3-minimal >"$T/log" 2>&1; then
	unpack bullseye
	is "Debian 11: glibc" 2.31 "$(enter bullseye 0 /usr/bin/getconf GNU_LIBC_VERSION | cut -d' ' -f2)"
	on "Debian 11" bullseye
	is "Debian 11: a command of the system" 3.9 "$(enter bullseye $USER_ID /usr/local/bin/agentjail run -- python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
else
	fail "Debian 11" "$(tail -c 500 "$T/log")"
fi

# --- Debian 13: its own pip and Python, and a jail's Python of another version ---
if release trixie libc-bin dash python3 python3-pip >"$T/log" 2>&1; then
	cp "$WHEEL" "$T/trixie/"
	# Which ca-certificates would do as it is installed, and pip reads although it needs no index.
	mkdir -p "$T/trixie/etc/ssl/certs" && cat "$T"/trixie/usr/share/ca-certificates/mozilla/*.crt >"$T/trixie/etc/ssl/certs/ca-certificates.crt"
	is "Debian 13: pip" "" "$(enter trixie 0 /usr/bin/python3 -m pip install -q --no-index --break-system-packages --root-user-action ignore "/${WHEEL##*/}")"
	chmod -R a+rX "$T/trixie/usr/local"
	on "Debian 13" trixie
	is "Debian 13: the client" "(3, 13) (3, 11)" "$(enter trixie $USER_ID /usr/bin/python3 -c 'import sys, agentjail
print(sys.version_info[:2], agentjail.run("import sys; sys.version_info[:2]").value)')"
else
	fail "Debian 13" "$(tail -c 500 "$T/log")"
fi

# --- another clone, compiled again, gives the same bytes ---
clone() (
	git clone -q "$top" "$T/another/place/of/the/source" && cd "$T/another/place/of/the/source" &&
		mkdir -p build/cache && cp -R "$top/build/cache/rootfs" "$top/build/cache/hatchling" build/cache/ &&
		nice make -s -j"$(nproc)" wheel >"$T/log" 2>&1 && cmp build/wheel/*.whl "$WHEEL" || { tail -c 1000 "$T/log"; exit 1; }
)
if git -C "$top" diff --quiet HEAD -- . 2>/dev/null; then
	check "built in another clone: the same bytes" clone
else
	skip "built in another clone" "the work tree differs from its last commit"
fi

finish
