#!/usr/bin/env bash
# site_test.sh - tools/docs/site makes every page without a dead link and without a warning of Doxygen.
. "$(dirname "$0")/lib.sh"
build=$(dirname "$TUTTI")
[ -d "$build/share/man" ] || skip_all "no man pages in $build"
python3 "$SOURCE/tools/docs/site" "$work/site" "$build" >site.out 2>&1
status=$?
[ $status != 77 ] || skip_all "$(sed 's/^skipped: //' site.out)"
check "it is made" bash -c "tail -5 site.out; exit $status"
for page in index docs/install docs/tutorial docs/plugin_kinds docs/recipes sdk/CONTRACT sdk/abi/README man/tutti.1 \
  man/tutti-train.1 man/tutti-run.5 man/tutti-plugin.5 catalogue/ops catalogue/layers catalogue/plugins reference/index \
  reference/structtutti__state__v1; do
  check "$page" test -s "site/$page.html"
done
check "a key of run files" grep -q 'id="scale_schedule_ratio"' site/man/tutti-run.5.html
check "every operation" test "$(grep -o '<code id=' site/catalogue/ops.html | wc -l)" = "$("$TUTTI" ops | wc -l)"
check "every layer" test "$(grep -o '<code id=' site/catalogue/layers.html | wc -l)" = "$("$TUTTI" layers | wc -l)"
for readme in "$SOURCE"/plugins/*/*/README.md; do
  folder=$(dirname "${readme#"$SOURCE"/}")
  check "the page of $folder" test -s "site/$folder/README.html"
done
check "comments of headers are in it" grep -q 'never NULL' site/reference/structtutti__event.html
check "code is as it is" grep -q 'tutti_plugin_v1(uint32_t host_abi)' site/docs/tutorial.html

# What it would say.
mkdir dead
echo '<a href="a.html#here">x</a> <a href="b.html">x</a> <a href="https://example.org/">x</a>' >dead/a.html
check "dead links are found" diff <(python3 -c "
import sys; sys.path.insert(0, '$SOURCE/tools/docs')
from site_links import dead_links
print('\n'.join(dead_links('dead')))") - <<'TXT'
a.html: links to a.html#here, which is not there
a.html: links to b.html, which is not there
TXT
mkdir mine && touch mine/file
says "a folder of somebody's is left alone" 1 "site: mine has files that this command has not made" \
  bash -c "cd '$work' && python3 '$SOURCE/tools/docs/site' mine '$build' 2>&1 | sed 's|$work/||' >&2; exit \${PIPESTATUS[0]}"
finish
