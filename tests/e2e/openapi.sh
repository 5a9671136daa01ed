# docs/openapi.json against the running server: every path and method that is
# described is called, and every answer must be one that is described.
. tests/common/tap.sh
. tests/common/server.sh
forge=${BUILD:-build}/bin/tests/e2e/forge
conform=${BUILD:-build}/bin/tests/e2e/conform

study_text '{"kind": "one-shot"}' >"$work/open.json"
study_text '{"kind": "iterative", "rounds": 2, "vectors": 1, "alpha": 0.25, "lambda": 0.4, "omega": 2,
             "radius": 2}' '{"enrolment": "keys"}' >"$work/keys.json"
start_server "$work/data"
token="Authorization: Bearer $(cat "$work/data/operator.token")"
open=$(create_study "$work/open.json")
keys=$(create_study "$work/keys.json")
curl -s "$url/v1/studies/$open" >"$work/published"
: >"$work/called"

# call STATUS METHOD PATH ID [CURL-ARGUMENTS]: PATH as in the description.
call() {
    wanted=$1 method=$2 path=$3 id=$4
    shift 4
    real=$(printf %s "$path" | sed "s/{id}/$id/")
    answer=$(curl -s -o "$work/body" -w '%{http_code} %{content_type}' -X "$method" "$@" "$url$real")
    echo "$method $path" >>"$work/called"
    expect "$method $path answers $wanted" "${answer%% *}" "$wanted"
    $conform docs "$method" "$path" "${answer%% *}" "${answer#* }" "$work/body" >"$work/why"
    expect "  as described" "$?$(cat "$work/why")" 0
}
cbor='Content-Type: application/cbor'

call 200 GET / "$open"
call 200 GET '/studies/{id}' "$open"
call 404 GET '/studies/{id}' AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
call 200 GET '/studies/{id}/about' "$open"
call 404 GET '/studies/{id}/about' AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
call 200 GET /healthz "$open"
call 200 GET /metrics "$open"
call 200 GET /v1/studies "$open"
call 400 GET /v1/studies "$open" -G -d sort=shoe
call 304 GET /v1/studies "$open" -H 'If-None-Match: *'
call 201 POST /v1/studies "$open" -H "$token" --data-binary @"$work/open.json"
call 401 POST /v1/studies "$open" --data-binary @"$work/open.json"
call 422 POST /v1/studies "$open" -H "$token" -d '{}'
call 200 GET '/v1/studies/{id}' "$open"
call 404 GET '/v1/studies/{id}' AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
call 200 GET '/v1/studies/{id}/round' "$open"
call 200 GET '/v1/studies/{id}/round' "$keys"
call 200 GET '/v1/studies/{id}/estimate' "$open"
call 200 GET '/v1/studies/{id}/guarantee' "$open"
for i in 1 2 3 4 5 6 7 8 9; do
    $forge "$work/published" "$work/report"
    curl -s -X POST -H "$cbor" --data-binary @"$work/report" "$url/v1/studies/$open/reports" >/dev/null
done
call 200 POST '/v1/studies/{id}/reports' "$open" -H "$cbor" --data-binary @"$work/report"
call 400 POST '/v1/studies/{id}/reports' "$open" -H "$cbor" -d nonsense
curl -s "$url/v1/studies/$keys" >"$work/published_keys"
$forge "$work/published_keys" "$work/bare"
call 401 POST "/v1/studies/{id}/reports" "$keys" -H "$cbor" --data-binary @"$work/bare"
call 415 POST '/v1/studies/{id}/reports' "$open" -H 'Content-Type: text/plain' -d nonsense
call 200 POST '/v1/studies/{id}/reports' "$open" -H 'Content-Type: application/cbor-seq' -d 'Cabc'
call 200 GET '/v1/studies/{id}/estimate' "$open"
call 200 GET '/v1/studies/{id}/estimate' "$open" -G -d level=0.8
expect_match "at that level" "$work/body" '"level": *0.80*'
for level in 0 1 -0.5 2 x '"0.8"' ''; do
    call 400 GET '/v1/studies/{id}/estimate' "$open" -G -d "level=$level"
done
call 200 GET '/v1/studies/{id}/history' "$open"
call 200 GET '/v1/studies/{id}/history' "$keys"
call 200 POST '/v1/studies/{id}/discard' "$open" -H "$token" -G -d from=2020-01-01 -d to=2020-01-02
call 400 POST '/v1/studies/{id}/discard' "$open" -H "$token" -G -d from=yesterday -d to=2020-01-02
call 400 POST '/v1/studies/{id}/discard' "$open" -H "$token" -G -d from=2020-01-02 -d to=2020-01-01
call 409 POST '/v1/studies/{id}/discard' "$open" -H "$token" -G -d from=2999-01-01 -d to=2999-01-02
call 409 POST '/v1/studies/{id}/round/close' "$keys" -H "$token"
call 200 POST '/v1/studies/{id}/round/close' "$open" -H "$token"
call 410 POST '/v1/studies/{id}/round/close' "$open" -H "$token"
call 410 POST '/v1/studies/{id}/discard' "$open" -H "$token" -G -d from=2020-01-01 -d to=2020-01-02
call 201 POST '/v1/studies/{id}/devices' "$keys" -H "$token"
call 400 POST '/v1/studies/{id}/devices' "$keys" -H "$token" -d '[]'
call 200 GET '/v1/studies/{id}/round' "$open"

# Neighbours at a distance are named with it.
sed 's/"neighbours": "any"/"neighbours": {"distance": 0.25}/' "$work/open.json" >"$work/near.json"
near=$(create_study "$work/near.json")
call 200 GET '/v1/studies/{id}/estimate' "$near"
expect_match "the distance" "$work/body" '"neighbours": *"distance=0.25", *"protects": *"features"'

# Nothing described was left out.
sed -n 's/^  "\(\/[^"]*\)": {$/\1/p' docs/openapi.json >"$work/paths"
missing=$(while read -r path; do grep -qF " $path" "$work/called" || echo "$path"; done <"$work/paths")
expect "every path described was called" "$missing" ""
expect "and there are that many" "$(wc -l <"$work/paths" | tr -d ' ')" 15
