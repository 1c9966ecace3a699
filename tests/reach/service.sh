#!/bin/sh
# What jails and clients can take of the service: its thread, its connections, its memory. The tests are in service.py.
. "$(dirname "$0")/../lib.sh"

driver reach/service
finish
