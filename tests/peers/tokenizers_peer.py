#!/usr/bin/env python3
"""tokenizers_peer.py - trains small tokenizers with the package `tokenizers`, and records the ids that it gives.

    tokenizers_peer.py record FOLDER          writes FAMILY.json for each family, ids.json: texts and their ids, and
                                              megabyte.json: how many ids a long text has, and their hash
    tokenizers_peer.py compare PROGRAM BYTES  trains on a text of so many bytes and compares PROGRAM's ids with the package's
"""
import hashlib, json, os, random, subprocess, sys, tempfile, time, unicodedata
from pathlib import Path
import tokenizers
import tokenizers_text
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
SENTENCES = """The ship's crew can't sail before dawn, and they'll wait until 6:45 -- or 18,000 waves, whichever's first.
Das Mädchen läuft über die Brücke; Größe 42½, Preis 19,99 €, „sehr schön“!
L'été, les élèves naïfs mangent des crêpes à l'œuf au café d'à côté.
El niño soñó con pingüinos: ¿dónde está mañana el camión?
Żółta gęś pływała po łące. İstanbul'da ılık bir akşam, ışıklar söndü.
Вечером ветер шумел ёлками, а кот спал на подоконнике. Її їжак їсть ґрунт.
Η γάτα κοιμάται στο μπαλκόνι· ΌΛΟΙ ΟΙ ΦΊΛΟΙ ΉΡΘΑΝ.
شربت القهوة في الصباح ثم مشيت إلى السوق، ٣٤٥ خطوة. כלב גדול רץ ליד הנהר, שָׁלוֹם.
आज मौसम बहुत अच्छा है, हम नदी के किनारे चलेंगे। தமிழ் மொழி இனிமையானது.
今日は天気がいいので、公園で本を読みました。カタカナ、ｶﾅ、Ｆｕｌｌ ｗｉｄｔｈ。
我们明天去山上看日出，你要不要一起来？價格是３２０元。
오늘은 비가 와서 집에서 책을 읽었다. 바람이 분다.
วันนี้อากาศดีมาก เราไปเดินเล่นกันเถอะ
def f(x):\n\treturn {\'a\': x**2 + 1_000}  # 100% sure?\n\n\n    if a != b and c<=d: pass
👩‍👩‍👧 walked 🐕‍🦺 in 🇫🇷 with 👍🏽!!! ①②Ⅳ ﬁne ﷺ x² ½ ™ … ‘quoted’ “double” ―dash
cafe\u0301 n\u0303 a\u0323\u0307 o\u0307\u0323 \u1e9b\u0323 \u212b \u00c5 Z\u0351\u036b\u0343\u036a\u0302\u036b\u033d\u034f\u0334\u0319\u0324
""".replace("\\n", "\n").replace("\\t", "\t").replace("\\'", "'").encode().decode().split("\n")
ODD = ["", " ", "   ", "\n", "\r\n", " \n \n", "a  b   c    d", "\t\tx \t y", "trailing   ", "   leading",
       "\u00a0x\u00a0 \u3000y\u2003z\u200b\u200dw\u2028v\u0085u\u180ea", "a" * 300, "ab " * 40, "!" * 70, "9" * 23,
       "\u0301", "\u0301\u0301a\u0327\u0301", "e\u0301" * 12, "\U0001f600" * 9, "\ufffd\ufeffx\u00ady\u0000z\u0001\u007f",
       "\u4e2d\u6587English\u6df7\u5408 text\u3002", "It's IT'S it\u2019S don'T we'LL \u017f'\u017f k\u212a'\u0130i\u0307",
       "<s>", "a<s>b", " <s> x </s>  y", "<|end|><|end|>", "x <|end|> y<|start|>user\nhi<|end|>\n", "[MASK]", "the [MASK] is",
       "[CLS]a[SEP]", "a [mask] b", "<extra_id_0> and<extra_id_1>", "unknown\U00012000\U00013000\u4dff\ua000 script",
       "\u2581a \u2581b", "##a ##b", "<0x41> <0xff>", "New York newyork NEW YORK", "x<tool>y <tool> z", "100000 1234567 3.14e-10",
       "a\u1abfb \u1885\u1886 \u2e43 x\u0890y \u08d3 \U00011070z"]


