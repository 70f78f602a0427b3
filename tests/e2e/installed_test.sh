#!/usr/bin/env bash
# installed_test.sh - what is installed works from where it lies: the program finds its plugins, strangers build
# plugins from the SDK alone and train with them, and a program of their own embeds the host.
. "$(dirname "$0")/lib.sh"
build=$(dirname "$TUTTI")
for tool in cmake ninja pkg-config; do
  command -v $tool >/dev/null || { echo "skipped: no $tool"; exit 77; }
done
[ -z "$SANITIZE" ] || skip_all "built with -fsanitize=$SANITIZE, whose runtime is the program's, not its library's"
export TUTTI_PLUGIN_PATH= TUTTI_ADD_PLUGIN_PATH= XDG_DATA_HOME=$work/none
unset CMAKE_C_COMPILER_LAUNCHER CMAKE_CXX_COMPILER_LAUNCHER
umask 002

for component in runtime sdk; do
  check "the component $component" cmake --install "$build" --prefix "$work/p" --component $component
done
tutti=$work/p/bin/tutti
# Device code lies beside it, plugins too: what is left is the host and CPU kernels for each instruction set.
small() { strip -o "$work/stripped" "$tutti" && [ "$(stat -c %s "$work/stripped")" -lt 9000000 ]; }
if grep -qx 'CMAKE_BUILD_TYPE:STRING=Release' "$build/CMakeCache.txt" && command -v strip >/dev/null; then
  check "the program without its symbols has less than 9 MB" small
fi
check "its modes are its own" test -z "$(find p -mindepth 1 -perm /022 ! -type l)"
check "a staging folder" env DESTDIR="$work/d" cmake --install "$build" --prefix /usr --component sdk
check "has it all" test -f d/usr/include/tutti/tutti.h
check "without the runtime" test ! -e d/usr/bin
check "without the pages that folders of the tree have" \
  test -z "$(find p/include p/share/tutti/report p/share/tutti/schema -name README.md)"

# train <arguments>: two batches.
train() { rm -rf saves && "$tutti" train "$@" --set max_duration=2ba; }
small_run >run.json
check "the installed program trains" train run.json
check "with its own plugins" bash -c "'$tutti' plugins path | grep -qE '^$work/p/lib/tutti/plugins: [0-9]{2,} plugins$'"
check "it tells what else it looks at" bash -c "'$tutti' plugins path | grep -qx '$work/none/tutti/plugins: not there'"
check "man pages come with it" gzip -t p/share/man/man1/tutti-train.1.gz p/share/man/man5/tutti-run.5.gz
check "and completion" test -f p/share/bash-completion/completions/tutti -a -f p/share/zsh/site-functions/_tutti
check "and recipes come with it" "$tutti" validate glyphs_cnn

# ---- a plugin by CMake, one of its sources in C++, whose weak symbols the host would refuse ----
cp -r p/share/tutti/template mine
cat >mine/extra.cpp <<'CPP'
#include <vector>
extern "C" int extra(int n);
int extra(int n)
{
    std::vector<int> v;
    for (int k = 0; k < n; k++)
        v.push_back(k);
    return (int)v.size();
}
CPP
cat >mine/CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.22)
project(mine C CXX)
find_package(Tutti 0.1 REQUIRED)
tutti_add_plugin(input_noise SOURCES plugin.c extra.cpp)
CMAKE
small_run '"algorithms": [{"name": "input_noise", "sigma": 0.2}]' >noisy.json
check "a stranger's project is configured" cmake -S mine -B mine/build -G Ninja -DCMAKE_PREFIX_PATH="$work/p"
check "and built" cmake --build mine/build
check "its plugin trains" train noisy.json --plugin-path mine/build/plugins
check "which is not so without it" bash -c "! '$tutti' validate noisy.json 2>/dev/null"
check "it is installed" cmake --install mine/build --prefix "$work/p"
check "and found" train noisy.json

