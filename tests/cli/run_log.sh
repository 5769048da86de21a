#!/bin/sh
# SPDX-License-Identifier: MIT
# --log of train, compress and sweep: events in their order, numbers as the command prints them.
. "$(dirname "$0")/sandbox.inc"
"$PITH_O/samples/make_digits" digits 300 60 || exit 1
data=digits/train-images-idx3-ubyte
expect 0 pith import digits.onnx --preprocess scale=1/255 -q -o dense.pith
expect 0 pith train dense.pith -d $data --hold 0::10 --epochs 3 --log train.jsonl -q -o trained.pith
expect 0 pith train dense.pith -d $data --hold 0::10 --epochs 3 --log curve.csv -q -o other.pith
same trained.pith other.pith
[ "$(head -c 5 curve.csv)" = epoch ] || complain "curve.csv begins with $(head -1 curve.csv)"
expect 0 pith compress trained.pith -d $data --max-drop 5% --log compress.jsonl -q -o small.pith
expect 0 pith compress trained.pith --sparsity 0.5 -d $data --log recipe.jsonl -q -o half.pith
printf '{"pith":1,"stages":[{"do":"cluster","bits":8}],"sweep":{"stages.0.bits":[2,3,4]}}' >grid.json
expect 0 pith sweep grid.json trained.pith -d $data --append results.jsonl --log sweep.jsonl -q
expect 0 pith sweep grid.json dense.pith -d $data --append many.jsonl -j 2 --log jobs.jsonl -q
for log in train.jsonl compress.jsonl recipe.jsonl sweep.jsonl; do
    expect 0 pith report small.pith --log $log -o $log.html
    grep -q '"curve":{"' $log.html || complain "no curve of $log"
done
# A second run is appended; one that fails says so.
expect 4 pith train curve.csv -d $data --log train.jsonl -q -o none.pith
expect 3 pith train dense.pith -d $data --log none/train.jsonl -q -o none.pith
expect 2 pith compress --manifest grid.csv --log many.jsonl
absent none.pith
cat >check.py <<'END'
import json, os
def events(name):
    lines = [json.loads(line) for line in open(name)]
    assert all(e['pith'] == 1 and e['time'] > 1e9 for e in lines), lines
    assert [e['time'] for e in lines] == sorted(e['time'] for e in lines) or name == 'jobs.jsonl', name
    return lines
train = events('train.jsonl')
assert [e['event'] for e in train] == ['start', 'epoch', 'epoch', 'epoch', 'file', 'end', 'start', 'end'], train
assert [e['status'] for e in train if e['event'] == 'end'] == ['done', 'failed'], train
rows = [dict(zip(open('curve.csv').readline().strip().split(','), line.strip().split(',')))
        for line in list(open('curve.csv'))[1:]]
for e, row in zip((e for e in train if e['event'] == 'epoch'), rows):
    for key, column in ('epoch', 'epoch'), ('loss', 'loss'), ('accuracy', 'top1'), ('val_loss', 'val_loss'), \
            ('val_accuracy', 'val_top1'), ('rate', 'lr'), ('kept', 'kept'):
        assert abs(e[key] - float(row[column])) <= 1e-8 * abs(e[key]), (e, row)
    assert e['epochs'] == 3 and e['eta'] >= 0, e
assert train[4]['file'] == 'trained.pith' and train[4]['bytes'] == os.path.getsize('trained.pith'), train[4]
for name, path in ('compress.jsonl', 'small.pith'), ('recipe.jsonl', 'half.pith'):
    found = events(name)
    files = [e for e in found if e['event'] == 'file']
    assert found[0]['command'] == 'compress' and found[0]['file'] == 'trained.pith', found[0]
    assert files[-1]['file'] == path and files[-1]['bytes'] == os.path.getsize(path), files
    assert 0 <= files[-1]['accuracy'] <= 1 and found[-1]['status'] == 'done', found[-1]
assert len([e for e in events('compress.jsonl') if e.get('encoder')]) >= 2
for name in 'sweep.jsonl', 'jobs.jsonl':
    found = events(name)
    results = [json.loads(line) for line in open('results.jsonl' if name == 'sweep.jsonl' else 'many.jsonl')]
    assert sorted((e['number'], e['bytes']) for e in found if e['event'] == 'file') == \
        sorted((r['combination'], r['bytes']) for r in results), found
assert [e['done'] for e in events('sweep.jsonl') if e['event'] == 'file'] == [1, 2, 3]
END
python3 check.py 2>err.txt || { tail -3 err.txt; status=1; }
finish
