"""The tables of what pickles name beside the public names of allowed modules: inner classes and functions of packages that build their own values.
A row was read before it was written here: nothing in it makes code from text, imports by a name, starts a program, or hands out what it is given.
"""

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)

# Names that pickle itself writes, for types without a module of their own and in protocols before 4.
OF_PICKLE = (("copyreg", "_reconstructor"), ("_codecs", "encode"), ("re", "_compile"), ("array", "_array_reconstructor"))

# Packages whose values are parts of those of others -> the packages one of which the policy must allow.
PARTS_OF = {"cycler": ("matplotlib",), "dateutil": ("pandas", "matplotlib"), "mpl_toolkits": ("matplotlib",), "pytz": ("pandas",)}

# Cython writes such a function for each class; it makes an object of that class, and sets its state.
OF_CYTHON = "__pyx_unpickle_"

# module -> its names; "*": every class that the module itself defines
NAMES = {module: tuple(names.split()) for module, names in {
    "cycler": "Cycler",
    "dateutil.relativedelta": "relativedelta",
    "dateutil.rrule": "rrule",
    "dateutil.tz.tz": "tzfile tzlocal tzoffset tzutc",
    "joblib.numpy_pickle": "NumpyArrayWrapper",
    "matplotlib.artist": "_XYPair",
    "matplotlib.axes._base": "_TransformedBoundsLocator _process_plot_var_args",
    "matplotlib.axis": "Axis._format_with_dict Ticker",
    "matplotlib.backend_bases": "_key_handler _mouse_handler",
    "matplotlib.category": "*",
    "matplotlib.cbook": "CallbackRegistry Grouper _OrderedSet _exception_printer _picklable_class_constructor",
    "matplotlib.colorbar": "_ColorbarAxesLocator",
    "matplotlib.colors": "_create_empty_object_of_class",
    "matplotlib.dates": "_SwitchableDateConverter",
    "matplotlib.figure": "_AxesStack",
    "matplotlib.projections.polar": "_AxisWrapper",
    "matplotlib.spines": "Spines SpinesProxy",
    "matplotlib.ticker": "_Edge_integer",
    "mpl_toolkits.mplot3d.axis3d": "Axis XAxis YAxis ZAxis",
    "numpy.core": "_DType_reconstruct",
    "numpy.core.multiarray": "_reconstruct scalar",
    "numpy.core.numeric": "_frombuffer",
    "numpy.ma.core": "_mareconstruct",
    "numpy.random._pickle": "__bit_generator_ctor __generator_ctor __randomstate_ctor",
    "pandas._libs.internals": "_unpickle_block",
    "pandas._libs.lib": "_NoDefault",
    "pandas._libs.sparse": "IntIndex BlockIndex",
    "pandas._libs.tslibs.nattype": "__nat_unpickle",
    "pandas._libs.tslibs.timedeltas": "_timedelta_unpickle",
    "pandas._libs.tslibs.timestamps": "_unpickle_timestamp",
    "pandas.core.groupby.generic": "DataFrameGroupBy SeriesGroupBy",
    "pandas.core.groupby.grouper": "Grouping",
    "pandas.core.groupby.ops": "BaseGrouper BinGrouper",
    "pandas.core.indexes.base": "_new_Index",
    "pandas.core.indexes.datetimes": "_new_DatetimeIndex",
    "pandas.core.indexes.interval": "_new_IntervalIndex",
    "pandas.core.indexes.period": "_new_PeriodIndex",
    "pandas.core.internals.managers": "BlockManager SingleBlockManager",
    "pandas.core.resample": "DatetimeIndexResampler PeriodIndexResampler TimedeltaIndexResampler",
    "pandas.core.window.ewm": "ExponentialMovingWindow",
    "pandas.core.window.expanding": "Expanding",
    "pandas.core.window.rolling": "Rolling Window",
    "pandas.plotting._matplotlib.converter": "* _annual_finder _daily_finder _monthly_finder _quarterly_finder",
    "pandas.plotting._matplotlib.timeseries": "_format_coord",
    "pytz": "_UTC _p",
    "scipy.interpolate._interpolate": "interp1d._call_linear interp1d._call_linear_np interp1d._call_nan_spline interp1d._call_nearest "
                                      "interp1d._call_previousnext interp1d._call_spline",
    "scipy.stats._distn_infrastructure": "rv_continuous_frozen rv_discrete_frozen rv_frozen",
    "scipy.stats._hypotests": "*",
    "scipy.stats._mannwhitneyu": "*",
    "scipy.stats._morestats": "*",
    "scipy.stats._multivariate": "*",
    "scipy.stats._stats_mstats_common": "*",
    "scipy.stats._stats_py": "*",
    "seaborn.matrix": "*",
    "seaborn.palettes": "_ColorPalette",
    "sklearn._loss._loss": "*",
    "sklearn._loss.link": "*",
    "sklearn._loss.loss": "*",
    "sklearn.calibration": "_CalibratedClassifier",
    "sklearn.cluster._birch": "*",
    "sklearn.cluster._bisect_k_means": "*",
    "sklearn.cluster._kmeans": "_kmeans_single_elkan _kmeans_single_lloyd",
    "sklearn.ensemble._gb_losses": "*",
    "sklearn.ensemble._hist_gradient_boosting.predictor": "*",
    "sklearn.impute._iterative": "_ImputerTriplet",
    "sklearn.linear_model._sgd_fast": "*",
    "sklearn.metrics._dist_metrics": "newObj",
    "sklearn.metrics._scorer": "* _passthrough_scorer",
    "sklearn.neighbors._ball_tree": "newObj",
    "sklearn.neighbors._kd_tree": "newObj",
    "sklearn.neural_network._stochastic_optimizers": "*",
    "sklearn.tree._tree": "*",
    "sympy.polys.matrices.ddm": "*",
    "sympy.polys.matrices.domainmatrix": "*",
    "sympy.polys.matrices.sdm": "*",
}.items()}


def is_listed(where, name, value):
    """Does a row of the table name this object of the module?"""
    if where[:11] == "numpy._core":     # of numpy 2
        where = "numpy.core" + where[11:]
    row = NAMES.get(where, ())
    return name in row or "*" in row and isinstance(value, type) and value.__module__ == where
