#!/usr/bin/env python3
"""metrics.py - prints what torchmetrics makes of the rows of plugins/metrics/class_counts_check.h and of
calibration_error_test.c, of the pairs of plugins/metrics/regression_check.h, and of the
labels of labels_check.h.

Run by hand, never by a test, with the Python of a virtual environment outside of the tree that has `torch` and
`torchmetrics`; the tests hold the answers."""
import torch
import torchmetrics
import torchmetrics.classification as c
import torchmetrics.regression as g

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
# the same rows as the pixels of three images, classes second as torchmetrics wants them
images, maps = x.reshape(3, 4, 5, CLASSES).permute(0, 3, 1, 2), y.reshape(3, 4, 5)
averaged["accuracy"] = c.MulticlassAccuracy
for name, metric in averaged.items():
    for average in ("macro", "micro", "weighted"):
        print(f"{name} {average} of maps: {float(metric(CLASSES, average=average, ignore_index=-100)(images, maps)):.9f}")
plain = {"cohen_kappa": c.MulticlassCohenKappa, "matthews_corrcoef": c.MulticlassMatthewsCorrCoef}
for name, metric in plain.items():
    print(f"{name}: {float(metric(CLASSES, ignore_index=-100)(x, y)):.9f}")
for norm in ("l1", "l2", "max"):
    print(f"calibration_error {norm}: {float(c.MulticlassCalibrationError(CLASSES, n_bins=15, norm=norm, ignore_index=-100)(x, y)):.9f}")


def pairs():
    """pair_fill of regression_check.h."""
    y = torch.zeros(40 * 3, dtype=torch.float32)
    x = torch.zeros_like(y)
    for k in range(40 * 3):
        y[k] = torch.tensor(number(k) % 1000, dtype=torch.float32) / 100 - k % 3
        x[k] = y[k] * 0.75 + torch.tensor(number(5000 + k) % 1000, dtype=torch.float32) / 400
    return x.reshape(40, 3).double(), y.reshape(40, 3).double()


x, y = pairs()
print(f"mean_squared_error: {float(g.MeanSquaredError()(x, y)):.9f}, one {float(g.MeanSquaredError()(x[:, 0], y[:, 0])):.9f}, "
      f"root {float(g.MeanSquaredError(squared=False)(x, y)):.9f}")
print(f"mean_absolute_error: {float(g.MeanAbsoluteError()(x, y)):.9f}, one {float(g.MeanAbsoluteError()(x[:, 0], y[:, 0])):.9f}")
for multioutput in ("uniform_average", "variance_weighted"):
    print(f"r2_score {multioutput}: {float(g.R2Score(multioutput=multioutput)(x, y)):.9f}")
print(f"r2_score one: {float(g.R2Score()(x[:, 0], y[:, 0])):.9f}, adjusted 5: {float(g.R2Score(adjusted=5)(x[:, 0], y[:, 0])):.9f}")
print(f"pearson_corrcoef one: {float(g.PearsonCorrCoef()(x[:, 0], y[:, 0])):.9f}, "
      f"mean: {float(g.PearsonCorrCoef(num_outputs=3)(x, y).mean()):.9f}")


def labels():
    """label_fill of labels_check.h."""
    x, y = torch.zeros(50, 4), torch.zeros(50, 4, dtype=torch.long)
    for k in range(200):
        column = k % 4
        one = column < 3 and number(3000 + k) % 10 < 2 + 2 * column
        y[k // 4, column] = -100 if k % 11 == 7 else int(one)
        x[k // 4, column] = (number(k) % 1000) / 200.0 - 3.0 + (1.5 if one else 0.0)
    return x, y


x, y = labels()
several = {"multilabel_accuracy": c.MultilabelAccuracy, "multilabel_precision": c.MultilabelPrecision,
           "multilabel_recall": c.MultilabelRecall, "multilabel_f1_score": c.MultilabelF1Score,
           "multilabel_jaccard_index": c.MultilabelJaccardIndex, "multilabel_auroc": c.MultilabelAUROC,
           "multilabel_average_precision": c.MultilabelAveragePrecision}
for name, metric in several.items():
    how = {"ignore_index": -100} | ({"thresholds": 20} if name in ("multilabel_auroc", "multilabel_average_precision") else {})
    told = [float(metric(4, average=average, **how)(x, y)) for average in ("macro", "micro", "weighted")]
    told += metric(4, average="none", **how)(x, y).tolist()
    print(f"{name}: {', '.join(f'{v:.9f}' for v in told)}")
