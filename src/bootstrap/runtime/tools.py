"""The host's tools as ordinary functions of the agent: signature, documentation, arguments out, value or ToolError in.
It refuses to judge arguments beyond their names (the host checks them), and to run anything that came with a tool.

A tool is made of a signature alone. What it calls is a closure, as the guards are, so it leads to nothing.
"""

from sys import modules

from agentjail import OWN as __builtins__  # noqa: F401 (see __init__.py)
from agentjail.runtime.main import RequestError
from agentjail.runtime.type_tags import NoTag, decode
from agentjail.runtime.values import Encoder, TooBig, cut, quote

# The keys of a tool: type, default (... where there is none).
KEYS = {
    "name": (str, ...), "description": (str, ""), "parameters": (dict, {}), "returns": (dict, None), "async": (bool, False),
}
# Names that the layer itself gives a meaning.
TAKEN = ("final_answer", "ToolError", "type")
TYPES = {"string": str, "integer": int, "number": float, "boolean": bool, "array": list, "object": dict, "null": None}
KEYWORDS = frozenset("False None True and as assert async await break class continue def del elif else except finally for "
                     "from global if import in is lambda nonlocal not or pass raise return try while with yield".split())
MESSAGE_BYTES = 8 << 10
MAX_TOOLS, MAX_PARAMETERS = 1000, 100
LEFT_OUT = object()


class ToolError(Exception):
    """A tool failed. `tool` is its name, `type` what the host calls the error."""

    def __init__(self, message="", tool=None, type="ToolError"):
        super().__init__(message)
        self.tool, self.type = tool, type


ToolError.__module__ = "builtins"


def define(session, space, specs):
    """Put the tools into the namespace, all of them or none."""
    if session.tools is None:
        try:
            from agentjail.runtime.channel import Channel
        except ImportError:
            raise RequestError("tools need the select module, which this Python has not") from None
        session.tools = Channel()
    made = {}
    if len(specs) > MAX_TOOLS:
        raise RequestError("more than %d tools" % MAX_TOOLS)
    for spec in specs:
        tool = checked(spec)
        if tool["name"] in made:
            raise RequestError("two tools are called %s" % tool["name"])
        new = function(session.tools, tool)
        made[new.__name__] = new
    space.update(made)
    space["ToolError"] = ToolError


# --- from a specification to a function ---

def checked(spec):
    name = spec.get("name") if type(spec) is dict else None
    if type(name) is not str or not usable(name):
        raise RequestError("a tool's name must be a plain identifier, not %r" % (name,))
    for key in spec:
        if key not in KEYS:
            raise RequestError("tool %s: unknown key %s" % (name, key))
    tool = {}
    for key, (kind, default) in KEYS.items():
        tool[key] = value = spec.get(key, default)
        if value is not default and type(value) is not kind:
            raise RequestError("tool %s: %s must be of type %s" % (name, key, kind.__name__))
    schema = tool["parameters"]
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if schema.get("type", "object") != "object" or type(properties) is not dict or type(required) is not list:
        raise RequestError("tool %s: parameters must be the schema of an object" % name)
    for p in properties:
        if not usable(p + "_" if p in KEYWORDS else p) or type(properties[p]) not in (dict, bool):
            raise RequestError("tool %s: the parameter %r is no plain identifier with a schema" % (name, p))
    for p in required:
        if type(p) is not str or p not in properties:
            raise RequestError("tool %s: the required parameter %r is not among the properties" % (name, p))
    if len(properties) > MAX_PARAMETERS:
        raise RequestError("tool %s: more than %d parameters" % (name, MAX_PARAMETERS))
    return tool


def usable(name):
    return name.isidentifier() and name.isprintable() and name[:2] != "__" and name not in KEYWORDS and name not in TAKEN


