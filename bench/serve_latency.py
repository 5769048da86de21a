#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""serve_latency.py PITH NET...: what HTTP adds to a run of one row, on one thread: medians of the round trip of requests
with binary tensors over one connection of this machine, and of bare runs (pith bench), measured in turn."""
import json
import math
import os
import socket
import statistics
import subprocess
import sys
import time

ROUNDS, REQUESTS = 5, 400
SIZES = {'FP32': 4, 'FP16': 2, 'INT64': 8, 'INT32': 4, 'INT8': 1, 'UINT8': 1, 'BOOL': 1}


def answer(reader):
    status, length = reader.readline(), 0
    while (line := reader.readline()) not in (b'\r\n', b''):
        if line.lower().startswith(b'content-length:'):
            length = int(line.split(b':')[1])
    body = reader.read(length)
    assert b' 200 ' in status, (status, body)
    return body


def measure(pith, net):
    name = os.path.basename(net).rsplit('.', 1)[0]
    server = subprocess.Popen([pith, 'serve', net, '--port', '0', '-q', '-T', '1', '--max-batch', '1'],
                              stdout=subprocess.PIPE, text=True)
    host, port = server.stdout.readline().strip().removeprefix('http://').split(':')
    s = socket.create_connection((host, int(port)))
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    reader = s.makefile('rb')
    s.sendall(f'GET /v2/models/{name} HTTP/1.1\r\nHost: localhost\r\n\r\n'.encode())
    inputs, values = [], b''
    for end in json.loads(answer(reader))['inputs']:
        shape = [1 if d < 0 else d for d in end['shape']]
        size = math.prod(shape) * SIZES[end['datatype']]
        inputs.append({'name': end['name'], 'datatype': end['datatype'], 'shape': shape,
                       'parameters': {'binary_data_size': size}})
        values += bytes(size)
    text = json.dumps({'inputs': inputs, 'parameters': {'binary_data_output': True}}).encode()
    request = (f'POST /v2/models/{name}/infer HTTP/1.1\r\nHost: localhost\r\n'
               f'Inference-Header-Content-Length: {len(text)}\r\n'
               f'Content-Length: {len(text) + len(values)}\r\n\r\n').encode() + text + values
    trips, runs = [], []
    for _ in range(ROUNDS):
        for _ in range(REQUESTS):
            start = time.perf_counter()
            s.sendall(request)
            answer(reader)
            trips.append(time.perf_counter() - start)
        bench = subprocess.run([pith, 'bench', net, '-T', '1', '--time', '0.3', '--json'], capture_output=True, check=True)
        runs.append(json.loads(bench.stdout)['ms_median'] / 1e3)
    server.terminate()
    server.wait()
    return statistics.median(runs) * 1e6, statistics.median(trips) * 1e6


pith, *nets = sys.argv[1:]
print('network                      bare run   request  difference, us')
for net in nets:
    run, trip = measure(pith, net)
    print(f'{os.path.basename(net):26} {run:10.0f} {trip:9.0f} {trip - run:11.0f}')
