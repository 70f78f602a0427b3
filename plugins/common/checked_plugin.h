/* checked_plugin.h - the whole table of a plugin with one object that judges its settings, with its entry function. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CHECKED_PLUGIN_H
#define CHECKED_PLUGIN_H

#include "tutti/tutti.h"

/* TUTTI_PLUGIN_OF_ONE for an object with a `check` of its settings: what follows `check_` are members of tutti_calls.
 * Id and version are those of this tree's plugins. */
#define CHECKED_PLUGIN(name_, kind_, check_, ...)                                              \
    static const tutti_calls checked_calls = {.struct_size = sizeof(tutti_calls),              \
                                              __VA_ARGS__};                                    \
    static const tutti_object checked_object =                                                 \
        TUTTI_OBJECT_INIT_CHECKED(name_, kind_, &checked_calls, check_);                       \
    static const tutti_object *const checked_objects[] = {&checked_object, NULL};              \
    static const tutti_plugin checked_plugin =                                                 \
        TUTTI_PLUGIN_INIT("org.tutti." name_, "1.0.0", checked_objects);                       \
    TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)                        \
    {                                                                                          \
        (void)host_abi;                                                                        \
        return &checked_plugin;                                                                \
    }                                                                                          \
    struct tutti_plugin /* takes the semicolon behind the macro */

#endif
