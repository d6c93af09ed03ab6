"""Spectral methods: transforms of real fields, as their authors write them, with `fft` and the real part."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from benchmarks.tensor.program import Draw, add_gradient, program

SPECTRAL = "spectral"
GRID = 256


def make_field(draw: Draw) -> tuple[Any, ...]:
    return (draw.normal(GRID, GRID),)


def frequencies() -> tuple[Any, Any]:
    k = 2 * jnp.pi * jnp.fft.fftfreq(GRID)
    return k[:, None], k[None, :]


@program(SPECTRAL, make_field, tolerance=1e-3)
def periodic_poisson(source: Any) -> Any:
    """The potential of a source in a periodic box, its mean set to zero."""
    kx, ky = frequencies()
    squares = (kx**2 + ky**2).at[0, 0].set(1.0)
    return jnp.real(jnp.fft.ifft2((jnp.fft.fft2(source) / -squares).at[0, 0].set(0.0)))


@program(SPECTRAL, make_field, tolerance=1e-3)
def vorticity_step(vorticity: Any) -> Any:
    """One step of two-dimensional turbulence by a pseudo-spectral method, two thirds of the frequencies kept."""
    kx, ky = frequencies()
    squares = kx**2 + ky**2
    inverse = 1 / squares.at[0, 0].set(1.0)
    kept = (jnp.abs(kx) < 2 / 3 * jnp.pi) & (jnp.abs(ky) < 2 / 3 * jnp.pi)
    spectrum = jnp.fft.fft2(vorticity)
    stream = spectrum * inverse
    u = jnp.fft.ifft2(1j * ky * stream).real
    v = -jnp.fft.ifft2(1j * kx * stream).real
    along_x, along_y = jnp.fft.ifft2(1j * kx * spectrum).real, jnp.fft.ifft2(1j * ky * spectrum).real
    change = -jnp.fft.fft2(u * along_x + v * along_y) * kept - 1e-3 * squares * spectrum
    return jnp.fft.ifft2(spectrum + 1e-2 * change).real


@program(SPECTRAL, make_field, tolerance=1e-3)
def spectral_gradient(field: Any) -> Any:
    kx, ky = frequencies()
    spectrum = jnp.fft.fft2(field)
    return jnp.fft.ifft2(1j * kx * spectrum).real, jnp.fft.ifft2(1j * ky * spectrum).real


def make_images(draw: Draw) -> tuple[Any, ...]:
    return draw.normal(8, GRID, GRID), draw.normal(GRID, GRID, scale=0.01)


@program(SPECTRAL, make_images, tolerance=1e-3)
def blurred_images(images: Any, kernel: Any) -> Any:
    """Images convolved with a large kernel, around the edges."""
    return jnp.fft.ifft2(jnp.fft.fft2(images) * jnp.fft.fft2(kernel)).real


add_gradient("blurred_images", SPECTRAL, (0,))


def make_signal(draw: Draw) -> tuple[Any, ...]:
    return (draw.normal(1 << 17),)


@program(SPECTRAL, make_signal, tolerance=1e-3)
def spectrogram(signal: Any) -> Any:
    """Powers of frequencies in windows of 512 samples that overlap by half."""
    starts = jnp.arange(0, signal.size - 511, 256)
    windows = signal[starts[:, None] + jnp.arange(512)] * jnp.hanning(512)
    return jnp.log(jnp.abs(jnp.fft.fft(windows)) ** 2 + 1e-6)
