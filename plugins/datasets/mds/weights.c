/* weights.c - proportions of an epoch, repeats and numbers of samples, to numbers of samples. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "weights.h"

#include "numpy_rng.h"

/* A sum in the order of NumPy's: of at least eight numbers, eight sums side by side. */
static double sum_parts(const double *parts, int64_t count)
{
    double side[8] = {0}, sum = 0;
    int64_t k = 0;
    if (count >= 8) {
        for (; k + 8 <= count; k += 8)
            for (int i = 0; i < 8; i++)
                side[i] = k ? side[i] + parts[k + i] : parts[i];
        sum = ((side[0] + side[1]) + (side[2] + side[3])) +
              ((side[4] + side[5]) + (side[6] + side[7]));
    }
    for (; k < count; k++)
        sum += parts[k];
    return sum;
}

/* `size` samples by parts: each rounded down, and one more for as many streams, by chance, as it takes. */
static tutti_status share_samples(const double *parts, mds_stream *streams, int64_t count,
                                  int64_t size, uint64_t seed, tutti_error *err)
{
    const double sum = sum_parts(parts, count);
    int64_t missing = size, lucky[MDS_MAX_STREAMS];
    numpy_rng rng;
    for (int64_t k = 0; k < count; k++) {
        const double share = parts[k] / sum;
        streams[k].share = share;
        streams[k].choose = (int64_t)((double)size * share);
        missing -= streams[k].choose;
    }
    if (missing < 0 || missing > count)
        return tutti_fail(err, TUTTI_E_ARG, "mds: %lld samples cannot be shared by proportion",
                          (long long)size);
    numpy_rng_init(&rng, seed);
    const tutti_status s = numpy_rng_choice(&rng, count, missing, lucky, err);
    for (int64_t k = 0; !s && k < missing; k++)
        streams[lucky[k]].choose++;
    return s;
}

tutti_status mds_weights_apply(const mds_weight *weights, mds_stream *streams, int64_t count,
                               int64_t size, uint64_t seed, tutti_error *err)
{
    double parts[MDS_MAX_STREAMS], any = 0;
    int64_t all = 0, chosen = 0;
    int absolute = 0;
    for (int64_t k = 0; k < count; k++) {
        const mds_weight *w = &weights[k];
        mds_stream *s = &streams[k];
        all += s->samples;
        absolute = absolute || w->kind == MDS_REPEAT || w->kind == MDS_CHOOSE;
        parts[k] = w->kind == MDS_PROPORTION ? w->value : (double)s->samples;
        any += parts[k];
        s->choose = w->kind == MDS_REPEAT   ? (int64_t)(w->value * (double)s->samples)
                    : w->kind == MDS_CHOOSE ? w->choose
                                            : s->samples;
        chosen += s->choose;
    }
    if (absolute && size)
        return tutti_fail(err, TUTTI_E_ARG,
                          "mds: epoch_size is for proportions, not for repeat "
                          "and choose");
    if (any <= 0 || chosen <= 0)
        return tutti_fail(err, TUTTI_E_ARG,
                          "mds: an epoch would have no samples of any stream");
    for (int64_t k = 0; k < count; k++)
        streams[k].share = (double)streams[k].choose / (double)chosen;
    if (weights[0].kind != MDS_PROPORTION && !size)
        return TUTTI_OK;
    return share_samples(parts, streams, count, size ? size : all, seed, err);
}
