#!/usr/bin/env bash
# tool_test.sh - tools/campaign: all campaigns in turn share the hours, and tallies are added up; in a tree of stand-ins.
. "$SOURCE/tests/e2e/lib.sh"
mkdir -p tools tests/campaigns/{plugins,compat} tests/fuzz build/release bin
cp "$SOURCE/tools/campaign" tools/ && cp "$SOURCE/tests/campaigns/tallies.py" tests/campaigns/
for name in kill alloc io fuzz soak threads; do
  echo "import sys; print('$name', *sys.argv[1:]); sys.exit({'io': 1, 'soak': 77}.get('$name', 0))" >tests/campaigns/$name.py
done
for name in plugins compat; do
  echo "import sys; print('$name', *sys.argv[1:])" >tests/campaigns/$name/${name}_test.py
done
touch tests/fuzz/npy_fuzz.c tests/fuzz/tar_fuzz.c
printf '#!/bin/sh\n' | tee tools/build >build/release/tutti
printf '#!/bin/sh\necho "$@" >>cmake.txt\n' >bin/cmake
chmod +x tools/build bin/cmake build/release/tutti
export PATH="$work/bin:$PATH"

tools/campaign --hours 3 --seed 7 --tally kept.jsonl >out.txt 2>err.txt
check "a campaign that finds something is the status of all" test $? = 1
check "and told, as a part that was skipped is" diff err.txt - <<'TEXT'
campaign: io found something
campaign: soak: a part was skipped
TEXT
check "all take their turn" test "$(grep -v '^campaign ' out.txt | cut -d' ' -f1 | tr '\n' ' ')" = "plugins compat kill alloc io fuzz soak threads "
check "those that have rows are tried once" test "$(grep -c -- '^\(plugins\|compat\) .*--tally build/campaigns.jsonl --tally kept.jsonl$' out.txt)" = 2
check "share the hours, and have the other options" test "$(grep -c -- '--tally build/campaigns.jsonl --hours 0.5 --seed 7 --tally kept.jsonl$' out.txt)" = 6
says "a campaign of which a part was skipped has not failed" 0 "campaign: soak: a part was skipped" tools/campaign soak
says "nor have all of them" 0 "campaign: soak: a part was skipped" bash -c 'sed -i s/1,/0,/ tests/campaigns/io.py && tools/campaign --hours 3'
says "without hours" 2 'campaign: all campaigns in turn want --hours N, which they share
usage: tools/campaign kill|alloc|io|fuzz|soak|threads|plugins|compat [OPTION]..., tools/campaign --hours N [OPTION]..., or tools/campaign sum [FILE]...' \
  tools/campaign --seed 7

rm cmake.txt
tools/campaign fuzz --seconds 2 >out.txt
check "all fuzzers are built with the address sanitizer" diff cmake.txt - <<'TEXT'
--preset clang -B build/fuzz -DTUTTI_FUZZ=ON -DTUTTI_SANITIZE=fuzzer-no-link,address,undefined
--build build/fuzz --target fuzz_npy fuzz_tar
TEXT
rm cmake.txt
tools/campaign fuzz --seconds 2 --memory >out.txt
check "those that call no foreign library with the memory sanitizer" diff cmake.txt - <<'TEXT'
--preset clang -B build/fuzz_memory -DTUTTI_FUZZ=ON -DTUTTI_SANITIZE=fuzzer-no-link,memory
--build build/fuzz_memory --target fuzz_cubin fuzz_dispatch fuzz_elf fuzz_loop fuzz_tar
TEXT
check "and run" test "$(cat out.txt)" = "fuzz build/fuzz_memory --tally build/campaigns.jsonl --seconds 2 --memory"

cat >one.jsonl <<'JSON'
{"campaign": "kill", "seed": 1, "failures": 0, "runs": 2, "kills": 4, "seconds": 5, "date": "2026-01-02", "commit": "0123456789abcdef", "machine": "x"}
{"campaign": "kill", "seed": 2, "failures": 3, "runs": 5, "kills": 1, "seconds": 1, "date": "2026-01-02", "commit": "0123456789abcdef-dirty", "machine": "x"}
{"campaign": "kill", "seed": 3, "failures": 0, "kills": 2, "seconds": 1, "date": "2026-01-02", "commit": "0123456789abcdef", "machine": "x"}
{"campaign": "fuzz", "seed": 1, "failures": 1, "npy_inputs": 7, "npy_coverage": 90, "seconds": 5, "date": "2026-01-02", "machine": "x"}
JSON
cat >two.jsonl <<'JSON'
{"campaign": "fuzz", "seed": 2, "failures": 0, "npy_inputs": 5, "npy_coverage": 80, "tar_inputs": 2, "seconds": 6, "date": "2026-01-01", "machine": "y"}
JSON
cat >want.txt <<'JSON'
{"campaign": "fuzz", "tallies": 2, "from": "2026-01-01", "to": "2026-01-02", "commits": {"unknown": {"tallies": 2, "failures": 1}}, "failures": 1, "npy_inputs": 12, "npy_coverage": 90, "seconds": 11, "tar_inputs": 2}
{"campaign": "kill", "tallies": 3, "from": "2026-01-02", "to": "2026-01-02", "commits": {"0123456789ab": {"tallies": 2, "failures": 0}, "0123456789ab-dirty": {"tallies": 1, "failures": 3}}, "failures": 3, "runs": 7, "kills": 7, "seconds": 7}
JSON
tools/campaign sum one.jsonl two.jsonl >sum.txt
check "tallies are added up, and told apart by commits" diff sum.txt want.txt
echo nonsense >>two.jsonl
says "a line that is none" 1 'tallies: two.jsonl:2: is no tally, want an object with campaign and date' tools/campaign sum two.jsonl
says "a file that is not there" 1 'tallies: none.jsonl: No such file or directory' tools/campaign sum none.jsonl
finish
