#!/usr/bin/env python3
# streaming_sets.py - small sets that MosaicML Streaming writes, as a C header for plugins/datasets/mds/upstream_test.c.
import base64
import os
import sys
import tempfile

import numpy as np
import streaming
from streaming import CSVWriter, JSONWriter, MDSWriter, TSVWriter, XSVWriter

SAMPLES = 5
NAMES = ["ant", "bee", "ant", "cat", "bee"]


def row(k, text=False):
    number = {"value": k / 4 - 0.5, "label": k % 3, "name": NAMES[k]}
    return number if text else {**number, "x": np.arange(6, dtype=np.float32).reshape(2, 3) + k}


def write(folder, kind):
    form, _, compression = kind.partition(".")
    rest = {"out": folder, "compression": compression or None, "hashes": ["sha1" if kind in ("mds", "csv") else "xxh64"]}
    text = {"value": "float", "label": "int", "name": "str"}
    if form == "mds":
        columns = {"x": "ndarray:float32:2,3", "label": "int", "name": "str", "value": "float64"}
        writer, is_text = MDSWriter(columns=columns, size_limit=500 if kind == "mds" else None, **rest), False
    elif form == "ragged":
        writer = MDSWriter(columns={"x": "ndarray", "raw": "bytes", "doc": "json", "label": "uint8"}, **rest)
        with writer as out:
            for k in range(SAMPLES):
                out.write({"x": np.arange(k + 1, dtype=np.int16), "raw": bytes(range(k)), "doc": {"k": k}, "label": k})
        return
    elif form.startswith("tokens"):
        encoding = {"tokens16": "ndarray:uint16", "tokens32": "ndarray:uint32:9", "tokensb": "bytes"}[form]
        with MDSWriter(columns={"tokens": encoding}, **rest) as out:
            for k in range(SAMPLES):
                kinds = {"tokens16": np.uint16, "tokens32": np.uint32, "tokensb": np.int64}
                tokens = (np.arange(9) * (k + 1)).astype(kinds[form])
                out.write({"tokens": tokens.tobytes() if form == "tokensb" else tokens})
        return
    else:
        writers = {"json": JSONWriter, "csv": CSVWriter, "tsv": TSVWriter, "xsv": XSVWriter}
        more = {"separator": "::"} if form == "xsv" else {}
        writer, is_text = writers[form](columns=text, **more, **rest), True
    with writer as out:
        for k in range(SAMPLES):
            out.write(row(k, is_text))


def main():
    print("/* upstream_sets.h - files that MosaicML Streaming %s wrote, in base64; by tests/peers/streaming_sets.py. */"
          % streaming.__version__)
    print("/* SPDX-License-Identifier: Apache-2.0 */")
    print("/* clang-format off */")
    print("static const struct {\n    const char *set, *file, *text;\n} upstream_files[] = {")
    kinds = ["mds", "mds.br", "mds.bz2", "mds.gz", "mds.snappy", "mds.zstd", "json.gz", "csv", "tsv.zstd", "xsv.snappy",
             "ragged", "tokens16", "tokens32.gz", "tokensb"]
    for kind in kinds:
        with tempfile.TemporaryDirectory() as folder:
            write(os.path.join(folder, "s"), kind)
            for name in sorted(os.listdir(os.path.join(folder, "s"))):
                with open(os.path.join(folder, "s", name), "rb") as f:
                    text = base64.b64encode(f.read()).decode()
                print('    {"%s", "%s",' % (kind, name))
                lines = [text[k:k + 88] for k in range(0, len(text), 88)]
                print("\n".join('     "%s"' % line for line in lines) + "},")
    print("};\n/* clang-format on */")


if __name__ == "__main__":
    sys.exit(main())
