# How time and memory grow with features and with reports, beside the peers' curves: tables in
# $BUILD/bench.
#
# Processor time, so that other work on the machine moves little; each point is the best of
# BENCH_TIMES (3) and has a process of its own. Reports go to 10^6, with BENCH_LONG=1 to 10^8, which
# takes some minutes; NumPy keeps all rows, so it ends at 10^7, where it takes more than a gigabyte.
build=${BUILD:-build}
times=${BENCH_TIMES:-3}
made=$build/bench
mkdir -p "$made" || exit 1
make -s BUILD="$build" "$build/bin/bench/cost" >/dev/null || exit 1

peer=yes
/usr/bin/python3 -c 'import numpy' 2>/dev/null || {
    peer=
    echo "no NumPy here (\`make bench\` installs it): its curves are left out"
}
best() { # COMMAND...: the least processor time of a few runs, the last one's memory.
    for _ in $(seq "$times"); do "$@"; done | sort -n |
        awk 'NR == 1 { print $1, $3 } END { if (NR == 0) print "- -" }' # it failed: a gap
}
# ours JOB FEATURES REPORTS, theirs: processor seconds and MB.
ours() { best "$build/bin/bench/cost" "$@"; }
theirs() { if [ -n "$peer" ]; then best /usr/bin/python3 bench/numpy_cost.py "$@"; else echo "- -"; fi; }

# Features: microseconds and MB of a number of reports that shrinks as rows grow.
: >"$made/features.tsv"
: >"$made/estimate.tsv"
for d in 8 16 32 64 128 256; do
    reports=$((4000000 / d)) few=$((4000000 / d / d + 400))
    set -- $(ours samples $d $reports) $(theirs samples $d $reports) $(ours fold $d $reports) \
        $(ours ballots $d $few) $(ours added $d $few)
    echo "$d $reports $few $*" |
        awk 'function us(seconds, reports) { return seconds == "-" ? "-" : 1e6 * seconds / reports }
            { print $1, us($4, $2), $5, us($6, $2), $7, us($8, $2), us($10, $3), $11, us($12, $3) }' >>"$made/features.tsv"
    echo "$d $(ours estimate $d $((40 * d))) $(theirs estimate $d $((40 * d))) $(ours ballot-estimate $d 2000)" >>"$made/estimate.tsv"
done
echo "features.tsv: features; us of processor time a report and MB in all: samples made and folded, NumPy's; us folded; ballots made (us, MB); us added"
cat "$made/features.tsv"
echo "estimate.tsv: features; seconds and MB: an estimate from samples (40 devices a feature), NumPy's least squares on as many raw rows, an estimate from 2,000 ballots"
cat "$made/estimate.tsv"

: >"$made/reports.tsv"
for reports in 10000 100000 1000000 ${BENCH_LONG:+10000000 100000000}; do
    numpy="- -" ballots="- -"
    [ $reports -gt 10000000 ] || numpy=$(theirs samples 10 $reports)
    [ $reports -gt 10000000 ] || ballots=$(ours ballots 10 $reports)
    echo "$reports $(ours samples 10 $reports) $numpy $ballots" >>"$made/reports.tsv"
done
echo "reports.tsv, 10 features: reports; seconds and MB: samples made and folded, NumPy's, ballots made and folded"
cat "$made/reports.tsv"
