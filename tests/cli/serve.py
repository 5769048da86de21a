#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Talks to `pith serve` in the folder that serve.sh has prepared."""
import array
import contextlib
import http.client
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

from make_inputs import field, model, node, png, value, write

try:
    import numpy
    import tritonclient.http as triton
except ImportError:
    triton = None

failed = False


def check(holds, what):
    global failed
    if not holds:
        print('serve.py:', what)
        failed = True


signal.signal(signal.SIGINT, signal.SIG_DFL)  # a process started with & has it ignored, and its children too


@contextlib.contextmanager
def serving(*words, stop=signal.SIGTERM):
    process = subprocess.Popen(['pith', 'serve', '--port', '0', '-q', '-T', '2', *words], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    url = process.stdout.readline().strip()
    check(url.startswith('http://'), f'{words}: no address: {url}')
    try:
        yield url.removeprefix('http://'), process
    finally:
        process.send_signal(stop)
        _, errors = process.communicate(timeout=120)
        check(process.returncode == 0, f'{words}: exit {process.returncode}: {errors}')
        check(not errors, f'{words}: {errors}')


def talk(address, method, path, body=None, **headers):
    """Status, headers and body of one request on a connection of its own."""
    connection = http.client.HTTPConnection(address, timeout=60)
    connection.request(method, path, body, {k.replace('_', '-'): v for k, v in headers.items()})
    reply = connection.getresponse()
    content = reply.read()
    connection.close()
    return reply.status, reply.headers, content


def get(address, path):
    status, _, content = talk(address, 'GET', path)
    check(status == 200, f'{path}: {status} {content}')
    return json.loads(content) if status == 200 else {}


def infer(address, request, name='digits', **headers):
    body = request if isinstance(request, (bytes, str)) else json.dumps(request)
    return talk(address, 'POST', f'/v2/models/{name}/infer', body, **headers)


def picture(values, rows=1):
    return {'inputs': [{'name': 'input', 'datatype': 'FP32', 'shape': [rows, 1, 28, 28], 'data': values}]}


def expected_outputs(values):
    """What `pith run` computes for 784 values."""
    with open('input.raw', 'wb') as f:
        f.write(struct.pack('<784f', *values))
    subprocess.run(['pith', 'run', 'plain.pith', 'input.raw', '-q', '-f', '-o', 'run.npy'], check=True)
    with open('run.npy', 'rb') as f:
        return list(array.array('f', f.read()[-40:]))


def test_metadata(address):
    check(get(address, '/v2')['name'] == 'pith', '/v2')
    get(address, '/v2/health/live')
    get(address, '/v2/health/ready')
    get(address, '/v2/models/digits/ready')
    for path in '/v2/models/digits', '/v2/models/digits/versions/1':
        about = get(address, path)
        check(about['inputs'] == [{'name': 'input', 'datatype': 'FP32', 'shape': [-1, 1, 28, 28]}], about)
        check(about['outputs'] == [{'name': 'fc2', 'datatype': 'FP32', 'shape': [-1, 10]}], about)


def test_inference(address):
    values = [i % 7 / 7 for i in range(784)]
    expected = expected_outputs(values)
    status, headers, body = infer(address, picture(values))
    check(status == 200 and headers['Content-Type'] == 'application/json', body)
    data = json.loads(body)['outputs'][0]['data']
    check(list(array.array('f', data)) == expected, f'as JSON: {data}, expected {expected}')

    request = picture(values)
    values_bytes = struct.pack('<784f', *values)
    request['inputs'][0].pop('data')
    request['inputs'][0]['parameters'] = {'binary_data_size': len(values_bytes)}
    request['parameters'] = {'binary_data_output': True}
    text = json.dumps(request).encode()
    status, headers, body = infer(address, text + values_bytes, Inference_Header_Content_Length=str(len(text)))
    n = int(headers['Inference-Header-Content-Length'])
    check(json.loads(body[:n])['outputs'][0]['parameters'] == {'binary_data_size': 40}, body)
    check(body[n:] == struct.pack('<10f', *expected), 'other values as binary')
    status, headers, body = infer(address, values_bytes, Inference_Header_Content_Length='0')
    check(status == 200 and body.endswith(struct.pack('<10f', *expected)), 'values alone')


def test_pictures(address):
    image = png(28, 28, lambda y, x: (28 * y + x) % 256)
    with open('picture.png', 'wb') as f:
        f.write(image)
    line = subprocess.run(['pith', 'run', 'digits.pith', 'picture.png', '--softmax', 'never'], capture_output=True,
                          text=True, check=True).stdout.splitlines()[0].split('\t')
    status, _, body = infer(address, image, Content_Type='image/png')
    best = json.loads(body)['outputs'][0]['data'][0].split(':') if status == 200 else body
    check(status == 200 and best[1:] == [line[0], line[2]] and abs(float(best[0]) - float(line[1])) < 1e-4,
          f'{best}, pith run: {line}')
    check(infer(address, image, name='plain', Content_Type='image/png')[0] == 400, 'no preprocessing')
    check(infer(address, b'\x1f\x8b' + image, Content_Type='image/png')[0] == 400, 'no picture')
    check(infer(address, image[:60], Content_Type='image/png')[0] == 400, 'half a picture')


def test_errors(address):
    good = picture([0] * 784)
    big = '[' * 4000
    for status, method, path, body in (
            (404, 'GET', '/nothing', None), (404, 'GET', '/v2/models/none', None),
            (404, 'GET', '/v2/models/digits/versions/2', None), (404, 'GET', '/v2/models/digits/x', None),
            (404, 'GET', '/v2/models/digits/versions/1x', None),
            (405, 'GET', '/v2/models/digits/infer', None), (405, 'POST', '/v2', '{}'),
            (405, 'DELETE', '/v2/models/digits', None),
            (400, 'POST', '/v2/models/digits/infer', None), (400, 'POST', '/v2/models/digits/infer', '{"inputs":'),
            (400, 'POST', '/v2/models/digits/infer', big), (400, 'POST', '/v2/models/digits/infer', b'\xff\xfe')):
        got, headers, content = talk(address, method, path, body)
        check(got == status, f'{method} {path} {body}: {got}, expected {status}')
        check(headers['Content-Type'] == 'application/json' and list(json.loads(content)) == ['error'],
              f'{path}: {content}')
    check(infer(address, good, Content_Encoding='gzip')[0] == 415, 'gzip')
    check(infer(address, good, Host='evil.example')[0] == 403, 'another host')
    check(infer(address, good, Inference_Header_Content_Length='99999999')[0] == 400, 'a header beyond the body')
    check(infer(address, good, Inference_Header_Content_Length='-1')[0] == 400, 'a header below 0')
    check(infer(address, good)[0] == 200, 'afterwards')


def test_metrics(address):
    before = metrics(address)
    for body in picture([0] * 784), picture([0] * 784 * 3, 3), '{':
        infer(address, body)
    after = metrics(address)
    for name, more in (('nv_inference_request_success', 2), ('nv_inference_request_failure', 1),
                       ('nv_inference_count', 4), ('nv_inference_exec_count', 2),
                       ('nv_inference_first_response_histogram_ms_count', 2)):
        key = name + '{model="digits",version="1"}'
        check(after[key] == before[key] + more, f'{key}: {before[key]}, then {after[key]}')
    for name in 'request', 'queue', 'compute_input', 'compute_infer', 'compute_output':
        key = f'nv_inference_{name}_duration_us{{model="digits",version="1"}}'
        check(after[key] >= before[key], key)
    buckets = [v for k, v in after.items() if k.startswith('nv_inference_first_response_histogram_ms_bucket{model="digits"')]
    check(buckets == sorted(buckets) and buckets[-1] == after['nv_inference_request_success{model="digits",version="1"}'],
          buckets)
    status = get(address, '/status')
    check([n['name'] for n in status['networks']] == ['digits', 'plain'] and status['networks'][0]['recent']['p50_ms'] > 0,
          status)


def metrics(address):
    _, headers, text = talk(address, 'GET', '/metrics')
    check(headers['Content-Type'].startswith('text/plain; version=0.0.4'), headers)
    lines = [line.rsplit(' ', 1) for line in text.decode().splitlines() if not line.startswith('#')]
    return {key: float(value) for key, value in lines}


NVML = r"""
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = 1; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d) { *d = (void *)1; return i > 0; }
int nvmlDeviceGetUUID(void *d, char *uuid, unsigned n) { for (unsigned i = 0; i < 6 && i < n; i++) uuid[i] = "GPU-7"[i]; return d == 0; }
int nvmlDeviceGetUtilizationRates(void *d, unsigned *u) { u[0] = 25; u[1] = 5; return d == 0; }
int nvmlDeviceGetPowerUsage(void *d, unsigned *mw) { *mw = 123500; return d == 0; }
int nvmlDeviceGetEnforcedPowerLimit(void *d, unsigned *mw) { *mw = 700000; return d == 0; }
int nvmlDeviceGetTotalEnergyConsumption(void *d, unsigned long long *mj) { (void)mj; return 3 + (d == 0); }
int nvmlDeviceGetMemoryInfo(void *d, unsigned long long *m) { m[0] = 1000; m[1] = 600; m[2] = 400; return d == 0; }
"""


def test_gpus():
    """A library with NVML's functions: one GPU, which does not count its energy."""
    os.mkdir('gpu')
    with open('gpu/nvml.c', 'w') as f:
        f.write(NVML)
    compiler = os.environ.get('CC', 'cc').split()
    subprocess.run([*compiler, '-shared', '-fPIC', '-o', 'gpu/libnvidia-ml.so.1', 'gpu/nvml.c'], check=True)
    os.environ['LD_LIBRARY_PATH'] = os.path.abspath('gpu')
    with serving('digits.pith') as (address, _):
        found = metrics(address)
        for name, value in (('nv_gpu_utilization', 0.25), ('nv_gpu_power_usage', 123.5), ('nv_gpu_power_limit', 700),
                            ('nv_gpu_memory_total_bytes', 1000), ('nv_gpu_memory_used_bytes', 400)):
            check(found.get(name + '{gpu_uuid="GPU-7"}') == value, f'{name}: {found}')
        check('nv_energy_consumption{gpu_uuid="GPU-7"}' not in found, 'an energy that is not counted')
        check(get(address, '/status')['gpus'] == [{'utilization': 0.25, 'power_w': 123.5}], 'status')
    del os.environ['LD_LIBRARY_PATH']


def test_device():
    """Batches on an emulated GPU, from several connections."""
    folder = os.path.join(os.environ['PITH_O'], 'tests/cuda/fake')
    if not os.path.exists(folder):
        return
    os.environ['LD_LIBRARY_PATH'] = folder
    with serving('digits.pith', '--device', 'cuda:0', '--max-wait', '5ms') as (address, _):
        test_many(address)
        network = get(address, '/status')['networks'][0]
        check('emulator' in network['device'] and network['batches'] < network['rows'], network)
    del os.environ['LD_LIBRARY_PATH']


def raw(address, text, wait=30):
    """What comes back for these bytes until the server closes the connection."""
    host, port = address.split(':')
    with socket.create_connection((host, int(port)), timeout=wait) as s:
        reply = b''
        try:
            s.sendall(text)
            while part := s.recv(65536):
                reply += part
        except ConnectionError:
            pass
        return reply


HEAD = b'POST /v2/models/digits/infer HTTP/1.1\r\nHost: localhost\r\n'


def test_limits():
    with serving('digits.pith', '--timeout', '0.5s', '--max-connections', '4') as (address, _):
        reply = raw(address, HEAD + b'Content-Length: 10737418240\r\n\r\n' + b'x' * 100000)
        check(reply.startswith(b'HTTP/1.1 413 '), f'10 GB: {reply[:100]}')
        chunk = b'10000\r\n' + b' ' * 65536 + b'\r\n'
        reply = raw(address, HEAD + b'Transfer-Encoding: chunked\r\n\r\n' + chunk * 400)
        check(b' 200 ' not in reply, f'endless chunks: {reply[:100]}')
        check(raw(address, b'GET /v2 HTTP/1.1\r\nX: ' + b'y' * 200000).find(b' 200 ') < 0, 'a long header')
        for sent in b'', b'GET /v2 HT', HEAD, HEAD + b'Content-Length: 100\r\n\r\n12':
            start = time.monotonic()
            check(b' 200 ' not in raw(address, sent), f'{sent} was answered')
            check(time.monotonic() - start < 20, f'{sent}: the connection stayed')
        # A byte at a time, and never done: the connection is closed all the same.
        host, port = address.split(':')
        slow = [socket.create_connection((host, int(port))) for _ in range(4)]
        start = time.monotonic()
        while slow and time.monotonic() - start < 60:
            for s in list(slow):
                try:
                    s.sendall(b'G')
                    s.settimeout(0.05)
                    if not s.recv(1):
                        raise ConnectionError
                except TimeoutError:
                    pass
                except OSError:
                    slow.remove(s)
                    s.close()
        check(not slow, 'slow connections stay')
        # The daemon closes a connection before it counts one fewer: until then it refuses the next.
        status, start = 0, time.monotonic()
        while status == 0 and time.monotonic() - start < 60:
            with contextlib.suppress(ConnectionError):
                status, _, _ = infer(address, picture([0] * 784))
        check(status == 200, 'after slow connections')


def test_token():
    with serving('digits.pith', '--listen', '0.0.0.0', '--token-file', 'token') as (address, _):
        address = '127.0.0.1:' + address.split(':')[1]
        check(talk(address, 'GET', '/v2/health/live')[0] == 200, 'probes need a token')
        for given in {}, {'Authorization': 'Bearer secre'}, {'Authorization': 'secret'}, {'Authorization': 'Bearer '}:
            status, headers, _ = infer(address, picture([0] * 784), **given)
            check(status == 401 and headers['WWW-Authenticate'] == 'Bearer', f'{given}: {status}')
        check(infer(address, picture([0] * 784), Authorization='Bearer secret')[0] == 200, 'the token is refused')
        check(infer(address, picture([0] * 784), Authorization='Bearer secret', Host='a.example')[0] == 200, 'a host')


# ONNX types, their datatypes here, how struct packs them.
TYPES = {1: ('FP32', 'f'), 2: ('UINT8', 'B'), 3: ('INT8', 'b'), 6: ('INT32', 'i'), 7: ('INT64', 'q'),
         9: ('BOOL', '?'), 10: ('FP16', 'e')}


def test_types():
    nodes = b''.join(node('Concat', [f'x{t}', f'x{t}'], [f'y{t}'], f'n{t}',
                          field(5, field(1, 'axis') + field(3, 1) + field(20, 2))) for t in TYPES)
    ends = b''.join(value(11, f'x{t}', [2, 3], t) + value(12, f'y{t}', [2, 6], t) for t in TYPES)
    write('types.onnx', model(nodes + field(2, 'types') + ends))
    with serving('types.onnx') as (address, _):
        about = get(address, '/v2/models/types')
        check({e['name']: e['datatype'] for e in about['inputs']} == {f'x{t}': TYPES[t][0] for t in TYPES}, about)
        inputs, values = [], b''
        data = {t: [i % 2 == 0 if t == 9 else i for i in range(6)] for t in TYPES}
        for t, (name, letter) in TYPES.items():
            packed = struct.pack(f'<6{letter}', *data[t])
            inputs.append({'name': f'x{t}', 'datatype': name, 'shape': [2, 3],
                           'parameters': {'binary_data_size': len(packed)}})
            values += packed
        text = json.dumps({'inputs': inputs, 'parameters': {'binary_data_output': True}}).encode()
        status, headers, body = infer(address, text + values, 'types', Inference_Header_Content_Length=str(len(text)))
        check(status == 200, body)
        at = int(headers['Inference-Header-Content-Length'])
        outputs = {o['name']: o for o in json.loads(body[:at])['outputs']}
        doubled = {t: data[t][:3] * 2 + data[t][3:] * 2 for t in TYPES}
        for t, (name, letter) in TYPES.items():
            n = outputs[f'y{t}']['parameters']['binary_data_size']
            check(list(struct.unpack(f'<12{letter}', body[at:at + n])) == doubled[t], f'{name}, binary')
            at += n
        for i in inputs:
            del i['parameters']
            i['data'] = data[int(i['name'][1:])]
        status, _, body = infer(address, {'inputs': inputs}, 'types')
        for o in json.loads(body).get('outputs', [{'name': 'y1', 'data': body}]):
            check(o['data'] == doubled[int(o['name'][1:])], f'{o}')
        inputs[0]['data'] = [1] * 5
        check(infer(address, {'inputs': inputs}, 'types')[0] == 400, 'a value is missing')


def test_open_sizes():
    """Requests bring the sizes; those of one size share batches, those of others run by themselves."""
    def of(name, shape, values):
        return {'name': name, 'datatype': 'FP32', 'shape': shape, 'data': values}

    with serving('open2.onnx', '--max-wait', '10ms') as (address, _):
        about = get(address, '/v2/models/open2')
        check([i['shape'] for i in about['inputs']] == [[1, -1], [1, -1, -1]], about['inputs'])
        check(about['outputs'][0]['shape'] == [1, -1, -1], about['outputs'])
        wrong = []

        def ask(height, width, first):
            a = [first + i for i in range(width)]
            b = [2.0 * i for i in range(height * width)]
            status, _, body = infer(address, {'inputs': [of('a', [1, width], a), of('b', [1, height, width], b)]}, 'open2')
            expected = {'shape': [1, height, width], 'data': [v + a[i % width] for i, v in enumerate(b)]}
            got = json.loads(body)['outputs'][0] if status == 200 else body
            if status != 200 or any(got[k] != v for k, v in expected.items()):
                wrong.append((height, width, status, body))

        threads = [threading.Thread(target=ask, args=(1 + i % 3, 1 + i % 5, i)) for i in range(60)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        check(not wrong, wrong[:2])
        for words, inputs in (
                ('has to be width', [of('a', [1, 3], [1, 2, 3]), of('b', [1, 1, 2], [1, 2])]),
                ('where size height is 0', [of('a', [1, 3], [1, 2, 3]), of('b', [1, 0, 3], [])]),
                ("not that of the network's metadata", [of('a', [2, 3], [1] * 6), of('b', [1, 1, 3], [1] * 3)]),
                ('fewer values than its shape', [of('a', [1, 99999999], [1]), of('b', [1, 1, 3], [1] * 3)]),
                ("not that of the network's metadata", [of('a', [1, -3], []), of('b', [1, 1, 3], [1] * 3)])):
            status, _, body = infer(address, {'inputs': inputs}, 'open2')
            check(400 <= status < 500 and words in body.decode(), f'{status} {body}: not "{words}"')


def test_triton(address):
    values = (numpy.arange(3 * 784, dtype=numpy.float32) % 11 / 11).reshape(3, 1, 28, 28)
    client = triton.InferenceServerClient(address)
    check(client.is_server_live() and client.is_server_ready() and client.is_model_ready('digits'), 'not ready')
    check(client.get_model_metadata('digits')['name'] == 'digits', 'metadata')
    answers = []
    for binary in False, True:
        given = triton.InferInput('input', [3, 1, 28, 28], 'FP32')
        given.set_data_from_numpy(values, binary_data=binary)
        result = client.infer('digits', [given], request_id='5',
                              outputs=[triton.InferRequestedOutput('fc2', binary_data=binary)])
        check(result.get_response()['id'] == '5', result.get_response())
        answers.append(result.as_numpy('fc2'))
    check(answers[0].shape == (3, 10) and (answers[0] == answers[1]).all(), answers)
    check(numpy.allclose(answers[0][1], expected_outputs(values[1].ravel()), 1e-5, 1e-6), answers)
    result = client.infer('digits', [given], outputs=[triton.InferRequestedOutput('fc2', class_count=2)])
    check(result.as_numpy('fc2').shape == (3, 2), result.as_numpy('fc2'))
    try:
        client.infer('digits', [triton.InferInput('input', [1, 1, 28, 27], 'FP32')
                                .set_data_from_numpy(numpy.zeros((1, 1, 28, 27), numpy.float32))])
        check(False, 'a wrong shape is accepted')
    except triton.InferenceServerException as e:
        check('shape' in e.message(), e.message())
    client.close()


def test_many(address):
    """Threads, each on a connection of its own, get the outputs of their inputs."""
    def ask(number):
        values = [(i * number) % 13 / 13 for i in range(784)]
        connection = http.client.HTTPConnection(address, timeout=60)
        first = None
        for _ in range(30):
            connection.request('POST', '/v2/models/digits/infer', json.dumps(picture(values)))
            data = json.loads(connection.getresponse().read())['outputs'][0]['data']
            first = first or data
            check(all(abs(a - b) < 1e-4 for a, b in zip(first, data)), f'thread {number}: {data}, before {first}')
        connection.close()
        check(all(abs(a - b) < 1e-4 for a, b in zip(first, expected[number])), f'thread {number}')
    expected = [expected_outputs([(i * n) % 13 / 13 for i in range(784)]) for n in range(8)]
    threads = [threading.Thread(target=ask, args=(n,)) for n in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def test_end():
    """A request that has begun is answered after SIGTERM; then the server ends."""
    with serving('digits.pith') as (address, process):
        host, port = address.split(':')
        body = json.dumps(picture([0] * 784)).encode()
        s = socket.create_connection((host, int(port)))
        s.sendall(HEAD + b'Content-Length: %d\r\n\r\n' % len(body) + body[:100])
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        try:
            socket.create_connection((host, int(port)), timeout=10).close()
            check(False, 'connections are accepted after SIGTERM')
        except ConnectionError:
            pass
        s.sendall(body[100:])
        reply = b''
        while part := s.recv(65536):
            reply += part
        check(reply.startswith(b'HTTP/1.1 200 ') and b'close' in reply, reply[:200])
        process.wait(60)
        s.close()


os.environ['no_proxy'] = '*'
with serving('digits.pith', 'plain.pith', '--max-wait', '1ms') as (server, _):
    test_metadata(server)
    test_inference(server)
    test_pictures(server)
    test_errors(server)
    test_metrics(server)
    test_many(server)
    if triton:
        test_triton(server)
with serving('my net=digits.pith', stop=signal.SIGINT) as (server, _):
    check(get(server, '/v2/models/my%20net').get('name') == 'my net', 'a name with a space')
test_types()
test_open_sizes()
test_gpus()
test_device()
test_limits()
test_token()
test_end()
sys.exit(failed)
