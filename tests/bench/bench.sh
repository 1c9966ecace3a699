#!/bin/sh
# bench.sh [RUNS] [--json]: agentjail beside bare programs and beside the peers that are installed, in one interleaved run.
# It installs nothing and passes or fails nothing: times are for a person to read, on a machine that does nothing else.
set -eu
cd "$(dirname "$0")/../.."

runs=200 json=''
. tests/bench/lines.sh
filters=$(dirname "$agentjail")/gen/filters.o
chmod 711 "$out" # the jail's user goes through it
$CC -std=gnu11 -O2 -Wall -Wextra -D_GNU_SOURCE -static -o "$out/floor" tests/bench/floor.c
$CC -std=gnu11 -O2 -Wall -Wextra -D_GNU_SOURCE -Isrc -o "$out/dump-filter" tests/bench/dump_filter.c "$filters"
"$out/dump-filter" > "$out/command.bpf"

missing=''
find_peer() {
	peer=$(command -v "$1" || true)
	[ "$peer" ] || missing="$missing $1"
	[ "$peer" ]
}

# Launchers as prefixes of a command line. The walls are the same: user, PID, mount, network, IPC, UTS and cgroup
# namespaces, read-only /usr, /dev, /proc, private /tmp, clean environment; --seccomp: our filter for commands.
jail=$(join "$agentjail" run --)
floor=$(join "$out/floor")
bwrap='' nsjail='' firejail=''
if find_peer bwrap; then
	walls=$(join --unshare-all --uid 1000 --gid 1000 --ro-bind /usr /usr --symlink usr/lib /lib --symlink usr/lib64 /lib64 \
		--symlink usr/bin /bin --proc /proc --dev /dev --tmpfs /tmp --die-with-parent --new-session --clearenv \
		--setenv PATH /usr/bin:/bin)
	bwrap=$(join "$peer" "$walls")
fi
if find_peer nsjail; then
	nsjail=$(join "$peer" -Mo -Q -u "1000:$(id -u):1" -g "1000:$(id -g):1" -R /usr -s usr/lib:/lib -s usr/lib64:/lib64 -s usr/bin:/bin \
		-T /tmp -E PATH=/usr/bin:/bin --)
fi
if find_peer firejail; then
	firejail=$(join "$peer" --noprofile --quiet --net=none --ipc-namespace --private-tmp --caps.drop=all --nonewprivs --seccomp \
		--read-only=/ --)
fi
for other in minijail0 crun runc; do find_peer "$other" || :; done

group='a static program that does nothing'
put cell "$group" bare - "$out/true"
put cell "$group" 'floor: the walls, the fewest calls' "$out/command.bpf" "$floor" --bind "$out/true" /opt/true
put cell "$group" 'agentjail run' - "$agentjail" run --bind "$out/true:/opt/true" -- /opt/true
[ -z "$bwrap" ] || put cell "$group" bubblewrap - "$bwrap" --ro-bind "$out/true" /opt/true -- /opt/true
[ -z "$bwrap" ] || put cell "$group" 'bubblewrap, our filter' "$out/command.bpf" "$bwrap" --seccomp 9 --ro-bind "$out/true" /opt/true -- \
	/opt/true

group='true'
put cell "$group" bare - /usr/bin/true
put cell "$group" 'floor: the walls, the fewest calls' "$out/command.bpf" "$floor" /usr/bin/true
put cell "$group" 'agentjail run -- true' - "$jail" true
[ -z "$bwrap" ] || put cell "$group" 'bubblewrap -- true' - "$bwrap" -- true
[ -z "$bwrap" ] || put cell "$group" 'bubblewrap, our filter -- true' "$out/command.bpf" "$bwrap" --seccomp 9 -- true
[ -z "$nsjail" ] || put cell "$group" 'nsjail -- true' - "$nsjail" /usr/bin/true
[ -z "$firejail" ] || put cell "$group" 'firejail -- true' - "$firejail" true

group='Python'
put cell "$group" "bare python3 -c 'print(2+2)'" - "$python" -c 'print(2+2)'
put cell "$group" 'bare python3 -I -S -c pass' - "$python" -I -S -c pass
put cell "$group" 'floor: python3 -I -S -c pass' "$out/command.bpf" "$floor" "$python" -I -S -c pass
put cell "$group" 'agentjail exec --json -c 2+2' - "$agentjail" exec --json -c 2+2
put cell "$group" 'agentjail exec --json, 5 imports' - "$agentjail" exec --json -c 'import json, math, re, random, datetime; 2+2'
put cell "$group" 'agentjail run -- python3 -I -S -c pass' - "$jail" "$python" -I -S -c pass
[ -z "$bwrap" ] || put cell "$group" 'bubblewrap -- python3 -I -S -c pass' - "$bwrap" -- "$python" -I -S -c pass
[ -z "$bwrap" ] || put cell "$group" 'bubblewrap, our filter -- python3 -I -S -c pass' "$out/command.bpf" "$bwrap" --seccomp 9 -- "$python" \
	-I -S -c pass
[ -z "$nsjail" ] || put cell "$group" 'nsjail -- python3 -I -S -c pass' - "$nsjail" "$python" -I -S -c pass

group='the launcher alone: --version'
put cell "$group" 'a static program' - "$out/true"
put cell "$group" agentjail - "$agentjail" --version
[ -z "$bwrap" ] || put cell "$group" bubblewrap - "${bwrap%%"$tab"*}" --version

put flow 'bare python3 -I -S -c pass' - "$python" -I -S -c pass
put flow 'agentjail exec --json -c 2+2' - "$agentjail" exec --json -c 2+2
[ -z "$bwrap" ] || put flow 'bubblewrap -- python3 -I -S -c pass' - "$bwrap" -- "$python" -I -S -c pass
[ -z "$bwrap" ] || put flow 'bubblewrap, our filter -- python3 -I -S -c pass' "$out/command.bpf" "$bwrap" --seccomp 9 -- "$python" -I -S -c pass

put peak 'agentjail run -- sleep 1' - "$jail" sleep 1
put peak 'agentjail exec (time.sleep)' - "$agentjail" exec --json -c 'import time; time.sleep(1)'
[ -z "$bwrap" ] || put peak 'bubblewrap -- sleep 1' - "$bwrap" -- sleep 1
[ -z "$nsjail" ] || put peak 'nsjail -- sleep 1' - "$nsjail" /usr/bin/sleep 1
[ -z "$firejail" ] || put peak 'firejail -- sleep 1' - "$firejail" sleep 1

read -r load _ < /proc/loadavg
put note "$(uname -sr), $(nproc) CPUs, $("$python" --version 2>&1), as $([ "$(id -u)" -eq 0 ] && echo root || echo 'an ordinary user'), load $load at the start"
[ -z "$bwrap" ] || put note "$("${bwrap%%"$tab"*}" --version)"
[ -z "$missing" ] || put note "not installed, so not measured:$missing"

"$out/bench" "$runs" ${json:+"$json"} < "$lines"
