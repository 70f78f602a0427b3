/* values.h - values for a setting, out of what its manifest says of it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_CHECK_VALUES_H
#define HOST_CHECK_VALUES_H

#include "base/json.h"

enum { SETTING_VALUES = 24, SETTING_VALUE_SIZE = 160 };

/* As JSON texts.  The manifest may refuse some of them. */
typedef struct setting_values {
    char text[SETTING_VALUES][SETTING_VALUE_SIZE];
    int count;
} setting_values;

/* Those at the limits, beside them, and ordinary ones. */
void setting_values_of(setting_values *v, const json_node *spec);

/* One that is as good as any, for a setting that must have one; false: a path, which nobody can make up.  `text` has
 * room for SETTING_VALUE_SIZE bytes. */
bool setting_some_value(const json_node *spec, char *text);

#endif
