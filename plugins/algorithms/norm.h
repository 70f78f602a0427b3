/* norm.h - a number divided by the norm of all gradients: it is made and stays where those are. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_NORM_H
#define PLUGIN_NORM_H

#include "../common/squares.h"
#include "kernels.h"
#include "norm_step.h"

/* The manifest declares "squares" and "norm_quotient". */
typedef struct norm {
    algorithm_device device;
    squares squares;
    algorithm_memory quotient; /* one f32 */
    uint32_t kernel;
    uint32_t reserved;
} norm;

TUTTI_EXPORT void norm_quotient_cpu(const double *parts, int64_t count, double number,
                                    double epsilon, double most, float *quotient);

void norm_quotient_cpu(const double *parts, int64_t count, double number, double epsilon,
                       double most, float *quotient)
{
    *quotient = norm_quotient(squares_total(parts, count), number, epsilon, most);
}

static inline tutti_status norm_init(norm *n, const tutti_host *host, const char *who,
                                     tutti_error *err)
{
    static const char *const names[] = {"norm_quotient"};
    tutti_status s = algorithm_device_init(&n->device, host, who, err);
    if (!s)
        s = algorithm_kernels(&n->device, names, 1, &n->kernel, err);
    return s ? s : squares_init(&n->squares, host, who, err);
}

static inline void norm_fini(norm *n)
{
    squares_fini(&n->squares);
    algorithm_give(&n->device, &n->quotient);
}

/* *ret_quotient, on the device: number / (norm + epsilon), at most `most`. */
static inline tutti_status norm_divide(norm *n, double number, double epsilon, double most,
                                       float **ret_quotient, tutti_error *err)
{
    tutti_status s = squares_launch(&n->squares, SQUARES_OF_GRADIENTS, NULL, err);
    if (s || (s = algorithm_take(&n->device, &n->quotient, sizeof(float), err)))
        return s;
    int64_t count = n->squares.count;
    *ret_quotient = n->quotient.data;
    return algorithm_launch(&n->device, n->kernel, err, &n->squares.parts, &count, &number,
                            &epsilon, &most, &n->quotient.data);
}

#endif
