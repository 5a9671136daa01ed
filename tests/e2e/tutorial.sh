# The commands of docs/tutorials/first-study.md, as they stand there, in an empty folder. The
# server listens on a free port, because other tests run at the same time.
. tests/common/tap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
port=$((20000 + $(od -An -N2 -tu2 /dev/urandom) % 12000))
{
    echo 'set -e; trap "kill \$! 2>/dev/null || :" EXIT'
    sed -n '/^```sh$/,/^```$/p' docs/tutorials/first-study.md | grep -v '^```' |
        sed -e "s/127.0.0.1:8787/127.0.0.1:$port/" -e "s/serve --data data &/serve --data data --listen 127.0.0.1:$port \&/"
} >"$work/commands"
tool=$(cd "${BUILD:-build}" && pwd)
(cd "$work" && PATH=$tool:$PATH && export PATH && timeout 120 sh -eu commands) >"$work/out" 2>&1
expect "every command of the tutorial succeeds" $? 0
expect_match "check says what the study is" "$work/out" 'study.json: a study of 2 features'
expect_match "the plan ends with advice" "$work/out" '^What to do: go ahead'
expect_match "the server has one report" "$work/out" 'reports? +1\b|1 reports?\b'
expect_match "the simulation has a table" "$work/out" '^ *sleep +-[0-9]'
expect "the page is there" "$(grep -c '<!doctype html>' "$work/result.html")" 1
