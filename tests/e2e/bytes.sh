#!/bin/sh
# Bytes and characters are kept (bytes.py): in output that is no text, and in strings on their way through each interface.
. "$(dirname "$0")/../lib.sh"

driver e2e/bytes
finish
