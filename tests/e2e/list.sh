# The list of studies over HTTP: found, sorted, a page at a time, with what was learnt.
. tests/common/tap.sh
. tests/common/server.sh
start_server "$work/data"
study_text '{"kind": "one-shot"}' | sed 's/"epsilon": 8/"epsilon": 40/' >"$work/one.json"
for title in 'Pulse and steps' 'sleep' 'Zebra <b>' 'apples' 'pulse again'; do
    sed "s/steps, sleep and pulse/$title/" "$work/one.json" >"$work/next.json"
    last=$(create_study "$work/next.json")
done
# list QUERY PYTHON: what the expression makes of the answer `all`.
list() { curl -s -G $1 "$url/v1/studies" | python3 -c "import json, sys; all = json.load(sys.stdin); print($2)"; }
titles='",".join(one["title"] for one in all["studies"])'

expect "in the order in which they came" "$(list '' "$titles")" 'Pulse and steps,sleep,Zebra <b>,apples,pulse again'
expect "by title, whatever the case" "$(list '-d sort=title' "$titles")" 'apples,pulse again,Pulse and steps,sleep,Zebra <b>'
expect "  and back" "$(list '-d sort=title -d order=down' "$titles")" 'Zebra <b>,sleep,Pulse and steps,pulse again,apples'
expect "a page of them" "$(list '-d sort=title -d offset=1 -d limit=2' "$titles + str(all['matching']) + str(all['total'])")" \
    'pulse again,Pulse and steps55'
expect "a page past the end" "$(list '-d offset=9' "len(all['studies']), all['matching']")" '0 5'
expect "none at all" "$(list '-d limit=0' "len(all['studies']), all['matching']")" '0 5'
expect "found by title" "$(list '-d search=PULSE' "$titles + str(all['matching']) + str(all['total'])")" 'Pulse and steps,pulse again25'
expect "  or by the beginning of an id" "$(list "-d search=$(echo "$last" | cut -c 1-12)" "$titles")" 'pulse again'
expect "  or not" "$(list '-d search=nothing' "$titles")" ''
for wrong in sort=shoe order=sideways offset=-1 offset=x limit=1025 limit= limit=1e3 "search=$(printf '%0300d' 0)"; do
    expect "refused: $(echo "$wrong" | cut -c 1-20)" "$(http_status -G -d "$wrong" "$url/v1/studies")" 400
done

$swarm --url "$url/v1/studies/$last" --devices 3000 --batch 100 >/dev/null 2>&1
told() { [ "$(list '-d sort=told -d order=down -d limit=1' 'all["studies"][0]["summary"]["told"] > 0')" = True ]; }
expect "what was learnt appears" "$(wait_for told && echo yes)" yes
one='all["studies"][0]'
expect "  of the study with reports" "$(list '-d sort=told -d order=down' "$one['id']")" "$last"
expect "by devices, too" "$(list '-d sort=devices -d order=down' "$one['id'], $one['devices']")" "$last 3000"
expect "by the last report, those without one last" "$(list '-d sort=last_report' "$one['id'], all['studies'][1]['last_report']")" "$last None"
curl -s "$url/v1/studies/$last/estimate" >"$work/estimate.json"
expect "the same numbers as the estimate's" "$(list '-d sort=told -d order=down' "
    (lambda one, whole: (one['learnt'] == whole['answers'][0]['text'],
     one['devices_needed'] == whole['devices_needed'], one['guarantee']['attacker_right'] == whole['guarantee']['attacker_right'],
     one['told'] > 0, one['features']))(all['studies'][0]['summary'], json.load(open('$work/estimate.json')))")" '(True, True, True, True, 3)'
stop_server
start_server "$work/data"
expect "it is there after a restart, though no report comes and no one asks for the estimate" "$(wait_for told && echo yes)" yes
