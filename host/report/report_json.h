/* report_json.h - pieces of a report's data: JSON in which no "<" stands, which would end the script that it lies in. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_REPORT_REPORT_JSON_H
#define HOST_REPORT_REPORT_JSON_H

#include "base/json.h"
#include "base/text.h"
#include "report/run_folder.h"

void report_json(text_buffer *b, const char *json);      /* which is whole already */
void report_node(text_buffer *b, const json_node *node); /* null for NULL */
void report_string(text_buffer *b, const char *text);    /* null for NULL */
void report_number(text_buffer *b, double value); /* what JSON has no number for is a string */
void report_known(text_buffer *b, double value);  /* null for NaN */
/* ,"key":[...]: n values, those at `which` unless that is NULL, less `minus`; above 0 it leaves three decimals. */
void report_numbers(text_buffer *b, const char *key, const double *values, const size_t *which,
                    size_t n, double minus);

/* "name":..., "n":..., "least":..., "greatest":...: a series without its points, with the brace before. */
void report_series_header(text_buffer *b, const series *s);
/* ,"media":[...]: the tables and images of the run, of each name at most a dozen, evenly apart, each with what it has of
 * rows; `from` on, in the order of the log.  What can no longer be read is left out. */
void report_media(text_buffer *b, const run_folder *r, size_t from);
/* "status":..., to "memory":...: what becomes of the run. */
void report_state(text_buffer *b, const run_folder *r);
/* ,"timeline":{...}: what each algorithm did. */
void report_timeline(text_buffer *b, const run_folder *r);
/* ,"messages":[...]: those from the `from`-th on that are told. */
void report_messages(text_buffer *b, const run_folder *r, size_t from);

#endif
