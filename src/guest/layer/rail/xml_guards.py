"""The replacements in xml.dom and xml.sax, whose parsers also take an address where a path is meant: a snippet has no network.
They refuse addresses alone, `file:` among them: a path is opened as open() opens it.
"""

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)


def refuse_address(address, *args, **keys):
    raise PermissionError(13, "There is no network here: pass a path, a stream or text", address)


class NoNetwork:
    """In place of the module urllib.request."""
    urlopen = staticmethod(refuse_address)


class OnlyParse:
    """In place of the module urllib."""

    def __init__(self, parse):
        self.parse, self.request = parse, NoNetwork


def patch_saxutils(saxutils, guards):
    saxutils.urllib = OnlyParse(saxutils.urllib.parse)


def patch_builder(xmlbuilder, guards):
    xmlbuilder.DOMEntityResolver.resolveEntity = lambda self, publicId, systemId: refuse_address(systemId)
