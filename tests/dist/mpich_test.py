"""mpich_test.py - the plugin mpi built against MPICH, and shared_memory, under its mpiexec: mpich_test.py TUTTI FAULTS [NAME]..."""
# SPDX-License-Identifier: Apache-2.0
import os
import shutil
import subprocess
import sys
import tempfile

from copies_test import copies
from mpi_test import Launcher, cannot_begin, ends, hangs, hangs_early, same_bits
from ranks import changed, main, write

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
COMPILER, MPIEXEC = "mpicc.mpich", "mpiexec.mpich"  # Debian's names: its plain mpicc may be Open MPI's
LAUNCHER = Launcher(MPIEXEC)


def build(folder):
    """A folder of plugins with mpi alone, of that MPI: by the command of docs/distributed.md, in a build folder of its own."""
    with open(os.path.join(ROOT, "docs/distributed.md"), encoding="utf-8") as page:
        command = f"cmake --preset release -DMPI_C_COMPILER={COMPILER}"
        if f"{command} && tools/build release\n" not in page.read():
            raise SystemExit(f"docs/distributed.md does not build with {COMPILER} by {command}")
    binary, where = os.path.join(folder, "build"), os.path.join(folder, "plugins")
    for words in ([*command.split(), "-B", binary], ["cmake", "--build", binary, "--target", "plugin_mpi"]):
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{' '.join(words)}: {done.stdout}{done.stderr}")
    shutil.copytree(os.path.join(binary, "lib/tutti/plugins/mpi"), os.path.join(where, "mpi"))
    return where


def bits(tutti, folder, report):
    """Two and three ranks, by either plugin."""
    same_bits(tutti, folder, report, LAUNCHER, [2, 3])


def hang(tutti, folder, report):
    """A rank that stands still."""
    hangs(tutti, folder, report, LAUNCHER)


def end(tutti, folder, report):
    """Signals at mpiexec, and ranks that die."""
    ends(tutti, folder, report, LAUNCHER)


def early(tutti, folder, report):
    """One that does not come to its first operation."""
    hangs_early(tutti, folder, report, LAUNCHER, FAULTS)


def begin(tutti, folder, report):
    """A rank that cannot read its run file."""
    cannot_begin(tutti, folder, report, LAUNCHER)


def plain(tutti, folder, report):
    """A run without "distributed"."""
    copies(tutti, folder, report, MPIEXEC, "MPICH")


def another(tutti, folder, report):
    """The plugin of the build, where that is of another MPI."""
    known = subprocess.run([tutti, "plugins", "list"], capture_output=True, text=True, check=False).stdout
    library = os.path.join(os.path.dirname(os.path.realpath(tutti)), "lib/tutti/plugins/mpi/mpi.so")
    needs = subprocess.run(["ldd", library], capture_output=True, text=True, check=False).stdout
    if "org.tutti.mpi" not in known or "libmpi.so" not in needs:
        report.skip("a plugin of another MPI: the build has none of Open MPI (Debian's package libopenmpi-dev)")
        return
    write(folder, changed(distributed={"comm": "mpi"}))
    _, err = Launcher(MPIEXEC).start(tutti, folder, 2).communicate(timeout=120)
    report.check("a plugin of another MPI is refused", "this process is alone in its world, but MPICH's mpirun has started 2" in err, err)


if __name__ == "__main__":
    for program in (COMPILER, MPIEXEC):
        if not shutil.which(program):
            print(f"skipped: there is no {program} here (Debian's packages mpich and libmpich-dev)")
            sys.exit(77)
    FAULTS = sys.argv.pop(2)
    with tempfile.TemporaryDirectory() as plugins:
        LAUNCHER.options = ("--plugin-path", build(plugins))
        sys.exit(main([bits, hang, end, early, begin, plain, another]))
