// Texture references and texture objects, surface references and surface objects.
//
// An object is 64 bits. Each number that is fetched is one call of
// __windlass_texture_{integer,float}(object, operation, channel, i, x, y, z): `operation` is 0 for tex1Dfetch (with the
// whole number `i`), 1 to 3 for tex1D, tex2D, tex3D (with x, y, z), 4 and 5 for the layered forms (layer in `i`), 6 for
// tex2Dgather (component in `i`); `channel` is 0 to 3. Integers are extended to 32 bits. __windlass_bound_texture gives
// the object that a reference is bound to. Surfaces are plain loads and stores at __windlass_texels(object) +
// __windlass_surface_place(object, x in bytes, y, z or layer, bytes, boundary), which is -1 where there is nothing.
#pragma once

typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;

#define cudaTextureType1D 0x01
#define cudaTextureType2D 0x02
#define cudaTextureType3D 0x03
#define cudaTextureTypeCubemap 0x0C
#define cudaTextureType1DLayered 0xF1
#define cudaTextureType2DLayered 0xF2
#define cudaSurfaceType1D 0x01
#define cudaSurfaceType2D 0x02
#define cudaSurfaceType3D 0x03
#define cudaSurfaceType1DLayered 0xF1
#define cudaSurfaceType2DLayered 0xF2

enum cudaTextureReadMode { cudaReadModeElementType, cudaReadModeNormalizedFloat };
enum cudaTextureFilterMode { cudaFilterModePoint, cudaFilterModeLinear };
enum cudaTextureAddressMode {
    cudaAddressModeWrap,
    cudaAddressModeClamp,
    cudaAddressModeMirror,
    cudaAddressModeBorder
};
enum cudaSurfaceBoundaryMode { cudaBoundaryModeZero, cudaBoundaryModeClamp, cudaBoundaryModeTrap };
enum cudaResourceType {
    cudaResourceTypeArray,
    cudaResourceTypeMipmappedArray,
    cudaResourceTypeLinear,
    cudaResourceTypePitch2D
};

struct textureReference {
    int normalized;
    enum cudaTextureFilterMode filterMode;
    enum cudaTextureAddressMode addressMode[3];
    struct cudaChannelFormatDesc channelDesc;
    int sRGB;
    unsigned int maxAnisotropy;
    enum cudaTextureFilterMode mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
};
struct surfaceReference {
    struct cudaChannelFormatDesc channelDesc;
};
// The attributes let device code name a reference, which is declared like a host variable.
template <class T, int dimensions = cudaTextureType1D, int mode = cudaReadModeElementType>
struct __attribute__((device_builtin_texture_type)) texture : textureReference {
    __host__ texture(int normalized_coordinates = 0, enum cudaTextureFilterMode filter = cudaFilterModePoint,
                     enum cudaTextureAddressMode address = cudaAddressModeClamp)
        : texture(normalized_coordinates, filter, address, cudaCreateChannelDesc<T>()) {}
    __host__ texture(int normalized_coordinates, enum cudaTextureFilterMode filter,
                     enum cudaTextureAddressMode address, struct cudaChannelFormatDesc format) {
        normalized = normalized_coordinates;
        filterMode = filter;
        addressMode[0] = addressMode[1] = addressMode[2] = address;
        channelDesc = format;
        sRGB = 0;
    }
};
template <class T = void, int dimensions = cudaSurfaceType1D>
struct __attribute__((device_builtin_surface_type)) surface : surfaceReference {};
template <int dimensions>
struct __attribute__((device_builtin_surface_type)) surface<void, dimensions> : surfaceReference {
    __host__ surface() {}
};
struct cudaResourceDesc {
    enum cudaResourceType resType;
    union {
        struct {
            cudaArray_t array;
        } array;
        struct {
            cudaMipmappedArray_t mipmap;
        } mipmap;
        struct {
            void *devPtr;
            struct cudaChannelFormatDesc desc;
            size_t sizeInBytes;
        } linear;
        struct {
            void *devPtr;
            struct cudaChannelFormatDesc desc;
            size_t width, height, pitchInBytes;
        } pitch2D;
    } res;
};
struct cudaResourceViewDesc {
    int format;
    size_t width, height, depth;
};
struct cudaTextureDesc {
    enum cudaTextureAddressMode addressMode[3];
    enum cudaTextureFilterMode filterMode;
    enum cudaTextureReadMode readMode;
    int sRGB;
    float borderColor[4];
    int normalizedCoords;
    unsigned int maxAnisotropy;
    enum cudaTextureFilterMode mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
};

