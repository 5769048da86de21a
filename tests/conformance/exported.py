# SPDX-License-Identifier: MIT
"""Transformers as PyTorch's two exporters write them today: attention and RMSNormalization are one operator each, outputs
are onnxruntime's at three sizes, and decoders choose its tokens.

    exported.py [--time] [NAME...]

Drawn weights, two layers. --time: six layers of 384 instead, and processor time of the faster of onnxruntime and
OpenVINO divided by pith's, one thread, medians of ROUNDS in turn: at 64 and 256 tokens; of decoders, onnxruntime's by
pith's, of prompts of 64 and 512 (Whisper: 64) and of a step behind each. Needs torch, onnxscript, transformers."""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
import onnxruntime as ort
import torch
import transformers as tf

sys.path[:0] = ["python"]
import pith  # noqa: E402

TIME, ROUNDS = "--time" in sys.argv, 5
D, H, G, LAYERS, V, SIDE = (384, 6, 2, 6, 4000, 224) if TIME else (128, 2, 1, 2, 500, 64)
TOKENS = dict(vocab_size=V, pad_token_id=0, bos_token_id=1, eos_token_id=2)
BODY = dict(hidden_size=D, num_hidden_layers=LAYERS, num_attention_heads=H, intermediate_size=4 * D)
GROUPED = dict(BODY, **TOKENS, num_key_value_heads=G, head_dim=64)
PICTURE = dict(BODY, image_size=SIDE, patch_size=16)
TWO = dict(d_model=D, encoder_layers=LAYERS, decoder_layers=LAYERS, encoder_attention_heads=H, **TOKENS,
           decoder_attention_heads=H, encoder_ffn_dim=4 * D, decoder_ffn_dim=4 * D, max_source_positions=100)
T5 = dict(d_model=D, d_kv=64, d_ff=1024, num_layers=LAYERS, num_heads=H, decoder_start_token_id=1, **TOKENS)
GPT2 = dict(n_embd=D, n_layer=LAYERS, n_head=H, vocab_size=V)
SWIN = dict(image_size=SIDE, embed_dim=32, depths=[2, 2], num_heads=[1, 2], window_size=7 if TIME else 4)
IDS, MASK, HEARD = ("input_ids", ["batch", "seq"]), ("attention_mask", ["batch", "seq"]), \
    ("encoder_hidden_states", ["batch", "heard", D])
NETWORKS = { # class, options, inputs
    "bert": ("Bert", dict(BODY, **TOKENS), [IDS, MASK]), "llama": ("Llama", GROUPED, [IDS, MASK]),
    "qwen3": ("Qwen3", GROUPED, [IDS, MASK]), "gpt2": ("GPT2", GPT2, [IDS, MASK]),
    "modernbert": ("ModernBert", dict(BODY, **TOKENS, cls_token_id=1, sep_token_id=2, local_attention=8), [IDS, MASK]),
    "clip_text": ("CLIPText", dict(BODY, **TOKENS, max_position_embeddings=512), [IDS, MASK]),
    "vit": ("ViT", PICTURE, [("pixel_values", ["batch", 3, SIDE, SIDE])]),
    "clip_vision": ("CLIPVision", PICTURE, [("pixel_values", ["batch", 3, SIDE, SIDE])]),
    "swin": ("Swin", SWIN, [("pixel_values", ["batch", 3, SIDE, SIDE])]),
    "whisper_encoder": ("Whisper", TWO, [("input_features", ["batch", 80, 200])]),
    "whisper_decoder": ("Whisper", TWO, [IDS, HEARD])}
DECODERS = {"llama": ("LlamaForCausalLM", GROUPED, G), "qwen3": ("Qwen3ForCausalLM", GROUPED, G),
            "gpt2": ("GPT2LMHeadModel", GPT2, H), "t5": ("T5ForConditionalGeneration", T5, H),
            "whisper": ("WhisperForConditionalGeneration", TWO, H)}


class Net(torch.nn.Module):
    """Inputs by place; of a decoder, the values of the cache last, which are its outputs, too."""

    def __init__(self, net, names):
        super().__init__()
        self.net, self.names = net, names

    def forward(self, *values):
        given = dict(zip(self.names, values))
        past = [v for k, v in given.items() if k.startswith("past")]
        if not past:
            return self.net(**given)[0]
        cache = tf.DynamicCache()
        for i in range(LAYERS):
            cache.update(past[2 * i], past[2 * i + 1], i)
        if HEARD[0] in given:
            cache = tf.EncoderDecoderCache(cache, tf.DynamicCache())
            r = self.net(decoder_input_ids=given["ids"], encoder_outputs=(given[HEARD[0]],), past_key_values=cache,
                         use_cache=True)
            after = r.past_key_values.self_attention_cache
        else:
            r = self.net(input_ids=given["ids"], attention_mask=given["attention_mask"], past_key_values=cache,
                         use_cache=True)
            after = r.past_key_values
        return r.logits, *(t for i in range(LAYERS) for t in (after.layers[i].keys, after.layers[i].values))


