/* documents_test.c - rows of documents packed in three ways, answers that are learnt, formats, and files that are
 * refused. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1 /* tutti.class_names/1 */
#include "../dataset_check.h"

#include "tutti/vocabulary.h"

static shelf s;
static test_settings g;
static tutti_error err;

/* The words a to h are 0 to 7. */
enum { PAD = 8, BOS, EOS, START, END, USER, BOT, UNKNOWN };

static const char *tokenizer_file(void)
{
    static const char json[] =
        "{\"added_tokens\": [{\"id\": 8, \"content\": \"<pad>\", \"special\": true},"
        " {\"id\": 9, \"content\": \"<bos>\", \"special\": true},"
        " {\"id\": 10, \"content\": \"<eos>\", \"special\": true},"
        " {\"id\": 11, \"content\": \"<|im_start|>\", \"special\": true},"
        " {\"id\": 12, \"content\": \"<|im_end|>\", \"special\": true}],"
        " \"pre_tokenizer\": {\"type\": \"WhitespaceSplit\"},"
        " \"model\": {\"type\": \"WordLevel\", \"unk_token\": \"?\", \"vocab\": {\"a\": 0, "
        "\"b\": 1,"
        " \"c\": 2, \"d\": 3, \"e\": 4, \"f\": 5, \"g\": 6, \"h\": 7, \"user\": 13,"
        " \"assistant\": 14, \"?\": 15}}}";
    return shelf_file(&s, "tokenizer.json", json, sizeof json - 1);
}

static void settings(const char *name, const char *data, const char *content,
                     const char *packing, int64_t length)
{
    err = (tutti_error)TUTTI_ERROR_INIT;
    test_settings_init(&g);
    test_settings_path(&g, "path", shelf_file(&s, name, data, strlen(data)));
    test_settings_enum(&g, "format", "auto", 0);
    test_settings_path(&g, "tokenizer_file", tokenizer_file());
    test_settings_enum(&g, "content", content, 0);
    test_settings_string(&g, "text_field", "text");
    test_settings_string(&g, "label_field", "label");
    test_settings_null(&g, "labels");
    test_settings_string(&g, "prompt_field", "prompt");
    test_settings_string(&g, "completion_field", "completion");
    test_settings_int(&g, "references", 0);
    test_settings_string(&g, "messages_field", "messages");
    test_settings_string(&g, "template", "<|im_start|>{role}\n{content}<|im_end|>\n");
    test_settings_string(&g, "answer_role", "assistant");
    test_settings_null(&g, "begin_token");
    test_settings_null(&g, "end_token");
    test_settings_string(&g, "pad_token", "<pad>");
    test_settings_int(&g, "length", length);
    test_settings_enum(&g, "packing", packing, 0);
    test_settings_enum(&g, "too_long", "cut", 0);
}

enum { MOST = 16 };

/* The row's columns, as many as there are, against numbers one after the other. */
static void expect(int64_t row, const int32_t *want)
{
    int32_t got[4][MOST];
    void *const data[TUTTI_MAX_COLUMNS] = {got[0], got[1], got[2], got[3]};
    tutti_tensor t[TUTTI_MAX_COLUMNS];
    ck_assert_ok(shelf_read(&s, row, t, data, sizeof *got, &err), err);
    for (uint32_t c = 0; c < s.info.ncolumns; c++)
        for (int64_t k = 0; k < t[c].desc.dim[0]; k++, want++)
            ck_assert_msg(got[c][k] == *want, "row %lld, %s[%lld] is %d, want %d",
                          (long long)row, s.info.columns[c].name, (long long)k, got[c][k],
                          *want);
}

static void open_rows(int64_t rows, uint32_t columns)
{
    ck_assert_ok(shelf_open(&s, "documents", &g, &err), err);
    ck_assert_int_eq(s.info.samples, rows);
    ck_assert_uint_eq(s.info.ncolumns, columns);
    ck_assert_int_eq(s.info.columns[1].classes, 16);
}

static const char three[] = "{\"text\": \"a b c\"}\n"
                            "{\"text\": \"d e\"}\r\n"
                            "\n"
                            "{\"text\": \"f g h a\"}";

