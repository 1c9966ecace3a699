#!/bin/sh
# Memory by cgroup: who goes over the limit ends, all of the jail with it, and the verdict is the kernel's, with limit and peak.
# It times nothing; sizes are compared with what the jail really touched.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../delegated.sh"
fresh m
M=$CG/m
MB=1048576
hog="--cgroup $M --bind $PROBE:/opt/probe"
by_kernel() { # NAME LIMIT-IN-MB: what must be said of the last run
	check "$1: it is said by whom and at how much" expect status=oom 'limits_hit=["memory"]' "reason~$(($2 * MB)) bytes.*kernel" 'enforced.memory=cgroup v2 memory.max'
	between "$1: the peak is the limit" $(($2 * MB * 95 / 100)) $(($2 * MB)) "$(number peak_memory_bytes)"
	is "$1: the cgroup is gone" "" "$(leaves "$M")"
	check "$1: nothing is left" gone
}

# --- over the limit ---
json "a snippet" 137 status=oom -- exec --cgroup "$M" --memory 64M -c 'b = []
while True: b.append(bytearray(1 << 20))'
by_kernel "a snippet" 64
# shellcheck disable=SC2086
json "a command" 137 status=oom -- run $hog --memory 64M -- /opt/probe memhog 500
by_kernel "a command" 64
# shellcheck disable=SC2086
json "a child of the command" 137 status=oom 'stdout!outlived' -- run $hog --memory 64M -- sh -c '/opt/probe memhog 500; echo outlived; exit 0'
by_kernel "a child of the command" 64
# shellcheck disable=SC2086
json "a grandchild that nobody waits for" 137 status=oom -- run $hog --memory 64M -- sh -c '(setsid /opt/probe memhog 500 &) ; sleep 600'
by_kernel "a grandchild that nobody waits for" 64
# shellcheck disable=SC2086
json "processes that are small each" 137 status=oom -- run $hog --memory 64M -- \
	sh -c 'for i in 1 2 3 4; do sh -c "/opt/probe memhog 25; sleep 600" & done; wait'
by_kernel "processes that are small each" 64
json "files in /tmp" 137 status=oom -- run --cgroup "$M" --memory 64M -- dd if=/dev/zero of=/tmp/file bs=1M count=300
by_kernel "files in /tmp" 64
text "as text" 137 'agentjail: oom: memory limit of 67108864 bytes' exec --cgroup "$M" --memory 64M -c 'b = []
while True: b.append(bytearray(1 << 20))'

# --- below it ---
for size in 40 200; do
	# shellcheck disable=SC2086
	json "$size MB fit in 256" 0 status=ok 'limits_hit=[]' "stdout=memory $size OK\n" 'enforced.memory=cgroup v2 memory.max' -- run $hog --memory 256M -- /opt/probe memhog $size
done
between "the peak of 200 MB, within 5 %" $((190 * MB)) $((210 * MB)) "$(number peak_memory_bytes)"
# shellcheck disable=SC2086
json "two processes of 60 MB" 0 status=ok -- run $hog --memory 256M -- sh -c 'sh -c "/opt/probe memhog 60; sleep 5" & (sleep 1; /opt/probe memhog 1; kill %1 2>/dev/null; true) & wait'
# shellcheck disable=SC2086
json "two processes, one after the other, do not add up" 0 status=ok -- run $hog --memory 256M -- sh -c '/opt/probe memhog 100; /opt/probe memhog 100'
between "their peak" $((95 * MB)) $((115 * MB)) "$(number peak_memory_bytes)"
json "a snippet of nothing" 0 status=ok -- exec --cgroup "$M" --memory 256M -c '0'
small=$(number peak_memory_bytes)
json "a snippet of 100 MB" 0 status=ok -- exec --cgroup "$M" --memory 256M -c 'b = bytearray(100 << 20)
for i in range(0, len(b), 4096): b[i] = 1
0'
between "the difference of their peaks, within 5 %" $((95 * MB)) $((105 * MB)) $(($(number peak_memory_bytes) - small))
json "MemoryError alone is no oom" 1 status=error error.type=MemoryError 'limits_hit=[]' -- exec --cgroup "$M" -c 'raise MemoryError("mine")'
json "SIGKILL alone is no oom" 137 status=signal signal=9 'limits_hit=[]' -- run --cgroup "$M" --memory 64M -- sh -c 'kill -KILL $$'
json "an exit code of 137 is no oom" 1 status=error 'limits_hit=[]' -- exec --cgroup "$M" --layer off -c 'import os; os._exit(137)'
is "no cgroup is left of all that" "" "$(leaves "$M")"

# --- two jails beside each other ---
timeout 120 "$AJ" run --cgroup "$M" --memory 128M --bind "$PROBE:/opt/probe" -- sh -c '/opt/probe memhog 80; echo still; read end' <"$T/canary" >"$T/one" 2>&1 &
one=$!
# shellcheck disable=SC2086
json "a neighbour that goes over its limit" 137 status=oom -- run $hog --memory 32M -- /opt/probe memhog 500
wait $one
is "does no harm to the other" "0 still" "$? $(tail -n 1 "$T/one")"

finish
