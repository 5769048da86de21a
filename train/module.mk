# SPDX-License-Identifier: MIT
ROOMS_train := train train/batch train/feedback train/kernels train/shrink train/state train/tape
USES_train := runtime host base model data train/batch train/feedback train/kernels train/shrink train/state train/tape
USES_train/batch := runtime host base model data pack train train/kernels train/state train/tape
USES_train/feedback := runtime host base model data measure layers train/batch train/tape
USES_train/kernels := runtime host base model data train
USES_train/shrink := runtime host base numeric model data train train/kernels train/state train/tape
USES_train/state := runtime host base model data train train/kernels
USES_train/tape := runtime host base model data train train/kernels train/state
CFLAGS_train := $(VECTORIZED)
