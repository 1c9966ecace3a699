"""Attacks by names and by the addresses that names have, on a network by allow-list."""

import os

from jails import API, W, connects, jail, kept_out, refused, unseen, world
from client import check, main, test, until


# --- names ---


@test
def names_like_the_allowed_ones():
    for name in ("evil-" + API, API + ".attacker.tld", "x." + API, "allowed.test", "notpkg.test", "pkg.test", "a.pkg.test.evil", "test", "evil.test", "localhost.evil.test"):
        W.name(name, "203.0.113.99")
    bad = ["evil-" + API, API + ".attacker.tld", "x." + API, "allowed.test", "notpkg.test", "pkg.test", "a.pkg.test.evil", "test", "evil.test",
           "localhost.evil.test", "metadata.google.internal", "xn--ap-kia.allowed.test"]
    code = "for name in sys.argv[1:]: said(dns(query(name)))"
    run = jail(code, *bad, allow=[API + ":443", "*.pkg.test:443"])
    guessed = [API + ".attacker.tld", "a.pkg.test.evil", "test"]  # names of the list with a search domain behind them, and one without a dot
    check("have an address of a refused name, or none", len(run.lines) == len(bad) and all(line == [3, None] if name in guessed else
          line[0] == 0 and line[1].startswith("198.19.") for name, line in zip(bad, run.lines)), run)
    check("and are reported", all(refused(run, name, None, "not on the jail's list") for name in bad), run)
    check("no question left the host", unseen(kind="dns"), W.log(kind="dns"))
    run = jail(code, "API.Allowed.TEST", "A.b.C.pkg.test", "_x.pkg.test", API + ".", allow=[API + ":443", "*.pkg.test:443"])
    check("control: case and a dot at the end do not matter", len(run.lines) == 4 and all(line[0] == 0 and line[1] for line in run.lines), run)
    run = jail("said(reaches('%s', 443), reaches('%s', 443))" % (API.upper(), API + "."))
    check("nor for a connection", "internet" in run.lines[0][0], run)
    run = jail("for name in sys.argv[1:]: said(reaches(name, 443), reaches(name, 80))", *bad, allow=[API + ":443", "*.pkg.test:443"])
    check("and lead nowhere", len(run.lines) == len(bad) and all(kept_out(line) for pair in run.lines for line in pair) and unseen(), run)


@test
def names_that_do_not_exist():
    """A program tries names: with the domains of a search list, without a dot, in its own network. Only NXDOMAIN makes it go on."""
    guesses = ["api", "intranet", API + ".corp.example", API + ".lan", "a.pkg.test.corp.example", "printer.local", "x.localhost", "host.localdomain", "a.onion",
               "wpad", "4.113.0.203.in-addr.arpa", "1.0.0.2.ip6.arpa", "a.invalid"]
    code = "for name in sys.argv[1:]: said(dns(query(name)), dns(query(name, 28)), dns(query(name, 12)))"
    run = jail(code, *guesses, allow=[API + ":443", "*.pkg.test:443"])
    check("have no address, and no other record", run.lines == [[[3, None]] * 3] * len(guesses), run)
    check("and are reported once each", all(refused(run, name, None, "not on the jail's list") for name in guesses) and
          all(v["count"] == 1 for v in run.result["violations"]), run)
    W.name("api.corp.example", "203.0.113.7")
    run = W.run("env", "LOCALDOMAIN=lan corp.example", "RES_OPTIONS=ndots:5", "curl", "-s", "-m", "10", "http://%s/" % API, allow=[API + ":80"])
    check("a search list, tried before the name itself, does no harm", run.stdout.startswith("internet " + API), run)


@test
def the_root():
    """A resolver that looks for its servers asks for `.`, and so may a program that was given an empty name."""
    run = jail('said(dns(query("")), dns(query("", 2)), dns(query("evil.test")))')
    check("has no address", [line[0] for line in run.lines[0]] == [3, 3, 0], run)
    check("and is no violation without a name", [v["host"] for v in run.result["violations"]] == ["evil.test"], run)


