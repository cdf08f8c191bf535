#!/usr/bin/env python3
"""Messages that we accept, read by h11 too: compare.py PRINT SEEDS_FOLDER

PRINT is the program made of print.c. The messages are the seeds of the fuzzer and some thousand
changes of each, the same in every run. What we accept h11 must accept, and read the same: method,
target, fields, body, and where the message ends. Exit code 77: h11 is not installed."""

import os
import random
import re
import struct
import subprocess
import sys

try:
    import h11
except ImportError:
    print("h11 (python3-h11) is not installed: skipped")
    sys.exit(77)

CHANGES = 1500
OFTEN = [b"\r", b"\n", b"\r\n", b" ", b"\t", b":", b";", b",", b"0", b"\0", b"chunked", b"1.0"]


def change(message, rng):
    bytes_ = bytearray(message)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(bytes_) + 1)
        what = rng.randrange(4)
        if what == 0:
            bytes_[at:at + 1] = bytes([rng.randrange(256)])
        elif what == 1:
            bytes_[at:at] = rng.choice(OFTEN)
        elif what == 2:
            del bytes_[at:at + rng.randint(1, 3)]
        else:
            bytes_[at:at + 1] = rng.choice(OFTEN)
    return bytes(bytes_)


def messages(folder):
    rng = random.Random(1)
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            seed = file.read()
        yield seed[0] & 1, seed[2:]
        for _ in range(CHANGES):
            yield seed[0] & 1, change(seed[2:], rng)


def ours(said):
    """What print.c says, as h11's events have it."""
    text = said.decode("latin-1")
    first = re.match(r"method: '(.*)'\ntarget: '(.*)'\n", text)
    if first:
        line = (first[1], first[2])
    else:
        line = (re.match(r"status: (\d+)\n", text)[1],)
    body = re.search(r"body: '(.*)'\n$", text, re.S)[1]
    fields = re.findall(r"^\((.*?)\)=\((.*)\)$", text, re.M)
    return line, [same_case(n.lower(), v) for n, v in fields], body


def same_case(name, value):
    """h11 writes the names of codings and expectations in lower case."""
    return name, value.lower() if name in ("transfer-encoding", "expect") else value


def theirs(kind, message):
    if kind == 0:
        connection = h11.Connection(h11.SERVER, max_incomplete_event_size=100000)
    else:
        connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=100000)
        connection.send(h11.Request(method="GET", target="/", headers=[("Host", "h")]))
        connection.send(h11.EndOfMessage())
    connection.receive_data(message[2:] if message.startswith(b"\r\n") else message)
    line, fields, body = None, [], b""
    while True:
        event = connection.next_event()
        if isinstance(event, h11.Request):
            line = (event.method.decode("latin-1"), event.target.decode("latin-1"))
        elif isinstance(event, (h11.Response, h11.InformationalResponse)):
            line = (str(event.status_code),)
        elif isinstance(event, h11.Data):
            body += event.data
            continue
        elif not isinstance(event, h11.EndOfMessage):
            return None  # not whole
        fields += [same_case(n.decode("latin-1"), v.decode("latin-1")) for n, v in event.headers]
        if isinstance(event, (h11.EndOfMessage, h11.InformationalResponse)):
            shown = "".join(chr(c) if 0x20 <= c < 0x7f and c != 0x5c else "\\x%02x" % c for c in body)
            return line, fields, shown, len(connection.trailing_data[0])


# h11 knows less: no 101 that was not asked for, nothing behind HTTP/1.1. The empty line that may come
# before a request is taken away before h11 sees it.
def knows_less(error, message):
    return (b"HTTP/1." in message and re.search(rb"HTTP/1\.[2-9]", message)) or \
        re.match(rb"HTTP/1\.1 101", message)


def main():
    all_ = list(messages(sys.argv[2]))
    stdin = b"".join(struct.pack("<BI", kind, len(m)) + m for kind, m in all_)
    out = subprocess.run([sys.argv[1]], input=stdin, stdout=subprocess.PIPE, check=True).stdout
    lines = out.decode().splitlines()
    if len(lines) != len(all_):
        sys.exit("print.c answered %d of %d" % (len(lines), len(all_)))
    accepted = wrong = 0
    for (kind, message), answer in zip(all_, lines):
        result, used, said = answer.split(" ")
        if result != "200":
            continue
        accepted += 1
        try:
            other = theirs(kind, message)
            if other is not None:
                other = other[:3] + (len(message) - other[3],)
        except h11.RemoteProtocolError as error:
            if knows_less(error, message):
                continue
            other = error
        mine = ours(bytes.fromhex(said)) + (int(used),)
        if other != mine:
            wrong += 1
            print("%r\n  we: %r\n  h11: %r" % (message, mine, other))
    print("%d messages, %d accepted, %d read differently" % (len(all_), accepted, wrong))
    sys.exit(wrong > 0 or accepted < 1000)


main()
