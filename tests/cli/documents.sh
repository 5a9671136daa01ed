# Every path that a document names is there, wherever files were moved to: what is in
# `backticks` and looks like a path or a source file, what a link leads to, and what comments in
# sources and scripts call by its path from the top.
. tests/common/tap.sh
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export PYTHONDONTWRITEBYTECODE=1

cat >"$scratch/paths.py" <<'PYTHON'
import glob, os, re, sys

# Made by a build or a command, not kept.
MADE = {"tremolo_device.c", "tremolo_device.h", "table.c", "tremolo_the_study.h", "study.c", "config.h"}
# This file, and what names the paths of an assembled package.
ELSEWHERE = ("tests/cli/documents", "tests/cli/device_package", "packaging/device/")
SUFFIXES = r"\.(?:c|h|md|sh|py|mjs|js|html|css|conf|service)"
TOPS = r"(?:src|docs|tests|tools|examples|bench|ports|packaging|python|\.ci)"

def walk(*tops):
    for top in tops:
        if os.path.isfile(top):
            yield top
        for folder, folders, names in os.walk(top):
            folders[:] = [f for f in folders if f not in ("node_modules", "__pycache__", ".git") and not f.startswith("build")]
            yield from (os.path.join(folder, name) for name in names)

tree = [path for path in walk("src", "docs", "tests", "tools", "examples", "bench", "ports", "packaging")]
names = {os.path.basename(path) for path in tree} | set(os.listdir(".")) | MADE
modules = {name for name in os.listdir("src")} - {"include"}

# A word in capitals matches any name.
def is_there(path):
    path = re.sub(r"\b(NAME|FILE)\b|(?<=_)NAME", "*", path.rstrip("/"))
    return bool(glob.glob(path))

def check(document):
    text = open(document, encoding="utf-8", errors="replace").read()
    if document.endswith(".md"):
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text):
            if not os.path.exists(os.path.join(os.path.dirname(document), target)):
                yield "link " + target
        text_of_blocks = re.sub(r"```.*?```", "", text, flags=re.S)
        for word in re.findall(r"`([^`\s]+)`", text_of_blocks):
            first = word.split("/")[0]
            if re.fullmatch(r"[\w.-]+(/[\w.*-]+)*/?", word) is None:
                continue
            if "/" in word and (first in modules or re.fullmatch(TOPS, first)):
                if not is_there(word):
                    yield word
            elif "/" not in word and re.fullmatch(r"[\w-]+" + SUFFIXES, word) and word not in names:
                yield word
    for path in re.findall(r"(?<![\w./$-])" + TOPS + r"/[\w./-]*" + SUFFIXES + r"\b", text):
        if not is_there(path):
            yield path

documents = sys.argv[1:] or ["README.md", "CONTRIBUTING.md", "SECURITY.md", "Makefile", ".ci/run"] + [
    path for path in tree if not path.startswith(ELSEWHERE) and not path.endswith((".json", ".tsv", ".svg", ".png"))]
for document in documents:
    for path in sorted(set(check(document))):
        print(f"{document}: {path}")
PYTHON
expect "every path that is named exists" "$(python3 "$scratch/paths.py")" ""

# It can fail.
printf 'See `src/server/gone.c`, `gone.sh`, [this](nowhere.md) and docs/gone.md, but `README.md` and `src/*/include`.\n' >"$scratch/page.md"
expect "what is gone is found" "$(python3 "$scratch/paths.py" "$scratch/page.md" | sed 's/.*: //' | tr '\n' ';')" \
    "docs/gone.md;gone.sh;link nowhere.md;src/server/gone.c;"

# What a newcomer reads first stays short.
walk=$(sed -n '/^### Through the server/,/^On a cluster/p' docs/architecture.md)
expect "the walk through the server names each file once" \
    "$(echo "$walk" | grep -oE '[a-z_0-9/]+\.c`' | sed 's|.*/||' | sort | uniq -d)" ""
expect "the pages have at most 30,000 words" \
    "$([ "$(find docs -name '*.md' -exec cat {} + | wc -w)" -le 30000 ] && echo yes)" yes
expect "there are at most twenty decisions" \
    "$([ "$(grep -cE '^[0-9]+\. ' docs/explanation/decisions.md)" -le 20 ] && echo yes)" yes

# Units that people copy are confined: below 3 of systemd's 10.
if command -v systemd-analyze >/dev/null; then
    for unit in examples/systemd/*.service; do
        systemd-analyze security --offline=true --threshold=29 "$unit" >"$scratch/out" 2>&1
        expect "$unit is confined" $? 0
    done
else
    echo "# no systemd-analyze here: the units' confinement is not judged"
fi
