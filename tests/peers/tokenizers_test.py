"""tokenizers_test.py PROGRAM - the ids of a text of 1 MB in many scripts are those of the package `tokenizers`.

megabyte.json has, of each family, how many ids the package gives and what they hash to (tokenizers_peer.py)."""
# SPDX-License-Identifier: Apache-2.0
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile

import tokenizers_text

RECORDED = pathlib.Path(__file__).resolve().parents[2] / "plugins" / "common" / "tokenizer" / "recorded"
WANT = json.loads((RECORDED / "megabyte.json").read_text())


def judge(family, data, how, want):
    done = subprocess.run([sys.argv[1], RECORDED / f"{family}.json", data, *how], capture_output=True, check=False)
    if done.returncode:
        return f"{family}: {done.stderr.decode()}"
    count, sha = done.stdout.count(b"\n"), hashlib.sha256(done.stdout).hexdigest()
    if [count, sha] == want:
        return None
    return f"{family} {' '.join(how)}: {count} ids of {sha[:12]}, the package gives {want[0]} of {want[1][:12]}"


def main():
    text = tokenizers_text.text_of(WANT["bytes"]).encode()
    if hashlib.sha256(text).hexdigest() != WANT["text"]:
        sys.exit("the text is another one than that of megabyte.json")
    with tempfile.TemporaryDirectory() as folder:
        data = pathlib.Path(folder, "text")
        data.write_bytes(text)
        bad = [judge(f, data, how, w[k]) for f, w in WANT["families"].items() for k, how in enumerate(([], ["lines"]))]
    bad = [b for b in bad if b]
    print("\n".join(bad) or f"{len(WANT['families'])} families, {len(text)} bytes")
    sys.exit(len(bad) > 0)


main()
