/* when.h - conditions of a manifest on the settings of the object that they stand in. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_PLUGIN_WHEN_H
#define HOST_PLUGIN_WHEN_H

#include "plugin/plugin.h"

/* Holds "when" of an entry to the settings that `o` declares: their names, their values.  What is wrong goes to
 * `f`.  An entry without one is right. */
void when_read(const json_node *entry, const object *o, faults *f);

/* Whether the "when" of an entry holds with these settings.  One that is not there holds, and so does what this host
 * does not know in one of a newer format. */
bool when_holds(const json_node *entry, const tutti_params *params);

/* Of an entry that has one: it in words, "update_interval is ba", which the caller frees.  NULL: no memory. */
char *when_text(const json_node *entry);

#endif
