#!/bin/sh
# The cgroups of a zygote and its jails: who is in which, what their limits are, and that nothing is left of them, however they end (zygote_cgroups.py).
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../delegated.sh"

fresh service
driver cgroup/zygote_cgroups "$CG/service"
finish
