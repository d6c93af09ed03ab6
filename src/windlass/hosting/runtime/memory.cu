// Device memory: allocations, copies and fills. Device memory is memory of this process, kept in a table of its own.
#include <cstdlib>
#include <cstring>
#include <map>
#include <sys/mman.h>
#include "state.h"

namespace windlass {
std::recursive_mutex lock;
static std::map<uintptr_t, Allocation> allocations;
static size_t used = 0;
static const size_t TOTAL = size_t(16) << 30;
static const size_t ALIGNMENT = 256;
static const size_t PITCH = 512;

const Allocation *find_allocation(const void *address, uintptr_t *base) {
    std::lock_guard<std::recursive_mutex> guard(lock);
    auto found = allocations.upper_bound((uintptr_t)address);
    if (found == allocations.begin()) return nullptr;
    --found;
    if ((uintptr_t)address >= found->first + found->second.size && (uintptr_t)address != found->first) return nullptr;
    if (base) *base = found->first;
    return &found->second;
}

void add_region(const void *address, size_t size, Kind kind) {
    std::lock_guard<std::recursive_mutex> guard(lock);
    allocations[(uintptr_t)address] = Allocation{size, kind, nullptr};
}

// Memory without contents: host code that looks into it by itself ends the trace (trace.cu).
static cudaError_t reserve(void **pointer, size_t bytes, Kind kind) {
    // What begins at the end of one is none: ends of ranges are given to algorithms.
    void *start = mmap(nullptr, bytes + ALIGNMENT, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) return fail(cudaErrorMemoryAllocation);
    allocations[(uintptr_t)start] = Allocation{bytes, kind, nullptr, true};
    *pointer = start;
    return cudaSuccess;
}

void release_reserved() {
    std::lock_guard<std::recursive_mutex> guard(lock);
    for (auto each = allocations.begin(); each != allocations.end();) {
        if (each->second.is_reserved) {
            munmap((void *)each->first, each->second.size + ALIGNMENT);
            each = allocations.erase(each);
        } else {
            ++each;
        }
    }
}

cudaError_t allocate(void **pointer, size_t bytes, Kind kind) {
    if (!pointer) return fail(cudaErrorInvalidValue);
    std::lock_guard<std::recursive_mutex> guard(lock);
    if (bytes == 0) {
        *pointer = nullptr;
        return cudaSuccess;
    }
    if (bytes > TOTAL - used) return fail(cudaErrorMemoryAllocation);
    if (is_tracing && kind != Kind::host) return reserve(pointer, bytes, kind);
    // Fresh memory is zero: what a program reads before it writes is then the same in every run.
    void *owner = calloc(1, bytes + ALIGNMENT);
    if (!owner) return fail(cudaErrorMemoryAllocation);
    uintptr_t start = ((uintptr_t)owner + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    allocations[start] = Allocation{bytes, kind, owner};
    used += bytes;
    *pointer = (void *)start;
    return cudaSuccess;
}

cudaError_t release(void *pointer) {
    if (!pointer) return cudaSuccess;
    std::lock_guard<std::recursive_mutex> guard(lock);
    auto found = allocations.find((uintptr_t)pointer);
    // What is reserved stays until the trace ends, so that no address means two memories.
    if (found != allocations.end() && found->second.is_reserved) return cudaSuccess;
    if (found == allocations.end() || !found->second.owner) return fail(cudaErrorInvalidValue);
    used -= found->second.size;
    free(found->second.owner);
    allocations.erase(found);
    return cudaSuccess;
}

// Whether bytes from an address lie in an allocation, or the address is none of ours (host memory).
static bool lies_within(const void *address, size_t bytes, bool must_be_device) {
    uintptr_t base;
    const Allocation *found = find_allocation(address, &base);
    if (!found) return !must_be_device;
    return (uintptr_t)address + bytes <= base + found->size;
}

cudaError_t move_bytes(void *target, const void *source, size_t bytes) {
    if (is_tracing && bytes) {
        int error = services.move(target, source, bytes);
        return error ? fail((cudaError_t)error) : cudaSuccess;
    }
    memmove(target, source, bytes);
    return cudaSuccess;
}

cudaError_t fill_bytes(void *target, int value, size_t bytes) {
    if (is_tracing && bytes) {
        int error = services.fill(target, value, bytes);
        return error ? fail((cudaError_t)error) : cudaSuccess;
    }
    memset(target, value, bytes);
    return cudaSuccess;
}

static cudaError_t check_copy(const void *target, const void *source, size_t bytes, cudaMemcpyKind kind) {
    if (bytes == 0) return cudaSuccess;
    if (!target || !source) return fail(cudaErrorInvalidValue);
    bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return fail(cudaErrorInvalidMemcpyDirection);
    if (!lies_within(target, bytes, to_device) || !lies_within(source, bytes, from_device))
        return fail(cudaErrorInvalidValue);
    return cudaSuccess;
}

cudaError_t copy(void *target, const void *source, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    if (cudaError_t error = check_copy(target, source, bytes, kind)) return error;
    return perform(stream, [=] { return move_bytes(target, source, bytes); });
}

cudaError_t copy_rows(void *target, size_t target_pitch, const void *source, size_t source_pitch, size_t width,
                             size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
    if (!width || !height) return cudaSuccess;
    if (width > target_pitch || width > source_pitch) return fail(cudaErrorInvalidPitchValue);
    if (cudaError_t error = check_copy(target, source, width, kind)) return error;
    if (!lies_within(target, (height - 1) * target_pitch + width, false) ||
        !lies_within(source, (height - 1) * source_pitch + width, false))
        return fail(cudaErrorInvalidValue);
    return perform(stream, [=] {
        for (size_t row = 0; row < height; row++) {
            cudaError_t error =
                move_bytes((char *)target + row * target_pitch, (const char *)source + row * source_pitch, width);
            if (error) return error;
        }
        return cudaSuccess;
    });
}

static cudaError_t fill_rows(void *pointer, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream) {
    if (!width || !height) return cudaSuccess;
    if (!pointer || !lies_within(pointer, (height - 1) * pitch + width, true)) return fail(cudaErrorInvalidValue);
    return perform(stream, [=] {
        for (size_t row = 0; row < height; row++)
            if (cudaError_t error = fill_bytes((char *)pointer + row * pitch, value, width)) return error;
        return cudaSuccess;
    });
}
}  // namespace windlass
using namespace windlass;

// For the process that runs the program: all allocations, as pairs of address and size; gives how many there are.
WINDLASS_API int windlass_allocations(uint64_t *pairs, int capacity) {
    std::lock_guard<std::recursive_mutex> guard(lock);
    int count = 0;
    for (auto &entry : allocations) {
        if (count < capacity) pairs[2 * count] = entry.first, pairs[2 * count + 1] = entry.second.size;
        count++;
    }
    return count;
}

extern "C" {
cudaError_t __windlass_malloc(void **pointer, size_t bytes) { return allocate(pointer, bytes, Kind::device); }
cudaError_t __windlass_malloc_async(void **pointer, size_t bytes, cudaStream_t) {
    return allocate(pointer, bytes, Kind::device);
}
cudaError_t __windlass_malloc_host(void **pointer, size_t bytes, unsigned int) {
    return allocate(pointer, bytes, Kind::host);
}
cudaError_t __windlass_malloc_managed(void **pointer, size_t bytes, unsigned int) {
    return allocate(pointer, bytes, Kind::managed);
}
cudaError_t __windlass_malloc_pitch(void **pointer, size_t *pitch, size_t width, size_t height) {
    *pitch = (width + PITCH - 1) / PITCH * PITCH;
    return allocate(pointer, *pitch * height, Kind::device);
}
cudaError_t cudaMalloc3D(struct cudaPitchedPtr *pointer, struct cudaExtent extent) {
    size_t pitch = (extent.width + PITCH - 1) / PITCH * PITCH;
    *pointer = cudaPitchedPtr{nullptr, pitch, extent.width, extent.height};
    return allocate(&pointer->ptr, pitch * extent.height * extent.depth, Kind::device);
}
cudaError_t cudaFree(void *pointer) { return release(pointer); }
cudaError_t cudaFreeHost(void *pointer) { return release(pointer); }
cudaError_t cudaFreeAsync(void *pointer, cudaStream_t) { return release(pointer); }
cudaError_t __windlass_host_get_device_pointer(void **device, void *host, unsigned int) {
    if (!find_allocation(host)) return fail(cudaErrorInvalidValue);
    *device = host;
    return cudaSuccess;
}
cudaError_t cudaHostRegister(void *pointer, size_t bytes, unsigned int) {
    if (find_allocation(pointer)) return fail(cudaErrorHostMemoryAlreadyRegistered);
    add_region(pointer, bytes, Kind::registered);
    return cudaSuccess;
}
cudaError_t cudaHostUnregister(void *pointer) {
    std::lock_guard<std::recursive_mutex> guard(lock);
    auto found = allocations.find((uintptr_t)pointer);
    if (found == allocations.end() || found->second.kind != Kind::registered)
        return fail(cudaErrorHostMemoryNotRegistered);
    allocations.erase(found);
    return cudaSuccess;
}
cudaError_t cudaHostGetFlags(unsigned int *flags, void *pointer) {
    *flags = 0;
    return find_allocation(pointer) ? cudaSuccess : fail(cudaErrorInvalidValue);
}
cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes) {
    if (free_bytes) *free_bytes = TOTAL - used;
    if (total_bytes) *total_bytes = TOTAL;
    return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *pointer) {
    const Allocation *found = find_allocation(pointer);
    *attributes = cudaPointerAttributes{cudaMemoryTypeUnregistered, 0, nullptr, (void *)pointer};
    if (!found) return cudaSuccess;
    bool on_host = found->kind == Kind::host || found->kind == Kind::registered;
    attributes->type = found->kind == Kind::managed ? cudaMemoryTypeManaged
                       : on_host                    ? cudaMemoryTypeHost
                                                    : cudaMemoryTypeDevice;
    attributes->devicePointer = (void *)pointer;
    if (attributes->type == cudaMemoryTypeDevice) attributes->hostPointer = nullptr;
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void *target, const void *source, size_t bytes, enum cudaMemcpyKind kind) {
    return copy(target, source, bytes, kind, 0);
}
cudaError_t cudaMemcpyAsync(void *target, const void *source, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream) {
    return copy(target, source, bytes, kind, stream);
}
cudaError_t cudaMemcpyPeer(void *target, int, const void *source, int, size_t bytes) {
    return copy(target, source, bytes, cudaMemcpyDeviceToDevice, 0);
}
cudaError_t cudaMemcpyPeerAsync(void *target, int, const void *source, int, size_t bytes, cudaStream_t stream) {
    return copy(target, source, bytes, cudaMemcpyDeviceToDevice, stream);
}
cudaError_t cudaMemcpy2D(void *target, size_t target_pitch, const void *source, size_t source_pitch, size_t width,
                         size_t height, enum cudaMemcpyKind kind) {
    return copy_rows(target, target_pitch, source, source_pitch, width, height, kind, 0);
}
cudaError_t cudaMemcpy2DAsync(void *target, size_t target_pitch, const void *source, size_t source_pitch, size_t width,
                              size_t height, enum cudaMemcpyKind kind, cudaStream_t stream) {
    return copy_rows(target, target_pitch, source, source_pitch, width, height, kind, stream);
}
cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *given, cudaStream_t stream) {
    struct cudaMemcpy3DParms p = *given;
    if (p.srcArray || p.dstArray) return copy_3d(p, stream);
    for (size_t z = 0; z < p.extent.depth; z++) {
        auto slice = [&](const cudaPitchedPtr &whole, const cudaPos &at) {
            return (char *)whole.ptr + ((at.z + z) * whole.ysize + at.y) * whole.pitch + at.x;
        };
        cudaError_t error = copy_rows(slice(p.dstPtr, p.dstPos), p.dstPtr.pitch, slice(p.srcPtr, p.srcPos),
                                      p.srcPtr.pitch, p.extent.width, p.extent.height, p.kind, stream);
        if (error) return error;
    }
    return cudaSuccess;
}
cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *parameters) { return cudaMemcpy3DAsync(parameters, 0); }
cudaError_t cudaMemset(void *pointer, int value, size_t bytes) { return fill_rows(pointer, bytes, value, bytes, 1, 0); }
cudaError_t cudaMemsetAsync(void *pointer, int value, size_t bytes, cudaStream_t stream) {
    return fill_rows(pointer, bytes, value, bytes, 1, stream);
}
cudaError_t cudaMemset2D(void *pointer, size_t pitch, int value, size_t width, size_t height) {
    return fill_rows(pointer, pitch, value, width, height, 0);
}
cudaError_t cudaMemset2DAsync(void *pointer, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream) {
    return fill_rows(pointer, pitch, value, width, height, stream);
}
cudaError_t cudaMemset3D(struct cudaPitchedPtr whole, int value, struct cudaExtent extent) {
    for (size_t z = 0; z < extent.depth; z++) {
        char *slice = (char *)whole.ptr + z * whole.ysize * whole.pitch;
        if (cudaError_t error = fill_rows(slice, whole.pitch, value, extent.width, extent.height, 0)) return error;
    }
    return cudaSuccess;
}

