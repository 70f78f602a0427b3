#!/usr/bin/env bash
# bindings_test.sh - src/sys.rs is what bindgen makes of the headers of today, and the crate compiles without a warning.
set -uo pipefail
cd "$(dirname "$0")" || exit 1
rustc=$(PATH=$PATH:$HOME/.cargo/bin command -v rustc)
"${rustc:-false}" --version >/dev/null 2>&1 || { echo "skipped: no rustc that runs (Debian's package rustc)"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$rustc" --edition 2021 -D warnings --crate-type rlib --crate-name tutti src/lib.rs -o "$work/libtutti.rlib" || exit 1
made=$(sed -n 's/^\/\/ bindgen //p' src/sys.rs)
have=$(bindgen --version 2>/dev/null | awk '{print $2}')
[ "$have" = "$made" ] || { echo "skipped: src/sys.rs is bindgen $made's, here is ${have:-none} (Debian's package bindgen)"; exit 77; }
./generate "$work/sys.rs" && diff "$work/sys.rs" src/sys.rs && exit 0
echo "src/sys.rs is not what the headers give: run sdk/rust/generate"
exit 1
