/* json_images.c - pixels to PNG, PNG to base64, with the classes of images and the masks. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1 /* images */
#include "json_images.h"

#include "json_line.h"
#include "picture.h"

/* RFC 4648: three bytes are four characters, what is missing of the last three is "=". */
static void put_base64(FILE *out, const unsigned char *data, size_t size)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t k = 0; k < size; k += 3) {
        const size_t left = size - k;
        const unsigned three = (unsigned)data[k] << 16 |
                               (left > 1 ? (unsigned)data[k + 1] << 8 : 0) |
                               (left > 2 ? data[k + 2] : 0);
        const char four[] = {digits[three >> 18], digits[three >> 12 & 63],
                             left > 1 ? digits[three >> 6 & 63] : '=',
                             left > 2 ? digits[three & 63] : '='};
        (void)fwrite(four, 1, sizeof four, out);
    }
}

/* ["...", ...]: the images, or those of mask m. */
static tutti_status put_pictures(FILE *out, const char *who, const tutti_images *images,
                                 int64_t m, tutti_error *err)
{
    (void)fputc('[', out);
    for (int64_t k = 0; k < images->pixels->desc.dim[0]; k++) {
        picture p = {.png = NULL};
        const tutti_status s = m < 0 ? picture_one(who, images, k, &p, err)
                                     : picture_mask_one(who, images, (uint32_t)m, k, &p, err);
        if (s)
            return s;
        (void)fputs(k ? ",\"" : "\"", out);
        put_base64(out, p.png, p.size);
        (void)fputc('"', out);
        free(p.png);
    }
    (void)fputc(']', out);
    return TUTTI_OK;
}

static void put_classes(FILE *out, const char *key, const int32_t *classes, int64_t n)
{
    for (int64_t k = 0; classes && k < n; k++) {
        if (k == 0)
            (void)fprintf(out, ",\"%s\":[", key);
        (void)fprintf(out, "%s%d%s", k ? "," : "", (int)classes[k], k + 1 == n ? "]" : "");
    }
}

static void put_names(FILE *out, const tutti_images *images)
{
    for (uint32_t k = 0; k < images->nlabels; k++) {
        (void)fputs(k ? "," : ",\"classes\":[", out);
        json_line_string(out, images->class_labels[k]);
        (void)fputs(k + 1 == images->nlabels ? "]" : "", out);
    }
}

static tutti_status put_masks(FILE *out, const char *who, const tutti_images *images,
                              tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    for (uint32_t m = 0; m < images->nmasks && !s; m++) {
        (void)fputs(m ? "," : ",\"masks\":{", out);
        json_line_string(out, images->masks[m].name);
        (void)fputc(':', out);
        s = put_pictures(out, who, images, m, err);
        (void)fputs(m + 1 == images->nmasks ? "}" : "", out);
    }
    return s;
}

static tutti_status put_members(FILE *out, const char *who, const tutti_images *images,
                                tutti_error *err)
{
    const int64_t *dim = images->pixels->desc.dim;
    (void)fputs(",\"name\":", out);
    json_line_string(out, images->name);
    (void)fprintf(out, ",\"height\":%lld,\"width\":%lld", (long long)dim[1], (long long)dim[2]);
    put_names(out, images);
    if (TUTTI_HAS(images, tutti_images, expected)) {
        put_classes(out, "predicted", images->predicted, dim[0]);
        put_classes(out, "expected", images->expected, dim[0]);
    }
    (void)fputs(",\"images\":", out);
    const tutti_status s = put_pictures(out, who, images, -1, err);
    return s ? s : put_masks(out, who, images, err);
}

tutti_status json_line_images(FILE *out, const char *who, const tutti_images *images,
                              uint64_t step, tutti_error *err)
{
    char *text = NULL; /* a line that fails is not begun in `out` */
    size_t size = 0;
    FILE *line = open_memstream(&text, &size);
    tutti_status s = line ? put_members(line, who, images, err) : TUTTI_E_NOMEM;
    const int failed = line ? ferror(line) | fclose(line) : 1;
    if (failed && (!s || !line))
        s = tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for images", who);
    if (!s) {
        json_line_begin(out, "images");
        (void)fprintf(out, ",\"batch\":%llu", (unsigned long long)step);
        (void)fwrite(text, 1, size, out);
        (void)fputs("}\n", out);
    }
    free(text);
    return s;
}
