/* adafactor_range.h - the passes over one weight, part by part, once per instruction set. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ADAFACTOR_RANGE_H
#define ADAFACTOR_RANGE_H

#include "adafactor_step.h"
#include "tutti/isa.h"

/* Columns of a part of the second pass. */
enum { ADAFACTOR_COLUMNS = 64 };

/* One weight and its state. */
typedef struct adafactor_job {
    adafactor_shape shape;
    adafactor_step step;
    float *w;
    const float *g;
    float *row_var; /* batches * rows; of a vector, cols */
    float *col_var; /* batches * cols */
    double *sums;   /* 2 a part: of squares of the weight, of the direction */
    double *means;  /* batches */
    uint16_t *low;  /* NULL: no copy in 16 bits */
    float rate;
    int32_t low_dtype;
} adafactor_job;

/* Averages of rows, or of a vector's elements, and the squares of weights; of part `p`. */
void adafactor_rows(const adafactor_job *j, int64_t p);
/* Averages of columns: of block `p` of ADAFACTOR_COLUMNS, batch by batch. */
void adafactor_cols(const adafactor_job *j, int64_t p);
/* Squares of the direction, of part `p`. */
void adafactor_look(const adafactor_job *j, int64_t p);
/* The new weights of part `p`. */
void adafactor_move(const adafactor_job *j, int64_t p);

TUTTI_ISA_VARIANTS(adafactor_rows);
TUTTI_ISA_VARIANTS(adafactor_cols);
TUTTI_ISA_VARIANTS(adafactor_look);
TUTTI_ISA_VARIANTS(adafactor_move);

#endif
