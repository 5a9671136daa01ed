# examples/grafana/tremolo.json against the metrics that a server really exposes: every name
# and label of every question is there, and every metric is asked for.
. tests/common/tap.sh
. tests/common/server.sh
study_text '{"kind": "one-shot"}' >"$work/one.json"
start_server "$work/data"
id=$(create_study "$work/one.json")
$swarm --url "$url/v1/studies/$id" --devices 50 --batch 10 >"$work/out" 2>&1
expect "devices report" $? 0
curl -s "$url/metrics" >"$work/metrics"

cat >"$work/check.py" <<'PYTHON'
import itertools, json, re, sys
dashboard, exposed = json.load(open(sys.argv[1])), {}
for line in open(sys.argv[2]):
    found = re.match(r'([a-z_]+)(?:\{(.*)\})? ', line)
    if found and not line.startswith("#"):
        labels = dict(re.findall(r'(\w+)="([^"]*)"', found[2] or ""))
        exposed.setdefault(found[1], []).append(labels)
types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", open(sys.argv[2]).read(), re.M))
scraped = {"job", "instance"}  # Prometheus adds these
panels, asked, wrong = dashboard["panels"], set(), []
for panel in panels:
    for target in panel["targets"]:
        text = target["expr"]
        for name, selector in re.findall(r"\b((?:tremolo|process)_[a-z_]+)(\{[^}]*\})?", text):
            asked.add(name)
            if name not in exposed:
                wrong.append(f"{panel['title']}: no metric {name}")
                continue
            for label, value in re.findall(r'(\w+)="([^"]*)"', selector):
                if not any(one.get(label) == value for one in exposed[name]):
                    wrong.append(f'{panel["title"]}: {name} has no {label}="{value}"')
            if f"rate({name}" in text or f"increase({name}" in text:
                if types[name] != "counter":
                    wrong.append(f"{panel['title']}: the rate of {name}, which is no counter")
            elif types[name] == "counter":
                wrong.append(f"{panel['title']}: {name} is a counter, and only its rate says something")
            labels = scraped | set().union(*exposed[name])
            for label in re.findall(r"by \((\w+)\)", text) + re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]):
                if label not in labels:
                    wrong.append(f"{panel['title']}: {name} has no label {label}")
        if text.count("(") != text.count(")"):
            wrong.append(f"{panel['title']}: brackets")
def overlap(a, b):
    a, b = a["gridPos"], b["gridPos"]
    return a["x"] < b["x"] + b["w"] and b["x"] < a["x"] + a["w"] and a["y"] < b["y"] + b["h"] and b["y"] < a["y"] + a["h"]
wrong += [f"{a['title']} lies on {b['title']}" for a, b in itertools.combinations(panels, 2) if overlap(a, b)]
wrong += [f"{panel['title']}: off the grid" for panel in panels if panel["gridPos"]["x"] + panel["gridPos"]["w"] > 24]
if len({panel["id"] for panel in panels}) != len(panels):
    wrong.append("ids repeat")
wrong += [f"{name} is in no panel" for name in sorted(set(exposed) - asked)]
print("; ".join(wrong) or f"{len(asked)} of {len(exposed)}")
PYTHON
names=$(grep -c '^# TYPE' "$work/metrics")
expect "every question has its metric, and every metric its question" \
    "$(python3 "$work/check.py" examples/grafana/tremolo.json "$work/metrics")" "$names of $names"
sed 's/tremolo_connections_cut_total/tremolo_connections_lost_total/' examples/grafana/tremolo.json >"$work/wrong.json"
expect "a name that is not there is found" \
    "$(python3 "$work/check.py" "$work/wrong.json" "$work/metrics")" \
    "Connections: no metric tremolo_connections_lost_total; tremolo_connections_cut_total is in no panel"
sed 's/outcome=\\"accepted\\"/outcome=\\"taken\\"/' examples/grafana/tremolo.json >"$work/wrong.json"
expect "so is a label that it never has" \
    "$(python3 "$work/check.py" "$work/wrong.json" "$work/metrics" | grep -c 'has no outcome="taken"')" 1
