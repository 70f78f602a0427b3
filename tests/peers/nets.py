"""nets.py - the networks that both sides of losses.json train, and with which algorithms."""
# SPDX-License-Identifier: Apache-2.0
import array
import dataclasses
import itertools
import typing

import twin
import twin_bottleneck
import twin_cnn
import twin_text
import twin_vit


@dataclasses.dataclass
class Net:
    name: str
    model: dict  # of a run file
    algorithms: dict  # {name: settings}
    weight: typing.Callable  # (name, shape): values
    weights: dict  # {name: (shape, values)}
    arrays: dict  # {file: (kind, shape, values)}
    metric: str
    head: str  # the weight that is compared
    differ: frozenset = frozenset()  # pairs whose answers are others on purpose
    transforms: list = dataclasses.field(default_factory=list)  # of a run file
    rate: float = twin.RATE
    brief: dict = dataclasses.field(default_factory=dict)  # {algorithm: of how many batches the losses alone are compared}
    only: frozenset = frozenset()  # where it is not empty, pairs have one of these

    @property
    def runs(self):
        """Without an algorithm, with one, with two."""
        pairs = itertools.combinations(self.algorithms, 2)
        return [(), *((name,) for name in self.algorithms), *(p for p in pairs if not self.only or self.only & set(p))]


def pictures():
    x, classes = twin.data()
    return {"x.npy": ("<f4", (twin.SAMPLES, twin.SIDE, twin.SIDE, 1), x), "y.npy": ("<i4", (twin.SAMPLES,), array.array("i", classes))}


def resnet():
    return Net("resnet", {"name": "resnet_cifar", "depth": 8, "width": twin.WIDTHS[0], "shortcut": "conv"}, twin.ALGORITHMS,
               twin.weight, twin.weights(), pictures(), "cross_entropy", "head.weight", twin.DIFFER)


def vit():
    return Net("vit", twin_vit.MODEL, twin_vit.ALGORITHMS, twin_vit.weight, twin_vit.weights(), pictures(), "cross_entropy",
               "heads.head.weight", twin_vit.DIFFER)


def cnn():
    x, classes = twin_cnn.data()
    return Net("cnn", twin_cnn.MODEL, twin_cnn.ALGORITHMS, twin.weight, twin_cnn.weights(),
               {"x.npy": ("|u1", (twin.SAMPLES, twin.SIDE, twin.SIDE, twin_cnn.COLOURS), x),
                "y.npy": ("<i4", (twin.SAMPLES,), array.array("i", classes))},
               "cross_entropy", "body.head.weight", twin_cnn.DIFFER, twin_cnn.TRANSFORMS, only=frozenset(twin_cnn.ONLY_HERE))


def bottleneck():
    return Net("bottleneck", twin_bottleneck.MODEL, twin_bottleneck.ALGORITHMS, twin_bottleneck.weight, twin_bottleneck.weights(),
               pictures(), "cross_entropy", "fc.weight", twin_bottleneck.DIFFER, rate=twin_bottleneck.RATE,
               brief=twin_bottleneck.BRIEF, only=frozenset(twin_bottleneck.ONLY_HERE))


def texts(name):
    shape = (twin_text.SAMPLES, twin_text.LENGTH)
    return Net(name, twin_text.MODELS[name], twin_text.ALGORITHMS[name], twin_text.weight, twin_text.weights(name),
               {file: ("<i4", shape, values) for file, values in zip(("x.npy", "y.npy"), twin_text.data())},
               "language_cross_entropy", twin_text.HEAD[name], twin_text.DIFFER[name])


NETS = {"resnet": resnet, "bottleneck": bottleneck, "cnn": cnn, "vit": vit, "gpt2": lambda: texts("gpt2"), "bert": lambda: texts("bert")}
CLASSES = dict.fromkeys(NETS, twin.CLASSES) | {"gpt2": twin_text.WORDS, "bert": twin_text.WORDS}