START_TEST(a_stream_goes_on_from_row_to_row)
{
    static const int32_t first[] = {0, 1, 2, 10, 1, 2, 10, 3},
                         second[] = {3, 4, 10, 5, 4, 10, 5, 6};
    settings("t.jsonl", three, "text", "stream", 4);
    test_settings_string(&g, "end_token", "<eos>");
    test_settings_enum(&g, "too_long", "refuse", 0);
    open_rows(2, 2);
    expect(0, first);
    expect(1, second);
    subject_close(&s.subject);
    settings("t.jsonl", three, "text", "stream", 9);
    shelf_refused(&s, "documents", &g, TUTTI_E_FORMAT,
                  "$/t.jsonl: has 9 tokens, a row wants 10");
    settings("t.jsonl", three, "completion", "stream", 4);
    shelf_refused(&s, "documents", &g, TUTTI_E_ARG,
                  "documents: packing stream learns all tokens, and content completion only "
                  "answers: want content text");
}
END_TEST

START_TEST(whole_documents_share_rows_and_do_not_see_each_other)
{
    static const int32_t first[] = {0, 1, 3, PAD, 1, 2, 4, -100, 0, 0, 1, 2, 0, 1, 0, 0};
    static const int32_t second[] = {5, 6, 7, PAD, 6, 7, 0, -100, 0, 0, 0, 1, 0, 1, 2, 0};
    settings("t.jsonl", three, "text", "whole", 4);
    open_rows(2, 4);
    ck_assert_str_eq(s.info.columns[2].name, "document_ids");
    ck_assert_str_eq(s.info.columns[3].name, "position_ids");
    expect(0, first);
    expect(1, second);
    subject_close(&s.subject);
}
END_TEST

START_TEST(documents_are_cut_where_rows_end)
{
    static const int32_t first[] = {0, 1, 3, 5, 1, 2, 4, 6, 0, 0, 1, 2, 0, 1, 0, 0};
    static const int32_t second[] = {6, 7, PAD, PAD, 7, 0, -100, -100, 0, 0, 1, 1, 0, 1, 0, 1};
    settings("t.jsonl", three, "text", "cut", 4);
    open_rows(2, 4);
    expect(0, first);
    expect(1, second);
    subject_close(&s.subject);
}
END_TEST

START_TEST(one_document_a_row_has_the_tokens_around_it)
{
    static const int32_t first[] = {BOS, 0, 1, 2, 0, 1, 2, EOS, 1, 1, 1, 1};
    static const int32_t second[] = {BOS, 3, 4, PAD, 3, 4, EOS, -100, 1, 1, 1, 0};
    static const int32_t third[] = {BOS, 5, 6, 7, 5, 6, 7, 0, 1, 1, 1, 1};
    static const int32_t rest[] = {0, PAD, PAD, PAD, EOS, -100, -100, -100, 1, 0, 0, 0};
    settings("t.jsonl", three, "text", "none", 4);
    test_settings_string(&g, "begin_token", "<bos>");
    test_settings_string(&g, "end_token", "<eos>");
    open_rows(4, 3);
    ck_assert_str_eq(s.info.columns[2].name, "attention_mask");
    expect(0, first);
    expect(1, second);
    expect(2, third);
    expect(3, rest);
    subject_close(&s.subject);
    test_settings_enum(&g, "too_long", "drop", 1);
    open_rows(2, 3);
    subject_close(&s.subject);
    test_settings_enum(&g, "too_long", "refuse", 2);
    shelf_refused(&s, "documents", &g, TUTTI_E_RANGE,
                  "$/t.jsonl:4: has 6 tokens, a row takes 5; set \"too_long\" or a greater "
                  "\"length\"");
}
END_TEST

START_TEST(completions_alone_are_learnt)
{
    static const int32_t row[] = {0, 1, 2, 3, PAD, -100, 2, 3, EOS, -100, 1, 1, 1, 1, 0};
    settings("t.jsonl", "{\"prompt\": \"a b\", \"completion\": \" c d\", \"id\": 7}\n",
             "completion", "none", 5);
    test_settings_string(&g, "end_token", "<eos>");
    open_rows(1, 3);
    expect(0, row);
    subject_close(&s.subject);
}
END_TEST

