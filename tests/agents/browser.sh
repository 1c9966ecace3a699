#!/bin/sh
# Debian's Chromium in a jail of the policy `browser`: alone, and driven by Puppeteer and Playwright from npm. As root and as a user.
# AGENTS names the folder that holds node_modules.
. "$(dirname "$0")/../lib.sh"
if ! command -v chromium >/dev/null || ! command -v node >/dev/null; then
	skip "Chromium" "the package chromium or nodejs is not installed"
	finish
fi
LIMIT=120
aj run --policy browser -- sh -c 'echo "<title>page</title><script>document.write(6*7)</script>" >/tmp/page.html
	chromium --headless --no-sandbox --disable-gpu --dump-dom file:///tmp/page.html 2>/dev/null'
says "alone it runs a page's script" '^</head>.*42|<body>.*42'
aj run --policy browser --bind "$AGENTS/node_modules:/opt/agents/node_modules" --bind "$tests/agents/browser.js:/opt/agents/browser.js" -- \
	node /opt/agents/browser.js
says "Puppeteer loads, presses and takes a picture" '^puppeteer page 42 PNG$'
says "so does Playwright" '^playwright page 42 PNG$'
is "it ends well" 0 "$rc"
aj run --policy browser -- sh -c 'echo "<title>page</title>" >/tmp/page.html; chromium --headless --no-sandbox --disable-gpu --screenshot=/tmp/page.png file:///tmp/page.html 2>/dev/null; head -c4 /tmp/page.png | tail -c3'
says "a picture from the command line" 'PNG'
aj run --policy browser --allow-host example.org -- sh -c 'cat /etc/chromium/policies/managed/*.json /etc/opt/chrome/policies/managed/*.json'
is "ECH is off for sites of the list" 2 "$(grep -c '"EncryptedClientHelloEnabled": false' "$T/out")"
finish
