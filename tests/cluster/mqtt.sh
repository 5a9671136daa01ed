# Devices over MQTT: what got a PUBACK is counted, once, whichever process dies.
. tests/common/tap.sh
. tests/cluster/cluster.sh
device=${BUILD:-build}/bin/examples/mqtt_device
cluster_start || exit 1
gateway_start a --quiet
gateway_wait a || exit 1
folder_start a
study_text "open over mqtt" >"$work/open.json"
study_text "named over mqtt" '{"kind": "one-shot"}' '{"enrolment": "keys"}' >"$work/named.json"
url=$(gateway_url a)
open=$(create_study "$url" "$work/open.json")
named=$(create_study "$url" "$work/named.json")
curl -s "$url/v1/studies/$open" >"$work/open"
curl -s "$url/v1/studies/$named" >"$work/named"
curl -s "$url/v1/studies/$open/round" >"$work/open.round"
curl -s "$url/v1/studies/$named/round" >"$work/named.round"
key=$(sed -n 's/^server key //p' "$work/gateway.a.out")

# report_as STATE STUDY [NAME KEY-FILE]: one device, by way of node 1.
report_as() {
    state=$1 study=$2
    shift 2
    $device 127.0.0.1 "${mqtt_node:-$(mqtt_port 1)}" "$ca/nodes-ca.pem" "$work/$study" "$work/state.$state" "$key" "$@" \
        >"$work/device.$state" 2>&1
}
count_is() { [ "$(reports_in "$url" "$1")" = "$2" ]; }
# expect_count NAME STUDY NUMBER: soon, and not more a moment later.
expect_count() {
    wait_until 30 count_is "$2" "$3"
    sleep 0.5
    expect "$1" "$(reports_in "$url" "$2")" "$3"
}
metric() { curl -s "$url/metrics" | sed -n "s/^$1 //p"; }

report_as first open
expect "a device gets its PUBACK" $? 0
expect_count "and is counted" "$open" 1
report_as first open
expect "the same device again, from its ledger" $? 0
expect_count "counts once" "$open" 1

# No gateway takes the messages, and they wait.
end_process gateway.a KILL
end_process folder.a KILL
for i in 1 2 3 4 5 6 7 8; do report_as "alone$i" open || report "device $i with no gateway" no; done
gateway_start a --quiet
gateway_wait a
folder_start a
expect_count "eight devices without any gateway are counted once there is one" "$open" 9

# A node dies under the devices: the client tries again, elsewhere.
cluster_kill 1
for i in 1 2 3 4; do mqtt_node=$(mqtt_port 2) report_as "moved$i" open || report "device $i at another node" no; done
expect_count "devices go to another node when theirs is dead" "$open" 13
cluster_launch 1
wait_until 30 cluster_is_well

# Enrolled devices: name and report travel together.
curl -s -X POST -H "Authorization: Bearer $(cat "$work/keys/operator.token")" -d '{"name": "watch"}' \
    "$url/v1/studies/$named/devices" >"$work/enrolled"
name=$(sed 's/.*"device": *"\([^"]*\)".*/\1/' "$work/enrolled")
sed 's/.*"key": *"\([^"]*\)".*/\1/' "$work/enrolled" >"$work/watch.key"
report_as watch named "$name" "$work/watch.key"
expect "an enrolled device gets its PUBACK" $? 0
expect_count "and is counted" "$named" 1
echo AAAAAAAAAAAAAAAAAAAAAA >"$work/wrong.key"
report_as forged named "$name" "$work/wrong.key"
refused() { [ "$(metric 'tremolo_reports_total{outcome="wrong_mac"}')" = 1 ]; }
expect "a report with a wrong MAC is refused and counted as such" "$(wait_until 30 refused && echo yes)" yes

# What is no report, and topics of no study.
publish() { mosquitto_pub -h 127.0.0.1 -p "$(mqtt_port 1)" --cafile "$ca/nodes-ca.pem" -q 1 -t "$1" -m "$2" >"$work/out" 2>&1; }
publish "tremolo/$open/reports" "hello"
malformed() { [ "$(metric 'tremolo_mqtt_messages_total{outcome="malformed"}')" = 1 ]; }
expect "what is no report is refused and counted as such" "$(wait_until 30 malformed && echo yes)" yes
before=$(as_user operator 1 request "\$JS.API.STREAM.INFO.\$MQTT_msgs" | sed 's/.*"last_seq":\([0-9]*\).*/\1/')
publish "tremolo/$open/other" "hello"
publish "other" "hello"
after=$(as_user operator 1 request "\$JS.API.STREAM.INFO.\$MQTT_msgs" | sed 's/.*"last_seq":\([0-9]*\).*/\1/')
expect "a device cannot publish to another topic" "$after" "$before"
publish "tremolo/$open/reports" "once more"
after=$(as_user operator 1 request "\$JS.API.STREAM.INFO.\$MQTT_msgs" | sed 's/.*"last_seq":\([0-9]*\).*/\1/')
expect "as it can to its own" "$after" $((before + 1))
timeout 5 mosquitto_sub -h 127.0.0.1 -p "$(mqtt_port 1)" --cafile "$ca/nodes-ca.pem" -q 1 -t '#' >"$work/out" 2>&1
expect_match "nor hear anything" "$work/out" 'denied'
expect_count "and none of that was counted" "$open" 13
