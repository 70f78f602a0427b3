/* subject.h - the object that is tried: its settings, and the run in which it lives. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_CHECK_SUBJECT_H
#define HOST_CHECK_SUBJECT_H

#include "check/check.h"
#include "train/trainer/trainer.h"

enum { STOCK_RUNS = 4, SETTINGS_SIZE = 4096 };

typedef struct subject {
    const check_options *options;
    size_t plugin; /* its number in the registry */
    const object *object;
    const object_info *info;
    const char *folder; /* where children work */
    char name[160];     /* "org.example.mine:mine", as run files have it */
    json_doc *members;  /* of check.json or --run; NULL: there is none */
    json_doc *run;      /* the run with the object in it, of the stock run below */
    json_node *given;   /* what it says of the object, in `run` */
    int stock;
} subject;

/* The object in stock run `stock` with the members of the user's.  Errors: E_ARG, E_FORMAT what is wrong with
 * those; E_UNSUPPORTED objects of this kind have no place in a run file. */
TUTTI_NODISCARD tutti_status subject_place(subject *s, int stock, tutti_error *err);
void subject_fini(subject *s);

/* The settings that `run` gives the object and, over them, `more` (a JSON object's members without braces; may be
 * NULL).  The result is the caller's; NULL after a fault, which is in `text`. */
tutti_params *subject_params(const subject *s, const char *more, char *text, size_t size);

/* Events that the settings of `s` leave out, one bit each; ~0: settings that the manifest refuses. */
uint64_t subject_left_out(const subject *s);

/* Opens the run of `s`, or the stock run without the object, for services.  [control] */
TUTTI_NODISCARD tutti_status subject_train(const subject *s, bool with, const char *folder,
                                           run_file **ret_run, trainer **ret_trainer,
                                           tutti_error *err);
void subject_end(run_file *run, trainer *t);

/* Whether the error of a run is not that it is none for this object: it asks for what its tags say that it ignores. */
bool subject_breaks_its_word(const subject *s, tutti_status status);

/* Files that stock runs read, in the present folder. */
void subject_write_files(void);

#endif
