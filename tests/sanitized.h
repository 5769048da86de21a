/* SPDX-License-Identifier: MIT */
/* sanitized.h - whether a test was built with AddressSanitizer, which keeps what is freed for a
 * while, so that its use is noticed: bounds on memory are wider there. */
#ifndef SANITIZED_H
#define SANITIZED_H

#if defined(__SANITIZE_ADDRESS__)
#define TEST_KEEPS_FREED 1
#elif defined(__has_feature) /* clang's test */
#if __has_feature(address_sanitizer)
#define TEST_KEEPS_FREED 1
#endif
#endif
#ifndef TEST_KEEPS_FREED
#define TEST_KEEPS_FREED 0
#endif

/* Rounds of a test that takes long so: fewer with the sanitizer, which makes each take tenfold. */
#define TEST_ROUNDS(all, sanitized) (TEST_KEEPS_FREED ? (sanitized) : (all))

#endif