@test
def why_a_name_is_blocked():
    """An Extended DNS Error (RFC 8914), for a question with EDNS."""
    code = """
edns = query("evil.test")[:11] + b"\\1" + query("evil.test")[12:] + b"\\0\\0\\x29\\4\\xd0" + bytes(6)
local = query("evil.local")[:11] + b"\\1" + query("evil.local")[12:] + b"\\0\\0\\x29\\4\\xd0" + bytes(6)
for message in edns, local, query("evil.test"):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(WAIT)
        s.sendto(message, (DNS, 53))
        said(s.recv(4096).decode("latin-1"))
"""
    run = jail(code)
    told = "\0\17\0%c\0\17" + "agentjail: %s was refused: this name is not on the jail's list. Ask for %s to be allowed, or work without it."
    for line, name in zip(run.lines, ("evil.test", "evil.local")):
        text = told % ("x", name, name)
        check("the DNS answer for %s has the reason" % name, line.endswith(text[:3].replace("x", "") + chr(len(text) - 4) + text[4:]), (run, text))
    check("control: not without EDNS", len(run.lines) == 3 and "agentjail" not in run.lines[2], run)


@test
def questions_that_are_none():
    code = """
good = query("api.allowed.test")
for labels in [b"api.allowed", b"test"], [b"api", b"allowed", b"te\\0t"], [b"*", b"pkg", b"test"], [b"api allowed", b"test"], [b"a" * 63] * 4:
    said(dns(query(labels)))
said(dns(good[:12] + b"\\xc0\\x0c\\0\\1\\0\\1"), dns(good[:12] + b"\\3api\\xc0\\x0c\\0\\1\\0\\1"))
said(dns(good[:-2] + b"\\0\\3"), dns(query("api.allowed.test", flags=0x2800)))
said(dns(good[:20], timeout=1), dns(query("api.allowed.test", flags=0x8100), timeout=1), dns(b"", timeout=1))
for kind in 5, 10, 12, 15, 16, 33, 64, 65, 255: said(dns(query("api.allowed.test", kind)))
said(dns(good), dns(query("api.allowed.test", 28)), dns(good, proto="tcp"), dns(good, server="fd00:a9e7::1"))
"""
    run = jail(code, allow=[API + ":443", "*.pkg.test:443"])
    check("odd labels", run.lines[:5] == [[3, None]] * 4 + [[1, None]], run)
    check("compression pointers are not followed", run.lines[5] == [[1, None], [1, None]], run)
    check("other classes, updates", run.lines[6] == [[5, None], [4, None]], run)
    check("half a question, an answer, nothing", run.lines[7][1:] == ["!TimeoutError", "!TimeoutError"] and run.lines[7][0] in ([1, None], "!TimeoutError"), run)
    check("other types are empty", run.lines[8:17] == [[0, None]] * 9, run)
    check("control: A and AAAA, UDP and TCP, IPv4 and IPv6", len(run.lines) == 18 and all(line[0] == 0 and line[1] for line in run.lines[17]), run)


@test
def data_in_names():
    """A wildcard's names: none leaves the host before a connection is made, and new ones are few a second."""
    code = """
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    s.connect((DNS, 53))
    s.settimeout(1)
    answers = 0
    for i in range(3000):
        s.send(query("%060d.pkg.test" % i))
        try:
            answers += s.recv(4096)[3] & 15 == 0
        except TimeoutError:
            pass
        if i > 1000 and i > 4 * answers:
            break
said(answers)
"""
    run = jail(code, allow=["*.pkg.test:443"])
    check("names below a wildcard", run.lines and 200 < run.lines[0] < 1000, run)
    check("are refused beyond some", any("too many names" in v["why"] for v in run.result.get("violations", [])), run)
    check("none left the host", unseen(kind="dns"), W.log(kind="dns")[:3])


@test
def other_name_servers():
    code = """
message = query("evil.test")
said([dns(message, "8.8.8.8", proto, 1) for proto in ("udp", "tcp")] + [dns(message, "192.0.2.1", proto, 1) for proto in ("udp", "tcp")])
"""
    run = jail(code)
    check("are out of reach", run.lines and all(str(line)[0] == "!" for line in run.lines[0]) and unseen(kind="dns") and unseen(kind="tcp"), run)
    check("and reported over TCP", refused(run, "8.8.8.8", 53) and refused(run, "192.0.2.1", 53), run)


