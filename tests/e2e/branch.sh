#!/bin/sh
# Branches of sessions (branch.py), in a tree that has a module for raw system calls.
. "$(dirname "$0")/../lib.sh"

cp -r "$ROOTFS" "$T/rootfs" && cp "$(dirname "$AJ")/raw.so" "$T"/rootfs/tree/usr/lib/python3.*/ && chmod -R a+rX "$T/rootfs"
driver e2e/branch "$T/rootfs"
finish
