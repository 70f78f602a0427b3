/* weight_source.c - a file of weights, by the names that a model has: prefixes, other names, tensors to be joined. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/pretrained/weight_source.h"

#include "train/pretrained/name_pattern.h"

#include <stdio.h>
#include <string.h>

/* What files put before the names: nothing, our own checkpoints, whole models of transformers. */
static const char *const prefixes[] = {"", "model.", "transformer."};
enum { PREFIXES = sizeof prefixes / sizeof *prefixes };

/* What the weights of norms are called in the first files of BERT. */
static const struct {
    const char *now, *then;
} renamed[] = {{"LayerNorm.weight", "LayerNorm.gamma"}, {"LayerNorm.bias", "LayerNorm.beta"}};
enum { RENAMED = sizeof renamed / sizeof *renamed };

static bool find_renamed(const checkpoint *c, const char *name, tutti_tensor *ret)
{
    for (int k = 0; k < RENAMED; k++) {
        const size_t tail = strlen(renamed[k].now), length = strlen(name);
        char then[NAME_SIZE];
        if (length < tail || strcmp(name + length - tail, renamed[k].now) != 0)
            continue;
        (void)snprintf(then, sizeof then, "%.*s%s", (int)(length - tail), name,
                       renamed[k].then);
        return checkpoint_find(c, then, ret, NULL) == TUTTI_OK;
    }
    return false;
}

/* A name that is too long is in no file. */
static bool find_tensor(const weight_source *s, const char *path, tutti_tensor *ret)
{
    char name[NAME_SIZE];
    if (snprintf(name, sizeof name, "%s%s", s->prefix, path) >= (int)sizeof name)
        return false;
    return find_renamed(s->file, name, ret) ||
           checkpoint_find(s->file, name, ret, NULL) == TUTTI_OK;
}

/* ---- names ---- */

/* Adds one more tensor; false where it is not there or does not go with the others. */
static bool add_part(const weight_source *s, const char *path, source_weight *w)
{
    tutti_tensor t;
    if (w->nparts == SOURCE_PARTS || !find_tensor(s, path, &t))
        return false;
    w->parts[w->nparts++] = t;
    if (w->nparts == 1) {
        w->whole = t;
        return true;
    }
    const tutti_desc *first = &w->parts[0].desc;
    bool same = t.desc.rank == first->rank && t.desc.dtype == first->dtype && first->rank > 0;
    for (int32_t k = 1; same && k < first->rank; k++)
        same = t.desc.dim[k] == first->dim[k];
    if (same)
        w->whole.desc.dim[0] += t.desc.dim[0];
    return same;
}

/* By the value of one of `names`. */
static source_weight find_by(const weight_source *s, const json_node *value,
                             const name_stars *stars)
{
    source_weight w = {.nparts = 0};
    for (size_t k = 0; k < name_pattern_count(value); k++) {
        char name[NAME_SIZE];
        name_pattern_fill(value, k, stars, name);
        if (!add_part(s, name, &w))
            return (source_weight){.nparts = 0};
    }
    return w;
}

source_weight weight_source_find(const weight_source *s, const char *path)
{
    source_weight w = {.nparts = 0};
    name_stars stars;
    if (add_part(s, path, &w))
        return w;
    const json_node *value = name_pattern_find(s->names, path, &stars);
    return value ? find_by(s, value, &stars) : w;
}

/* ---- the file as a whole ---- */

/* The prefix under which the file has the most weights. */
static const char *prefix_of(weight_source s, const net *n)
{
    const char *best = prefixes[0];
    uint32_t most = 0;
    for (int k = 0; k < PREFIXES; k++) {
        uint32_t found = 0;
        s.prefix = prefixes[k];
        for (uint32_t w = 0; w < net_weight_count(n); w++)
            found += weight_source_find(&s, net_weight(n, w)->path).nparts > 0;
        if (found > most) {
            most = found;
            best = prefixes[k];
        }
    }
    return best;
}

/* PyTorch keeps a convolution's weight as (Cout, Cin, K, K), we keep it as (Cout, K, K, Cin). */
static bool is_channels_first(const tutti_desc *from, const tutti_desc *to)
{
    static const int32_t order[4] = {0, 3, 1, 2};
    bool fits = from->rank == 4 && to->rank == 4;
    for (int32_t k = 0; fits && k < 4; k++)
        fits = from->dim[k] == to->dim[order[k]];
    return fits;
}

/* Whether the file is PyTorch's: one weight that fits in no other way tells it for all. */
static bool has_channels_first(const weight_source *s, const net *n)
{
    for (uint32_t k = 0; k < net_weight_count(n); k++) {
        const tutti_weight *w = net_weight(n, k);
        const source_weight from = weight_source_find(s, w->path);
        if (from.nparts && !tutti_same_shape(&from.whole.desc, &w->data.desc) &&
            is_channels_first(&from.whole.desc, &w->data.desc))
            return true;
    }
    return false;
}

weight_source weight_source_of(const checkpoint *file, const json_node *names, const net *n)
{
    weight_source s = {.file = file, .names = names, .prefix = ""};
    s.prefix = prefix_of(s, n);
    s.channels_first = has_channels_first(&s, n);
    return s;
}

bool weight_source_fits(const weight_source *s, const source_weight *found,
                        const tutti_desc *want)
{
    return s->channels_first && want->rank == 4 ? is_channels_first(&found->whole.desc, want)
                                                : tutti_same_shape(&found->whole.desc, want);
}
