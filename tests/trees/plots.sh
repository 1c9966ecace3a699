#!/bin/sh
# A snippet reads a CSV from its input, makes a table and a plot, and both come back as files: run cold, and with build/warm.
# The tree is $TREE, as in check.sh.
AGENTJAIL_ROOTFS=${TREE:?}
export AGENTJAIL_ROOTFS
. "$(dirname "$0")/../lib.sh"

cat >"$T/sales.csv" <<'CSV'
day,shop,sold
2024-01-01,A,3
2024-01-01,B,4
2024-01-02,A,5
CSV
cat >"$T/plot.py" <<'SNIPPET'
import pandas as pd
import matplotlib.pyplot as plt
df = pd.read_csv("/input/sales.csv", parse_dates=["day"])
table = df.groupby("shop")["sold"].sum()
table.plot(kind="bar", title="Sold")
plt.savefig("/output/sold.png")
table.to_csv("/output/sold.csv")
table.to_dict()
SNIPPET
json "a table from a CSV, and a plot" 0 status=ok value.A=8 value.B=4 -- \
	exec --json --policy data-analysis --file "$T/sales.csv" --output "$T/made" "$T/plot.py"
check "the plot is an image" sh -c 'head -c 8 "$1" | grep -q PNG' sh "$T/made/sold.png"
check "the table is a file" grep -qx 'A,8' "$T/made/sold.csv"
finish
