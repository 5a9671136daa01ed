# A recorded corpus -- reports of both releases in files and in servers' directories -- still gives the
# recorded estimates, member for member. With --record this build answers it again.
. tests/common/tap.sh
tremolo=${BUILD:-build}/tremolo
corpus=tests/corpus
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/reports"
tar -C "$dir/reports" -xJf $corpus/reports.tar.xz
tar -C "$dir" -xJf $corpus/directories.tar.xz

# answer NAME ARGUMENTS: one line, the name and the document.
answer() {
    printf '%s\t' "$1"
    shift
    $tremolo fit "$@" --json | tr -d '\n'
    echo
}
answers() {
    for file in "$dir"/reports/*; do
        name=$(basename "$file")
        answer "$name" "$file"
        answer "$name at .9" "$file" --level .9
        answer "$name unbiased" "$file" --method unbiased
        case $name in
        n*) answer "$name one-shot" "$file" --method one-shot ;;
        esac
    done
    for name in pooled iterative; do
        answer "niter $name" "$dir/reports/niter.reports" --method $name
        answer "npool $name" "$dir/reports/npool.reports" --method $name
    done
    for data in demo/server many rounds; do
        for study in $($tremolo check "$dir/$data" | sed -n 's/^study \([A-Za-z0-9_-]*\): .*/\1/p'); do
            answer "$data $study" "$dir/$data" --study="$study"
        done
    done
}
answers >"$dir/answers"
if [ "${1-}" = --record ]; then
    python3 $corpus/compare.py --record $corpus/answers.xz <"$dir/answers"
    exit
fi
python3 $corpus/compare.py $corpus/answers.xz <"$dir/answers" >"$dir/said" 2>&1
expect "comparing ends well" $? 0
expect_match "every answer is there" "$dir/said" '^[0-9]{2,} answers$'
expect "and says what was recorded" "$(sed 1d "$dir/said" | head -n 5)" ""
