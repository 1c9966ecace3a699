"""The state that must differ in a copy of the process: random generators, and ids that libraries derive from the process.
A generator that cannot be seeded anew ends the copy: two jails must not draw the same numbers, unless their callers chose the
same seed for them. A seed of a caller's loads no module.

Each seeder takes as few steps as it can: every object that it touches becomes a page of the jail's own.
"""

import sys
from _random import Random
from _thread import get_native_id

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)

REAL_SEED = Random.seed


def reseed(entropy):
    """In a newborn jail, or in a branch of a session between snippets. entropy: 64 random bytes that no other copy has."""
    number = int.from_bytes(entropy, "little")
    if FINDERS:  # else sys.meta_path would become a page of the jail's own
        sys.meta_path.remove(FINDERS.pop())
    for name, seed in SEEDERS.items():
        module = sys.modules.get(name)
        if module is not None:
            try:
                seed(module, number, entropy)
            except Exception as e:
                raise RuntimeError("%s cannot be seeded anew: %s" % (name, e)) from None


def seed_random(module, number, entropy):
    instance = module._inst
    REAL_SEED(instance, number)
    instance.gauss_next = None


def seed_threading(module, number, entropy):
    module._main_thread._native_id = get_native_id()


def seed_numpy(module, number, entropy):
    module.seed([number >> 32 * i & 0xffffffff for i in range(16)])


def seed_uuid(module, number, entropy):
    if module._node is not None or module._last_timestamp is not None:
        module._node = module._last_timestamp = None


def seed_tempfile(module, number, entropy):
    if module._name_sequence is not None:  # tempfile detects a fork by the process id, which is the same in every jail
        module._name_sequence = None


def seed_ssl(module, number, entropy):
    module.RAND_add(entropy, float(len(entropy)))


# Modules with a random state of their own. secrets, os.urandom and numpy's generators ask the kernel each time.
SEEDERS = {"random": seed_random, "threading": seed_threading, "numpy.random": seed_numpy, "uuid": seed_uuid,
           "tempfile": seed_tempfile, "ssl": seed_ssl}


# --- a seed that the caller chose ---

def seed_by_choice(number):
    """Before a snippet. number: from 0 to 2**32 - 1, which numpy takes too. The numbers are those after random.seed(number)."""
    for name, seed in CHOOSABLE.items():
        if name in sys.modules:
            seed(sys.modules[name], number)
    if not FINDERS:
        FINDERS.append(SeedingFinder())
        sys.meta_path.insert(0, FINDERS[0])
    FINDERS[0].number = number


FINDERS = []    # none, or the one that is in sys.meta_path


class SeedingFinder:
    """Seeds a module right after it was loaded, by an import of the code or of a library in the course of a call."""

    number = None

    def find_spec(self, name, path=None, target=None):
        if name not in CHOOSABLE:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None:
                execute = spec.loader.exec_module

                def exec_module(module):
                    execute(module)
                    CHOOSABLE[name](module, self.number)
                spec.loader.exec_module = exec_module
                return spec
        return None


CHOOSABLE = {"random": lambda module, number: seed_random(module, number, None),
             "numpy.random": lambda module, number: module.seed(number)}
