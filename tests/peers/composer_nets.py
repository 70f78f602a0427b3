"""composer_nets.py - the networks of nets.py as Composer trains them."""
# SPDX-License-Identifier: Apache-2.0
import collections

import PIL.Image
import torch
import torchmetrics
import torchvision
import transformers
import twin
import twin_bottleneck
import twin_cnn
import twin_text
import twin_vit
from composer.models import ComposerClassifier, HuggingFaceModel
from composer_draws import held
from torch import nn


def conv(into, out, side, stride):
    return nn.Conv2d(into, out, side, stride, side // 2, bias=False)


class Block(nn.Module):
    def __init__(self, into, out):
        super().__init__()
        stride = 1 if into == out else 2
        self.conv1, self.norm1 = conv(into, out, 3, stride), nn.BatchNorm2d(out)
        self.conv2, self.norm2 = conv(out, out, 3, 1), nn.BatchNorm2d(out)
        if stride == 2:
            self.shortcut_conv, self.shortcut_norm = conv(into, out, 1, 2), nn.BatchNorm2d(out)

    def forward(self, x):
        y = self.norm2(self.conv2(torch.relu(self.norm1(self.conv1(x)))))
        return torch.relu(y + (self.shortcut_norm(self.shortcut_conv(x)) if hasattr(self, "shortcut_conv") else x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        a, b, c = twin.WIDTHS
        self.conv, self.norm = conv(1, a, 3, 1), nn.BatchNorm2d(a)
        for k, (into, out) in enumerate(((a, a), (a, b), (b, c))):
            setattr(self, f"stage{k + 1}", nn.Sequential())
            getattr(self, f"stage{k + 1}").add_module("block0", Block(into, out))
        self.head = nn.Linear(c, twin.CLASSES)

    def forward(self, x):
        return self.head(self.stage3(self.stage2(self.stage1(torch.relu(self.norm(self.conv(x)))))).mean((2, 3)))


class Bottlenecks(torchvision.models.ResNet):
    """torchvision's, narrow, for small images of one channel."""

    def __init__(self):
        width, blocks = twin_bottleneck.WIDTH, twin_bottleneck.BLOCKS
        super().__init__(torchvision.models.resnet.Bottleneck, blocks, num_classes=twin.CLASSES)
        self.inplanes, self.maxpool = width, nn.Identity()
        self.conv1, self.bn1 = conv(1, width, 3, 1), nn.BatchNorm2d(width)
        for k, count in enumerate(blocks):
            setattr(self, f"layer{k + 1}", self._make_layer(torchvision.models.resnet.Bottleneck, width << k, count, 2 if k else 1))
        self.fc = nn.Linear((width << 3) * twin_bottleneck.EXPANSION, twin.CLASSES)


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        parts, into = collections.OrderedDict(), twin_cnn.COLOURS
        for k, out in enumerate(twin_cnn.CHANNELS):
            parts |= {f"conv{k}": conv(into, out, 3, 1), f"norm{k}": nn.GroupNorm(twin_cnn.GROUPS, out), f"act{k}": nn.ReLU()}
            if k + 1 < len(twin_cnn.CHANNELS):
                parts[f"pool{k}"] = nn.MaxPool2d(2)
            into = out
        parts |= {"pool": nn.AdaptiveAvgPool2d(1), "flat": nn.Flatten(), "drop": nn.Dropout(twin_cnn.MODEL["dropout"]),
                  "head": nn.Linear(into, twin.CLASSES)}
        self.body = nn.Sequential(parts)

    def forward(self, x):
        return self.body(x)


class Pictures(torchvision.datasets.VisionDataset):
    """Pictures for Pillow, whose changes are told which sample is under way."""

    def __init__(self):
        super().__init__(root=".", transform=torchvision.transforms.Compose([torchvision.transforms.ToTensor()]))
        x, self.classes = twin_cnn.data()
        self.pictures = torch.frombuffer(bytearray(x), dtype=torch.uint8).reshape(-1, twin.SIDE, twin.SIDE, twin_cnn.COLOURS).numpy()

    def __len__(self):
        return twin.SAMPLES

    def __getitem__(self, k):
        held.sample = k
        return self.transform(PIL.Image.fromarray(self.pictures[k])), self.classes[k]


class CrossEntropy(torchmetrics.Metric):
    """The mean over all tokens."""

    def __init__(self):
        super().__init__()
        self.add_state("sum", torch.tensor(0.0))
        self.add_state("count", torch.tensor(0))

    def update(self, outputs, labels):
        self.sum += nn.functional.cross_entropy(outputs, labels, reduction="sum")
        self.count += labels.numel()

    def compute(self):
        return self.sum / self.count


class Text(HuggingFaceModel):
    """Logits with classes second, as Composer's label smoothing takes them, against labels that are shifted already."""

    def forward(self, batch):
        tokens = batch["input_ids"] if isinstance(batch, dict) else batch[0]
        return self.model(input_ids=tokens).logits.transpose(1, 2)

    def eval_forward(self, batch, outputs=None):
        return self.forward(batch) if outputs is None else outputs

    def loss(self, outputs, batch, reduction="mean"):
        labels = batch["labels"] if isinstance(batch, dict) else batch[1]
        loss = nn.functional.cross_entropy(outputs, labels, reduction=reduction)
        return loss.mean(1) if reduction == "none" else loss

    def update_metric(self, batch, outputs, metric):
        metric.update(outputs, batch["labels"])
        return {}


IMAGES = {"resnet": Net, "bottleneck": Bottlenecks, "cnn": Cnn, "vit": lambda: vit()}
NO_WEIGHTS = ("blur_filter", "filt2d", "alibi", "lm_head", "decoder")  # buffers, and what is tied to the table of tokens


def gpt2():
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=twin_text.WORDS, n_positions=twin_text.LENGTH, n_embd=twin_text.WIDTH, n_layer=twin_text.LAYERS,
        n_head=twin_text.HEADS, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, use_cache=False))


def bert():
    return transformers.BertForMaskedLM(transformers.BertConfig(
        vocab_size=twin_text.WORDS, hidden_size=twin_text.WIDTH, num_hidden_layers=twin_text.LAYERS,
        num_attention_heads=twin_text.HEADS, intermediate_size=4 * twin_text.WIDTH, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0, max_position_embeddings=twin_text.LENGTH, pad_token_id=None))


def vit():
    """torchvision's, for images of one channel."""
    net = torchvision.models.VisionTransformer(
        image_size=twin.SIDE, patch_size=twin_vit.PATCH, num_layers=1, num_heads=twin_vit.HEADS, hidden_dim=twin_vit.WIDTH,
        mlp_dim=4 * twin_vit.WIDTH, num_classes=twin.CLASSES)
    net.conv_proj = nn.Conv2d(1, twin_vit.WIDTH, twin_vit.PATCH, twin_vit.PATCH)
    return net


def images(net):
    """The model, and its data."""
    model = ComposerClassifier(IMAGES[net.name](), num_classes=twin.CLASSES)
    if net.name == "cnn":
        return model, Pictures()
    x, classes = twin.data()
    x = torch.tensor(x).reshape(twin.SAMPLES, 1, twin.SIDE, twin.SIDE)
    return model, torch.utils.data.TensorDataset(x, torch.tensor(classes).long())


def texts(net):
    tokens, labels = (torch.tensor(t).long().reshape(twin_text.SAMPLES, twin_text.LENGTH) for t in twin_text.data())
    model = Text(gpt2() if net.name == "gpt2" else bert(), tokenizer=None, eval_metrics=[CrossEntropy()])
    return model, [{"input_ids": x, "labels": y} for x, y in zip(tokens, labels)]


def make(net):
    return images(net) if net.name in IMAGES else texts(net)


def of(net, model):
    """What holds the weights that are named as nets.py has them."""
    return model.module if net.name in IMAGES else model.model


def fill(net, model):
    """The first weights, whatever surgery has made of the network; ALiBi has copied BERT's table of words, which the head shares."""
    if net.name == "bert":
        model.model.tie_weights()
    with torch.no_grad():
        for name, t in of(net, model).state_dict().items():
            if t.dtype == torch.float32 and not any(n in name for n in NO_WEIGHTS):
                shape = t.permute(0, 2, 3, 1).shape if t.dim() == 4 else t.shape
                w = torch.tensor(net.weight(name, shape)).reshape(shape)
                t.copy_(w.permute(0, 3, 1, 2) if t.dim() == 4 else w)


def head(net, model):
    """The first numbers of one weight."""
    found = dict(of(net, model).named_parameters())
    return (found.get(net.head) if net.head in found else found[f"transformer.{net.head}"]).detach().reshape(-1)[:8].tolist()
