"""Peers for tests/bench/scale that hang or fail where they are told to, and what its run says of them: the tests are in measures.sh.

Usage: measures.py FOLDER   measures, and prints the run's rows, one a line
"""

import glob
import json
import os
import sys
import time

SCALE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bench", "scale")
sys.path.insert(0, SCALE)
import measure
import peers


class Works(peers.Peer):
    name, alive_most = "works", 100

    def open(self):
        return self

    def run(self, sandbox): ...
    def close(self, sandbox): ...

    def fresh(self):
        time.sleep(0.02)

    def call(self): ...


class NeverBegins(Works):
    name = "never begins"

    def begin(self):
        time.sleep(1e6)


class HangsAtTen(Works):
    name, opened = "hangs at ten", 0

    def open(self):
        self.opened += 1
        while self.opened > 1:
            os.read(os.pipe()[0], 1)


class FailsToCall(Works):
    name = "fails to call"

    def call(self):
        raise ValueError("no call")


class NeverEnds(Works):
    name = "never ends"

    def end(self):
        time.sleep(1e6)


def main():
    peers.ALL = (Works, NeverBegins, HangsAtTen, FailsToCall, NeverEnds)
    sys.argv = ["measure.py", sys.argv[1], "--quick"]
    measure.main()
    with open(glob.glob(os.path.join(sys.argv[1], "scale-*.json"))[0]) as f:
        run = json.load(f)
    for part, place in (("kinds", "kind"), ("alive", "alive"), ("fresh", "clients")):
        for row in run[part]:
            print("%s, %s %s: %s" % (row["peer"], place, row[place], row.get("not_measured", "measured")))


if __name__ == "__main__":
    main()
