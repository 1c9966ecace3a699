"""The host's tools as ordinary functions of the agent: signature, documentation, arguments out, value or ToolError in.
The layer checks the names of arguments alone (the host checks the values), and runs no code that came with a tool.

A tool is made of a signature alone. It calls a closure, as guards are closures, so its attributes lead to nothing.
"""

from sys import modules

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.runtime.request import KEYWORDS, RequestError
from agentjail.values.type_tags import TagError, NoTag, decode
from agentjail.values.json_writer import Encoder, TooBig, json_string
from agentjail.values.texts import MESSAGE_BYTES, truncate

# The keys of a declaration: type, default (... for a key without one).
DECLARATION_KEYS = {
    "name": (str, ...), "description": (str, ""), "parameters": (dict, {}), "returns": (dict, None), "async": (bool, False),
    "reserved": (bool, False), "variadic": (str, None),
}
RESERVED_NAMES = ("ToolError", "type")  # the layer gives these a meaning
TYPES = {"string": str, "integer": int, "number": float, "boolean": bool, "array": list, "object": dict, "null": None}
MAX_TOOLS, MAX_PARAMETERS = 1000, 100
NO_ANNOTATION = object()


# The exceptions of Python that a tool's error is, too, if the host names one of them. Left out are those that end more than a call
# (StopIteration a loop, GeneratorExit), that speak of this interpreter or of the snippet's own text (MemoryError, RecursionError,
# SyntaxError), and groups. An error in the coding of text needs five arguments, so it is a UnicodeError.
BUILTIN_ERRORS = dict({e.__name__: e for e in (
    ArithmeticError, AssertionError, AttributeError, BlockingIOError, BrokenPipeError, BufferError, ChildProcessError,
    ConnectionAbortedError, ConnectionError, ConnectionRefusedError, ConnectionResetError, EOFError, FileExistsError,
    FileNotFoundError, FloatingPointError, ImportError, IndexError, InterruptedError, IsADirectoryError, KeyError, LookupError,
    ModuleNotFoundError, NameError, NotADirectoryError, NotImplementedError, OSError, OverflowError, PermissionError,
    ProcessLookupError, ReferenceError, RuntimeError, TimeoutError, TypeError, UnicodeError, ValueError, ZeroDivisionError)},
    IOError=OSError, EnvironmentError=OSError,
    UnicodeDecodeError=UnicodeError, UnicodeEncodeError=UnicodeError, UnicodeTranslateError=UnicodeError)
ERROR_CLASSES = {}      # builtin exception -> the class that is both


class ToolError(Exception):
    """A tool failed. `tool` is its name, `type` the host's name of the error."""
    __str__ = Exception.__str__     # not that of KeyError, which quotes its argument

    def __init__(self, message="", tool=None, type="ToolError"):
        super().__init__(message)
        self.tool, self.type = tool, type


ToolError.__module__ = "builtins"


def error_class(kind):
    """ToolError, or the class that is the builtin exception `kind` as well. Both have one name: a reader sees a ToolError."""
    builtin = BUILTIN_ERRORS.get(kind)
    if builtin is None:
        return ToolError
    if builtin not in ERROR_CLASSES:
        ERROR_CLASSES[builtin] = type("ToolError", (ToolError, builtin), {"__module__": "builtins", "__doc__": ToolError.__doc__})
    return ERROR_CLASSES[builtin]


def define_tools(session, namespace, declarations):
    """Put the tools into the namespace, all of them or none. Returns name -> function."""
    if session.tools is None:
        try:
            from agentjail.runtime.channel import Channel
        except ImportError:
            raise RequestError("tools need the select module, which this Python lacks") from None
        session.tools = Channel()
    made, reserved = {}, set(session.reserved_names)
    if len(declarations) > MAX_TOOLS:
        raise RequestError("more than %d tools" % MAX_TOOLS)
    for declaration in declarations:
        tool = check_declaration(declaration)
        if tool["name"] in made:
            raise RequestError("two tools are called %s" % tool["name"])
        ends = session.give_answer if tool["name"] == "final_answer" else None
        function = make_function(session, tool, ends)
        made[function.__name__] = function
        (reserved.add if tool["reserved"] else reserved.discard)(tool["name"])
    session.tool_functions.update(made, ToolError=ToolError)
    session.reserved_names = reserved
    session.changed_tools = [name for name in session.changed_tools if name not in made]
    if session.unawaited is None and any([d.get("async") for d in declarations]):
        from agentjail.runtime.unawaited import watch_tools
        watch_tools(session)
    namespace.update(made)
    namespace["ToolError"] = ToolError
    session.final_answer = made.get("final_answer", session.final_answer)
    return made


