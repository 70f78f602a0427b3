#!/usr/bin/env bash
# walk_report_test.sh - docs/walks/report.sh does what it says.
. "$(dirname "$0")/lib.sh"
library=/usr/share/javascript/chart.js/chart.min.js
[ -e "$library" ] || echo 'var Chart = function () {};' >stand_in.js
[ -e "$library" ] || export TUTTI_CHART_JS=$work/stand_in.js
export TUTTI_TUNE=1 # other tests run beside this one
export XDG_CACHE_HOME=$work/cache
bash "$SOURCE/docs/walks/report.sh" walk >out.txt 2>&1
check "the walk goes to its end" grep -q '^report.html: 2 runs, ' out.txt
check "the repeated run has the same losses" grep -q '^the repeated run has the same losses$' out.txt
check "the setting that differs is told" grep -Eq '^algorithms.label_smoothing.smoothing +- +0.1 *$' out.txt
cd walk || exit 1
check "the page is whole" python3 "$e2e/report_page.py" report.html runs/plain runs/smoothed
[ "$failures" -eq 0 ] || cat ../out.txt
finish
