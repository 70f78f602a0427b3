/* first_values.h - what a weight holds before anything trains it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_NET_FIRST_VALUES_H
#define HOST_GRAPH_NET_FIRST_VALUES_H

#include "tutti/module.h"

/* Writes all elements of a weight.  Each is a function of init, seed, key and its index alone: the same bits by any number of
 * threads.  `data` is the host's. */
void first_values_draw(const tutti_init *init, const tutti_desc *desc, uint64_t seed,
                       uint64_t key, int threads, void *data);

#endif
