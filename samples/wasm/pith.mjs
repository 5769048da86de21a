// SPDX-License-Identifier: MIT
// A .pith network in a browser, or in node: const network = await open(wasm, file), both as bytes; then
// network.run(Float32Array) gives output 0 as a Float32Array.
export async function open(wasm, file) {
    const { instance } = await WebAssembly.instantiate(wasm, {});
    const pith = instance.exports;
    const bytes = (at, n) => new Uint8Array(pith.memory.buffer, at, n);
    const at = pith.allocate(file.length);
    if (!at) throw new Error('pith: no memory');
    bytes(at, file.length).set(file);
    const status = pith.open(at, file.length);
    if (status) throw new Error(`pith: status ${status}`);
    return {
        inputs: pith.input_bytes(0) / 4,
        run(input) {
            if (input.byteLength !== pith.input_bytes(0))
                throw new Error(`pith: input of ${input.byteLength} bytes, the network takes ${pith.input_bytes(0)}`);
            bytes(pith.input(0), input.byteLength).set(new Uint8Array(input.buffer, input.byteOffset, input.byteLength));
            const status = pith.run();
            if (status) throw new Error(`pith: status ${status}`);
            return new Float32Array(bytes(pith.output(0), pith.output_bytes(0)).slice().buffer);
        },
    };
}

// Of each picture in a file of the MNIST format a line: its class and the bits of the scores.
export async function classify(wasm, file, pictures) {
    const network = await open(wasm, file);
    const count = new DataView(pictures.buffer, pictures.byteOffset).getUint32(4);
    const lines = [];
    for (let i = 0; i < count; i++) {
        const pixels = pictures.subarray(16 + 784 * i, 16 + 784 * (i + 1));
        const scores = network.run(Float32Array.from(pixels, (p) => p * Math.fround(1 / 255)));
        const bits = Array.from(new Uint32Array(scores.buffer), (b) => b.toString(16).padStart(8, '0'));
        lines.push(`${scores.indexOf(Math.max(...scores))} ${bits.join(' ')}`);
    }
    return lines.join('\n') + '\n';
}
