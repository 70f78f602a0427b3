#!/usr/bin/env python3
"""losses.py - writes what torch's losses make of some outputs and targets to tests/models/losses.json: the loss of the
batch, of each sample, and the gradient of the first.

Run by hand, never by a test, with the Python of a virtual environment outside of the tree that has `torch`. The
numbers are those of f32, computed in f64."""
import json
import pathlib

import torch
import torch.nn.functional as f

MASK = 0xFFFFFFFF
FILE = pathlib.Path(__file__).resolve().parents[1] / "models/losses.json"


def number(a):
    x = (a * 2654435761 + 12345) & MASK
    x ^= x >> 13
    return (x * 1597334677 & MASK) >> 16


def floats(seed, *shape, low=-2.0, high=2.0):
    n = torch.Size(shape).numel()
    values = [low + (high - low) * (number(seed * 1000 + k) % 1000) / 1000 for k in range(n)]
    return torch.tensor(values, dtype=torch.float32).double().reshape(shape)


def means(each, reduction):
    """Of each sample."""
    rows = each.reshape(each.shape[0], -1)
    return rows.sum(1) if reduction == "sum" else rows.mean(1)


def case(settings, x, y, function, dtype="f32"):
    """`function` gives the loss of the batch and those of samples."""
    x = x.clone().requires_grad_()
    loss, each = function(x, y)
    loss.backward()
    tell = lambda t: [float(f"{v:.9g}") for v in t.detach().reshape(-1).tolist()]
    return {"loss": settings, "x": {"shape": list(x.shape), "data": tell(x)},
            "y": {"dtype": dtype, "shape": list(y.shape), "data": tell(y)},
            "want": tell(loss)[0], "each": tell(each), "gradient": tell(x.grad)}


def numbers(name, function, **settings):
    """A loss of numbers for both reductions: (B, K) against (B, K), and (B, 1) against (B)."""
    for reduction in ("mean", "sum"):
        told = {"name": name} | settings | ({"reduction": "sum"} if reduction == "sum" else {})
        for x, y in ((floats(1, 4, 3), floats(2, 4, 3)), (floats(3, 5, 1), floats(4, 5))):
            def both(x, y, reduction=reduction):
                y = y.reshape(x.shape)
                return function(x, y, reduction), means(function(x, y, "none"), reduction)
            yield case(told, x, y, both)


def classes(seed, *shape, n, ignored=None):
    k = torch.Size(shape).numel()
    values = [number(seed * 1000 + i) % n for i in range(k)]
    if ignored is not None:
        values[1] = ignored
    return torch.tensor(values).reshape(shape)


def of_rows(name, function, x, y, weights=None, ignored=-100, plain=False, **settings):
    """A loss of rows and classes for both reductions; `function` takes rows first and classes last."""
    n = x.shape[-1]
    told = {"name": name} | settings | ({"weight": weights} if weights else {}) | ({"ignore_index": ignored} if ignored != -100 else {})
    w = torch.tensor(weights, dtype=torch.float64) if weights else torch.ones(n, dtype=torch.float64)
    for reduction in ("mean", "sum"):
        def both(x, y, reduction=reduction):
            flat = x.reshape(-1, n)
            if y.dtype == torch.long:
                kept = y.reshape(-1) != ignored
                counts = torch.where(kept, torch.ones(()).double() if plain else w[y.reshape(-1).clamp(min=0)], torch.zeros(()).double())
                target = y.reshape(-1)
            else:
                counts, target = torch.ones(flat.shape[0]).double(), y.reshape(-1, n)
            rows = function(flat, target, "none", w if weights else None)
            loss = function(flat, target, reduction, w if weights else None)
            if y.dim() > 1 and y.dtype == torch.long:
                rows, counts = rows.reshape(y.shape[0], -1), counts.reshape(y.shape[0], -1)
                rows = rows.sum(1) if reduction == "sum" else rows.sum(1) / counts.sum(1)
            return loss, rows
        yield case(told | ({"reduction": "sum"} if reduction == "sum" else {}), x, y, both,
                   "i32" if y.dtype == torch.long else "f32")


def focal(gamma, ignored=-100):
    def loss(x, y, reduction, w):
        log_p = x.log_softmax(1)
        each = -((1 - log_p.exp()) ** gamma) * log_p * (w if w is not None else 1)
        kept = y != ignored
        rows = torch.where(kept, each.gather(1, y.clamp(min=0)[:, None])[:, 0], torch.zeros(()).double())
        weight = torch.where(kept, w[y.clamp(min=0)] if w is not None else torch.ones(()).double(), torch.zeros(()).double())
        return {"none": rows, "sum": rows.sum(), "mean": rows.sum() / weight.sum()}[reduction]
    return loss


