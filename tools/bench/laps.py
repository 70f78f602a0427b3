"""A recipe's whole run, in which images or texts grow: what the change of plans costs."""
import statistics
import subprocess


def whole_run(command, epochs):
    """[(side of the images or length of the texts, seconds)] of every step."""
    said = subprocess.run(command + ["--set", f"max_duration={epochs}ep"], text=True,
                          capture_output=True, check=False, timeout=600)
    laps = [line.split()[1:] for line in said.stdout.splitlines() if line.startswith("lap ")]
    if said.returncode or not laps:
        raise ValueError(f"the whole run failed: {(said.stderr.strip().splitlines() or ['?'])[-1]}")
    return [(side, int(ns) * 1e-9) for side, ns in laps]


def first_steps(steps):
    """Seconds that the first steps with a size took beyond the median step with it."""
    usual = {side: statistics.median(s for other, s in steps if other == side)
             for side in {side for side, _ in steps}}
    extra, seen = 0.0, set()
    for side, seconds in steps:
        if side not in seen:
            extra += max(0.0, seconds - usual[side])
        seen.add(side)
    return extra


def recipe(command, row, dtype, epochs):
    """A sentence on the run of the row's file as it stands, `epochs` long.

    A run of 8 epochs before it meets every size and leaves the choice of kernels on disk."""
    measuring = first_steps(whole_run(command, 8))
    steps = whole_run(command, epochs)
    extra, total = first_steps(steps), sum(s for _, s in steps)
    sizes = len({side for side, _ in steps})
    return (f"{row} {dtype}, a whole run of {len(steps)} steps over {sizes} sizes in "
            f"{total:.1f} s: the first step with each size took {1e3 * extra:.0f} ms longer, all "
            f"together, than others with it, {100 * extra / total:.2f} % of the run. Measuring the "
            f"kernels' algorithms, once for a machine, had taken {1e3 * measuring:.0f} ms.")
