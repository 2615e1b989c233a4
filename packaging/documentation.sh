#!/usr/bin/env bash
# documentation.sh DIR AKIN...: the manual pages and completions that this command writes, into DIR.
set -euo pipefail
dir=$1 akin=("${@:2}")
rm -rf "$dir"
mkdir -p "$dir/completions"
"${akin[@]}" man "$dir/man"
"${akin[@]}" completions bash > "$dir/completions/akin.bash"
"${akin[@]}" completions zsh > "$dir/completions/_akin"
"${akin[@]}" completions fish > "$dir/completions/akin.fish"
