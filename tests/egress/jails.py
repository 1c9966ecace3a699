"""What the attacks of these tests have in common: a world with an API that is allowed and hosts that are not, and a jail that runs lines of
inside.py. An attack has failed when no server saw it and the result's violations say so.

A script imports this module first of all: that starts it again inside the world (world.enter())."""

import json
import os
import socket

import world

world.enter()
from client import AJ, FOLDER  # noqa: E402

W = world.World(AJ, FOLDER)
with open(os.path.join(world.HERE, "inside.py"), encoding="utf-8") as source:
    INSIDE = source.read()
API = "api.allowed.test"
W.name(API, "203.0.113.7", "2001:db8::7")
W.name("evil.test", "203.0.113.99")
W.name("pkg.test", "203.0.113.20")
for each in ("a.pkg.test", "b.pkg.test"):
    W.name(each, "203.0.113.21")


def jail(code, *args, allow=(API + ":443",), **how):
    """Runs lines of Python in a jail; `lines` of the result are what said() said."""
    W.forget()
    run = W.python(INSIDE + code, *args, allow=allow, **how)
    run.lines = [json.loads(line) for line in run.stdout.splitlines() if line[:1] in '["0123456789ntf{']
    return run


def refused(run, host, port, why=""):
    """The violation of a host and port (None: of the name itself), where there is one."""
    return any(v.get("host") == host and v.get("port") == port and why in v["why"] and v["instead"] and v["count"] > 0 for v in run.result.get("violations", []))


ALERT = "\x15\3\3\0\2\2\x31"  # TLS: access_denied, fatal


def kept_out(line):
    """Did a connection end without a byte of a server: by an error, or by an answer of agentjail's own that says why?"""
    return line[:1] == "!" or line in ("", ALERT) or (line.startswith(("HTTP/1.1 403 ", "SSH-2.0-agentjail")) and "agentjail: " in line and " was refused: " in line)


def unseen(**want):
    return not W.log("internet", **want) and not W.log("host", **want)


def connects(place):
    """Does a server answer the test itself there?"""
    try:
        socket.create_connection(place, 1).close()
    except OSError:
        return False
    return True
