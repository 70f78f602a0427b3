/* rules_test.c - the order of algorithms: passes, manifests' rules, circles, and the reasons told. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "engine_check.h"

static const int32_t events[] = {TUTTI_EVENT_BEFORE_LOSS, TUTTI_EVENT_AFTER_LOSS};
static actor cast[8];

/* Algorithm number `k` called `name`; rules are the caller's. */
static participant algorithm(int k, const char *name)
{
    cast[k] = (actor){.name = name, .match = 1};
    return as_participant(&cast[k], "algorithm", events, 2);
}

static void check_order(engine *e, int32_t event, const char *want)
{
    journal[0] = '\0';
    run(e, event);
    ck_assert_str_eq(journal, want);
}

START_TEST(after_events_run_last_in_first_out_but_absolute_rules_hold)
{
    const char *const names[] = {
        "a0", "a1", "low_precision_layernorm", "a2", "selective_backprop", "a3"};
    engine *e = new_engine(NULL);
    for (int k = 0; k < 6; k++) {
        const participant p = algorithm(k, names[k]);
        add(e, &p);
    }
    seal(e);
    check_order(e, TUTTI_EVENT_BEFORE_LOSS,
                "selective_backprop a0 a1 a2 a3 low_precision_layernorm");
    check_order(e, TUTTI_EVENT_AFTER_LOSS,
                "selective_backprop a3 a2 a1 a0 low_precision_layernorm");
    engine_destroy(e);
}
END_TEST

/* Upstream reverses the order last, observed with algorithms [0, 1, LP, 2, SB, 3]. */
START_TEST(the_order_of_upstream_can_be_asked_for)
{
    const char *const names[] = {
        "a0", "a1", "low_precision_layernorm", "a2", "selective_backprop", "a3"};
    engine *e = new_engine_in(true, NULL);
    for (int k = 0; k < 6; k++) {
        participant p = algorithm(k, names[k]);
        p.rules.first = k == 4;
        p.rules.last = k == 2;
        add(e, &p);
    }
    seal(e);
    check_order(e, TUTTI_EVENT_BEFORE_LOSS,
                "selective_backprop a0 a1 a2 a3 low_precision_layernorm");
    check_order(e, TUTTI_EVENT_AFTER_LOSS,
                "low_precision_layernorm a3 a2 a1 a0 selective_backprop");
    engine_destroy(e);
}
END_TEST

START_TEST(manifests_order_by_name_and_by_tag)
{
    static const char *const tags[] = {"regularisation", NULL};
    static const char *const after_tag[] = {"tag:regularisation", NULL};
    static const char *const before_a[] = {"a", NULL};
    engine *e = new_engine(NULL);
    participant p = algorithm(0, "a");
    p.rules.after = after_tag;
    add(e, &p);
    p = algorithm(1, "b");
    add(e, &p);
    p = algorithm(2, "c");
    p.tags = tags;
    add(e, &p);
    p = algorithm(3, "d");
    p.rules.before = before_a;
    add(e, &p);
    p = algorithm(4, "e");
    p.rules.first = true;
    add(e, &p);
    p = algorithm(5, "f");
    p.rules.last = true;
    add(e, &p);
    p = algorithm(6, "g");
    add(e, &p);
    seal(e);
    check_order(e, TUTTI_EVENT_BEFORE_LOSS, "e b c d a g f");
    cast[2].match = 0; /* without c, its rule means nothing */
    cast[3].match = 0;
    check_order(e, TUTTI_EVENT_BEFORE_LOSS, "e a b g f");
    engine_destroy(e);
}
END_TEST

START_TEST(rules_are_reversed_on_the_events_of_reverse_on)
{
    static const char *const before_b[] = {"b", NULL};
    engine *e = new_engine(NULL);
    participant p = algorithm(0, "b");
    add(e, &p);
    p = algorithm(1, "a");
    p.rules.before = before_b;
    p.rules.reverse_on[0] = UINT64_C(1) << TUTTI_EVENT_AFTER_LOSS;
    add(e, &p);
    p = algorithm(2, "z");
    p.rules.first = true;
    p.rules.reverse_on[0] = UINT64_C(1) << TUTTI_EVENT_AFTER_LOSS;
    add(e, &p);
    seal(e);
    check_order(e, TUTTI_EVENT_BEFORE_LOSS, "z a b");
    check_order(e, TUTTI_EVENT_AFTER_LOSS, "b a z");
    engine_destroy(e);
}
END_TEST

