// Textures and surfaces of host programs: objects are addresses of descriptors in memory that kernels may touch.
#include "machine.h"

#define TEXTURE_FUNCTION static inline
#define TEXTURE_WORD(texture, word) (((const int64_t *)(texture))[word])
#define TEXTURE_TEXELS(texture) ((const char *)TEXTURE_WORD(texture, TEXTURE_DATA_ADDRESS))
#include "texture_fetch.h"

// Whether texels of the extents that a descriptor tells lie within its bytes: kernels can write descriptors, too.
static bool has_room(uint64_t texture) {
    int64_t bits = TEXTURE_WORD(texture, TEXTURE_BITS), channels = TEXTURE_WORD(texture, TEXTURE_CHANNELS);
    int64_t row = TEXTURE_WORD(texture, TEXTURE_ROW_BYTES), slice = TEXTURE_WORD(texture, TEXTURE_SLICE_BYTES);
    if ((bits != 8 && bits != 16 && bits != 32) || channels < 1 || channels > 4 || row < 0 || slice < 0) return false;
    for (int axis = 0; axis < 3; axis++) {
        int64_t extent = TEXTURE_WORD(texture, TEXTURE_WIDTH + axis);
        if (extent < 1 || extent > INT32_MAX) return false;
    }
    __int128 end = (__int128)(TEXTURE_WORD(texture, TEXTURE_DEPTH) - 1) * slice +
                   (__int128)(TEXTURE_WORD(texture, TEXTURE_HEIGHT) - 1) * row +
                   TEXTURE_WORD(texture, TEXTURE_WIDTH) * channels * (bits / 8);
    return end <= TEXTURE_WORD(texture, TEXTURE_DATA_BYTES);
}

// Fails unless the value is the address of a descriptor whose texels are in memory.
static void check_object(uint64_t texture, uint32_t site_number) {
    bool is_object = texture % 8 == 0 && find_region(texture, 8 * TEXTURE_WORDS) &&
                     TEXTURE_WORD(texture, TEXTURE_MAGIC) == TEXTURE_MAGIC_NUMBER &&
                     has_room(texture);
    uint64_t bytes = is_object ? (uint64_t)TEXTURE_WORD(texture, TEXTURE_DATA_BYTES) : 0;
    if (is_object && find_region((uint64_t)TEXTURE_WORD(texture, TEXTURE_DATA_ADDRESS), bytes)) return;
    wl_fault.address = texture;
    wl_fault.size = is_object;
    fail(BAD_TEXTURE, site_number);
}

// Channels, and the component that is gathered in place of a coordinate, are among four.
static void check_channel(int32_t operation, int32_t channel, int32_t i, uint32_t site_number) {
    if ((uint32_t)channel < 4 && (operation != GATHER_2D || (uint32_t)i < 4)) return;
    wl_fault.size = 1;
    fail(BAD_TEXTURE, site_number);
}

static float as_float(uint32_t bits) { return __builtin_bit_cast(float, bits); }

EXPORT uint32_t wl_texture_integer(uint64_t texture, int32_t operation, int32_t channel, int32_t i, uint32_t x, uint32_t y,
                                   uint32_t z, uint32_t site_number) {
    check_object(texture, site_number);
    check_channel(operation, channel, i, site_number);
    return texture_fetch_integer(texture, operation, channel, i, as_float(x), as_float(y), as_float(z));
}

EXPORT uint64_t wl_texture_float(uint64_t texture, int32_t operation, int32_t channel, int32_t i, uint32_t x, uint32_t y,
                                 uint32_t z, uint32_t site_number) {
    check_object(texture, site_number);
    check_channel(operation, channel, i, site_number);
    float number = texture_fetch_float(texture, operation, channel, i, as_float(x), as_float(y), as_float(z));
    return __builtin_bit_cast(uint32_t, number);
}

// The object that a texture or surface reference is bound to.
EXPORT uint64_t wl_bound_texture(uint64_t reference, uint32_t site_number) {
    uint64_t bound = 0;
    if (find_region(reference, 8)) memcpy(&bound, (void *)reference, 8);
    if (bound) return bound;
    wl_fault.address = wl_fault.size = 0;
    fail(BAD_TEXTURE, site_number);
}

EXPORT uint64_t wl_surface_place(uint64_t surface, int32_t x, int32_t y, int32_t z, int32_t size, int32_t boundary,
                                 uint32_t site_number) {
    check_object(surface, site_number);
    int64_t place = surface_place(surface, x, y, z, size, boundary);
    if (place < 0 && boundary == SURFACE_TRAP) {
        wl_fault.size = (uint64_t)size;
        wl_fault.other_block[0] = (uint32_t)x, wl_fault.other_block[1] = (uint32_t)y, wl_fault.other_block[2] = (uint32_t)z;
        fail(OUTSIDE_SURFACE, site_number);
    }
    return (uint64_t)place;
}

EXPORT void *wl_texture_texels(uint64_t texture, uint32_t site_number) {
    check_object(texture, site_number);
    return (void *)TEXTURE_TEXELS(texture);
}
