/* generate_run.c - the run that tutti generate takes: of a checkpoint, of a run file, or made for a published folder. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/generate_run.h"
#include "base/text.h"
#include "train/fetch/fetch.h"
#include "train/run_file/run_published.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CONFIG_LIMIT = 1 << 20, USUAL_LENGTH = 1024 };

static bool is_folder(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

/* The run of a text; with `data`, an override, it has these data and no evaluations. */
static run_file *read_text(const cli_options *o, const char *name, const char *text,
                           const char *data, registry *r)
{
    cli_options with = *o;
    size_t n = 0;
    if (data) {
        with.sets[n++] = data;
        with.sets[n++] = "train.batch_size=1";
        with.sets[n++] = "eval=[]";
    }
    for (size_t k = 0; o->sets[k] && n < CLI_MAX_OPTIONS; k++)
        with.sets[n++] = o->sets[k];
    with.sets[n] = NULL;
    return cli_run_text(&with, name, text, RUN_FILE_MODEL, r);
}

/* ---- a published folder ---- */

/* What the buffer has; NULL after saying that memory is out. */
static char *taken(text_buffer *b, const char *name)
{
    if (!b->failed)
        return b->data;
    (void)fprintf(stderr, "tutti: %s: no memory for its run\n", name);
    free(b->data);
    return NULL;
}

static void add_tokens(text_buffer *b, const char *file, uint64_t length)
{
    text_add(b, "{\"name\": \"prompts\", \"tokenizer_file\": ");
    text_add_quoted(b, file);
    text_add(b, ", \"length\": %llu}", (unsigned long long)length);
}

/* What a run of the folder would say; the caller frees it.  NULL after saying what is wrong. */
static char *folder_text(const cli_options *o, registry *r, uint64_t tokens)
{
    char config[PATH_MAX], own[PATH_MAX], here[PATH_MAX] = "", why[512] = "";
    const char *folder = o->words[0];
    text_buffer b = {0};
    tutti_error e = TUTTI_ERROR_INIT;
    json_doc *doc = NULL;
    (void)snprintf(config, sizeof config, "%s/config.json", folder);
    (void)snprintf(own, sizeof own, "%s/tokenizer.json", folder);
    const char *tokenizer = o->generating.tokenizer ? o->generating.tokenizer : own;
    const tutti_status s = json_read(config, CONFIG_LIMIT, &doc, &e);
    const char *type = s ? NULL : json_string(json_get(json_root(doc), "model_type"));
    const object *model = type ? published_model(r, type, why, sizeof why) : NULL;
    if (s)
        (void)fprintf(stderr, "tutti: %s\n", e.text);
    else if (!model)
        (void)fprintf(stderr, "tutti: %s: no model here reads a model_type of %s%s%s\n", config,
                      type ? type : "nothing", *why ? "; " : "", why);
    else if (access(tokenizer, R_OK) != 0)
        (void)fprintf(stderr, "tutti: %s: is not there; --tokenizer names another\n",
                      tokenizer);
    else if (!realpath(folder, here))
        (void)fprintf(stderr, "tutti: %s: %s\n", folder, strerror(errno));
    else {
        text_add(&b, "{\"name\": \"generate\", \"model\": {\"name\": ");
        text_add_quoted(&b, object_describe(model)->name);
        text_add(&b, "}, \"train\": {\"dataset\": ");
        add_tokens(&b, tokenizer, tokens);
        text_add(&b, ", \"batch_size\": 1}, \"optimizer\": {\"name\": \"sgd\", \"lr\": 0.0}, "
                     "\"max_duration\": \"1ba\", \"load_weights\": ");
        text_add_quoted(&b, here);
        text_add(&b, "}");
    }
    json_free(doc);
    return taken(&b, folder);
}

/* The file of the folder's weights, or of what is no folder; the caller frees it. */
static char *weights_of(const char *path)
{
    const bool as_it_is = text_is_address(path);
    faults *f = faults_create();
    char *file = as_it_is ? strdup(path) : f ? published_weights(path, NULL, f) : NULL;
    if (!file && (as_it_is || !f))
        (void)fprintf(stderr, "tutti: %s: no memory for its path\n", path);
    for (size_t k = 0; f && k < faults_count(f); k++)
        (void)fprintf(stderr, "tutti: %s: %s\n", path, faults_text(f, k));
    faults_destroy(f);
    return file;
}

/* ---- a checkpoint ---- */

/* "train.dataset=..." of the tokenizer that the command line names, with rows as long as the run's; the caller frees
 * it.  NULL after saying what is wrong. */
static char *other_tokens(const char *name, const char *text, const char *tokenizer)
{
    text_buffer b = {0};
    json_doc *run = NULL;
    tutti_error e = TUTTI_ERROR_INIT;
    if (json_parse(name, text, strlen(text), &run, &e)) {
        (void)fprintf(stderr, "tutti: %s\n", e.text);
        return NULL;
    }
    const json_node *dataset = json_get(json_get(json_root(run), "train"), "dataset");
    const int64_t length = json_int(json_get(dataset, "length"));
    text_add(&b, "train.dataset=");
    add_tokens(&b, tokenizer, length > 0 ? (uint64_t)length : USUAL_LENGTH);
    json_free(run);
    return taken(&b, name);
}

/* The run that the checkpoint keeps. */
static run_file *kept_run(const cli_options *o, registry *r)
{
    tutti_error e = TUTTI_ERROR_INIT;
    checkpoint *c = NULL;
    run_file *run = NULL;
    fetched *here = NULL;
    const fetch_source from = {.registry = r};
    const tutti_status s = fetch_open(&from, o->words[0], &here, &c, &e);
    const char *text = s ? NULL : checkpoint_value(c, "run");
    const bool other = text && o->generating.tokenizer;
    char *tokens = other ? other_tokens(o->words[0], text, o->generating.tokenizer) : NULL;
    if (s)
        (void)fprintf(stderr, "tutti: %s\n", e.text);
    else if (!text)
        (void)fprintf(
            stderr,
            "tutti: %s: is no checkpoint of a run; name the run file of its model with "
            "--run\n",
            o->words[0]);
    else if (!other || tokens)
        run = read_text(o, o->words[0], text, tokens, r);
    free(tokens);
    checkpoint_close(c);
    if (run)
        run->source.fetched = here;
    else
        fetched_free(here);
    return run;
}

/* The run file of the command line. */
static run_file *named_run(const cli_options *o, registry *r)
{
    cli_options named = *o;
    named.run = o->generating.run;
    if (!o->generating.tokenizer)
        return cli_ranked_file(&named, RUN_FILE_MODEL, r);
    (void)fprintf(stderr, "tutti: --run has tokens of its own: --set train.dataset=... "
                          "changes them, --tokenizer does not\n");
    return NULL;
}

run_file *generate_run(const cli_options *o, registry *r, uint64_t tokens, char **ret_weights)
{
    const bool made = is_folder(o->words[0]) && !o->generating.run;
    char *text = made ? folder_text(o, r, tokens) : NULL;
    run_file *run = NULL;
    *ret_weights = NULL;
    if (made && text)
        run = read_text(o, o->words[0], text, NULL, r);
    else if (!made)
        run = o->generating.run ? named_run(o, r) : kept_run(o, r);
    free(text);
    if (run && !(*ret_weights = weights_of(o->words[0]))) {
        run_file_free(run);
        run = NULL;
    }
    return run;
}
