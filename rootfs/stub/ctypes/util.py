"""Stands where ctypes.util would: threadpoolctl imports it at start.
It finds no library."""


def find_library(name):
    return None