class Count(torch.overrides.TorchFunctionMode):
    n = 0

    def __torch_function__(self, f, types, args=(), kw=None):
        self.n += getattr(f, "__name__", "") in ("scaled_dot_product_attention", "softmax")
        return f(*args, **(kw or {}))


def made(name, cached):
    """The network and its inputs."""
    if cached:
        kind, options, heads = DECODERS[name]
        config = getattr(tf, kind.split("For")[0].replace("LMHeadModel", "") + "Config")(**options)
        wide = ("attention_mask", ["batch", "total"])
        inputs = [("ids", ["batch", "seq"]), HEARD if name in ("t5", "whisper") else wide]
        return getattr(tf, kind)(config), inputs + [(f"past_key_values.{i}.{k}", ["batch", heads, "past", 64])
                                                    for i in range(LAYERS) for k in ("key", "value")]
    family, options, inputs = NETWORKS[name]
    net = getattr(tf, family + "Model")(getattr(tf, family + "Config")(**options))
    net.config.use_cache = False
    return getattr(net, name[8:]) if name.startswith("whisper") else net, inputs


def draw(inputs, rng, sizes):
    feed = {}
    for name, dims in inputs:
        shape = [sizes.get(d, d) for d in dims]
        ids = rng.integers(3, 400, shape) if "ids" in name else None
        feed[name] = np.ones(shape, np.int64) if "mask" in name else rng.normal(size=shape).astype(np.float32) \
            if ids is None else np.where(np.arange(shape[1]) == shape[1] - 1, 2, ids)
        if name == MASK[0] and "past" not in str(inputs) and shape[0] > 1:
            feed[name][1, :3] = 0
    return feed


def export(name, cached, script, path):
    """Numbers of attentions and of normalizations, and the inputs."""
    torch.manual_seed(1)
    net, inputs = made(name, cached)
    feed = draw(inputs, np.random.default_rng(1), dict(batch=2, seq=7, heard=9, past=5, total=12))
    net, names, norms = Net(net.eval(), list(feed)).eval(), list(feed), []
    for p in net.parameters():
        if p.dim() == 1:
            torch.nn.init.normal_(p, float(p.mean() > 0.5), 0.1)
    for m in net.modules():
        if type(m).__name__.endswith(("RMSNorm", "LayerNorm")):
            m.register_forward_hook(lambda *_: norms.append(1))
    x = tuple(torch.from_numpy(v) for v in feed.values())
    axes = [{i: d for i, d in enumerate(dims) if isinstance(d, str)} for _, dims in inputs]
    outs = ["logits"] + [n.replace("past_key_values", "present") for n in names if n.startswith("past")]
    with torch.no_grad():
        with Count() as count:
            net(*x)
        found = {"Attention": count.n, "LayerNormalization": len(norms)}
        if script:
            torch.onnx.export(net, x, path, dynamo=False, opset_version=17, input_names=names, output_names=outs,
                              dynamic_axes=dict(zip(names, axes)))
        else:
            torch.onnx.export(net, x, path, dynamo=True, external_data=False, verbose=False, input_names=names,
                              dynamic_shapes=(tuple({i: torch.export.Dim.DYNAMIC for i in a} for a in axes),),
                              output_names=outs)
    return found, inputs


def generated(session, prompt, n, given):
    """The tokens of onnxruntime's scores, and processor time of the first and of the others."""
    outs, ids, times = [o.name for o in session.get_outputs()], list(prompt), []
    feed = {i.name: np.zeros([1, i.shape[1], 0, 64], np.float32) for i in session.get_inputs() if "past" in i.name}
    after = {k: k.replace("past_key_values", "present") for k in feed}
    feed.update(given)
    for _ in range(n):
        begun, new = time.process_time(), ids if not times else ids[-1:]
        feed["ids"] = np.array([new])
        if not given:
            feed["attention_mask"] = np.ones((1, len(ids)), np.int64)
        got = dict(zip(outs, session.run(None, feed)))
        feed.update({k: got[o] for k, o in after.items()})
        ids.append(int(got["logits"][0, -1].argmax()))
        times.append(time.process_time() - begun)
    return ids[len(prompt):], times[0], sum(times[1:]) / (n - 1)