START_TEST(a_circle_is_told_edge_by_edge_with_files)
{
    static const char *const b[] = {"b", NULL}, *const c[] = {"c", NULL};
    engine *e = new_engine(NULL);
    participant p = algorithm(0, "a");
    p.rules.before = b;
    p.manifest = "a/plugin.json";
    add(e, &p);
    p = algorithm(1, "b");
    p.rules.before = c;
    p.manifest = "b/plugin.json";
    add(e, &p);
    p = algorithm(2, "c");
    p.rules.first = true;
    p.manifest = "c/plugin.json";
    add(e, &p);
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_int_eq(engine_seal(e, &err), TUTTI_E_STATE);
    ck_assert_error(err, TUTTI_E_STATE,
                    "the order at before_loss goes round in a circle: "
                    "a before b (a/plugin.json), b before c (b/plugin.json), "
                    "c before a (c/plugin.json)");
    engine_destroy(e);

    e = new_engine(NULL);
    static const char *const sb[] = {"selective_backprop", NULL};
    p = algorithm(0, "a");
    p.rules.before = sb;
    p.manifest = "a/plugin.json";
    add(e, &p);
    p = algorithm(1, "selective_backprop");
    add(e, &p);
    tutti_error builtin = TUTTI_ERROR_INIT;
    ck_assert_int_eq(engine_seal(e, &builtin), TUTTI_E_STATE);
    ck_assert_error(
        builtin, TUTTI_E_STATE,
        "the order at before_loss goes round in a circle: a before "
        "selective_backprop (a/plugin.json), selective_backprop before a (built in)");
    engine_destroy(e);
}
END_TEST

START_TEST(those_that_exclude_each_other_are_refused)
{
    static const char *const tagged[] = {"tag:mixes", NULL}, *const tags[] = {"mixes", NULL};
    engine *e = new_engine(NULL);
    participant p = algorithm(0, "mixup");
    p.tags = tags;
    p.rules.exclusive = tagged;
    add(e, &p);
    p = algorithm(1, "cutmix");
    p.tags = tags;
    add(e, &p);
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_int_eq(engine_seal(e, &err), TUTTI_E_STATE);
    ck_assert_error(
        err, TUTTI_E_STATE,
        "mixup excludes cutmix, so they cannot run together (plugins/x/plugin.json)");
    engine_destroy(e);
}
END_TEST

START_TEST(two_that_interpolate_the_loss_are_warned_about_once)
{
    engine *e = new_engine(NULL);
    participant p = algorithm(0, "mixup");
    p.interpolates_loss = true;
    add(e, &p);
    p = algorithm(1, "cutmix");
    p.interpolates_loss = true;
    add(e, &p);
    seal(e);
    check_order(e, TUTTI_EVENT_BEFORE_LOSS, "mixup cutmix");
    check_order(e, TUTTI_EVENT_AFTER_LOSS, "cutmix mixup");
    ck_assert_str_eq(log_lines,
                     "2 engine: mixup and cutmix both interpolate the loss: together they mix "
                     "targets in a way that neither means\n");
    engine_destroy(e);
}
END_TEST

static int pass_calls;
static uint32_t pass_answer[3];
static uint32_t pass_count;

static tutti_status answer_order(void *self, int32_t event, const char *const *names,
                                 uint32_t n, uint32_t *order, uint32_t *ret_count,
                                 tutti_error *err)
{
    pass_calls++;
    note("[", names[0], "]");
    for (uint32_t k = 0; k < pass_count; k++)
        order[k] = pass_answer[k];
    *ret_count = pass_count;
    return TUTTI_OK;
}

static engine *engine_with_pass(int index)
{
    static const char *const names[] = {"a", "b", "selective_backprop"};
    engine *e = new_engine(NULL);
    for (int k = 0; k < 3; k++) {
        const participant p = algorithm(k, names[k]);
        add(e, &p);
    }
    cast[3] = (actor){
        .name = "p",
        .pass = {.struct_size = (uint32_t)sizeof(tutti_pass_v1), .order = answer_order}};
    participant p = as_participant(&cast[3], "pass", NULL, 0);
    p.pass_index = index;
    add(e, &p);
    seal(e);
    pass_calls = 0;
    return e;
}

