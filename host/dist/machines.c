/* machines.c - which ranks share a machine. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dist/world_internal.h"

bool machines_find(world_machines *m, const rank_place *all, int32_t size)
{
    m->count = 0;
    m->hierarchical = false;
    for (int32_t first = 0; first < size; first += all[first].size, m->count++) {
        const int32_t n = all[first].size;
        if (n < 1 || n > size - first)
            return false;
        for (int32_t k = 0; k < n; k++) {
            if (all[first + k].rank != k || all[first + k].size != n)
                return false;
            m->first[first + k] = first;
            m->size[first + k] = n;
        }
        m->hierarchical = m->hierarchical || n > 1;
    }
    m->hierarchical = m->hierarchical && m->count > 1;
    return true;
}

world_place machines_place(const rank_place *all, int32_t size, int32_t rank, bool found)
{
    world_place p = {all[rank].rank, all[rank].size, -1, 0};
    for (int32_t k = 0; k < size; k++) {
        p.machines += all[k].rank == 0;
        p.machine += found && k <= rank && all[k].rank == 0;
    }
    if (p.machines == 0) /* a comm that numbers the ranks of machines otherwise */
        p.machines = 1;
    return p;
}
