/* muon_range.h - the passes over one matrix, part by part, once per instruction set. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MUON_RANGE_H
#define MUON_RANGE_H

#include "muon_step.h"
#include "tutti/isa.h"

/* A tile of a product has as many rows and columns. */
enum { MUON_TILE = 32 };

/* One matrix and its update. */
typedef struct muon_job {
    muon_step step;
    muon_memory memory;
    muon_product product;
    int64_t rows;
    int64_t cols;
    float *w;
    const float *g;
    float *buffer;
    uint16_t *low; /* NULL: no copy in 16 bits */
    float norm;
    int32_t low_dtype;
} muon_job;

static inline int64_t muon_tiles(const muon_product *p)
{
    return (p->rows + MUON_TILE - 1) / MUON_TILE * ((p->cols + MUON_TILE - 1) / MUON_TILE);
}

/* Momentum and direction, and its squares, of piece `p`. */
void muon_look(const muon_job *j, int64_t p);
/* The direction over its norm, of piece `p` of it as it lies. */
void muon_scale(const muon_job *j, int64_t p);
/* One tile of the product. */
void muon_tile(const muon_job *j, int64_t t);
/* The new weights of piece `p`. */
void muon_change(const muon_job *j, int64_t p);

TUTTI_ISA_VARIANTS(muon_look);
TUTTI_ISA_VARIANTS(muon_scale);
TUTTI_ISA_VARIANTS(muon_tile);
TUTTI_ISA_VARIANTS(muon_change);

#endif
