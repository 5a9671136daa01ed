# What `make install` leaves behind is enough to build a program against, with
# pkg-config and with CMake, static and shared, and says one version everywhere.
. tests/common/tap.sh
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
version=$(cat VERSION)
tree=$scratch/opt/tremolo
compiler="${CC:-cc}"

make -s install BUILD="${BUILD:-build}" CC="$compiler" DESTDIR="$scratch" PREFIX=/opt/tremolo >"$scratch/log" 2>&1
expect "make install honours DESTDIR and PREFIX" $? 0
expect "the command is there and says the version" "$("$tree/bin/tremolo" version)" "tremolo $version"
expect "the newest section of the changelog is this version" \
    "$(sed -n 's/^## \([0-9.]*\).*/\1/p' CHANGELOG.md | head -n 1)" "$version"

# runs NAME PROGRAM [COMMAND...]: the example prints its table.
runs() {
    name=$1
    shift
    "$@" >"$scratch/out" 2>&1
    expect_match "$name: prints the second moments" "$scratch/out" '^pulse  pulse'
}

export PKG_CONFIG_PATH="$tree/lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$scratch"
expect "pkg-config knows the version" "$(pkg-config --modversion tremolo)" "$version"
build() { $compiler -std=c11 -D_GNU_SOURCE -o "$scratch/$1" examples/thousand_devices.c $2 2>"$scratch/log"; }
build shared "$(pkg-config --cflags --libs tremolo) -lm"
expect "pkg-config: an example builds against the shared library" $? 0
expect "and asks for it by its soname" \
    "$(readelf -d "$scratch/shared" | sed -n 's/.*NEEDED.*\[\(libtremolo.*\)\]/\1/p')" libtremolo.so.0
runs "and" env LD_LIBRARY_PATH="$tree/lib" "$scratch/shared"
build static "$(pkg-config --cflags tremolo) $tree/lib/libtremolo.a $(pkg-config --libs --static tremolo | sed 's/-ltremolo//')"
expect "pkg-config: and against the static one" $? 0
runs "and" "$scratch/static"

mkdir "$scratch/project"
cp examples/thousand_devices.c "$scratch/project/"
cat >"$scratch/project/CMakeLists.txt" <<PROJECT
cmake_minimum_required(VERSION 3.18)
project(example C)
find_package(tremolo $version REQUIRED)
foreach(kind tremolo static)
  add_executable(with-\${kind} thousand_devices.c)
  target_compile_definitions(with-\${kind} PRIVATE _GNU_SOURCE)
  target_link_libraries(with-\${kind} tremolo::\${kind} m)
endforeach()
PROJECT
if command -v cmake >/dev/null; then
    { cmake -S "$scratch/project" -B "$scratch/cmake" -DCMAKE_PREFIX_PATH="$tree" &&
        cmake --build "$scratch/cmake"; } >"$scratch/log" 2>&1
    expect "CMake: the same project builds against both" $? 0
    runs "the shared one" "$scratch/cmake/with-tremolo"
    runs "the static one" "$scratch/cmake/with-static"
    sed -i "s/tremolo $version/tremolo 99.0/" "$scratch/project/CMakeLists.txt"
    cmake -S "$scratch/project" -B "$scratch/cmake" -DCMAKE_PREFIX_PATH="$tree" >"$scratch/log" 2>&1
    expect "CMake: another version is not taken for this one" $? 1
else
    echo "ok - CMake # SKIP there is no cmake"
fi

# Only what the installed headers declare is visible.
seen=$(nm -D --defined-only "$tree/lib/libtremolo.so" | awk '{ print $3 }')
expect "the shared library has public functions" "$(echo "$seen" | grep -cx tremolo_moments_add)" 1
for name in $seen; do grep -qw "$name" "$tree"/include/tremolo/*.h || echo "$name"; done >"$scratch/hidden"
expect "and nothing that no installed header declares" "$(cat "$scratch/hidden")" ""
expect "every installed header is C and C++, alone" "$(for header in "$tree"/include/tremolo/*.h; do
    for language in c c++; do
        echo "#include <${header##*/}>" |
            $compiler -x $language -fsyntax-only -Wall -Werror -I"$tree/include/tremolo" - 2>&1 | head -n 1
    done
done)" ""
