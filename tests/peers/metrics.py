#!/usr/bin/env python3
"""metrics.py - prints what torchmetrics makes of the rows of plugins/metrics/class_counts_check.h and of
calibration_error_test.c.

Run by hand, never by a test, with the Python of a virtual environment outside of the tree that has `torch` and
`torchmetrics`; the tests hold the answers."""
import torch
import torchmetrics
import torchmetrics.classification as c

ROWS, CLASSES, MASK = 60, 6, 0xFFFFFFFF


def number(a):
    """counts_number of class_counts_check.h."""
    x = (a * 2654435761 + 12345) & MASK
    x ^= x >> 13
    return (x * 1597334677 & MASK) >> 16


x, y = torch.zeros(ROWS, CLASSES), torch.zeros(ROWS, dtype=torch.long)
for r in range(ROWS):
    target = number(1000 + r) % (CLASSES - 1)
    y[r] = -100 if r % 7 == 6 else target
    for k in range(CLASSES):
        x[r, k] = (number(r * CLASSES + k) % 1000) / 250.0
    x[r, target] += 1.0
    x[r, CLASSES - 1] = -9.0

print(f"torch {torch.__version__}, torchmetrics {torchmetrics.__version__}")
averaged = {"precision": c.MulticlassPrecision, "recall": c.MulticlassRecall, "f1_score": c.MulticlassF1Score,
            "specificity": c.MulticlassSpecificity, "jaccard_index": c.MulticlassJaccardIndex}
for name, metric in averaged.items():
    for average in ("macro", "micro", "weighted"):
        print(f"{name} {average}: {float(metric(CLASSES, average=average, ignore_index=-100)(x, y)):.9f}")
plain = {"cohen_kappa": c.MulticlassCohenKappa, "matthews_corrcoef": c.MulticlassMatthewsCorrCoef}
for name, metric in plain.items():
    print(f"{name}: {float(metric(CLASSES, ignore_index=-100)(x, y)):.9f}")
for norm in ("l1", "l2", "max"):
    print(f"calibration_error {norm}: {float(c.MulticlassCalibrationError(CLASSES, n_bins=15, norm=norm, ignore_index=-100)(x, y)):.9f}")
