// What host programs may call but do not get here yet: arrays, textures, surfaces. Each call fails and says so.
#include <cstdio>
#include "state.h"
using namespace windlass;

static cudaError_t refuse(const char *function) {
    fprintf(stderr, "windlass: %s: host programs have no CUDA arrays, textures and surfaces here\n", function);
    return fail(cudaErrorNotSupported);
}
#define REFUSED(name, ...) \
    cudaError_t name(__VA_ARGS__) { return refuse(#name); }

extern "C" {
REFUSED(cudaMallocArray, cudaArray_t *, const struct cudaChannelFormatDesc *, size_t, size_t, unsigned int)
REFUSED(cudaMalloc3DArray, cudaArray_t *, const struct cudaChannelFormatDesc *, struct cudaExtent, unsigned int)
REFUSED(cudaFreeArray, cudaArray_t)
REFUSED(cudaMemcpyToArray, cudaArray_t, size_t, size_t, const void *, size_t, enum cudaMemcpyKind)
REFUSED(cudaMemcpyFromArray, void *, cudaArray_const_t, size_t, size_t, size_t, enum cudaMemcpyKind)
REFUSED(cudaMemcpy2DToArray, cudaArray_t, size_t, size_t, const void *, size_t, size_t, size_t, enum cudaMemcpyKind)
REFUSED(cudaMemcpy2DFromArray, void *, size_t, cudaArray_const_t, size_t, size_t, size_t, size_t, enum cudaMemcpyKind)
REFUSED(cudaCreateTextureObject, cudaTextureObject_t *, const struct cudaResourceDesc *, const struct cudaTextureDesc *,
        const struct cudaResourceViewDesc *)
REFUSED(cudaDestroyTextureObject, cudaTextureObject_t)
REFUSED(cudaCreateSurfaceObject, cudaSurfaceObject_t *, const struct cudaResourceDesc *)
REFUSED(cudaDestroySurfaceObject, cudaSurfaceObject_t)
REFUSED(__windlass_bind_texture, const void *, const void *, const struct cudaChannelFormatDesc *, size_t, size_t, size_t)
REFUSED(__windlass_bind_texture_array, const void *, const struct cudaArray *)
cudaError_t __windlass_unbind_texture(const void *) { return cudaSuccess; }
}
