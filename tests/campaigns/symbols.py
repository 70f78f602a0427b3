"""symbols.py - which function of the program or of a plugin lies at an offset, by nm."""
# SPDX-License-Identifier: Apache-2.0
import bisect
import pathlib
import subprocess


class Symbols:
    """The functions of the files that are asked for."""

    def __init__(self, program, plugins):
        self.files = {path.name: path for path in pathlib.Path(plugins).glob("*/*.so")}
        self.files[pathlib.Path(program).name] = pathlib.Path(program)
        self.tables = {}  # of each file: where its functions begin, and their names

    def table(self, file):
        if file not in self.tables:
            rows = []
            if file in self.files:
                said = subprocess.run(["nm", "--defined-only", self.files[file]], capture_output=True, text=True, check=True)
                rows = sorted((int(row[0], 16), row[2]) for row in map(str.split, said.stdout.splitlines()) if row[1] in "tTwW")
            self.tables[file] = [at for at, _ in rows], [name for _, name in rows]
        return self.tables[file]

    def name(self, place):
        """The function at "FILE+OFFSET"; "" where it is not known."""
        file, _, offset = place.rpartition("+")
        starts, names = self.table(file)
        k = bisect.bisect_right(starts, int(offset, 16) - 1)  # a caller's address is behind its call
        return names[k - 1].partition(".")[0] if k else ""
