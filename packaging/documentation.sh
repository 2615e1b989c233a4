#!/usr/bin/env bash
# documentation.sh AKIN DIR: the manual pages and completions of this binary, into DIR.
set -euo pipefail
akin=$1 dir=$2
rm -rf "$dir"
mkdir -p "$dir/completions"
"$akin" man "$dir/man"
"$akin" completions bash > "$dir/completions/akin.bash"
"$akin" completions zsh > "$dir/completions/_akin"
"$akin" completions fish > "$dir/completions/akin.fish"
