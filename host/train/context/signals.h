/* signals.h - the operator's signals: the first stops, the second leaves a plugin's call, the third kills. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_CONTEXT_SIGNALS_H
#define HOST_TRAIN_CONTEXT_SIGNALS_H

#include <setjmp.h>
#include <stdbool.h>

/* SIGINT, SIGTERM and SIGHUP stop every trainer of this process after the batch under way, which is said
 * on stderr with the call of a plugin that is under way.  A second one does not wait for that call nor
 * for data; a third one kills.  Those of `saves`, RUN_SAVES_ON_*, save and let it go on.  A closed pipe
 * (SIGPIPE) is an error of who writes.  Signals that are ignored stay so.  The calling
 * thread is the one that trains.  [control] */
void trainer_catch_signals(unsigned saves);
int trainer_signal(void); /* the first that stops, or 0 */
/* Several processes stop behind the same batch: from now on trainer_signal is what was accepted, and what
 * has come to this process alone is pending. */
void trainer_defer_signals(void);
int trainer_pending_signal(void); /* or 0; of any thread */
int trainer_first_signal(void);   /* what was accepted, else what is pending, or 0 */
void trainer_accept_signal(int number);
bool trainer_pending_save(void); /* since the last call */
void trainer_accept_save(void);
bool trainer_hurries(void);    /* a second one came */
bool trainer_save_asked(void); /* since the last call */

/* Where the second signal goes on if it finds the training thread in a plugin's call:
 *     if (sigsetjmp(*trainer_escape(), 1)) ... left the call ...
 *     trainer_escape_end();
 */
sigjmp_buf *trainer_escape(void);
void trainer_escape_end(void);

#endif
