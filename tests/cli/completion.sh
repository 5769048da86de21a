#!/bin/sh
# SPDX-License-Identifier: MIT
# What shells complete: commands, options of the command at hand, architectures, else files. zsh and fish read what
# is made for them, where they are installed, and complete the same.
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
wants "--sparsity --sigma --scope --steps --set --seed --skip-broken --size" pith prune net.pith --s
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
pith completion zsh >_pith && pith completion fish >pith.fish || complain "no completion for zsh or fish"
for c in $(pith help --man | sed -n 's/^pith-//p'); do
    grep -q "^    $c) options=(" _pith || complain "zsh: no options of $c"
    grep -q "use_subcommand -a $c -d '" pith.fish || complain "fish: no command $c"
done
grep -q "from train' -l levels -r -d '" pith.fish || complain "fish: no train --levels"
grep -q "'--levels:" _pith || complain "zsh: no --levels"
if command -v zsh >/dev/null; then
    zsh -fn _pith || complain "zsh cannot read its completion"
fi
if command -v fish >/dev/null; then
    got=$(fish --no-config -c 'source pith.fish; complete -C "pith train --lev"' | cut -f 1)
    [ "$got" = --levels ] || complain "fish completes --lev to '$got'"
fi
finish
