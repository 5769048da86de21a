/* SPDX-License-Identifier: MIT */
/* pith_dnnl_hook.h - word of oneDNN for a program around the library. */
#ifndef PITH_DNNL_HOOK_H
#define PITH_DNNL_HOOK_H

/* then() is called once, on the thread that loads oneDNN, as soon as the C++ library under it is
 * there and before oneDNN itself; never if that is not found. To be said before the first training.
 */
void pith_dnnl_when_loaded(void (*then)(void));

#endif
