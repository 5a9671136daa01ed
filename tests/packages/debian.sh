# The Debian packages: built by dpkg-buildpackage from the source archive, clean before lintian,
# installed into a fresh Debian, where the service serves a study as
# its own user, and purged. Needs root for the fresh system; a few minutes.
. tests/common/tap.sh
work=$(mktemp -d) || exit 1
build=$(realpath "${BUILD:-build}")
version=$(cat VERSION)
architecture=$(dpkg --print-architecture)
debs=$build/deb
server=
root=$work/root
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf --one-file-system "$work"' EXIT
for program in dpkg-buildpackage dh lintian mmdebstrap; do
    command -v $program >/dev/null && continue
    echo "ok 1 - Debian packages # SKIP $program is not installed ('tools/setup packages' brings it)"
    exit 0
done
if [ -z "${KEEP_DEBS:-}" ]; then # KEEP_DEBS=1 takes those of an earlier 'make deb'
    tools/deb "$debs" >"$work/log" 2>&1
    status=$?
    expect "dpkg-buildpackage builds them" $status 0
    if [ $status -ne 0 ]; then # nothing below can pass; the reason is worth more
        sed 's/^/# /' "$work/log"
        exit 1
    fi
fi
expect "these are the packages" "$(cd "$debs" && ls ./*.deb | grep -v dbgsym | sed 's|./||; s|_.*||' | tr '\n' ' ')" \
    "libtremolo-dev libtremolo0 python3-tremolo tremolo "

# No exceptions: an error or a warning fails.
lintian --fail-on error,warning "$debs/tremolo_${version}_$architecture.changes" >"$work/lintian" 2>&1
expect "lintian finds no error and no warning" "$? $(grep '^[EW]:' "$work/lintian")" "0 "

if [ "$(id -u)" -ne 0 ]; then
    echo "ok - a fresh Debian # SKIP it takes root"
    exit 0
fi
mmdebstrap --variant=minbase --include=curl bookworm "$root" >"$work/log" 2>&1
expect "a fresh Debian" $? 0
mkdir "$root/debs"
cp "$debs"/*.deb "$root/debs/"
inside() { chroot "$root" env DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }
inside sh -c 'apt-get update -qq && apt-get install -qq -y --no-install-recommends /debs/tremolo_*.deb' >"$work/log" 2>&1
expect "apt installs it, with what it depends on" $? 0
expect "the command" "$(inside tremolo version)" "tremolo $version"
expect "a system user without a shell" "$(inside getent passwd tremolo | cut -d : -f 6,7)" "/var/lib/tremolo:/usr/sbin/nologin"
expect "a directory of its own" "$(inside stat -c '%U %a' /var/lib/tremolo)" "tremolo 700"
expect "manual pages, completions, configuration and units" "$(cd "$root" && ls usr/share/man/man1/tremolo-serve.1.gz \
    usr/share/bash-completion/completions/tremolo usr/share/zsh/vendor-completions/_tremolo \
    usr/share/fish/vendor_completions.d/tremolo.fish etc/tremolo/serve.conf lib/systemd/system/tremolo.service \
    lib/systemd/system/tremolo-gateway.service lib/systemd/system/tremolo-folder.service | wc -l)" 8
if command -v systemd-analyze >/dev/null; then
    for unit in tremolo tremolo-gateway tremolo-folder; do
        systemd-analyze security --offline=true --threshold=29 "$root/lib/systemd/system/$unit.service" >"$work/log" 2>&1
        expect "$unit.service is confined" $? 0
    done
fi

# No systemd runs in there: what the unit says is done by hand.
unit=$root/lib/systemd/system/tremolo.service
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
sed -i "s/127.0.0.1:8787/127.0.0.1:$port/" "$root/etc/tremolo/serve.conf"
user=$(sed -n 's/^User=//p' "$unit")
start=$(sed -n 's/^ExecStart=//p' "$unit")
chroot "$root" sh -c ". /etc/tremolo/serve.conf; exec setpriv --reuid $user --regid $user --clear-groups -- $start" \
    >"$work/out" 2>"$work/err" &
server=$!
for _ in $(seq 300); do grep -q '^server key' "$work/out" && break; sleep 0.1; done
inside sh -c "tremolo study init >/srv/study.json && tremolo study publish /srv/study.json http://127.0.0.1:$port \
    --token-file /var/lib/tremolo/operator.token" >"$work/log" 2>&1
expect "the service takes a study" $? 0
id=$(inside tremolo study id /srv/study.json)
echo '{"sleep": 7.2, "smoker": "no", "heart rate": 61}' >"$root/srv/sample.json"
inside sh -c "cd /srv && tremolo report --study http://127.0.0.1:$port/v1/studies/$id --state device1 --sample sample.json \
    --enrol --trust-new" >"$work/log" 2>&1
expect "and a report" $? 0
expect_match "which it counts" "$work/log" 'accepted'
expect "it runs as its own user" "$(stat -c %u "/proc/$server")" "$(inside id -u tremolo)"
kill "$server"
wait "$server"
expect "SIGTERM ends it with 0" $? 0
server=

cp examples/thousand_devices.c "$root/srv/"
inside sh -c 'apt-get install -qq -y --no-install-recommends gcc libc6-dev pkg-config /debs/libtremolo0_*.deb /debs/libtremolo-dev_*.deb' >"$work/log" 2>&1
expect "the library and its headers install" $? 0
inside sh -c 'cd /srv && cc -D_GNU_SOURCE thousand_devices.c $(pkg-config --cflags --libs tremolo) -lm -o example && ./example' >"$work/out" 2>&1
expect_match "a program builds against them and runs" "$work/out" '^pulse  pulse'

inside sh -c 'apt-get install -qq -y --no-install-recommends /debs/python3-tremolo_*.deb' >"$work/log" 2>&1
expect "the Python package installs" $? 0
inside python3 -c 'import tremolo
study = tremolo.Study.build(title="t", features={"x": (0, 1)}, response=("y", (0, 1)), epsilon=1)
print(len(study.id))' >"$work/out" 2>&1
expect "and makes a study" "$(cat "$work/out")" 43

inside apt-get purge -qq -y python3-tremolo tremolo libtremolo0 libtremolo-dev >"$work/log" 2>&1
expect "it is purged" $? 0
expect_match "and says that the studies are kept" "$work/log" 'studies in /var/lib/tremolo are kept'
expect "nothing else is left of it" "$(cd "$root" && find etc usr lib -iname '*tremolo*' | grep -v '^etc/\(passwd\|group\|shadow\)')" ""
expect "the reports are there" "$([ -s "$root/var/lib/tremolo/tremolo.db" ] && echo yes)" yes
rm "$root/var/lib/tremolo/tremolo.db"
inside sh -c 'apt-get install -qq -y --no-install-recommends /debs/tremolo_*.deb && apt-get purge -qq -y tremolo' >"$work/log" 2>&1
expect "without a store the directory goes, too" "$? $([ -e "$root/var/lib/tremolo" ] && echo there)" "0 "
