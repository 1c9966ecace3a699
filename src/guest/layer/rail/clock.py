"""The clock and the longest sleep that the caller has chosen, for the modules time and datetime. Loaded only if one is chosen.
It is a rail: monotonic clocks are not changed, and file times and code that asks the kernel in another way show the real time.
"""

import gc
import sys
import time

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)

REAL_NS, REAL_SLEEP = time.time_ns, time.sleep
REAL = {name: getattr(time, name) for name in ("localtime", "gmtime", "ctime", "asctime", "strftime", "clock_gettime", "clock_gettime_ns")}
SECOND_NS = 10 ** 9

chosen = {"fixed": None, "shift": 0, "sleep_s": None}


def choose(clock, sleep_ms):
    """clock: "" (real), "=NANOSECONDS" since 1970, or "+NANOSECONDS", "-NANOSECONDS" from now; sleep_ms: 0: no cap."""
    chosen["fixed"] = int(clock[1:]) if clock[:1] == "=" else None
    chosen["shift"] = int(clock) if clock[:1] in ("+", "-") else 0
    chosen["sleep_s"] = sleep_ms / 1000 if sleep_ms else None
    if sleep_ms and time.sleep is REAL_SLEEP:
        time.sleep = sleep
    if clock and time.time_ns is REAL_NS:
        vars(time).update(FUNCTIONS)
        patch_datetime()


def time_ns():
    fixed = chosen["fixed"]
    return fixed if fixed is not None else REAL_NS() + chosen["shift"]


def seconds():
    return time_ns() / SECOND_NS


def sleep(seconds, /):
    cap = chosen["sleep_s"]
    try:
        if cap is not None and seconds > cap:
            seconds = cap
    except TypeError:
        pass  # the real function says so
    return REAL_SLEEP(seconds)


def cap_asyncio(asyncio):
    """asyncio.sleep() as time.sleep(); the timeouts of asyncio, which call no sleep(), stay what they are."""
    real = asyncio.tasks.sleep
    if real.__module__ == __name__:
        return

    async def sleep(delay, result=None):
        cap = chosen["sleep_s"]
        return await real(cap if cap is not None and delay > cap else delay, result)
    asyncio.sleep = asyncio.tasks.sleep = sleep


def localtime(seconds=None, /):
    return REAL["localtime"](time_ns() // SECOND_NS if seconds is None else seconds)


def gmtime(seconds=None, /):
    return REAL["gmtime"](time_ns() // SECOND_NS if seconds is None else seconds)


def ctime(seconds=None, /):
    return REAL["ctime"](time_ns() // SECOND_NS if seconds is None else seconds)


def asctime(*t):
    return REAL["asctime"](*t or (localtime(),))


def strftime(format, *t):
    return REAL["strftime"](format, *t or (localtime(),))


def clock_gettime(number, /):
    return seconds() if number == time.CLOCK_REALTIME else REAL["clock_gettime"](number)


def clock_gettime_ns(number, /):
    return time_ns() if number == time.CLOCK_REALTIME else REAL["clock_gettime_ns"](number)


FUNCTIONS = {"time": seconds, "time_ns": time_ns, "localtime": localtime, "gmtime": gmtime, "ctime": ctime, "asctime": asctime,
             "strftime": strftime, "clock_gettime": clock_gettime, "clock_gettime_ns": clock_gettime_ns}
for function_name, function in FUNCTIONS.items():
    function.__name__ = function.__qualname__ = function_name


# --- datetime ---

def now(cls, tz=None):
    """Return the chosen time of the caller's clock."""
    ns = time_ns()
    return cls.fromtimestamp(ns // SECOND_NS, tz).replace(microsecond=ns % SECOND_NS // 1000)


def utcnow(cls):
    """Return the chosen time of the caller's clock in UTC, without a time zone."""
    ns = time_ns()
    return cls.utcfromtimestamp(ns // SECOND_NS).replace(microsecond=ns % SECOND_NS // 1000)


def patch_datetime():
    """datetime.now() and utcnow() ask the kernel; today() of both classes asks time.time(). The class stays the same object, so that
    nothing else changes: its attributes are written into the mapping behind its __dict__, since it lets none be set."""
    try:
        from _datetime import datetime
    except ImportError:
        return  # then the code cannot import it either
    attributes = gc.get_referents(vars(datetime))[0]
    attributes["now"], attributes["utcnow"] = classmethod(now), classmethod(utcnow)
    (getattr(sys, "_clear_internal_caches", None) or sys._clear_type_cache)()
    if chosen["fixed"] is not None and datetime.utcnow().replace(microsecond=0) != datetime.utcfromtimestamp(chosen["fixed"] // SECOND_NS):
        raise RuntimeError("this Python does not let agentjail choose the clock of datetime")
