#!/bin/sh
# Every system call of the launcher, from its start to its end, failed in turn: each run ends in an error that names the step, or is in
# the table of faults without consequence (faults.py) with all walls as in an undisturbed run; nothing hangs, nothing is left.
# It tries one errno a call, of calls that repeat themselves the last, and a call that several commands make in one of them.
# A user tries every second one of those that root tries in the same run.
# WHOLE=1 (`make check-whole`) tries the first of them, too, and FAULTS=all (`make faults`) everything.
. "$(dirname "$0")/../lib.sh"
INJECT=$(dirname "$AJ")/inject
"$INJECT" >/dev/null 2>&1
if [ $? = 77 ]; then
	skip "everything" "the injector knows x86-64 only"
	finish
fi
case $AJ in
*-san/*)
	skip "everything" "sanitizers do not work under ptrace"
	finish
	;;
esac
: "${FAULT_TABLE:=$T/table}"

ws=$T/ws
mkdir -p "$ws/keys" "$T/log"
echo hidden >"$ws/.env"
chmod -R a+rwX "$ws"
chmod 700 "$T/log"
printf '[audit]\ndestination = "file:%s"\n' "$T/log/trail.jsonl" >"$T/site.toml"
cat >"$T/command.toml" <<'TOML'
extends = "command"
[filesystem]
workspace = "read-write"
worktree = true
masks = ["/workspace/.env", "/workspace/keys"]
[network]
mode = "loopback"
[process]
deny_syscalls = ["threads", "ipc", "inotify"]
[limits]
wall = "60s"
TOML
printf 'extends = "snippet"\n[process]\ndeny_syscalls = ["threads"]\n' >"$T/snippet.toml"

# NAME [OPTION...] -- COMMAND...
faults() {
	counted "the driver" "$PY" -I -S -B "$tests/fault/faults.py" "$INJECT" "$FAULT_TABLE" "$@"
}

probe="--bind $PROBE:/opt/probe -- /opt/probe walls"
# Files of /output in its first folder and below it: some larger than a piece of the copy.
files='import os
os.makedirs("/output/s/t")
open("/output/a", "wb").write(bytes(100000))
for name in ("s/t/b", "c"):
    with open("/output/" + name, "w") as f: f.write(name)
2'
strict="--config $T/site.toml --policy-file $T/command.toml --workspace $ws"
# shellcheck disable=SC2086
if [ "${FAULTS:-}" = all ]; then
	for how in --all --sticky; do
		faults run $how -- "$AJ" run --json $probe
		faults run-allow $how -- "$AJ" run --json --allow-host a.test:80 $probe
		faults exec $how -- "$AJ" exec --json --output "$T/copies" --allow-import os -c "$files"
		faults run-policy $how -- "$AJ" run --json $strict $probe
		faults exec-policy $how -- "$AJ" exec --json --config "$T/site.toml" --policy-file "$T/snippet.toml" -c 1+1
	done
else
	# The policy's run has every call of a plain one; the snippet's has the runner's. Inside, a user id makes no difference.
	inside='' within="--role=supervisor --role=init --role=network"
	[ -n "${WHOLE:-}" ] || export FAULTS_MOST=1
	[ -n "$ROOT_TOO" ] || inside=yes within=''
	faults run-policy $within -- "$AJ" run --json $strict $probe
	[ -z "$inside" ] || faults run-allow --role=init -- "$AJ" run --json --allow-host a.test:80 $probe
	[ -z "$inside" ] || faults exec --role=supervisor --role=runner -- "$AJ" exec --json --output "$T/copies" --allow-import os -c "$files"
fi
finish
