#!/usr/bin/env python3
"""unicode_ranges.py - writes unicode_ranges.h: the letters and numbers of Python's Unicode."""
import unicodedata


def ranges(initial):
    """First and last code points of every run whose general category begins with `initial`."""
    found = []
    for code in range(0x110000):
        if unicodedata.category(chr(code))[0] == initial:
            if found and found[-1][1] == code - 1:
                found[-1][1] = code
            else:
                found.append([code, code])
    return found


def table(name, initial):
    """A C array of the ranges, as many to a line as fit."""
    lines, line = [], "   "
    for first, last in ranges(initial):
        item = f" {{0x{first:x}, 0x{last:x}}},"
        if len(line) + len(item) > 96:
            lines.append(line)
            line = "   "
        line += item
    lines.append(line)
    return f"static const unicode_range {name}[] = {{\n" + "\n".join(lines) + "\n};\n"


print(f"""/* unicode_ranges.h - letters and numbers of Unicode {unicodedata.unidata_version}; \
written by unicode_ranges.py. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNICODE_RANGES_H
#define UNICODE_RANGES_H

#include <stdint.h>

/* Both ends belong to it. */
typedef struct unicode_range {{
    uint32_t first;
    uint32_t last;
}} unicode_range;

/* clang-format off */
/* General category L*. */
{table("unicode_letters", "L")}
/* General category N*. */
{table("unicode_numbers", "N")}/* clang-format on */

#endif""")
