# tremolo report against tremolo serve: one-shot, rounds, enrolment keys, kills
# at random moments, and refusals.
. tests/common/tap.sh
. tests/common/server.sh
out=$work/out err=$work/err

# device STUDY STATE [OPTIONS]: one device with its own ledger.
device() {
    study=$1 state=$2
    shift 2
    $tremolo report --study "$url/v1/studies/$study" --state "$work/$state" \
        --sample "$work/sample.json" --policy "$work/policy.json" --give-up 20 "$@" \
        >"$out" 2>"$err"
}
# reports STUDY: how many the server has.
reports() {
    curl -s "$url/v1/studies/$1/round" | sed -n 's/.*"reports": *\([0-9]*\).*/\1/p'
}

printf '{"steps": 7000, "sleep": 7.5, "pulse": 61, "score": 70}\n' >"$work/sample.json"
printf '{"epsilon_per_study": 8, "epsilon_total": 40}\n' >"$work/policy.json"
study_text '{"kind": "one-shot"}' >"$work/one.json"
study_text '{"kind": "iterative", "rounds": 3, "vectors": 1, "alpha": 0.25, "lambda": 0.4,
             "omega": 2, "close": {"reports": 2}}' >"$work/three.json"
study_text '{"kind": "one-shot"}' '{"enrolment": "keys"}' >"$work/keys.json"

start_server "$work/data"
expect "the server starts" $? 0
one=$(create_study "$work/one.json")
three=$(create_study "$work/three.json")
keys=$(create_study "$work/keys.json")
expect "the server and the command agree on the id" "$one" "$($tremolo study id "$work/one.json")"
sed -n 's/^server key //p' "$work/server.out" >"$work/server.key"

device "$one" a --server-key "$work/server.key"
expect "no report without a ledger" "$? $(grep -c 'no ledger; enrol it first.*; --enrol does' "$err")" "3 1"
device "$one" a --enrol
expect "nor without a pinned key" $? 3
expect_match "which it says" "$err" '^tremolo report: .*not pinned'
expect_match "with the options that help" "$err" '; --server-key FILE gives it, and --trust-new takes '
expect "and such an attempt leaves no ledger for life" "$([ -e "$work/a" ] && echo there)" ""
device "$one" a --enrol --server-key "$work/server.key"
expect "a report" $? 0
expect_match "with its receipt" "$out" '^round 1 of 1: report [-_A-Za-z0-9]{22}, [0-9]+ bytes, accepted; left for other reports: epsilon [0-9.]+ at delta 1e-05 \(mu\^2 [0-9.]+, which is what adds up: '
first=$(cut -d' ' -f6 "$out")
device "$one" a --server-key "$work/server.key" --json
expect_match "again, it is known" "$out" '"repeated": ?true'
expect_match "under the same id" "$out" "\"report\": ?\"${first%,}\""
$tremolo study init >"$work/ballot.json"
echo '{"sleep": 7.2, "smoker": "no", "heart rate": 61}' >"$work/ballot_sample.json"
$tremolo report --study "$url/v1/studies/$(create_study "$work/ballot.json")" --state "$work/ballot" \
    --sample "$work/ballot_sample.json" --enrol --trust-new >"$out" 2>"$err"
expect_match "a ballot's receipt has one number" "$out" '; left for other reports: epsilon 6 at delta 0$'
device "$one" b --enrol --trust-new
expect "trust on first use, with the option for it" $? 0
expect "pins the key" "$(cat "$work/b/server.key")" "$(cat "$work/server.key")"
device "$one" b
expect "which is then enough" $? 0
printf 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n' >"$work/wrong.key"
device "$one" c --enrol --server-key "$work/wrong.key"
expect "another key is refused" $? 3
expect_match "which it says, too" "$err" 'not signed by the pinned key; is the file of --server-key this server.s\?$'
printf 'AAAA\n' >"$work/short.key"
device "$one" c --enrol --server-key "$work/short.key"
expect "and a file that holds none" "$? $(cat "$err")" "2 tremolo report: --server-key: $work/short.key: must hold 32 bytes in base64url"
cp -r "$work/b" "$work/moved"
cp "$work/wrong.key" "$work/moved/server.key"
device "$one" moved
expect "a pinned key that is another one, too" $? 3
expect_match "and what helps where the server has a new one" "$err" 'not signed by the pinned key; if the server has another key now, --server-key FILE gives it$'
echo damaged >"$work/moved/server.key"
device "$one" moved
expect "so is a damaged one" "$? $(grep -c "moved/server.key: the pinned key is damaged; --server-key FILE gives it" "$err")" "3 1"
rm "$work/moved/server.key"
mkdir "$work/moved/server.key"
device "$one" moved
expect "and one that cannot be read, with its place" "$? $(cat "$err")" "1 tremolo report: $work/moved/server.key: the pinned key: Is a directory"
rm -r "$work/moved"
cp -r "$work/b" "$work/moved"
printf 'x' | dd of="$work/moved/ledger" conv=notrunc 2>/dev/null
device "$one" moved
expect "a damaged ledger is named" "$? $(grep -c "; $work/moved/ledger: its header is damaged" "$err")" "3 1"
cp "$work/b/ledger" "$work/moved/ledger"
head -c 32000 /dev/urandom | dd of="$work/moved/ledger" bs=4096 seek=1 conv=notrunc 2>/dev/null
device "$one" moved
expect "with its place" "$? $(grep -c "; $work/moved" "$err")" "3 1"
# Else the receipt would go to whatever file or connection has the number of stdout.
$tremolo report --study "$url/v1/studies/$one" --state "$work/b" --sample "$work/sample.json" \
    --policy "$work/policy.json" >&- 2>"$err"