def spent(call):
    begun = time.process_time()
    r = call()
    return time.process_time() - begun, r


def decoder_line(name, session, net, inputs):
    given = {k: v for k, v in draw(inputs, np.random.default_rng(3), dict(batch=1, heard=100, seq=1, past=0, total=1)
                                   ).items() if k == HEARD[0]}
    same = sum(a == b for a, b in zip(generated(session, [7], 64, given)[0], net.generate([7], 64, inputs=given)))
    line, bad = f"{same} of 64 tokens", same < 64
    for length in ((64,) if name == "whisper" else (64, 512)) if TIME else ():
        rows, prompt = [], np.random.default_rng(1).integers(3, V, length).tolist()
        for _ in range(ROUNDS):
            _, first, step = generated(session, prompt, 65, given)
            own = spent(lambda: net.generate(prompt, 1, inputs=given))[0]
            all_of_it = spent(lambda: net.generate(prompt, 65, inputs=given))[0]
            rows.append((first / own, 64 * step / (all_of_it - own)))
        line += f"   {length}:" + " prompt {:.2f}  step {:.2f}".format(*(statistics.median(c) for c in zip(*rows)))
    return line, bad


def encoder_line(session, net, inputs, path):
    off = 0
    for k, sizes in enumerate(({"seq": 5}, {"seq": 20}, {"seq": 64})):
        feed = draw(inputs, np.random.default_rng(k), dict(sizes, batch=1 + k, heard=7 * k + 7))
        off = max(off, np.abs(session.run(None, feed)[0] - net.run(feed)["logits"]).max())
    line, bad = f"off by {off:.0e}", not off < 1e-5 * LAYERS
    for n in ((64, 256) if inputs[0] is IDS else (0,)) if TIME else ():
        import openvino
        core = openvino.Core()
        request = core.compile_model(core.read_model(path), "CPU", {
            "INFERENCE_NUM_THREADS": 1, "INFERENCE_PRECISION_HINT": "f32"}).create_infer_request()
        feed = draw(inputs, np.random.default_rng(1), dict(batch=1, seq=n, heard=100))
        calls = [lambda: net.run(feed), lambda: session.run(None, feed), lambda: request.infer(feed)]
        rows = [[spent(call)[0] for call in calls] for _ in range(ROUNDS + 1)][1:]
        line += f"   {n or ''}: {statistics.median(min(r[1:]) / r[0] for r in rows):.2f}"
    return line, bad


def check(name, cached, script, work):
    path = f"{work}/net.onnx"
    try:
        wanted, inputs = export(name, cached, script, path)
    except Exception as e:  # exporters fail in their own ways
        return f"not exported ({(str(e).strip().splitlines() or [type(e).__name__])[0][:120]})", False
    r = subprocess.run([os.environ["PITH"], "import", path, "-q", "-f", "-o", f"{work}/net.pith"], capture_output=True,
                       text=True)
    if r.returncode:
        return f"import: {r.stderr.strip()}", True
    r = subprocess.run([os.environ["PITH"], "info", f"{work}/net.pith", "--plan", "--json", "-q"], capture_output=True)
    ops = [s["op"] for s in json.loads(r.stdout)["steps"]]
    found = {op: ops.count(op) for op in wanted}
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    session, net = ort.InferenceSession(path, options), pith.load(f"{work}/net.pith", threads=1)
    line, bad = decoder_line(name, session, net, inputs) if cached else encoder_line(session, net, inputs, path)
    return "  ".join(f"{found[op]} of {wanted[op]}" for op in wanted) + "   " + line, bad or found != wanted


def main():
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    tf.masking_utils.find_packed_sequence_indices = lambda positions: None  # aten::diff, which TorchScript has not
    names, failed = [a for a in sys.argv[1:] if a != "--time"], False
    cases = [(n, False) for n in NETWORKS] + [(n, True) for n in DECODERS]
    with tempfile.TemporaryDirectory() as work:
        for (name, cached), script in ((c, s) for c in cases for s in (True, False)):
            title = name + ("-cached" if cached else "")
            if names and title not in names:
                continue
            line, bad = check(name, cached, script, work)
            print(f"{title:16} {'script' if script else 'dynamo':7} {line}", flush=True)
            failed |= bad
    sys.exit(failed)


if __name__ == "__main__":
    main()