# --- from a declaration to a function ---

def check_declaration(declaration):
    """The declaration with defaults for its absent keys, or RequestError."""
    name = declaration.get("name") if type(declaration) is dict else None
    if type(name) is not str or not is_usable_name(name):
        raise RequestError("a tool's name must be a plain identifier, not %r" % (name,))
    for key in declaration:
        if key not in DECLARATION_KEYS:
            raise RequestError("tool %s: unknown key %s" % (name, key))
    tool = {}
    for key, (kind, default) in DECLARATION_KEYS.items():
        tool[key] = value = declaration.get(key, default)
        if value is not default and type(value) is not kind:
            raise RequestError("tool %s: %s must be of type %s" % (name, key, kind.__name__))
    schema = tool["parameters"]
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if schema.get("type", "object") != "object" or type(properties) is not dict or type(required) is not list:
        raise RequestError("tool %s: parameters must be the schema of an object" % name)
    for p in properties:
        if not is_usable_name(parameter_name(p)) or type(properties[p]) not in (dict, bool):
            raise RequestError("tool %s: the parameter %r is not a plain identifier with a schema" % (name, p))
    for p in required:
        if type(p) is not str or p not in properties:
            raise RequestError("tool %s: the required parameter %r is not among the properties" % (name, p))
    if tool["variadic"] is not None and tool["variadic"] not in properties:
        raise RequestError("tool %s: the variadic parameter %r is not among the properties" % (name, tool["variadic"]))
    if len(properties) > MAX_PARAMETERS:
        raise RequestError("tool %s: more than %d parameters" % (name, MAX_PARAMETERS))
    return tool


def is_usable_name(name):
    return (name.isidentifier() and name.isprintable() and name[:2] != "__" and name not in KEYWORDS
            and name not in RESERVED_NAMES)


def parameter_name(p):
    return p + "_" if p in KEYWORDS else p


def make_function(session, tool, ends=None):
    """A function whose signature is compiled, so that Python itself reports wrong arguments. ends: a function that gets the tool's
    value and ends the snippet."""
    schema = tool["parameters"]
    properties, required = schema.get("properties", {}), schema.get("required", [])
    variadic, places = tool["variadic"], list(properties)
    at = places.index(variadic) if variadic is not None else len(places)
    # As in Python: a parameter behind the variadic one is passed by name, so those may stay in their order.
    order = ([p for p in places[:at] if p in required] + [p for p in places[:at] if p not in required] + places[at:])
    space = {"__builtins__": {}, "__name__": "__main__"}
    signature, passed, names, absent = [], [], [], set()
    for i, p in enumerate(order):
        name = text = parameter_name(p)
        about = properties[p] if type(properties[p]) is dict else {}
        names.append(name)
        if p == variadic:
            about = about.get("items") if type(about.get("items")) is dict else {}
        note = schema_annotation(about)
        if note is not NO_ANNOTATION:
            space["a%d" % i] = note
            text += ": a%d" % i
        if p == variadic:
            text, name = "*" + text, "[*%s]" % name
        elif p not in required:
            space["d%d" % i] = decode(about.get("default"), session)
            text += " = d%d" % i
            if "default" not in about:
                absent.add(p)
        signature.append(text)
        passed.append("(%s, %s)" % (json_string(p), name))
    others = schema.get("additionalProperties")
    takes_others = others is True or type(others) is dict
    if takes_others:
        name = "kwargs"
        while name in names:
            name += "_"
        names.append(name)
        note = schema_annotation(others) if type(others) is dict else NO_ANNOTATION
        if note is not NO_ANNOTATION:
            space["k"] = note
        signature.append("**" + name + (": k" if "k" in space else ""))
        passed.append("*%s.items()" % name)
    note = schema_annotation(tool["returns"] or {})
    if note is not NO_ANNOTATION:
        space["r"] = note
    space["m"] = make_caller(session, tool["name"], absent, takes_others, tool["async"], ends)
    define, wait = ("async def", "await ") if tool["async"] else ("def", "")
    caller = "call"
    while caller in names:
        caller += "_"
    text = "def make(%s):\n %s tool(%s)%s:\n  return %s%s([%s])\n return tool\nf = make(m)" % (
        caller, define, ", ".join(signature), " -> r" if "r" in space else "", wait, caller, ", ".join(passed))
    exec(compile(text, "<tool>", "exec", 0, True), space)
    function = space["f"]
    space.clear()
    function.__name__ = function.__qualname__ = tool["name"]
    function.__doc__ = make_docstring(tool, order, properties)
    return function


