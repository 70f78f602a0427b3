/* split.c - pre-tokenizers: a text goes depth first through all steps, and each last piece to the model. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tables.h"
#include "unicode.h"

/* ---- what becomes of matches and of what is between them ---- */

/* A piece is held back until it is known whether the next one joins it. */
typedef struct cutter {
    tokenizer_encoder *e;
    const split_step *step;
    const char *text;
    uint32_t next; /* number of the next step */
    bool first;
    bool held, held_match, last_match;
    uint64_t begin, end; /* of what is held */
    tutti_status status;
    tutti_error *err;
} cutter;

static void cutter_emit(cutter *c, uint64_t begin, uint64_t end)
{
    if (c->status == TUTTI_OK && end > begin)
        c->status = split_run(c->e, c->next, c->text + begin, end - begin,
                              c->first && begin == 0, c->err);
}

static void cutter_end(cutter *c)
{
    if (c->held)
        cutter_emit(c, c->begin, c->end);
    c->held = false;
}

/* true: what comes belongs to what is held. */
static bool cutter_joins(const cutter *c, bool match)
{
    switch (c->step->behavior) {
    case SPLIT_CONTIGUOUS:
        return match == c->held_match;
    case SPLIT_WITH_PREVIOUS:
        return match && !c->last_match;
    case SPLIT_WITH_NEXT:
        return !match && c->held_match;
    default:
        return false;
    }
}

static void cutter_add(cutter *c, uint64_t begin, uint64_t end, bool match)
{
    if (begin == end)
        return;
    match = match != c->step->invert;
    if (c->step->behavior == SPLIT_REMOVED && match)
        return;
    if (c->held && cutter_joins(c, match)) {
        c->end = end;
    } else {
        cutter_end(c);
        c->begin = begin;
        c->end = end;
        c->held = true;
    }
    c->held_match = match;
    c->last_match = match;
}

static tutti_status split_by_pattern(cutter *c, uint64_t size)
{
    for (uint64_t at = 0, begin = 0, end = 0; at < size && c->status == TUTTI_OK; at = end) {
        c->status = pattern_find(c->step->pattern, c->e->match, c->text, size, at, &begin, &end,
                                 c->err);
        if (c->status)
            break;
        cutter_add(c, at, begin, false);
        cutter_add(c, begin, end, true);
    }
    cutter_end(c);
    return c->status;
}

static tutti_status split_by_class(cutter *c, uint64_t size, bool (*is)(uint32_t))
{
    uint64_t gap = 0;
    uint32_t n;
    for (uint64_t at = 0; at < size && c->status == TUTTI_OK; at += n) {
        if (!is(unicode_read(c->text, size, at, &n)))
            continue;
        cutter_add(c, gap, at, false);
        cutter_add(c, at, at + n, true);
        gap = at + n;
    }
    cutter_add(c, gap, size, false);
    cutter_end(c);
    return c->status;
}

static tutti_status split_by_mark(cutter *c, uint64_t size)
{
    const uint64_t n = strlen(c->step->mark);
    uint64_t gap = 0;
    for (uint64_t at = 0; at < size && c->status == TUTTI_OK;) {
        if (size - at < n || memcmp(c->text + at, c->step->mark, n) != 0) {
            at++;
            continue;
        }
        cutter_add(c, gap, at, false);
        cutter_add(c, at, at + n, true);
        gap = at += n;
    }
    cutter_add(c, gap, size, false);
    cutter_end(c);
    return c->status;
}

/* ---- the steps that change the text as well ---- */

static tutti_status split_metaspace(cutter *c, const split_step *s, uint64_t size)
{
    bytes *to = &c->e->scratch[c->next - 1];
    const uint64_t n = strlen(s->mark);
    to->size = 0;
    for (uint64_t at = 0; at < size; at++)
        if (c->text[at] == ' ')
            bytes_add(to, s->mark, n);
        else
            bytes_add(to, c->text + at, 1);
    const bool there = to->size >= n && memcmp(to->data, s->mark, n) == 0;
    if (!there && (s->prepend == SPLIT_ALWAYS || (s->prepend == SPLIT_FIRST && c->first)) &&
        bytes_reserve(to, n)) {
        memmove(to->data + n, to->data, to->size);
        memcpy(to->data, s->mark, n);
        to->size += n;
    }
    if (to->lacks)
        return tokenizer_no_memory(c->err);
    c->text = to->data;
    if (s->behavior == SPLIT_WITH_NEXT)
        return split_by_mark(c, to->size);
    cutter_emit(c, 0, to->size);
    return c->status;
}

/* Behind the expression, if there is one: each piece is spelled in characters for bytes. */
static tutti_status split_spell(cutter *c, uint64_t begin, uint64_t end)
{
    bytes *to = &c->e->scratch[c->next - 1];
    to->size = 0;
    byte_level_add(to, c->text + begin, end - begin);
    return to->lacks
               ? tokenizer_no_memory(c->err)
               : split_run(c->e, c->next, to->data, to->size, c->first && begin == 0, c->err);
}

static tutti_status split_byte_level(cutter *c, const split_step *s, uint64_t size)
{
    bytes *spaced = &c->e->spaced[c->next - 1];
    if (s->add_space && c->text[0] != ' ') {
        spaced->size = 0;
        bytes_add(spaced, " ", 1);
        bytes_add(spaced, c->text, size);
        if (spaced->lacks)
            return tokenizer_no_memory(c->err);
        c->text = spaced->data;
        size++;
    }
    if (!s->pattern)
        return split_spell(c, 0, size);
    for (uint64_t at = 0, begin, end; at < size && c->status == TUTTI_OK; at = end) {
        c->status =
            pattern_find(s->pattern, c->e->match, c->text, size, at, &begin, &end, c->err);
        if (c->status == TUTTI_OK && begin > at)
            c->status = split_spell(c, at, begin);
        if (c->status == TUTTI_OK && end > begin)
            c->status = split_spell(c, begin, end);
    }
    return c->status;
}

/* White space goes, each mark of punctuation stands alone. */
static tutti_status split_bert(cutter *c, uint64_t size)
{
    uint64_t gap = 0;
    uint32_t n;
    for (uint64_t at = 0; at < size; at += n) {
        const uint32_t code = unicode_read(c->text, size, at, &n);
        const bool punctuation = unicode_is_punctuation(code);
        if (!punctuation && !unicode_is_space(code))
            continue;
        cutter_emit(c, gap, at);
        if (punctuation)
            cutter_emit(c, at, at + n);
        gap = at + n;
    }
    cutter_emit(c, gap, size);
    return c->status;
}

tutti_status split_run(tokenizer_encoder *e, uint32_t step, const char *text, uint64_t size,
                       bool first, tutti_error *err)
{
    if (step == e->t->split.count)
        return model_encode(e, text, size, err);
    const split_step *s = &e->t->split.steps[step];
    cutter c = {.e = e, .step = s, .text = text, .next = step + 1, .first = first, .err = err};
    switch (s->kind) {
    case SPLIT_BYTE_LEVEL:
        return split_byte_level(&c, s, size);
    case SPLIT_METASPACE:
        return split_metaspace(&c, s, size);
    case SPLIT_BERT:
        return split_bert(&c, size);
    case SPLIT_WHITESPACE:
        return split_by_class(&c, size, unicode_is_space);
    case SPLIT_DIGITS:
        return split_by_class(&c, size, unicode_is_number);
    case SPLIT_PUNCTUATION:
        return split_by_class(&c, size, unicode_is_punctuation);
    case SPLIT_DELIMITER:
        return split_by_mark(&c, size);
    default:
        return split_by_pattern(&c, size);
    }
}
