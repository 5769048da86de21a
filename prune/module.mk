# SPDX-License-Identifier: MIT
ROOMS_prune := prune
USES_prune := runtime base numeric model
