# tremolo demo with a small fleet: two studies at one server, both with an estimate, the
# ballots with a page to take part on. Noise is fresh, so no estimate is compared.
. tests/common/tap.sh
. tests/common/server.sh
demo_pid=
end_demo() {
    [ -z "$demo_pid" ] || { kill "$demo_pid" && wait "$demo_pid"; }
    code=$?
    demo_pid=
    return $code
}
trap 'end_demo >/dev/null 2>&1; rm -rf "$work"' EXIT

$tremolo demo --devices 200 --data "$work/demo" --stay >"$work/out" 2>"$work/err" &
demo_pid=$!
wait_for grep -q 'the server stays at' "$work/out"
expect "the demo comes to its end" $? 0
expect_match "it names fleet, studies and rounds" "$work/out" \
    "^200 devices reported to two studies over HTTP in .*; the paper's has 2 rounds\$"
expect_match "both releases stand side by side" "$work/out" "the paper's release \| +ballots\$"
expect "truth and least squares of every coefficient, and both estimates" \
    "$(grep -cE '^(age|steps|sleep|\(intercept\)) +-?[0-9.]+ +-?[0-9.]+ \|.*\|' "$work/out")" 4
expect "one line says what the paper's release would give for any two people" \
    "$(grep -c "^For any two people, all protected, at epsilon 2 (delta 1e-5) the paper's" "$work/out")" 1
said=$(tr '\n' ' ' <"$work/out" | sed "s/.*ballots \([0-9.]*\) thousand ('tremolo \(plan [^']*\)').*/\1 \2/")
expect "its numbers are those of the plan that it names" "$($tremolo ${said#* } | awk '/^as planned: ballots/ { print $4 / 1000 }')" \
    "${said%% *}"
expect_match "the paper's distance is said plainly" "$work/out" 'each pair at$'
expect_match "and what it is worth for others" "$work/out" \
    '^typical pair +distance .*attacker right 9[0-9]'
expect_match "the ballot's guarantee is for all" "$work/out" '^any two +epsilon 2 +attacker right'

url=$(sed -n 's/^the server stays at \([^ ]*\) .*/\1/p' "$work/out")
curl -s "$url/v1/studies" >"$work/studies"
python3 - "$work/studies" >"$work/ids" <<'TEXT'
import json, sys
print(*[study["id"] for study in json.load(open(sys.argv[1]))["studies"]])
TEXT
expect "there are two studies" "$(wc -w <"$work/ids")" 2
# shellcheck disable=SC2013 # ids are words
for id in $(cat "$work/ids"); do
    curl -s "$url/v1/studies/$id/estimate" >"$work/estimate"
    python3 - "$work/estimate" >"$work/facts" <<'TEXT'
import json, sys
estimate = json.load(open(sys.argv[1]))
print(estimate["release"], estimate["rounds"], estimate["reports"])
TEXT
    read -r release rounds reports <"$work/facts"
    case $release in
    sample) expect "the paper's has a report of every device in each round" "$rounds $reports" "2 400" ;;
    ballot)
        expect "there is a ballot of every device" "$rounds $reports" "1 200"
        expect "its page for participants is there" "$(http_status "$url/studies/$id/about")" 200
        expect_match "and is a page" "$work/body" '<!doctype html>'
        sample='{"age": 44, "steps": 8, "sleep": 7, "pulse": 61}'
        echo "$sample" >"$work/sample.json"
        $tremolo report --study "$url/v1/studies/$id" --state "$work/device" \
            --sample "$work/sample.json" --enrol --trust-new >"$work/body" 2>&1
        expect "a device with the default policy takes part" $? 0
        ;;
    *) expect "an estimate names its release" "$release" "sample or ballot" ;;
    esac
done
end_demo
expect "an interrupted demo ends well" $? 0
