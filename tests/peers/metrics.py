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
for name in ("accuracy", "precision", "recall", "f1_score", "specificity"):
    metric = averaged.get(name, c.MulticlassAccuracy)
    for top_k in (1, 2):
        told = [float(metric(CLASSES, average=a, top_k=top_k, ignore_index=-100)(x, y)) for a in ("macro", "micro", "weighted")]
        print(f"{name} of the {top_k} largest: {', '.join(f'{v:.9f}' for v in told)}")
# the same rows as the pixels of three images, classes second as torchmetrics wants them
images, maps = x.reshape(3, 4, 5, CLASSES).permute(0, 3, 1, 2), y.reshape(3, 4, 5)
averaged["accuracy"] = c.MulticlassAccuracy
for name, metric in averaged.items():
    for average in ("macro", "micro", "weighted"):
        print(f"{name} {average} of maps: {float(metric(CLASSES, average=average, ignore_index=-100)(images, maps)):.9f}")
for name in ("accuracy", "precision", "recall", "f1_score", "specificity", "jaccard_index"):
    told = averaged.get(name, c.MulticlassAccuracy)(CLASSES, average="none", ignore_index=-100)(x, y).tolist()
    print(f"{name} of classes: {', '.join(f'{v:.9f}' for v in told)}")
for normalize in ("none", "true", "pred", "all"):
    told = c.MulticlassConfusionMatrix(CLASSES, normalize=normalize, ignore_index=-100)(x, y).reshape(-1).tolist()
    print(f"confusion_matrix {normalize}: {', '.join(f'{v:.9g}' for v in told)}")
for name, metric in (("auroc", c.MulticlassAUROC), ("average_precision", c.MulticlassAveragePrecision)):
    told = [float(metric(CLASSES, average=a, thresholds=20, ignore_index=-100)(x, y)) for a in ("macro", "weighted")]
    told += metric(CLASSES, average="none", thresholds=20, ignore_index=-100)(x, y).tolist()
    print(f"{name}: {', '.join(f'{v:.9f}' for v in told)}")
# maps without ignored pixels, one of which has no pixel of class 3
def dice_values():
    import torchmetrics.segmentation as s
    for aggregation in ("samplewise", "global"):
        for background in (True, False):
            told = [float(s.DiceScore(CLASSES, include_background=background, average=a, aggregation_level=aggregation, input_format="index")(
                images.argmax(1), whole)) for a in ("macro", "micro", "weighted")]
            print(f"dice_score {aggregation}{'' if background else ' without background'}: {', '.join(f'{v:.9f}' for v in told)}")


whole = torch.tensor([number(1000 + r) % (CLASSES - 1) for r in range(ROWS)]).reshape(3, 4, 5)
whole[1][whole[1] == 3] = 2
dice_values()
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
    if "thresholds" not in how:
        told = [float(metric(4, average="macro", ignore_index=-100, threshold=threshold)(x, y)) for threshold in (0.3, 0.8)]
        print(f"{name} at thresholds of 0.3, 0.8: {', '.join(f'{v:.9f}' for v in told)}")


import torchmetrics.text as t

# the sentences of plugins/metrics/texts_check.h
SAID = ["the cat is on the mat", "hello there, General Kenobi!", "the the the the", "a b c d e f", "", "one two three four five six seven"]
WANTED = ["there is a cat on the mat", "hello there general kenobi", "the cat the dog", "a b x d e f g h", "nothing was said", "one two three four five six seven"]
print(f"word_error_rate: {float(t.WordErrorRate()(SAID, WANTED)):.9f}")
for n in (1, 2, 4):
    for smooth in (False, True):
        print(f"bleu_score {n}{' smooth' if smooth else ''}: {float(t.BLEUScore(n_gram=n, smooth=smooth)(SAID, [[w] for w in WANTED])):.9f}")
keys = ("rouge1", "rouge2", "rougeL")
SCORES = ("fmeasure", "precision", "recall")
told = t.ROUGEScore(rouge_keys=keys)(SAID, WANTED)
for key in keys:
    scores = [float(told[f"{key}_{score}"]) for score in SCORES]
    print(f"rouge_score {key}: {', '.join(f'{v:.9f}' for v in scores)}")

# several references, of the same file
OTHERS = [["the cat lay on a mat", "on the mat the cat is"], ["hello there general"], ["the the cat"], [], ["nothing", "he said nothing at all"],
          ["one two three", "seven six five four three two one and zero"]]
ALL = [[w, *more] for w, more in zip(WANTED, OTHERS)]
for n in (1, 2, 4):
    told = [float(t.BLEUScore(n_gram=n, smooth=smooth)(SAID, ALL)) for smooth in (False, True)]
    print(f"bleu_score {n} of several references: {', '.join(f'{v:.9f}' for v in told)}")
weights = [0.5, 0.3, 0.15, 0.05]
print(f"bleu_score with weights: {', '.join(f'{float(t.BLEUScore(weights=weights)(SAID, w)):.9f}' for w in ([[w] for w in WANTED], ALL))}")
for accumulate in ("best", "avg"):
    told = t.ROUGEScore(rouge_keys=keys, accumulate=accumulate)(SAID, ALL)
    for key in keys:
        print(f"rouge_score {accumulate} {key}: {', '.join('%.9f' % float(told[f'{key}_{score}']) for score in SCORES)}")

# rougeLsum: torchmetrics finds sentences by a model of nltk, rouge_score by line ends, which both get here
import torchmetrics.functional.text.rouge as rouge

rouge._split_sentence = lambda text: text.split("\n")
SUMMARIES = [("The cat sat on the mat.\nIt was warm there, so the cat slept.", "A cat slept on the warm mat.\nThe dog sat there.\n\nIt was so."),
             ("one two three\nfour five\nsix", "six five four\nthree two one"), ("w1 w2 w3 w4 w5", "w1 w2 w6 w7 w8\nw1 w3 w8 w9 w5")]
for said, wanted in SUMMARIES:
    told = t.ROUGEScore(rouge_keys="rougeLsum")(said, wanted)
    print(f"rougeLsum: {', '.join('%.9f' % float(told[f'rougeLsum_{score}']) for score in SCORES)}")
try:
    from rouge_score import rouge_scorer
    for said, wanted in SUMMARIES:
        s = rouge_scorer.RougeScorer(["rougeLsum"]).score(wanted, said)["rougeLsum"]
        print(f"rougeLsum of rouge_score: {s.fmeasure:.9f}, {s.precision:.9f}, {s.recall:.9f}")
except ModuleNotFoundError:
    print("rougeLsum of rouge_score: the package is not there")
