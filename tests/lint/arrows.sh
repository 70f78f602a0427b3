#!/usr/bin/env bash
# arrows.sh - the arrows between folders: sdk <- kernels, sdk <- plugins, sdk <- host <- host/cli; third
# parties behind one file each; nothing below host/cli prints or exits.
set -uo pipefail
bad=0
# refuse <what> <grep arguments...>: every match is a fault.
refuse() {
  local what=$1
  shift
  local found
  found=$(git grep -nE "$@" 2>/dev/null) || return 0
  printf '%s:\n%s\n' "$what" "$found"
  bad=1
}
refuse "the SDK includes something of another folder" \
  '#include "(base|plugin|engine|graph|train|cli|device|loop|common)/' -- 'sdk/include/*.h'
refuse "a plugin includes the host or the kernels" \
  '#include "(base|plugin|engine|graph|train|cli|device|loop|kernels|common)/' -- \
  'plugins/*/*/plugin.c' 'plugins/*/*/*.h' 'plugins/*.c' ':!*_test.c'
refuse "a kernel includes the host" \
  '#include "(base|plugin|engine|graph|train|cli|device|loop)/' -- 'kernels/*.c' 'kernels/*.h' \
  ':!*_test.c' ':!*_test.h'
refuse "the host includes the kernels outside cli/main.c" '#include "op_table.h"' -- \
  'host/*.c' 'host/*.h' ':!host/cli/main.c'
refuse "host/base includes a later folder" '#include "(plugin|engine|graph|train|cli)/' -- 'host/base'
refuse "host/plugin includes a later folder" '#include "(engine|graph|train|cli)/' -- 'host/plugin'
refuse "host/engine includes a later folder" '#include "(graph|train|cli)/' -- 'host/engine'
refuse "host/graph includes a later folder" '#include "(engine|device|train|cli)/' -- 'host/graph'
refuse "host/device includes a later folder" '#include "(engine|loop|train|cli)/' -- 'host/device'
refuse "host/loop includes a later folder" '#include "(graph|train|cli)/' -- 'host/loop'
refuse "host/train includes the command line" '#include "cli/' -- 'host/train'
# name of the header, the files that may include it
while read -r header owners; do
  # shellcheck disable=SC2086
  refuse "<$header> is included outside $owners" "#include <$header" -- 'host' \
    $(printf ':!%s ' $owners)
done <<'TABLE'
jansson.h host/base/json.c
ffi.h host/plugin/call.c
dlfcn.h host/plugin/module.c host/device/cuda/library.c
TABLE
refuse "<dnnl.h> is included outside kernels/common" '#include [<"](oneapi/|dnnl)' -- 'kernels' \
  ':!kernels/common/*' ':!*.md' ':!*.txt'
refuse "a library prints or exits" \
  '(^|[^a-z_.>"])(printf|puts|exit|abort|perror)\(|fprintf\((stderr|stdout)' -- \
  'host/*.c' 'kernels/*.c' 'plugins/*.c' ':!host/cli/*' ':!*_test.c'
exit $bad
