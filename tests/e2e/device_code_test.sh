#!/usr/bin/env bash
# device_code_test.sh - device code of operations lies in files beside the program, which are found, judged and held to
# the build; the stand-in reads them as a GPU's driver would.
. "$(dirname "$0")/lib.sh"
build=$(dirname "$TUTTI")
standin=$build/standin
[ -d "$standin" ] || skip_all "the stand-in is not built"
small_run >run.json
cp -r "$build/lib/tutti/cuda" code
chmod -R u=rwX,go=rX code
runs() { # runs <words of train...>: three batches on the stand-in; checkpoints are in saves
  rm -rf saves
  LD_LIBRARY_PATH="$standin" TUTTI_CUDA_STANDIN=leaks=1 "$TUTTI" train run.json --duration 3ba "$@"
}
# The program as it is installed: bin/tutti, with lib/ beside bin/.  What is beside it is found and judged.
mkdir -p p/bin p/lib/tutti/cuda
cp "$TUTTI" p/bin/ && ln -s "$build/lib/tutti/plugins" p/lib/tutti/plugins
installed() { TUTTI=p/bin/tutti runs "$@"; }
check "without a file the stand-in knows images by their names" installed --device cuda
check "with these weights" cp "$(latest .)" byname
cp code/emulated.code p/lib/tutti/cuda/
TUTTI_CUDA_TRACE=$PWD/beside check "with one beside the program it has them from there" installed --device cuda
check "all of it" test "$(grep -c "^load kernels/" beside)" -ge 5
check "to the same weights" python3 "$e2e/same_weights.py" byname "$(latest .)"
printf x | dd of=p/lib/tutti/cuda/emulated.code bs=1 conv=notrunc status=none
says "another build's beside the program" 2 "tutti: cuda:0: p/lib/tutti/cuda/emulated.code is of another build than \
this program: install the components runtime and cuda of one build" installed --device cuda
chmod o+w p/lib/tutti/cuda/emulated.code
says "one that more may write than the program" 2 "tutti: cuda:0: p/lib/tutti/cuda/emulated.code: the file is writable by \
everyone (mode 0646), want only by its owner" installed --device cuda
chmod o+w p/bin
says "which is right where they may write the program, too" 2 "tutti: cuda:0: p/lib/tutti/cuda/emulated.code is of another build than \
this program: install the components runtime and cuda of one build" installed --device cuda
export TUTTI_CUDA_CODE=$work/code
TUTTI_CUDA_TRACE=$PWD/trace check "a folder that is named comes first" runs --device cuda
check "to the same weights" python3 "$e2e/same_weights.py" byname "$(latest .)"
check "an image is loaded once" test -z "$(grep '^load kernels/' trace | sort | uniq -d)"
check "when its operation is used" grep -qx "load kernels/softmax_cross_entropy" trace
check "and only then" bash -c '! grep -q "^load kernels/ctc" trace'

# refused <what> <sentence>: the run does not begin, wherever it is told to.
refused() {
  says "$1" 2 "tutti: cuda:0: $2" runs --device cuda
  says "$1, which auto does not pass over" 2 "tutti: cuda:0: $2; \"device\": \"cpu\" does without the GPU" runs
}
mv code/emulated.code kept
refused "a file that is not there" "TUTTI_CUDA_CODE: code/emulated.code: No such file or directory"
cp kept code/emulated.code && chmod 646 code/emulated.code
refused "one that everyone may write" \
  "TUTTI_CUDA_CODE: code/emulated.code: the file is writable by everyone (mode 0646), want only by its owner"
chmod 644 code/emulated.code && chmod o+w code
refused "one in a folder that everyone may write" \
  "TUTTI_CUDA_CODE: code: the folder is writable by everyone (mode 0757), want only by its owner"
chmod 755 code && rm code/emulated.code && ln -s ../kept code/emulated.code
refused "a link" "TUTTI_CUDA_CODE: code/emulated.code: a symbolic link, want a regular file"
rm code/emulated.code

# broken <byte> <text>: the file with other bytes there.
broken() {
  rm -f code/emulated.code
  cp kept code/emulated.code && printf '%s' "$2" | dd of=code/emulated.code bs=1 seek="$1" conv=notrunc status=none
}
other="code/emulated.code is of another build than this program: install the components runtime and cuda of one build"
broken 16 "kernels/oops"
refused "another build's, by what it lists" "$other"
broken 0 "x"
refused "no file of device code" "$other"
head -c 100 kept >code/emulated.code
refused "one that ends too early" "$other"
: >code/emulated.code
refused "an empty one" "$other"
# Of an image that the run wants: its bytes, behind the entries, of which two begin so.
image=$(grep -abo "host/device" kept | sed -n 3p | cut -d: -f1)
broken "$image" "Host"
refused "a damaged image" "code/emulated.code: host/device is damaged in it: install the component cuda again"
head -c "$((image + 3))" kept >code/emulated.code
refused "one whose images are not all there" "code/emulated.code: host/device is damaged in it: install the component cuda again"
cp kept code/emulated.code
check "and the right one serves" runs --device cuda
export TUTTI_CUDA_STANDIN=capability=30
rm -rf saves
LD_LIBRARY_PATH="$standin" check "a GPU that is too old is passed over" "$TUTTI" train run.json --duration 1ba
check "with a warning" grep -qF "device: the run takes the CPU: cuda:0: Stand-in GPU has compute capability 3.0, want 8.0 or newer" check.out
# passed <what> <the stand-in's settings> <why>: auto takes the CPU and says so, to the terminal and to loggers.
passed() {
  rm -rf saves runs
  says "$1 is passed over with a warning" 0 "tutti: device: the run takes the CPU: $3" env LD_LIBRARY_PATH="$standin" \
    TUTTI_CUDA_STANDIN="$2" "$TUTTI" train run.json --quiet --duration 1ba --set 'loggers=[{"name": "jsonl"}]'
  check "which the log has" sh -c "head -20 runs/small/log.jsonl | grep -qF '$3'"
  says "as plan says" 0 "tutti: device: the run takes the CPU: $3" env LD_LIBRARY_PATH="$standin" TUTTI_CUDA_STANDIN="$2" \
    "$TUTTI" plan run.json
}
passed "a GPU without memory" memory=100 "cuda:0: 256 B are wanted, 100 B of 100 B are free"
passed "a GPU with a driver that is too old" driver=11040 \
  "cuda: the NVIDIA driver is made for CUDA 11.4, too old for the runtime of CUDA 13.0"
TUTTI_CUDART=/nowhere/libcudart.so passed "a runtime that is named and not there" devices=1 \
  "cuda: TUTTI_CUDART: /nowhere/libcudart.so: cannot open shared object file: No such file or directory"
for none in driver=0 devices=0; do
  rm -rf saves
  says "where there is no GPU ($none) there is nothing to say" 0 "" env LD_LIBRARY_PATH="$standin" \
    TUTTI_CUDA_STANDIN=$none "$TUTTI" train run.json --quiet --duration 1ba
done
rm -rf saves
check "the CPU wants none" env TUTTI_CUDA_CODE=/nowhere "$TUTTI" train run.json --duration 1ba --device cpu
finish
