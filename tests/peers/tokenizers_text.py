"""tokenizers_text.py FILE BYTES - writes a text of many scripts, the same one by every Python.

Characters are drawn from Unicode 3.2 alone, which Python keeps and every later table agrees with on what is assigned."""
# SPDX-License-Identifier: Apache-2.0
import sys
import unicodedata

SENTENCES = """The ship's crew can't sail before dawn, and they'll wait until 6:45 -- or 18,000 waves, whichever's first.
Das Mädchen läuft über die Brücke; Größe 42½, Preis 19,99 €, „sehr schön“!
L'été, les élèves naïfs mangent des crêpes à l'œuf au café d'à côté. ¿Dónde está mañana el camión?
Żółta gęś pływała po łące. İstanbul'da ılık bir akşam, ışıklar söndü.
Вечером ветер шумел ёлками, а кот спал. Її їжак їсть ґрунт. Η γάτα κοιμάται· ΌΛΟΙ ΟΙ ΦΊΛΟΙ.
شربت القهوة في الصباح، ٣٤٥ خطوة. כלב גדול רץ ליד הנהר, שָׁלוֹם.
आज मौसम बहुत अच्छा है। தமிழ் மொழி இனிமையானது. วันนี้อากาศดีมาก เราไปเดินเล่นกันเถอะ
今日は天気がいいので、公園で本を読みました。ｶﾅ、Ｆｕｌｌ。 我们明天去山上看日出。價格是３２０元。 오늘은 비가 와서 책을 읽었다.
def f(x): return {'a': x**2 + 1_000}  # 100% sure? if a != b and c<=d: pass
①②Ⅳ ﬁne ﷺ x² ½ ™ … ‘quoted’ “double” ―dash cafe\u0301 n\u0303 a\u0323\u0307 \u212b Z\u0351\u0334 👍 <s> [MASK] <|end|>"""
ENDS = [" "] * 20 + ["  ", "\n", "\n\n", ", ", "", ". ", "\t", " - ", "\u00a0", "\u3000"]


class Draws:
    """Knuth's MMIX generator: numbers that depend on no library."""

    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2 ** 64
        return (self.state >> 33) % n


def text_of(size, seed=7):
    draws, known = Draws(seed), unicodedata.ucd_3_2_0
    words = [w for s in SENTENCES.split("\n") for w in s.split(" ") if w]
    letters = [chr(c) for c in range(0x20, 0x30000) if known.category(chr(c)) not in ("Cs", "Cn", "Co")]
    out, n = [], 0
    while n < size:
        kind, word = draws.below(1000), words[draws.below(len(words))]
        if kind < 30:
            word = "".join(letters[draws.below(len(letters))] for _ in range(1 + draws.below(3)))
        elif kind < 60:
            word = "".join(c.upper() if c < "\x80" else c for c in word)
        elif kind < 80:
            word = str(draws.below(10 ** (1 + draws.below(8))))
        word += ENDS[draws.below(len(ENDS))]
        out.append(word)
        n += len(word.encode())
    return "".join(out)


if __name__ == "__main__":
    with open(sys.argv[1], "w", encoding="utf-8", newline="") as f:
        f.write(text_of(int(sys.argv[2])))
