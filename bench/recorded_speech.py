# SPDX-License-Identifier: MIT
"""Words cut out of a minute of speech, as the keyword networks of MLPerf Tiny hear them.

`front_end` is theirs (mlcommons/tiny, keyword_spotting/get_dataset.py): a second of 16 kHz, its
highest sample made 1, in 49 frames of 480 samples, one every 320, Hann windows; the magnitudes in
40 mel bands of 20 .. 4000 Hz; the logarithm of those + 1e-6; 10 coefficients of its DCT.
"""

import wave

import numpy as np

RATE, WINDOW, HOP, FFT, BANDS = 16000, 480, 320, 512, 40
FRAMES, COEFFICIENTS = 49, 10


def mel_bands(low=20.0, high=4000.0):
    """[FFT / 2 + 1, BANDS]: triangles on the mel scale (HTK's)."""

    def mel(hertz):
        return 1127 * np.log1p(hertz / 700)

    at = mel(np.arange(FFT // 2 + 1) * RATE / FFT)[:, None]
    edge = np.linspace(mel(low), mel(high), BANDS + 2)
    rise = (at - edge[:-2]) / (edge[1:-1] - edge[:-2])
    fall = (edge[2:] - at) / (edge[2:] - edge[1:-1])
    bands = np.maximum(0, np.minimum(rise, fall))
    bands[0] = 0
    return bands


MEL = mel_bands()
HANN = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(WINDOW) / WINDOW)
_angle = np.pi * np.arange(COEFFICIENTS)[:, None] * (np.arange(BANDS) + 0.5) / BANDS
DCT = 2 * np.cos(_angle) / np.sqrt(2 * BANDS)  # of BANDS logarithms
BACK = np.linalg.pinv(DCT)  # to the smoothest ones that give these coefficients


def front_end(sound):
    """[RATE] to [FRAMES, COEFFICIENTS]."""
    sound = sound / max(sound.max(), 1e-9)
    frames = np.lib.stride_tricks.sliding_window_view(sound, WINDOW)[::HOP][:FRAMES] * HANN
    return np.log(np.abs(np.fft.rfft(frames, FFT)) @ MEL + 1e-6) @ DCT.T


def read(path):
    """16 bits, mono, as -1..1."""
    with wave.open(path) as w:
        assert w.getframerate() == RATE and w.getnchannels() == 1 and w.getsampwidth() == 2
        return np.frombuffer(w.readframes(w.getnframes()), "<i2") / 32768


def resampled(x, n):
    return np.interp(np.linspace(0, len(x) - 1, n), np.arange(len(x)), x)


def noise(rng):
    """A second between white and a fall of 24 dB in ten times the frequency, its deviation 1."""
    spectrum = np.fft.rfft(rng.standard_normal(RATE))
    spectrum *= (np.arange(len(spectrum)) + 20.0) ** -rng.uniform(0, 1.2)
    x = np.fft.irfft(spectrum, RATE)
    return x / x.std()


def microphone(x, rng):
    """Another frequency response, smooth, some 5 dB up and down."""
    spectrum = np.fft.rfft(x)
    knots = [0, 150, 400, 1000, 2000, 3000, 4000, 8000]
    response = np.interp(np.linspace(0, RATE / 2, len(spectrum)), knots, 0.6 * rng.standard_normal(len(knots)))
    return np.fft.irfft(spectrum * np.exp(response), len(x))


def word(speech, rng):
    """A quarter to nearly a whole second of it, faster or slower, in the quiet of some room."""
    n = int(RATE * rng.uniform(0.25, 0.9))
    long = int(n * np.exp(0.18 * rng.standard_normal()))
    at = rng.integers(0, len(speech) - long)
    x = resampled(speech[at : at + long], n)
    fade = min(n // 3, int(rng.uniform(200, 2500)))
    x[:fade] *= np.linspace(0, 1, fade)
    x[n - fade :] *= np.linspace(1, 0, fade)
    sound = np.zeros(RATE)
    at = int(np.clip(rng.normal(RATE / 2, 1800) - n / 2, 0, RATE - n))
    sound[at : at + n] = x
    sound = microphone(sound, rng)
    return sound / (np.abs(sound).max() + 1e-9) + noise(rng) * 10 ** rng.uniform(-4.5, -1)


def words(path, count, rng):
    """What is heard, [count, FRAMES, COEFFICIENTS]."""
    speech = read(path)
    return np.array([front_end(word(speech, rng)) for _ in range(count)])


def over(x, other, quieter):
    """Two sounds at once, of what is heard of each; the other one's bands this much (log) quieter."""
    a, b = x @ BACK.T, other @ BACK.T - quieter
    return x + (np.logaddexp(a, b) - a) @ DCT.T