def schema_annotation(schema):
    """The Python type that a schema names, or NO_ANNOTATION."""
    kind = schema.get("type")
    if type(kind) is list:
        kinds = [schema_annotation(dict(schema, type=k)) for k in kind]
        if not kinds or NO_ANNOTATION in kinds:
            return NO_ANNOTATION
        out = kinds[0]
        for k in kinds[1:]:
            if out is not None or k is not None:
                out = out | k
        return out
    if type(kind) is not str:
        return NO_ANNOTATION
    if kind == "array" and type(schema.get("items")) is dict:
        item = schema_annotation(schema["items"])
        return list if item is NO_ANNOTATION else list[item]
    return TYPES.get(kind, NO_ANNOTATION)


def make_docstring(tool, order, properties):
    lines = [tool["description"]] if tool["description"] else []
    described = ["    %s: %s" % (p, properties[p]["description"]) for p in order
                 if type(properties[p]) is dict and type(properties[p].get("description")) is str]
    if described:
        lines += ["", "Args:"] + described
    if tool["returns"] and type(tool["returns"].get("description")) is str:
        lines += ["", "Returns:", "    " + tool["returns"]["description"]]
    return "\n".join(lines).lstrip("\n")


# --- from a call to a frame, and back ---

def make_caller(session, name, absent, takes_others, is_async, ends):
    """The function that a tool calls with its (parameter, value) pairs. absent: parameters whose None means "not given".
    takes_others: the code inside chooses names, too."""
    channel = session.tools

    def encode_arguments(pairs):
        handles = session.handles
        encoder, out = Encoder(channel.max_bytes, handles), []
        if takes_others:
            pairs = check_names(name, [(p, value) for p, value in pairs if value is not None or p not in absent])
        for p, value in pairs:
            if value is None and p in absent:
                continue
            try:
                text = encoder.encode_item(value, 1)
            except TooBig:
                if handles is None:
                    raise ToolError("%s: the arguments are too large, nested too deeply or contain themselves (limit %d bytes)"
                                    % (name, channel.max_bytes), name) from None
                encoder = Encoder(channel.max_bytes, handles)
                text = handles.encode(value)
            except NoTag as e:
                raise TypeError("%s() argument %r: a value of type %s cannot be passed to a tool"
                                % (name, p, e)) from None
            out.append(json_string(p) + ":" + text)
        text = "{" + ",".join(out) + "}"
        if len(text) > channel.max_bytes:
            raise ToolError("%s: the arguments are too large (limit %d bytes)" % (name, channel.max_bytes), name)
        return text

    def result(answer):
        if type(answer) is str:
            raise ToolError("%s: %s" % (name, answer), name)
        error = answer.get("error")
        if error is not None:
            kind, text = clean_text(error["type"]), clean_text(error["message"])
            raise error_class(kind)(kind + ": " + text if kind and kind != "ToolError" else text, name, kind)
        try:
            value = decode(answer["value"], session)
        except TagError as e:
            why = "%s: %s" % (name, e)
        except Exception as e:
            why = "%s: the host's value cannot be read (%s)" % (name, type(e).__name__)
        else:
            return ends(value) if ends is not None else value
        raise ToolError(why, name)

    def start_call(text, *waiter):
        from agentjail.runtime.channel import ChannelError
        try:
            return channel.start_call(name, text, *waiter)
        except ChannelError as e:
            why = "%s: %s" % (name, e)
        raise ToolError(why, name)

    def call(pairs):
        return result(channel.wait_answer(start_call(encode_arguments(pairs))))

    async def call_async(pairs):
        events = modules.get("asyncio.events")
        loop = events and events._get_running_loop()
        if loop is None:
            return call(pairs)
        from agentjail.runtime.event_loop import wakeup_lock
        text = encode_arguments(pairs)
        future = loop.create_future()
        made = start_call(text, wakeup_lock(loop, channel), loop, future)
        try:
            await future
        finally:
            channel.end_wait(made)
        return result(made.answer)

    return call_async if is_async else call


def check_names(tool, pairs):
    """The pairs, or TypeError for a name that the host would not take: it refuses an object in which one is there twice."""
    names = set()
    for p, _ in pairs:
        if p in names:  # a keyword of Python, which the signature has with an underscore
            raise TypeError("%s() got multiple values for argument %r" % (tool, p))
        if not p.isprintable():
            raise TypeError("%s() got an argument whose name %r cannot be passed to a tool" % (tool, p))
        names.add(p)
    return pairs


def clean_text(text):
    """Text for a model to read: no control characters but line ends and tabs, and at most MESSAGE_BYTES."""
    text = "".join([c if c.isprintable() or c in "\n\t" else "?" for c in text[:MESSAGE_BYTES]])
    return truncate(text, MESSAGE_BYTES)[0]
