"""draws.py - the random draws of a run, as sdk/include/tutti/rng.h and the algorithms' READMEs have them: for recorders
that let other implementations draw the same."""
# SPDX-License-Identifier: Apache-2.0
import math

MASK, TRANSFORM, PLUGIN = 0xFFFFFFFF, 3, 0x40000000


def philox(counter, key):
    """Philox4x32-10."""
    c, k = list(counter), list(key)
    for _ in range(10):
        p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [q >> 32 ^ c[1] ^ k[0], q & MASK, p >> 32 ^ c[3] ^ k[1], p & MASK]
        k = [k[0] + 0x9E3779B9 & MASK, k[1] + 0xBB67AE85 & MASK]
    return c


def hashed(text):
    """64-bit FNV-1a."""
    h = 14695981039346656037
    for byte in text.encode():
        h = (h ^ byte) * 1099511628211 & 0xFFFFFFFFFFFFFFFF
    return h


class Stream:
    """Draws of the algorithm `who` in the first microbatch of batch `step`; of another kind and place where those are given."""

    def __init__(self, seed, who, step, kind=PLUGIN, place=0):
        self.seed, self.purpose, self.step, self.index, self.words = seed, kind ^ hashed(who) & MASK, step, place << 24, []

    def u32(self):
        if not self.words:
            key = self.seed & MASK ^ self.purpose * 0x9E3779B1 & MASK, self.seed >> 32 ^ self.purpose
            self.words = philox((self.index & MASK, self.index >> 32, self.step & MASK, self.step >> 32), key)
            self.index += 1
        return self.words.pop(0)

    def uniform(self):
        return unit(self.u32(), self.u32())

    def below(self, n):
        while True:
            m = self.u32() * n
            if m & MASK >= (1 << 32) % n:
                return m >> 32

    def order(self, n):
        """0 to n - 1, shuffled by Fisher and Yates."""
        found = list(range(n))
        for k in range(n, 1, -1):
            j = self.below(k)
            found[k - 1], found[j] = found[j], found[k - 1]
        return found

    def beta(self, alpha):
        """From Beta(alpha, alpha), alpha above 0: of two gamma draws."""
        a, b = self.log_gamma(alpha), self.log_gamma(alpha)
        return 1 / (1 + math.exp(b - a))

    def log_gamma(self, shape):
        """By Marsaglia and Tsang."""
        boost = math.log(1 - self.uniform()) / shape if shape < 1 else 0.0
        d = (shape + 1 if shape < 1 else shape) - 1 / 3
        c = 1 / math.sqrt(9 * d)
        while True:
            a, b, v, w = (self.u32() for _ in range(4))
            x = math.sqrt(-2 * math.log(1 - unit(a, b))) * math.cos(2 * math.pi * unit(v, w))
            v = (1 + c * x) ** 3
            if v > 0 and math.log(1 - self.uniform()) < 0.5 * x * x + d - d * v + d * math.log(v):
                return boost + math.log(d * v)

    def ranks(self, samples, keep, count):
        """Which of the sorted losses selective backprop trains on, by Efraimidis and Spirakis."""
        chance = [((k + 0.5) / samples) ** (1 / keep - 1) for k in range(samples)]
        keys = [-math.log(1 - self.uniform()) / c for c in chance]
        return sorted(sorted(range(samples), key=lambda k: (keys[k], k))[:count])


def unit(high, low):
    return ((high << 32 | low) >> 11) / 9007199254740992
