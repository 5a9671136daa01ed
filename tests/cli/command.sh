# The command itself: version, help, wrong names.
. tests/common/tap.sh
tremolo=${BUILD:-build}/tremolo
out=$(mktemp)
trap 'rm -f "$out"' EXIT

$tremolo version >"$out"
expect "version exits 0" $? 0
expect_match "and names itself" "$out" '^tremolo [0-9]+\.[0-9]+\.[0-9]+$'
$tremolo --help >"$out"
expect "help exits 0" $? 0
expect_match "and lists commands" "$out" '^  version '
$tremolo help study >"$out"
expect_match "help of one command is that command's" "$out" '^usage: tremolo study init'
$tremolo help study move >"$out"
expect "help of one action is that action's" "$(grep -c -- '--shards' "$out") $(grep -c -- '--response' "$out")" "1 0"
$tremolo 2>"$out"
expect "no command is a usage error" $? 2
$tremolo frobnicate 2>"$out"
expect "an unknown command is a usage error" $? 2
expect_match "said in one sentence" "$out" '^tremolo frobnicate: no such command'
for page in man/*.[13]; do
    command=$(basename "$page" .1)
    case $command in tremolo-*) ;; *) continue ;; esac
    $tremolo "${command#tremolo-}" --help >/dev/null 2>&1
    expect "$command has --help" $? 0
done
if [ -w /dev/full ]; then # a result that cannot be written is a failure
    for result in "account sigma --epsilon 1 --delta 1e-5 --sensitivity 1" \
        "account sigma --epsilon 1 --delta 1e-5 --sensitivity 1 --json" \
        "plan --dimension 2 --devices 100 --epsilon 1" version; do
        # shellcheck disable=SC2086
        $tremolo $result >/dev/full 2>"$out"
        expect "full stdout: $result" $? 1
        expect "said once: $result" "$(grep -c 'cannot write to stdout' "$out")" 1
    done
fi
