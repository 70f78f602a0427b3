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
    """A folder of plugins with mpi, of that MPI."""
    source, where = os.path.join(ROOT, "plugins/comm/mpi"), os.path.join(folder, "mpi")
    os.makedirs(where)
    shutil.copy(os.path.join(source, "plugin.json"), where)
    subprocess.run([COMPILER, "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-I", os.path.join(ROOT, "sdk/include"),
                    *(os.path.join(source, name) for name in ("plugin.c", "missing.c")), "-o", os.path.join(where, "mpi.so")], check=True)
    return folder


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
