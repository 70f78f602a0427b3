/* piece_test.c - where GPT-2's pattern cuts. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/piece.h"
#include "tutti_check.h"

/* The pieces of `text` with | between them; checks that they are the text. */
static const char *cut(const char *text)
{
    static char out[512];
    size_t used = 0;
    const size_t size = strlen(text);
    for (size_t at = 0; at < size;) {
        const size_t n = (size_t)piece_length(text + at, size - at);
        ck_assert_uint_ge(n, 1);
        ck_assert_uint_le(n, size - at);
        ck_assert_uint_lt(used + n + 1, sizeof out);
        if (at)
            out[used++] = '|';
        memcpy(out + used, text + at, n);
        used += n;
        at += n;
    }
    out[used] = '\0';
    return out;
}

START_TEST(words_take_the_space_before_them)
{
    ck_assert_str_eq(cut("Hello world"), "Hello| world");
    ck_assert_str_eq(cut(" a1b2 c"), " a|1|b|2| c");
    ck_assert_str_eq(cut("x=3.14; //ok"), "x|=|3|.|14|;| //|ok");
    ck_assert_str_eq(cut(" 2026!?"), " 2026|!?");
}
END_TEST

START_TEST(short_forms_are_pieces)
{
    ck_assert_str_eq(cut("I'll we've don't it's I'm you're he'd"),
                     "I|'ll| we|'ve| don|'t| it|'s| I|'m| you|'re| he|'d");
    ck_assert_str_eq(cut("'say 'say"), "'s|ay| '|say"); /* a space makes it a quotation mark */
    ck_assert_str_eq(cut("IT'S o'clock''s"), "IT|'|S| o|'|clock|''|s");
    ck_assert_str_eq(cut("'l"), "'|l");
}
END_TEST

START_TEST(the_last_of_several_spaces_goes_with_what_follows)
{
    ck_assert_str_eq(cut("a  b"), "a| | b");
    ck_assert_str_eq(cut("a    1"), "a|   | 1");
    ck_assert_str_eq(cut("a \n b"), "a| \n| b");
    ck_assert_str_eq(cut("a\nb\n\nc"), "a|\n|b|\n|\n|c");
    ck_assert_str_eq(cut("a\t b"), "a|\t| b");
    ck_assert_str_eq(cut("a \tb"), "a| |\t|b");
    ck_assert_str_eq(cut("a  "), "a|  ");
    ck_assert_str_eq(cut(" "), " ");
    ck_assert_str_eq(cut("\n"), "\n");
}
END_TEST

START_TEST(letters_numbers_and_spaces_are_unicodes)
{
    /* e acute, Greek, CJK; combining accents are no letters */
    ck_assert_str_eq(cut("caf\xc3\xa9 \xce\xb1\xce\xb2\xe4\xb8\xad!"),
                     "caf\xc3\xa9| \xce\xb1\xce\xb2\xe4\xb8\xad|!");
    ck_assert_str_eq(cut("e\xcc\x81t"), "e|\xcc\x81|t");
    /* superscript two, Roman twelve, Arabic-Indic three are numbers; an emoji is neither */
    ck_assert_str_eq(cut("x\xc2\xb2\xe2\x85\xab\xd9\xa3y"), "x|\xc2\xb2\xe2\x85\xab\xd9\xa3|y");
    ck_assert_str_eq(cut("a\xf0\x9f\x98\x80 \xf0\x9f\x98\x80"
                         "b"),
                     "a|\xf0\x9f\x98\x80| \xf0\x9f\x98\x80|b");
    /* no-break space, ideographic space, next line */
    ck_assert_str_eq(cut("a\xc2\xa0"
                         "b\xe3\x80\x80 c\xc2\x85"),
                     "a|\xc2\xa0|b|\xe3\x80\x80| c|\xc2\x85");
    ck_assert_str_eq(cut("\xf0\x90\x80\x80\xf0\xaf\xa8\x9d"),
                     "\xf0\x90\x80\x80\xf0\xaf\xa8\x9d");
    ck_assert_str_eq(cut("a\xf3\xa0\x87\xaf"), "a|\xf3\xa0\x87\xaf"); /* past the last range */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("text_piece");
    TCase *c = tcase_create("piece");
    tcase_add_test(c, words_take_the_space_before_them);
    tcase_add_test(c, short_forms_are_pieces);
    tcase_add_test(c, the_last_of_several_spaces_goes_with_what_follows);
    tcase_add_test(c, letters_numbers_and_spaces_are_unicodes);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
