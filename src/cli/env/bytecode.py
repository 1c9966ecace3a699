# Compiles every module below /env into /output: one part of `part[1]`, in a jail. It runs none of them.
import importlib.util
import os

number, parts = part
found = []
for folder, folders, names in os.walk("/env"):
    folders[:] = sorted(d for d in folders if d not in ("__pycache__", "tests", "test"))
    found += [os.path.join(folder, name) for name in sorted(names) if name.endswith(".py")]
for path in found[number::parts]:
    try:
        with open(path, "rb") as f:
            source = f.read()
        code = compile(source, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        continue
    made = "/output" + importlib.util.cache_from_source(path)[len("/env"):]
    os.makedirs(os.path.dirname(made), exist_ok=True)
    with open(made, "wb") as f:
        f.write(importlib._bootstrap_external._code_to_hash_pyc(code, importlib.util.source_hash(source), False))
