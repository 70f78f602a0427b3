/* normalize.c - normalizers: read from a tokenizer.json, and run one after the other. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tables.h"
#include "unicode.h"

/* ---- reading ---- */

static void normalize_read_strip(normalize_step *s, const part *p)
{
    s->left = part_bool(p, "strip_left", true);
    s->right = part_bool(p, "strip_right", true);
}

static void normalize_read_bert(normalize_step *s, const part *p)
{
    s->clean = part_bool(p, "clean_text", true);
    s->chinese = part_bool(p, "handle_chinese_chars", true);
    s->lowercase = part_bool(p, "lowercase", true);
    s->accents = part_bool(p, "strip_accents", s->lowercase);
}

static void normalize_read_replace(normalize_step *s, const part *p)
{
    s->pattern = pattern_of(p);
    s->content = part_wanted_text(p, "content");
}

static void normalize_read_prepend(normalize_step *s, const part *p)
{
    s->content = part_wanted_text(p, "prepend");
}

static void normalize_read_charsmap(normalize_step *s, const part *p)
{
    charsmap_read(&s->map, p);
}

static const struct {
    const char *name;
    normalize_kind kind;
    void (*read)(normalize_step *, const part *);
} kinds[] = {
    {.name = "NFC", .kind = NORMALIZE_NFC},
    {.name = "NFD", .kind = NORMALIZE_NFD},
    {.name = "NFKC", .kind = NORMALIZE_NFKC},
    {.name = "NFKD", .kind = NORMALIZE_NFKD},
    {.name = "Lowercase", .kind = NORMALIZE_LOWERCASE},
    {.name = "Strip", .kind = NORMALIZE_STRIP, .read = normalize_read_strip},
    {.name = "StripAccents", .kind = NORMALIZE_STRIP_ACCENTS},
    {.name = "BertNormalizer", .kind = NORMALIZE_BERT, .read = normalize_read_bert},
    {.name = "Replace", .kind = NORMALIZE_REPLACE, .read = normalize_read_replace},
    {.name = "Prepend", .kind = NORMALIZE_PREPEND, .read = normalize_read_prepend},
    {.name = "Precompiled", .kind = NORMALIZE_CHARSMAP, .read = normalize_read_charsmap},
    {.name = "ByteLevel", .kind = NORMALIZE_BYTE_LEVEL},
    {.name = "Nmt", .kind = NORMALIZE_NMT},
};

static void normalize_read_one(void *n, const part *p)
{
    normalize_read(n, p);
}

void normalize_read(normalize *n, const part *p)
{
    if (!p->json || *p->status)
        return;
    const char *type = part_type(p);
    if (strcmp(type, "Sequence") == 0) {
        part_each(p, "normalizers", n, normalize_read_one);
        return;
    }
    if (n->count == TOKENIZER_STEPS) {
        part_fail(p, TUTTI_E_UNSUPPORTED, "has more than %d steps", TOKENIZER_STEPS);
        return;
    }
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (strcmp(kinds[k].name, type) == 0) {
            normalize_step *s = &n->steps[n->count++];
            s->kind = kinds[k].kind;
            if (kinds[k].read)
                kinds[k].read(s, p);
            return;
        }
    part_fail(p, TUTTI_E_UNSUPPORTED, "the type \"%.80s\" is not known here", type);
}

void normalize_free(normalize *n)
{
    for (uint32_t k = 0; k < n->count; k++) {
        pcre2_code_free(n->steps[k].pattern);
        charsmap_free(&n->steps[k].map);
    }
}

/* ---- running ---- */

static void normalize_strip(const normalize_step *s, const char *text, uint64_t size, bytes *to)
{
    uint64_t begin = 0, end = 0;
    bool seen = false;
    uint32_t n;
    for (uint64_t at = 0; at < size; at += n)
        if (!unicode_is_space(unicode_read(text, size, at, &n))) {
            begin = seen ? begin : at;
            seen = true;
            end = at + n;
        }
    if (!seen && (s->left || s->right))
        return;
    begin = s->left ? begin : 0;
    end = s->right ? end : size;
    bytes_add(to, text + begin, end - begin);
}

