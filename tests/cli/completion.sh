# tremolo completion: what shells propose, asked in bash itself, and in zsh and fish where
# they are installed.
. tests/common/tap.sh
build=$(cd "${BUILD:-build}" && pwd)
tremolo=$build/tremolo
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
PATH=$build:$PATH
touch "$dir/study.json" "$dir/people.csv"
mkdir "$dir/state"
cd "$dir" || exit 1

# words WORD...: what the last of them may become, without the help, on one line.
words() { $tremolo completion words -- "$@" | cut -f1 | tr '\n' ' '; }
expect "commands" "$(words re)" "reproduce report "
expect "options" "$(words fit --s)" "--study --save "
expect "not those of former days" "$(words fit --r)" "--ridge "
expect "choices" "$(words fit --method un)" "unbiased "
expect "files" "$(words fit --save '')" ":files "
expect "directories" "$(words report --state '')" ":directories "
expect "numbers are not guessed" "$(words fit --level '')" ""
expect "actions" "$(words study p)" "publish "
expect "options of an action alone" "$(words study publish --)" "--json --token-file --ca --help "
expect "what an action takes" "$(words study check '')" ":files "
expect "a file that may be left out, too" "$(words study init '')" ":files "
expect "nothing where nothing is taken" "$(words fold '')" ""
expect "nothing for a command that is none" "$(words frobnicate '')" ""
$tremolo completion words -- >"$dir/out"
expect "all commands without a word" "$(wc -l <"$dir/out")" "$($tremolo help | grep -c '^  [a-z]')"
$tremolo completion csh >"$dir/out" 2>"$dir/err"
expect "another shell is a usage error" "$? $(wc -l <"$dir/err")" "2 1"
$tremolo completion man nobody >"$dir/out" 2>"$dir/err"
expect "and so is another command" "$? $(wc -l <"$dir/err")" "2 1"

# asked WORD...: what bash has in COMPREPLY, as if Tab was pressed after the last word.
asked() {
    bash -c 'source <(tremolo completion bash)
        COMP_WORDS=(tremolo "$@")
        COMP_CWORD=$#
        _tremolo tremolo "${!#}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf "%s " "${COMPREPLY[@]}"' bash "$@"
}
expect "bash: the script is registered" "$(bash -c 'source <(tremolo completion bash); complete -p tremolo')" \
    "complete -F _tremolo tremolo"
expect "bash: commands" "$(asked st)" "status study "
expect "bash: options" "$(asked fit --me)" "--method "
expect "bash: choices" "$(asked simulate --protect '')" "features all "
expect "bash: files" "$(asked fit pe)" "people.csv "
expect "bash: directories" "$(asked report --state '')" "state "

if command -v zsh >/dev/null; then
    asked() {
        zsh -fc 'compdef() { :; }
            source <(tremolo completion zsh)
            _describe() { print -rn -- "${(P)2[@]%%:*}" "" }
            _files() { print -rn -- "files $* " }
            words=(tremolo "$@")
            CURRENT=$#words
            _tremolo' zsh "$@"
    }
    expect "zsh: commands" "$(asked st)" "status study "
    expect "zsh: options" "$(asked fit --me)" "--method "
    expect "zsh: files" "$(asked fit --save '')" "files  "
    expect "zsh: directories" "$(asked report --state '')" "files -/ "
else
    echo "# zsh is not installed here: not asked"
fi
if command -v fish >/dev/null; then
    asked() { HOME=$dir fish -c 'tremolo completion fish | source; complete -C "$argv"' "$1" | cut -f1 | tr '\n' ' '; }
    expect "fish: commands" "$(asked 'tremolo st')" "status study "
    expect "fish: options" "$(asked 'tremolo fit --me')" "--method "
    expect "fish: choices" "$(asked 'tremolo simulate --protect ')" "all features "
    expect "fish: files" "$(asked 'tremolo fit pe')" "people.csv "
else
    echo "# fish is not installed here: not asked"
fi