def class_cases():
    rows, dense = (floats(10, 5, 4), classes(11, 5, n=4)), (floats(12, 2, 2, 3, 3), classes(13, 2, 2, 3, n=3))
    three = [0.5, 2.0, 1.25]
    four = three + [0.0]
    soft = floats(14, 5, 4).softmax(1).float().double()
    for x, y in (rows, dense):
        w = three if x.shape[-1] == 3 else four
        cross = lambda ignored, s=0.0: lambda x, y, r, w: f.cross_entropy(x, y, w, reduction=r, ignore_index=ignored, label_smoothing=s)
        yield from of_rows("cross_entropy", cross(-100), x, y)
        yield from of_rows("cross_entropy", cross(-100), x, y, weights=w)
        yield from of_rows("cross_entropy", cross(1), x, y, weights=w, ignored=1)
        yield from of_rows("cross_entropy", cross(-100, 0.1), x, y, label_smoothing=0.1)
        yield from of_rows("cross_entropy", cross(1, 0.2), x, y, weights=w, ignored=1, label_smoothing=0.2)
        nll = lambda ignored: lambda x, y, r, w: f.nll_loss(x, y, w, reduction=r, ignore_index=ignored)
        yield from of_rows("nll", nll(-100), x.log_softmax(-1).float().double(), y)
        yield from of_rows("nll", nll(2), x.log_softmax(-1).float().double(), y, weights=w, ignored=2)
        yield from of_rows("focal", focal(2.0), x, y)
        yield from of_rows("focal", focal(0.5, 1), x, y, weights=w, ignored=1, gamma=0.5)
    x, y = rows
    y = torch.where(torch.arange(5) == 2, -100, y)
    yield from of_rows("cross_entropy", cross(-100), x, y)
    yield from of_rows("cross_entropy", cross(-100), x, soft)
    yield from of_rows("cross_entropy", cross(-100, 0.1), x, soft, weights=four, label_smoothing=0.1)
    for p in (1, 2):
        margin = lambda x, y, r, w: f.multi_margin_loss(x, y, p=p, margin=0.7, weight=w, reduction=r)
        yield from of_rows("multi_margin", margin, *rows, plain=True, p=p, margin=0.7)
        yield from of_rows("multi_margin", margin, *rows, weights=four, plain=True, p=p, margin=0.7)


def label_cases():
    labels = lambda seed, *shape: classes(seed, *shape, n=2).double()
    signs = lambda seed, *shape: labels(seed, *shape) * 2 - 1
    for reduction in ("mean", "sum"):
        more = {"reduction": "sum"} if reduction == "sum" else {}
        def pair(function, x, y, **settings):
            return case(settings | more, x, y, lambda x, y: (
                function(x, y.reshape(x.shape), reduction), means(function(x, y.reshape(x.shape), "none"), reduction)))
        wide, zero = floats(20, 4, 3, low=-30.0, high=30.0), torch.zeros(3, 2).double()
        weight = torch.tensor([0.5, 3.0, 1.0]).double()
        each = torch.tensor([2.0, 0.25, 0.0]).double()
        bce = lambda w, v=None: lambda x, y, r: f.binary_cross_entropy_with_logits(x, y, weight=v, pos_weight=w, reduction=r)
        yield pair(bce(None), floats(21, 4, 3), labels(22, 4, 3), name="bce_with_logits")
        yield pair(bce(None), wide, labels(22, 4, 3), name="bce_with_logits")
        yield pair(bce(None), zero, labels(23, 3, 2), name="bce_with_logits")
        yield pair(bce(None), floats(24, 5, 1), labels(25, 5), name="bce_with_logits")
        yield pair(bce(weight), floats(21, 4, 3), labels(22, 4, 3), name="bce_with_logits", pos_weight=weight.tolist())
        yield pair(bce(None, each), floats(21, 4, 3), labels(22, 4, 3), name="bce_with_logits", weight=each.tolist())
        yield pair(bce(weight, each), floats(21, 4, 3), labels(22, 4, 3), name="bce_with_logits", pos_weight=weight.tolist(), weight=each.tolist())
        yield pair(lambda x, y, r: f.soft_margin_loss(x, y, reduction=r), floats(26, 4, 3), signs(27, 4, 3), name="soft_margin")
        yield pair(lambda x, y, r: f.hinge_embedding_loss(x, y, margin=1.5, reduction=r), floats(28, 4, 3, low=0.0), signs(29, 4, 3),
                   name="hinge_embedding", margin=1.5)
    x = floats(30, 4, 3).log_softmax(1).float().double()
    y = floats(31, 4, 3).softmax(1).float().double()
    y[1, 2] = 0.0
    for log_target in (False, True):
        for reduction in ("mean", "sum", "batchmean"):
            target = floats(31, 4, 3).log_softmax(1).float().double() if log_target else y
            def kl(x, t, reduction=reduction, log_target=log_target):
                return (f.kl_div(x, t, reduction=reduction, log_target=log_target),
                        means(f.kl_div(x, t, reduction="none", log_target=log_target), "mean" if reduction == "mean" else "sum"))
            yield case({"name": "kl_div", "log_target": log_target, "reduction": reduction}, x, target, kl)


