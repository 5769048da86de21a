# SPDX-License-Identifier: MIT
"""The runtime through ctypes: structures and functions of pith_types.h, pith_runtime.h and pith_host.h."""
import contextlib
import ctypes
import os
from ctypes import POINTER, byref, c_char, c_char_p, c_float, c_int32, c_size_t, c_uint32, c_uint64, c_void_p

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
MAX_RANK = 8
# The command's exit code for each pith_status.
EXIT_OF_STATUS = {1: 2, 2: 6, 3: 3, 4: 4, 5: 5, 6: 5, 7: 6, 8: 6, 9: 1, 10: 130}
BFLOAT16 = 3  # numpy has no such type: its 16 bits
TYPES = {1: "float32", 2: "float16", BFLOAT16: "uint16", 4: "float64", 5: "int8", 6: "uint8", 7: "int16", 8: "uint16",
         9: "int32", 10: "int64", 11: "bool"}


class CError(ctypes.Structure):
    """struct pith_error"""
    _fields_ = [("status", c_uint32), ("chunk", c_uint32), ("offset", c_uint64), ("text", c_char * 512)]


class CTensor(ctypes.Structure):
    """struct pith_tensor"""
    _fields_ = [("name", c_void_p), ("name_bytes", c_uint32), ("type", c_uint32), ("rank", c_uint32),
                ("dim", c_uint32 * MAX_RANK), ("bytes", c_uint64), ("data", c_void_p), ("scale", c_float),
                ("zero_point", c_int32)]


class COptions(ctypes.Structure):
    """struct pith_opts"""
    _fields_ = [("size_bytes", c_uint32), ("cpu_mask", c_uint32), ("flags", c_uint32), ("batch", c_uint32),
                ("max_bytes", c_uint64), ("user", c_void_p), ("parallel_for", c_void_p), ("clock_ns", c_void_p),
                ("observe", c_void_p), ("parallel_user", c_void_p), ("max_steps", c_uint64), ("stop", c_void_p),
                ("stop_user", c_void_p), ("init_memory", c_void_p), ("init_memory_bytes", c_uint64),
                ("costs", c_void_p), ("choices", c_void_p), ("n_choices", c_uint32), ("ordered", c_void_p),
                ("threads", c_uint32), ("n_changes", c_uint32), ("changes", c_void_p),
                ("weights_of", c_void_p), ("last_row_of", c_uint32),
                ("n_caches", c_uint32), ("caches", c_void_p)]


def open_library():
    """The shared library beside this file, else the system's."""
    beside = os.path.join(HERE, "libpith-runtime.so.0")
    library = ctypes.CDLL(beside if os.path.exists(beside) else "libpith-runtime.so.0")
    for name, result, arguments in (
            ("pith_version", c_uint32, []),
            ("pith_opts_init", None, [POINTER(COptions), c_uint32]),
            ("pith_cpu_mask_parse", c_uint32, [c_char_p, POINTER(c_uint32)]),
            ("pith_threads_start", c_uint32, [POINTER(COptions), c_uint32]),
            ("pith_threads_stop", None, [POINTER(COptions)]),
            ("pith_plans_open", c_uint32, [c_void_p, c_size_t, POINTER(COptions), POINTER(c_void_p),
                                           POINTER(CError)]),
            ("pith_plans_sizes", c_void_p, [c_void_p]),
            ("pith_plans_get", c_uint32, [c_void_p, c_uint32, POINTER(c_void_p), POINTER(CError)]),
            ("pith_plans_close", None, [c_void_p]),
            ("pith_generator_open", c_uint32, [c_void_p, POINTER(c_void_p), POINTER(CError)]),
            ("pith_generator_close", None, [c_void_p]),
            ("pith_generator_pair", c_uint32, [c_void_p, c_uint32, c_uint32]),
            ("pith_generator_give", c_uint32, [c_void_p, c_uint32, POINTER(CTensor)]),
            ("pith_generator_run", c_uint32, [c_void_p, c_void_p, c_uint32, c_void_p, POINTER(c_uint32),
                                              POINTER(CError)]),
            ("pith_choose_token", c_uint32, [c_void_p, c_uint32, c_float, c_uint32, POINTER(c_uint64)]),
            ("pith_sizes_count", c_uint32, [c_void_p]),
            ("pith_sizes_get", c_uint32, [c_void_p, c_uint32, POINTER(c_char_p), POINTER(c_uint32),
                                          POINTER(c_uint32)]),
            ("pith_sizes_fit", c_uint32, [c_void_p, POINTER(CTensor), c_uint32, POINTER(CError)]),
            ("pith_blob_meta", c_uint32, [c_void_p, c_size_t, c_char_p, POINTER(c_void_p), POINTER(c_size_t)]),
            ("pith_plan_input_count", c_uint32, [c_void_p]),
            ("pith_plan_output_count", c_uint32, [c_void_p]),
            ("pith_plan_input", c_uint32, [c_void_p, c_uint32, POINTER(CTensor)]),
            ("pith_plan_output", c_uint32, [c_void_p, c_uint32, POINTER(CTensor)]),
            ("pith_plan_input_data", c_void_p, [c_void_p, c_uint32]),
            ("pith_plan_output_data", c_void_p, [c_void_p, c_uint32]),
            ("pith_plan_run", c_uint32, [c_void_p]),
            ("pith_status_text", c_char_p, [c_uint32])):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


library = open_library()


def view(address, tensor):
    """The tensor's memory in the plan as an array; it lives as long as the plan."""
    shape = tuple(tensor.dim[:tensor.rank])
    if not tensor.bytes:
        return np.zeros(shape, TYPES[tensor.type])
    raw = (ctypes.c_uint8 * tensor.bytes).from_address(address)
    return np.frombuffer(raw, TYPES[tensor.type]).reshape(shape)


def tensor_of(name, array):
    """A struct pith_tensor of an array, which must be contiguous and stay."""
    kind = next(k for k, dtype in TYPES.items() if dtype == array.dtype.name)
    text = name.encode()
    t = CTensor(name=ctypes.cast(ctypes.c_char_p(text), c_void_p), name_bytes=len(text), type=kind, rank=array.ndim,
                bytes=array.nbytes, data=array.ctypes.data)
    t.dim[:array.ndim] = array.shape
    return t


@contextlib.contextmanager
def generator(plans):
    """A struct pith_generator of plans, the status of making it, and its error."""
    handle, error = c_void_p(), CError()
    status = library.pith_generator_open(plans, byref(handle), byref(error))
    try:
        yield handle, status, error
    finally:
        library.pith_generator_close(handle)
