#!/bin/sh
# How a server does with many studies: memory, start-up, and the list of them.
#
#   bench/studies.sh [STUDIES]        10,000 unless told; a minute or two
#
# Every study has three features and no report; the server is ours, on loopback, with a
# directory that is removed. Prints memory before and after, what creating one takes, the
# time of a start, and for some requests the bytes and the best of five times.
. tests/common/tap.sh
. tests/common/server.sh
number=${1:-10000}
processor() { awk '{print ($14 + $15) / 100 " s"}' "/proc/$server_pid/stat"; }
resident() { awk '/^VmRSS/ {print int($2 / 1024)}' "/proc/$server_pid/status"; }
# ask WORDS PATH [CURL-ARGUMENTS]
ask() {
    words=$1 path=$2
    shift 2
    for _ in 1 2 3 4 5; do
        curl -s -o "$work/body" -w '%{time_total} %{size_download} %{http_code}\n' "$@" "$url$path"
    done | sort -n | awk -v words="$words" 'NR == 1 {printf "%-34s %7.1f ms %9d bytes   %s\n", words, 1000 * $1, $2, $3}'
}

study_text '{"kind": "one-shot"}' >"$work/one.json"
start_server "$work/data"
echo "empty server: $(resident) MB"
python3 - "$url" "$work" "$number" <<'PYTHON'
import http.client, json, sys, time
url, work, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
study = json.load(open(f"{work}/one.json"))
token = open(f"{work}/data/operator.token").read().strip()
connection = http.client.HTTPConnection(url.removeprefix("http://"))
start = time.time()
for i in range(number):
    study["title"] = f"study number {i + 1}"
    connection.request("POST", "/v1/studies", json.dumps(study), {"Authorization": f"Bearer {token}"})
    answer = connection.getresponse()
    body = answer.read()
    if answer.status != 201:
        sys.exit(f"study {i + 1}: {answer.status} {body.decode()}")
print(f"{number} studies: {1000 * (time.time() - start) / number:.2f} ms each")
PYTHON
echo "with them: $(resident) MB"
stop_server
begun=$(date +%s%N)
start_server "$work/data"
echo "started again: $(($(($(date +%s%N) - begun)) / 1000000)) ms, processor $(processor), $(resident) MB"
ask "the first fifty, by title" '/v1/studies?limit=50&sort=title'
ask "the same, compressed" '/v1/studies?limit=50&sort=title' -H 'Accept-Encoding: gzip'
ask "as many as an answer has" '/v1/studies'
ask "the same, compressed" '/v1/studies' -H 'Accept-Encoding: gzip'
ask "a search, by devices" '/v1/studies?search=9&sort=devices&order=down&limit=50'
ask "one study" "/v1/studies/$(sed 's/.*"id": *"\([^"]*\)".*/\1/' "$work/body")/round"
ask "metrics" /metrics
sleep "${WAIT:-20}"
echo "after ${WAIT:-20} s: $(resident) MB"
