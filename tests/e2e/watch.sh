# tremolo status --watch on a terminal of our own: what it draws at several sizes,
# with and without colours and UTF-8, while devices report, and that it leaves
# the terminal as it was.
. tests/common/tap.sh
. tests/common/server.sh

# Asking often: a screen is looked at when the next frame begins.
often="status --watch --every 0.2"
# in_a_pipe PATTERN: for as long as it takes to print the pattern once.
in_a_pipe() {
    timeout -s INT 60 $tremolo $often "$study" >"$work/out" 2>&1 &
    piped=$!
    wait_for grep -Eq "$1" "$work/out"
    kill -TERM $piped
    wait $piped
}
watch() {
    TERM=xterm LC_ALL=${locale:-C.UTF-8} python3 tests/common/pty_screen.py "$@" >"$work/out" 2>&1
}

study_text '{"kind": "one-shot"}' |
    sed 's/"epsilon": 8/"epsilon": 60/; s/"name": "pulse"/"name": "<b>Puls höhe<\/b>"/' >"$work/one.json"
study_text '{"kind": "iterative", "rounds": 3, "close": {"reports": 400}}' >"$work/three.json"
start_server "$work/data"
one=$(create_study "$work/one.json")
three=$(create_study "$work/three.json")
study=$url/v1/studies/$one

watch --until 'nothing can be said' $tremolo status --watch "$study"
expect_match "an empty study says so" "$work/out" '^seen=True'
watch --size 80x24 --until 'epsilon 60' $tremolo $often "$study"
expect_match "the guarantee is shown" "$work/out" 'epsilon 60 at delta 1e-05, any two people; features only'

$swarm --url "$study" --devices 20 --threads 1 >/dev/null 2>&1
watch --until 'too few reports yet' $tremolo $often "$study"
expect_match "what is not identified is said" "$work/out" '^seen=True'

# Devices report while we look: the number on the screen grows. The window is wide
# enough that no interval of so many devices hides behind its middle.
$swarm --url "$study" --devices 1480 --threads 2 --batch 50 >/dev/null 2>&1 &
swarm_pid=$!
watch --size 132x24 --until 'reports 1,500' $tremolo $often "$study"
wait "$swarm_pid"
expect_match "reports are seen to arrive" "$work/out" '^seen=True alternate=True cursor=False'
expect_match "typed keys do not spoil the picture" "$work/out" '^echo_while=False'
expect_match "coefficients are drawn with their intervals" "$work/out" '^sleep .*├.*[●?].*\[.*, .*\]'
expect_match "names are text" "$work/out" '^<b>Puls höhe</b> '
expect_match "the echo comes back" "$work/out" '^echo_after=True'
expect_match "screen and cursor come back" "$work/out" '^alternate_after=False cursor_after=True'
expect_match "every line fits, and no sequence is unusual" "$work/out" '^unknown=0 overflow=0 colours=[1-9]'
expect_match "q ends it with 0" "$work/out" '^code=0$'

estimate=$(curl -s "$study/estimate" | sed 's/"prediction".*//; s/.*"sleep","estimate":\([-0-9.e]*\).*/\1/')
shown=$(LC_ALL=C awk -v x="$estimate" 'BEGIN { printf "%.4g", x }')
expect_match "the number is the estimate's" "$work/out" "^sleep .* $shown "

locale=C watch --size 40x16 --end ctrl-c $tremolo $often "$study"
expect_match "40 columns in ASCII" "$work/out" '^sleep +[-0-9.e]+ .*[o?]'
expect_match "fit as well" "$work/out" '^unknown=0 overflow=0 '
expect_match "Ctrl-C gives everything back" "$work/out" '^alternate_after=False cursor_after=True'
expect_match "and ends with 0" "$work/out" '^code=0$'
grep -q '[^ -~]' "$work/out"
expect "no character beyond ASCII is sent in such a locale" $? 1
watch --size 20x8 --until 'more; a taller' --end TERM $tremolo $often "$study"
expect_match "20 columns and 8 rows fit" "$work/out" '^unknown=0 overflow=0 '
expect_match "SIGTERM gives everything back" "$work/out" '^alternate_after=False cursor_after=True'
watch --size 120x40 --resize 60x20 --end STOP $tremolo status --watch --every 60 "$study"
expect_match "a resized window is drawn anew at once" "$work/out" '^seen=True'
expect_match "and fits" "$work/out" '^unknown=0 overflow=0 '
expect_match "Ctrl-Z leaves a clean terminal meanwhile" "$work/out" '^stopped_clean=True'
NO_COLOR=1 watch $tremolo $often "$study"
expect_match "NO_COLOR means no colours" "$work/out" 'colours=0 '
$swarm --url "$url/v1/studies/$three" --devices 500 --threads 1 --batch 50 >/dev/null 2>&1
watch --until 'round ' $tremolo $often "$url/v1/studies/$three"
expect_match "rounds have a bar" "$work/out" '^round [0-9] of 3 .* \[[#.]*\]'
expect_match "and gradients" "$work/out" '^gradient '
watch --until 'steps, sleep and pulse' $tremolo $often "$url"
expect_match "a server's studies are listed" "$work/out" '1,500 reports  open  round 1 of 1'

in_a_pipe '^[-0-9T:]*Z '
expect_match "in a pipe it is a line each time" "$work/out" \
    '^[-0-9T:]*Z state=open round=1 rounds=1 reports=1500 rate=([0-9.e-]+|none) r2=[0-9.a-z-]* identified=[0-9] coefficients=4$'
grep -q "$(printf '\033')" "$work/out"
expect "without a control character" $? 1
stop_server
in_a_pipe 'trouble='
expect_match "a server that is away is waited for" "$work/out" 'trouble="no answer'
watch --until 'no answer' $tremolo $often "$study"
expect_match "on the screen, too" "$work/out" '^seen=True'
$tremolo status --watch --json "$study" >/dev/null 2>&1
expect "--watch with --json is wrong usage" $? 2
$tremolo status --watch --every 0 "$study" >/dev/null 2>&1
expect "so is asking without a pause" $? 2
