/* spec_text.c - the specification of a setting in words. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/duration.h"
#include "plugin/spec.h"

#include <stdlib.h>
#include <string.h>

bool spec_is_share(const spec *s)
{
    return s->type == TUTTI_PARAM_TIME && s->words && s->words[0] && !s->words[1] &&
           strcmp(s->words[0], duration_unit(TUTTI_UNIT_DURATION)) == 0;
}

static void add_bound(text_buffer *b, const char **link, const char *words, const json_node *n)
{
    if (!n)
        return;
    char *text = json_text(n);
    text_add(b, "%s%s %s", *link, words, text ? text : "?");
    *link = " and ";
    free(text);
}

static void add_words(text_buffer *b, const char *const *words, const char *quote)
{
    for (size_t k = 0; words && words[k]; k++)
        text_add(b, "%s%s%s%s", !k ? "" : words[k + 1] ? ", " : " or ", quote, words[k], quote);
}

static void add_counts(text_buffer *b, const spec *s)
{
    if (s->least == s->most)
        text_add(b, "of %lld", (long long)s->least);
    else if (s->least > 0 && s->most >= 0)
        text_add(b, "of %lld to %lld", (long long)s->least, (long long)s->most);
    else if (s->least > 0)
        text_add(b, "of at least %lld", (long long)s->least);
    else if (s->most >= 0)
        text_add(b, "of at most %lld", (long long)s->most);
    else
        text_add(b, "of any number of");
    text_add(b, " items, each ");
}

static const char *example_unit(const spec *s)
{
    for (size_t k = 0; s->words && s->words[k]; k++)
        if (strcmp(s->words[k], "ep") == 0)
            return "ep";
    return s->words ? s->words[0] : "ep";
}

void spec_text(const spec *s, text_buffer *b)
{
    const char *link = " ";
    switch (s->type) {
    case TUTTI_PARAM_BOOL:
        text_add(b, "true or false");
        break;
    case TUTTI_PARAM_INT:
    case TUTTI_PARAM_FLOAT:
        text_add(b, s->type == TUTTI_PARAM_INT ? "an integer" : "a number");
        add_bound(b, &link, "of at least", s->min);
        add_bound(b, &link, "above", s->above);
        add_bound(b, &link, "of at most", s->max);
        add_bound(b, &link, "below", s->below);
        break;
    case TUTTI_PARAM_STRING:
        text_add(b, s->column ? "a column's name or number" : "a string");
        if (s->most >= 0)
            text_add(b, " of at most %lld bytes", (long long)s->most);
        break;
    case TUTTI_PARAM_ENUM:
        add_words(b, s->words, "\"");
        break;
    case TUTTI_PARAM_TIME:
        if (spec_is_share(s)) {
            text_add(b, "a share of the run such as 0.1 or \"0.1dur\"");
            break;
        }
        text_add(b, "a time in ");
        if (s->words)
            add_words(b, s->words, "");
        else
            text_add(b, "iter, ep, ba, sp, tok, dur or sec");
        text_add(b, " such as \"10%s\"", example_unit(s));
        break;
    case TUTTI_PARAM_PATH:
        text_add(b, "a path as a string");
        break;
    default:
        text_add(b, "a list ");
        add_counts(b, s);
        if (s->items)
            spec_text(s->items, b);
        if (s->scalar == 1)
            text_add(b, ", or a number alone");
        else if (s->scalar)
            text_add(b, ", or a number that stands for %lld", (long long)s->scalar);
    }
    if (s->unit)
        text_add(b, " (%s)", s->unit);
    if (s->nullable)
        text_add(b, ", or null");
}
