/* predict.c - tutti predict: a model's outputs for a data set, as a NumPy file. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { HEADER = 128 }; /* bytes before the data, a multiple of 64 */

/* A .npy file under way: FILE.npy.part until all rows are there. */
typedef struct npy {
    FILE *file;
    tutti_desc row; /* of one sample */
    int64_t rows;
} npy;

/* Version 1.0: numpy.lib.format. */
static tutti_status put_header(const npy *n, tutti_error *err)
{
    char text[HEADER + 1], shape[80] = "";
    for (int32_t k = 0; k < n->row.rank; k++)
        (void)snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%lld, ",
                       (long long)n->row.dim[k]);
    const int used = snprintf(text, sizeof text,
                              "\x93NUMPY\x01%c%c%c{'descr': '<f4', 'fortran_order': False, "
                              "'shape': (%lld, %s), }",
                              0, HEADER - 10, 0, (long long)n->rows, shape);
    memset(text + used, ' ', (size_t)(HEADER - used - 1));
    text[HEADER - 1] = '\n';
    if (fseek(n->file, 0, SEEK_SET) != 0 || fwrite(text, 1, HEADER, n->file) != HEADER)
        return tutti_fail(err, TUTTI_E_IO, "the output cannot be written: %s", strerror(errno));
    return TUTTI_OK;
}

static tutti_status put_rows(void *ctx, const tutti_tensor *output, tutti_error *err)
{
    npy *n = ctx;
    char text[96];
    if (output->desc.dtype != TUTTI_F32 || output->desc.rank < 1)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "the model's output is %s, want F32 rows",
                          tutti_desc_text(&output->desc, text, sizeof text));
    tutti_desc row = output->desc;
    memmove(&row.dim[0], &row.dim[1], (size_t)--row.rank * sizeof row.dim[0]);
    if (n->rows == 0) {
        n->row = row;
        const tutti_status s = put_header(n, err); /* room for the true one */
        if (s)
            return s;
    } else if (memcmp(n->row.dim, row.dim, (size_t)row.rank * sizeof row.dim[0]) != 0)
        return tutti_fail(err, TUTTI_E_SHAPE, "rows of the output differ in shape");
    const uint64_t bytes = tutti_nbytes(&output->desc);
    if (fwrite(output->data, 1, bytes, n->file) != bytes)
        return tutti_fail(err, TUTTI_E_IO, "the output cannot be written: %s", strerror(errno));
    n->rows += output->desc.dim[0];
    return TUTTI_OK;
}

static tutti_status predict_into(trainer *t, const cli_options *o, tutti_error *err)
{
    char part[PATH_MAX];
    npy n = {0};
    if (snprintf(part, sizeof part, "%s.part", o->output) >= (int)sizeof part)
        return tutti_fail(err, TUTTI_E_IO, "%s: the path is too long", o->output);
    n.file = fopen(part, "w+be");
    if (!n.file)
        return tutti_fail(err, TUTTI_E_IO, "%s: %s", part, strerror(errno));
    tutti_status s = trainer_predict(t, o->resume, o->data, put_rows, &n, err);
    if (s == TUTTI_OK)
        s = put_header(&n, err);
    if (fclose(n.file) != 0 && s == TUTTI_OK)
        s = tutti_fail(err, TUTTI_E_IO, "%s: %s", part, strerror(errno));
    if (s == TUTTI_OK && rename(part, o->output) != 0)
        s = tutti_fail(err, TUTTI_E_IO, "%s: %s", o->output, strerror(errno));
    if (s)
        (void)remove(part);
    else
        (void)printf("%lld predictions\n", (long long)n.rows);
    return s;
}

static int run(const cli_options *o, const tutti_op *const *ops)
{
    int status = CLI_USAGE;
    if (!o->output) {
        (void)fprintf(stderr, "tutti: predict needs --output\n");
        return CLI_USAGE;
    }
    trainer *t = NULL;
    tutti_error e = TUTTI_ERROR_INIT;
    registry *r = cli_registry(o);
    run_file *run = r ? cli_run_file(o, RUN_FILE_TRAIN, r) : NULL;
    if (!run)
        goto end;
    if (!cli_has_weights(o, run, "predict"))
        goto end;
    run_file_forget_loggers(run);
    trainer_catch_signals(run->checkpoints.signals);
    if (trainer_create(run, r, ops, &t, &e)) {
        (void)fprintf(stderr, "tutti: %s\n", e.text);
        goto end;
    }
    trainer_on_message(t, cli_message, run, o->talk.verbose);
    status = CLI_OK;
    if (predict_into(t, o, &e)) {
        (void)fprintf(stderr, "tutti: %s\n", e.text);
        status = e.status == TUTTI_E_INTERRUPTED ? 128 + trainer_signal() : CLI_FAILED;
    }

end:
    trainer_destroy(t);
    run_file_free(run);
    registry_destroy(r);
    return status;
}

const cli_command cli_predict = {
    .name = "predict",
    .args = "RUN.json",
    .kind = CLI_VALUE_RUN,
    .summary = "write a model's outputs for a data set",
    .doc = "Writes the model's outputs, one row a sample in the data's order, as a NumPy "
           "array.  Needs --output, and --checkpoint or \"load_weights\" in RUN.json; the file "
           "may be another program's.",
    .more =
        "Exit status: 0 written, 1 failed, 2 wrong usage or input, 128 + signal when stopped.",
    .takes = CLI_TAKES_PLUGINS | CLI_TAKES_RUN | CLI_TAKES_TALK | CLI_TAKES_CHECKPOINT |
             CLI_TAKES_OUTPUT,
    .least = 1,
    .most = 1,
    .run = run,
};
