# tremolo study publish and close: from a file to a running study and to its
# end, with nothing but the command's own words.
. tests/common/tap.sh
. tests/common/server.sh
out=$work/out err=$work/err

# study ARGUMENTS: tremolo study as the operator.
study() { $tremolo study "$@" --token-file "$token" >"$out" 2>"$err"; }

start_server "$work/data"
token=$work/data/operator.token
study_text '{"kind": "one-shot"}' >"$work/one.json"
study_text '{"kind": "iterative", "rounds": 2, "radius": 2}' >"$work/two.json"
study_text '{"kind": "one-shot"}' '{"enrolment": "keys"}' >"$work/keys.json"
echo '{"epsilon_per_study": 8, "epsilon_total": 40}' >"$work/policy.json"

study publish "$work/one.json" "$url/"
expect "a study is published" $? 0
id=$($tremolo study id "$work/one.json")
expect_match "with its id" "$out" "^id +$id\$"
expect_match "its address" "$out" "^url +$url/v1/studies/$id\$"
expect_match "and the server's key" "$out" "^key +$(sed -n 's/^server key //p' "$work/server.out")\$"
printf 'age,pulse\n30,60\n40,70\n' >"$work/header.csv"
$tremolo study init "$work/header.csv" >"$work/starter.json" 2>/dev/null
study publish "$work/starter.json" "$url"
expect "a starter whose ranges nobody replaced is not" $? 2
study publish "$work/one.json" "$url" --json
expect "publishing again changes nothing" $? 0
expect_match "and names the same study" "$out" "\"url\": \"$url/v1/studies/$id\""
study publish "$work/keys.json" "$url"
expect_match "a study with keys says where they come from" "$out" "tremolo study enrol $url/v1/studies/"
keys=$url/v1/studies/$($tremolo study id "$work/keys.json")
study enrol "$keys" watch-1
expect "a device is enrolled" $? 0
expect_match "under its name in base64url" "$out" '^device d2F0Y2gtMQ$'
expect_match "with a key" "$out" '^key    [-_A-Za-z0-9]{22}$'
study enrol "$keys"
expect "but not without a name" "$? $(wc -l <"$err")" "2 1"
$tremolo study show "$url/studies/$id/about" >"$out" 2>"$err"
expect "a published study is shown, by its page's address, too" $? 0
expect_match "with its id" "$out" "^id +$id\$"
$tremolo status "$url/studies/$id" >"$out"
expect "as its state is" $? 0
timeout 20 $tremolo status --watch "$url/v1/studies/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" >"$out" 2>"$err"
expect "watching a study that is not there ends" "$? $(grep -c 404 "$err")" "1 1"

$tremolo status "$url/v1/studies/$id" >"$out"
expect_match "a study without reports says so" "$out" '^no reports yet'
expect "instead of an empty table" "$(grep -c 'std. error' "$out")" 0

# What it prints for a device runs as it stands, policy included.
study publish "$work/one.json" "${url#http://}"
expect "an address without its scheme will do" $? 0
expect_match "a study that most devices refuse is said to be one" "$err" "^tremolo study: warning: devices with the default policy, and the participant's page, refuse"
study_text '{"kind": "one-shot"}' '{"closes": "2020-01-01"}' >"$work/past.json"
study publish "$work/past.json" "$url"
expect_match "one that is over before it begins, too, as study check says it" "$err" \
    '^tremolo study: warning: limits.closes: is past; no device could report$'
study publish "$work/one.json" "$url"
sed -n '/^  echo/,/--enrol/p' "$out" >"$work/script"
sed -n '/^  {/p' "$out" >"$work/sample.json"
sed "s|tremolo report|$(cd "${BUILD:-build}" && pwd)/tremolo report|;s|DIRECTORY|device|" \
    "$work/script" >"$work/run.sh"
mkdir "$work/run" && cp "$work/sample.json" "$work/run"
(cd "$work/run" && sh ../run.sh >"$out" 2>"$err")
expect "the printed commands send a report" $? 0
expect_match "which is accepted" "$out" 'accepted'
$tremolo study init | sed 's/"high": 9$/"high": 9, "typical": 6.5/; s/"typical": 0.2/"typical": 0.8/' >"$work/typical.json"
study publish "$work/typical.json" "$url"
expect_match "the sample is a typical one" "$out" '^  \{"sleep": 6\.5, "smoker": "yes", "heart rate": 70\}$'
# A distance is printed as a policy in the features' own units, and obeyed as such.
study_text '{"kind": "one-shot"}' | sed 's/"privacy": {[^}]*}/"privacy": {"epsilon": 1, "neighbours": {"distance": 0.5}, "protects": "all"}/' >"$work/near.json"
study publish "$work/near.json" "$url"
expect_match "a policy names each feature and the private response" "$out" \
    '"distance": \{"steps": 5000, "sleep": 2, "pulse": 17\.5, "score": 25\}'
sed -n '/^  echo/,/--enrol/p' "$out" >"$work/script"
sed -n '/^  {/p' "$out" >"$work/run/sample.json"
sed "s|tremolo report|$(cd "${BUILD:-build}" && pwd)/tremolo report|;s|DIRECTORY|near|" "$work/script" >"$work/run.sh"
(cd "$work/run" && sh ../run.sh >"$out" 2>"$err")
expect "and is taken as it is printed" "$? $(grep -c accepted "$out")" "0 1"
echo '{"distance": 0.5}' >"$work/run/policy.json"
(cd "$work/run" && sed '/> policy.json/d' ../run.sh >../again.sh && sh ../again.sh >"$out" 2>"$err")
expect "a number of half ranges is no distance" "$? $(grep -c 'in its own unit' "$err")" "2 1"
$tremolo status "$url/v1/studies/$id" >"$out"
expect_match "one report is counted as one" "$out" '^1 report( of 1 device)?, open, round 1 of [0-9]+$'
expect_match "and says nothing yet" "$out" '^nothing can be said before two devices have reported$'