cudaError_t __windlass_copy_to_symbol(const void *symbol, const void *source, size_t bytes, size_t offset,
                                      enum cudaMemcpyKind, cudaStream_t stream) {
    size_t size;
    char *target = address_of_symbol(symbol, &size);
    if (!target) return fail(cudaErrorInvalidSymbol);
    if (offset + bytes > size) return fail(cudaErrorInvalidValue);
    return copy(target + offset, source, bytes, cudaMemcpyDefault, stream);
}
cudaError_t __windlass_copy_from_symbol(void *target, const void *symbol, size_t bytes, size_t offset,
                                        enum cudaMemcpyKind, cudaStream_t stream) {
    size_t size;
    char *source = address_of_symbol(symbol, &size);
    if (!source) return fail(cudaErrorInvalidSymbol);
    if (offset + bytes > size) return fail(cudaErrorInvalidValue);
    return copy(target, source + offset, bytes, cudaMemcpyDefault, stream);
}
cudaError_t __windlass_get_symbol_address(void **pointer, const void *symbol) {
    *pointer = address_of_symbol(symbol);
    return *pointer ? cudaSuccess : fail(cudaErrorInvalidSymbol);
}
cudaError_t __windlass_get_symbol_size(size_t *bytes, const void *symbol) {
    return address_of_symbol(symbol, bytes) ? cudaSuccess : fail(cudaErrorInvalidSymbol);
}

// Hints, which change no result.
cudaError_t cudaMemAdvise(const void *, size_t, enum cudaMemoryAdvise, int) { return cudaSuccess; }
cudaError_t cudaMemPrefetchAsync(const void *, size_t, int, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamAttachMemAsync(cudaStream_t, void *, size_t, unsigned int) { return cudaSuccess; }
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int) { return *pool = nullptr, cudaSuccess; }
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int) { return *pool = nullptr, cudaSuccess; }
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, enum cudaMemPoolAttr, void *) { return cudaSuccess; }
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t) { return cudaSuccess; }
}
