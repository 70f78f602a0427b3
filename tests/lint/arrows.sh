#!/usr/bin/env bash
# arrows.sh - the arrows between folders: sdk <- kernels, sdk <- plugins, sdk <- host <- host/cli; third
# parties behind one file each; nothing below host/cli prints or exits; sentences that have one wording are in one file.
set -uo pipefail
. "$(dirname "$0")/files.sh"
bad=0
# refuse <what> <grep arguments...>: every match is a fault.
refuse() {
  local what=$1
  shift
  local found
  found=$(grep_files -n "$@" 2>/dev/null) || return 0
  printf '%s:\n%s\n' "$what" "$found"
  bad=1
}
host='base|signature|plugin|engine|graph|device|dist|export|loop|train|run|check|embed|report|cli'
# later FOLDER NAMES: what a folder of the host may neither include nor link.
later() {
  refuse "host/$1 includes a later folder" "#include \"($2)/" -- "host/$1"
  refuse "host/$1 links a later folder" "tutti_($2)\b" -- "host/$1/CMakeLists.txt" \
    "host/$1/*/CMakeLists.txt"
}
refuse "the SDK includes something of another folder" "#include \"($host|common)/" -- \
  'sdk/include/*.h'
refuse "a plugin includes the host or the kernels" "#include \"($host|kernels|common)/" -- \
  'plugins/*.c' 'plugins/*.h' 'plugins/*.cu' 'plugins/*.cuh' ':!*_test.c'
refuse "a kernel includes the host" "#include \"($host)/" -- 'kernels/*.c' 'kernels/*.h' \
  'kernels/*.cu' 'kernels/*.cuh' ':!*_test.c' ':!*_test.h'
# conformance/ is a test alone
refuse "a kernel or a plugin links the host" "tutti_($host)\b" -- 'kernels/*CMakeLists.txt' \
  'plugins/*CMakeLists.txt' ':!plugins/schedulers/conformance/*'
refuse "the host includes the kernels outside cli/main.c and embed" '#include "op_table.h"' -- \
  'host/*.c' 'host/*.h' 'host/*.cu' ':!host/cli/main.c' ':!host/embed/net.c' ':!host/embed/trainer.c'
refuse "the host includes headers of the kernels" "#include \"(kernels|$(cd kernels && printf '%s\n' */ | tr -d / | paste -sd'|'))/" -- \
  'host/*.c' 'host/*.h' 'host/*.cu' 'host/*.cuh'
refuse "the host links the kernels outside cli and embed" "tutti_kernels\b" -- 'host/*CMakeLists.txt' \
  ':!host/cli/CMakeLists.txt' ':!host/embed/CMakeLists.txt'
later base 'signature|plugin|engine|graph|device|dist|export|loop|train|run|check|embed|report|cli'
later signature 'plugin|engine|graph|device|dist|export|loop|train|run|check|embed|report|cli'
later plugin 'engine|graph|device|dist|export|loop|train|run|check|embed|report|cli'
later engine 'graph|device|dist|export|loop|train|run|check|embed|report|cli'
later graph 'engine|device|dist|export|loop|train|run|check|embed|report|cli'
later device 'engine|dist|export|loop|train|run|check|embed|report|cli'
later dist 'engine|graph|device|export|loop|train|run|check|embed|report|cli'
later export 'engine|dist|loop|train|run|check|embed|report|cli'
later loop 'graph|dist|export|train|run|check|embed|report|cli'
later train 'loop|run|check|embed|report|cli'
later run 'graph|device|dist|export|check|embed|report|cli'
later check 'graph|device|dist|export|loop|run|embed|report|cli'
later embed 'dist|run|check|report|cli'
later report 'signature|plugin|engine|graph|device|dist|export|loop|train|run|check|embed|cli'
# parts FOLDER PART...: the libraries of a folder, each of which may include and link those before it.
parts() {
  local folder=$1 part
  shift
  while [ $# -gt 1 ]; do
    part=$1
    shift
    refuse "host/$folder/$part includes a later part" "#include \"$folder/($(tr ' ' '|' <<<"$*"))/" -- \
      "host/$folder/$part"
    refuse "host/$folder/$part links a later part" "tutti_${folder}_($(tr ' ' '|' <<<"$*"))\b" -- \
      "host/$folder/$part/CMakeLists.txt"
  done
}
parts plugin crash elf trust call
parts engine handlers profile
refuse "a part of host/plugin includes what uses it" '#include "plugin/[a-z_]*\.h"' -- 'host/plugin/*/*.[ch]'
refuse "a part of host/engine includes what uses it" '#include "engine/[a-z_]*\.h"' -- 'host/engine/*/*.[ch]'
parts graph ir passes runtime program net surgery plan
parts train checkpoint_file fetch run_file context pretrained publish data ranks update step checkpoint record generate trainer
# name of the header, the files that may include it
while read -r header owners; do
  # shellcheck disable=SC2086
  refuse "<$header> is included outside $owners" "#include <$header" -- 'host' \
    $(printf ':!%s ' $owners)
done <<'TABLE'
jansson.h host/base/json.c
sodium.h host/signature/key.c host/signature/signature.c host/signature/text.c
microhttpd.h host/report/serve.c
ffi.h host/plugin/call/call.c
dlfcn.h host/plugin/image.c host/device/cuda/library.c host/embed/library.c
TABLE
refuse "<dnnl.h> is included outside kernels/common" '#include [<"](oneapi/|dnnl)' -- 'kernels' \
  ':!kernels/common/*' ':!*.md' ':!*.txt'
refuse "<curl/curl.h> is included outside plugins/loggers/common/http.c and plugins/common/remote" '#include <curl/' -- \
  'plugins' 'host' 'kernels' ':!plugins/loggers/common/http.c' \
  ':!plugins/common/remote/*'
refuse "the SDK includes <stdio.h>, whose names collide with those of plugins" '#include <stdio' -- 'sdk/include' 'sdk/internal'
refuse "<yaml.h> is included outside plugins/loggers/mlflow/store_meta.c" '#include <yaml' -- '*.c' '*.h' \
  ':!plugins/loggers/mlflow/store_meta.c'
refuse "a library of plugins/common includes or links another folder" "#include \"($host|kernels|common|plugins)/|tutti_($host|kernels)\b" -- \
  'plugins/common/tokenizer' 'plugins/common/remote' ':!*_test.c'
refuse "PCRE2 or utf8proc is included outside plugins/common/tokenizer" \
  '#include <(pcre2|utf8proc)' -- '*.c' '*.h' ':!plugins/common/tokenizer/*'
refuse "a library prints or exits" \
  '(^|[^a-z_.>"])(printf|puts|exit|abort|perror)\(|fprintf\((stderr|stdout)' -- \
  'host/*.c' 'kernels/*.c' 'plugins/*.c' '*.cu' '*.cuh' ':!host/cli/*' ':!host/examples/*' ':!*_test.c' ':!tests/*'
refuse "\"did you mean\" is written outside host/base/nearest.c, want suggest_word" 'did you mean' -- \
  'host/*.c' 'host/*.h' ':!host/base/nearest.c' ':!host/base/nearest.h'
refuse "\"unknown key\" is written outside host/base/json_members.c, want json_members_known" '"unknown key' -- \
  'host/*.c' 'host/*.h' ':!host/base/json_members.c'
exit $bad
