"""same_weights.py A B ... - exits 0 when all checkpoints hold the same tensors, clocks of the wall apart."""
import sys

from checkpoint import tensors

a = tensors(sys.argv[1])
for path in sys.argv[2:]:
    b = tensors(path)
    if sorted(a) != sorted(b):
        sys.exit(f"names differ in {path}: {sorted(set(a) ^ set(b))}")
    differ = [k for k in a if a[k] != b[k]]
    if differ:
        sys.exit(f"{len(differ)} of {len(a)} tensors differ in {path}, such as {differ[:5]}")
if len(sys.argv) < 3:
    sys.exit("there is nothing to compare with")
