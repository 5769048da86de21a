#!/bin/sh
# SPDX-License-Identifier: MIT
exec python3 tests/build/line_budget.py