START_TEST(prompts_have_references)
{
    static const int32_t want[2][6 * 4] = {{BOS, 0, 1, 2,  -100, -100, 2,  EOS, 1, 1, 1, 1,
                                            BOS, 0, 1, -1, 2,    -1,   -1, -1,  3, 4, 5, -1},
                                           {BOS, 3,  4,  PAD, -100, 4,  EOS, -100,
                                            1,   1,  1,  0,   BOS,  3,  -1,  -1,
                                            4,   -1, -1, -1,  -1,   -1, -1,  -1}};
    static const char lines[] = "{\"prompt\": \"a b\", \"completion\": [\" c\", \"d e f\"]}\n"
                                "{\"prompt\": \"a b c d\", \"completion\": \" too long\"}\n"
                                "{\"prompt\": \"d\", \"completion\": \" e\"}\n";
    int32_t got[5][8];
    void *const data[TUTTI_MAX_COLUMNS] = {got[0], got[1], got[2], got[3], got[4]};
    tutti_tensor t[TUTTI_MAX_COLUMNS];
    settings("t.jsonl", lines, "completion", "none", 4);
    test_settings_string(&g, "begin_token", "<bos>");
    test_settings_string(&g, "end_token", "<eos>");
    test_settings_enum(&g, "too_long", "drop", 1);
    test_settings_int(&g, "references", 2);
    open_rows(2, 5);
    ck_assert_str_eq(s.info.columns[3].name, "prompt");
    ck_assert_str_eq(s.info.columns[4].name, "references");
    for (int64_t row = 0; row < 2; row++) {
        ck_assert_ok(shelf_read(&s, row, t, data, sizeof *got, &err), err);
        ck_assert_int_eq(t[4].desc.rank, 2);
        ck_assert_int_eq(t[4].desc.dim[0], 2);
        for (int k = 0; k < 4; k++)
            ck_assert_mem_eq(got[k], want[row] + 4 * k, 4 * sizeof(int32_t));
        ck_assert_mem_eq(got[4], want[row] + 16, 8 * sizeof(int32_t));
    }
    subject_close(&s.subject);
    test_settings_int(&g, "references", 1);
    shelf_refused(&s, "documents", &g, TUTTI_E_RANGE,
                  "$/t.jsonl:1: has 2 completions, want 1 at most: \"references\" says it");
    test_settings_enum(&g, "too_long", "cut", 0);
    shelf_refused(&s, "documents", &g, TUTTI_E_ARG,
                  "documents: references want content \"completion\", packing \"none\" and "
                  "too_long \"drop\" or \"refuse\"");
}
END_TEST

START_TEST(of_a_conversation_the_answers_are_learnt)
{
    static const int32_t row[] = {START, USER, 0,   END,   START, BOT,  1,    2,    END,  START,
                                  USER,  3,    END, START, BOT,   4,    -100, -100, -100, -100,
                                  -100,  1,    2,   END,   -100,  -100, -100, -100, -100, -100,
                                  4,     END,  1,   1,     1,     1,    1,    1,    1,    1,
                                  1,     1,    1,   1,     1,     1,    1,    1};
    settings(
        "t.jsonl",
        "{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}, {\"role\": \"assistant\", "
        "\"content\": \"b c\"}, {\"role\": \"user\", \"content\": \"d\"}, {\"role\": "
        "\"assistant\", \"content\": \"e\"}]}",
        "messages", "none", 16);
    open_rows(1, 3);
    expect(0, row);
    subject_close(&s.subject);
}
END_TEST

START_TEST(tables_have_quotes_and_a_byte_order_mark)
{
    static const int32_t first[] = {0, 1, 1, 2, 1, 1};
    static const int32_t second[] = {3, UNKNOWN, UNKNOWN, 4, 1, 1};
    settings("t.csv", "\xef\xbb\xbfid,text\r\n1,\"a b\nc\"\r\n\"2, two\",\"d \"\"x\"\" e\"\r\n",
             "text", "none", 2);
    open_rows(2, 3);
    expect(0, first);
    expect(1, second);
    subject_close(&s.subject);
    settings("t.tsv", "text\tid\na b c\t1\nd , e\t2\n", "text", "none", 2);
    open_rows(2, 3);
    expect(0, first);
    expect(1, second);
    subject_close(&s.subject);
}
END_TEST

