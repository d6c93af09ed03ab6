// Texture and surface objects, and references, whose values are such objects. An object is the address of a descriptor
// that lies in device memory like everything that kernels touch.
#include <cstdio>
#include <cstring>
#include <map>
#include "state.h"
#include "texture_descriptor.h"
using namespace windlass;

namespace windlass {
typedef long long Word;
static std::map<uint64_t, struct cudaResourceDesc> resources;

struct TextureName {
    Symbol symbol;
    bool is_normalized;
};
static std::map<const void *, TextureName> &references() {
    static auto *all = new std::map<const void *, TextureName>;
    return *all;
}
static std::map<const void *, uint64_t> bound;

static cudaError_t refuse(cudaError_t error, const char *reason) {
    fprintf(stderr, "windlass: textures: %s\n", reason);
    return fail(error);
}

struct Settings {
    const enum cudaTextureAddressMode *address;
    bool is_linear_filter, gives_normalized_values, has_normalized_coordinates;
    const float *border;
};

// The descriptor of a resource that is read with these settings; for surfaces there are none.
static cudaError_t describe(const struct cudaResourceDesc &resource, const Settings *settings, Word *words) {
    struct cudaChannelFormatDesc format;
    size_t width = 0, height = 1, depth = 1, row_bytes = 0, bytes = 0;
    const void *texels = nullptr;
    if (resource.resType == cudaResourceTypeArray) {
        cudaArray_t array = resource.res.array.array;
        if (!array) return fail(cudaErrorInvalidValue);
        format = array->format, texels = array->texels, width = array->extent.width;
        height = array->rows(), depth = array->slices(), row_bytes = array->row_bytes();
        bytes = row_bytes * height * depth;
    } else if (resource.resType == cudaResourceTypeLinear) {
        format = resource.res.linear.desc, texels = resource.res.linear.devPtr;
        if (!is_format(format)) return fail(cudaErrorInvalidChannelDescriptor);
        bytes = resource.res.linear.sizeInBytes, width = bytes / texel_bytes(format), row_bytes = bytes;
    } else if (resource.resType == cudaResourceTypePitch2D) {
        format = resource.res.pitch2D.desc, texels = resource.res.pitch2D.devPtr;
        if (!is_format(format)) return fail(cudaErrorInvalidChannelDescriptor);
        width = resource.res.pitch2D.width, height = resource.res.pitch2D.height;
        row_bytes = resource.res.pitch2D.pitchInBytes;
        if (!width || !height || row_bytes < width * texel_bytes(format)) return fail(cudaErrorInvalidValue);
        bytes = (height - 1) * row_bytes + width * texel_bytes(format);
    } else {
        return refuse(cudaErrorNotSupported, "there are no mipmapped arrays here");
    }
    bool is_linear = resource.resType == cudaResourceTypeLinear;
    uintptr_t base;
    const Allocation *home = find_allocation(texels, &base);
    if (!home || (uintptr_t)texels + bytes > base + home->size) return fail(cudaErrorInvalidValue);
    int channels = format.w ? 4 : format.y ? 2 : 1;
    memset(words, 0, TEXTURE_WORDS * sizeof(Word));
    words[TEXTURE_MAGIC] = TEXTURE_MAGIC_NUMBER;
    words[TEXTURE_DATA_ADDRESS] = (Word)texels, words[TEXTURE_DATA_BYTES] = (Word)bytes;
    words[TEXTURE_KIND] = format.f, words[TEXTURE_BITS] = format.x, words[TEXTURE_CHANNELS] = channels;
    words[TEXTURE_WIDTH] = (Word)width, words[TEXTURE_HEIGHT] = (Word)height, words[TEXTURE_DEPTH] = (Word)depth;
    words[TEXTURE_ROW_BYTES] = (Word)row_bytes, words[TEXTURE_SLICE_BYTES] = (Word)(row_bytes * height);
    for (int axis = 0; axis < 3; axis++)
        words[TEXTURE_ADDRESS_X + axis] = settings ? settings->address[axis] : cudaAddressModeClamp;
    if (!settings) return cudaSuccess;
    bool is_whole = format.f != cudaChannelFormatKindFloat && !(settings->gives_normalized_values && format.x < 32);
    if (settings->is_linear_filter && is_whole && !is_linear)
        return refuse(cudaErrorInvalidFilterSetting, "a linear filter needs texels that are read as floats");
    words[TEXTURE_INTERPOLATES] = settings->is_linear_filter && !is_linear;
    words[TEXTURE_NORMALIZES_VALUES] = settings->gives_normalized_values;
    words[TEXTURE_NORMALIZED_COORDINATES] = settings->has_normalized_coordinates;
    for (int channel = 0; settings->border && channel < 4; channel++) {
        unsigned bits;
        memcpy(&bits, &settings->border[channel], 4);
        if (bits && is_whole) return refuse(cudaErrorNotSupported, "texels that are read as integers have a border of 0");
        words[TEXTURE_BORDER + channel] = bits;
    }
    return cudaSuccess;
}

static cudaError_t create(uint64_t *object, const struct cudaResourceDesc &resource, const Settings *settings) {
    Word words[TEXTURE_WORDS];
    if (cudaError_t error = describe(resource, settings, words)) return error;
    void *place;
    if (cudaError_t error = allocate(&place, sizeof words, Kind::device)) return error;
    memcpy(place, words, sizeof words);
    std::lock_guard<std::recursive_mutex> guard(lock);
    *object = (uint64_t)place;
    resources[*object] = resource;
    return cudaSuccess;
}

static cudaError_t destroy(uint64_t object) {
    std::lock_guard<std::recursive_mutex> guard(lock);
    if (!object) return cudaSuccess;
    if (!resources.erase(object)) return fail(cudaErrorInvalidValue);
    memset((void *)object, 0, TEXTURE_WORDS * sizeof(Word));
    return release((void *)object);
}

void register_reference(const void *shadow, int unit, const char *name, bool is_normalized) {
    references()[shadow] = TextureName{Symbol{unit, name}, is_normalized};
}

// Gives the reference an object, and takes the one away that it had.
static cudaError_t bind(const void *reference, uint64_t object) {
    auto found = references().find(reference);
    if (found == references().end()) return fail(cudaErrorInvalidTexture);
    const Symbol &symbol = found->second.symbol;
    auto value = (uint64_t *)services.variable_address(symbol.unit, symbol.name.c_str());
    if (!value) return fail(cudaErrorInvalidTexture);
    uint64_t before = bound[reference];
    bound[reference] = *value = object;
    return before ? destroy(before) : cudaSuccess;
}

static cudaError_t bind_resource(const struct textureReference *reference, const struct cudaResourceDesc &resource) {
    auto found = references().find(reference);
    if (found == references().end()) return fail(cudaErrorInvalidTexture);
    Settings settings{reference->addressMode, reference->filterMode == cudaFilterModeLinear,
                      found->second.is_normalized, reference->normalized != 0, nullptr};
    uint64_t object;
    if (cudaError_t error = create(&object, resource, &settings)) return error;
    return bind(reference, object);
}
}  // namespace windlass

