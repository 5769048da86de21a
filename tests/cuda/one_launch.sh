#!/bin/sh
# SPDX-License-Identifier: MIT
# Recurrent networks of hundreds of launches as one launch on the fake device, each in two of four orders: the bits of the graph's runs.
[ -d "$PITH_DATA/models" ] || { echo "no $PITH_DATA/models"; exit 77; }
exec "$PITH_O/tests/cuda/test_device_program" loops