@test
def resolution():
    """The host's resolver, by the relay: cached, over UDP and TCP, and reported where it fails."""
    W.name("cached.pkg.test", "203.0.113.22", ttl=60)
    run = jail("said([reaches('cached.pkg.test', 80) for i in range(5)])", allow=["*.pkg.test:80"])
    check("a name is resolved once for its time to live", len(W.log(kind="dns", name="cached.pkg.test", type="A")) == 1
          and "".join(run.lines[0]).count("internet") == 5, W.log(kind="dns"))
    W.name("long.pkg.test", "203.0.113.22", truncate=True)
    W.name("late.pkg.test", "203.0.113.22", delay=0.8)
    W.name("crowd.pkg.test", *["203.0.113.%d" % i for i in range(100, 220)], "2001:db8::1", "2001:db8::2")
    run = jail("for name in ('long', 'late', 'crowd'): said(reaches(name + '.pkg.test', 80))", allow=["*.pkg.test:80"])
    check("answers that are cut, late, and of 122 addresses", len(run.lines) == 3 and all("internet" in line for line in run.lines), run)
    check("the first one over TCP", W.log(kind="dns", name="long.pkg.test", proto="tcp"), W.log(kind="dns"))
    W.name("empty.pkg.test")
    W.name("broken.pkg.test", rcode=2)
    W.name("silent.pkg.test", drop=True)
    names = ["empty.pkg.test", "broken.pkg.test", "absent.pkg.test"]
    if not os.environ.get("ROOT_TOO"):  # seconds of waiting, and the same for every user
        names.append("silent.pkg.test")
    run = jail("for name in sys.argv[1:]: said(reaches(name, 80))", *names, allow=["*.pkg.test:80"])
    failed = {row["host"]: row["why"] for row in run.result.get("network", {}).get("failed", [])}
    check("a name without an address is reported and is no violation", sorted(failed) == sorted(names) and all(failed.values()) and not run.result["violations"], run)


# --- addresses that a name may have ---


