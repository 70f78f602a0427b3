#!/usr/bin/env bash
# new_plugins_test.sh - what `tutti plugins new` makes of every template of the installed SDK builds without a warning,
# passes its test and `tutti plugins check`, and trains where a run has a place for it.
. "$(dirname "$0")/lib.sh"
build=$(dirname "$TUTTI")
for tool in cmake ninja pkg-config; do
  command -v $tool >/dev/null || skip_all "no $tool"
done
pkg-config --exists check || skip_all "no Check (Debian's package check), which tests of plugins want"
nm "$TUTTI" 2>/dev/null | grep -qE '__asan_init|__tsan_init' && skip_all "a sanitizer build"
export TUTTI_PLUGIN_PATH= TUTTI_ADD_PLUGIN_PATH= XDG_DATA_HOME=$work/none
unset CMAKE_C_COMPILER_LAUNCHER CMAKE_CXX_COMPILER_LAUNCHER TUTTI_PLUGIN_PATH
umask 022
for component in runtime sdk emulator; do
  check "the component $component" cmake --install "$build" --prefix "$work/p" --component $component
done
tutti=$work/p/bin/tutti
templates=$work/p/share/tutti/templates
rustc=$(PATH=$PATH:$HOME/.cargo/bin command -v rustc)
"${rustc:-false}" --version >/dev/null 2>&1 || { # rustup's may be there without a compiler
  rustc=
  skip "no rustc that runs (Debian's package rustc): the template in Rust is not built"
}

# ---- one of each ----
cat >CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.22)
project(all C CXX)
enable_testing()
set(CMAKE_C_FLAGS "-Wall -Wextra -Wshadow -Werror")
set(CMAKE_CXX_FLAGS "-Wall -Wextra -Wshadow -Wold-style-cast -Werror")
CMAKE
names=()
for folder in "$templates"/*/*/; do
  kind=$(basename "$folder")
  lang=$(basename "$(dirname "$folder")")
  [ "$kind" = common ] && continue
  [ "$lang" = rust ] && [ -z "$rustc" ] && continue
  name=my_${lang}_$kind
  check "a plugin of kind $kind in $lang" "$tutti" plugins new "$name" --kind "$kind" --lang "$lang"
  echo "add_subdirectory($name)" >>CMakeLists.txt
  names+=("$name")
done
kinds=$(sed -nE 's/^#define TUTTI_KIND_[A-Z]+ "([a-z]+)".*/\1/p' "$work/p/include/tutti/tutti.h" | sort)
check "there are templates in C for every kind" test "$(ls "$templates/c" | grep -v common)" = "$kinds"
check "they are configured" cmake -S . -B build -G Ninja -DCMAKE_PREFIX_PATH="$work/p" -DCMAKE_BUILD_TYPE=Release
check "and built" cmake --build build
check "their tests and checks pass" ctest --test-dir build -j2 --output-on-failure
check "each is there" test "$(ls -d build/plugins/*/plugin.json | wc -l)" = ${#names[@]}

# ---- device code without a GPU ----
# device_check: what the check of the CUDA plugin says of its device code.
device_check() {
  cmake --build build >build.log 2>&1 && ctest --test-dir build -R '^my_cuda_algorithm_check$' --verbose | grep -E ' (passed|failed|not tried) +device '
}
check "its kernels are run" bash -c "$(declare -f device_check); device_check | grep -q passed"
sed -i 's/pulled(w\[k\], rate)/pulled(w[k], 2.0f * rate)/' my_cuda_algorithm/kernels.cu
check "and held to the CPU's results" bash -c "$(declare -f device_check); device_check |
  grep -qE 'failed +device +model\.[a-z0-9.]+ ends .* away from where it ends on the CPU'"
mv build/emulated/my_cuda_algorithm.so hidden.so
check "where there are none, nobody else's are taken" bash -c "
  LD_LIBRARY_PATH=$work/p/lib/tutti/standin TUTTI_CUDA_LIBRARIES=0 TUTTI_CUDA_EMULATED=$work/build/emulated \
    '$tutti' plugins check build/plugins/my_cuda_algorithm --device cuda |
  grep -q 'failed  *device .*kernel pull runs on the CPU: my_cuda_algorithm.fatbin has no device code for cuda'"
mv hidden.so build/emulated/my_cuda_algorithm.so
sed -i 's/2.0f \* rate/rate/' my_cuda_algorithm/kernels.cu
check "mended" bash -c "$(declare -f device_check); device_check | grep -q passed"

# ---- the C++ ones with clang too ----
if command -v clang++ >/dev/null; then
  for kind in algorithm metric; do
    check "$kind in C++ by clang" clang++ -std=c++17 -O2 -Wall -Wextra -Wshadow -Wold-style-cast -Werror -shared -fPIC \
      -fvisibility=hidden -Ip/include my_cpp_$kind/plugin.cpp -Wl,--version-script=p/share/tutti/tutti_plugin.map -o x.so
    check "it exports its entry alone" test "$(nm -D --defined-only x.so | awk '{print $3}')" = tutti_plugin_v1
  done
else
  skip "no clang++"
fi
mkdir -p plain/my_cpp_algorithm && cp my_cpp_algorithm/plugin.json plain/my_cpp_algorithm/
check "without the version script" c++ -std=c++17 -O2 -shared -fPIC -fvisibility=hidden -Ip/include \
  my_cpp_algorithm/plugin.cpp -o plain/my_cpp_algorithm/my_cpp_algorithm.so
check "the host says how" bash -c "'$tutti' plugins list --plugin-path plain 2>&1 | grep -q 'version script (tutti_plugin.map'"

# ---- a run with them ----
cat >members.json <<'JSON'
{
  "algorithms": [{"name": "my_c_algorithm"}, {"name": "my_cpp_algorithm"}, {"name": "my_cuda_algorithm"}],
  "callbacks": [{"name": "my_c_callback"}], "loggers": [{"name": "my_c_logger", "path": "out.csv"}],
  "schedulers": [{"name": "my_c_scheduler"}], "optimizer": {"name": "my_c_optimizer"}, "model": {"name": "my_c_model"}
}
JSON
small_run | python3 "$e2e/small_run.py" members.json >run.json
check "they train" "$tutti" train run.json --plugin-path build/plugins --set max_duration=4ba
check "and log" grep -q '^[0-9]*,my_c_callback/batches,4$' out.csv
if [ -n "$rustc" ]; then
  echo '{"algorithms": [{"name": "my_rust_algorithm"}]}' >members.json
  small_run | python3 "$e2e/small_run.py" members.json >run.json
  check "in Rust" "$tutti" train run.json --plugin-path build/plugins --set max_duration=4ba
fi

# ---- what there is not ----
says "a kind without a template" 2 "tutti: there is no template of kind device in rust; there are
  --lang c --kind algorithm callback comm dataset device layer logger loss metric model op optimizer pass scheduler transform
  --lang cpp --kind algorithm metric
  --lang rust --kind algorithm
  --lang cuda --kind algorithm" "$tutti" plugins new mine --kind device --lang rust
check "nothing was made" test ! -e mine
says "a bad name" 2 "tutti: My-Plugin is no name for a plugin; want small letters, digits and _, a letter first, at most 48" \
  "$tutti" plugins new My-Plugin
says "a folder that is there" 2 "tutti: my_c_metric: File exists" "$tutti" plugins new my_c_metric --kind metric
finish
