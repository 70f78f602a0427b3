#!/usr/bin/env python3
"""old_names.py - names that were replaced by the field's terms do not come back.

Run from the root. It looks at names of files, types and functions that other files see, in `host` and `kernels`: not at
static functions, members and variables, where such a word may be the right one.
"""
import pathlib
import re
import sys

from files import list_files

# The old name and the one that it has now. A name of one word is refused as a part of longer names too, between `_`;
# one with a suffix is a file.
OLD = """
algorithm_room   algorithm_reserve
align_products   align_gemms
conv2d_pixels    conv2d_1x1
conv2d_shares    conv2d_wgrad_per_thread
conv2d_turned    conv2d_dgrad_flipped
lanes.h          simd.h
matmul_sums      matmul_bias_grad
memory_class     alias_set
output_view      output_copy
place_give       device_free
place_take       device_alloc
product_tile     gemm_microkernel
program_again    rematerialize
sdpa_either      sdpa_select
units.cuh        vector_copy.cuh
contest          autotune
mixer            loss_blend
onlooker         host_mirror
partner          ignite_counterpart
partners         batch_mix
room             capacity
spot             location
stretch          param_range
strip            batch_chunk
sweep            optimizer_step
widen            upcast
"""
# Names that have such a word in another sense, and which.
ALLOWED = {}

TYPE = re.compile(r"^(?:typedef\s+)?(?:struct|union|enum)\s+(\w+)|^\}\s*(\w+);|^typedef\b[^;{(]*?\b(\w+);|"
                  r"^typedef\b[^;{]*?\(\*(\w+)\)", re.M)
FUNCTION = re.compile(r"^(?!static\b|typedef\b|return\b|else\b|#)[A-Za-z_][\w \*]*?\b(\w+)\((?=[^;{}]*\)\s*(?:;|\{))", re.M)


def without_comments(text):
    """The text with comments and strings emptied, and without macros."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r'"(\\.|[^"\\\n])*"', '""', text.replace("\\\n", " "))
    return re.sub(r"^\s*#.*$", "", text, flags=re.M)


def names_of(path):
    """The file's name, and those of its types and of functions that are not static."""
    yield path.name, path.stem
    text = without_comments(path.read_text(encoding="utf-8"))
    for m in TYPE.finditer(text):
        name = next(filter(None, m.groups()))
        yield name, name
    for m in FUNCTION.finditer(text):
        yield m.group(1), m.group(1)


def is_old(old, name, stem):
    """Whether the name is the old one, or has it as a part."""
    return name == old if "." in old else re.search(rf"(?:^|_){old}(?:_|$)", stem) is not None


def main():
    """Judges all names."""
    rows = [line.split() for line in OLD.strip().splitlines()]
    bad, seen, used = 0, 0, set()
    for file in sorted(list_files("*.c", "*.h", "*.cu", "*.cuh")):
        path = pathlib.Path(file)
        if path.parts[0] not in ("host", "kernels"):
            continue
        for name, stem in sorted(set(names_of(path))):
            seen += 1
            for old, now in rows:
                if not is_old(old, name, stem):
                    continue
                if name in ALLOWED:
                    used.add(name)
                    continue
                bad += 1
                print(f"{file}: {name} has \"{old}\", which is called {now} today")
    for name in set(ALLOWED) - used:
        bad += 1
        print(f"{name}: there is no such name, so its row is no longer needed")
    if seen < 5000:
        print(f"old_names.py: {seen} names were found, want at least 5000")
    return bad > 0 or seen < 5000


if __name__ == "__main__":
    sys.exit(main())
