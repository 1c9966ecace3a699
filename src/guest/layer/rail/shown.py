"""The modules that agent code sees in part: one table of the names that a proxy shows, and the members that agent code gets in place of real ones.
A name that a later Python adds to such a module stays hidden until it is written here.
"""

import sys

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)

ModuleType = type(sys)
REAL_SETATTR = setattr

# module -> (the names that are shown, the reason why no other name is)
SHOWN = {
    "sys": (frozenset(
        "argv base_exec_prefix base_prefix builtin_module_names byteorder copyright dont_write_bytecode exc_info exec_prefix executable "
        "exit flags float_info float_repr_style get_int_max_str_digits getallocatedblocks getdefaultencoding getfilesystemencodeerrors "
        "getfilesystemencoding getrecursionlimit getrefcount getsizeof getswitchinterval hash_info hexversion implementation int_info "
        "intern is_finalizing maxsize maxunicode modules orig_argv path platform platlibdir prefix pycache_prefix set_int_max_str_digits "
        "setrecursionlimit setswitchinterval stderr stdin stdlib_module_names stdout thread_info version version_info warnoptions "
        "__stdout__ __stderr__ __stdin__".split()),
        "it leads to frames, modules or the interpreter's state"),
    "types": (frozenset(
        "AsyncGeneratorType BuiltinFunctionType BuiltinMethodType CapsuleType CellType ClassMethodDescriptorType CoroutineType "
        "DynamicClassAttribute EllipsisType FrameType FunctionType GeneratorType GenericAlias GetSetDescriptorType LambdaType "
        "MappingProxyType MemberDescriptorType MethodDescriptorType MethodType MethodWrapperType ModuleType NoneType NotImplementedType "
        "SimpleNamespace TracebackType UnionType WrapperDescriptorType coroutine get_original_bases resolve_bases".split()),
        "it chooses the namespace of a class statement"),
    "inspect": (frozenset(
        "BoundArguments CORO_CLOSED CORO_CREATED CORO_RUNNING CORO_SUSPENDED FullArgSpec GEN_CLOSED GEN_CREATED GEN_RUNNING GEN_SUSPENDED "
        "Parameter Signature cleandoc formatannotation get_annotations getcallargs getcoroutinestate getdoc getfullargspec getgeneratorstate getmembers getmro "
        "isabstract isasyncgen isasyncgenfunction isawaitable isbuiltin isclass iscode iscoroutine iscoroutinefunction isdatadescriptor "
        "isframe isfunction isgenerator isgeneratorfunction isgetsetdescriptor ismemberdescriptor ismethod ismethoddescriptor "
        "ismethodwrapper ismodule isroutine istraceback markcoroutinefunction signature".split()),
        "it reads frames or attributes by itself"),
    "gc": (frozenset(
        "collect disable enable freeze get_count get_debug get_freeze_count get_stats get_threshold is_finalized is_tracked isenabled set_threshold "
        "unfreeze".split()), "it returns objects of other code"),
    "http": (frozenset("HTTPStatus HTTPMethod".split()), "there is no network"),
    "doctest": (frozenset(
        "COMPARISON_FLAGS DONT_ACCEPT_BLANKLINE DONT_ACCEPT_TRUE_FOR_1 DebugRunner DocTest DocTestCase DocTestFailure DocTestParser DocTestRunner "
        "ELLIPSIS Example FAIL_FAST IGNORE_EXCEPTION_DETAIL NORMALIZE_WHITESPACE OutputChecker REPORTING_FLAGS REPORT_CDIFF REPORT_NDIFF "
        "REPORT_ONLY_FIRST_FAILURE REPORT_UDIFF SKIP TestResults UnexpectedException register_optionflag run_docstring_examples "
        "script_from_examples testmod".split()), "it runs text in namespaces of other modules"),
    # Files and folders by their paths, and descriptors of files that the code opened (files/confined_os.py); no process.
    "os": (frozenset(
        "DirEntry EX_OK F_OK O_ACCMODE O_APPEND O_CLOEXEC O_CREAT O_DIRECTORY O_EXCL O_NOFOLLOW O_RDONLY O_RDWR O_TRUNC O_WRONLY PathLike R_OK SEEK_CUR "
        "SEEK_END SEEK_SET W_OK X_OK access altsep chdir chmod chown close cpu_count curdir defpath devnull environ environb error extsep fdatasync fdopen "
        "fsdecode fsencode fspath fstat fsync ftruncate get_exec_path get_terminal_size getcwd getcwdb getenv getenvb getloadavg getpid getppid getuid getgid "
        "geteuid getegid isatty link linesep listdir lseek lstat makedirs "
        "mkdir name open pardir path pathsep pread putenv pwrite read readlink remove removedirs rename renames replace rmdir scandir sched_getaffinity sep stat "
        "stat_result statvfs strerror supports_bytes_environ supports_follow_symlinks symlink sysconf sysconf_names terminal_size times times_result truncate umask "
        "uname uname_result unlink unsetenv urandom utime walk write".split()), "it starts or ends processes, or uses descriptors of other code"),
    "pickle": (frozenset(
        "DEFAULT_PROTOCOL HIGHEST_PROTOCOL PickleError PicklingError UnpicklingError decode_long dump dumps encode_long load loads".split()),
        "it finds objects by their names"),
    "importlib": (frozenset(("import_module",)), "loaders read files and make modules"),
    "logging.handlers": (frozenset(
        "BaseRotatingHandler BufferingHandler MemoryHandler QueueHandler QueueListener RotatingFileHandler TimedRotatingFileHandler "
        "WatchedFileHandler".split()), "there is no network"),
    "numpy.testing": (frozenset(
        "assert_ assert_allclose assert_almost_equal assert_approx_equal assert_array_almost_equal assert_array_almost_equal_nulp "
        "assert_array_compare assert_array_equal assert_array_less assert_array_max_ulp assert_equal assert_no_gc_cycles assert_no_warnings "
        "assert_raises assert_raises_regex assert_string_equal assert_warns".split()), "it runs text as code"),
    "tracemalloc": (frozenset("clear_traces get_traced_memory get_tracemalloc_memory is_tracing reset_peak start stop".split()),
                    "it writes files"),
}

