"""copies_test.py - a run without "distributed" that a real launcher has started several times: copies_test.py TUTTI [NAME]..."""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import shutil
import subprocess
import sys

from ranks import changed, main, write

ENV = {**os.environ, "TUTTI_TUNE": "0", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
       "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def copies(tutti, folder, report, program, library):
    """`mpirun -n 2 tutti train run.json` and its like end with 2 and a sentence, and nothing is written; -n 1 trains."""
    run = changed(max_duration="1ba", eval=[])
    del run["distributed"]
    engine = {**run, "process": "supervised", "max_epochs": 1}
    del engine["max_duration"]
    for command, members in (("train", run), ("run", engine)):
        where = os.path.join(folder, command)
        write(where, members)
        done = subprocess.run([program, "-n", "2", tutti, command, "run.json"], cwd=where, env=ENV, capture_output=True, text=True,
                              timeout=120, check=False)
        said = re.findall(rf"^tutti: {library}'s mpirun has started 2 processes, each of which would train the whole run and write the "
                          'same files; start one, or give the run file a "distributed" object$', done.stderr, re.M)
        report.check(f"{program} -n 2 tutti {command}: refused with a sentence", done.returncode == 2 and 1 <= len(said) <= 2,
                     f"{done.returncode} {done.stdout} {done.stderr}")
        report.check("before anything is written", os.listdir(where) == ["run.json"], f"{os.listdir(where)}")
        done = subprocess.run([program, "-n", "1", tutti, command, "run.json"], cwd=where, env=ENV, capture_output=True, text=True,
                              timeout=120, check=False)
        report.check(f"{program} -n 1 tutti {command}: trains", done.returncode == 0, f"{done.returncode} {done.stderr}")


def open_mpi(tutti, folder, report):
    """By the mpirun of Open MPI."""
    copies(tutti, folder, report, "mpirun", "Open MPI")


if __name__ == "__main__":
    said = subprocess.run(["mpirun", "--version"], capture_output=True, text=True, check=False).stdout if shutil.which("mpirun") else ""
    if "Open MPI" not in said:
        print("skipped: there is no mpirun of Open MPI here (Debian's package openmpi-bin)")
        sys.exit(77)
    sys.exit(main([open_mpi]))
