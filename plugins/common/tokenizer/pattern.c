/* pattern.c - classes written as PCRE2 has them, compiled, found. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "pattern.h"

#include "bytes.h"

/* PCRE2's \s and \w are not quite Oniguruma's; the properties are.  NULL: as it stands. */
static const char *pattern_class(char letter, bool inside)
{
    switch (letter) {
    case 's':
        return "\\p{White_Space}";
    case 'S':
        return "\\P{White_Space}";
    case 'd':
        return "\\p{Nd}";
    case 'D':
        return "\\P{Nd}";
    case 'w':
        return inside ? "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}"
                      : "[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}]";
    case 'W':
        return inside ? NULL : "[^\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}]";
    default:
        return NULL;
    }
}

static void pattern_translate(const char *expression, bytes *to)
{
    bool inside = false;
    for (const char *at = expression; *at; at++) {
        if (*at == '\\' && at[1]) {
            const char *class = pattern_class(at[1], inside);
            if (class)
                bytes_text(to, class);
            else
                bytes_add(to, at, 2);
            at++;
            continue;
        }
        inside = inside ? *at != ']' : *at == '[';
        bytes_add(to, at, 1);
    }
}

static pcre2_code *pattern_make(const part *p, const char *expression, uint64_t size,
                                uint32_t options)
{
    int why = 0;
    PCRE2_SIZE where = 0;
    pcre2_code *code =
        pcre2_compile((PCRE2_SPTR)expression, size, PCRE2_UTF | options, &why, &where, NULL);
    if (!code) {
        PCRE2_UCHAR text[128];
        (void)pcre2_get_error_message(why, text, sizeof text);
        part_fail(p, TUTTI_E_FORMAT, "the expression \"%.80s\" is no pattern: %s", expression,
                  (const char *)text);
        return NULL;
    }
    (void)pcre2_jit_compile(code, PCRE2_JIT_COMPLETE); /* without it it is slower */
    return code;
}

pcre2_code *pattern_compile(const part *p, const char *expression)
{
    bytes translated = {0};
    pattern_translate(expression, &translated);
    const uint64_t size = translated.size;
    bytes_add(&translated, "", 1);
    pcre2_code *code = NULL;
    if (translated.lacks)
        part_fail(p, TUTTI_E_NOMEM, "no memory for its pattern");
    else
        code = pattern_make(p, translated.data, size, PCRE2_UCP);
    bytes_free(&translated);
    return code;
}

pcre2_code *pattern_of(const part *p)
{
    const part pattern = part_object(p, "pattern", p->where, true);
    const char *literal = part_text(&pattern, "String", NULL);
    const char *expression = part_text(&pattern, "Regex", NULL);
    if (!pattern.json || !(literal || expression) || !*(literal ? literal : expression)) {
        part_fail(p, TUTTI_E_FORMAT,
                  "the pattern is neither {\"Regex\": ...} nor {\"String\": ...}, or empty");
        return NULL;
    }
    return literal ? pattern_make(p, literal, strlen(literal), PCRE2_LITERAL)
                   : pattern_compile(p, expression);
}

tutti_status pattern_find(const pcre2_code *code, pcre2_match_data *match, const char *text,
                          uint64_t size, uint64_t from, uint64_t *ret_begin, uint64_t *ret_end,
                          tutti_error *err)
{
    const int found = pcre2_match(code, (PCRE2_SPTR)text, size, from,
                                  PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY, match, NULL);
    if (found < 0 && found != PCRE2_ERROR_NOMATCH)
        return tutti_fail(err, found == PCRE2_ERROR_NOMEMORY ? TUTTI_E_NOMEM : TUTTI_E_RANGE,
                          "the tokenizer's pattern gives up behind byte %llu of the text "
                          "(PCRE2's error %d)",
                          (unsigned long long)from, found);
    const PCRE2_SIZE *place = pcre2_get_ovector_pointer(match);
    *ret_begin = found < 0 ? size : place[0];
    *ret_end = found < 0 ? size : place[1];
    return TUTTI_OK;
}
