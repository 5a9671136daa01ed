# Requests that two parsers could read in two ways are refused, and their connections end.
. tests/common/tap.sh
. tests/common/server.sh

start_server "$work/data"
cat >"$work/send.py" <<'END'
import socket, sys

port, path = int(sys.argv[1]), sys.argv[2]
post = b"POST /v1/studies HTTP/1.1\r\nHost: a\r\n"
get = b"GET /healthz HTTP/1.1\r\nHost: a\r\n"
cases = [
    ("a sound request", get + b"\r\n", 200, False),
    ("one with query, white space and letters in percent",
     b"GET /he%61lthz?a=b&c HTTP/1.1\r\nHost:\ta \r\nX:\r\n\r\n", 200, False),
    ("HTTP/1.0 without Host", b"GET /healthz HTTP/1.0\r\n\r\n", 200, True),
    ("a head of many lines", get + b"".join(b"X-%d: %s\r\n" % (i, b"y" * 40) for i in range(20)) + b"\r\n", 200, False),
    ("no Host", b"GET /healthz HTTP/1.1\r\n\r\n", 400, True),
    ("two Hosts", b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, True),
    ("the same Host twice", b"GET /healthz HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n", 400, True),
    ("two lengths", post + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc", 400, True),
    ("the same length twice", post + b"Content-Length: 2\r\ncontent-length: 2\r\n\r\nab", 400, True),
    ("a list of lengths", post + b"Content-Length: 2, 2\r\n\r\nab", 400, True),
    ("a length with a sign", post + b"Content-Length: +2\r\n\r\nab", 400, True),
    ("no digits", post + b"Content-Length:\r\n\r\n", 400, True),
    ("length and chunks", post + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, True),
    ("chunks and length", post + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", 400, True),
    ("chunks", post + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411, True),
    ("an unknown coding", post + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 411, True),
    ("lines ended by LF", b"GET /healthz HTTP/1.1\nHost: a\n\n", 400, True),
    ("the first line ended by LF", b"GET /healthz HTTP/1.1\nHost: a\r\n\r\n", 400, True),
    ("a header ended by LF", b"GET /healthz HTTP/1.1\r\nHost: a\nX: b\r\n\r\n", 400, True),
    ("CR in a value", get + b"X: b\rY: c\r\n\r\n", 400, True),
    ("NUL in a value", get + b"X: b\0c\r\nY: d\r\n\r\n", 400, True),
    ("NUL in the last value", get + b"X: b\0c\r\n\r\n", 400, True),
    ("NUL in a name", get + b"X\0: b\r\n\r\n", 400, True),
    ("NUL in the path", b"GET /healthz\0 HTTP/1.1\r\nHost: a\r\n\r\n", 400, True),
    ("a space in the path", b"GET /healthz x HTTP/1.1\r\nHost: a\r\n\r\n", 400, True),
    ("a space before the colon", get + b"Content-Length : 3\r\n\r\nabc", 400, True),
    ("a header without a name", get + b": b\r\n\r\n", 400, True),
    ("one before others", get + b": b\r\nX: c\r\n\r\n", 400, True),
    ("one without a value", get + b":\r\nX: c\r\n\r\n", 400, True),
    ("one that hides a request", get + b":\r\nGET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", 400, True),
    ("one before a body", post + b"Content-Length: 2\r\n:\r\n\r\nab", 400, True),
    ("two spaces after the method", b"GET  /healthz HTTP/1.1\r\nHost: a\r\n\r\n", 400, True),
    ("empty lines before the first", b"\r\n\r\n" + get + b"\r\n", 200, False),
    ("a folded line", get + b"X: b\r\n c\r\n\r\n", 400, True),
    ("a header before the first", b"GET /healthz HTTP/1.1\r\n Host: a\r\n\r\n", 400, True),
    ("an encoded slash is no slash", b"GET /v1%2Fstudies HTTP/1.1\r\nHost: a\r\n\r\n", 404, False),
    ("nor at the beginning", b"GET %2fhealthz HTTP/1.1\r\nHost: a\r\n\r\n", 404, False),
]
again = b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"

def answers(pieces):
    with socket.create_connection(("127.0.0.1", port), 20) as line:
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in pieces:
            line.sendall(piece)
        got = b""
        try:
            while piece := line.recv(65536):
                got += piece
        except ConnectionResetError:
            pass
        return got

alive = b'{"status":"ok"}'
for name, request, status, ends in cases:
    got = answers([request] if ends else [request, again])  # until the server ends it
    last = got.endswith(alive) if not ends or status == 200 else alive not in got
    print("%s: %s %s" % (name, got[9:12].decode(), "ends" if ends else "goes on"),
          "" if last else "but wrongly: %r" % got, sep="")
    print("%s: %d %s" % (name, status, "ends" if ends else "goes on"), file=sys.stderr)
# The library grows its buffer under a head that comes in pieces.
long = cases[3][1]
got = answers([long[i:i + 7] for i in range(0, len(long), 7)] + [again])
print("in pieces: %d" % got.count(alive))
print("in pieces: 2", file=sys.stderr)
END
python3 "$work/send.py" "${url##*:}" /healthz >"$work/seen" 2>"$work/wanted"
while IFS= read -r wanted <&3 && IFS= read -r seen <&4; do
    expect "$wanted" "$seen" "$wanted"
done 3<"$work/wanted" 4<"$work/seen"
expect "each was tried" "$(wc -l <"$work/seen")" 38
expect "a body in chunks" "$(http_status -H "Transfer-Encoding: chunked" --data-binary x "$url/v1/studies")" 411
expect_match "is no error of the server" "$work/body" '"title": ?"Length required"'
stop_server
expect "and the server ends in peace" $? 0
