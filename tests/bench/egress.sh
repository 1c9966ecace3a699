#!/bin/sh
# Connections through the relay beside direct ones over loopback, in one run: on all processors, then the latencies on one; then
# agentjail's own way and its peers', from within their sandboxes (egress_peers.py). With --write the table in docs/internals/network.md is replaced.
# With ROWS (words of rows[] in egress.c) it prints these rows alone, on all processors: for one program beside another, in turns.
# It measures in network namespaces of its own, as root or as a user who may make them, and touches no network of the host's.
#
# usage: tests/bench/egress.sh [--write]    BUILD=build ROWS='cost 16-streams beside'
set -eu
cd "$(dirname "$0")/../.."
: "${BUILD:=build}"

if [ "${1:-}" != inside ] && [ -n "${ROWS:-}" ]; then
	exec unshare -Urnm sh "$0" inside
elif [ "${1:-}" != inside ]; then
	mkdir -p "$BUILD/bench"
	python3 tests/bench/egress_peers.py install "$BUILD"
	unshare -Urnm sh "$0" inside >"$BUILD/bench/egress.txt.new"
	mv "$BUILD/bench/egress.txt.new" "$BUILD/bench/egress.txt"
	cat "$BUILD/bench/egress.txt"
	[ "${1:-}" != --write ] || python3 tests/bench/egress_peers.py write "$BUILD/bench/egress.txt" docs/internals/network.md
	exit 0
fi

work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
ip link set lo up
ip route add local 203.0.113.0/24 dev lo
# 60,000 connections to one port, and more than there are ports in a minute: a series must not run out of what the one before has closed.
echo 1 >/proc/sys/net/ipv4/tcp_tw_reuse
echo 8192 65000 >/proc/sys/net/ipv4/ip_local_port_range
printf '127.0.0.1 localhost\n203.0.113.10 bench.example.org\n' >"$work/hosts"
printf 'nameserver 127.0.0.1\n' >"$work/resolv.conf"
mount --bind "$work/hosts" /etc/hosts
mount --bind "$work/resolv.conf" /etc/resolv.conf
exec 3</proc/self/ns/net
ulimit -n 16384 2>/dev/null || :

run() {
	# shellcheck disable=SC2086
	$1 "$BUILD/relayed" --connections 2000 bench.example.org:7000 bench.example.org:443 bench.example.org:7001 203.0.113.10:7001 203.0.113.10:7000 203.0.113.10:443 -- \
		"$BUILD/bench-egress" ${2:-} 2>"$work/events" || { tail -n 5 "$work/events" >&2; exit 1; }
}
if [ -n "${ROWS:-}" ]; then
	run '' "$ROWS"
	exit 0
fi
echo "On $(nproc) processors:"
run ''
echo 'On one processor:'
run 'taskset -c 0' latency
echo 'From within sandboxes, by a client in Python:'
python3 tests/bench/egress_peers.py measure "$BUILD"
