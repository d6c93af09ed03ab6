// Fetches as device code, for kernels whose textures are known: what is said of a texture are constants then.
__WINDLASS_READS long long __windlass_texture_word(unsigned long long object, int word);

#define TEXTURE_FUNCTION static __inline__ __attribute__((device))
#define TEXTURE_WORD(texture, word) __windlass_texture_word(texture, word)
#define TEXTURE_TEXELS(texture) ((const char *)__windlass_texels(texture))
#include "texture_fetch.h"

__WINDLASS_READS unsigned int __windlass_texture_integer(unsigned long long object, int operation, int channel, int i,
                                                         float x, float y, float z) {
    return texture_fetch_integer(object, operation, channel, i, x, y, z);
}
__WINDLASS_READS float __windlass_texture_float(unsigned long long object, int operation, int channel, int i, float x,
                                                float y, float z) {
    return texture_fetch_float(object, operation, channel, i, x, y, z);
}
__WINDLASS_READS long long __windlass_surface_place(unsigned long long object, int x, int y, int z, int size,
                                                    int boundary) {
    long long place = surface_place(object, x, y, z, size, boundary);
    // Far beyond the surface's memory, where an access is an error.
    return place < 0 && boundary == SURFACE_TRAP ? 1ll << 40 : place;
}
