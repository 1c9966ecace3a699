"""A client of `agentjail serve`, written from docs/reference/protocol.md alone: one snippet, then a session with a tool.

Usage: python3 docs/examples/client.py SOCKET
"""
import itertools, json, socket, struct, sys


class ServiceError(Exception):
    def __init__(self, error):
        super().__init__("%(code)s: %(message)s" % error)
        self.code, self.fix, self.retry_ms = error["code"], error["fix"], error.get("retry_ms")


class Client:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.ids = itertools.count(1)
        greeting = self.receive()
        if "error" in greeting:
            raise ServiceError(greeting["error"])
        self.hello = greeting["hello"]

    def send(self, **request):
        body = json.dumps(request).encode()
        self.socket.sendall(struct.pack(">I", len(body)) + body)

    def take(self, count):
        data = b""
        while len(data) < count:
            piece = self.socket.recv(min(count - len(data), 1 << 20))
            if not piece:
                raise EOFError("the service closed the connection")
            data += piece
        return data

    def receive(self):
        return json.loads(self.take(struct.unpack(">I", self.take(4))[0]))

    def ask(self, op, functions={}, on_output=None, **members):
        """One request; events that come meanwhile are served. `functions`: those that its tools stand for."""
        id = next(self.ids)
        self.send(op=op, id=id, **members)
        while True:
            frame = self.receive()
            if frame.get("event") == "tool_call":
                try:
                    answer = {"value": functions[frame["tool"]](**frame["args"])}
                except Exception as e:
                    answer = {"error": {"type": type(e).__name__, "message": str(e)}}
                self.send(op="tool_result", request=frame["id"], call=frame["call"], **answer)
            elif frame.get("event") in ("stdout", "stderr") and on_output:
                on_output(frame["data"])
            elif "call" in frame:  # the value does not fit: so the tool has failed
                self.send(op="tool_result", request=frame["request"], call=frame["call"],
                          error={"type": "ResultError", "message": frame["error"]["message"]})
            elif "event" not in frame and frame["id"] in (id, None):
                if "error" in frame:
                    raise ServiceError(frame["error"])
                return frame["result"]


if __name__ == "__main__":
    client = Client(sys.argv[1])
    print(client.ask("exec", code="sum(range(10))")["value"])
    weather = {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}
    session = client.ask("open", tools=[weather])["session"]
    client.ask("set", session=session, variables={"cities": ["Oslo", "Rome"]})
    client.ask("run", session=session, code="found = [weather(city=c) for c in cities]", functions={"weather": lambda city: city + ": rain"})
    client.ask("run", session=session, code="print(*found, sep='\\n')", stream=True, on_output=sys.stdout.write)
    client.ask("close", session=session)