def text_of(size, seed=7):
    """A text of words of all the sentences, with odd spaces, characters and cases."""
    r = random.Random(seed)
    words = [w for s in SENTENCES for w in s.split(" ") if w]
    out, n = [], 0
    while n < size:
        k = r.random()
        w = r.choice(words)
        if k < .03:
            w = "".join(chr(c) for c in (r.randrange(0x20, 0x30000) for _ in range(r.randrange(1, 4)))
                        if unicodedata.category(chr(c)) not in ("Cs", "Cn"))
        elif k < .06:
            w = w.upper()
        elif k < .08:
            w = str(r.randrange(10 ** r.randrange(1, 9)))
        elif k < .085:
            w = r.choice(ODD)
        elif k < .1:
            w = r.choice(SENTENCES)
        w += r.choice([" "] * 20 + ["  ", "\n", "\n\n", ", ", "", ". ", "\t", " - "])
        out.append(w)
        n += len(w.encode())
    return "".join(out)


def bpe(train, size, pre, normalizer=None, specials=("<|start|>", "<|end|>"), **model):
    t = Tokenizer(models.BPE(**model))
    if normalizer:
        t.normalizer = normalizer
    t.pre_tokenizer, t.decoder = pre, decoders.ByteLevel()
    t.train_from_iterator(train, trainers.BpeTrainer(vocab_size=size, special_tokens=list(specials), show_progress=False,
                                                     initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return t


def gpt2(train, size):
    t = bpe(train, size, pre_tokenizers.ByteLevel(add_prefix_space=False))
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    t.add_tokens([AddedToken("<tool>", single_word=True)])
    return t


def split(pattern):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"),
                                    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def llama3(train, size):
    t = bpe(train, size, split(LLAMA3), specials=("<s>", "</s>", "<|start|>", "<|end|>"), ignore_merges=True)
    t.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 0)])])
    return t


def qwen(train, size):
    t = bpe(train, size, split(QWEN), normalizers.NFC())
    t.add_tokens([AddedToken("<tool>", normalized=True), AddedToken("New York", normalized=True)])
    return t


def bert(train, size):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer, t.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece()
    t.train_from_iterator(train, trainers.WordPieceTrainer(vocab_size=size, show_progress=False, limit_alphabet=400,
                                                           special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]))
    t.add_special_tokens([AddedToken("[MASK]", lstrip=True, special=True)])
    t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
                                                     special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return t


def bert_cased(train, size):
    t = bert(train, size)
    t.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False, handle_chinese_chars=True)
    t.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return t


def charsmap():
    """SentencePiece's map nmt_nfkc, as T5 has it; none where the package is not there."""
    try:
        import io, sentencepiece
        from sentencepiece import sentencepiece_model_pb2 as pb
    except ImportError:
        return None
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(SENTENCES * 3), model_writer=model, vocab_size=400,
                                             hard_vocab_limit=False, normalization_rule_name="nmt_nfkc",
                                             minloglevel=2)
    m = pb.ModelProto()
    m.ParseFromString(model.getvalue())
    return m.normalizer_spec.precompiled_charsmap


def t5(train, size, whole_map=False):
    t = Tokenizer(models.Unigram())
    precompiled = charsmap() if whole_map else None
    t.normalizer = normalizers.Precompiled(precompiled) if precompiled else normalizers.Sequence(
        [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    t.decoder = decoders.Metaspace()
    t.train_from_iterator(train, trainers.UnigramTrainer(vocab_size=size, unk_token="<unk>", show_progress=False,
                                                         special_tokens=["<pad>", "</s>", "<unk>", "<extra_id_0>", "<extra_id_1>"]))
    t.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)])
    return t


def llama2(train, size):
    """SentencePiece's byte-pair encoding, as converted: no pre-tokenizer, bytes for what is unknown."""
    specials = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)]
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    t.train_from_iterator(train, trainers.BpeTrainer(vocab_size=size + 256, special_tokens=specials, limit_alphabet=150,
                                                     show_progress=False))
    raw = json.loads(t.to_str())
    raw["added_tokens"] = raw["added_tokens"][:3]
    raw["pre_tokenizer"] = None
    t = Tokenizer.from_str(json.dumps(raw))
    t.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    t.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(),
                                   decoders.Strip(" ", 1, 0)])
    t.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)])
    return t


