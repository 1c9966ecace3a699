#!/bin/sh
# Machine code of a snippet's own under python.native = "tree" (native.py), in a tree that has a module for raw system calls.
. "$(dirname "$0")/../lib.sh"

cp -r "$ROOTFS" "$T/rootfs" && cp "$(dirname "$AJ")/raw.so" "$T"/rootfs/tree/usr/lib/python3.*/ && chmod -R a+rX "$T/rootfs"
driver escape/native "$T/rootfs"
finish
