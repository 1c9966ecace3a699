#!/bin/sh
# A runner that lies: it sends what no runner sends, too early, too late, too much, or nothing.
# The supervisor must call each lie by its name, believe none of it, and end in time; what the runner attests is never used.
. "$(dirname "$0")/../lib.sh"
runner_rootfs

# After the request: LIE|EXIT|EXPECT
while IFS='|' read -r lie want status; do
	aj exec --json --timeout 2s --rootfs "$T/runner" -c "evil $lie"
	check "$lie" expect "status=$status" 'enforced.seccomp~snippet' 'wall_ms<60000' 'stdout='
	is "$lie: exit code" "$want" "$rc"
	check "$lie: the object is small" test "$(wc -c <"$T/out")" -lt 8000
done <<'TABLE'
duplicate|123|protocol_error
nan|123|protocol_error
infinity|123|protocol_error
bad-utf8|123|protocol_error
surrogate|123|protocol_error
nul|123|protocol_error
unknown-key|123|protocol_error
forged|123|protocol_error
misshapen|123|protocol_error
no-status|123|protocol_error
claims-timeout|123|protocol_error
claims-oom|123|protocol_error
array|123|protocol_error
empty|123|protocol_error
text|123|protocol_error
trailing|123|protocol_error
wrong-kind|123|protocol_error
unknown-kind|123|protocol_error
armed-twice|123|protocol_error
failed-late|123|protocol_error
started-late|123|protocol_error
started-twice|123|protocol_error
started-rejected|123|protocol_error
second|123|protocol_error
deep|123|protocol_error
flood|123|protocol_error
big|123|protocol_error
truncated|1|error
leave|1|error
leave-124|1|error
mute|124|timeout
hang-up|124|timeout
linger|0|ok
answer-and-exit-7|0|ok
kill-supervisor|0|ok
TABLE
# Before it: nothing has run, and that is what is said.
while IFS='|' read -r lie want status step; do
	echo "$lie" >"$T/runner/tree/usr/evil"
	chmod 644 "$T/runner/tree/usr/evil"
	aj exec --json --timeout 2s --rootfs "$T/runner" -c 'say RAN'
	check "$lie" expect "status=$status" 'wall_ms<60000' ${step:+"error.step=$step"}
	is "$lie: exit code" "$want" "$rc"
	silent "$lie: no code was handed over" RAN
	case $status in timeout) check "$lie: and the result says so" expect 'reason~no code was handed over' ;; esac
done <<'TABLE'
unfiltered|125|setup_error|attest
child-armed|125|setup_error|attest
impatient|125|setup_error|attest
failed|125|setup_error|runner
leave-early|125|setup_error|runner
early|123|protocol_error|
early-started|123|protocol_error|
garbage|123|protocol_error|
no-listener|123|protocol_error|
false-listener|125|setup_error|
huge|123|protocol_error|
mute-early|124|timeout|
hang-up-early|124|timeout|
TABLE
echo failed >"$T/runner/tree/usr/evil"
aj exec --rootfs "$T/runner" -c 'say RAN'
check "a failing runner's text is made harmless" sh -c "! grep -q \"\$(printf '\\033')\" '$T/err'"
rm "$T/runner/tree/usr/evil"
json "control: an honest runner" 0 status=ok 'stdout=RAN\n' -- exec --rootfs "$T/runner" -c 'say RAN'

# A supervisor that is lied to at length must not grow: its own peak, in KiB.
"$PY" -I -S - "$AJ" "$T/runner" <<'EOS' >"$T/out" 2>&1
import os, resource, subprocess, sys
for lie in ("flood", "big", "deep", "say"):
    pid = os.posix_spawn(sys.argv[1], [sys.argv[1], "exec", "--json", "--rootfs", sys.argv[2], "-c", "evil " + lie], os.environ,
                         file_actions=[(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
    usage = os.wait4(pid, 0)[2]
    print(lie, "small" if usage.ru_maxrss < 64 << 10 else "%d KiB" % usage.ru_maxrss)
EOS
for lie in flood big deep; do says "$lie: the supervisor stays small" "^$lie small"; done

finish
