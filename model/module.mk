# SPDX-License-Identifier: MIT
# The network in memory, and rewrites of it.
ROOMS_model := model
USES_model := runtime base