# ---- sources compiled once per instruction set, in a plugin and in a program ----
cat >mine/level.h <<'C'
#include "tutti/isa.h"
int mine_level(void);
TUTTI_ISA_VARIANTS(mine_level);
C
cat >mine/level.c <<'C'
#include "level.h"
#ifndef TUTTI_ISA_LEVEL
#define TUTTI_ISA_LEVEL TUTTI_ISA_base
#endif
int mine_level(void) { return TUTTI_ISA_LEVEL; }
C
cat >mine/main.c <<'C'
#include "level.h"
#include <stdio.h>
int main(void) { return puts(tutti_isa_name(TUTTI_ISA_PICK(mine_level)())) < 0; }
C
cat >>mine/CMakeLists.txt <<'CMAKE'
tutti_isa_sources(input_noise SOURCES level.c DISPATCH mine_level)
add_executable(level main.c)
target_link_libraries(level PRIVATE Tutti::sdk)
target_compile_definitions(level PRIVATE TUTTI_USE_MINOR=2)
tutti_isa_sources(level SOURCES level.c DISPATCH mine_level LEVELS ${TUTTI_ISA_LEVELS})
CMAKE
check "its loops are compiled once per instruction set" cmake --build mine/build
check "in the plugin" train noisy.json --plugin-path mine/build/plugins
# shellcheck disable=SC2016 # the inner shell's
check "the best one runs" bash -c '[ "$(mine/build/level)" = "$("$1" version | sed -n "s/^instruction set: \([^;]*\);.*/\1/p")" ]' _ "$tutti"
check "or a lower one" bash -c '[ "$(TUTTI_ISA=base mine/build/level)" = base ]'
if [ "$(uname -m)" = x86_64 ]; then
  for level in v3 v4; do
    check "the plugin has $level" bash -c "nm mine/build/plugins/input_noise/input_noise.so | grep -q ' mine_level_$level\$'"
  done
fi

# ---- the same by pkg-config ----
export PKG_CONFIG_PATH=$work/p/share/pkgconfig
mkdir -p own/input_noise && cp p/share/tutti/template/plugin.json own/input_noise/
# shellcheck disable=SC2046 # flags are words
check "a plugin by pkg-config" cc -std=c11 -O2 -shared -fPIC -fvisibility=hidden $(pkg-config --cflags tutti-sdk) \
  p/share/tutti/template/plugin.c -o own/input_noise/input_noise.so -lm
rm -r p/lib/tutti/plugins/input_noise
chmod -R g-w own
check "trains" train noisy.json --plugin-path own

# ---- a program that embeds the host ----
python3 "$e2e/guide.py" shown "$SOURCE/docs/embedding.md" fit.c >fit.c
library=$(dirname "$(find p -name libtutti.so)")
check "a program of one's own" cc -std=c11 fit.c -Ip/include -L"$library" -ltutti -lm -o fit
check "learns" bash -c "LD_LIBRARY_PATH='$library' ./fit | grep -q '^epoch .*: w 2\.0'"
circle=p/share/tutti/examples/circle
check "an example trains a model of a plugin, by CMake" cmake -S $circle -B circle -G Ninja -DCMAKE_PREFIX_PATH="$work/p"
check "it is built" cmake --build circle
# learns <program>: to a loss far below that of a guess, 0.69; the runtime's plugins lie beside the library.
learns() {
  rm -f circle.safetensors
  LD_LIBRARY_PATH="$library" OMP_NUM_THREADS=1 "$1" >learnt.txt && grep -qE '^loss 0\.[012]' learnt.txt
}
check "it learns" learns circle/circle
says "what it saves a run reads, by the names of its weights" 1 \
  "tutti: circle.safetensors: body.head.bias is F32 (2), the model's is F32 (10); 3 of this run's 6 weights do not fit, \"load_strict\": false takes the others" "$tutti" train run.json \
  --set 'model={"name": "mlp", "hidden": [32, 32]}' --set load_weights=circle.safetensors
# shellcheck disable=SC2046 # flags are words
check "the same by pkg-config" cc -std=c11 -O2 $circle/circle.c $(pkg-config --cflags --libs tutti) -o circle/own
check "learns too" learns circle/own
code() { grep -vcE '^([{}]|#include .*|/[*] .*)?$' "$1"; }
check "it is short" test "$(code $circle/circle.c)" -le 40
check "the library has the functions of its headers alone" test -z \
  "$(nm -D --defined-only "$library/libtutti.so" | awk '{print $3}' | grep -v '^tutti_')"
finish
