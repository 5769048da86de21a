# SPDX-License-Identifier: MIT
"""Samples for bench/distill.sh: what the data folder has, without labels, made many.

    python bench/distill_data.py dscnn|gru|dnn_l|vww DATA OUT.npy [SAMPLES] [SEED] [STEP] [FIRST]

A student with few bits has to stay near its teacher wherever inputs can lie, and the halves that it
may learn from are small. Keyword clips are words between silence: they are moved in time,
stretched, made louder, tinted, cut short, joined with others, with words of a minute of other
speech. Pictures are cut, mirrored, turned in colour. No label is read, and of the judged samples
only every STEPth from FIRST on: 2, the even half (1 2 the odd one), or 4, which leaves 2::4 to choose a recipe by.
"""

import gzip
import io
import sys
import tarfile

import numpy as np

import recorded_speech
from recorded_speech import COEFFICIENTS, FRAMES

SCALE, ZERO = 0.5847029089927673, 83  # of kws01's int8
SILENCE = np.array([-247.13926] + [0] * 9)  # a frame of digital zeros, unclipped
UNKNOWN = 11  # its class of all other words
SPREAD = np.array([17, 3.5, 2.4, 1.9, 1.7, 1.5, 1.2, 1.0, 0.9, 0.8])  # of frames with sound


def recorded(data, which):
    """kws01: spoken commands with the room's noise around them, [n, 49, 10]."""
    raw = gzip.open(data + "/kws/kws01_mfcc_int8.bin.gz").read()
    x = np.frombuffer(raw, np.int8).reshape(-1, FRAMES, COEFFICIENTS)[which]
    return (x.astype(np.float64) - ZERO) * SCALE


def spoken(data, which):
    """Clips followed by digital silence, [n, 49, 10]."""
    x = np.load(data + "/kws/kws_mfcc490_f32.npy").astype(np.float64)
    return x.reshape(-1, FRAMES, COEFFICIENTS)[which]


def stretched(x, factor):
    n = max(2, round(len(x) * factor))
    at = np.linspace(0, len(x) - 1, n)
    low = np.minimum(at.astype(int), len(x) - 2)
    return x[low] + (at - low)[:, None] * (x[low + 1] - x[low])


def sounding(x):
    """Without the digital silence."""
    heard = np.nonzero(x[:, 0] > -150)[0]
    return x[heard[0] : heard[-1] + 1] if len(heard) > 1 else x


def tinted(x, rng, amount):
    """Another loudness, another microphone, noise."""
    a = amount * rng.random()
    x = x + a * SPREAD * 0.3 * rng.standard_normal(COEFFICIENTS)
    x = (x - x.mean(0)) * (1 + 0.15 * a * rng.standard_normal(COEFFICIENTS)) + x.mean(0)
    return x + a * 0.15 * SPREAD * rng.standard_normal(x.shape)


def word_in_silence(word, n, rng):
    """The clip's sound at the beginning, where it stands in `spoken`, n frames long."""
    out = np.tile(SILENCE, (FRAMES, 1))
    at = 0 if rng.random() < 0.8 else rng.integers(0, max(1, FRAMES - n) + 1)
    n = min(n, FRAMES - at, len(word))
    out[at : at + n] = word[:n]
    return out


def from_command(x, lengths, rng):
    """A recorded command as one of `spoken` would be: its loud part, digital silence behind."""
    n = int(rng.choice(lengths))
    loud = np.convolve(x[:, 0] + 60, np.ones(n), "valid")
    at = int(np.argmax(loud)) + int(rng.integers(-5, 6))
    at = min(max(at, 0), FRAMES - n)
    return x[at : at + n]


