# The schemas in docs/ are what the tables of the documents say: after a change `make schemas` writes
# them again.
. tests/common/tap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

expect "schemas are written" "$("${BUILD:-build}/bin/tools/schemas" "$work" 2>&1)" ""
for made in "$work"/*.json; do
    expect "docs/${made##*/} is as its table says; else run 'make schemas'" "$(cmp "$made" "docs/${made##*/}" 2>&1)" ""
done
