#!/bin/sh
# Runs a command with mounts and System V objects of its own, so that a test that looks whether one is left sees only what is ours.
# It changes no mount of the host; where namespaces cannot be made (only root makes these) the command runs without, and is told so.
#
# Usage: tests/apart.sh COMMAND...     the command finds AJ_APART=1 in its environment, or an empty one
set -u

# Shared among themselves, as a host's mounts are: one that a jail lets escape arrives here. Private towards the host: its own do not.
export AJ_APART=1
if [ "$(id -u)" = 0 ] && unshare -m -i --propagation private mount --make-rshared / 2>/dev/null; then
	# shellcheck disable=SC2016
	exec unshare -m -i --propagation private sh -c 'mount --make-rshared / && exec "$@"' sh "$@"
fi
AJ_APART=''
exec "$@"