PRIVATE = {"loopback": ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"], "this host": ["0.0.0.0", "::"],
           "private": ["10.1.2.3", "172.16.0.1", "192.168.1.1", "fd00::1", "::ffff:10.1.2.3"], "link-local": ["169.254.1.1", "fe80::1"],
           "metadata": ["169.254.169.254", "100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "::ffff:169.254.169.254"],
           "shared by a provider": ["100.64.0.1"], "multicast": ["224.0.0.251", "ff02::1"], "broadcast": ["255.255.255.255"],
           "": ["192.0.2.2", "2001:db8:ffff::2"]}  # the host's own


@test
def names_of_private_addresses():
    rows = [(why, address) for why, addresses in PRIVATE.items() for address in addresses]
    names = ["n%d.pkg.test" % i for i in range(len(rows))]
    for name, (_, address) in zip(names, rows):
        W.name(name, address, ttl=0)
    run = jail("for name in sys.argv[1:]: said(reaches(name, 80))", *names, allow=["*.pkg.test:80"])
    check("give no connection", len(run.lines) == len(names) and all(kept_out(line) for line in run.lines), run)
    for name, (why, address) in zip(names, rows):
        check("%s is refused as what it is" % address, refused(run, name, 80, why), run)
    check("and no server saw one", unseen(kind="tcp"), W.log(kind="tcp") + W.log("host", kind="tcp"))
    run = jail("said(reaches('n6.pkg.test', 80), reaches('n8.pkg.test', 80))", allow=["*.pkg.test:80", "10.1.0.0/16:80"])
    place = names.index("n8.pkg.test")
    check("control: rows are where this test thinks", rows[place][1] == "10.1.2.3", rows[place])
    check("control: where the policy writes the address out, there is one", "on 10.1.2.3" in run.lines[0][1], run)


# Every form in which the kernel is told that an address is the host's own: words of ip(8), and such an address.
OWN = [
    ("a second address of a network", ["addr add 203.0.112.9/24 dev up0", "addr add 203.0.112.10/24 dev up0"], "203.0.112.10"),
    ("an address with another peer", ["addr add 203.0.113.250 peer 203.0.113.251 dev up0"], "203.0.113.250"),
    ("a network", ["route add local 203.0.111.0/24 dev lo"], "203.0.111.7"),
    ("one with a source", ["route add local 203.0.110.0/24 dev lo src 192.0.2.2"], "203.0.110.7"),
    ("one of table main", ["route add local 203.0.109.0/24 dev lo table main src 192.0.2.2"], "203.0.109.7"),
    ("one of a table of its own", ["route add local 203.0.108.0/24 dev lo table 100 src 192.0.2.2", "rule add to 203.0.108.0/24 lookup 100"], "203.0.108.7"),
    ("one of a rule by port", ["route add local 203.0.107.0/24 dev lo table 101", "rule add to 203.0.107.0/24 ipproto tcp dport 80 lookup 101"], "203.0.107.7"),
    ("one of a rule by source", ["route add local 203.0.106.0/24 dev lo table 102", "rule add to 203.0.106.0/24 from 192.0.2.2 lookup 102"], "203.0.106.7"),
    ("a second IPv6 address", ["addr add 2001:db8:aaaa::2/64 dev up0 nodad", "addr add 2001:db8:aaaa::3/64 dev up0 nodad"], "2001:db8:aaaa::3"),
    ("an IPv6 network", ["-6 route add local 2001:db8:bbbb::/64 dev lo"], "2001:db8:bbbb::7"),
    ("one with a source", ["-6 route add local 2001:db8:cccc::/64 dev lo src 2001:db8:ffff::2"], "2001:db8:cccc::7"),
    ("one of table main", ["-6 route add local 2001:db8:dddd::/64 dev lo table main"], "2001:db8:dddd::7"),
    ("an IPv6 one of a rule by port", ["-6 route add local 2001:db8:ffaa::/64 dev lo table 103", "-6 rule add to 2001:db8:ffaa::/64 ipproto tcp dport 80 lookup 103"], "2001:db8:ffaa::7"),
    ("an anycast address", ["-6 route add anycast 2001:db8:eeee::7 dev lo table local"], "2001:db8:eeee::7"),
]
WITHIN_IPV6 = ["::ffff:203.0.112.10", "64:ff9b::203.0.112.10", "2002:cb00:700a::1"]  # the second address above, as translators write it


@test
def names_of_local_routes():
    names = ["own%d.pkg.test" % i for i in range(len(OWN))]
    for name, (_, commands, address) in zip(names, OWN):
        for command in commands:
            world.ip(*command.split())
        W.name(name, address, ttl=0)
    W.forget()
    there = {address for _, _, address in OWN if connects((address, 80))}  # of an IPv4 table of its own the server's answer finds no way
    check("control: the host's own servers are there", len(there) >= len(OWN) - 5 and
          until(lambda: {line["address"] for line in W.log("host", kind="tcp")} == there, 20), (there, W.log("host", kind="tcp")))
    run = jail("for name in sys.argv[1:]: said(reaches(name, 80))", *names, allow=["*.pkg.test:80"])
    for name, (form, _, address) in zip(names, OWN):
        check("%s: %s is refused as the host's own" % (form, address), refused(run, name, 80, "the host's own"), run)
    check("and no server saw one", len(run.lines) == len(names) and all(kept_out(line) for line in run.lines) and not W.log("host", kind="tcp"), W.log("host", kind="tcp") or run)
    check("control: the kernel takes IPv6's form of an IPv4 address for that address", connects((WITHIN_IPV6[0], 80)))
    W.forget()
    for address in WITHIN_IPV6:
        W.name("within.pkg.test", address, ttl=0)
        run = jail("said(reaches('within.pkg.test', 80))", allow=["*.pkg.test:80"])
        check("within an IPv6 address: %s is refused as the host's own" % address, refused(run, "within.pkg.test", 80, "the host's own"), run)
    check("and no server saw one of these", not W.log("host", kind="tcp"), W.log("host", kind="tcp"))


@test
def a_route_by_source_alone():
    """Without a source IPv6 has no route, and connect(2) asks again with one, which leads to the host itself."""
    address = "2001:db8:ffbb::7"
    for command in ("-6 route add unreachable 2001:db8:ffbb::/64", "-6 route add local 2001:db8:ffbb::/64 dev lo table 104",
                    "-6 rule add to 2001:db8:ffbb::/64 from 2001:db8:ffff::2 lookup 104"):
        world.ip(*command.split())
    W.name("by-source.pkg.test", address, ttl=0)
    W.forget()
    check("control: it leads to the host's own server", connects((address, 80)) and until(lambda: W.log("host", kind="tcp"), 20))
    W.forget()
    run = jail("said(reaches('by-source.pkg.test', 80))", allow=["*.pkg.test:80"])
    check("%s is not reached" % address, len(run.lines) == 1 and kept_out(run.lines[0]) and not W.log("host", kind="tcp"), run)


@test
def rebinding():
    W.name("turns.pkg.test", A=[["203.0.113.21"], ["127.0.0.1"]], ttl=0)
    code = """
said(reaches("turns.pkg.test", 80))
for i in range(50):
    last = reaches("turns.pkg.test", 80)
    if last[:1] == "!" or not last or "was refused" in last: break
    time.sleep(0.2)
said(last)
"""
    run = jail(code, allow=["*.pkg.test:80"])
    check("to loopback is refused", len(run.lines) == 2 and "on 203.0.113.21" in run.lines[0] and kept_out(run.lines[1])
          and refused(run, "turns.pkg.test", 80, "loopback") and unseen(kind="tcp", address="127.0.0.1"), run)
    W.name("mixed.pkg.test", "127.0.0.1", "10.1.2.3", "203.0.113.21", "::1")
    run = jail("said(reaches('mixed.pkg.test', 80))", allow=["*.pkg.test:80"])
    check("among several addresses the public one is taken", "on 203.0.113.21" in run.lines[0] and not W.log("host", kind="tcp"), run)


@test
def aliases():
    W.name("inner.corp", "10.1.2.3")
    W.name("alias.pkg.test", CNAME="inner.corp")
    W.name("chain.pkg.test", CNAME="alias.pkg.test")
    W.name("loop.pkg.test", CNAME="loop.pkg.test")
    W.name("good.pkg.test", CNAME="b.pkg.test")
    run = jail("for name in ('alias', 'chain', 'loop', 'good'): said(reaches(name + '.pkg.test', 80))", allow=["*.pkg.test:80"])
    check("of private names", "internet" not in run.lines[0] + run.lines[1] + run.lines[2] and refused(run, "alias.pkg.test", 80, "private")
          and refused(run, "chain.pkg.test", 80, "private"), run)
    check("control: of public ones", "on 203.0.113.21" in run.lines[3], run)


@test
def addresses_in_other_forms():
    """Decimal, octal, hexadecimal, short: the jail's programs make addresses of them, which are not on the list."""
    code = "for text in sys.argv[1:]: said(reaches(text, 80))"
    run = jail(code, "3405803783", "0xcb007107", "0313.0.0161.07", "203.113", "2852039166", "0xa9.254.0251.0376", "::ffff:203.0.113.7",
               "::ffff:169.254.169.254", "0", "127.1", allow=[API + ":80"])
    check("give no connection", len(run.lines) == 10 and all(kept_out(line) for line in run.lines) and unseen(kind="tcp"), run)
    check("and are reported as the addresses that they are", refused(run, "203.0.113.7", 80) and refused(run, "169.254.169.254", 80), run)
    for item in ("3405803783:80", "0xcb.0.113.7:80", "0313.0.113.7:80", "127.1:80"):
        run = W.run("true", allow=[item])
        check("%s is no item of a policy" % item, run.code == 125 or run.code == 2, run)


@test
def metadata_by_address():
    code = "for place in sys.argv[1:]: said(reaches(place, 80))"
    places = ["169.254.169.254", "100.100.100.200", "168.63.129.16", "fd00:ec2::254", "169.254.170.2"]
    run = jail(code, *places, allow=["*.pkg.test:80", "*.google.internal:80"])
    check("is out of reach", len(run.lines) == 5 and unseen(kind="tcp") and all(refused(run, place, 80) for place in places), run)


main()
