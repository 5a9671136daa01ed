# web.sh -- a real browser for the tests: Debian's chromium, driven by
# playwright-core from npm. Its headless shell, where it is there: the same engine without
# the windows around it, which take two thirds of the processor's time and show nothing
# of a page. tests/e2e/browser.sh has the whole browser.
#
# The packages are pinned by tests/web/package-lock.json and installed once,
# into the build directory. Without browser, node or registry there is nothing to
# drive, and the tests are skipped with the reason.
npm_home=${BUILD:-build}/npm
screenshots=${BUILD:-build}/screenshots
browser=$(command -v chromium-headless-shell || command -v chromium)

# skip_unless_browser NAME: one TAP line and the end, when something is missing.
skip_unless_browser() {
    for program in "${browser:-chromium}" node npm; do
        if ! command -v "$program" >/dev/null; then
            echo "ok 1 - $1 # SKIP $program is not installed ('tools/setup test' brings it)"
            exit 0
        fi
    done
    mkdir -p "$npm_home" "$screenshots"
    if ! flock "$npm_home" sh -c "$install_packages" sh "$npm_home"; then
        echo "ok 1 - $1 # SKIP npm could not install playwright-core and axe-core: $(tail -n 1 "$npm_home/log")"
        exit 0
    fi
}
# By one script at a time: they run alongside one another.
install_packages='
    cmp -s tests/web/package-lock.json "$1/installed.json" && exit
    cp tests/web/package.json tests/web/package-lock.json "$1/"
    npm ci --prefix "$1" --no-audit --no-fund --ignore-scripts >"$1/log" 2>&1 &&
        cp tests/web/package-lock.json "$1/installed.json"'

# run_web SCRIPT [ARGUMENTS]: a script of tests/web with what it may use.
run_web() {
    NPM_HOME=$npm_home BROWSER=$browser SCREENSHOTS=$screenshots TREMOLO=$tremolo \
        DEVICE_PACKAGE=${BUILD:-build}/npm-package/tremolo-device node --import ./tests/web/resolve.mjs "$@"
}
