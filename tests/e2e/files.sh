#!/bin/sh
# Files in and out of the service's jails: the tests are in files.py.
. "$(dirname "$0")/../lib.sh"

driver e2e/files
finish
