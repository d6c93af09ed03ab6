// What a texture or surface object is: the address of a descriptor, which is a row of 64-bit words in memory.
//
// Three parties agree on it: the host runtime of CUDA programs, the emulator, and windlass.ir.textures.
#pragma once

enum texture_word {
    TEXTURE_MAGIC,        // TEXTURE_MAGIC_NUMBER
    TEXTURE_DATA_ADDRESS, // of the first texel
    TEXTURE_DATA_BYTES,
    TEXTURE_KIND,     // of a channel: enum texture_kind
    TEXTURE_BITS,     // of a channel: 8, 16, 32
    TEXTURE_CHANNELS, // 1, 2, 4
    TEXTURE_WIDTH,     // in texels; all three are 1 or more
    TEXTURE_HEIGHT,
    TEXTURE_DEPTH, // or layers
    TEXTURE_ROW_BYTES,
    TEXTURE_SLICE_BYTES,
    TEXTURE_ADDRESS_X, // enum texture_address; Y and Z follow
    TEXTURE_ADDRESS_Y,
    TEXTURE_ADDRESS_Z,
    TEXTURE_INTERPOLATES,
    TEXTURE_NORMALIZES_VALUES,
    TEXTURE_NORMALIZED_COORDINATES,
    TEXTURE_BORDER, // four words: the bits of a float each
    TEXTURE_WORDS = TEXTURE_BORDER + 4
};
#define TEXTURE_MAGIC_NUMBER 0x5845542d4c445757ll

enum texture_kind { TEXTURE_SIGNED, TEXTURE_UNSIGNED, TEXTURE_FLOAT };
enum texture_address { TEXTURE_WRAP, TEXTURE_CLAMP, TEXTURE_MIRROR, TEXTURE_ZERO_OUTSIDE };
// What is fetched: `i` is a whole coordinate, a layer, or the component that is gathered.
enum texture_operation { FETCH_TEXEL, FETCH_1D, FETCH_2D, FETCH_3D, FETCH_1D_LAYER, FETCH_2D_LAYER, GATHER_2D };
enum surface_boundary { SURFACE_ZERO, SURFACE_CLAMP, SURFACE_TRAP };
