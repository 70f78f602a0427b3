"""digest.py CHECKPOINT - a hash of the weights of a checkpoint."""
import hashlib
import sys

from checkpoint import tensors

hash_ = hashlib.sha256()
for name, (dtype, shape, raw) in sorted((k, v) for k, v in tensors(sys.argv[1]).items() if k.startswith("model.")):
    hash_.update(f"{name} {dtype} {shape}".encode() + raw)
print(hash_.hexdigest()[:16])
