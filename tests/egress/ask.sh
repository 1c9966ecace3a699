#!/bin/sh
# Names that are not on the list, and a person, a command or a program that is asked about them; in ask.py.
. "$(dirname "$0")/../lib.sh"
. "$tests/egress/needs"
driver egress/ask
finish
