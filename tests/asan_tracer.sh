#!/bin/sh
# SPDX-License-Identifier: MIT
# Why make check-asan sets intercept_tls_get_addr=0. By hand: tests/asan_tracer.sh [CC].
#
# Up to gcc 13 and clang 16, AddressSanitizer takes thread-local data of a library that dlopen() brought
# for glibc 2.19's where it happens to lie 16 bytes behind a page, and the two words before it for its
# place and length. The leak checker then reads what is not there: "Tracer caught signal 11"
# (github.com/google/sanitizers/issues/1322). One block of 64 lies so where they take 64 bytes.
# Here 200 threads have a block each.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
cat >own.c <<'EOF'
__thread char bytes[48];
char *own_bytes(void) { return bytes; }
EOF
cat >main.c <<'EOF'
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>
static char *(*own_bytes)(void);
static pthread_barrier_t all_there;
static void *touch(void *arg)
{
    own_bytes()[0] = 1;
    pthread_barrier_wait(&all_there);
    pause();
    return arg;
}
int main(void)
{
    own_bytes = (char *(*)(void))dlsym(dlopen("./own.so", RTLD_NOW), "own_bytes");
    pthread_barrier_init(&all_there, 0, 201);
    for (int i = 0; i < 200; i++) {
        pthread_t thread;
        pthread_create(&thread, 0, touch, 0);
    }
    pthread_barrier_wait(&all_there);
    return 0;
}
EOF
cc=${1:-gcc}
$cc -shared -fPIC own.c -o own.so && $cc -fsanitize=address main.c -ldl -lpthread -o main || exit 1
./main && echo "as it is: no crash" || echo "as it is: exit $?"
ASAN_OPTIONS=intercept_tls_get_addr=0 ./main && echo "with intercept_tls_get_addr=0: no crash"
