"""report_many.py CHROMIUM FILE.html FOLDER RUNS - what a report of many long runs draws: a few points a pixel, whatever
the logs hold, and each chart once a frame, however often a control moves."""
# SPDX-License-Identifier: Apache-2.0
import atexit
import os
import sys

from chromium import Browser

program, page, folder, runs = sys.argv[1:]
browser = Browser(program, os.path.join(folder, "profile"))
atexit.register(browser.close)
browser.show("file://" + os.path.abspath(page), 1400, 900)
browser.wait("[...charts].some((c) => c.chart)")
# Counts draws of the charts in sight, and the points that each has afterwards for one of its pixels.
browser.ask("""window.drawn = 0;
for (const c of charts) { const draw = c.draw; c.draw = () => { window.drawn += c.visible; draw(); }; }
window.points = () => Math.max(...[...charts].filter((c) => c.chart).map((c) => c.chart.data.datasets.reduce((n, d) => n + d.data.length, 0) / c.canvas.clientWidth));
window.settled = async () => { for (let k = 0; k < 3; k++) await new Promise(requestAnimationFrame); };
window.move = async (times) => {
  await settled();
  drawn = 0;
  for (let k = 0; k < times; k++) { smooth_.value = 50 + k; smooth_.dispatchEvent(new Event("input")); }
  await settled();
  return drawn / [...charts].filter((c) => c.visible).length;
};
window.smooth_ = document.getElementById("smooth");""")
faults = 0


def hold(what, value, most):
    global faults
    faults += not 0 < value <= most
    print("ok:" if 0 < value <= most else "FAILED:", what, f"({value:.3g}, at most {most})")


plain = browser.ask("points() / %s" % runs)
hold("points a run and pixel", plain, 2.1)
hold("draws of a chart for nine moves within a frame", browser.ask("move(9)"), 1)
hold("points with smoothing", browser.ask("points() / %s" % runs), 1.75)
browser.ask("setZoom([40000, 41000])")
browser.ask("settled()")
hold("points of a part", browser.ask("points() / %s" % runs), 1.75)
sys.exit(1 if faults else 0)
