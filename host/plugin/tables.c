/* tables.c - the typed tables that this host asks of objects, and what is wrong with those of an instance. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/released.h"
#include "plugin/plugin.h"
#include "tutti/closure.h"
#include "tutti/collectives.h"
#include "tutti/device.h"
#include "tutti/device_collectives.h"
#include "tutti/files.h"
#include "tutti/history.h"
#include "tutti/layer.h"
#include "tutti/logger.h"
#include "tutti/loss.h"
#include "tutti/memory_observer.h"
#include "tutti/metric.h"
#include "tutti/model.h"
#include "tutti/op.h"
#include "tutti/optimizer.h"
#include "tutti/pass.h"
#include "tutti/penalty.h"
#include "tutti/scheduler.h"
#include "tutti/stateful.h"
#include "tutti/transform.h"
#include "tutti/vocabulary.h"

#include <string.h>

/* Whoever asks for another one adds it here: "consumes" of manifests and the checks below know it then. */
static const char *const consumed[] = {TUTTI_DATASET_V1,
                                       TUTTI_SAMPLE_ORDER_V1,
                                       TUTTI_SAMPLE_GROUPS_V1,
                                       TUTTI_CLASS_NAMES_V1,
                                       TUTTI_STORED_V1,
                                       TUTTI_TRANSFORM_V1,
                                       TUTTI_OPTIMIZER_V1,
                                       TUTTI_SCHEDULER_V1,
                                       TUTTI_METRIC_V1,
                                       TUTTI_LOGGER_V1,
                                       TUTTI_HISTORY_V1,
                                       TUTTI_FILES_V1,
                                       TUTTI_MEMORY_OBSERVER_V1,
                                       TUTTI_LAYER_V1,
                                       TUTTI_MODEL_V1,
                                       TUTTI_STATEFUL_V1,
                                       TUTTI_SAVER_V1,
                                       TUTTI_PASS_V1,
                                       TUTTI_DEVICE_V1,
                                       TUTTI_COLLECTIVES_V1,
                                       TUTTI_DEVICE_COLLECTIVES_V1,
                                       TUTTI_PENALTY_V1,
                                       TUTTI_LOSS_V1,
                                       TUTTI_OP_V1,
                                       TUTTI_VOCABULARY_V1,
                                       TUTTI_OPTIMIZER_WRAPPER_V1,
                                       NULL};

const char *const *tables_consumed(void)
{
    return consumed;
}

enum {
    OP_FLAGS = TUTTI_OP_RNG | TUTTI_OP_VIEW | TUTTI_OP_ELEMENTWISE | TUTTI_OP_COMMUTATIVE |
               TUTTI_OP_FUSED | TUTTI_OP_HALF | TUTTI_OP_BF16 | TUTTI_OP_REPRODUCIBLE
};

/* Bits that have a meaning. */
static tutti_status check_flags(const char *id, const void *table, tutti_error *err)
{
    uint32_t unknown = 0;
    if (strcmp(id, TUTTI_OPTIMIZER_WRAPPER_V1) == 0)
        unknown = ((const tutti_optimizer_wrapper_v1 *)table)->flags &
                  ~(uint32_t)TUTTI_WRAPPER_NO_LOSS;
    else if (strcmp(id, TUTTI_STATEFUL_V1) == 0)
        unknown =
            ((const tutti_stateful_v1 *)table)->flags & ~(uint32_t)TUTTI_STATEFUL_MAY_BE_NEW;
    else if (strcmp(id, TUTTI_OP_V1) == 0)
        unknown = ((const tutti_op *)table)->flags & ~(uint32_t)OP_FLAGS;
    else if (strcmp(id, TUTTI_COLLECTIVES_V1) == 0)
        unknown = ((const tutti_collectives_v1 *)table)->flags &
                  ~(uint32_t)TUTTI_COLLECTIVES_CONCURRENT;
    return unknown
               ? tutti_fail(err, TUTTI_E_ARG,
                            "its %s has flags 0x%x, which this host does not know", id, unknown)
               : TUTTI_OK;
}

/* Traits that promise a table. */
static tutti_status check_traits(instance *i, const object_info *info, tables_query *query,
                                 tutti_error *err)
{
    static const char *const promised[][2] = {
        {"backwards_create_graph", TUTTI_PENALTY_V1},
        {"wraps_optimizer", TUTTI_OPTIMIZER_WRAPPER_V1},
    };
    for (size_t k = 0; info->traits && info->traits[k]; k++)
        for (size_t m = 0; m < sizeof promised / sizeof *promised; m++)
            if (strcmp(info->traits[k], promised[m][0]) == 0 && !query(i, promised[m][1]))
                return tutti_fail(err, TUTTI_E_FORMAT,
                                  "%s: %s %s has trait %s and answers no %s", info->manifest,
                                  info->kind, info->name, promised[m][0], promised[m][1]);
    return TUTTI_OK;
}

tutti_status tables_check(instance *i, const object *o, const char *name, tables_query *query,
                          tutti_error *err)
{
    if (!o->calls.query)
        return check_traits(i, &o->info, query, err);
    for (size_t k = 0; consumed[k]; k++) {
        tutti_error cause = TUTTI_ERROR_INIT;
        const void *table = query(i, consumed[k]);
        tutti_status s = table ? released_table(table, consumed[k], &cause) : TUTTI_OK;
        if (!s && table)
            s = check_flags(consumed[k], table, &cause);
        if (s)
            return tutti_fail(err, s, "%s: %s %s: %s", o->plugin->library, o->info.kind, name,
                              cause.text);
    }
    return check_traits(i, &o->info, query, err);
}