START_TEST(tokens_have_texts)
{
    int32_t tokens[4] = {0};
    uint64_t n = 0;
    settings("t.jsonl", three, "text", "whole", 4);
    open_rows(2, 4);
    const tutti_vocabulary_v1 *v = subject_query(&s.subject, TUTTI_VOCABULARY_V1);
    ck_assert_ok(v->encode(s.subject.self, "b <eos>", 7, tokens, 4, &n, &err), err);
    ck_assert_uint_eq(n, 2);
    ck_assert_int_eq(tokens[0], 1);
    ck_assert_int_eq(tokens[1], EOS);
    ck_assert_ptr_nonnull(v->token(s.subject.self, EOS, &n));
    ck_assert_uint_eq(n, 6);
    subject_close(&s.subject);
}
END_TEST

static void refuse(const char *name, const char *data, const char *content, tutti_status status,
                   const char *sentence)
{
    settings(name, data, content, "none", 4);
    shelf_refused(&s, "documents", &g, status, sentence);
}

START_TEST(what_does_not_fit_is_refused)
{
    refuse(
        "t.txt", "a", "text", TUTTI_E_ARG,
        "$/t.txt: its ending is none of .jsonl, .json, .ndjson, .csv and .tsv; set \"format\"");
    refuse("t.jsonl", "", "text", TUTTI_E_FORMAT, "$/t.jsonl: is empty or no regular file");
    refuse("t.jsonl", "{\"text\": \"a\"}\n", "text", TUTTI_E_FORMAT,
           "$/t.jsonl: has no document of two tokens or more");
    refuse("t.jsonl", "{\"text\": \"a b\"}\n{\"text\": 3}\n", "text", TUTTI_E_FORMAT,
           "$/t.jsonl:2: the field \"text\" is no string, want a string");
    refuse("t.jsonl", "{\"txt\": \"a b\"}\n", "text", TUTTI_E_FORMAT,
           "$/t.jsonl:1: the field \"text\" is missing, want a string");
    refuse("t.jsonl", "{\"text\": \"a b\"}\n\n{\"text\"\n", "text", TUTTI_E_FORMAT,
           "$/t.jsonl:3: not valid JSON: ':' expected near end of file");
    refuse("t.jsonl", "[1]\n", "text", TUTTI_E_FORMAT, "$/t.jsonl:1: is no object of fields");
    refuse("t.csv", "text,id\na b\n", "text", TUTTI_E_FORMAT,
           "$/t.csv:2: has 1 fields, the first line has 2");
    refuse("t.csv", "text\n\"a b\n", "text", TUTTI_E_FORMAT,
           "$/t.csv:2: a quotation mark is not closed");
    refuse("t.csv", "text\na \xff\n", "text", TUTTI_E_FORMAT,
           "$/t.csv:2: has bytes that are no UTF-8");
    refuse("t.jsonl", "{\"messages\": []}\n", "messages", TUTTI_E_FORMAT,
           "$/t.jsonl:1: the field \"messages\" is no list of messages");
    refuse("t.jsonl", "{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}]}\n",
           "messages", TUTTI_E_FORMAT,
           "$/t.jsonl:1: no message has the role \"assistant\", so there is nothing to learn");
    refuse("t.jsonl", "{\"messages\": [{\"role\": \"user\"}]}\n", "messages", TUTTI_E_FORMAT,
           "$/t.jsonl:1: the field \"content\" is missing, want a string");
    settings("t.jsonl", three, "text", "none", 4);
    test_settings_string(&g, "end_token", "<end>");
    shelf_refused(&s, "documents", &g, TUTTI_E_NOTFOUND,
                  "documents: end_token is \"<end>\", which $/tokenizer.json does not have");
    settings("t.jsonl", three, "messages", "none", 4);
    test_settings_string(&g, "template", "{role}");
    shelf_refused(&s, "documents", &g, TUTTI_E_ARG,
                  "documents: template \"{role}\" does not have {content} once");
}
END_TEST

static void open_labelled(int64_t rows, int64_t classes)
{
    ck_assert_ok(shelf_open(&s, "documents", &g, &err), err);
    ck_assert_int_eq(s.info.samples, rows);
    ck_assert_uint_eq(s.info.ncolumns, 3);
    ck_assert_int_eq(s.info.columns[0].classes, 16);
    ck_assert_int_eq(s.info.columns[1].classes, classes);
    ck_assert_int_eq(s.info.columns[1].desc.rank, 0);
}

