#!/bin/sh
# SPDX-License-Identifier: MIT
# The tests of gate and decoders once more, under AddressSanitizer and UndefinedBehaviorSanitizer, in
# the libraries that short_run.sh needs anyway.
command -v "${FUZZ_CC:-clang}" >/dev/null || { echo "no ${FUZZ_CC:-clang} to build them"; exit 77; }
"${MAKE:-make}" --no-print-directory -j"$(nproc)" sanitized-tests
