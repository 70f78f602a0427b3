"""page_test.py - the commands that docs/distributed.md shows start what it says: page_test.py TUTTI [NAME]..."""
# SPDX-License-Identifier: Apache-2.0
import os
import shutil
import subprocess
import sys

from mpi_test import ENV
from ranks import World, changed, difference, main, write
from guide import blocks  # after ranks, which says where it lies

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, "../../docs/distributed.md")
# Commands that other tests take from the page, or write as it has them, by how they begin.
ELSEWHERE = {"cmake --preset release -DMPI_C_COMPILER=": "mpich_test.py", "mpiexec.mpich ": "mpich_test.py",
             "tutti plan ": "../e2e/plan_test.sh"}
RANKS = {"mpirun -n 4 tutti train run.json": "mpi", "mpirun -n 4 tutti run engine.json": "mpi",
         "TUTTI_RANK=0 TUTTI_WORLD_SIZE=2 tutti train run.json & TUTTI_RANK=1 TUTTI_WORLD_SIZE=2 tutti train run.json": "shared_memory"}


def commands():
    """Those of its blocks, but for the script of a job, which slurm_test.py has."""
    with open(PAGE, encoding="utf-8") as page:
        shown = [content for language, content, *_ in blocks(page.read()) if language in ("", "sh") and "#SBATCH" not in content]
    return [line.partition("  #")[0].strip() for content in shown for line in content.splitlines()]


def known(_tutti, _folder, report):
    """Each is run here or by another test."""
    for line in commands():
        others = [name for begin, name in ELSEWHERE.items() if line.startswith(begin)]
        report.check(f"{line}: a test runs it", line in RANKS or (others and os.path.exists(os.path.join(HERE, others[0]))), "none")
    for line in RANKS:
        report.check(f"{line}: the page has it", line in commands(), f"{commands()}")


def starts(tutti, folder, report):
    """The processes of a command are one world, which gives the bits of one process."""
    path = os.path.dirname(os.path.abspath(tutti)) + ":" + os.environ["PATH"]
    plugins = subprocess.run([tutti, "plugins", "list"], capture_output=True, text=True, check=False).stdout
    mpi = shutil.which("mpirun") and "org.tutti.mpi" in plugins
    engine = {"process": "supervised", "max_epochs": 1}
    for number, (line, comm) in enumerate(RANKS.items()):
        if comm == "mpi" and not mpi:
            report.skip(f"{line}: there is no mpirun, or no plugin mpi (Debian's packages openmpi-bin, libopenmpi-dev)")
            continue
        alone, where = (os.path.join(folder, f"{what}{number}") for what in ("alone", "ranks"))
        run = changed(distributed={"comm": comm, "join_timeout_s": 60, "timeout_s": 60}, **(engine if "engine" in line else {}))
        if "engine" in line:
            del run["max_duration"], run["eval"][0]["interval"]
        for place in (alone, where):
            write(place, run)
            shutil.copy(os.path.join(place, "run.json"), os.path.join(place, "engine.json"))
        World(tutti, alone, 1, ["--set", "distributed.comm=shared_memory"], command="run" if "engine" in line else "train").end()
        # A session of its own, by which the processes of the last line find each other.
        done = subprocess.run(["bash", "-c", f"{line}; status=$?; wait; exit $status"], cwd=where, env={**ENV, "PATH": path},
                              start_new_session=True, capture_output=True, text=True, timeout=200, check=False)
        text = f"{done.returncode} {done.stderr}" if done.returncode else difference(alone, where)
        report.check(f"{line}: the bits of one", not text, text)
        report.check("one of them speaks", done.stdout.count("cnn, 24058 parameters") == 1, done.stdout)


if __name__ == "__main__":
    sys.exit(main([known, starts]))
