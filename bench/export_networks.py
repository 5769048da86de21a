#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Networks of torchvision, timm and transformers as ONNX files with drawn weights, for bench/peers.py.

usage: export_networks.py FOLDER [NAME]... [--script] [--seed N]

NAME: torchvision:resnet18, timm:convnext_atto or transformers:bert (the keys of CONFIGS); without names: those of LIST.
Files are FOLDER/NAME.onnx, of one picture or of --length tokens (64); those that exist stay. --script: by PyTorch's
older exporter. Statistics of batch normalization are drawn, too, so that values keep their size through deep networks.
A network that cannot be exported is named on stderr. Needs torch, onnxscript and the package of the network."""
import argparse
import os
import sys
import warnings

import torch

LIST = ["torchvision:" + n for n in (
    "squeezenet1_0 shufflenet_v2_x1_0 mnasnet1_0 mobilenet_v3_large efficientnet_b1 regnet_x_800mf regnet_y_800mf "
    "googlenet densenet121 resnet34 swin_t").split()] + [
    "timm:" + n for n in (
        "ghostnet_100 hardcorenas_a lcnet_100 rexnet_100 mobilenetv4_conv_small repghostnet_100 selecsls42b "
        "mobilevit_xxs mobilevitv2_050 convnext_atto edgenext_xx_small efficientvit_b0 tiny_vit_5m_224 levit_128s "
        "pit_ti_224 poolformer_s12 gmlp_ti16_224 xcit_nano_12_p16_224").split()] + [
    "transformers:" + n for n in
    "bert deberta_v2 modernbert t5_encoder clip_text wav2vec2 whisper_encoder segformer".split()]
SMALL = dict(hidden_size=384, num_hidden_layers=4, num_attention_heads=6, intermediate_size=1536, vocab_size=8000)
GROUPED = dict(SMALL, num_key_value_heads=2, head_dim=64)
CONFIGS = { # class names of transformers, and what makes them small
    "bert": ("Bert", SMALL),
    "deberta_v2": ("DebertaV2", dict(SMALL, relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=64)),
    "modernbert": ("ModernBert", dict(SMALL, intermediate_size=576, pad_token_id=0)),
    "gpt2": ("GPT2", dict(n_embd=384, n_layer=4, n_head=6, vocab_size=8000)),
    "llama": ("Llama", GROUPED), "qwen3": ("Qwen3", GROUPED),
    "t5_encoder": ("T5", dict(d_model=384, d_kv=64, d_ff=1024, num_layers=4, num_heads=6, vocab_size=8000)),
    "clip_text": ("CLIPText", {k: v for k, v in SMALL.items() if k != "vocab_size"}),
    "wav2vec2": ("Wav2Vec2", SMALL),
    "whisper_encoder": ("Whisper", dict(d_model=384, encoder_layers=4, encoder_attention_heads=6,
                                        encoder_ffn_dim=1536)),
    "segformer": ("Segformer", {}),
}


def transformer(name, length):
    import transformers
    family, options = CONFIGS[name]
    config = getattr(transformers, family + "Config")(**options)
    config.use_cache = False
    classes = {"t5_encoder": "T5EncoderModel", "clip_text": "CLIPTextModel"}
    net = getattr(transformers, classes.get(name, family + "Model"))(config)
    if name == "wav2vec2":
        return net, torch.randn(1, 16000)
    if name == "whisper_encoder":
        return net.encoder, torch.randn(1, 80, 3000)
    if name == "segformer":
        return net, torch.randn(1, 3, 224, 224)
    return net, torch.randint(3, config.vocab_size, (1, length))


class FirstOutput(torch.nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        y = self.net(x)
        return y if torch.is_tensor(y) else y[0] if not hasattr(y, "values") else next(iter(y.values()))


def network(name, length):
    package, _, name = name.partition(":")
    if package == "torchvision":
        import torchvision
        net = torchvision.models.get_model(name, weights=None)
        side = 299 if name.startswith("inception") else 224
        return net, torch.randn(1, 3, side, side)
    if package == "timm":
        import timm
        net = timm.create_model(name, pretrained=False)
        return net, torch.randn(1, *net.default_cfg["input_size"])
    return transformer(name, length)


def draw_statistics(net, x):
    """One pass that sets running means and variances of batch normalization to those of X."""
    norms = [m for m in net.modules() if isinstance(m, torch.nn.modules.batchnorm._BatchNorm)]
    for m in norms:
        m.train()
        m.momentum = 1.0
    with torch.no_grad():
        net(torch.cat([x, torch.randn_like(x)]) if x.is_floating_point() else x)
    net.eval()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder")
    p.add_argument("names", nargs="*")
    p.add_argument("--script", action="store_true")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--length", type=int, default=64)
    args = p.parse_intermixed_args()
    warnings.filterwarnings("ignore")
    os.makedirs(args.folder, exist_ok=True)
    for name in args.names or LIST:
        file = f"{args.folder}/{name.split(':')[1]}.onnx"
        if os.path.exists(file):
            continue
        try:
            torch.manual_seed(args.seed)
            net, x = network(name, args.length)
            net = FirstOutput(net.eval()).eval()
            draw_statistics(net, x)
            if args.script:
                torch.onnx.export(net, (x,), file, dynamo=False, opset_version=17)
            else:
                torch.onnx.export(net, (x,), file, dynamo=True, verbose=False, external_data=False)
        except Exception as e: # exporters fail in their own ways: the others go on
            why = str(e).strip().splitlines() or [type(e).__name__]
            print(f"{name}: not exported ({why[-1][:150]})", file=sys.stderr)
        else:
            print(file, flush=True)


main()
