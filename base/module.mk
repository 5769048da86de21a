# SPDX-License-Identifier: MIT
# What every part of the toolchain stands on: errors in words, memory, files, random numbers.
ROOMS_base := base
USES_base := runtime
