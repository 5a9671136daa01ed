# targets.sh -- how to compile for each target and how to run the result.
#
# Sourced by tools/test-ports, tools/size and bench/ports.sh. `target NAME` sets
#   cc        the compiler with the flags of the processor
#   size_of   the matching size program
#   image     what turns objects into a program that can print and exit
#   run       the command that runs a program, to be followed by its file
# The machines are those QEMU emulates; picolibc prints and exits through
# semihosting. Every run is bounded, because a program that is lost on a
# microcontroller never ends.

run_seconds=60
dimension_small=64
semihosting="-nographic -monitor none -serial none -semihosting-config enable=on,target=native"

# memory FLASH FLASH_BYTES RAM RAM_BYTES
memory() {
    image="--specs=picolibc.specs --crt0=hosted --oslib=semihost -Wl,--gc-sections"
    image="$image -Wl,--defsym=__flash=$1 -Wl,--defsym=__flash_size=$2"
    image="$image -Wl,--defsym=__ram=$3 -Wl,--defsym=__ram_size=$4"
}

target() {
    image="" run="timeout $run_seconds" size_of=size
    case $1 in
    x86-64-gcc) cc="gcc -O2" ;;
    x86-64-clang) cc="clang -O2" ;;
    x86-32) cc="gcc -m32 -O2" ;;
    cortex-m*)
        cc="arm-none-eabi-gcc -mcpu=$1 -mthumb -Os" size_of=arm-none-eabi-size
        case $1 in
        cortex-m0) machine=microbit && memory 0x0 0x40000 0x20000000 0x4000 ;;
        cortex-m4) machine=mps2-an386 && memory 0x0 0x400000 0x20000000 0x400000 ;;
        cortex-m33) machine=mps2-an505 && memory 0x10000000 0x400000 0x38000000 0x40000 ;;
        esac
        run="$run qemu-system-arm -M $machine $semihosting -kernel"
        ;;
    riscv32 | riscv64)
        bits=${1#riscv}
        abi=ilp32
        [ "$bits" = 32 ] || abi=lp64
        cc="riscv64-unknown-elf-gcc -march=rv${bits}imac -mabi=$abi -mcmodel=medany -Os"
        # Constants belong into flash, not to the small variables.
        cc="$cc -msmall-data-limit=0"
        size_of=riscv64-unknown-elf-size
        memory 0x80000000 0x200000 0x80200000 0x200000
        run="$run qemu-system-riscv$bits -M virt -bios none $semihosting -kernel"
        ;;
    *) echo "targets: unknown target '$1'" >&2 && return 1 ;;
    esac
    # A microcontroller keeps the arrays small; hosts take the default.
    case $1 in
    x86*) ;;
    *) cc="$cc -DTREMOLO_MAX_DIMENSION=$dimension_small" ;;
    esac
    cc="$cc -std=c99 -Wall -Wextra -Wpedantic -Werror -ffunction-sections -fdata-sections"
}
