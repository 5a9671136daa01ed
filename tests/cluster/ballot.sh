# Ballots on a cluster, a worker killed in between: the cluster's estimate, a single server's over the
# same reports and an offline fit of that server's directory are one document, to the bit.
. tests/common/tap.sh
cluster_nodes=1
. tests/cluster/cluster.sh
cluster_start || exit 1
gateway_start a --quiet
gateway_wait a || exit 1
folder_start a && folder_start b
url=$(gateway_url a)
mkdir -p "$work/single"
cp "$work/keys/operator.token" "$work/keys/signing.seed" "$work/single/"
$tremolo serve --data "$work/single" --listen 127.0.0.1:0 --quiet >"$work/single.out" 2>"$work/single.log" &
note_pid single $!
wait_until 30 grep -q '^server key' "$work/single.out" || exit 1
single=$(sed -n 's/^listening on //p' "$work/single.out")

study_text "ballots on a cluster" '{"release": "ballot"}' |
    sed 's/"delta": 1e-5, //; s/"protects": "features"/"protects": "all"/' >"$work/study.json"
id=$(create_study "$url" "$work/study.json")
expect "cluster and server have one study" "$(create_study "$single" "$work/study.json")" "$id"
$swarm --url "$url/v1/studies/$id" --twin "$single/v1/studies/$id" --devices 2000 --threads 4 --batch 20 \
    --patience 60 --pause 5 >"$work/swarm" 2>&1 &
swarm_pid=$!
some_arrived() { [ "$(reports_in "$url" "$id")" -ge 200 ]; }
wait_until 60 some_arrived
end_process folder.a KILL
wait "$swarm_pid"
expect "2,000 ballots are counted once, and a single server's estimate is the same" $? 0
sed 's/^/# /' "$work/swarm"
curl -s "$url/v1/studies/$id/estimate" >"$work/cluster.json"
curl -s "$single/v1/studies/$id/estimate" >"$work/single.json"
expect_match "it is one of ballots" "$work/cluster.json" '"release": *"ballot"'
cmp "$work/cluster.json" "$work/single.json"
expect "byte for byte" $? 0
end_process single TERM
$tremolo fit "$work/single" --json >"$work/offline.json"
expect "an offline fit says the same" "$(python3 - "$work" <<'TEXT'
import json, sys
cluster, offline = (json.load(open(f"{sys.argv[1]}/{name}.json")) for name in ("cluster", "offline"))
print(cluster["reports"], cluster == offline)
TEXT
)" "2000 True"
