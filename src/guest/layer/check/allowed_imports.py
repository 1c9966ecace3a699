"""The import patterns of a policy, which the check and the import guard match against, and when a refusal is reported.
A pattern allows modules by their full names; the layer's own modules are refused under every pattern.
"""

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)


class AllowedImports:
    """`numpy` is that module, `numpy.*` that module and all below it, `*` every module."""

    def __init__(self, patterns, checked="before"):
        self.patterns = patterns
        self.checked_before = checked == "before"   # else a refused import raises where it stands
        self.error = ImportError    # what that raises
        self.exact = set()
        self.prefixes = []
        self.all = False
        for p in patterns:
            if p == "*":
                self.all = True
            elif p[-2:] == ".*":
                self.exact.add(p[:-2])
                self.prefixes.append(p[:-1])
            else:
                self.exact.add(p)

    def allows(self, name):
        """May agent code import the module of this full name?"""
        if name == "agentjail" or name[:10] == "agentjail.":
            return False
        return self.all or name in self.exact or (
            name == "__future__" or name == "__main__" or bool(self.prefixes) and name.startswith(tuple(self.prefixes)))

    def allows_below(self, name):
        """Is a module below this one allowed? `import a.b` needs a way through a, and gets no more than that."""
        below = name + "."
        for p in self.exact:
            if p.startswith(below):
                return True
        return False