extern "C" {
cudaError_t cudaCreateTextureObject(cudaTextureObject_t *texture, const struct cudaResourceDesc *resource,
                                    const struct cudaTextureDesc *description, const struct cudaResourceViewDesc *view);
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture);
cudaError_t cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *resource, cudaTextureObject_t texture);
cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *surface, const struct cudaResourceDesc *resource);
cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surface);
cudaError_t cudaGetTextureReference(const struct textureReference **texture, const void *symbol);
cudaError_t cudaGetTextureAlignmentOffset(size_t *offset, const struct textureReference *texture);
// Without a format that of the reference is meant; a height of 0 is memory without rows.
cudaError_t __windlass_bind_texture(size_t *offset, const struct textureReference *texture, const void *pointer,
                                    const struct cudaChannelFormatDesc *format, size_t width, size_t height,
                                    size_t pitch);
cudaError_t __windlass_bind_texture_array(const struct textureReference *texture, const struct cudaArray *array);
cudaError_t __windlass_unbind_texture(const struct textureReference *texture);
cudaError_t __windlass_bind_surface_array(const struct surfaceReference *surface, const struct cudaArray *array);
}
template <class T, int dimensions, int mode>
inline cudaError_t cudaBindTexture(size_t *offset, const texture<T, dimensions, mode> &texture, const void *pointer,
                                   size_t bytes = 0xffffffffu) {
    return __windlass_bind_texture(offset, &texture, pointer, 0, bytes, 0, 0);
}
template <class T, int dimensions, int mode>
inline cudaError_t cudaBindTexture(size_t *offset, const texture<T, dimensions, mode> &texture, const void *pointer,
                                   const struct cudaChannelFormatDesc &format, size_t bytes = 0xffffffffu) {
    return __windlass_bind_texture(offset, &texture, pointer, &format, bytes, 0, 0);
}
template <class T, int dimensions, int mode>
inline cudaError_t cudaBindTexture2D(size_t *offset, const texture<T, dimensions, mode> &texture, const void *pointer,
                                     const struct cudaChannelFormatDesc &format, size_t width, size_t height,
                                     size_t pitch) {
    return __windlass_bind_texture(offset, &texture, pointer, &format, width, height, pitch);
}
template <class T, int dimensions, int mode>
inline cudaError_t cudaBindTexture2D(size_t *offset, const texture<T, dimensions, mode> &texture, const void *pointer,
                                     size_t width, size_t height, size_t pitch) {
    return __windlass_bind_texture(offset, &texture, pointer, 0, width, height, pitch);
}
static inline cudaError_t cudaBindTexture(size_t *offset, const struct textureReference *texture, const void *pointer,
                                          const struct cudaChannelFormatDesc *format, size_t bytes = 0xffffffffu) {
    return __windlass_bind_texture(offset, texture, pointer, format, bytes, 0, 0);
}
static inline cudaError_t cudaBindTexture2D(size_t *offset, const struct textureReference *texture, const void *pointer,
                                            const struct cudaChannelFormatDesc *format, size_t width, size_t height,
                                            size_t pitch) {
    return __windlass_bind_texture(offset, texture, pointer, format, width, height, pitch);
}
template <class T, int dimensions, int mode>
inline cudaError_t cudaBindTextureToArray(const texture<T, dimensions, mode> &texture, const struct cudaArray *array) {
    return __windlass_bind_texture_array(&texture, array);
}
template <class T, int dimensions, int mode>
inline cudaError_t cudaBindTextureToArray(const texture<T, dimensions, mode> &texture, const struct cudaArray *array,
                                          const struct cudaChannelFormatDesc &) {
    return __windlass_bind_texture_array(&texture, array);
}
static inline cudaError_t cudaBindTextureToArray(const struct textureReference *texture, const struct cudaArray *array,
                                                 const struct cudaChannelFormatDesc *) {
    return __windlass_bind_texture_array(texture, array);
}
template <class T, int dimensions, int mode>
inline cudaError_t cudaUnbindTexture(const texture<T, dimensions, mode> &texture) {
    return __windlass_unbind_texture(&texture);
}
static inline cudaError_t cudaUnbindTexture(const struct textureReference *texture) {
    return __windlass_unbind_texture(texture);
}
template <class T, int dimensions, int mode>
inline cudaError_t cudaGetTextureAlignmentOffset(size_t *offset, const texture<T, dimensions, mode> &texture) {
    return cudaGetTextureAlignmentOffset(offset, (const struct textureReference *)&texture);
}
template <class T, int dimensions>
inline cudaError_t cudaBindSurfaceToArray(const surface<T, dimensions> &surface, const struct cudaArray *array) {
    return __windlass_bind_surface_array(&surface, array);
}
template <class T, int dimensions>
inline cudaError_t cudaBindSurfaceToArray(const surface<T, dimensions> &surface, const struct cudaArray *array,
                                          const struct cudaChannelFormatDesc &) {
    return __windlass_bind_surface_array(&surface, array);
}

