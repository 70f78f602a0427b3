"""fuzz_test.py - a campaign of one fuzzer that clang builds here: it begins with seeds and what was kept, and drops doubles."""
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TREE = HERE.parent.parent
sys.path.insert(0, str(TREE / "tests/fuzz"))
import seeds  # noqa: E402

SOURCES = ["tests/fuzz/tar_fuzz.c", "plugins/datasets/webdataset/tar.c"]


def build(program):
    """The fuzzer of tar archives, which links nothing else; ends the test where there is no libFuzzer."""
    clang = shutil.which("clang")
    done = clang and subprocess.run([clang, "-std=c11", "-D_GNU_SOURCE", "-O1", "-fsanitize=fuzzer", "-Isdk/include", "-Iplugins",
                                     *SOURCES, "-o", program], cwd=TREE, capture_output=True, text=True, check=False)
    if not done or (done.returncode and "fuzzer" in done.stderr):
        print(f"skipped: {'clang has no libFuzzer' if done else 'there is no clang'}")
        sys.exit(77)
    assert done.returncode == 0, done.stderr


def campaign(fuzzers, corpus, tally, number):
    """(inputs, edges in the end, edges at the start) of a second of it, and its line of the tally."""
    done = subprocess.run([sys.executable, HERE / "fuzz.py", fuzzers, "--target", "tar", "--seconds", "1", "--seed", str(number),
                           "--corpus", corpus, "--tally", tally], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    said = re.search(r"^tar: (\d+) inputs, cov: (\d+) edges, (\d+) at the start$", done.stdout, re.MULTILINE)
    assert said, done.stdout
    line = json.loads(tally.read_text().splitlines()[-1])
    assert (line["tar_inputs"], line["tar_coverage"]) == (int(said[1]), int(said[2])), line
    assert line["tar_corpus"] == len(list((corpus / "tar").iterdir())), line
    return [int(n) for n in said.groups()], line


def main():
    with tempfile.TemporaryDirectory(prefix="tutti_fuzz_test_") as top:
        top = pathlib.Path(top)
        fuzzers, corpus, tally = top / "fuzzers", top / "corpus", top / "tally.jsonl"
        (fuzzers / "tests/fuzz").mkdir(parents=True)
        program = fuzzers / "tests/fuzz/fuzz_tar"
        build(program)
        empty = subprocess.run([program, "-runs=0"], capture_output=True, text=True, check=False).stderr
        (_, reached, begun), _ = campaign(fuzzers, corpus, tally, 1)
        without = int(re.search(r"INITED cov: (\d+)", empty)[1])
        assert begun > without, f"{begun} edges at the start, {without} without seeds: it does not begin with them"

        # What another campaign has found: an archive that no seed is like, and a seed under another name.
        archive = bytearray(seeds.seed_files.archives()[0])
        archive[148] ^= 1  # of the checksum
        (corpus / "tar/torn").write_bytes(archive)
        (corpus / "tar/double").write_bytes(seeds.seed_files.archives()[0])
        (_, _, again), line = campaign(fuzzers, corpus, tally, 2)
        assert again >= reached, f"{again} edges at the start, of {reached} that were reached before: what was kept is lost"
        left = {path.read_bytes() for path in (corpus / "tar").iterdir()}
        assert not left & set(seeds.seed_files.archives()), f"a double of a seed is kept: {line}"
    print("the campaign begins with its seeds and goes on from what was kept")


main()
