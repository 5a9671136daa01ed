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
stop_server
"$tremolo" fit "$work/data" >"$work/out" 2>"$work/err"
expect "a store without a study says so" "$? $(cat "$work/err")" "2 tremolo fit: $work/data: no study was published on this server yet"
start_server "$work/data"
id=$(create_study "$work/study.json")
refused "a second server" "a running server uses $work/data" \
    "$tremolo" serve --data "$work/data" --listen 127.0.0.1:0
refused "reading while a server runs" "a running server uses $work/data; stop it first; or ask it: tremolo fit URL" "$tremolo" fit "$work/data"
expect "the first goes on" "$(http_status "$url/v1/studies/$id")" 200
stop_server

# Reading changes nothing: after a server that ended well, after one that was killed and
# left its log, and where there is no database at all.
listed() { (cd "$1" && ls -a && cat ./* 2>/dev/null | cksum); }
mkdir "$work/empty" "$work/a ?#%b"
before=$(listed "$work/empty")
timeout 20 "$tremolo" fit "$work/empty" >"$work/out" 2>"$work/err"
expect "a directory without a database is refused" $? 2
expect_match "  and says why" "$work/err" 'empty: this is no server.s data directory: tremolo\.db: No such file'
expect "  and stays as it was" "$(listed "$work/empty")" "$before"
: >"$work/empty/tremolo.db"
refused "an empty database" "tremolo.db is damaged, or was made before version 0.1.0: its format is 0" "$tremolo" fit "$work/empty"
rm "$work/empty/tremolo.db"
mkdir "$work/empty/tremolo.db"
refused "a directory in place of the database" "$work/empty/tremolo.db: Is a directory" \
    "$tremolo" fit "$work/empty"
refused "and to a server" "serve: $work/empty/tremolo.db: Is a directory" \
    "$tremolo" serve --data "$work/empty" --listen 127.0.0.1:0
refused "a file in place of the data directory" "study.json cannot be written to: Not a directory" \
    "$tremolo" serve --data "$work/study.json" --listen 127.0.0.1:0
cp "$work/data/tremolo.db" "$work/a ?#%b"
for place in "$work/data" "$work/a ?#%b"; do
    before=$(listed "$place")
    "$tremolo" fit "$place" --json >"$work/ended.json" 2>&1
    expect "a directory is read after its server ended" $? 0
    expect "  and nothing in it changed" "$(listed "$place")" "$before"
done
start_server "$work/data"
$swarm --url "$url/v1/studies/$id" --devices 50 --threads 1 --batch 10 >/dev/null 2>&1
curl -s "$url/v1/studies/$id/estimate" >"$work/online.json"
kill -9 "$server_pid"
wait "$server_pid" 2>/dev/null
server_pid=
before=$(listed "$work/data")
expect "a server that was killed leaves its log" "$([ -s "$work/data/tremolo.db-wal" ] && echo yes)" yes
(trap '' XFSZ; ulimit -f 0; "$tremolo" fit "$work/data" --json) 2>"$work/err" | cat >"$work/offline.json"
expect "which is read where nothing can be written, to the bit" "$(document "$work/offline.json")" "$(document "$work/online.json")"
expect "  and nothing in it changed" "$(listed "$work/data")" "$before"
if mount --bind "$work/data" "$work/a ?#%b" 2>/dev/null && mount -o remount,ro,bind "$work/a ?#%b" 2>/dev/null; then
    refused "a log on a read-only file system" "tremolo.db-wal has commits that are not in tremolo.db yet" \
        "$tremolo" fit "$work/a ?#%b"
fi
umount "$work/a ?#%b" 2>/dev/null
start_server "$work/data"
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
        echo "ok 20 - a directory of somebody else # SKIP the program is out of reach"
    fi
    chmod 700 "$work/data"
fi
mkdir "$work/frozen"
if mount --bind "$work/data" "$work/frozen" 2>/dev/null &&
    mount -o remount,ro,bind "$work/frozen" 2>/dev/null; then
    refused "a read-only file system" "$work/frozen cannot be written to: Read-only file system" \
        "$tremolo" serve --data "$work/frozen" --listen 127.0.0.1:0
    "$tremolo" fit "$work/frozen" >"$work/out" 2>&1
    expect "  but read" $? 0
else
    echo "# no mount here: a read-only file system was not tried"
fi
umount "$work/frozen" 2>/dev/null
expect "nothing in it changed" "$(sums)" "$before"

# Studies without their key: no client would accept them under a new one.
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
refused "reading a damaged database" "damaged/tremolo.db is damaged" "$tremolo" fit "$work/damaged"
refused "a damaged database" "damaged/tremolo.db is damaged" \
    "$tremolo" serve --data "$work/damaged" --listen 127.0.0.1:0

start_server "$work/data"
expect "and it serves again" "$(http_status "$url/v1/studies/$id")" 200