extern "C" {
cudaError_t cudaCreateTextureObject(cudaTextureObject_t *texture, const struct cudaResourceDesc *resource,
                                    const struct cudaTextureDesc *description, const struct cudaResourceViewDesc *view) {
    if (!texture || !resource || !description) return fail(cudaErrorInvalidValue);
    if (view) return refuse(cudaErrorNotSupported, "there are no resource views here");
    if (description->sRGB) return refuse(cudaErrorNotSupported, "there is no sRGB conversion here");
    Settings settings{description->addressMode, description->filterMode == cudaFilterModeLinear,
                      description->readMode == cudaReadModeNormalizedFloat, description->normalizedCoords != 0,
                      description->borderColor};
    uint64_t object = 0;
    cudaError_t error = create(&object, *resource, &settings);
    *texture = object;
    return error;
}
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture) { return destroy(texture); }
cudaError_t cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *resource, cudaTextureObject_t texture) {
    auto found = resources.find(texture);
    if (found == resources.end()) return fail(cudaErrorInvalidValue);
    *resource = found->second;
    return cudaSuccess;
}
cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *surface, const struct cudaResourceDesc *resource) {
    if (!surface || !resource || resource->resType != cudaResourceTypeArray) return fail(cudaErrorInvalidValue);
    uint64_t object = 0;
    cudaError_t error = create(&object, *resource, nullptr);
    *surface = object;
    return error;
}
cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surface) { return destroy(surface); }

cudaError_t cudaGetTextureReference(const struct textureReference **texture, const void *symbol) {
    if (!references().count(symbol)) return fail(cudaErrorInvalidTexture);
    *texture = (const struct textureReference *)symbol;
    return cudaSuccess;
}
// Texels begin where the pointer says: there is nothing to add to coordinates.
cudaError_t cudaGetTextureAlignmentOffset(size_t *offset, const struct textureReference *) {
    return *offset = 0, cudaSuccess;
}
cudaError_t __windlass_bind_texture(size_t *offset, const struct textureReference *texture, const void *pointer,
                                    const struct cudaChannelFormatDesc *format, size_t width, size_t height,
                                    size_t pitch) {
    if (offset) *offset = 0;
    uintptr_t base;
    const Allocation *home = find_allocation(pointer, &base);
    if (!texture || !home) return fail(cudaErrorInvalidValue);
    struct cudaResourceDesc resource{};
    const struct cudaChannelFormatDesc &texels = format ? *format : texture->channelDesc;
    if (height) {
        resource.resType = cudaResourceTypePitch2D;
        resource.res.pitch2D = {(void *)pointer, texels, width, height, pitch};
    } else {
        size_t rest = base + home->size - (uintptr_t)pointer;
        resource.resType = cudaResourceTypeLinear;
        resource.res.linear = {(void *)pointer, texels, width < rest ? width : rest};
    }
    return bind_resource(texture, resource);
}
cudaError_t __windlass_bind_texture_array(const struct textureReference *texture, const struct cudaArray *array) {
    struct cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = (cudaArray_t)array;
    return texture ? bind_resource(texture, resource) : fail(cudaErrorInvalidTexture);
}
cudaError_t __windlass_unbind_texture(const struct textureReference *texture) { return bind(texture, 0); }
cudaError_t __windlass_bind_surface_array(const struct surfaceReference *surface, const struct cudaArray *array) {
    struct cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = (cudaArray_t)array;
    uint64_t object;
    if (!references().count(surface)) return fail(cudaErrorInvalidSurface);
    if (cudaError_t error = create(&object, resource, nullptr)) return error;
    return bind(surface, object);
}
void __cudaRegisterTexture(void **unit, const void *shadow, const void **, const char *name, int, int is_normalized, int) {
    register_reference(shadow, (int)(intptr_t)unit - 1, name, is_normalized != 0);
}
void __cudaRegisterSurface(void **unit, const void *shadow, const void **, const char *name, int, int) {
    register_reference(shadow, (int)(intptr_t)unit - 1, name, false);
}
}