/* The row's tokens, its class, its mask. */
static void expect_labelled(int64_t row, const int32_t *want)
{
    int32_t input[MOST], target = -1, mask[MOST];
    void *const data[TUTTI_MAX_COLUMNS] = {input, &target, mask};
    tutti_tensor t[TUTTI_MAX_COLUMNS];
    ck_assert_ok(shelf_read(&s, row, t, data, sizeof input, &err), err);
    const size_t length = (size_t)t[0].desc.dim[0];
    ck_assert_mem_eq(input, want, length * sizeof *want);
    ck_assert_int_eq(target, want[length]);
    ck_assert_mem_eq(mask, want + length + 1, length * sizeof *want);
}

START_TEST(texts_have_classes_by_their_names)
{
    static const char csv[] =
        "label,text\nspam,a b c\nham,d\nspam,\"e f g h a\"\n\"a, or b\",\n";
    static const int32_t rows[][13] = {{BOS, 0, 1, 2, EOS, PAD, 2, 1, 1, 1, 1, 1, 0},
                                       {BOS, 3, EOS, PAD, PAD, PAD, 1, 1, 1, 1, 0, 0, 0},
                                       {BOS, 4, 5, 6, 7, EOS, 2, 1, 1, 1, 1, 1, 1},
                                       {BOS, EOS, PAD, PAD, PAD, PAD, 0, 1, 1, 0, 0, 0, 0}};
    settings("t.csv", csv, "classes", "none", 6);
    test_settings_string(&g, "begin_token", "<bos>");
    test_settings_string(&g, "end_token", "<eos>");
    open_labelled(4, 3);
    ck_assert_str_eq(s.info.columns[2].name, "attention_mask");
    for (int k = 0; k < 4; k++)
        expect_labelled(k, rows[k]);
    const tutti_class_names_v1 *names = subject_query(&s.subject, TUTTI_CLASS_NAMES_V1);
    ck_assert_str_eq(names->name(s.subject.self, NULL, 0), "a, or b");
    ck_assert_str_eq(names->name(s.subject.self, "target", 2), "spam");
    ck_assert_ptr_null(names->name(s.subject.self, NULL, 3));
    ck_assert_ptr_null(names->name(s.subject.self, "input", 0));
    subject_close(&s.subject);
    test_settings_enum(&g, "too_long", "drop", 0);
    open_labelled(3, 3);
    subject_close(&s.subject);
    test_settings_enum(&g, "too_long", "refuse", 0);
    shelf_refused(
        &s, "documents", &g, TUTTI_E_RANGE,
        "$/t.csv:4: has 7 tokens, a row takes 6; set \"too_long\" or a greater \"length\"");
}
END_TEST

/* Fields end at tabs alone: commas are of a text or of a class's name. */
START_TEST(tabs_separate_texts_and_classes)
{
    static const char tsv[] =
        "text\tnote\tlabel\na b\tx\tspam, or so\nd ,\t\tham\n\"c\td\"\ty\tspam, or so\n";
    static const int32_t rows[][7] = {
        {0, 1, PAD, 1, 1, 1, 0}, {3, UNKNOWN, PAD, 0, 1, 1, 0}, {2, 3, PAD, 1, 1, 1, 0}};
    settings("t.tsv", tsv, "classes", "none", 3);
    open_labelled(3, 2);
    for (int k = 0; k < 3; k++)
        expect_labelled(k, rows[k]);
    const tutti_class_names_v1 *names = subject_query(&s.subject, TUTTI_CLASS_NAMES_V1);
    ck_assert_str_eq(names->name(s.subject.self, NULL, 0), "ham");
    ck_assert_str_eq(names->name(s.subject.self, NULL, 1), "spam, or so");
    subject_close(&s.subject);
    settings("t.tsv", "text\tlabel\na\tham\nb,ham\n", "classes", "none", 3);
    shelf_refused(&s, "documents", &g, TUTTI_E_FORMAT,
                  "$/t.tsv:3: has 1 fields, the first line has 2");
    settings("t.tsv", "text,label\na,ham\n", "classes", "none", 3);
    shelf_refused(&s, "documents", &g, TUTTI_E_FORMAT,
                  "$/t.tsv:2: the field \"text\" is missing, want a string");
}
END_TEST

