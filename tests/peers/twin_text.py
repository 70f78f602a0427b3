"""twin_text.py - a small GPT-2 and a small BERT, their first weights and their data, by formula: for both sides of
losses.json."""
# SPDX-License-Identifier: Apache-2.0
import array
import itertools

import twin

SAMPLES, LENGTH, WORDS, WIDTH, HEADS, LAYERS = twin.SAMPLES, 16, 32, 16, 2, 1
BOTH = {
    "alibi": {"max_sequence_length": LENGTH, "train_sequence_length_scaling": 0.5},
    "ema": {"half_life": "2ba"},
    "gradient_clipping": {"clipping_type": "norm", "clipping_threshold": 0.5},
    "label_smoothing": {"smoothing": 0.2},
    "layer_freezing": {"freeze_start": 0.0, "freeze_level": 0.6},
    "low_precision_layernorm": {},
    "sam": {"rho": 0.05},
    "selective_backprop": {"start": 0.0, "end": 0.9, "keep": 0.5, "interrupt": 3},
    "seq_length_warmup": {"duration": 0.9, "min_seq_length": 8, "max_seq_length": LENGTH, "step_size": 4},
    "swa": {"swa_start": "1ep", "swa_end": "2ep", "update_interval": "1ba"},
}
# The head's share of the table of tokens is a layer of its own upstream: shares and a rank that leave it alone.
BERT = {
    "factorize": {"min_features": 16, "latent_features": 11},
    "gated_linear_units": {},
    "layer_freezing": {"freeze_start": 0.0, "freeze_level": 0.28},
}
ALGORITHMS = {"gpt2": BOTH, "bert": dict(sorted((BOTH | BERT).items()))}
MODELS = {"gpt2": {"name": "gpt2", "vocab_size": WORDS, "n_layer": LAYERS, "n_head": HEADS, "n_embd": WIDTH},
          "bert": {"name": "bert", "vocab_size": WORDS, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
                   "hidden_size": WIDTH, "dropout": 0.0}}
# Where the answers are others on purpose: docs/differences.md.
DIFFER = {"gpt2": frozenset({("layer_freezing", "swa")}), "bert": frozenset({("factorize", "gated_linear_units")})}
HEAD = {"gpt2": "h.0.attn.c_attn.weight", "bert": "bert.encoder.layer.0.attention.self.query.weight"}


def linear(path, into, out, bias=True, swapped=False):
    """{name: shape} of a product; GPT-2's have (in, out)."""
    return {f"{path}.weight": (into, out) if swapped else (out, into)} | ({f"{path}.bias": (out,)} if bias else {})


def norm(path):
    return {f"{path}.weight": (WIDTH,), f"{path}.bias": (WIDTH,)}


def narrow(path, into, out, bias=True):
    """A product, whole and factorized."""
    rank = ALGORITHMS["bert"]["factorize"]["latent_features"]
    return linear(path, into, out, bias) | linear(f"{path}.0", into, rank, False) | linear(f"{path}.1", rank, out, bias)


def gpt2():
    found = {"wte.weight": (WORDS, WIDTH), "wpe.weight": (LENGTH, WIDTH)} | norm("ln_f")
    for k in range(LAYERS):
        found |= norm(f"h.{k}.ln_1") | norm(f"h.{k}.ln_2")
        for path, into, out in (("attn.c_attn", 1, 3), ("attn.c_proj", 1, 1), ("mlp.c_fc", 1, 4), ("mlp.c_proj", 4, 1)):
            found |= linear(f"h.{k}.{path}", into * WIDTH, out * WIDTH, swapped=True)
    return found


def bert():
    found = {f"bert.embeddings.{n}_embeddings.weight": (rows, WIDTH)
             for n, rows in (("word", WORDS), ("position", LENGTH), ("token_type", 2))} | norm("bert.embeddings.LayerNorm")
    for k in range(LAYERS):
        layer = f"bert.encoder.layer.{k}"
        for part in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
            found |= linear(f"{layer}.{part}", WIDTH, WIDTH)
        found |= narrow(f"{layer}.intermediate.dense", WIDTH, 4 * WIDTH) | narrow(f"{layer}.output.dense", 4 * WIDTH, WIDTH)
        found |= narrow(f"{layer}.output.gated_layer", WIDTH, 4 * WIDTH, False)
        found |= narrow(f"{layer}.output.non_gated_layer", WIDTH, 4 * WIDTH, False)
        found |= narrow(f"{layer}.output.wo", 4 * WIDTH, WIDTH) | norm(f"{layer}.output.layernorm")
        found |= norm(f"{layer}.attention.output.LayerNorm") | norm(f"{layer}.output.LayerNorm")
    return found | linear("cls.predictions.transform.dense", WIDTH, WIDTH) | norm("cls.predictions.transform.LayerNorm") | {
        "cls.predictions.bias": (WORDS,)}


def weight(name, shape):
    """Positions begin at 0, where ALiBi leaves them."""
    name = name.removeprefix("transformer.")
    if name.startswith(("wpe", "bert.embeddings.position")):
        return array.array("f", [0.0]) * (shape[0] * shape[1])
    return twin.weight(name.replace("ln_", "norm").replace("LayerNorm", "norm").replace("layernorm", "norm"), shape)


def weights(model):
    """{name: (shape, values)}: all names that a weight may have, whichever algorithms change the network."""
    return {name: (shape, weight(name, shape)) for name, shape in (gpt2() if model == "gpt2" else bert()).items()}


def data():
    """Tokens (SAMPLES, LENGTH), which mostly count on, and what each is to become."""
    noise = twin.numbers(7, SAMPLES * (LENGTH + 1))
    rows = [[int((k * 5 + j * 3 + (noise[k * (LENGTH + 1) + j] > 0.3)) % WORDS) for j in range(LENGTH + 1)] for k in range(SAMPLES)]
    return array.array("i", itertools.chain(*(r[:-1] for r in rows))), array.array("i", itertools.chain(*(r[1:] for r in rows)))