def cases():
    yield from numbers("mse", lambda x, y, r: f.mse_loss(x, y, reduction=r))
    yield from numbers("l1", lambda x, y, r: f.l1_loss(x, y, reduction=r))
    for beta in (1.0, 0.25, 0.0):
        yield from numbers("smooth_l1", lambda x, y, r: f.smooth_l1_loss(x, y, reduction=r, beta=beta), beta=beta)
    for delta in (1.0, 0.3):
        yield from numbers("huber", lambda x, y, r: f.huber_loss(x, y, reduction=r, delta=delta), delta=delta)
    yield from class_cases()
    yield from label_cases()
    yield from part_cases()
    yield from sequence_cases()


def parts(x):
    """(B, P, D) -> P of (B, D)."""
    return x.unbind(1)


def part_cases():
    """Pairs (B, 2, D) and triples (B, 3, D)."""
    pairs, signs = floats(40, 6, 2, 4), classes(41, 6, n=2).double() * 2 - 1
    pairs[2, 1] = 0.0
    for margin in (0.0, 0.4, -0.5):
        for reduction in ("mean", "sum"):
            def cosine(x, y, reduction=reduction, margin=margin):
                of = lambda r: f.cosine_embedding_loss(*parts(x), y.reshape(-1), margin=margin, reduction=r)
                return of(reduction), of("none")
            more = {"reduction": "sum"} if reduction == "sum" else {}
            yield case({"name": "cosine_embedding", "margin": margin} | more, pairs, signs if margin else signs.reshape(6, 1), cosine)
    triples, none = floats(42, 5, 3, 4), classes(43, 5, n=3)
    for settings in ({}, {"swap": True}, {"margin": 0.3, "p": 1.0}, {"margin": 4.0, "p": 3.0, "swap": True}, {"margin": 2.0, "eps": 0.125}):
        for reduction in ("mean", "sum"):
            def triplet(x, y, reduction=reduction, settings=settings):
                of = lambda r: f.triplet_margin_loss(*parts(x), reduction=r, **settings)
                return of(reduction), of("none")
            more = {"reduction": "sum"} if reduction == "sum" else {}
            yield case({"name": "triplet"} | settings | more, triples, none, triplet, "i32")


def sequence_cases():
    """Log-probabilities (B, T, N) and classes (B, S), -100 behind the end; torch's own order is (T, B, N)."""
    for x, y, blank in ((floats(50, 4, 8, 5).log_softmax(-1).float().double(), [[1, 2, 2, 4], [3, 3, -100, -100], [-100] * 4, [4, 1, 2, 3]], 0),
                        (floats(51, 3, 6, 4).log_softmax(-1).float().double(), [[0, 1, -100], [2, 2, 2], [1, 0, 1]], 3),
                        (floats(52, 2, 4, 3).log_softmax(-1).float().double(), [[1, 1, 1], [2, 1, -100]], 0)):
        y = torch.tensor(y)
        lengths = (y >= 0).sum(1)
        for reduction in ("mean", "sum"):
            def ctc(x, y, reduction=reduction, blank=blank, lengths=lengths):
                of = lambda r: f.ctc_loss(x.transpose(0, 1), y.clamp(min=0), torch.full((x.shape[0],), x.shape[1]), lengths, blank=blank,
                                          reduction=r, zero_infinity=x.shape[1] == 4)
                each = of("none")
                return of(reduction), each / lengths.clamp(min=1) if reduction == "mean" else each
            more = ({"reduction": "sum"} if reduction == "sum" else {}) | ({"zero_infinity": True} if x.shape[1] == 4 else {})
            yield case({"name": "ctc"} | ({"blank": blank} if blank else {}) | more, x, y, ctc, "i32")


FILE.write_text('{"from": "torch %s, by tests/peers/losses.py",\n "cases": [\n%s\n]}\n'
                % (torch.__version__.split("+")[0], ",\n".join(json.dumps(c) for c in cases())))
