# What `make install` leaves behind is enough to build a program against.
. tests/common/tap.sh
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

make -s install BUILD="${BUILD:-build}" DESTDIR="$scratch" PREFIX=/opt/tremolo >"$scratch/log" 2>&1
expect "make install honours DESTDIR and PREFIX" $? 0
[ -x "$scratch/opt/tremolo/bin/tremolo" ]
expect "the command is there" $? 0
"$scratch/opt/tremolo/bin/tremolo" version >"$scratch/version"
expect "and runs" $? 0

export PKG_CONFIG_PATH="$scratch/opt/tremolo/lib/pkgconfig"
export PKG_CONFIG_SYSROOT_DIR="$scratch"
flags=$(pkg-config --cflags --libs --static tremolo)
expect "pkg-config knows it" $? 0
${CC:-cc} -std=c11 -D_GNU_SOURCE -o "$scratch/example" examples/thousand_devices.c $flags 2>"$scratch/log"
expect "an example builds from the installed files alone" $? 0
"$scratch/example" >"$scratch/out"
expect "and runs" $? 0
expect_match "printing the second moments" "$scratch/out" '^pulse  pulse'