# Rounds.
study close "$url/v1/studies/$id"
expect "a round of one report stays open" $? 1
expect_match "for a reason" "$err" '409: .*two reports'
study publish "$work/two.json" "$url"
two=$url/v1/studies/$($tremolo study id "$work/two.json")
for round in 1 2; do
    for device in a b; do
        $tremolo report --study "$two" --state "$work/$device" --sample "$work/sample.json" --enrol --trust-new \
            --policy "$work/policy.json" >"$work/report" 2>&1 || cat "$work/report"
    done
    study close "$two"
    expect "round $round is closed" $? 0
    expect_match "and said so" "$out" "^round $round of 2 is closed"
    [ $round = 2 ] || expect_match "with the one that is open now" "$out" '; round 2 is open$'
    study close "$two" $round
    expect "closing round $round again, by its number, is harmless" $? 0
    expect_match "and names that round" "$out" "^round $round of 2 is closed"
done
expect_match "the last with the study" "$out" 'so is the study$'
study close "$two" 1 --json
expect_match "which --json has, too, counted as the server does" "$out" '"closed_round": 0'
study close "$two"
expect "there is nothing more to close" $? 1
expect_match "which is said, too" "$err" '410: the study is done'
$tremolo report --study "$url/v1/studies/$id" --state "$work/b" --sample "$work/sample.json" --trust-new \
    --policy "$work/policy.json" >/dev/null 2>&1
study close "$url/v1/studies/$id/"
expect "a one-shot study is closed likewise" $? 0

# The round is asked for first and then closed by its number, whatever becomes of the answer.
cat >"$work/silent.py" <<'PYTHON'
import http.server, sys
class Silent(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b'{"round": 4, "rounds": 9, "state": "open"}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_POST(self):
        print(self.path, file=sys.stderr, flush=True)
        self.close_connection = True
    def log_message(self, *arguments):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Silent)
print(server.server_port, flush=True)
server.handle_request()
server.handle_request()
PYTHON
timeout 30 python3 "$work/silent.py" >"$work/port" 2>"$work/asked" &
silent=$!
until [ -s "$work/port" ] || ! kill -0 $silent 2>/dev/null; do sleep 0.05; done
study close "http://127.0.0.1:$(cat "$work/port")/v1/studies/$id"
expect "an answer that is lost" $? 1
wait $silent
expect "was asked for by the round's number" "$(cat "$work/asked")" "/v1/studies/$id/round/close?round=4"
expect_match "and how to ask again is said" "$err" 'ask again with the round.s number, 5, which closes no other$'

# Refusals, each in one sentence.
refused() {
    shift_name=$1 expected=$2 pattern=$3
    shift 3
    $tremolo study "$@" >"$out" 2>"$err"
    expect "$shift_name" "$? $(wc -l <"$err")" "$expected 1"
    expect_match "... in words" "$err" "$pattern"
}
echo wrong >"$work/wrong.token"
head -c 3000 /dev/zero | tr '\0' a >"$work/long.token"
printf 'a b\n' >"$work/spaced.token"
: >"$work/empty.token"
publish="publish $work/one.json $url --token-file"
cp "$token" "$work/shared.token"
chmod 640 "$work/shared.token"
refused "a token that others may read" 2 'study: --token-file: .*others may read this secret; set its mode to 0600' $publish "$work/shared.token"
chmod 600 "$work"/*.token
refused "a wrong token" 1 '403.*; --token-file names the file that holds it$' $publish "$work/wrong.token"
refused "a long one, which is sent whole" 1 '403' $publish "$work/long.token"
refused "one with a space" 2 '--token-file: .*one line' $publish "$work/spaced.token"
refused "an empty one" 2 'one line' $publish "$work/empty.token"
refused "none" 2 '--token-file: .*No such file' $publish "$work/no.token"
refused "no token file at all" 2 'needs --token-file' publish "$work/one.json" "$url"
refused "no server" 2 'publish takes FILE SERVER' publish "$work/one.json" --token-file "$token"
refused "plain HTTP beyond this machine" 2 'https only' publish "$work/one.json" http://example.org \
    --token-file "$token"
refused "a server that is not there" 1 'connect' publish "$work/one.json" http://127.0.0.1:1 \
    --token-file "$token"
refused "no round at all" 2 'from 1' close "$url/v1/studies/$id" 0 --token-file "$token"
refused "a round that is no number" 2 'from 1' close "$url/v1/studies/$id" 1.5 --token-file "$token"
refused "a round that the study does not have" 1 '400: .*not the number of a round' close "$url/v1/studies/$id" \
    2 --token-file "$token"
refused "a round of a study that is not there" 1 '404' close "$url/v1/studies/$(printf %43s | tr ' ' A)" \
    --token-file "$token"
refused "an address that is no study's" 2 '/v1/studies/' close "$url" --token-file "$token"
head -c 500 /dev/zero | tr '\0' b >"$work/whole.token"
head -c 3000 /dev/zero | tr '\0' b >"$work/endless.token"
chmod 600 "$work"/*.token
stop_server
start_server "$work/data" --token-file "$work/whole.token"
token=$work/whole.token
study publish "$work/one.json" "$url"
expect "a token of 500 characters is sent whole" $? 0
stop_server
start_server "$work/data" --token-file "$work/endless.token"
expect "and one that no header holds is refused by the server" "$? $(grep -c 'too long; --token-file names' "$work/server.log")" "1 1"
refused "a file that is no study" 2 'whole.token' publish "$token" "$url" --token-file "$token"
