# Operating a cluster with the users of examples/nats: what a reader sees, a study
# taken out and put back, and processes that are refused with one sentence.
. tests/common/tap.sh
. tests/cluster/cluster.sh
cluster_start || exit 1
gateway_start a --quiet
gateway_wait a || exit 1
folder_start a
url=$(gateway_url a)
study_text "operated" >"$work/study.json"
id=$(create_study "$url" "$work/study.json")
$swarm --url "$url/v1/studies/$id" --devices 3000 --threads 4 --batch 100 >"$work/swarm" 2>&1
expect "3,000 devices report" $? 0
curl -s "$url/v1/studies/$id/estimate" >"$work/before"

$tremolo status --store "$store" $(store_user reader) >"$work/out" 2>&1
expect "a reader may see how the store is" $? 0
sed 's/^/# /' "$work/out"
expect_match "shards, owners and all" "$work/out" '3000|3,000'

# What charts show outlives the gateway that took it.
past() { curl -s --max-time 5 "$url/v1/studies/$id/history" | sed 's/.*"samples":\(.*\),"rounds".*/\1/'; }
has_points() { past | grep '"reports":3000' | grep -q '"devices":3000'; }
expect "the curves have a point at 3,000 devices" "$(wait_until 30 has_points && echo yes)" yes
before=$(past)
end_process gateway.a TERM
gateway_start a --quiet
gateway_wait a || exit 1
url=$(gateway_url a)
expect "a gateway that starts again shows the same past" "$(past)" "$before"

# A study that another gateway may just have made: devices come again, people get a page that does.
page_statuses() {
    for accept in application/json text/html; do
        curl -s -o /dev/null -w '%{http_code} ' -H "Accept: $accept" "$url/studies/$(printf '%043d' 0)"
    done
}
expect "an id not heard of yet: not yet for programs, a page for people" "$(page_statuses)" "503 200 "
is_missing() { [ "$(page_statuses)" = "404 404 " ]; }
wait_until 30 is_missing
expect "and it is missing for both a little later" $? 0
end_process folder.a TERM
end_process gateway.a TERM

$tremolo study move "$id" "$store" "sqlite:$work/single" $(store_user operator) >"$work/out" 2>&1
expect "a study is taken out of the store" $? 0
cp "$work/keys/signing.seed" "$work/keys/device.secret" "$work/keys/operator.token" "$work/single/"
$tremolo serve --data "$work/single" --listen 127.0.0.1:0 --quiet >"$work/single.out" 2>"$work/single.log" &
note_pid single $!
wait_until 30 grep -q '^server key' "$work/single.out"
curl -s "$(sed -n 's/^listening on //p' "$work/single.out")/v1/studies/$id/estimate" >"$work/after"
expect "and a single server says the same, byte for byte" "$(cmp "$work/before" "$work/after" && echo same)" same
end_process single TERM
$tremolo study move "$id" "$store" "sqlite:$work/other" $(store_user reader) >"$work/out" 2>&1
expect "which a reader may not do" $? 1

# Words for what goes wrong.
one_sentence() { [ "$(wc -l <"$work/out")" -eq 1 ] && echo yes; }
$tremolo fold --store nats://127.0.0.1:1 >"$work/out" 2>&1
expect "a wrong address ends a folder" "$?, $(one_sentence)" "1, yes"
examples/nats/make-certificates "$ca" user expired -60
$tremolo fold --store "$store" $(store_user expired) >"$work/out" 2>&1
expect "so does an expired certificate" "$?, $(one_sentence)" "1, yes"
expect_match "with a hint at the reason" "$work/out" 'certificate may have expired'
$tremolo fold --store "$store" >"$work/out" 2>&1
expect "and a store that asks for TLS" "$?, $(one_sentence)" "1, yes"
$tremolo fold --store nats://someone:pass-word@127.0.0.1:1 >"$work/out" 2>&1
expect "a password in the address is refused" $? 1
grep -q pass-word "$work/out"
expect "and not repeated" $? 1
