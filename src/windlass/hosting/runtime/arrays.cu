// CUDA arrays: rows of texels one after another, without gaps. They lie in device memory, which kernels reach through
// textures and surfaces only.
#include <cstdio>
#include "state.h"

using namespace windlass;

namespace windlass {
size_t texel_bytes(const struct cudaChannelFormatDesc &format) {
    return (format.x + format.y + format.z + format.w) / 8;
}

static cudaError_t refuse(const char *function) {
    fprintf(stderr, "windlass: %s: there are no mipmapped arrays here\n", function);
    return fail(cudaErrorNotSupported);
}

// Whether texels of this format are all alike: 1, 2 or 4 channels of 8, 16 or 32 bits each.
bool is_format(const struct cudaChannelFormatDesc &format) {
    int bits[] = {format.x, format.y, format.z, format.w}, count = 0;
    while (count < 4 && bits[count]) count++;
    if (count != 1 && count != 2 && count != 4) return false;
    for (int i = 0; i < 4; i++)
        if (bits[i] != (i < count ? bits[0] : 0)) return false;
    if (format.f == cudaChannelFormatKindFloat) return bits[0] == 16 || bits[0] == 32;
    return (bits[0] == 8 || bits[0] == 16 || bits[0] == 32) && format.f != cudaChannelFormatKindNone;
}

static cudaError_t make_array(cudaArray_t *array, const struct cudaChannelFormatDesc *format, struct cudaExtent extent,
                              unsigned int flags) {
    if (!array || !format || !extent.width) return fail(cudaErrorInvalidValue);
    if (!is_format(*format)) return fail(cudaErrorInvalidChannelDescriptor);
    if (flags & cudaArrayCubemap) return fail(cudaErrorNotSupported);
    auto made = new cudaArray{*format, extent, flags, nullptr, extent.width * texel_bytes(*format)};
    cudaError_t error = allocate(&made->texels, made->row_bytes() * made->rows() * made->slices(), Kind::device);
    if (error) {
        delete made;
        return error;
    }
    *array = made;
    return cudaSuccess;
}

// A place in an array, in bytes and rows; null where a box that begins there is not inside.
static char *place_in(const struct cudaArray *array, size_t x_bytes, size_t y, size_t z, size_t width_bytes,
                      size_t height, size_t depth) {
    if (x_bytes + width_bytes > array->row_bytes() || y + height > array->rows() || z + depth > array->slices())
        return nullptr;
    return (char *)array->texels + (z * array->rows() + y) * array->row_bytes() + x_bytes;
}

static cudaError_t copy_2d(cudaArray_t array, size_t x, size_t y, void *memory, size_t pitch, size_t width, size_t height,
                           bool to_array, cudaMemcpyKind kind, cudaStream_t stream) {
    if (!array) return fail(cudaErrorInvalidResourceHandle);
    char *place = place_in(array, x, y, 0, width, height, 1);
    if (!place) return fail(cudaErrorInvalidValue);
    if (to_array) return copy_rows(place, array->row_bytes(), memory, pitch, width, height, kind, stream);
    return copy_rows(memory, pitch, place, array->row_bytes(), width, height, kind, stream);
}

// Bytes from a place on, row after row.
static cudaError_t copy_run(cudaArray_t array, size_t x, size_t y, void *memory, size_t bytes, bool to_array,
                            cudaMemcpyKind kind, cudaStream_t stream) {
    if (!array) return fail(cudaErrorInvalidResourceHandle);
    size_t start = y * array->row_bytes() + x;
    if (start + bytes > array->row_bytes() * array->rows() * array->slices()) return fail(cudaErrorInvalidValue);
    char *place = (char *)array->texels + start;
    return to_array ? copy(place, memory, bytes, kind, stream) : copy(memory, place, bytes, kind, stream);
}

cudaError_t copy_3d(const struct cudaMemcpy3DParms &p, cudaStream_t stream) {
    if ((p.srcArray != nullptr) == (p.srcPtr.ptr != nullptr) || (p.dstArray != nullptr) == (p.dstPtr.ptr != nullptr))
        return fail(cudaErrorInvalidValue);
    // With an array in it the extent counts its texels, else bytes.
    size_t unit = p.srcArray ? texel_bytes(p.srcArray->format) : p.dstArray ? texel_bytes(p.dstArray->format) : 1;
    if (p.srcArray && p.dstArray && unit != texel_bytes(p.dstArray->format)) return fail(cudaErrorInvalidValue);
    size_t width = p.extent.width * unit, height = p.extent.height, depth = p.extent.depth;
    if (!width || !height || !depth) return cudaSuccess;
    auto side = [&](cudaArray_t array, const cudaPos &at, const cudaPitchedPtr &whole, size_t z) -> char * {
        if (array) return place_in(array, at.x * unit, at.y, at.z + z, width, height, 1);
        return (char *)whole.ptr + ((at.z + z) * whole.ysize + at.y) * whole.pitch + at.x;
    };
    for (size_t z = 0; z < depth; z++) {
        char *target = side(p.dstArray, p.dstPos, p.dstPtr, z), *source = side(p.srcArray, p.srcPos, p.srcPtr, z);
        if (!target || !source) return fail(cudaErrorInvalidValue);
        size_t target_pitch = p.dstArray ? p.dstArray->row_bytes() : p.dstPtr.pitch;
        size_t source_pitch = p.srcArray ? p.srcArray->row_bytes() : p.srcPtr.pitch;
        if (cudaError_t error = copy_rows(target, target_pitch, source, source_pitch, width, height, p.kind, stream))
            return error;
    }
    return cudaSuccess;
}
}  // namespace windlass

