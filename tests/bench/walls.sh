#!/bin/sh
# walls.sh [RUNS] [--json]: what single walls cost. In each group the first row is without the wall, the second one with it.
# It installs nothing and passes or fails nothing: times are for a person to read, on a machine that does nothing else.
set -eu
cd "$(dirname "$0")/../.."

runs=100 json=''
for argument; do
	case $argument in
	--json) json=--json ;;
	*[!0-9]* | '') echo 'usage: walls.sh [RUNS] [--json]' >&2; exit 2 ;;
	*) runs=$argument ;;
	esac
done
. tests/bench/lines.sh

jail=$(join "$agentjail" run --)

# A group for each wall: `put cell GROUP NAME FILE ARG...`, FILE `-` for none.
group='the network namespace'
put cell "$group" 'run --network host -- true' - "$agentjail" run --network host -- true
put cell "$group" 'run -- true' - "$jail" true

group='a log file, which the supervisor writes'
put cell "$group" 'run -- head -c 64M /dev/zero | cat > FILE' - sh -c '"$0" run -- head -c 64M /dev/zero | cat > "$1"' "$agentjail" "$out/log"
put cell "$group" 'run -- head -c 64M /dev/zero > FILE' - sh -c '"$0" run -- head -c 64M /dev/zero > "$1"' "$agentjail" "$out/log"
put cell "$group" 'run -- true > FILE' - sh -c '"$0" run -- true > "$1"' "$agentjail" "$out/log"

read -r load _ < /proc/loadavg
put note "$(uname -sr), $(nproc) CPUs, as $([ "$(id -u)" -eq 0 ] && echo root || echo 'an ordinary user'), load $load at the start"
"$out/bench" "$runs" ${json:+"$json"} < "$lines"