START_TEST(a_code_pass_reorders_and_drops_and_its_answer_is_kept)
{
    engine *e = engine_with_pass(-1);
    pass_answer[0] = 2;
    pass_answer[1] = 0;
    pass_count = 2;
    check_order(e, TUTTI_EVENT_BEFORE_LOSS, "[selective_backprop] b selective_backprop");
    check_order(e, TUTTI_EVENT_BEFORE_LOSS, "b selective_backprop");
    ck_assert_int_eq(pass_calls, 1);
    engine_destroy(e);
}
END_TEST

START_TEST(a_code_pass_at_the_front_sees_the_list_order)
{
    engine *e = engine_with_pass(0);
    pass_answer[0] = 1;
    pass_answer[1] = 0;
    pass_answer[2] = 2;
    pass_count = 3;
    check_order(e, TUTTI_EVENT_AFTER_LOSS, "[a] selective_backprop a b");
    engine_destroy(e);
}
END_TEST

static tutti_status look(void *self, int32_t event, const char *const *names, uint32_t n,
                         uint32_t *order, uint32_t *ret_count, tutti_error *err)
{
    for (uint32_t k = 0; k < n; k++) {
        note(k ? "" : "[", names[k], k + 1 < n ? "" : "]");
        order[k] = k;
    }
    *ret_count = n;
    return TUTTI_OK;
}

/* Row: the index, and what a pass there sees; upstream's passes are two that sort, the turn, and a warning. */
static const struct {
    int index;
    const char *sees;
} seen[] = {{0, "[low_precision_layernorm a selective_backprop] "},
            {1, "[selective_backprop low_precision_layernorm a] "},
            {2, "[selective_backprop a low_precision_layernorm] "},
            {3, "[low_precision_layernorm a selective_backprop] "},
            {4, "[low_precision_layernorm a selective_backprop] "},
            {-1, "[low_precision_layernorm a selective_backprop] "},
            {-2, "[selective_backprop a low_precision_layernorm] "}};

START_TEST(the_index_of_a_pass_counts_as_upstreams_in_its_order)
{
    const char *const names[] = {"low_precision_layernorm", "a", "selective_backprop"};
    char want[200];
    engine *e = new_engine_in(true, NULL);
    for (int k = 0; k < 3; k++) {
        const participant p = algorithm(k, names[k]);
        add(e, &p);
    }
    cast[3] = (actor){.name = "p",
                      .pass = {.struct_size = (uint32_t)sizeof(tutti_pass_v1), .order = look}};
    participant p = as_participant(&cast[3], "pass", NULL, 0);
    p.pass_index = seen[_i].index;
    add(e, &p);
    seal(e);
    (void)snprintf(want, sizeof want, "%slow_precision_layernorm a selective_backprop",
                   seen[_i].sees);
    check_order(e, TUTTI_EVENT_AFTER_LOSS, want);
    engine_destroy(e);
}
END_TEST

/* Its list is selective_backprop, low_precision_layernorm, a: it wants a first, and the built-in rule wants its own. */
START_TEST(a_pass_puts_nothing_before_selective_backprop_even_in_upstreams_order)
{
    const char *const names[] = {"low_precision_layernorm", "a", "selective_backprop"};
    engine *e = new_engine_in(true, NULL);
    for (int k = 0; k < 3; k++) {
        const participant p = algorithm(k, names[k]);
        add(e, &p);
    }
    cast[3] = (actor){
        .name = "p",
        .pass = {.struct_size = (uint32_t)sizeof(tutti_pass_v1), .order = answer_order}};
    participant p = as_participant(&cast[3], "pass", NULL, 0);
    p.pass_index = 1;
    add(e, &p);
    seal(e);
    pass_answer[0] = 2;
    pass_answer[1] = 0;
    pass_answer[2] = 1;
    pass_count = 3;
    check_order(e, TUTTI_EVENT_BEFORE_LOSS,
                "[selective_backprop] selective_backprop a low_precision_layernorm");
    engine_destroy(e);
}
END_TEST

START_TEST(what_a_code_pass_returns_must_be_drawn_from_its_input)
{
    engine *e = engine_with_pass(-1);
    pass_answer[0] = pass_answer[1] = 1;
    pass_count = 2;
    tutti_error twice = TUTTI_ERROR_INIT, none = TUTTI_ERROR_INIT;
    ck_assert_int_eq(engine_run_event(e, TUTTI_EVENT_BEFORE_LOSS, &twice), TUTTI_E_RANGE);
    ck_assert_error(twice, TUTTI_E_RANGE,
                    "pass p on before_loss: it returned index 1 twice, want each of 0 to 2 at "
                    "most once");
    pass_answer[0] = 3;
    ck_assert_int_eq(engine_run_event(e, TUTTI_EVENT_BEFORE_LOSS, &none), TUTTI_E_RANGE);
    ck_assert_error(
        none, TUTTI_E_RANGE,
        "pass p on before_loss: it returned index 3 of none, want each of 0 to 2 at "
        "most once");
    pass_count = 0;
    check_order(e, TUTTI_EVENT_AFTER_LOSS, "[selective_backprop]");
    engine_destroy(e);
}
END_TEST

