# A data directory that a server cannot have: in use, read-only, damaged. Each is
# refused at the start, with a sentence, and nothing in it changes.
. tests/common/tap.sh
. tests/common/server.sh

# refused NAME PATTERN COMMAND...: must end by itself, with code 1 and these words.
refused() {
    name=$1 pattern=$2
    shift 2
    timeout 20 "$@" >"$work/out" 2>"$work/err"
    expect "$name is refused" "$?" 1
    expect_match "  and says why" "$work/err" "$pattern"
}

study_text '{"kind": "one-shot"}' >"$work/study.json"
start_server "$work/data"
id=$(create_study "$work/study.json")
refused "a second server" "another server uses $work/data" \
    "$tremolo" serve --data "$work/data" --listen 127.0.0.1:0
refused "reading beside a server" "a server uses this directory; ask it: tremolo fit URL" "$tremolo" fit "$work/data"
expect "the first goes on" "$(http_status "$url/v1/studies/$id")" 200
stop_server

# Permissions do not hold root back, so somebody else tries.
sums() { cat "$work"/data/* | cksum; }
before=$(sums)
if [ "$(id -u)" = 0 ] && setpriv --reuid=65534 --clear-groups true 2>/dev/null; then
    chmod 755 "$work" "$work/data"
    as_nobody="setpriv --reuid=65534 --clear-groups"
    if $as_nobody test -x "$tremolo"; then
        refused "a directory of somebody else" "$work/data cannot be written to: Permission denied" \
            $as_nobody "$tremolo" serve --data "$work/data" --listen 127.0.0.1:0
    else
        echo "ok 6 - a directory of somebody else # SKIP the program is out of reach"
    fi
    chmod 700 "$work/data"
fi
mkdir "$work/frozen"
if mount --bind "$work/data" "$work/frozen" 2>/dev/null &&
    mount -o remount,ro,bind "$work/frozen" 2>/dev/null; then
    refused "a read-only file system" "$work/frozen cannot be written to: Read-only file system" \
        "$tremolo" serve --data "$work/frozen" --listen 127.0.0.1:0
else
    echo "# no mount here: a read-only file system was not tried"
fi
umount "$work/frozen" 2>/dev/null
expect "nothing in it changed" "$(sums)" "$before"

# Studies whose key is lost: a new key would make them nobody's.
for key in signing.seed device.secret; do
    mv "$work/data/$key" "$work/kept"
    refused "a directory without its $key" "data/$key: this key is missing" \
        "$tremolo" serve --data "$work/data" --listen 127.0.0.1:0
    expect "  and no other is made" "$(ls "$work/data/$key" 2>/dev/null)" ""
    mv "$work/kept" "$work/data/$key"
done
modes=$(stat -c %a "$work/data/tremolo.db" "$work/data/signing.seed" | tr '\n' ' ')
expect "what lies there is for its owner alone" "$modes" "600 600 "

refused "a place that cannot be" "/proc/tremolo cannot be made" \
    "$tremolo" serve --data /proc/tremolo --listen 127.0.0.1:0
mkdir "$work/damaged"
head -c 4096 /dev/urandom >"$work/damaged/tremolo.db"
refused "a damaged database" "damaged/tremolo.db is damaged" \
    "$tremolo" serve --data "$work/damaged" --listen 127.0.0.1:0

start_server "$work/data"
expect "and it serves again" "$(http_status "$url/v1/studies/$id")" 200
