#!/bin/sh
# SPDX-License-Identifier: MIT
# When writing fails - disk full, I/O error at any of the calls, folder read-only - the exit code is
# 3, the message names the file, the old output is intact and no temporary file is left.
. "$(dirname "$0")/sandbox.inc"

expect 0 pith import good.onnx -q -o good.pith
expect 3 pith prune good.pith --sparsity 0.5 -o /dev/full
grep -q "/dev/full.*No space left" .err || complain "full device: message is: $(cat .err)"
pith import good.onnx -q >/dev/full 2>.err
[ $? -eq 3 ] || complain "model into a full device: not exit 3"
pith info good.pith >/dev/full 2>.err
[ $? -eq 3 ] || complain "text into a full device: not exit 3"
[ -c /dev/full ] || complain "/dev/full was replaced"

# Error at each system call of writing.
if strace -o /dev/null true 2>/dev/null; then
    export ASAN_OPTIONS=detect_leaks=0 # the leak test cannot run under strace
    printf 'old content' >kept.pith
    for fault in fsync:error=EIO rename:error=EIO fchmod:error=EPERM write:error=ENOSPC write:error=EIO; do
        expect 3 strace -o /dev/null -e "trace=${fault%%:*}" -e "inject=$fault" \
            pith prune good.pith --sparsity 0.5 -q -f -o kept.pith
        [ "$(cat kept.pith)" = 'old content' ] || complain "$fault: old output lost"
        absent kept.pith.pith-*
        case $fault in
        write*) ;; # the message itself cannot be written
        *) grep -q kept.pith .err || complain "$fault: message is: $(cat .err)" ;;
        esac
    done
fi

# A folder that may not be written: root is not stopped by modes, so it becomes somebody else.
mkdir -m 755 locked
cp "$PITH" locked/pith
cp good.pith locked/
chmod 555 locked
chmod 755 "$work"
as_user=
if [ "$(id -u)" -eq 0 ]; then
    as_user='setpriv --reuid=65534 --regid=65534 --clear-groups'
    $as_user true 2>/dev/null || as_user=skip
fi
if [ "$as_user" != skip ]; then
    (cd locked && expect 3 $as_user ./pith prune good.pith --sparsity 0.5 -o new.pith
     grep -q 'new.pith.*Permission denied' "$work/.err" || complain "read-only folder: $(cat "$work/.err")"
     exit $status) || status=1
    absent locked/new.pith*
fi
finish