START_TEST(an_order_that_a_pass_fails_at_is_not_told)
{
    engine *e = engine_with_pass(-1);
    engine_place places[8];
    tutti_error err = TUTTI_ERROR_INIT;
    size_t n = 7;
    pass_answer[0] = pass_answer[1] = 1;
    pass_count = 2;
    ck_assert_int_eq(engine_order(e, TUTTI_EVENT_BEFORE_LOSS, places, 8, &n, &err),
                     TUTTI_E_RANGE);
    ck_assert_error(err, TUTTI_E_RANGE,
                    "pass p on before_loss: it returned index 1 twice, want each of 0 to 2 at "
                    "most once");
    ck_assert_uint_eq(n, 0);
    engine_destroy(e);
}
END_TEST

static size_t order_of(engine *e, int32_t event, engine_place *places, size_t capacity)
{
    tutti_error err = TUTTI_ERROR_INIT;
    size_t n = 0;
    ck_assert_ok(engine_order(e, event, places, capacity, &n, &err), err);
    return n;
}

START_TEST(each_place_has_a_reason)
{
    static const char *const before_a[] = {"a", NULL};
    actor c = {.name = "saver"};
    engine *e = new_engine(NULL);
    participant p = algorithm(0, "a");
    add(e, &p);
    p = algorithm(1, "b");
    p.rules.before = before_a;
    add(e, &p);
    p = algorithm(2, "selective_backprop");
    add(e, &p);
    p = algorithm(3, "z");
    p.rules.last = true;
    add(e, &p);
    p = algorithm(4, "q");
    add(e, &p);
    p = as_participant(&c, "callback", events, 2);
    add(e, &p);
    seal(e);
    engine_place places[8];
    ck_assert_uint_eq(order_of(e, TUTTI_EVENT_AFTER_LOSS, places, 8), 6);
    static const char *const want[][3] = {
        {"selective_backprop", "algorithm", "first: built in"},
        {"q", "algorithm", "reversed: after_* events run last in, first out"},
        {"b", "algorithm", "before a: its manifest"},
        {"a", "algorithm", "after b: that one's manifest"},
        {"z", "algorithm", "last: its manifest"},
        {"saver", "callback", "list order"}};
    for (int k = 0; k < 6; k++) {
        ck_assert_str_eq(places[k].name, want[k][0]);
        ck_assert_str_eq(places[k].kind, want[k][1]);
        ck_assert_str_eq(places[k].reason, want[k][2]);
    }
    ck_assert_uint_eq(order_of(e, TUTTI_EVENT_AFTER_LOSS, NULL, 0), 6);
    ck_assert_uint_eq(order_of(e, TUTTI_EVENT_FIT_END, places, 8), 0);
    engine_destroy(e);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rules");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, after_events_run_last_in_first_out_but_absolute_rules_hold);
    tcase_add_test(tc, the_order_of_upstream_can_be_asked_for);
    tcase_add_test(tc, manifests_order_by_name_and_by_tag);
    tcase_add_test(tc, rules_are_reversed_on_the_events_of_reverse_on);
    tcase_add_test(tc, a_circle_is_told_edge_by_edge_with_files);
    tcase_add_test(tc, those_that_exclude_each_other_are_refused);
    tcase_add_test(tc, two_that_interpolate_the_loss_are_warned_about_once);
    tcase_add_test(tc, a_code_pass_reorders_and_drops_and_its_answer_is_kept);
    tcase_add_test(tc, a_code_pass_at_the_front_sees_the_list_order);
    tcase_add_loop_test(tc, the_index_of_a_pass_counts_as_upstreams_in_its_order, 0, 7);
    tcase_add_test(tc, a_pass_puts_nothing_before_selective_backprop_even_in_upstreams_order);
    tcase_add_test(tc, what_a_code_pass_returns_must_be_drawn_from_its_input);
    tcase_add_test(tc, an_order_that_a_pass_fails_at_is_not_told);
    tcase_add_test(tc, each_place_has_a_reason);
    return tutti_run(suite);
}
