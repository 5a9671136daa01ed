#!/bin/sh
# audit.sh -- the audit passes a sound build and catches broken ones. Seeds are
# fixed; for a sound build a random seed would exceed the claim with
# probability below 1%. Prints TAP.
set -u
build=${BUILD:-build}
tremolo=$build/tremolo
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
count=0
say() {
    count=$((count + 1))
    if [ "$1" -eq 0 ]; then echo "ok $count - $2"; else echo "not ok $count - $2"; fi
}
member() { sed -n "s/.*\"$1\":\([-0-9.e+]*\).*/\1/p"; }
between() { awk -v x="$1" -v l="$2" -v h="$3" 'BEGIN { exit !(x != "" && x >= l && x <= h) }'; }

answer=$($tremolo audit --seed 7 --pairs 150000 --json)
say $? "a sound build passes"
between "$(echo "$answer" | member epsilon_lower)" 0.6 1
say $? "its bound is below the claim and not far"
# Half the counts' error at this size: mu is known within 3%.
between "$(echo "$answer" | member epsilon_lower_gaussian)" 0.9 1
say $? "so is the Gaussian bound"
[ "$(echo "$answer" | member holes)" = 0 ]
say $? "no wire value is reachable from one person only"
# 1.2 million squared errors: 0.2% is four standard errors of their mean.
mse=$(echo "$answer" | member mean_squared_error)
bound=$(echo "$answer" | member bound)
between "$mse" "$(awk -v b="$bound" 'BEGIN { print b * 0.994 }')" "$(awk -v b="$bound" 'BEGIN { print b * 1.01 }')"
say $? "the attack's error is the bound's"

$tremolo audit --seed 7 --pairs 100000 --fault under-noised >"$work/out"
[ $? -eq 1 ] && grep -q '^CAUGHT' "$work/out"
say $? "samples 25% too large are caught"

# The same core with four fifths of its noise, built apart from the sources, so
# that it does not matter how the rest was built.
cc=${CC:-cc}
sound=$(ls device/*.c | grep -v '^device/device\.c$')
# shellcheck disable=SC2086 # a list of files
$cc -std=c99 -Istatus -Idevice -Dtremolo_noise_draw=weak_noise_draw -O2 -c -o "$work/device.o" device/device.c &&
    $cc -std=c11 -D_GNU_SOURCE -ffp-contract=off -O2 -Istatus -Idevice -Iprivacy -Icli -o "$work/weak" \
        tests/common/weak_audit.c cli/audit.c cli/audit_run.c cli/common.c cli/suggest.c privacy/*.c \
        "$work/device.o" $sound -ljansson -lfftw3 -lpthread -lm 2>"$work/err"
built=$?
[ $built -eq 0 ] || sed 's/^/# /' "$work/err"
"$work/weak" --seed 7 --pairs 100000 >"$work/out"
[ $? -eq 1 ] && grep -q '^CAUGHT' "$work/out"
say $? "a build with 20% less noise is caught"

one=$($tremolo audit --seed 3 --pairs 2000)
two=$($tremolo audit --seed 3 --pairs 2000)
[ "$one" = "$two" ]
say $? "a seed repeats the audit"

refused() {
    name=$1
    shift
    $tremolo audit "$@" >"$work/out" 2>"$work/err"
    [ $? -eq 2 ] && [ ! -s "$work/out" ] && [ "$(wc -l <"$work/err")" -eq 1 ]
    say $? "$name: exit 2 and one sentence"
}
refused "no pairs" --pairs 0
refused "negative epsilon" --epsilon -1
refused "certainty" --confidence 1
refused "delta 0" --delta 0
refused "NaN" --epsilon nan
refused "unknown fault" --fault lightning
refused "one feature" --dimension 1
refused "stray word" now
echo "1..$count"