def keyword_samples(data, count, rng, ours):
    """For networks judged by the odd half of `spoken`."""
    commands, clips = recorded(data, slice(None)), spoken(data, ours)
    words = [sounding(c) for c in clips]
    lengths = np.array([len(w) for w in words])
    out = np.empty((count, FRAMES, COEFFICIENTS))
    for i in range(count):
        if i < len(clips):
            out[i] = clips[i]
            continue
        kind = rng.random()
        if kind < 0.2:
            out[i] = moved(commands[rng.integers(len(commands))], rng)
            continue
        word = words[rng.integers(len(words))]
        if kind < 0.45:
            word = from_command(commands[rng.integers(len(commands))], lengths, rng)
        elif kind < 0.6:
            other = words[rng.integers(len(words))]
            share, n = rng.random(), min(len(word), len(other))
            word = share * word[:n] + (1 - share) * other[:n]
        elif kind < 0.7:
            other = words[rng.integers(len(words))]
            word = np.concatenate([word[: rng.integers(1, len(word) + 1)], other])
        word = tinted(stretched(word, np.exp(0.15 * rng.standard_normal())), rng, 1.0)
        out[i] = word_in_silence(word, len(word), rng)
    return out


def placed(x, rng, spread=0.1, frames=7):
    """A command stretched, and up to so many frames earlier or later: what is missing is what
    stood at the edge."""
    x = stretched(x, np.exp(spread * rng.standard_normal()))
    at = np.arange(FRAMES) + (len(x) - FRAMES) // 2 + int(rng.integers(-frames, frames + 1))
    return x[np.clip(at, 0, len(x) - 1)]


def moved(x, rng, amount=1.0):
    """A command as another recording would have it."""
    return tinted(placed(x, rng, 0.08 * amount, int(5 * amount)), rng, amount)


def blended(a, b, rng):
    """The beginning of a, the end of b."""
    middle, width = rng.integers(4, FRAMES - 4), rng.uniform(0.3, 3)
    share = 1 / (1 + np.exp((np.arange(FRAMES) - middle) / width))[:, None]
    return share * a + (1 - share) * b


def mixed(commands, clips, rng):
    """Parts of commands, up to three of them."""

    def some():
        return placed(commands[rng.integers(len(commands))], rng)

    kind = rng.random()
    if kind < 0.3:
        x = some()
    elif kind < 0.7:
        shares = rng.dirichlet([1, 1] if kind < 0.6 else [1, 1, 1])
        x = sum(share * some() for share in shares)
    elif kind < 0.9:
        x = blended(some(), some(), rng)
    else:
        x = placed(clips[rng.integers(len(clips))], rng)
    if rng.random() < 0.25:  # some frames of another
        n = int(rng.integers(2, 12))
        at = int(rng.integers(0, FRAMES - n))
        x[at : at + n] = some()[at : at + n]
    if rng.random() < 0.2:  # one coefficient of another
        k = rng.integers(1, COEFFICIENTS)
        x[:, k] = some()[:, k]
    return tinted(x, rng, 1.5)


def on_grid(x):
    """As kws01's int8 have it."""
    return (np.clip(np.round(x / SCALE + ZERO), -128, 127) - ZERO) * SCALE


def asked(data):
    """What the network answers: [n, FRAMES, COEFFICIENTS] to probabilities [n, 12]."""
    import blind_compare

    session = blind_compare.session(data + "/models/tiny_kws_dscnn.onnx")
    name = session.get_inputs()[0].name

    def answers(x):
        x = x[:, None].astype(np.float32)
        return np.concatenate([session.run(None, {name: x[i : i + 1]})[0] for i in range(len(x))])

    return answers


def accepted(count, draw, answers, rng):
    """So many of what `draw` draws, of the classes that commands have: most of what is put together
    at random is "unknown" to the network, or nothing clear, and says little of the rest."""
    got = np.empty((0, FRAMES, COEFFICIENTS))
    while len(got) < count:
        x = on_grid(np.array([draw() for _ in range(4096)]))
        p = answers(x)
        chance = np.where(p.argmax(1) == UNKNOWN, 0.25, 1) * np.where(p.max(1) < 0.9, 0.6, 1)
        got = np.concatenate([got, x[rng.random(len(x)) < chance]])
    return got[:count]


