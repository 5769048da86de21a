# SPDX-License-Identifier: MIT
# Data sets: numbered samples of pictures, arrays and sounds, with labels.
ROOMS_data := data
USES_data := runtime host base model
LIBS_data := -lz -lpng -ljpeg -larchive -ldl
