# tap.sh -- the few words the shell tests are written in; prints TAP.
tests_run=0

# report NAME OK: one TAP line.
report() {
    tests_run=$((tests_run + 1))
    if [ "$2" = yes ]; then
        printf 'ok %d - %s\n' "$tests_run" "$1"
    else
        printf 'not ok %d - %s%s\n' "$tests_run" "$1" "${3:+ ($3)}"
    fi
}

# expect NAME ACTUAL EXPECTED: equal strings, exit codes for the most part.
expect() {
    if [ "$2" = "$3" ]; then report "$1" yes; else report "$1" no "got '$2', expected '$3'"; fi
}

# expect_match NAME FILE REGULAR-EXPRESSION
expect_match() {
    if grep -Eq -- "$3" "$2"; then report "$1" yes; else report "$1" no "no line matches '$3'"; fi
}
