# examples/gateway.py, with the Python package, against a real server: every sensor counts once, a bad
# reading hurts no other device, and what could not be sent leaves with the same bytes later.
. tests/common/tap.sh
. tests/common/server.sh
python=$1 # one that has the package
export PYTHONDONTWRITEBYTECODE=1
start_server "$work/data"
$tremolo study init >"$work/one.json"
study=$url/v1/studies/$(create_study "$work/one.json")
key=$(sed -n 's/^server key //p' "$work/server.out")
gateway() { timeout 100 $python examples/gateway.py "$study" "$work/state" --server-key "$key" --seconds 5 "$@"; }
counted() { curl -s "$study/estimate" | sed 's/.*"reports": *\([0-9]*\).*/\1/'; }
cat >"$work/readings" <<'READINGS'
{"sensor": "kitchen", "sleep": 7.2, "smoker": "no", "heart rate": 61}
{"sensor": "cellar", "sleep": 5.5, "smoker": "yes", "heart rate": 70}
{"sensor": "kitchen", "sleep": 1, "smoker": "yes", "heart rate": 90}
READINGS
gateway <"$work/readings" >"$work/out" 2>"$work/err"
expect "sensors without a ledger are refused" "$? $(grep -c enrol "$work/err")" "1 2"
gateway --enrol <"$work/readings" >"$work/out" 2>"$work/err"
expect "both report" "$? $(sort "$work/out" | sed 's/, .*//' | tr '\n' ';')" "0 cellar: accepted;kitchen: accepted;"
gateway --enrol <"$work/readings" >"$work/out" 2>"$work/err"
expect "and again nothing new" "$? $(sort "$work/out" | sed 's/, .*//' | tr '\n' ';')" "0 cellar: had arrived;kitchen: had arrived;"
expect "each counts once" "$(counted)" 2
cat >"$work/bad" <<'READINGS'
not json
{"sensor": "../../etc", "sleep": 7.2, "smoker": "no", "heart rate": 61}
{"sensor": "attic", "sleep": 7.2}
{"sensor": "garage", "sleep": 6.1, "smoker": "no", "heart rate": 66}
READINGS
gateway --enrol <"$work/bad" >"$work/out" 2>"$work/err"
expect "a bad reading is said, the others report" "$? $(sed 's/, .*//' "$work/out") $(grep -c '^line [12]:\|^attic:' "$work/err")" "1 garage: accepted 3"
expect "nothing is written outside the folder" "$(ls "$work/state" | tr '\n' ' ' | sed 's/attic //')" "cellar garage kitchen "

port=${url##*:}
stop_server
echo '{"sensor": "roof", "sleep": 6.1, "smoker": "no", "heart rate": 66}' >"$work/late"
gateway --enrol <"$work/late" >"$work/out" 2>"$work/err" &
late=$!
wait_for grep -q '^roof: .*sent again' "$work/err"
expect "a server that is away is waited for" $? 0
start_server "$work/data"
wait $late
expect "and has the report when it is back" "$? $(sed 's/, .*//' "$work/out")" "0 roof: accepted"
expect "once" "$(counted)" 4
