"""The changes to the text of packages before they are compiled: a file, what stands there, what shall stand there, and why.
It changes no behaviour that a program can see but the time and the place of a file, and leaves a text that it does not find."""

EDITS = {
    # The jail has no /etc. Debian moved the file there; it is the one beside the fonts.
    "matplotlib/__init__.py": (
        ("yield '/etc/matplotlibrc'", "yield os.path.join(get_data_path(), 'matplotlibrc')"),
    ),
    # The list of fonts is made once, with the tree: a jail's /tmp is empty, and each start would read a hundred files.
    "matplotlib/font_manager.py": (
        ("\nfontManager = _load_fontmanager()\n",
         "\ntry:\n    fontManager = json_load(Path(__file__).with_name('fontlist.json'))\n"
         "except OSError:\n    fontManager = _load_fontmanager()\n"),
    ),
    # It would look for libraries by ctypes, which calls nothing here. A jail's environment has one thread for each of them.
    "threadpoolctl.py": (
        ("    def _load_libraries(self):\n", "    def _load_libraries(self):\n        return\n"),
    ),
    # A jail has no process beside its own: what would run in several runs in one, as joblib does without the module.
    "joblib/_multiprocessing_helpers.py": (
        ("'JOBLIB_MULTIPROCESSING', 1)", "'JOBLIB_MULTIPROCESSING', 0)"),
        ('"JOBLIB_MULTIPROCESSING", 1)', '"JOBLIB_MULTIPROCESSING", 0)'),
    ),
    # An import that nothing there uses; what it imports installs packages, and is left out.
    "joblib/backports.py": (
        ("import distutils  # noqa\n", "\n"),
    ),
}

# Beside the package itself, what its own start does not import: it must be importable, too, before a tree is accepted.
ALSO = {
    "matplotlib": ("matplotlib.pyplot", "matplotlib.backends.backend_agg", "mpl_toolkits.mplot3d"),
    "numpy": ("numpy.fft", "numpy.linalg", "numpy.random"),
    "PIL": ("PIL.Image", "PIL.ImageDraw", "PIL.ImageFont"),
    "sklearn": ("sklearn.cluster", "sklearn.ensemble", "sklearn.linear_model", "sklearn.neighbors", "sklearn.svm", "sklearn.tree"),
    "scipy": ("scipy.integrate", "scipy.optimize", "scipy.signal", "scipy.sparse.linalg", "scipy.stats"),
}

# Files that a tree's own python makes at the end: (the module that makes it, the code, given `path`; the file below dist-packages).
MADE = (
    # The package's own fonts alone, in one order: the machine that builds may have others.
    ("matplotlib", "import matplotlib as m, matplotlib.font_manager as f; own = f.FontManager(); "
                   "[setattr(own, kind, sorted([e for e in getattr(own, kind) if e.fname.startswith(m.get_data_path())], "
                   "key=lambda e: e.fname)) for kind in ('ttflist', 'afmlist')]; f.json_dump(own, path)", "matplotlib/fontlist.json"),
)


def edit(text, path):
    """text: bytes of a source file; path: that of the file below dist-packages."""
    for old, new in EDITS.get(path, ()):
        text = text.replace(old.encode(), new.encode())
    return text
