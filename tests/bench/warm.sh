#!/bin/sh
# warm.sh [ROUNDS]: jails from a zygote, sessions and tools, beside their floors and the peers that are installed, in one run.
# It installs nothing and passes or fails nothing: times are for a person to read, on a machine that does nothing else.
set -eu
cd "$(dirname "$0")/../.."

rounds=${1:-300}
build=build/bench
mkdir -p "$build"
python=$(pwd)/build/rootfs/default/tree/usr/bin/python3 # the jails' own
# shellcheck disable=SC2086
${CC:-cc} -std=gnu11 -O2 -Wall -Wextra -D_GNU_SOURCE -Isrc -shared -fPIC -o "$build/floor_fork.so" tests/bench/floor_fork.c build/gen/filters.o

set -- "$rounds" "$python" tests/bench/floor.py "$build" "$(pwd)/build/agentjail"
if peer=$(command -v bwrap); then
	set -- "$@" "$peer" --unshare-all --uid 1000 --gid 1000 --ro-bind /usr /usr --symlink usr/lib /lib --symlink usr/lib64 /lib64 \
		--symlink usr/bin /bin --proc /proc --dev /dev --tmpfs /tmp --die-with-parent --new-session --clearenv \
		--setenv PATH /usr/bin:/bin -- /usr/bin/python3 -I -S -c pass
fi
AGENTJAIL_ROOTFS=$(pwd)/build/rootfs/default exec build/bench-warm "$@"
