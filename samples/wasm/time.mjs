// SPDX-License-Identifier: MIT
// node time.mjs NET.pith RUNS PITH.wasm...: milliseconds of a run, median and least, modules in turn.
import { readFileSync } from 'node:fs';
import { open } from './pith.mjs';
const [file, runs, ...modules] = process.argv.slice(2);
const networks = await Promise.all(modules.map((wasm) => open(readFileSync(wasm), readFileSync(file))));
const times = modules.map(() => []);
for (let i = 0; i < runs; i++)
    networks.forEach((network, k) => {
        const input = Float32Array.from({ length: network.inputs }, (_, j) => (j % 251) / 251);
        const begin = performance.now();
        network.run(input);
        times[k].push(performance.now() - begin);
    });
times.forEach((t, k) => {
    t.sort((a, b) => a - b);
    console.log(modules[k], t[t.length >> 1].toFixed(3), t[0].toFixed(3));
});