expect "a receipt for a closed stdout is a failure" "$? $(cat "$err")" "1 tremolo report: cannot write to stdout"
expect "two reports arrived" "$(reports "$one")" 2

printf '{"epsilon_per_study": 7.9}\n' >"$work/strict.json"
$tremolo report --study "$url/v1/studies/$one" --state "$work/d" --enrol --trust-new \
    --sample "$work/sample.json" --policy "$work/strict.json" >"$out" 2>"$err"
expect "the policy refuses" $? 3
printf '{"steps": 7000}\n' >"$work/half.json"
$tremolo report --study "$url/v1/studies/$one" --state "$work/a" --server-key "$work/server.key" \
    --sample "$work/half.json" --policy "$work/policy.json" >"$out" 2>"$err"
expect "half a sample is refused" "$? $(wc -l <"$err")" "2 1"
device "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" a --server-key "$work/server.key"
expect "a study that is not there" $? 1

# Three rounds, closed by the second report: two devices follow at once.
device "$three" e --enrol --trust-new --follow &
follower=$!
$tremolo report --study "$url/v1/studies/$three" --state "$work/f" --enrol --trust-new --follow \
    --sample "$work/sample.json" --policy "$work/policy.json" --give-up 20 >"$work/follow" 2>&1
expect "one follower ends" $? 0
wait "$follower"
expect "so does the other" $? 0
expect "with three rounds each" "$(grep -c '^round' "$out") $(grep -c '^round' "$work/follow")" "3 3"

# Enrolment keys, as the operator derives them.
device "$keys" g --enrol --trust-new
expect "an enrolled study wants a key" $? 2
key=$(python3 - "$work/data/device.secret" <<'PYTHON'
import base64, hashlib, sys
text = open(sys.argv[1], "rb").read()
secret = text if len(text) == 32 else base64.urlsafe_b64decode(text.strip() + b"=")
digest = hashlib.blake2b(b"watch-1", key=secret, digest_size=32).digest()[:16]
print(base64.urlsafe_b64encode(digest).decode().rstrip("="))
PYTHON
)
one_name=d2F0Y2gtMQ two_name=d2F0Y2gtMg # watch-1, watch-2
curl -s -X POST -H "Authorization: Bearer $(cat "$work/data/operator.token")" \
    -d "{\"device\": \"$one_name\"}" "$url/v1/studies/$keys/devices" >"$out"
expect_match "the operator hands out the same key" "$out" "\"key\": ?\"$key\""
printf '%s\n' "$key" >"$work/device.key"
chmod 644 "$work/device.key"
device "$keys" g --enrol --trust-new --device $one_name --key "$work/device.key"
expect "a key that others may read is refused" "$? $(grep -c ': --key: .*others may read this secret' "$err")" "2 1"
chmod 600 "$work/device.key"
device "$keys" g --enrol --trust-new --device $one_name --key "$work/device.key"
expect "the right key is in" $? 0
device "$keys" h --enrol --trust-new --device $two_name --key "$work/device.key"
expect "another's is not" $? 1
expect_match "as the server says" "$err" 'the server answered 40[13]'
device "$keys" i --enrol --trust-new --device $one_name --key "$work/device.key"
expect "nor is a second report of one device" $? 1

# Killed at random moments, then asked again: one report each.
before=$(reports "$one")
killed=0
for n in $(seq 1 40); do
    $tremolo report --study "$url/v1/studies/$one" --state "$work/k$n" --enrol --trust-new \
        --sample "$work/sample.json" --policy "$work/policy.json" >/dev/null 2>&1 &
    child=$!
    sleep "0.0$((n % 4))$((n % 10))"
    kill -9 $child 2>/dev/null
    wait $child 2>/dev/null
    [ $? -eq 137 ] && killed=$((killed + 1))
    device "$one" "k$n" --enrol --trust-new || echo "# device $n: $(cat "$err")"
done
echo "# $killed of 40 died by kill -9"
expect "40 devices, killed and asked again, are 40 reports" "$(reports "$one")" $((before + 40))

# A server that is away for a moment.
port=${url##*:}
stop_server
device "$one" l --enrol --trust-new &
waiting=$!
sleep 1.5
start_server "$work/data"
wait "$waiting"
expect "a device waits for the server to come back" $? 0

# TLS: only with a certificate that the device trusts.
stop_server
port=0
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=test \
    -addext subjectAltName=IP:127.0.0.1 -keyout "$work/tls.key" -out "$work/tls.pem" 2>/dev/null
start_server "$work/data" --tls-cert "$work/tls.pem" --tls-key "$work/tls.key"
expect "the server speaks TLS" "$? ${url%%:*}" "0 https"
device "$one" m --enrol --trust-new --give-up 1
expect "an unknown certificate is not trusted" $? 1
device "$one" m --enrol --trust-new --ca "$work/tls.pem"
expect "a known one is" $? 0

# The C interface, in an application of a page.
stop_server
start_server "$work/data"
for time in first second; do
    "${BUILD:-build}/bin/examples/take_part" "$url/v1/studies/$one" "$work/app" \
        "$(cat "$work/server.key")" >"$work/$time" 2>"$err"
    expect "an application takes part, $time time" $? 0
done
expect_match "the second repeats the first" "$work/second" ', as before$'
