/* split_read.c - what a tokenizer.json says of its pre-tokenizers. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tables.h"

static const char gpt2_pattern[] =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

static split_behavior split_read_behavior(const part *p, split_behavior fallback)
{
    static const char *const names[] = {"Removed",        "Isolated",   "MergedWithPrevious",
                                        "MergedWithNext", "Contiguous", NULL};
    return (split_behavior)part_word(p, "behavior", names, (int)fallback);
}

static void split_read_byte_level(split_step *s, const part *p)
{
    s->kind = SPLIT_BYTE_LEVEL;
    s->add_space = part_bool(p, "add_prefix_space", true);
    if (part_bool(p, "use_regex", true))
        s->pattern = pattern_compile(p, gpt2_pattern);
}

static void split_read_pattern(split_step *s, const part *p)
{
    s->kind = SPLIT_PATTERN;
    s->pattern = pattern_of(p);
    s->behavior = split_read_behavior(p, SPLIT_ISOLATED);
    s->invert = part_bool(p, "invert", false);
}

static void split_read_words(split_step *s, const part *p)
{
    s->kind = SPLIT_PATTERN;
    s->pattern = pattern_compile(p, "\\w+|[^\\w\\s]+");
    s->behavior = SPLIT_REMOVED;
    s->invert = true;
}

static void split_read_whitespace(split_step *s, const part *p)
{
    (void)p;
    s->kind = SPLIT_WHITESPACE;
    s->behavior = SPLIT_REMOVED;
}

static void split_read_bert(split_step *s, const part *p)
{
    (void)p;
    s->kind = SPLIT_BERT;
}

static void split_read_metaspace(split_step *s, const part *p)
{
    static const char *const names[] = {"always", "never", "first", NULL};
    s->kind = SPLIT_METASPACE;
    s->mark = part_text(p, "replacement", "\xe2\x96\x81");
    const int fallback = part_bool(p, "add_prefix_space", true) ? SPLIT_ALWAYS : SPLIT_NEVER;
    s->prepend = (split_prepend)part_word(p, "prepend_scheme", names, fallback);
    s->behavior = part_bool(p, "split", true) ? SPLIT_WITH_NEXT : SPLIT_ISOLATED;
    if (!*s->mark)
        part_fail(p, TUTTI_E_FORMAT, "\"replacement\" is empty, want one character");
}

static void split_read_digits(split_step *s, const part *p)
{
    s->kind = SPLIT_DIGITS;
    s->behavior = part_bool(p, "individual_digits", false) ? SPLIT_ISOLATED : SPLIT_CONTIGUOUS;
}

static void split_read_punctuation(split_step *s, const part *p)
{
    s->kind = SPLIT_PUNCTUATION;
    s->behavior = split_read_behavior(p, SPLIT_ISOLATED);
}

static void split_read_delimiter(split_step *s, const part *p)
{
    s->kind = SPLIT_DELIMITER;
    s->behavior = SPLIT_REMOVED;
    s->mark = part_wanted_text(p, "delimiter");
    if (!*s->mark)
        part_fail(p, TUTTI_E_FORMAT, "\"delimiter\" is empty, want one character");
}

static const struct {
    const char *name;
    void (*read)(split_step *, const part *);
} kinds[] = {
    {.name = "ByteLevel", .read = split_read_byte_level},
    {.name = "Split", .read = split_read_pattern},
    {.name = "Whitespace", .read = split_read_words},
    {.name = "WhitespaceSplit", .read = split_read_whitespace},
    {.name = "BertPreTokenizer", .read = split_read_bert},
    {.name = "Metaspace", .read = split_read_metaspace},
    {.name = "Digits", .read = split_read_digits},
    {.name = "Punctuation", .read = split_read_punctuation},
    {.name = "CharDelimiterSplit", .read = split_read_delimiter},
};

static void split_read_one(void *s, const part *p)
{
    split_read(s, p);
}

void split_read(split *s, const part *p)
{
    if (!p->json || *p->status)
        return;
    const char *type = part_type(p);
    if (strcmp(type, "Sequence") == 0) {
        part_each(p, "pretokenizers", s, split_read_one);
        return;
    }
    if (s->count == TOKENIZER_STEPS) {
        part_fail(p, TUTTI_E_UNSUPPORTED, "has more than %d steps", TOKENIZER_STEPS);
        return;
    }
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (strcmp(kinds[k].name, type) == 0) {
            kinds[k].read(&s->steps[s->count++], p);
            return;
        }
    part_fail(p, TUTTI_E_UNSUPPORTED, "the type \"%.80s\" is not known here", type);
}

void split_free(split *s)
{
    for (uint32_t k = 0; k < s->count; k++)
        pcre2_code_free(s->steps[k].pattern);
}
