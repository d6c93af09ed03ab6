// What fetches from textures give, by the rules of the CUDA C++ Programming Guide, "Texture Fetching".
//
// Compiled twice: into the emulator's runtime library, and as device code for kernels whose textures are known. Whoever
// includes it defines
//   TEXTURE_FUNCTION             how functions are declared
//   TEXTURE_WORD(texture, word)  a word of the texture's descriptor
//   TEXTURE_TEXELS(texture)      where its texels begin, a const char *
//
// Choices where the guide leaves one: the weights of a linear filter are rounded to the nearest 1/256; texels are
// turned into normalized floats before they are filtered; channels that a texture does not have are 0.
#pragma once
#include "texture_descriptor.h"
#pragma clang fp contract(off)

typedef unsigned long long texture_handle;

// The whole number below a coordinate, within what an int holds; NaN is far below.
TEXTURE_FUNCTION int texture_floor(float x) {
    float below = __builtin_floorf(x);
    return below >= 1e9f ? 1000000000 : below > -1e9f ? (int)below : -1000000000;
}

// A coordinate in texels. Where coordinates are not normalized, they neither wrap nor are they mirrored.
TEXTURE_FUNCTION float texture_coordinate(texture_handle t, float x, int axis) {
    if (!TEXTURE_WORD(t, TEXTURE_NORMALIZED_COORDINATES)) return x;
    long long mode = TEXTURE_WORD(t, TEXTURE_ADDRESS_X + axis);
    float below = __builtin_floorf(x), fraction = x - below;
    if (mode == TEXTURE_WRAP) x = fraction;
    if (mode == TEXTURE_MIRROR) x = __builtin_floorf(below * 0.5f) == below * 0.5f ? fraction : 1.0f - fraction;
    return x * (float)TEXTURE_WORD(t, TEXTURE_WIDTH + axis);
}

// The texel that an index stands for along an axis; -1 on the border.
TEXTURE_FUNCTION int texture_index(texture_handle t, int i, int axis, int is_neighbour) {
    int extent = (int)TEXTURE_WORD(t, TEXTURE_WIDTH + axis);
    long long mode = TEXTURE_WORD(t, TEXTURE_ADDRESS_X + axis);
    if (mode == TEXTURE_ZERO_OUTSIDE) return i < 0 || i >= extent ? -1 : i;
    // A filter's neighbours across the edge; a point is inside already, but for rounding.
    if (mode == TEXTURE_WRAP && is_neighbour && TEXTURE_WORD(t, TEXTURE_NORMALIZED_COORDINATES))
        i = i < 0 ? i + extent : i >= extent ? i - extent : i;
    return i < 0 ? 0 : i >= extent ? extent - 1 : i;
}

TEXTURE_FUNCTION int texture_layer(texture_handle t, int layer) {
    int layers = (int)TEXTURE_WORD(t, TEXTURE_DEPTH);
    return layer < 0 ? 0 : layer >= layers ? layers - 1 : layer;
}

// A channel of a texel in 32 bits: integers extended by their sign, floats (also half ones) as float.
TEXTURE_FUNCTION unsigned texture_bits(texture_handle t, int channel, int i, int j, int k) {
    long long bits = TEXTURE_WORD(t, TEXTURE_BITS), kind = TEXTURE_WORD(t, TEXTURE_KIND);
    long long channels = TEXTURE_WORD(t, TEXTURE_CHANNELS);
    if (channel >= channels) return 0;
    const char *place = TEXTURE_TEXELS(t) + (k * TEXTURE_WORD(t, TEXTURE_SLICE_BYTES) +
                                             j * TEXTURE_WORD(t, TEXTURE_ROW_BYTES) + (i * channels + channel) * (bits / 8));
    if (bits == 8) return kind == TEXTURE_SIGNED ? (unsigned)*(const signed char *)place : *(const unsigned char *)place;
    if (bits == 16 && kind == TEXTURE_FLOAT) return __builtin_bit_cast(unsigned, (float)*(const _Float16 *)place);
    if (bits == 16) return kind == TEXTURE_SIGNED ? (unsigned)*(const short *)place : *(const unsigned short *)place;
    return *(const unsigned *)place;
}

