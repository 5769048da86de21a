#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""serve_load.py NET.pith [N]: N requests (20,000) to `pith serve`, of which one in a hundred is cut off by its client
and one in a hundred is malformed. Fails where an answer is wrong, where the server ends, or where its memory grows by
more than 1 MB after the first half, at most 10,000 requests. NET has an open batch; rows are drawn from 16 inputs."""
import json
import math
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

N_CLIENTS = 4
GROWTH_BYTES = 1 << 20
net, total = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20000
name = os.path.basename(net).removesuffix('.pith')
# Two plans may round differently; with --max-batch 1 there is one.
server = subprocess.Popen(['pith', 'serve', net, '--port', '0', '-q', '-T', '1', '--max-batch', '1'],
                          stdout=subprocess.PIPE, text=True)
host, port = server.stdout.readline().strip().removeprefix('http://').split(':')


def connect():
    s = socket.create_connection((host, int(port)))
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s, s.makefile('rb')


def post(body, extra=''):
    return (f'POST /v2/models/{name}/infer HTTP/1.1\r\nHost: localhost\r\n{extra}'
            f'Content-Length: {len(body)}\r\n\r\n').encode() + body


def answer(reader):
    """Status, length of the JSON, body."""
    status = reader.readline().split()
    if len(status) < 2:
        raise ConnectionError
    length, json_bytes = 0, None
    while (line := reader.readline()) not in (b'\r\n', b''):
        key, _, value = line.partition(b':')
        if key.lower() == b'content-length':
            length = int(value)
        elif key.lower() == b'inference-header-content-length':
            json_bytes = int(value)
    return int(status[1]), json_bytes, reader.read(length)


s, reader = connect()
s.sendall(f'GET /v2/models/{name} HTTP/1.1\r\nHost: localhost\r\n\r\n'.encode())
given = json.loads(answer(reader)[2])['inputs'][0]
elements = math.prod(given['shape'][1:])
rng = random.Random(1)
requests = []
for _ in range(16):
    values = [rng.random() for _ in range(elements)]
    packed = struct.pack(f'<{elements}f', *values)
    head = {'name': given['name'], 'datatype': 'FP32', 'shape': [1] + given['shape'][1:]}
    binary = json.dumps({'inputs': [dict(head, parameters={'binary_data_size': len(packed)})],
                         'parameters': {'binary_data_output': True}}).encode()
    text = json.dumps({'inputs': [dict(head, data=struct.unpack(f'<{elements}f', packed))]}).encode()
    requests.append((post(binary + packed, f'Inference-Header-Content-Length: {len(binary)}\r\n'), post(text)))
expected = []
for binary, text in requests:
    s.sendall(binary)
    status, json_bytes, body = answer(reader)
    assert status == 200, body
    expected.append(body[json_bytes:])
s.close()

malformed = [b'\1\2\3\r\n\r\n', b'GET\r\n\r\n', post(b'{"inputs":[{"name":'), post(b'[' * 3000), post(b'\xff' * 100),
             post(b'x', 'Inference-Header-Content-Length: 77\r\n'), requests[0][1].replace(b'FP32', b'INT8'),
             b'POST /v2/models/' + b'/' * 3000 + b'/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx']
done, wrong, refused = [0] * N_CLIENTS, [0] * N_CLIENTS, [0] * N_CLIENTS


def is_right(i, status, json_bytes, body):
    if status != 200:
        return False
    if json_bytes is not None:
        return body[json_bytes:] == expected[i]
    data = json.loads(body)['outputs'][0]['data']
    return struct.pack(f'<{len(data)}f', *data) == expected[i]


def ask(client):
    draw = random.Random(client)
    link, lines = connect()
    while sum(done) < total:
        done[client] += 1
        luck, i = draw.random(), draw.randrange(16)
        request = requests[i][draw.random() < 0.1]
        try:
            if luck < 0.01:  # cut off: before, in or behind the body, or without reading the answer
                link.sendall(request[:draw.randrange(len(request) + 1)])
                link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', draw.random() < 0.5, 0))
                raise ConnectionError
            if luck < 0.02:
                link.sendall(draw.choice(malformed))
                refused[client] += 1
                if answer(lines)[0] < 400:
                    wrong[client] += 1
                raise ConnectionError
            link.sendall(request)
            if not is_right(i, *answer(lines)):
                wrong[client] += 1
        except (ConnectionError, TimeoutError):
            if luck >= 0.02:
                wrong[client] += 1
            lines.close()
            link.close()
            link, lines = connect()
    lines.close()
    link.close()


def anonymous_bytes():
    with open(f'/proc/{server.pid}/status') as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith('RssAnon'))


start = time.monotonic()
threads = [threading.Thread(target=ask, args=(c,)) for c in range(N_CLIENTS)]
for t in threads:
    t.start()
before = 0
while any(t.is_alive() for t in threads):
    time.sleep(0.01)
    if not before and sum(done) >= min(10000, total // 2):
        before = anonymous_bytes()
after = anonymous_bytes()
alive = server.poll() is None
server.send_signal(signal.SIGTERM)
code = server.wait(60)
print(f'{sum(done)} requests in {time.monotonic() - start:.0f} s, {sum(refused)} malformed, {sum(wrong)} wrong answers, '
      f'memory {before} bytes, then {after}, exit {code}')
# A sanitizer keeps what was freed.
grew = 'asan' not in os.path.realpath(os.environ['PITH']) and after - before > GROWTH_BYTES
sys.exit(sum(wrong) > 0 or not alive or code != 0 or grew)
