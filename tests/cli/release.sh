# A source release: the same bytes twice, also from the archive itself, one version everywhere, and a
# list of what is linked that leaves nothing out. 'make distcheck' builds and tests from the archive.
. tests/common/tap.sh
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export PYTHONDONTWRITEBYTECODE=1
version=$(cat VERSION)
tremolo=${BUILD:-build}/tremolo
tools/dist "$work/first.tar.gz" && sleep 1 && tools/dist "$work/second.tar.gz"
expect "the archive is made" $? 0
cmp -s "$work/first.tar.gz" "$work/second.tar.gz"
expect "with the same bytes twice" $? 0
tar -xzf "$work/first.tar.gz" -C "$work"
expect "in a folder of its version" "$(ls "$work" | grep -v gz)" "tremolo-$version"
expect "without what a build leaves" "$(cd "$work/tremolo-$version" && find . -type d -name build -o -name .git -o -name '*.o')" ""
(cd "$work/tremolo-$version" && unset SOURCE_DATE_EPOCH && tools/dist ../third.tar.gz) && cmp -s "$work/first.tar.gz" "$work/third.tar.gz"
expect "and the archive makes itself again" $? 0
echo >>"$work/tremolo-$version/README.md"
(cd "$work/tremolo-$version" && tools/dist ../fourth.tar.gz) && cmp -s "$work/first.tar.gz" "$work/fourth.tar.gz"
expect "but not when a byte has changed" $? 1

expect "Debian's changelog has this version" "$(sed -n '1s/.*(\(.*\)).*/\1/p' debian/changelog)" "$version"
expect "Debian's packages are built with what a build needs" \
    "$(tools/setup --list build web | grep -v '^\(gcc\|libc6-dev\)$' | sort -u |
        while read -r package; do grep -q "^ $package,\{0,1\}$" debian/control || echo "$package"; done)" ""

tools/sbom "$tremolo" >"$work/one.json" && tools/sbom "$tremolo" >"$work/two.json"
expect "what is linked is listed" $? 0
cmp -s "$work/one.json" "$work/two.json"
expect "the same twice" $? 0
readelf -d "$tremolo" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' >"$work/needed"
python3 - "$work/one.json" "$work/needed" "$version" <<'PYTHON'
import json, sys
document = json.load(open(sys.argv[1]))
needed = open(sys.argv[2]).read().split()
packages = {package["SPDXID"]: package for package in document["packages"]}
linked = [packages[one["relatedSpdxElement"]] for one in document["relationships"] if one["relationshipType"] == "DYNAMIC_LINK"]
named = {name for package in linked for name in package["comment"].removeprefix("as ").split(", ")}
print(("ok" if needed and set(needed) == named else "not ok") + " - every library that the program asks for, and no other")
print(("ok" if packages["SPDXRef-tremolo"]["versionInfo"] == sys.argv[3] else "not ok") + " - of this version")
ends = [one[side] for one in document["relationships"] for side in ("spdxElementId", "relatedSpdxElement")]
print(("ok" if document["spdxVersion"] == "SPDX-2.3" and set(ends) == {"SPDXRef-DOCUMENT", *packages} else "not ok")
      + " - nothing hangs in the air")
PYTHON
expect "the list is read" $? 0
