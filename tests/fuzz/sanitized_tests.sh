#!/bin/sh
# SPDX-License-Identifier: MIT
# The tests of gate and decoders once more, under AddressSanitizer and UndefinedBehaviorSanitizer, in
# the libraries that short_run.sh needs anyway.
command -v "${FUZZ_CC:-clang}" >/dev/null || { echo "no ${FUZZ_CC:-clang} to build them"; exit 77; }
# (one make at a time in that folder; short_run.sh builds there, too)
flock "${PITH_O:-build/release}/../fuzz.lock" "${MAKE:-make}" -s -j"$(nproc)" sanitized-build &&
    "${MAKE:-make}" --no-print-directory sanitized-tests
