// Texture references and texture objects.
//
// Each fetched number is one call of __windlass_texture_<type>(texture, operation, channel, i, x, y, z):
// `texture` is the 64-bit texture object, or the address of the texture reference; `operation` is 0 for tex1Dfetch (with
// the whole number `i`), 1 to 3 for tex1D, tex2D, tex3D (with x, y, z), 4 and 5 for the layered forms (layer in `i`);
// `channel` is 0 to 3. <type> is i8, u8, i16, u16, i32, u32, f32.
#pragma once

typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;

#define cudaTextureType1D 0x01
#define cudaTextureType2D 0x02
#define cudaTextureType3D 0x03
#define cudaTextureTypeCubemap 0x0C
#define cudaTextureType1DLayered 0xF1
#define cudaTextureType2DLayered 0xF2

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
};
// The attribute lets device code name a texture reference, which is declared like a host variable.
template <class T, int dimensions = cudaTextureType1D, int mode = cudaReadModeElementType>
struct __attribute__((device_builtin_texture_type)) texture : textureReference {
    texture() = default;
    texture(int normalized, enum cudaTextureFilterMode filter, enum cudaTextureAddressMode address);
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
cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *surface, const struct cudaResourceDesc *resource);
cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surface);
cudaError_t __windlass_bind_texture(const void *texture, const void *pointer, const struct cudaChannelFormatDesc *format,
                                    size_t width, size_t height, size_t pitch);
cudaError_t __windlass_bind_texture_array(const void *texture, const struct cudaArray *array);
cudaError_t __windlass_unbind_texture(const void *texture);
}
template <class X>
inline cudaError_t cudaBindTexture(size_t *, const X &texture, const void *pointer, size_t bytes = 0xffffffffu) {
    return __windlass_bind_texture(&texture, pointer, 0, bytes, 1, bytes);
}
template <class X>
inline cudaError_t cudaBindTexture(size_t *, const X &texture, const void *pointer,
                                   const struct cudaChannelFormatDesc &format, size_t bytes = 0xffffffffu) {
    return __windlass_bind_texture(&texture, pointer, &format, bytes, 1, bytes);
}
template <class X>
inline cudaError_t cudaBindTexture2D(size_t *, const X &texture, const void *pointer,
                                     const struct cudaChannelFormatDesc &format, size_t width, size_t height,
                                     size_t pitch) {
    return __windlass_bind_texture(&texture, pointer, &format, width, height, pitch);
}
static inline cudaError_t cudaBindTexture(size_t *, const struct textureReference *texture, const void *pointer,
                                          const struct cudaChannelFormatDesc *format, size_t bytes = 0xffffffffu) {
    return __windlass_bind_texture(texture, pointer, format, bytes, 1, bytes);
}
static inline cudaError_t cudaBindTexture2D(size_t *, const struct textureReference *texture, const void *pointer,
                                            const struct cudaChannelFormatDesc *format, size_t width, size_t height,
                                            size_t pitch) {
    return __windlass_bind_texture(texture, pointer, format, width, height, pitch);
}
template <class X> inline cudaError_t cudaBindTextureToArray(const X &texture, const struct cudaArray *array) {
    return __windlass_bind_texture_array(&texture, array);
}
template <class X>
inline cudaError_t cudaBindTextureToArray(const X &texture, const struct cudaArray *array,
                                          const struct cudaChannelFormatDesc &) {
    return __windlass_bind_texture_array(&texture, array);
}
template <class X> inline cudaError_t cudaUnbindTexture(const X &texture) {
    return __windlass_unbind_texture(&texture);
}

#define __WINDLASS_TEXTURE(type, name)                                                                              \
    __WINDLASS_READS type __windlass_texture_##name(unsigned long long texture, int operation, int channel, int i,  \
                                                    float x, float y, float z);                                     \
    __WINDLASS_DEVICE void __windlass_fetch(type *result, unsigned long long texture, int operation, int channel,   \
                                            int i, float x, float y, float z) {                                     \
        *result = __windlass_texture_##name(texture, operation, channel, i, x, y, z);                               \
    }
__WINDLASS_TEXTURE(signed char, i8)
__WINDLASS_TEXTURE(unsigned char, u8)
__WINDLASS_TEXTURE(short, i16)
__WINDLASS_TEXTURE(unsigned short, u16)
__WINDLASS_TEXTURE(int, i32)
__WINDLASS_TEXTURE(unsigned int, u32)
__WINDLASS_TEXTURE(float, f32)
#undef __WINDLASS_TEXTURE

template <class T>
__WINDLASS_DEVICE T __windlass_fetch_all(unsigned long long texture, int operation, int i, float x, float y, float z) {
    constexpr int count = __windlass_channels<T>::count;
    T result;
    if constexpr (std::is_arithmetic_v<T>) {
        typename __windlass_channels<T>::element channel;
        __windlass_fetch(&channel, texture, operation, 0, i, x, y, z);
        result = (T)channel;
    } else {
        __windlass_fetch(&result.x, texture, operation, 0, i, x, y, z);
        if constexpr (count > 1) __windlass_fetch(&result.y, texture, operation, 1, i, x, y, z);
        if constexpr (count > 2) __windlass_fetch(&result.z, texture, operation, 2, i, x, y, z);
        if constexpr (count > 3) __windlass_fetch(&result.w, texture, operation, 3, i, x, y, z);
    }
    return result;
}

// Element type mode gives T; normalized mode gives floats, as many as T has channels.
template <class T, int mode> struct __windlass_texel {
    typedef T type;
};
template <class T> struct __windlass_texel<T, 1> {
    typedef std::conditional_t<__windlass_channels<T>::count == 1, float,
                               std::conditional_t<__windlass_channels<T>::count == 2, float2, float4>>
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
        return __windlass_fetch_all<typename __windlass_texel<T, mode>::type>((unsigned long long)&reference,          \
                                                                              operation, i, x, y, z);                  \
    }
#define __WINDLASS_UNPACK(...) __VA_ARGS__
__WINDLASS_FETCH(tex1Dfetch, 0, (int i), i, 0.0f, 0.0f, 0.0f)
__WINDLASS_FETCH(tex1D, 1, (float x), 0, x, 0.0f, 0.0f)
__WINDLASS_FETCH(tex2D, 2, (float x, float y), 0, x, y, 0.0f)
__WINDLASS_FETCH(tex3D, 3, (float x, float y, float z), 0, x, y, z)
__WINDLASS_FETCH(tex1DLayered, 4, (float x, int layer), layer, x, 0.0f, 0.0f)
__WINDLASS_FETCH(tex2DLayered, 5, (float x, float y, int layer), layer, x, y, 0.0f)
__WINDLASS_FETCH(tex1DLod, 1, (float x, float), 0, x, 0.0f, 0.0f)
__WINDLASS_FETCH(tex2DLod, 2, (float x, float y, float), 0, x, y, 0.0f)
__WINDLASS_FETCH(tex3DLod, 3, (float x, float y, float z, float), 0, x, y, z)
#undef __WINDLASS_FETCH
#undef __WINDLASS_UNPACK