SHOWN["posix"] = SHOWN["os"]     # where os has its functions from

# The names of sys that code sets and libraries read: the proxy passes them on in both ways.
PASSED_ON = frozenset(("stdout", "stderr", "stdin", "argv"))
# module -> the names whose value changes: a proxy reads them anew each time.
CHANGING = {"sys": PASSED_ON, "time": frozenset(("altzone", "daylight", "timezone", "tzname"))}


class SysProxy(ModuleType):
    """The proxy of sys: a stream or an argument list that code sets there is the one that print() and argparse use."""

    def __setattr__(self, name, value):
        if name in PASSED_ON:
            REAL_SETATTR(sys, name, value)
        else:
            ModuleType.__setattr__(self, name, value)


def hidden_reason(module, name):
    """Why SHOWN hides this name of the module; None for a name that it leaves to the other tables."""
    row = SHOWN.get(module)
    return None if row is None or name in row[0] else row[1]


# --- members in place of real ones ---

class OnlyType(type):
    """The class of stand-ins for types whose objects code must not make: isinstance() and annotations work, calls do not."""

    def __instancecheck__(cls, o):
        return isinstance(o, REAL_TYPES[cls.__name__])

    def __subclasscheck__(cls, o):
        return o is cls or issubclass(o, REAL_TYPES[cls.__name__])

    def __call__(cls, *_, **__):
        raise TypeError("`types.%s` is not allowed to make objects here: it serves isinstance() and annotations" % cls.__name__)


REAL_TYPES = {}


def stand_in(proxies, real):
    REAL_TYPES[real.__name__] = real
    return OnlyType(real.__name__, (), {"__module__": "types", "__doc__": "Stands for the type of this name."})


def module_table(proxies, real):
    """sys.modules of agent code: its own module, and the modules that it imported, as it sees them."""
    return proxies.table


# (module, name) -> maker(proxies, real value): what a proxy shows in place of the value
MADE = {
    ("sys", "modules"): module_table,
    ("sys", "path"): lambda proxies, real: list(real),
    ("types", "FrameType"): stand_in,
    ("types", "FunctionType"): stand_in,
    ("types", "LambdaType"): stand_in,
    ("types", "TracebackType"): stand_in,
}
