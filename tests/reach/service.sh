#!/bin/sh
# The service's resources that jails and clients can take: its thread, its connections, its memory. The tests are in service.py.
. "$(dirname "$0")/../lib.sh"

driver reach/service
finish
