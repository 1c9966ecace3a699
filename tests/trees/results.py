"""Tables, figures and images as results of a snippet: MIME bundles, as notebooks name them, and files, by `exec`, by a service, and in a session.
It trusts no name of a type: an image is opened by its first bytes, and its size is read.

Usage: results.py AGENTJAIL FOLDER TREE"""
import base64
import json
import os
import struct
import subprocess
import sys

from client import AJ, FOLDER, Server, check, done

COLD = os.environ.get("AGENTJAIL_COLD", AJ)
TREE = sys.argv[3]
CSV = "day,shop,sold\n2024-01-01,A,3\n2024-01-01,B,4\n2024-01-02,A,5\n"
READ = """import pandas as pd
import matplotlib.pyplot as plt
df = pd.read_csv("/input/sales.csv", parse_dates=["day"])
"""
SHOW = """table = df.groupby("shop")["sold"].sum().to_frame()
table.plot(kind="bar", title="Sold")
plt.savefig("/output/sold.png")
table.to_csv("/output/sold.csv")
table
"""
IMAGE = "from PIL import Image\nImage.new('RGB', (30, 20), 'red')"
PARTS = "display(df.head(1))\nfig, ax = plt.subplots()\nax.plot([1, 2])\ndisplay(fig)\nprint(len(df))"


def png_size(text):
    """(width, height) of a PNG in base64."""
    data = base64.b64decode(text)
    return struct.unpack(">II", data[16:24]) if data[:8] == b"\x89PNG\r\n\x1a\n" else None


def exec_cold(code, files=False):
    options = []
    if files:
        with open(FOLDER + "/sales.csv", "w", encoding="utf-8") as f:
            f.write(CSV)
        options = ["--file", FOLDER + "/sales.csv", "--output", FOLDER + "/made"]
    got = subprocess.run([COLD, "exec", "--json", "--rootfs", TREE, "--policy", "data-analysis", *options, "-c", code], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    result = json.loads(got.stdout)
    for f in result.get("files", ()):
        with open(FOLDER + "/made/" + f["name"], "rb") as made:
            f["data"] = base64.b64encode(made.read()).decode()
    return result


def expect_table_and_plot(how, result):
    table, plot = (result.get("results") or []) + [{}] * (2 - len(result.get("results") or []))
    files = {f["name"]: base64.b64decode(f.get("data") or b"") or f.get("text", "").encode() for f in result.get("files", ())}
    kinds = {f["name"]: f.get("type") or f.get("media_type") or f.get("mime") for f in result.get("files", ())}
    check(how + ": the run is ok", result["status"] == "ok" and "warnings" not in result, result)
    check(how + ": the table is HTML, and text", "<td>8</td>" in table.get("text/html", "") and "sold" in table.get("text/plain", "") and len(table) == 2, table)
    check(how + ": the figure that is open at the end is a PNG", min(png_size(plot.get("image/png", "")) or (0,)) > 300, str(plot)[:200])
    check(how + ": the table is a file", files.get("sold.csv") == b"shop,sold\nA,8\nB,4\n", files)
    check(how + ": the plot is a file", files.get("sold.png", b"")[:4] == b"\x89PNG", list(files))
    check(how + ": the result is a file as well", base64.b64decode(plot.get("image/png", "")) == files.get("result-2.png"), list(files))
    check(how + ": files have their kinds", (kinds.get("sold.csv"), kinds.get("sold.png")) == ("text/csv", "image/png"), kinds)


def expect_image(how, result):
    (image,) = result.get("results") or [{}]
    check(how + ": an image is a PNG of its size", png_size(image.get("image/png", "")) == (30, 20) and "PIL.Image" in image.get("text/plain", ""), str(result)[:400])


def expect_parts(how, result):
    shown = result.get("results") or []
    check(how + ": display() shows a table, then a figure, once", [sorted(x) for x in shown] == [["text/html", "text/plain"], ["image/png", "text/plain"]], str(result)[:600])
    check(how + ": what is printed is printed", result["stdout"] == "3\n", result["stdout"])


expect_table_and_plot("exec", exec_cold(READ + SHOW, files=True))
expect_image("exec", exec_cold(IMAGE))
FILES = [{"name": "sales.csv", "text": CSV}]
with Server("--rootfs", TREE, "--policy", "data-analysis", "--parked", "1") as server:
    client = server.client()
    expect_table_and_plot("service", client.ask("exec", code=READ + SHOW, files=FILES, output="data"))
    expect_image("service", client.ask("exec", code=IMAGE))
    session = client.ask("open", files=FILES)["session"]
    check("session: the table is read", client.ask("run", session=session, code=READ + "len(df)", output="list")["value"] == 3)
    expect_table_and_plot("session", client.ask("run", session=session, code=SHOW, output="data"))
    expect_parts("session", client.ask("run", session=session, code=PARTS))
    expect_image("session", client.ask("run", session=session, code=IMAGE))
    quiet = client.ask("run", session=session, code="table.shape")
    check("session: what was shown is not shown again", "results" not in quiet and quiet["status"] == "ok", quiet)
done()