extern "C" {
cudaError_t cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *format, size_t width, size_t height,
                            unsigned int flags) {
    return make_array(array, format, cudaExtent{width, height, 0}, flags);
}
cudaError_t cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *format, struct cudaExtent extent,
                              unsigned int flags) {
    return make_array(array, format, extent, flags);
}
cudaError_t cudaFreeArray(cudaArray_t array) {
    if (!array) return cudaSuccess;
    cudaError_t error = release(array->texels);
    delete array;
    return error;
}
cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc *format, struct cudaExtent *extent, unsigned int *flags,
                             cudaArray_t array) {
    if (!array) return fail(cudaErrorInvalidResourceHandle);
    if (format) *format = array->format;
    if (extent) *extent = array->extent;
    if (flags) *flags = array->flags;
    return cudaSuccess;
}
cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc *format, cudaArray_const_t array) {
    if (!array) return fail(cudaErrorInvalidResourceHandle);
    *format = array->format;
    return cudaSuccess;
}

cudaError_t cudaMemcpyToArrayAsync(cudaArray_t target, size_t x, size_t y, const void *source, size_t bytes,
                                   enum cudaMemcpyKind kind, cudaStream_t stream) {
    return copy_run(target, x, y, (void *)source, bytes, true, kind, stream);
}
cudaError_t cudaMemcpyToArray(cudaArray_t target, size_t x, size_t y, const void *source, size_t bytes,
                              enum cudaMemcpyKind kind) {
    return copy_run(target, x, y, (void *)source, bytes, true, kind, 0);
}
cudaError_t cudaMemcpyFromArrayAsync(void *target, cudaArray_const_t source, size_t x, size_t y, size_t bytes,
                                     enum cudaMemcpyKind kind, cudaStream_t stream) {
    return copy_run((cudaArray_t)source, x, y, target, bytes, false, kind, stream);
}
cudaError_t cudaMemcpyFromArray(void *target, cudaArray_const_t source, size_t x, size_t y, size_t bytes,
                                enum cudaMemcpyKind kind) {
    return copy_run((cudaArray_t)source, x, y, target, bytes, false, kind, 0);
}
cudaError_t cudaMemcpyArrayToArray(cudaArray_t target, size_t target_x, size_t target_y, cudaArray_const_t source,
                                   size_t source_x, size_t source_y, size_t bytes, enum cudaMemcpyKind) {
    if (!source) return fail(cudaErrorInvalidResourceHandle);
    size_t start = source_y * source->row_bytes() + source_x;
    if (start + bytes > source->row_bytes() * source->rows()) return fail(cudaErrorInvalidValue);
    return copy_run(target, target_x, target_y, (char *)source->texels + start, bytes, true, cudaMemcpyDeviceToDevice, 0);
}
cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t target, size_t x, size_t y, const void *source, size_t pitch,
                                     size_t width, size_t height, enum cudaMemcpyKind kind, cudaStream_t stream) {
    return copy_2d(target, x, y, (void *)source, pitch, width, height, true, kind, stream);
}
cudaError_t cudaMemcpy2DToArray(cudaArray_t target, size_t x, size_t y, const void *source, size_t pitch, size_t width,
                                size_t height, enum cudaMemcpyKind kind) {
    return copy_2d(target, x, y, (void *)source, pitch, width, height, true, kind, 0);
}
cudaError_t cudaMemcpy2DFromArrayAsync(void *target, size_t pitch, cudaArray_const_t source, size_t x, size_t y,
                                       size_t width, size_t height, enum cudaMemcpyKind kind, cudaStream_t stream) {
    return copy_2d((cudaArray_t)source, x, y, target, pitch, width, height, false, kind, stream);
}
cudaError_t cudaMemcpy2DFromArray(void *target, size_t pitch, cudaArray_const_t source, size_t x, size_t y, size_t width,
                                  size_t height, enum cudaMemcpyKind kind) {
    return copy_2d((cudaArray_t)source, x, y, target, pitch, width, height, false, kind, 0);
}
cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t target, size_t target_x, size_t target_y, cudaArray_const_t source,
                                     size_t source_x, size_t source_y, size_t width, size_t height,
                                     enum cudaMemcpyKind) {
    if (!source) return fail(cudaErrorInvalidResourceHandle);
    char *place = place_in(source, source_x, source_y, 0, width, height, 1);
    if (!place) return fail(cudaErrorInvalidValue);
    return copy_2d(target, target_x, target_y, place, source->row_bytes(), width, height, true, cudaMemcpyDeviceToDevice,
                   0);
}

cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *, const struct cudaChannelFormatDesc *, struct cudaExtent,
                                     unsigned int, unsigned int) {
    return refuse("cudaMallocMipmappedArray");
}
cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t *, cudaMipmappedArray_const_t, unsigned int) {
    return refuse("cudaGetMipmappedArrayLevel");
}
cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t) { return refuse("cudaFreeMipmappedArray"); }
}
