/* pictures.c - images brought to the form of their column, or refused. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "pictures.h"

#include <stdio.h>

tutti_status pictures_open(pictures *p, const tutti_params *params, tutti_error *err)
{
    memset(p, 0, sizeof *p);
    p->channels = strcmp(tutti_param_str(params, "channels"), "grey") == 0 ? 1 : 3;
    p->vary = strcmp(tutti_param_str(params, "sizes"), "vary") == 0;
    p->pool = image_pool_make();
    if (!p->pool)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for decoders");
    p->shrinks = tutti_param_i64(params, "shrink") > 0;
    image_pool_shrink(p->pool, (int)tutti_param_i64(params, "shrink"));
    return TUTTI_OK;
}

void pictures_close(pictures *p)
{
    image_pool_free(p->pool);
    p->pool = NULL;
}

tutti_status pictures_probe(pictures *p, const void *data, uint64_t size,
                            char why[IMAGE_WHY_SIZE])
{
    tutti_desc d;
    const tutti_status s = image_shape(p->pool, data, size, &d, why);
    if (s)
        return s;
    d.dim[2] = p->channels;
    if (p->desc.rank == 0)
        p->desc = d;
    for (int k = 0; k < 2; k++)
        if (p->vary || p->desc.dim[k] != d.dim[k])
            p->desc.dim[k] = -1;
    return TUTTI_OK;
}

tutti_status pictures_read(const pictures *p, const void *data, uint64_t size, tutti_tensor *to,
                           uint64_t capacity, char why[IMAGE_WHY_SIZE])
{
    char have[80], want[80];
    tutti_desc d;
    const tutti_status s = image_shape(p->pool, data, size, &d, why);
    if (s)
        return s;
    d.dim[2] = p->channels;
    to->desc = d;
    for (int k = 0; k < 2; k++)
        if (p->desc.dim[k] >= 0 && p->desc.dim[k] != d.dim[k]) {
            (void)snprintf(why, IMAGE_WHY_SIZE, "is %s, others are %s; set sizes to vary",
                           tutti_desc_text(&d, have, sizeof have),
                           tutti_desc_text(&p->desc, want, sizeof want));
            return TUTTI_E_SHAPE;
        }
    if (tutti_nbytes(&d) > capacity) {
        (void)snprintf(why, IMAGE_WHY_SIZE, "%s does not fit into %llu bytes",
                       tutti_desc_text(&d, have, sizeof have), (unsigned long long)capacity);
        return TUTTI_E_RANGE;
    }
    return image_decode_as(p->pool, data, size, p->channels, to->data, why);
}

tutti_status pictures_copy(const pictures *p, const void *data, uint64_t size, void *to,
                           uint64_t capacity, uint64_t *ret_size, char why[IMAGE_WHY_SIZE])
{
    tutti_desc d;
    *ret_size = 0;
    if (p->shrinks)
        return TUTTI_OK;
    const tutti_status s = image_shape(p->pool, data, size, &d, why);
    if (s == TUTTI_E_NOMEM)
        return s;
    *ret_size =
        !s && d.dim[2] == p->channels ? size : 0; /* who reads its pixels says what is wrong */
    if (*ret_size && *ret_size <= capacity)
        memcpy(to, data, size);
    return TUTTI_OK;
}
