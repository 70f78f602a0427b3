/* decode_read.c - what a tokenizer.json says of its decoders, and the text of each token by itself. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "decode.h"

static void decode_read_step(decode_step *s, const part *p)
{
    static const char *const schemes[] = {"always", "never", "first", NULL};
    switch (s->kind) {
    case DECODE_WORDPIECE:
        s->text = part_text(p, "prefix", "##");
        s->cleanup = part_bool(p, "cleanup", true);
        break;
    case DECODE_METASPACE:
        s->text = part_text(p, "replacement", "\xe2\x96\x81");
        s->keep_first = part_word(p, "prepend_scheme", schemes,
                                  part_bool(p, "add_prefix_space", true) ? 0 : 1) == 1;
        break;
    case DECODE_BPE:
        s->text = part_text(p, "suffix", "</w>");
        break;
    case DECODE_STRIP:
        s->text = part_wanted_text(p, "content");
        s->start = part_int(p, "start", 0);
        s->stop = part_int(p, "stop", 0);
        if (!*s->text)
            part_fail(p, TUTTI_E_FORMAT, "\"content\" is empty, want one character");
        break;
    case DECODE_REPLACE:
        s->pattern = pattern_of(p);
        s->content = part_wanted_text(p, "content");
        break;
    default:
        break;
    }
}

static void decode_read_one(void *d, const part *p)
{
    decode_read(d, p);
}

void decode_read(decode *d, const part *p)
{
    static const char *const names[] = {"ByteLevel",    "WordPiece", "Metaspace", "BPEDecoder",
                                        "ByteFallback", "Fuse",      "Strip",     "Replace"};
    if (!p->json || *p->status)
        return;
    const char *type = part_type(p);
    if (strcmp(type, "Sequence") == 0) {
        part_each(p, "decoders", d, decode_read_one);
        return;
    }
    if (d->count == TOKENIZER_STEPS) {
        part_fail(p, TUTTI_E_UNSUPPORTED, "has more than %d steps", TOKENIZER_STEPS);
        return;
    }
    for (int k = 0; k < (int)(sizeof names / sizeof *names); k++)
        if (strcmp(names[k], type) == 0) {
            decode_step *s = &d->steps[d->count++];
            s->kind = (decode_kind)k;
            decode_read_step(s, p);
            return;
        }
    part_fail(p, TUTTI_E_UNSUPPORTED, "the type \"%.80s\" is not known here", type);
}

void decode_free(decode *d)
{
    for (uint32_t k = 0; k < d->count; k++)
        pcre2_code_free(d->steps[k].pattern);
}

/* ---- each token by itself ---- */

/* What a token stands for inside a text.  Bytes stay bytes: a part of a character is none. */
static void decode_alone(const decode *d, const char *text, bytes *to)
{
    bytes now = {0}, next = {0};
    bytes_text(&now, text);
    for (uint32_t k = 0; k < d->count; k++) {
        const decode_step *s = &d->steps[k];
        const int byte =
            s->kind == DECODE_BYTE_FALLBACK ? decode_named_byte(now.data, now.size) : -1;
        next.size = 0;
        if (s->kind == DECODE_BYTE_LEVEL)
            decode_spelled(now.data, now.size, &next);
        else if (byte >= 0)
            bytes_add(&next, &(char){(char)byte}, 1);
        else if (s->kind == DECODE_STRIP && k && d->steps[k - 1].kind == DECODE_FUSE)
            bytes_add(&next, now.data, now.size); /* strips the whole text, not a token of it */
        else
            decode_token(s, now.data ? now.data : "", now.size, false, false, &next);
        const bytes swap = now;
        now = next;
        next = swap;
    }
    if (!d->count && to->size) /* without a decoder, tokens stand apart */
        bytes_add(to, " ", 1);
    bytes_add(to, now.data, now.size);
    to->lacks = to->lacks || now.lacks || next.lacks;
    bytes_free(&now);
    bytes_free(&next);
}

tutti_status decode_table(tokenizer *t, tutti_error *err)
{
    bytes all = {0};
    t->texts_at = calloc((size_t)t->size + 1, sizeof *t->texts_at);
    if (!t->texts_at)
        return tokenizer_no_memory(err);
    bytes_add(&all, "", 1); /* there is always something to point to */
    for (int64_t k = 0; k < t->size; k++) {
        t->texts_at[k] = all.size;
        if (t->spelling[k])
            decode_alone(&t->decode, t->spelling[k], &all);
    }
    t->texts_at[t->size] = all.size;
    t->texts = all.data;
    return all.lacks ? tokenizer_no_memory(err) : TUTTI_OK;
}

tutti_status tokenizer_decode(const tokenizer *t, const int32_t *ids, uint64_t count, int skip,
                              char **ret, uint64_t *ret_size, tutti_error *err)
{
    texts in = {0}, spare = {0};
    tutti_status s = TUTTI_OK;
    for (uint64_t k = 0; k < count && s == TUTTI_OK; k++) {
        if (ids[k] < 0 || ids[k] >= t->size || !t->spelling[ids[k]])
            s = tutti_fail(err, TUTTI_E_RANGE, "%s: there is no token %d", t->path, ids[k]);
        else if (!(skip && t->is_special[ids[k]])) {
            if (!t->decode.count && in.count)
                bytes_add(&in.all, " ", 1);
            bytes_text(&in.all, t->spelling[ids[k]]);
            texts_end(&in);
        }
    }
    if (s == TUTTI_OK) {
        texts *out = decode_run(&t->decode, &in, &spare);
        const uint64_t size = out->all.size;
        bytes_add(&out->all, "", 1);
        if (out->all.lacks) {
            s = tokenizer_no_memory(err);
        } else {
            *ret = out->all.data;
            *ret_size = size;
            out->all.data = NULL;
        }
    }
    texts_free(&in);
    texts_free(&spare);
    return s;
}
