#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests and commands that use threads under valgrind's helgrind, with no suppression but those for glibc
# that valgrind brings (its own locks look like races). What it finds ends a test with 99. First the
# pool with a lock taken away, which must be found. By hand (make check-helgrind): apt-get install valgrind.
#
#     PITH, PITH_O, CC; test programs
command -v valgrind >/dev/null || { echo "no valgrind"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
WATCH="timeout 900 valgrind -q --tool=helgrind --history-level=approx --error-exitcode=99"
PITH_TEST_TRIALS=8 # graphs of test_segment; all of them take minutes so
export WATCH PITH_TEST_TRIALS
status=0

# After a job the caller wakes workers without the lock.
sed '/take_pieces(p, &job, true);/,/spin(/{/(&p->lock)/d}' runtime/host/thread_pool.c >"$work/thread_pool.c"
[ "$(diff runtime/host/thread_pool.c "$work/thread_pool.c" | grep -c '^<')" -eq 2 ] || { echo "no race was planted"; exit 1; }
${CC:-cc} -g -O1 -w -D_GNU_SOURCE= -Iruntime -c "$work/thread_pool.c" -o "$work/thread_pool.o" &&
    ${CC:-cc} "$PITH_O/tests/host/test_threads.o" "$work/thread_pool.o" "$PITH_O/libpith-runtime.a" \
        -Wl,--wrap=pthread_create -Wl,--wrap=pthread_join -lcmocka -lm -lpthread -o "$work/planted" || exit 1
$WATCH "$work/planted" >"$work/log" 2>&1
[ $? -eq 99 ] && grep -q 'Possible data race' "$work/log" || { echo "the planted race was not found"; status=1; }

for test in "$@"; do
    $WATCH "$test" >"$work/log" 2>&1 || { echo "$test: exit $?"; cat "$work/log"; status=1; }
done
sh tests/host/thread_commands.sh || status=1
exit $status
