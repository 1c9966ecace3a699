#!/bin/sh
# A zygote as an attacker: a tree whose package does its worst at its import, and answers the supervisor with lies (zygote.py).
. "$(dirname "$0")/../lib.sh"

cp -r "$ROOTFS" "$T/rootfs" && cp "$(dirname "$AJ")/raw.so" "$T"/rootfs/tree/usr/lib/python3.*/ && chmod -R a+rX "$T/rootfs"
printf 'extends = "snippet"\n[python]\nlayer = false\nimports = ["evil"]\n' >"$T/policy.toml"
AGENTJAIL_ROOTFS=$T/rootfs
export AGENTJAIL_ROOTFS
driver reach/zygote "$T/rootfs" "$T/policy.toml"
finish
