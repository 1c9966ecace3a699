"""Runs a command whose processes get no IP_TRANSPARENT, as on a kernel without nft_tproxy: a jail's network by allow-list is led by NAT then.

usage: by_nat.py COMMAND..."""

import ctypes
import os
import platform
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD, JUMP_IF, RETURN, ALLOW, ERRNO, EPERM = 0x20, 0x15, 0x06, 0x7FFF0000, 0x00050000, 1
NR_AT, LEVEL_AT, NAME_AT = 0, 24, 32
SETSOCKOPT = {"x86_64": 54, "aarch64": 208}[platform.machine()]
IPPROTO_IP, IP_TRANSPARENT = 0, 19


def main() -> None:
    code = [
        (LOAD, 0, 0, NR_AT),
        (JUMP_IF, 0, 5, SETSOCKOPT),
        (LOAD, 0, 0, LEVEL_AT),
        (JUMP_IF, 0, 3, IPPROTO_IP),
        (LOAD, 0, 0, NAME_AT),
        (JUMP_IF, 0, 1, IP_TRANSPARENT),
        (RETURN, 0, 0, ERRNO | EPERM),
        (RETURN, 0, 0, ALLOW),
    ]
    filters = b"".join(struct.pack("<HBBI", *row) for row in code)
    room = ctypes.create_string_buffer(filters, len(filters))
    program = struct.pack("<HxxxxxxQ", len(code), ctypes.addressof(room))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0) < 0:
        raise OSError(ctypes.get_errno(), "install the filter")
    os.execv(sys.argv[1], sys.argv[1:])


main()