static void normalize_accents(const char *text, uint64_t size, bytes *to)
{
    uint32_t n;
    for (uint64_t at = 0; at < size; at += n)
        if (!unicode_is_mark(unicode_read(text, size, at, &n)))
            bytes_add(to, text + at, n);
}

/* SentencePiece's "nmt": control characters go, and several kinds of space become one. */
static void normalize_nmt(const char *text, uint64_t size, bytes *to)
{
    uint32_t n;
    for (uint64_t at = 0; at < size; at += n) {
        const uint32_t c = unicode_read(text, size, at, &n);
        if ((c >= 1 && c <= 8) || c == 0xb || (c >= 0xe && c <= 0x1f) || c == 0x7f ||
            c == 0x8f || c == 0x9f)
            continue;
        if (c == 9 || c == 0xa || c == 0xc || c == 0xd || c == 0x1680 ||
            (c >= 0x200b && c <= 0x200f) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
            c == 0xfeff || c == 0xfffd)
            bytes_add(to, " ", 1);
        else
            bytes_add(to, text + at, n);
    }
}

static tutti_status normalize_replace(tokenizer_encoder *e, const normalize_step *s,
                                      const char *text, uint64_t size, bytes *to,
                                      tutti_error *err)
{
    for (uint64_t at = 0, begin, end; at < size; at = end) {
        const tutti_status status =
            pattern_find(s->pattern, e->match, text, size, at, &begin, &end, err);
        if (status)
            return status;
        bytes_add(to, text + at, begin - at);
        if (end > begin)
            bytes_text(to, s->content);
    }
    return TUTTI_OK;
}

static tutti_status normalize_step_run(tokenizer_encoder *e, const normalize_step *s,
                                       const char *text, uint64_t size, bytes *to,
                                       tutti_error *err)
{
    bool ok = true;
    switch (s->kind) {
    case NORMALIZE_NFC:
        ok = normalize_form(text, size, UTF8PROC_COMPOSE, to);
        break;
    case NORMALIZE_NFD:
        ok = normalize_form(text, size, UTF8PROC_DECOMPOSE, to);
        break;
    case NORMALIZE_NFKC:
        ok = normalize_form(text, size, UTF8PROC_COMPOSE | UTF8PROC_COMPAT, to);
        break;
    case NORMALIZE_NFKD:
        ok = normalize_form(text, size, UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT, to);
        break;
    case NORMALIZE_LOWERCASE:
        normalize_lowercase(text, size, to);
        break;
    case NORMALIZE_STRIP:
        normalize_strip(s, text, size, to);
        break;
    case NORMALIZE_STRIP_ACCENTS:
        normalize_accents(text, size, to);
        break;
    case NORMALIZE_BERT:
        normalize_bert(s, text, size, to);
        break;
    case NORMALIZE_REPLACE:
        return normalize_replace(e, s, text, size, to, err);
    case NORMALIZE_PREPEND:
        if (size)
            bytes_text(to, s->content);
        bytes_add(to, text, size);
        break;
    case NORMALIZE_CHARSMAP:
        charsmap_run(&s->map, text, size, to);
        break;
    case NORMALIZE_BYTE_LEVEL:
        byte_level_add(to, text, size);
        break;
    case NORMALIZE_NMT:
        normalize_nmt(text, size, to);
        break;
    }
    return ok ? TUTTI_OK : tokenizer_no_memory(err);
}

tutti_status normalize_run(tokenizer_encoder *e, const char **text, uint64_t *size,
                           tutti_error *err)
{
    const normalize *n = &e->t->normalize;
    for (uint32_t k = 0; k < n->count; k++) {
        bytes *to = &e->normal[k % 2];
        to->size = 0;
        const tutti_status s = normalize_step_run(e, &n->steps[k], *text, *size, to, err);
        if (s)
            return s;
        if (to->lacks)
            return tokenizer_no_memory(err);
        *text = to->size ? to->data : "";
        *size = to->size;
    }
    return TUTTI_OK;
}
