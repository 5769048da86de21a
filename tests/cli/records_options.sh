#!/bin/sh
# SPDX-License-Identifier: MIT
# The scripts that make the figures of docs/results say no option that pith does not take any more, and
# none that does nothing: each is run with a pith that reads a command line, its files aside, and writes
# an empty file where a model would be.
. "$(dirname "$0")/sandbox.inc"
PITH_REAL=$PITH LINES_SAID=$work/said
export PITH_REAL LINES_SAID
cat >stand_in <<'EOF'
#!/bin/sh
echo "$*" >>"$LINES_SAID"
verb=$1 out=
for word; do
    [ "$before" != -o ] || out=$word
    before=$word
done
case $verb in
eval) echo '{"top1":0.5,"top5":0.5}' ;;
compare) echo '{"agreement":0.5,"snr_db":9}' ;;
esac
# No file of the script is there: 3 is what a good command line ends with.
(cd "$(dirname "$LINES_SAID")/nowhere" && "$PITH_REAL" "$@" </dev/null >"$LINES_SAID.out" 2>"$LINES_SAID.err")
code=$?
[ $code -eq 3 ] || [ $code -eq 0 ] || { echo "exit $code: pith $*" && cat "$LINES_SAID.err"; } >>"$LINES_SAID.bad"
[ -z "$out" ] || : >"$out"
exit 0
EOF
chmod +x stand_in
mkdir -p nowhere
script() {
    n=$(wc -l <said)
    PITH=$work/stand_in PITH_DATA=data sh "$root/bench/$@" >script.out 2>script.err ||
        complain "bench/$*: exit $?: $(tail -3 script.err)"
    [ "$(wc -l <said)" -gt "$n" ] || complain "bench/$* said nothing"
}
: >said
: >said.bad
for point in classic small smallest; do
    script records.sh lenet300 out.pith --point $point
    script records.sh lenet5 out.pith --point $point
done
for net in lenet5 resnet20; do script qat.sh $net; done
[ ! -s said.bad ] || complain "$(cat said.bad)"
[ "$(grep -c '^train ' said)" -ge 30 ] || complain "only $(grep -c '^train ' said) trainings were said"
finish
