# The phone's Swift side before a grammar of Swift: no compiler of it is in Debian 12, on PyPI or on npm,
# but tree-sitter's parser is on PyPI. It knows syntax and no types; clang checks the C side's names
# in tests/e2e/phone.sh. Without a network it is left out, and that is said.
. tests/common/tap.sh
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
tools=$(realpath "${BUILD:-build}")/swift-tools
if ! "$tools/bin/python" -c 'import tree_sitter_swift' 2>/dev/null && ! { python3 -m venv "$tools" &&
    timeout 600 "$tools/bin/pip" --quiet install tree-sitter tree-sitter-swift; } >"$work/log" 2>&1; then
    rm -rf "$tools"
    echo "ok 1 - Swift's syntax # SKIP its parser could not be installed: $(tail -n 1 "$work/log")"
    exit 0
fi
cat >"$work/parse.py" <<'PYTHON'
import sys
import tree_sitter
import tree_sitter_swift

parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_swift.language()))
print("wrong" if parser.parse(open(sys.argv[1], "rb").read()).root_node.has_error else "sound")
PYTHON
parsed() { "$tools/bin/python" "$work/parse.py" "$1"; }
sed '0,/func /s//fnc /' examples/phone/Tremolo.swift >"$work/wrong.swift"
expect "examples/phone/Tremolo.swift is Swift" "$(parsed examples/phone/Tremolo.swift)" sound
expect "with a letter less it is not" "$(parsed "$work/wrong.swift")" wrong
