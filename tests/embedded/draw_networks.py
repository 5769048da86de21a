#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws small networks by a seed, of the operators that `pith export` knows.

    draw_networks.py FOLDER SEED N    writes FOLDER/I.onnx (0: padded_plane), data FOLDER/I.npy and options of quantize FOLDER/I.options

Convolutions over one axis or two, of any window, stride, dilation, padding and groups, pools, sums, products, functions,
slices, splits, pads, concatenations, resized images, transposed convolutions, normalizations, reductions, attention and products at the
end, one output or two, or the place of the largest; and recurrent layers in one direction or both, of one step or many, whose states
begin at 0 or come in and go out.
"""
import random
import sys
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Network:
    def __init__(self, rng):
        self.rng = rng
        self.nodes, self.weights, self.values, self.n = [], [], {}, 0

    def constant(self, array, kind=np.float32):
        name = f'c{self.n}'
        self.n += 1
        self.weights.append(numpy_helper.from_array(np.asarray(array, kind), name))
        return name

    def node(self, op, inputs, shape, **attributes):
        name = f'v{self.n}'
        self.n += 1
        self.nodes.append(helper.make_node(op, inputs, [name], name=f'{op}_{name}', **attributes))
        self.values[name] = shape
        return name

    def normal(self, *shape):
        return np.array([self.rng.gauss(0, 1) for _ in range(int(np.prod(shape)))]).reshape(shape)


def conv(net, x):
    rng, shape = net.rng, net.values[x]
    c, space = shape[1], shape[2:]
    divisors = [g for g in range(1, c + 1) if c % g == 0]
    groups = rng.choice([1, 1, 1, c, rng.choice(divisors)])
    outputs = groups * rng.choice([1, 1, 2, 3, 5, 8]) if groups > 1 else rng.choice([rng.randint(1, 13)] * 5 + [rng.randint(24, 48)])
    kernel, strides, dilations, pads, out = [], [], [], [], []
    for size in space:
        d = rng.choice([1, 1, 1, 2, 3])
        k = rng.choice([1, 2, 3, 3, 5, 7])
        begin, end = rng.randint(0, 3), rng.randint(0, 3)
        while (k - 1) * d + 1 > size + begin + end:
            k, d = k - 1, 1
        s = rng.choice([1, 1, 2, 3])
        kernel.append(k), strides.append(s), dilations.append(d), pads.append((begin, end))
        out.append((size + begin + end - (k - 1) * d - 1) // s + 1)
    w = net.normal(outputs, c // groups, *kernel) / (c // groups * np.prod(kernel)) ** 0.5
    inputs = [x, net.constant(w)] + ([net.constant(net.normal(outputs) * 0.3)] if rng.random() < 0.8 else [])
    return net.node('Conv', inputs, [1, outputs] + out, group=groups, kernel_shape=kernel, strides=strides,
                    dilations=dilations, pads=[p[0] for p in pads] + [p[1] for p in pads])


def pool(net, x):
    rng, shape = net.rng, net.values[x]
    kernel, strides, pads, out = [], [], [], []
    op = rng.choice(['MaxPool', 'AveragePool'])
    for size in shape[2:]:
        k = min(rng.randint(1, 4), size)
        begin, end, s = rng.randint(0, k - 1), rng.randint(0, k - 1), rng.randint(1, 3)
        kernel.append(k), strides.append(s), pads.append((begin, end))
        out.append((size + begin + end - k) // s + 1)
    more = {'count_include_pad': rng.randint(0, 1)} if op == 'AveragePool' else {}
    return net.node(op, [x], shape[:2] + out, kernel_shape=kernel, strides=strides,
                    pads=[p[0] for p in pads] + [p[1] for p in pads], **more)


def function(net, x):
    rng, shape = net.rng, net.values[x]
    op = rng.choice(['Relu', 'Relu', 'Relu', 'Sigmoid', 'Tanh', 'LeakyRelu', 'HardSwish', 'Clip', 'Neg', 'Exp', 'Sqrt', 'PRelu'])
    if op == 'Sqrt': # of x^2, as magnitudes are computed
        x = net.node('Pow', [x, net.constant(2.0)], shape)
    inputs = [x] + ([net.constant(0.0), net.constant(6.0)] if op == 'Clip' else [])
    if op == 'PRelu':
        inputs.append(net.constant(net.normal(*[rng.choice([1, shape[1]])] + [1] * (len(shape) - 2))))
    return net.node(op, inputs, shape)


def reduced(net, x):
    rng, shape = net.rng, net.values[x]
    op = rng.choice(['ReduceMean', 'ReduceMean', 'ReduceSum', 'ReduceMax', 'ReduceMin', 'ReduceProd', 'ReduceL1', 'ReduceL2', 'ReduceSumSquare'])
    axes = sorted(rng.sample(range(1, len(shape)), rng.randint(1, len(shape) - 1)))
    out = [1 if i in axes else n for i, n in enumerate(shape)]
    if op == 'ReduceProd': # of values near 1
        x = net.node('Sigmoid', [x], shape)
        x = net.node('Add', [x, net.constant(0.6)], shape)
    if op == 'ReduceSum':
        return net.node(op, [x, net.constant(axes, np.int64)], out)
    return net.node(op, [x], out, axes=axes)


def normalized(net, x):
    rng, shape = net.rng, net.values[x]
    scale = lambda *n: net.constant(1 + 0.3 * net.normal(*n))
    if rng.random() < 0.4 and np.prod(shape[2:]) > 1:
        return net.node('InstanceNormalization', [x, scale(shape[1]), scale(shape[1])], shape)
    axis = rng.randint(1, len(shape) - 1)
    if rng.random() < 0.3: # about 0
        mean = shape[:-1] + [1]
        squares = net.node('ReduceMean', [net.node('Mul', [x, x], shape)], mean, axes=[-1])
        root = net.node('Sqrt', [net.node('Add', [squares, net.constant(0.1)], mean)], mean)
        return net.node('Mul', [net.node('Div', [x, root], shape), scale(shape[-1])], shape)
    return net.node('LayerNormalization', [x] + [scale(*shape[axis:]) for _ in range(rng.randint(1, 2))], shape, axis=axis)


def transposed(net, x):
    rng, shape = net.rng, net.values[x]
    groups = rng.choice([1, 1, shape[1]])
    each, kernel, strides, dilations, pads, extra, out = rng.randint(1, 6), [], [], [], [], [], []
    for size in shape[2:]:
        k, s, d = rng.randint(1, 4), rng.randint(1, 3), rng.randint(1, 2)
        begin, end, more = rng.randint(0, k - 1), rng.randint(0, k - 1), rng.randint(0, max(s, d) - 1)
        n = (size - 1) * s + (k - 1) * d + 1 - begin - end + more
        if n < 1 or n > 30:
            k, s, d, begin, end, more, n = 1, 1, 1, 0, 0, 0, size
        kernel.append(k), strides.append(s), dilations.append(d), pads.append((begin, end)), extra.append(more), out.append(n)
    w = net.normal(shape[1], each, *kernel) / (shape[1] // groups) ** 0.5
    inputs = [x, net.constant(w)] + ([net.constant(net.normal(each * groups) * 0.3)] if rng.random() < 0.7 else [])
    return net.node('ConvTranspose', inputs, [1, each * groups] + out, group=groups, kernel_shape=kernel, strides=strides,
                    dilations=dilations, pads=[p[0] for p in pads] + [p[1] for p in pads], output_padding=extra)


def attention(net, x):
    """Channels are words, places their features; or the products of a value with itself."""
    rng, shape = net.rng, net.values[x]
    rows, features = shape[1], int(np.prod(shape[2:]))
    x = net.node('Reshape', [x, net.constant([1, rows, features], np.int64)], [1, rows, features])
    if rng.random() < 0.4:
        turned = net.node('Transpose', [x], [1, features, rows], perm=[0, 2, 1])
        scores = net.node('MatMul', [x, turned], [1, rows, rows])
        scores = net.node('Softmax', [scores], [1, rows, rows], axis=rng.choice([1, 2]))
        return net.node('MatMul', [scores, x], [1, rows, features])
    groups, each, d, e = rng.randint(1, 2), rng.choice([1, 1, 2, 3]), rng.randint(1, 5), rng.randint(1, 5)
    heads = groups * each
    def split(heads, width):
        v = net.node('MatMul', [x, net.constant(net.normal(features, heads * width) / features ** 0.5)], [1, rows, heads * width])
        v = net.node('Reshape', [v, net.constant([1, rows, heads, width], np.int64)], [1, rows, heads, width])
        return net.node('Transpose', [v], [1, heads, rows, width], perm=[0, 2, 1, 3])
    def shared(width): # by `each` heads of queries
        v = split(groups, width)
        if each > 1:
            v = net.node('Unsqueeze', [v, net.constant([2], np.int64)], [1, groups, 1, rows, width])
            v = net.node('Expand', [v, net.constant([1, groups, each, rows, width], np.int64)], [1, groups, each, rows, width])
            v = net.node('Reshape', [v, net.constant([1, heads, rows, width], np.int64)], [1, heads, rows, width])
        return v
    keys = net.node('Transpose', [shared(d)], [1, heads, d, rows], perm=[0, 1, 3, 2])
    scores = net.node('MatMul', [split(heads, d), keys], [1, heads, rows, rows])
    scores = net.node('Mul', [scores, net.constant(d ** -0.5)], [1, heads, rows, rows])
    if rng.random() < 0.5:
        mask = net.normal(rng.choice([1, rows]), rows)
        scores = net.node('Add', [scores, net.constant(np.where(mask > 1, -np.inf, mask))], [1, heads, rows, rows])
    scores = net.node('Softmax', [scores], [1, heads, rows, rows], axis=3)
    y = net.node('MatMul', [scores, shared(e)], [1, heads, rows, e])
    y = net.node('Transpose', [y], [1, rows, heads, e], perm=[0, 2, 1, 3])
    return net.node('Reshape', [y, net.constant([1, rows, heads * e], np.int64)], [1, rows, heads * e])


def arithmetic(net, x):
    rng, shape = net.rng, net.values[x]
    op = rng.choice(['Add', 'Add', 'Mul'])
    others = [v for v, s in net.values.items() if s == shape and v != x]
    if others and rng.random() < 0.8:
        return net.node(op, [x, rng.choice(others)], shape)
    if op == 'Mul' and len(shape) > 2 and rng.random() < 0.7:
        gate = net.node('GlobalAveragePool', [x], shape[:2] + [1] * (len(shape) - 2))
        gate = net.node('Sigmoid', [gate], net.values[gate])
        return net.node('Mul', [x, gate], shape)
    return net.node(op, [x, net.constant(rng.uniform(-1, 1))], shape)


def move(net, x):
    rng, shape = net.rng, net.values[x]
    kind = rng.choice(['Slice', 'Pad', 'Concat', 'Concat', 'Split', 'Blocks'])
    if kind == 'Concat':
        others = [v for v, s in net.values.items() if s[0] == shape[0] and s[2:] == shape[2:] and len(s) == len(shape)]
        parts = [x] + rng.choices(others, k=rng.randint(1, 2))
        return net.node('Concat', parts, [1, sum(net.values[p][1] for p in parts)] + shape[2:], axis=1)
    if kind == 'Blocks' and len(shape) == 4:
        c, h, w = shape[1:]
        for b in rng.sample([2, 3, 4], 3):
            if c % b ** 2 == 0 and h * b < 20:
                return net.node('DepthToSpace', [x], [1, c // b ** 2, h * b, w * b], blocksize=b, mode=rng.choice(['DCR', 'CRD']))
            if h % b == 0 and w % b == 0:
                return net.node('SpaceToDepth', [x], [1, c * b ** 2, h // b, w // b], blocksize=b)
    axis = rng.randrange(1, len(shape))
    out = list(shape)
    if kind == 'Split' and shape[axis] > 1:
        first = rng.randint(1, shape[axis] - 1)
        names, out = net.node('Split', [x, net.constant([first, shape[axis] - first], np.int64)], shape, axis=axis), []
        for size in (first, shape[axis] - first):
            out.append(f'{names}_{len(out)}')
            net.values[out[-1]] = shape[:axis] + [size] + shape[axis + 1:]
        del net.values[names], net.nodes[-1].output[:]
        net.nodes[-1].output.extend(out)
        return rng.choice(out)
    if kind == 'Slice':
        step = rng.choice([1, 1, 2])
        start = rng.randint(0, shape[axis] - 1)
        out[axis] = (shape[axis] - start + step - 1) // step
        return net.node('Slice', [x] + [net.constant([v], np.int64) for v in (start, 2 ** 31 - 1, axis, step)], out)
    begin, end = rng.randint(0, 2), rng.randint(0, 2)
    out[axis] += begin + end
    pads = [0] * (2 * len(shape))
    pads[axis], pads[axis + len(shape)] = begin, end
    mode = rng.choice(['constant', 'edge', 'reflect'])
    if mode != 'constant' and rng.random() < 0.5: # corners
        pads[-1] += 1
        out[-1] += 1
    if mode == 'reflect' and any(p >= size for p, size in zip(pads, 2 * shape)):
        mode = 'edge'
    return net.node('Pad', [x, net.constant(pads, np.int64)], out, mode=mode)


def resize(net, x):
    rng, shape = net.rng, net.values[x]
    sizes = [rng.randint(1, min(2 * s + 1, 17)) for s in shape[2:]]
    mode = rng.choice(['nearest', 'nearest', 'linear'])
    how = {'nearest_mode': rng.choice(['floor', 'ceil', 'round_prefer_floor', 'round_prefer_ceil'])} if mode == 'nearest' else {}
    return net.node('Resize', [x, '', '', net.constant(shape[:2] + sizes, np.int64)], shape[:2] + sizes, mode=mode,
                    coordinate_transformation_mode=rng.choice(['asymmetric', 'half_pixel', 'align_corners']), **how)


def end(net, x):
    rng, shape = net.rng, net.values[x]
    if len(shape) > 2 and rng.random() < 0.4:
        x = net.node('GlobalAveragePool', [x], shape[:2] + [1] * (len(shape) - 2))
    x = net.node('Flatten', [x], [1, int(np.prod(net.values[x]))], axis=1)
    for _ in range(rng.randint(1, 2)):
        k, n = net.values[x][1], rng.randint(1, 17)
        x = net.node('Gemm', [x, net.constant(net.normal(n, k) / k ** 0.5), net.constant(net.normal(n))], [1, n], transB=1)
        if rng.random() < 0.5:
            x = net.node('Relu', [x], [1, n])
    return net.node('Softmax', [x], net.values[x], axis=1) if rng.random() < 0.5 else x


def recurrent(net):
    """Outputs, states that come in and options; x: [1, steps * features]."""
    rng = net.rng
    op = rng.choice(['LSTM', 'GRU', 'RNN'])
    gates = {'LSTM': 4, 'GRU': 3, 'RNN': 1}[op]
    steps, features, width = rng.choice([1, 2, 5]), rng.randint(1, 6), rng.randint(1, 9)
    direction = rng.choice(['forward', 'forward', 'reverse', 'bidirectional'])
    d = 2 if direction == 'bidirectional' else 1
    net.values['x'] = [1, steps * features]
    x = net.node('Reshape', ['x', net.constant([steps, 1, features], np.int64)], [steps, 1, features])
    inputs = [x, net.constant(net.normal(d, gates * width, features)), net.constant(net.normal(d, gates * width, width) / width ** 0.5),
              net.constant(net.normal(d, 2 * gates * width))]
    states = (['h', 'c'] if op == 'LSTM' else ['h']) if rng.random() < 0.5 else []
    if states:
        inputs += [''] + states
        net.values.update((s, [d, 1, width]) for s in states)
    names = ['y', 'h_next', 'c_next'][:3 if op == 'LSTM' else 2]
    more = {'linear_before_reset': rng.randint(0, 1)} if op == 'GRU' else {}
    net.nodes.append(helper.make_node(op, inputs, names, name=f'{op}_0', hidden_size=width, direction=direction, **more))
    net.values.update(zip(names, [[steps, d, 1, width], [d, 1, width], [d, 1, width]]))
    x = net.node('Transpose', ['y'], [1, d, steps, width], perm=[2, 1, 0, 3]) if rng.random() < 0.5 else 'y'
    x = net.node('Reshape', [x, net.constant([1, -1], np.int64)], [1, steps * d * width])
    return [end(net, x)] + [s + '_next' for s in states], states, [f'--state {s}_next={s}' for s in states]


def draw(rng):
    net = Network(rng)
    if rng.random() < 0.25:
        return finish(net, *recurrent(net))
    space = [rng.randint(1, 24)] if rng.random() < 0.35 else [rng.randint(1, 17), rng.randint(1, 17)]
    shape = [1, rng.choice([1, 1, 2, 3, 4, 8])] + space
    net.values['x'] = shape
    x = conv(net, 'x')
    for _ in range(rng.randint(1, 7)):
        x = rng.choice([conv, conv, conv, function, function, pool, arithmetic, arithmetic, move, resize,
                        normalized, transposed, reduced, attention])(net, x)
    outputs = [end(net, x)]
    if rng.random() < 0.3:
        outputs.append(x)
    if rng.random() < 0.3: # of the classes, or at each place
        of = rng.choice(outputs)
        outputs.append(net.node(rng.choice(['ArgMax', 'ArgMin']), [of], [1, 1] + net.values[of][2:], axis=1,
                                select_last_index=rng.randint(0, 1)))
    return finish(net, outputs, [], [])


def padded_plane(rng):
    """A mean over the whole plane that is padded behind: sums have another order than those of a global mean."""
    net = Network(rng)
    net.values['x'] = [1, 8, 5, 3]
    mean = net.node('AveragePool', ['x'], [1, 8, 1, 1], kernel_shape=[5, 3], strides=[2, 2], pads=[0, 0, 1, 1])
    return finish(net, [end(net, mean), mean], [], [])


def finish(net, outputs, states, options):
    rng, shape = net.rng, net.values['x']
    places = [o for n in net.nodes if n.op_type.startswith('Arg') for o in n.output]
    graph = helper.make_graph(net.nodes, 'drawn',
                              [helper.make_tensor_value_info(i, TensorProto.FLOAT, net.values[i]) for i in ['x'] + states],
                              [helper.make_tensor_value_info(o, TensorProto.FLOAT if o not in places else TensorProto.INT64, net.values[o])
                               for o in outputs],
                              net.weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)])
    model.ir_version = 8
    onnx.checker.check_model(model)
    data = np.array([rng.gauss(0, 1) for _ in range(16 * int(np.prod(shape)))], np.float32).reshape([16] + shape[1:])
    return model, data, options


def main():
    folder, seed, n = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    for i in range(n):
        rng = random.Random(seed * 1000 + i)
        model, data, options = draw(rng) if i else padded_plane(rng)
        onnx.save(model, f'{folder}/{i}.onnx')
        np.save(f'{folder}/{i}.npy', data)
        with open(f'{folder}/{i}.options', 'w', encoding='utf-8') as f:
            f.write(' '.join(options))


main()