// A texel's channel as fetches that give floats have it.
TEXTURE_FUNCTION float texture_number(texture_handle t, int channel, int i, int j, int k) {
    if (i < 0 || j < 0 || k < 0) return __builtin_bit_cast(float, (unsigned)TEXTURE_WORD(t, TEXTURE_BORDER + channel));
    unsigned bits = texture_bits(t, channel, i, j, k);
    long long width = TEXTURE_WORD(t, TEXTURE_BITS), kind = TEXTURE_WORD(t, TEXTURE_KIND);
    if (!TEXTURE_WORD(t, TEXTURE_NORMALIZES_VALUES) || kind == TEXTURE_FLOAT || width == 32)
        return __builtin_bit_cast(float, bits);
    if (kind == TEXTURE_UNSIGNED) return (float)bits / (width == 8 ? 255.0f : 65535.0f);
    float number = (float)(int)bits / (width == 8 ? 127.0f : 32767.0f);
    return number < -1.0f ? -1.0f : number;
}

// The weight of the upper neighbour: 8 bits of fraction, and 1 itself.
TEXTURE_FUNCTION float texture_weight(float x) {
    return __builtin_floorf((x - __builtin_floorf(x)) * 256.0f + 0.5f) * 0.00390625f;
}

TEXTURE_FUNCTION float texture_linear(texture_handle t, int dimensions, int channel, float x, float y, float z, int layer) {
    x = texture_coordinate(t, x, 0) - 0.5f;
    float a = texture_weight(x), a0 = 1.0f - a;
    int i0 = texture_floor(x), i1 = texture_index(t, i0 + 1, 0, 1), k0 = layer;
    i0 = texture_index(t, i0, 0, 1);
    if (dimensions == 1) return a0 * texture_number(t, channel, i0, 0, k0) + a * texture_number(t, channel, i1, 0, k0);
    y = texture_coordinate(t, y, 1) - 0.5f;
    float b = texture_weight(y), b0 = 1.0f - b;
    int j0 = texture_floor(y), j1 = texture_index(t, j0 + 1, 1, 1);
    j0 = texture_index(t, j0, 1, 1);
    if (dimensions == 2)
        return a0 * b0 * texture_number(t, channel, i0, j0, k0) + a * b0 * texture_number(t, channel, i1, j0, k0) +
               a0 * b * texture_number(t, channel, i0, j1, k0) + a * b * texture_number(t, channel, i1, j1, k0);
    z = texture_coordinate(t, z, 2) - 0.5f;
    float c = texture_weight(z), c0 = 1.0f - c;
    k0 = texture_floor(z);
    int k1 = texture_index(t, k0 + 1, 2, 1);
    k0 = texture_index(t, k0, 2, 1);
    return a0 * b0 * c0 * texture_number(t, channel, i0, j0, k0) + a * b0 * c0 * texture_number(t, channel, i1, j0, k0) +
           a0 * b * c0 * texture_number(t, channel, i0, j1, k0) + a * b * c0 * texture_number(t, channel, i1, j1, k0) +
           a0 * b0 * c * texture_number(t, channel, i0, j0, k1) + a * b0 * c * texture_number(t, channel, i1, j0, k1) +
           a0 * b * c * texture_number(t, channel, i0, j1, k1) + a * b * c * texture_number(t, channel, i1, j1, k1);
}