START_TEST(whole_numbers_are_classes_and_a_file_has_their_order)
{
    static const char lines[] =
        "{\"text\": \"a\", \"label\": 3}\n{\"text\": \"b\", \"label\": \"10\"}";
    static const int32_t first[] = {0, PAD, 3, 1, 0}, second[] = {1, PAD, 10, 1, 0};
    static const int32_t named[] = {0, PAD, 1, 1, 0};
    settings("t.jsonl", lines, "classes", "none", 2);
    open_labelled(2, 11);
    expect_labelled(0, first);
    expect_labelled(1, second);
    subject_close(&s.subject);
    test_settings_path(&g, "labels", shelf_file(&s, "labels.txt", "10\n3\nnever\n", 11));
    open_labelled(2, 3);
    expect_labelled(0, named);
    const tutti_class_names_v1 *names = subject_query(&s.subject, TUTTI_CLASS_NAMES_V1);
    ck_assert_str_eq(names->name(s.subject.self, NULL, 0), "10");
    ck_assert_str_eq(names->name(s.subject.self, NULL, 2), "never");
    subject_close(&s.subject);
    test_settings_path(&g, "labels", shelf_file(&s, "labels.txt", "10\n4\n", 5));
    shelf_refused(&s, "documents", &g, TUTTI_E_FORMAT,
                  "$/t.jsonl: the label \"3\" is not in $/labels.txt");
}
END_TEST

START_TEST(classes_that_are_none_are_refused)
{
    settings("t.jsonl", "{\"text\": \"a\", \"label\": 1.5}", "classes", "none", 4);
    shelf_refused(
        &s, "documents", &g, TUTTI_E_FORMAT,
        "$/t.jsonl:1: the field \"label\" is neither, want a string or a whole number");
    settings("t.jsonl", "{\"text\": \"a\"}", "classes", "none", 4);
    shelf_refused(
        &s, "documents", &g, TUTTI_E_FORMAT,
        "$/t.jsonl:1: the field \"label\" is missing, want a string or a whole number");
    settings("t.jsonl", "{\"text\": \"a\", \"label\": 16777216}", "classes", "none", 4);
    shelf_refused(&s, "documents", &g, TUTTI_E_RANGE,
                  "$/t.jsonl: the label 16777216 is above 16777215, the greatest class");
    settings("t.csv", "label,text\n", "classes", "none", 4);
    shelf_refused(&s, "documents", &g, TUTTI_E_FORMAT, "$/t.csv: has no document");
    settings("t.jsonl", three, "classes", "whole", 4);
    shelf_refused(
        &s, "documents", &g, TUTTI_E_ARG,
        "documents: packing is whole, but content classes has one document a row: want none");
    settings("t.jsonl", three, "classes", "none", 1);
    test_settings_string(&g, "begin_token", "<bos>");
    shelf_refused(&s, "documents", &g, TUTTI_E_ARG,
                  "documents: length is 1, which has no room for a text beside begin_token and "
                  "end_token");
    settings("t.jsonl", three, "text", "none", 4);
    test_settings_path(&g, "labels", "labels.txt");
    shelf_refused(&s, "documents", &g, TUTTI_E_ARG,
                  "documents: labels is for content classes alone");
}
END_TEST

static void start(void)
{
    shelf_start(&s);
}

static void erase(void)
{
    folder_remove(s.folder);
}

enum { LINES = 3000, LINE_ROOM = 160 };

/* Prompts and completions of several lengths; line `odd`, from 1, is `instead`. */
static const char *many_lines(int odd, const char *instead)
{
    static char text[LINES * LINE_ROOM];
    char *at = text;
    for (int k = 1; k <= LINES; k++) {
        if (k == odd) {
            at += sprintf(at, "%s\n", instead);
            continue;
        }
        at += sprintf(at, "{\"prompt\": \"%c", "abcdefgh"[k % 8]);
        for (int i = 0; i < k * 7 % 11; i++)
            at += sprintf(at, " %c", "abcdefgh"[(k / 8 + i * k) % 8]);
        at += sprintf(at, "\", \"completion\": \"");
        for (int i = 0; i <= k * 5 % 9; i++)
            at += sprintf(at, " %c", "abcdefgh"[(k / 3 + i) % 8]);
        at += sprintf(at, "\"}\n");
    }
    return text;
}

