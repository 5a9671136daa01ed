# The manual against the program: a page's options are those of the program's table, word
# for word; every option that a page mentions is in --help and the other way round; and
# tremolo(1) lists the commands that the program lists. Pages are read as source, so no
# reader of man pages is needed.
. tests/common/tap.sh
tremolo=${BUILD:-build}/tremolo
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# helped FILE...: the options in a text of --help. '--help' itself is everybody's.
helped() { cat "$@" | grep -oE -- '--[a-z][a-z0-9-]*' | grep -vx -- --help | sort -u; }
# manual FILE: the options a page marks up as such, by '.Fl -name' or '.Fl Fl name'.
manual() { grep -oE 'Fl (Fl |-)[a-z][a-z0-9-]*' "$1" | sed -E 's/^Fl (Fl |-)/--/' | grep -vx -- --help | sort -u; }
# commands: name and nothing else of what 'tremolo --help' lists.
commands() { $tremolo --help | sed -nE 's/^  ([a-z]+) .*/\1/p'; }

# differ HELP PAGE: what only one of the two has, on one line.
differ() {
    helped "$1" >"$scratch/helped"
    manual "$2" >"$scratch/manual"
    comm -23 "$scratch/helped" "$scratch/manual" | sed 's/^/missing in the page: /'
    comm -13 "$scratch/helped" "$scratch/manual" | sed 's/^/missing in --help: /'
}

for command in $(commands); do
    case $command in version | help | completion) continue ;; esac
    page=docs/man/tremolo-$command.1
    expect "tremolo-$command(1) exists" "$(ls "$page" 2>&1)" "$page"
    $tremolo "$command" --help >"$scratch/help" 2>&1
    expect "$command: there are options to compare" "$([ -n "$(helped "$scratch/help")" ] && echo yes)" yes
    expect "$command: page and --help have the same options" "$(differ "$scratch/help" "$page")" ""
done
expect "tremolo-study(1) has the subcommands of --help in its synopsis and its list" \
    "$(sed -nE 's/^\.(It )?Cm ([a-z]+).*/\2/p' docs/man/tremolo-study.1 | sort | uniq -c | awk '$1 >= 2 { print $2 }' | tr '\n' ' ')" \
    "$($tremolo study --help | sed -nE 's/^(usage:|      ) tremolo study ([a-z]+) .*/\2/p' | sort -u | tr '\n' ' ')"
expect "tremolo(1) lists the commands of tremolo --help" \
    "$(sed -nE 's/^\.It Cm ([a-z]+).*/\1/p' docs/man/tremolo.1 | sort | tr '\n' ' ')" "$(commands | sort | tr '\n' ' ')"
for page in docs/man/tremolo-*.1; do
    command=${page#docs/man/tremolo-}
    expect "${page#man/} belongs to a command" "$(commands | grep -cx "${command%.1}")" 1
done

tools/man-options --check >"$scratch/out" 2>&1
expect "the pages have the options of the program's tables" "$? $(cat "$scratch/out")" "0 "
mkdir -p "$scratch/docs/man"
sed 's/^Confidence of the intervals$/Something else/' docs/man/tremolo-fit.1 >"$scratch/docs/man/tremolo-fit.1"
check=$PWD/tools/man-options build=$(cd "${BUILD:-build}" && pwd)
(cd "$scratch" && BUILD=$build "$check" --check >"$scratch/out" 2>&1)
expect "a page that says something else is found" $? 1
expect_match "and named" "$scratch/out" '^man-options: docs/man/tremolo-fit.1 differs'
(cd "$scratch" && BUILD=$build "$check" && cmp docs/man/tremolo-fit.1 "$OLDPWD/docs/man/tremolo-fit.1")
expect "and is written again, with what people added to it" $? 0

# It can fail, in both directions and with both spellings.
printf '  --one FILE   a\n  --two        b\n' >"$scratch/help"
printf '.It Fl -one Ar file\n.It Fl Fl three\n' >"$scratch/page"
expect "a difference is found" "$(differ "$scratch/help" "$scratch/page" | tr '\n' ';')" \
    "missing in the page: --two;missing in --help: --three;"
