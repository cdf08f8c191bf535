#!/bin/sh
# asx-tls against the openssl tool: peers.sh ECHO_PROGRAM. Exit code 77: there is no such tool.
# The program serves an echo with TLS, or is its client: see peer.c.
set -eu
program=$1
command -v openssl >/dev/null || { echo "openssl is not there: not compared with it"; exit 77; }
work=$(mktemp -d)
pids=
trap 'for pid in $pids; do kill "$pid" 2>/dev/null || true; done; rm -rf "$work"' EXIT
cd "$work"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out cert.pem \
    -subj /CN=localhost -addext subjectAltName=DNS:localhost -days 2 2>/dev/null
failures=0
fail() {
    echo "FAIL $*"
    failures=$((failures + 1))
}

# The word, and time for its echo: s_client ends with its input.
says() {
    echo "$1"
    sleep 1
}

# Their client, our server.
"$program" serve cert.pem key.pem >port &
pids="$pids $!"
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    [ -s port ] && break
    sleep 0.1
done
port=$(cat port)
for version in tls1_2 tls1_3; do
    said=$(says hello | timeout 20 openssl s_client -connect "127.0.0.1:$port" -"$version" \
        -servername localhost -CAfile cert.pem -verify_return_error -alpn echo -quiet \
        -no_ign_eof 2>"$version.log") || fail "s_client with $version: $(tail -3 "$version.log")"
    [ "$said" = hello ] || fail "s_client with $version heard: $said"
done
! timeout 20 openssl s_client -connect "127.0.0.1:$port" -tls1_1 -cipher 'ALL:@SECLEVEL=0' \
    </dev/null >old.log 2>&1 || fail "TLS 1.1 was accepted"
said=$(says again | timeout 20 openssl s_client -connect "127.0.0.1:$port" -CAfile cert.pem \
    -quiet -no_ign_eof 2>/dev/null) || fail "the server does not go on"
[ "$said" = again ] || fail "afterwards it said: $said"

# Our client, their server.
openssl s_server -accept 0 -cert cert.pem -key key.pem -rev -naccept 3 >server.log 2>&1 &
pids="$pids $!"
port=
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    port=$(sed -n 's/^ACCEPT .*:\([0-9]*\)$/\1/p' server.log)
    [ -n "$port" ] && break
    sleep 0.1
done
said=$(timeout 20 "$program" ask "$port" localhost cert.pem "hello") || fail "our client: $?"
[ "$said" = olleh ] || fail "s_server said: $said"
if timeout 20 "$program" ask "$port" elsewhere.test cert.pem "hello" >/dev/null 2>&1; then
    fail "a certificate for another host was accepted"
fi
echo "peers: $failures failures"
[ "$failures" -eq 0 ]