/* FNV-1a of all columns of all rows. */
static uint64_t sum_of_rows(void)
{
    uint64_t sum = 14695981039346656037u;
    ck_assert_ok(shelf_open(&s, "documents", &g, &err), err);
    for (int64_t row = 0; row < s.info.samples; row++) {
        int32_t got[4][MOST];
        void *const data[TUTTI_MAX_COLUMNS] = {got[0], got[1], got[2], got[3]};
        tutti_tensor t[TUTTI_MAX_COLUMNS];
        ck_assert_ok(shelf_read(&s, row, t, data, sizeof *got, &err), err);
        for (uint32_t c = 0; c < s.info.ncolumns; c++)
            for (int64_t k = 0; k < t[c].desc.dim[0]; k++)
                sum = (sum ^ (uint32_t)got[c][k]) * 1099511628211u;
    }
    sum = (sum ^ (uint64_t)s.info.samples) * 1099511628211u;
    subject_close(&s.subject);
    return sum;
}

START_TEST(rows_do_not_depend_on_threads)
{
    static const char *const packings[] = {"none", "whole", "cut"};
    static const int threads[] = {1, 2, 5};
    uint64_t sums[3];
    for (int k = 0; k < 3; k++) {
        settings("t.jsonl", many_lines(0, ""), "completion", packings[_i], MOST);
        test_settings_string(&g, "end_token", "<eos>");
        test_settings_int(&g, "threads", threads[k]);
        sums[k] = sum_of_rows();
    }
    ck_assert_uint_eq(sums[0], sums[1]);
    ck_assert_uint_eq(sums[0], sums[2]);
    settings("t.jsonl", many_lines(2001, "{\"prompt\": \"h h\", \"completion\": \"b\"}"),
             "completion", packings[_i], MOST);
    test_settings_string(&g, "end_token", "<eos>");
    ck_assert_uint_ne(sums[0], sum_of_rows()); /* each line counts */
}
END_TEST

START_TEST(the_first_line_that_is_wrong_does_not_depend_on_threads)
{
    static const int threads[] = {1, 2, 5};
    settings("t.jsonl", many_lines(1999, "{\"prompt\": 7}\n{\"prompt\": 8}\nno JSON"),
             "completion", "none", MOST);
    test_settings_int(&g, "threads", threads[_i]);
    shelf_refused(&s, "documents", &g, TUTTI_E_FORMAT,
                  "$/t.jsonl:1999: the field \"prompt\" is no string, want a string");
    settings("t.jsonl", many_lines(2500, "{\"prompt\": \"a\"}"), "completion", "none", MOST);
    test_settings_int(&g, "threads", threads[_i]);
    shelf_refused(&s, "documents", &g, TUTTI_E_FORMAT,
                  "$/t.jsonl:2500: the field \"completion\" is missing, want a string");
    settings("t.jsonl", many_lines(2500, "no JSON"), "completion", "none", MOST);
    test_settings_int(&g, "threads", threads[_i]);
    shelf_refused(&s, "documents", &g, TUTTI_E_FORMAT,
                  "$/t.jsonl:2500: not valid JSON: '[' or '{' expected near 'no'");
}
END_TEST

int main(void)
{
    if (!TOKENIZER_IS_BUILT) {
        (void)puts("skipped: built without PCRE2 10.40 or utf8proc");
        return TUTTI_SKIPPED;
    }
    Suite *suite = suite_create("documents");
    TCase *c = tcase_create("all");
    tcase_add_checked_fixture(c, start, erase);
    tcase_add_test(c, a_stream_goes_on_from_row_to_row);
    tcase_add_test(c, whole_documents_share_rows_and_do_not_see_each_other);
    tcase_add_test(c, documents_are_cut_where_rows_end);
    tcase_add_test(c, one_document_a_row_has_the_tokens_around_it);
    tcase_add_test(c, completions_alone_are_learnt);
    tcase_add_test(c, prompts_have_references);
    tcase_add_test(c, of_a_conversation_the_answers_are_learnt);
    tcase_add_test(c, tables_have_quotes_and_a_byte_order_mark);
    tcase_add_test(c, tokens_have_texts);
    tcase_add_test(c, texts_have_classes_by_their_names);
    tcase_add_test(c, tabs_separate_texts_and_classes);
    tcase_add_test(c, whole_numbers_are_classes_and_a_file_has_their_order);
    tcase_add_test(c, classes_that_are_none_are_refused);
    tcase_add_test(c, what_does_not_fit_is_refused);
    tcase_add_loop_test(c, rows_do_not_depend_on_threads, 0, 3);
    tcase_add_loop_test(c, the_first_line_that_is_wrong_does_not_depend_on_threads, 0, 3);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