def words(train, size):
    """The steps that no family above has."""
    t = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    t.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase(),
                                         normalizers.Strip()])
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=True),
                                               pre_tokenizers.Punctuation("merged_with_previous")])
    t.decoder = decoders.BPEDecoder()
    t.train_from_iterator(train, trainers.BpeTrainer(vocab_size=size, special_tokens=["<unk>"], end_of_word_suffix="</w>",
                                                     limit_alphabet=120, show_progress=False))
    return t


FAMILIES = {f.__name__: f for f in (gpt2, llama3, qwen, bert, bert_cased, t5, llama2, words)}


def record(folder):
    out = {"tokenizers": tokenizers.__version__, "texts": SENTENCES + ODD, "families": {}}
    for name, make in FAMILIES.items():
        t = make(SENTENCES * 4, 420)
        Path(folder, name + ".json").write_text(json.dumps(json.loads(t.to_str()), ensure_ascii=True, separators=(",", ":")))
        ids = [t.encode(s).ids for s in out["texts"]]
        out["families"][name] = {
            "ids": ids, "plain": [t.encode(s, add_special_tokens=False).ids for s in out["texts"]],
            "text": [t.decode(i, skip_special_tokens=False) for i in ids], "skipped": [t.decode(i) for i in ids]}
    Path(folder, "ids.json").write_text(json.dumps(out, ensure_ascii=True, separators=(",", ":")))


def hashed(ids):
    """How many ids there are, and the hash of a line for each."""
    return [len(ids), hashlib.sha256("".join(f"{i}\n" for i in ids).encode()).hexdigest()]


def record_megabyte(folder, size=1_000_000):
    """Of the tokenizers in the folder, not of fresh ones: the package trains none twice alike."""
    text = tokenizers_text.text_of(size)
    out = {"tokenizers": tokenizers.__version__, "bytes": size, "text": hashlib.sha256(text.encode()).hexdigest(),
           "families": {}}
    for name in FAMILIES:
        t = Tokenizer.from_file(str(Path(folder, name + ".json")))
        by_line = [i for e in t.encode_batch_fast(text.split("\n")) for i in e.ids]
        out["families"][name] = [hashed(t.encode(text).ids), hashed(by_line)]
    Path(folder, "megabyte.json").write_text(json.dumps(out, indent=1) + "\n")


def judge(name, tokenizer, encode, program, path, data, how):
    """Compares the ids, and the time of both on one thread; prints a line."""
    start = time.perf_counter()
    want = encode()
    theirs = time.perf_counter() - start
    done = subprocess.run([program, path, data, *how], capture_output=True, text=True)
    if done.returncode:
        print(f"{name}: {done.stderr}")
        return 1
    ours, got = float(done.stderr.split()[-1]), [int(x) for x in done.stdout.split()]
    same = want == got
    first = next((k for k, (a, b) in enumerate(zip(want, got)) if a != b), min(len(want), len(got)))
    print(f"{name} {'by lines' if how else 'whole'}: {len(want)} ids, {'equal' if same else f'DIFFERENT at {first}'}; package "
          f"{len(want) / theirs / 1e6:.2f} M ids/s, ours {len(got) / ours / 1e6:.2f}, ratio {theirs / ours:.1f}")
    if not same:
        print("  want", [tokenizer.id_to_token(i) for i in want[first - 3:first + 6]], want[first - 3:first + 6])
        print("  got ", [tokenizer.id_to_token(i) for i in got[first - 3:first + 6]], got[first - 3:first + 6])
    return not same


def compare(program, size):
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    bad, train, text = 0, text_of(200_000, 1).split("\n"), text_of(size)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "text")
        data.write_text(text, newline="")
        for name, make in FAMILIES.items():
            t = make(train, 6000, True) if name == "t5" else make(train, 6000)
            path = Path(folder, name + ".json")
            path.write_text(t.to_str())
            bad += judge(name, t, lambda: t.encode(text).ids, program, path, data, [])
            lines = text.split("\n")
            bad += judge(name, t, lambda: [i for e in t.encode_batch_fast(lines) for i in e.ids], program, path, data, ["lines"])
    return bad


if __name__ == "__main__":
    if sys.argv[1] == "record":
        record(sys.argv[2])
        record_megabyte(sys.argv[2])
    else:
        sys.exit(compare(sys.argv[2], int(sys.argv[3])))