#define __WINDLASS_READS_OBJECT extern "C" __attribute__((device, const, nothrow))
__WINDLASS_READS unsigned int __windlass_texture_integer(unsigned long long object, int operation, int channel, int i,
                                                         float x, float y, float z);
__WINDLASS_READS float __windlass_texture_float(unsigned long long object, int operation, int channel, int i, float x,
                                                float y, float z);
__WINDLASS_READS_OBJECT unsigned long long __windlass_bound_texture(const void *reference);
__WINDLASS_READS_OBJECT long long __windlass_surface_place(unsigned long long object, int x, int y, int z, int size,
                                                           int boundary);
__WINDLASS_READS_OBJECT char *__windlass_texels(unsigned long long object);
#undef __WINDLASS_READS_OBJECT

template <class C>
__WINDLASS_DEVICE C __windlass_fetch(unsigned long long object, int operation, int channel, int i, float x, float y,
                                     float z) {
    if constexpr (std::is_floating_point_v<C>) {
        return __windlass_texture_float(object, operation, channel, i, x, y, z);
    } else {
        return (C)__windlass_texture_integer(object, operation, channel, i, x, y, z);
    }
}

template <class T>
__WINDLASS_DEVICE T __windlass_fetch_all(unsigned long long object, int operation, int i, float x, float y, float z) {
    typedef typename __windlass_channels<T>::element element;
    constexpr int count = __windlass_channels<T>::count;
    T result;
    if constexpr (std::is_arithmetic_v<T>) {
        result = __windlass_fetch<T>(object, operation, 0, i, x, y, z);
    } else {
        result.x = __windlass_fetch<element>(object, operation, 0, i, x, y, z);
        if constexpr (count > 1) result.y = __windlass_fetch<element>(object, operation, 1, i, x, y, z);
        if constexpr (count > 2) result.z = __windlass_fetch<element>(object, operation, 2, i, x, y, z);
        if constexpr (count > 3) result.w = __windlass_fetch<element>(object, operation, 3, i, x, y, z);
    }
    return result;
}

// Element type mode gives T; normalized mode gives floats, as many as T has channels.
template <class T, int mode> struct __windlass_texel {
    typedef T type;
};
template <class T> struct __windlass_texel<T, 1> {
    typedef std::conditional_t<
        std::is_arithmetic_v<T>, float,
        std::conditional_t<__windlass_channels<T>::count == 1, float1,
                           std::conditional_t<__windlass_channels<T>::count == 2, float2, float4>>>
        type;
};

#define __WINDLASS_FETCH(name, operation, parameters, i, x, y, z)                                                      \
    template <class T> __WINDLASS_DEVICE T name(cudaTextureObject_t texture_object, __WINDLASS_UNPACK parameters) {    \
        return __windlass_fetch_all<T>(texture_object, operation, i, x, y, z);                                         \
    }                                                                                                                  \
    template <class T> __WINDLASS_DEVICE void name(T *result, cudaTextureObject_t texture_object,                      \
                                                   __WINDLASS_UNPACK parameters) {                                     \
        *result = __windlass_fetch_all<T>(texture_object, operation, i, x, y, z);                                      \
    }                                                                                                                  \
    template <class T, int dimensions, int mode>                                                                       \
    __WINDLASS_DEVICE typename __windlass_texel<T, mode>::type name(const texture<T, dimensions, mode> &reference,     \
                                                                    __WINDLASS_UNPACK parameters) {                    \
        return __windlass_fetch_all<typename __windlass_texel<T, mode>::type>(__windlass_bound_texture(&reference),    \
                                                                              operation, i, x, y, z);                  \
    }
