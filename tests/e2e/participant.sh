# The participant's page in a real browser, against a real server:
# tests/web/participant.mjs says what is looked at.
. tests/common/tap.sh
. tests/common/server.sh
. tests/common/web.sh
skip_unless_browser "the participant's page in a browser"

# about EPSILON [LIMITS]: a study with every kind of value and names full of markup.
about() {
    cat <<TEXT
{"tremolo": 1, "title": "Sleep & <b>pulse</b>", "purpose": "Does <i>sleep</i> predict the pulse?",
 "features": [{"name": "age", "unit": "years", "low": 18, "high": 90},
              {"name": "sleep <img src=x onerror=alert(1)>", "unit": "h", "low": 3, "high": 11},
              {"name": "smoker", "kind": "yes-no"},
              {"name": "watch", "kind": "category", "levels": ["wrist", "</script><b>ring", "phone"]}],
 "response": {"name": "heart rate", "unit": "bpm", "low": 40, "high": 110},
 "privacy": {"epsilon": $1, "delta": 1e-5, "neighbours": "any", "protects": "$3"},
 "protocol": $4, "limits": $2}
TEXT
}
once='{"kind": "one-shot"}'
start_server "$work/data"
make_study() {
    about "$@" >"$work/one.json"
    create_study "$work/one.json"
}
cat >"$work/setting.json" <<TEXT
{"url": "$url", "token": "$work/data/operator.token",
 "open": "$(make_study 2 '{}' features "$once")",
 "damaged": "$(make_study 1.5 '{}' all "$once")",
 "over": "$(make_study 2.5 '{}' features "$once")",
 "keys": "$(make_study 2 '{"enrolment": "keys"}' features "$once")",
 "closed": "$(make_study 2 '{"opens": "2020-01-01", "closes": "2020-02-01"}' features "$once")",
 "rounds": "$(make_study 1 '{}' all '{"kind": "iterative", "rounds": 3, "vectors": 1, "alpha": 0.25, "lambda": 0.4, "omega": 2}')"}
TEXT
run_web tests/web/participant.mjs "$work/setting.json"