def function(channel, tool):
    """A function whose signature is compiled, so that Python itself says what is wrong with the arguments."""
    schema = tool["parameters"]
    properties, required = schema.get("properties", {}), schema.get("required", [])
    order = [p for p in properties if p in required] + [p for p in properties if p not in required]
    space = {"__builtins__": {}, "__name__": "__main__"}
    signature, passed, locals_, defaults = [], [], [], {}
    for i, p in enumerate(order):
        local = p + "_" if p in KEYWORDS else p
        about = properties[p] if type(properties[p]) is dict else {}
        locals_.append(local)
        text = local
        note = annotation(about)
        if note is not LEFT_OUT:
            space["a%d" % i] = note
            text += ": a%d" % i
        if p not in required:
            space["d%d" % i] = decode(about.get("default"))
            text += " = d%d" % i
            if "default" not in about:
                defaults[p] = None  # not given: the host decides
        signature.append(text)
        passed.append("(%s, %s)" % (quote(p), local))
    note = annotation(tool["returns"] or {})
    if note is not LEFT_OUT:
        space["r"] = note
    space["m"] = caller(channel, tool["name"], defaults, tool["async"])
    how, wait = ("async def", "await ") if tool["async"] else ("def", "")
    ask = "ask"
    while ask in locals_:
        ask += "_"
    text = "def make(%s):\n %s tool(%s)%s:\n  return %s%s([%s])\n return tool\nf = make(m)" % (
        ask, how, ", ".join(signature), " -> r" if "r" in space else "", wait, ask, ", ".join(passed))
    exec(compile(text, "<tool>", "exec", 0, True), space)
    made = space["f"]
    space.clear()
    made.__name__ = made.__qualname__ = tool["name"]
    made.__doc__ = document(tool, order, properties, required)
    return made


def annotation(schema):
    """The Python type that a schema names, or LEFT_OUT."""
    kind = schema.get("type")
    if type(kind) is list:
        kinds = [annotation(dict(schema, type=k)) for k in kind]
        if not kinds or LEFT_OUT in kinds:
            return LEFT_OUT
        out = kinds[0]
        for k in kinds[1:]:
            if out is not None or k is not None:
                out = out | k
        return out
    if type(kind) is not str:
        return LEFT_OUT
    if kind == "array" and type(schema.get("items")) is dict:
        item = annotation(schema["items"])
        return list if item is LEFT_OUT else list[item]
    return TYPES.get(kind, LEFT_OUT)


def document(tool, order, properties, required):
    lines = [tool["description"]] if tool["description"] else []
    told = ["    %s: %s" % (p, properties[p]["description"]) for p in order
            if type(properties[p]) is dict and type(properties[p].get("description")) is str]
    if told:
        lines += ["", "Args:"] + told
    if tool["returns"] and type(tool["returns"].get("description")) is str:
        lines += ["", "Returns:", "    " + tool["returns"]["description"]]
    return "\n".join(lines).lstrip("\n")


# --- from a call to a frame, and back ---

def caller(channel, name, defaults, is_async):
    def text_of(pairs):
        encoder, out = Encoder(channel.cap), []
        for p, value in pairs:
            if value is None and p in defaults:
                continue
            try:
                out.append(quote(p) + ":" + encoder.walk(value, 1))
            except TooBig:
                raise ToolError("%s: the arguments are too large, nested too deeply or hold themselves (limit %d bytes)"
                                % (name, channel.cap), name) from None
            except NoTag as e:
                raise TypeError("%s() argument %r: a value of type %s cannot be passed to a tool"
                                % (name, p, e)) from None
        text = "{" + ",".join(out) + "}"
        if len(text) > channel.cap:
            raise ToolError("%s: the arguments are too large (limit %d bytes)" % (name, channel.cap), name)
        return text

    def result(answer):
        if type(answer) is str:
            raise ToolError("%s: %s" % (name, answer), name)
        error = answer.get("error")
        if error is not None:
            kind, text = clean(error["type"]), clean(error["message"])
            raise ToolError(kind + ": " + text if kind and kind != "ToolError" else text, name, kind)
        try:
            return decode(answer["value"])
        except Exception as e:
            why = "%s: the host's value cannot be read (%s)" % (name, type(e).__name__)
        raise ToolError(why, name)

    def start(text, *waiter):
        from agentjail.runtime.channel import ChannelError
        try:
            return channel.start(name, text, *waiter)
        except ChannelError as e:
            why = "%s: %s" % (name, e)
        raise ToolError(why, name)

    def call(pairs):
        return result(channel.wait(start(text_of(pairs))))

    async def acall(pairs):
        events = modules.get("asyncio.events")
        loop = events and events._get_running_loop()
        if loop is None:
            return call(pairs)
        from agentjail.runtime.event_loop import waiter
        text = text_of(pairs)
        future = loop.create_future()
        made = start(text, waiter(loop, channel), loop, future)
        try:
            await future
        finally:
            channel.leave(made)
        return result(made.answer)

    return acall if is_async else call


def clean(text):
    """A line or two for a model to read: no control characters, not too long."""
    text = "".join([c if c.isprintable() or c in "\n\t" else "?" for c in text[:MESSAGE_BYTES]])
    return cut(text, MESSAGE_BYTES)[0]
