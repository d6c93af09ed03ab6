"""Python's names as C++ names."""

from __future__ import annotations

from windlass.frontends.kernels.functions import UNARY

_WORDS = frozenset(
    """alignas alignof and and_eq asm auto bitand bitor bool case catch char class compl const constexpr const_cast
    decltype default delete do double dynamic_cast else enum explicit export extern false float for friend goto if
    inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public
    register reinterpret_cast return short signed sizeof static static_assert static_cast struct switch template this
    thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor
    xor_eq threadIdx blockIdx blockDim gridDim warpSize counter main printf fabs floor ceil trunc rint llrint pow fmod
    hypot atan2 copysign nextafter remainder ldexp frexp modf isnan isinf isfinite fmin fmax min max abs fma
    """.split()  # noqa: SIM905
) | frozenset(UNARY.values())


def cpp_name(name: str) -> str:
    """A Python name as a C++ name.

    >>> cpp_name("x"), cpp_name("double")
    ('x', 'double_')
    """
    plain = name if name.isascii() else "".join(letter if letter.isascii() else f"u{ord(letter):x}" for letter in name)
    return f"{plain}_" if plain in _WORDS or plain.startswith("__") else plain
