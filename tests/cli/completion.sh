#!/bin/sh
# SPDX-License-Identifier: MIT
# What bash completes: commands, options of the command at hand, architectures, else files.
command -v bash >/dev/null || { echo "no bash"; exit 77; }
. "$(dirname "$0")/sandbox.inc"
pith completion bash >pith.bash || complain "no completion"
# completes WORDS... : what the last word may become
completes() {
    bash -c 'source ./pith.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _pith; echo "${COMPREPLY[*]}"' - "$@"
}
# wants EXPECTED WORDS...
wants() {
    wanted=$1
    shift
    got=$(completes "$@")
    [ "$got" = "$wanted" ] || complain "$*: '$got', expected '$wanted'"
}
wants "train" pith tr
wants "info import init" pith i
wants "--levels" pith train --lev
wants "momentum=" pith train net.pith --set mom
wants "--sparsity --sigma --scope --steps --set --seed --skip-broken" pith prune net.pith --s
wants "--verbose" pith eval --verb
wants "lenet5 lenet300" pith init le
wants "recipe" pith help rec
wants "" pith train net
expect 2 pith completion tcsh
for c in $(pith help --man | sed -n 's/^pith-//p'); do
    case " $(completes pith "") " in
    *" $c "*) ;;
    *) complain "no completion of $c" ;;
    esac
done
finish
