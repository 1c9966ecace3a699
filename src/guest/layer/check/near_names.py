"""Find the name that a misspelled one probably means. Loaded only after an error."""

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)

MAX_NAMES = 2000


def distance(a, b, most):
    """Edit distance (Damerau-Levenshtein) from a to b; most + 1 if it exceeds `most`."""
    if abs(len(a) - len(b)) > most:
        return most + 1
    before, row = [], list(range(len(b) + 1))
    for i, x in enumerate(a):
        older, before, row = before, row, [i + 1]
        for j, y in enumerate(b):
            cost = min(before[j + 1] + 1, row[j] + 1, before[j] + (x != y))
            if i and j and x == b[j - 1] and a[i - 1] == y:
                cost = min(cost, older[j - 1] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return row[-1]


def nearest(word, names):
    """The name that the word may be a misspelling of, or None."""
    if type(word) is not str or not 2 < len(word) < 60:
        return None
    most = max(1, len(word) // 4)
    best = None
    for name in [n for n in names if type(n) is str and n != word][:MAX_NAMES]:
        edits = 0 if name.lower() == word.lower() else distance(word, name, most)
        rank = edits, abs(len(name) - len(word)), name
        if edits <= most and (best is None or rank < best):
            best = rank
    return best and best[2]