// A texel that is fetched as it is: its channel and place. Outside of linear memory and on the border i is -1.
struct texture_place {
    int channel, i, j, k;
};
TEXTURE_FUNCTION struct texture_place texture_point(texture_handle t, int operation, int channel, int i, float x, float y,
                                                    float z) {
    struct texture_place place = {channel, i, 0, 0};
    if (operation == FETCH_TEXEL) {
        if (i < 0 || i >= TEXTURE_WORD(t, TEXTURE_WIDTH)) place.i = -1;
        return place;
    }
    if (operation == GATHER_2D) {
        // Channel c of the result is component i of the c-th of four neighbours, anticlockwise from (0, 1).
        int dx = channel == 1 || channel == 2, dy = channel < 2;
        place.channel = i;
        place.i = texture_index(t, texture_floor(texture_coordinate(t, x, 0) - 0.5f) + dx, 0, 1);
        place.j = texture_index(t, texture_floor(texture_coordinate(t, y, 1) - 0.5f) + dy, 1, 1);
        return place;
    }
    place.i = texture_index(t, texture_floor(texture_coordinate(t, x, 0)), 0, 0);
    if (operation == FETCH_2D || operation == FETCH_3D || operation == FETCH_2D_LAYER)
        place.j = texture_index(t, texture_floor(texture_coordinate(t, y, 1)), 1, 0);
    if (operation == FETCH_3D) place.k = texture_index(t, texture_floor(texture_coordinate(t, z, 2)), 2, 0);
    if (operation == FETCH_1D_LAYER || operation == FETCH_2D_LAYER) place.k = texture_layer(t, i);
    return place;
}

// A fetch that gives integers, extended to 32 bits.
TEXTURE_FUNCTION unsigned texture_fetch_integer(texture_handle t, int operation, int channel, int i, float x, float y,
                                                float z) {
    struct texture_place place = texture_point(t, operation, channel, i, x, y, z);
    if (place.i < 0 || place.j < 0 || place.k < 0) return 0;
    return texture_bits(t, place.channel, place.i, place.j, place.k);
}

TEXTURE_FUNCTION float texture_fetch_float(texture_handle t, int operation, int channel, int i, float x, float y, float z) {
    if (TEXTURE_WORD(t, TEXTURE_INTERPOLATES) && operation != FETCH_TEXEL && operation != GATHER_2D) {
        int is_layered = operation == FETCH_1D_LAYER || operation == FETCH_2D_LAYER;
        int dimensions = operation == FETCH_1D_LAYER ? 1 : operation == FETCH_2D_LAYER ? 2 : operation;
        return texture_linear(t, dimensions, channel, x, y, z, is_layered ? texture_layer(t, i) : 0);
    }
    struct texture_place place = texture_point(t, operation, channel, i, x, y, z);
    if (operation == FETCH_TEXEL && place.i < 0) return 0.0f;
    return texture_number(t, place.channel, place.i, place.j, place.k);
}

// Where `size` bytes of a surface lie, from its first byte on; x counts bytes, z is also the layer. -1 outside.
TEXTURE_FUNCTION long long surface_place(texture_handle t, int x, int y, int z, int size, int boundary) {
    int height = (int)TEXTURE_WORD(t, TEXTURE_HEIGHT), depth = (int)TEXTURE_WORD(t, TEXTURE_DEPTH);
    int row = (int)(TEXTURE_WORD(t, TEXTURE_WIDTH) * TEXTURE_WORD(t, TEXTURE_CHANNELS) * (TEXTURE_WORD(t, TEXTURE_BITS) / 8));
    if (boundary == SURFACE_CLAMP) {
        x = x < 0 ? 0 : x > row - size ? row - size : x;
        y = y < 0 ? 0 : y >= height ? height - 1 : y;
        z = z < 0 ? 0 : z >= depth ? depth - 1 : z;
    }
    if (x < 0 || x > row - size || y < 0 || y >= height || z < 0 || z >= depth) return -1;
    return z * TEXTURE_WORD(t, TEXTURE_SLICE_BYTES) + y * TEXTURE_WORD(t, TEXTURE_ROW_BYTES) + x;
}
