#!/bin/sh
# ports.sh -- instructions a privatised report takes on small processors.
#
# QEMU runs one instruction at a time and writes a line for each; we count
# those between two marks and leave out the platform's callbacks, which are
# the embedder's. This counts instructions, not cycles: on a Cortex-M0 a load
# or a taken branch takes two or three.
set -eu
build=${BUILD:-build}/ports
here=ports
. $here/targets.sh
tools/setup ports
mkdir -p "$build"
tools/amalgamate "$build"
alone="-ffreestanding -fno-builtin -fno-tree-loop-distribute-patterns"

# per_report TARGET FLAG: mean over the program's reports.
per_report() {
    target "$1"
    program=$build/instructions-$1$2
    $cc $alone -I"$build" -c -o "$program.o" "$build/tremolo_device.c"
    $cc -I"$build" -I$here "$2" -o "$program" $here/instructions.c "$program.o" $image
    $run "$program" -singlestep -d exec,nochain -D /dev/stdout </dev/null 2>"$program.log" | awk '
        $NF == "mark_begin" { counting = 1; reports++ }
        $NF == "mark_end" { counting = 0 }
        counting && $NF !~ /^(memory_|memcpy|__aeabi_memcpy|mark_|call_)/ { total++ }
        END { if (reports > 0) print int(total / reports) }'
    grep -q 'status=0' "$program.log" || { cat "$program.log" >&2 && return 1; }
}

for pair in cortex-m0:1 cortex-m0:0 cortex-m4:1 riscv32:1; do
    name=${pair%:*} waves=${pair#*:}
    count=$(per_report "$name" -DWAVES="$waves")
    echo "$name: $count instructions a report, d = $dimension_small, m = $waves"
done
count=$(per_report cortex-m0 -DBALLOT=10)
echo "cortex-m0: $count instructions a ballot, d = 10"