#define __WINDLASS_UNPACK(...) __VA_ARGS__
__WINDLASS_FETCH(tex1Dfetch, 0, (int i), i, 0.0f, 0.0f, 0.0f)
__WINDLASS_FETCH(tex1D, 1, (float x), 0, x, 0.0f, 0.0f)
__WINDLASS_FETCH(tex2D, 2, (float x, float y), 0, x, y, 0.0f)
__WINDLASS_FETCH(tex3D, 3, (float x, float y, float z), 0, x, y, z)
__WINDLASS_FETCH(tex1DLayered, 4, (float x, int layer), layer, x, 0.0f, 0.0f)
__WINDLASS_FETCH(tex2DLayered, 5, (float x, float y, int layer), layer, x, y, 0.0f)
// There is one level of detail.
__WINDLASS_FETCH(tex1DLod, 1, (float x, float), 0, x, 0.0f, 0.0f)
__WINDLASS_FETCH(tex2DLod, 2, (float x, float y, float), 0, x, y, 0.0f)
__WINDLASS_FETCH(tex3DLod, 3, (float x, float y, float z, float), 0, x, y, z)
__WINDLASS_FETCH(tex1DGrad, 1, (float x, float, float), 0, x, 0.0f, 0.0f)
__WINDLASS_FETCH(tex2DGrad, 2, (float x, float y, float2, float2), 0, x, y, 0.0f)
__WINDLASS_FETCH(tex3DGrad, 3, (float x, float y, float z, float4, float4), 0, x, y, z)
__WINDLASS_FETCH(tex1DLayeredLod, 4, (float x, int layer, float), layer, x, 0.0f, 0.0f)
__WINDLASS_FETCH(tex2DLayeredLod, 5, (float x, float y, int layer, float), layer, x, y, 0.0f)
__WINDLASS_FETCH(tex2Dgather, 6, (float x, float y, int component = 0), component, x, y, 0.0f)
#undef __WINDLASS_FETCH

// ---- surfaces
template <class T>
__WINDLASS_DEVICE T __windlass_surface_read(unsigned long long object, int x, int y, int z, int boundary) {
    long long place = __windlass_surface_place(object, x, y, z, sizeof(T), boundary);
    T result{};
    if (place >= 0) result = *(const T *)(__windlass_texels(object) + place);
    return result;
}
template <class T>
__WINDLASS_DEVICE void __windlass_surface_write(T value, unsigned long long object, int x, int y, int z, int boundary) {
    long long place = __windlass_surface_place(object, x, y, z, sizeof(T), boundary);
    if (place >= 0) *(T *)(__windlass_texels(object) + place) = value;
}
#define __WINDLASS_SURFACE(name, parameters, y, z)                                                                     \
    template <class T>                                                                                                 \
    __WINDLASS_DEVICE T name##read(cudaSurfaceObject_t object, int x, __WINDLASS_UNPACK parameters                     \
                                   enum cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {                         \
        return __windlass_surface_read<T>(object, x, y, z, mode);                                                      \
    }                                                                                                                  \
    template <class T>                                                                                                 \
    __WINDLASS_DEVICE void name##read(T *result, cudaSurfaceObject_t object, int x, __WINDLASS_UNPACK parameters       \
                                      enum cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {                      \
        *result = __windlass_surface_read<T>(object, x, y, z, mode);                                                   \
    }                                                                                                                  \
    template <class T>                                                                                                 \
    __WINDLASS_DEVICE void name##write(T value, cudaSurfaceObject_t object, int x, __WINDLASS_UNPACK parameters        \
                                       enum cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {                     \
        __windlass_surface_write<T>(value, object, x, y, z, mode);                                                     \
    }                                                                                                                  \
    template <class T, int dimensions>                                                                                 \
    __WINDLASS_DEVICE T name##read(const surface<void, dimensions> &reference, int x, __WINDLASS_UNPACK parameters     \
                                   enum cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {                         \
        return __windlass_surface_read<T>(__windlass_bound_texture(&reference), x, y, z, mode);                        \
    }                                                                                                                  \
    template <class T, int dimensions>                                                                                 \
    __WINDLASS_DEVICE void name##read(T *result, const surface<void, dimensions> &reference, int x,                    \
                                      __WINDLASS_UNPACK parameters                                                     \
                                      enum cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {                      \
        *result = __windlass_surface_read<T>(__windlass_bound_texture(&reference), x, y, z, mode);                     \
    }                                                                                                                  \
    template <class T, int dimensions>                                                                                 \
    __WINDLASS_DEVICE void name##write(T value, const surface<void, dimensions> &reference, int x,                     \
                                       __WINDLASS_UNPACK parameters                                                    \
                                       enum cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {                     \
        __windlass_surface_write<T>(value, __windlass_bound_texture(&reference), x, y, z, mode);                       \
    }
__WINDLASS_SURFACE(surf1D, (), 0, 0)
__WINDLASS_SURFACE(surf2D, (int y,), y, 0)
__WINDLASS_SURFACE(surf3D, (int y, int z,), y, z)
__WINDLASS_SURFACE(surf1DLayered, (int layer,), 0, layer)
__WINDLASS_SURFACE(surf2DLayered, (int y, int layer,), y, layer)
#undef __WINDLASS_SURFACE
#undef __WINDLASS_UNPACK
