/* pattern.h - the regular expressions of a tokenizer.json, by PCRE2. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOKENIZER_PATTERN_H
#define TOKENIZER_PATTERN_H

#include "part.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <stdint.h>

/* The pattern of the part's member "pattern", {"Regex": ...} or {"String": ...}; the file's expressions
 * are Oniguruma's, so that \s, \w and \d are classes of Unicode.  NULL after a fault. */
pcre2_code *pattern_of(const part *p);
pcre2_code *pattern_compile(const part *p, const char *expression);

/* The first match in `text`, valid UTF-8, at or behind `from`: *ret_begin and *ret_end, or both `size`
 * where there is none.  A match of nothing is none.  Errors: E_RANGE, the expression goes back too often. */
TUTTI_NODISCARD tutti_status pattern_find(const pcre2_code *code, pcre2_match_data *match,
                                          const char *text, uint64_t size, uint64_t from,
                                          uint64_t *ret_begin, uint64_t *ret_end,
                                          tutti_error *err);

#endif