def command_samples(data, count, rng, ours):
    """For the network judged by the odd half of kws01, on its grid of int8. Hardly any comes twice: 500
    commands are memorized soon, mixtures of two or three of them, words that someone else said,
    and commands that such words disturb are not."""
    commands, clips = recorded(data, ours), spoken(data, slice(None))
    words = recorded_speech.words(data + "/audio/vad_test_16k.wav", 8192, rng)

    def said():
        return tinted(placed(words[rng.integers(len(words))], rng), rng, 1.0)

    def disturbed():
        x = placed(commands[rng.integers(len(commands))], rng)
        other = placed(words[rng.integers(len(words))], rng)
        return tinted(recorded_speech.over(x, other, rng.uniform(-1, 5)), rng, 1.0)

    answers, left = asked(data), max(0, count - len(commands))
    few = int(0.15 * left)
    made = np.concatenate(
        [
            accepted(few, said, answers, rng),
            accepted(few, disturbed, answers, rng),
            accepted(left - 2 * few, lambda: mixed(commands, clips, rng), answers, rng),
        ]
    )
    return np.concatenate([on_grid(commands), made[rng.permutation(left)]])[:count]


def pictures(data, ours):
    from PIL import Image

    with tarfile.open(data + "/imagenet/imagenet_a500.tar") as tar:
        names = sorted(n for n in tar.getnames() if n.endswith((".jpg", ".jpeg", ".JPEG")))
        return [
            Image.open(io.BytesIO(tar.extractfile(n).read())).convert("RGB") for n in names[ours]
        ]


def picture_samples(data, count, rng, ours):
    """Pixels, u8 [n, 3, 96, 96]: cuts of the pictures."""
    from PIL import Image, ImageEnhance

    originals = pictures(data, ours)
    out = np.empty((count, 3, 96, 96), np.uint8)
    for i in range(count):
        p = originals[i % len(originals)]
        if i >= len(originals):
            side = int(256 * np.sqrt(rng.uniform(0.2, 1)))
            wide = min(256, max(64, int(side * np.exp(0.15 * rng.standard_normal()))))
            left, top = rng.integers(0, 257 - wide), rng.integers(0, 257 - side)
            p = p.crop((left, top, left + wide, top + side))
            if rng.random() < 0.5:
                p = p.transpose(Image.FLIP_LEFT_RIGHT)
            for change in (ImageEnhance.Brightness, ImageEnhance.Contrast, ImageEnhance.Color):
                p = change(p).enhance(float(np.exp(0.2 * rng.standard_normal())))
        p = p.resize((96, 96), Image.BILINEAR)
        out[i] = np.asarray(p).transpose(2, 0, 1)
    return out


def main():
    network, data, path = sys.argv[1:4]
    count = int(sys.argv[4]) if len(sys.argv) > 4 else 8000
    rng = np.random.default_rng(int(sys.argv[5]) if len(sys.argv) > 5 else 1)
    step = int(sys.argv[6]) if len(sys.argv) > 6 else 2
    first = int(sys.argv[7]) if len(sys.argv) > 7 else 0
    ours = slice(first, None, step)
    if network == "vww":
        x = picture_samples(data, count, rng, ours)
    elif network == "dscnn":
        x = command_samples(data, count, rng, ours)[:, None].astype(np.float32)
    else:
        x = keyword_samples(data, count, rng, ours)
        if network == "dnn_l":  # every other frame; of what is not a clip as it is, either ones
            odd = rng.random(count) < 0.3
            odd[: len(range(304)[ours])] = False
            x = np.where(odd[:, None, None], x[:, [*range(1, 49, 2), 48]], x[:, ::2])
        x = x.reshape(count, -1).astype(np.float32)
    np.save(path, x)


if __name__ == "__main__":
    main()
