// The CUDA runtime API, as host code calls it. Every function stays a visible call; templates lead to untyped ones.
#pragma once

extern "C" {
// ---- device
cudaError_t cudaSetDevice(int device);
__host__ __device__ cudaError_t cudaGetDevice(int *device);
__host__ __device__ cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device);
__host__ __device__ cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device);
cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *properties);
cudaError_t cudaSetDeviceFlags(unsigned int flags);
cudaError_t cudaGetDeviceFlags(unsigned int *flags);
__host__ __device__ cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaDeviceReset(void);
cudaError_t cudaThreadSynchronize(void);
cudaError_t cudaThreadExit(void);
cudaError_t cudaThreadSetLimit(enum cudaLimit limit, size_t value);
cudaError_t cudaThreadSetCacheConfig(enum cudaFuncCache config);
cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value);
cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit);
cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache config);
cudaError_t cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config);
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest);
cudaError_t cudaDeviceGetPCIBusId(char *id, int length, int device);
cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags);
cudaError_t cudaDeviceDisablePeerAccess(int peer);
cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaRuntimeGetVersion(int *version);
cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes);
cudaError_t cudaCtxResetPersistingL2Cache(void);
cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);
// ---- errors
__host__ __device__ cudaError_t cudaGetLastError(void);
__host__ __device__ cudaError_t cudaPeekAtLastError(void);
__host__ __device__ const char *cudaGetErrorString(cudaError_t error);
__host__ __device__ const char *cudaGetErrorName(cudaError_t error);
// ---- memory
cudaError_t cudaFree(void *pointer);
cudaError_t cudaFreeHost(void *pointer);
cudaError_t cudaMemcpy(void *target, const void *source, size_t bytes, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyPeer(void *target, int target_device, const void *source, int source_device, size_t bytes);
cudaError_t cudaMemset(void *pointer, int value, size_t bytes);
cudaError_t cudaMemcpy2D(void *target, size_t target_pitch, const void *source, size_t source_pitch, size_t width,
                         size_t height, enum cudaMemcpyKind kind);
cudaError_t cudaMemset2D(void *pointer, size_t pitch, int value, size_t width, size_t height);
cudaError_t cudaMemset3D(struct cudaPitchedPtr pointer, int value, struct cudaExtent extent);
cudaError_t cudaMalloc3D(struct cudaPitchedPtr *pointer, struct cudaExtent extent);
cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *parameters);
cudaError_t cudaHostRegister(void *pointer, size_t bytes, unsigned int flags);
cudaError_t cudaHostUnregister(void *pointer);
cudaError_t cudaHostGetFlags(unsigned int *flags, void *pointer);
cudaError_t cudaMemAdvise(const void *pointer, size_t bytes, enum cudaMemoryAdvise advice, int device);
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *pointer);
cudaError_t cudaFreeAsync(void *pointer, cudaStream_t stream);
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device);
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device);
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value);
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes);
// ---- events and streams
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaStreamCreate(cudaStream_t *stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *data, unsigned int flags);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data);
cudaError_t cudaStreamSetAttribute(cudaStream_t stream, enum cudaStreamAttrID attribute,
                                   const union cudaStreamAttrValue *value);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status);
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int *flags);
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority);
// ---- graphs
cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned int flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphUpload(cudaGraphExec_t graph, cudaStream_t stream);
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count);
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph, void *result);
cudaError_t cudaGraphClone(cudaGraph_t *clone, cudaGraph_t graph);
cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                  size_t count);
cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                       size_t count, cudaGraph_t child);
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const struct cudaKernelNodeParams *parameters);
cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                   size_t count, const struct cudaKernelNodeParams *parameters);
cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                   size_t count, const struct cudaMemcpy3DParms *parameters);
cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                     size_t count, void *target, const void *source, size_t bytes,
                                     enum cudaMemcpyKind kind);
cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                   size_t count, const struct cudaMemsetParams *parameters);
cudaError_t cudaGraphAddHostNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                 size_t count, const struct cudaHostNodeParams *parameters);
// ---- arrays
cudaError_t cudaFreeArray(cudaArray_t array);
cudaError_t cudaMemcpyToArray(cudaArray_t target, size_t x, size_t y, const void *source, size_t bytes,
                              enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyFromArray(void *target, cudaArray_const_t source, size_t x, size_t y, size_t bytes,
                                enum cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DToArray(cudaArray_t target, size_t x, size_t y, const void *source, size_t pitch, size_t width,
                                size_t height, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DFromArray(void *target, size_t pitch, cudaArray_const_t source, size_t x, size_t y,
                                  size_t width, size_t height, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyArrayToArray(cudaArray_t target, size_t target_x, size_t target_y, cudaArray_const_t source,
                                   size_t source_x, size_t source_y, size_t bytes,
                                   enum cudaMemcpyKind kind = cudaMemcpyDeviceToDevice);
cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t target, size_t target_x, size_t target_y, cudaArray_const_t source,
                                     size_t source_x, size_t source_y, size_t width, size_t height,
                                     enum cudaMemcpyKind kind = cudaMemcpyDeviceToDevice);
cudaError_t cudaMemcpyToArrayAsync(cudaArray_t target, size_t x, size_t y, const void *source, size_t bytes,
                                   enum cudaMemcpyKind kind, cudaStream_t stream = 0);
cudaError_t cudaMemcpyFromArrayAsync(void *target, cudaArray_const_t source, size_t x, size_t y, size_t bytes,
                                     enum cudaMemcpyKind kind, cudaStream_t stream = 0);
cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t target, size_t x, size_t y, const void *source, size_t pitch,
                                     size_t width, size_t height, enum cudaMemcpyKind kind, cudaStream_t stream = 0);
cudaError_t cudaMemcpy2DFromArrayAsync(void *target, size_t pitch, cudaArray_const_t source, size_t x, size_t y,
                                       size_t width, size_t height, enum cudaMemcpyKind kind, cudaStream_t stream = 0);
cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc *format, struct cudaExtent *extent, unsigned int *flags,
                             cudaArray_t array);
cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc *format, cudaArray_const_t array);
cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *array, const struct cudaChannelFormatDesc *format,
                                     struct cudaExtent extent, unsigned int levels, unsigned int flags = 0);
cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t *array, cudaMipmappedArray_const_t mipmapped, unsigned int level);
cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t array);
// ---- what the templates below lead to
cudaError_t __windlass_malloc(void **pointer, size_t bytes);
cudaError_t __windlass_malloc_host(void **pointer, size_t bytes, unsigned int flags);
cudaError_t __windlass_malloc_managed(void **pointer, size_t bytes, unsigned int flags);
cudaError_t __windlass_malloc_pitch(void **pointer, size_t *pitch, size_t width, size_t height);
cudaError_t __windlass_malloc_async(void **pointer, size_t bytes, cudaStream_t stream);
cudaError_t __windlass_host_get_device_pointer(void **device, void *host, unsigned int flags);
cudaError_t __windlass_copy_to_symbol(const void *symbol, const void *source, size_t bytes, size_t offset,
                                      enum cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t __windlass_copy_from_symbol(void *target, const void *symbol, size_t bytes, size_t offset,
                                        enum cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t __windlass_get_symbol_address(void **pointer, const void *symbol);
cudaError_t __windlass_get_symbol_size(size_t *bytes, const void *symbol);
cudaError_t __windlass_set_function_attribute(const void *function, int attribute, int value);
cudaError_t __windlass_get_function_attributes(struct cudaFuncAttributes *attributes, const void *function);
cudaError_t __windlass_max_active_blocks(int *count, const void *function, int block_size, size_t shared_bytes);
cudaError_t __windlass_best_block_size(int *grid_size, int *block_size, const void *function, size_t shared_bytes,
                                       int limit);
cudaError_t __windlass_launch(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared_bytes,
                              cudaStream_t stream);
cudaError_t __windlass_launch_cooperative(const void *function, dim3 grid, dim3 block, void **arguments,
                                          size_t shared_bytes, cudaStream_t stream);
cudaError_t __windlass_graph_instantiate(cudaGraphExec_t *executable, cudaGraph_t graph);
// ---- what <<<...>>> becomes on the host side
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes = 0, cudaStream_t stream = 0);
unsigned __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, void *stream);
cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared_bytes,
                             cudaStream_t stream);
}

// ---- functions with arguments that may be left out
extern "C" {
cudaError_t cudaMemcpyAsync(void *target, const void *source, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream = 0);
cudaError_t cudaMemsetAsync(void *pointer, int value, size_t bytes, cudaStream_t stream = 0);
cudaError_t cudaMemcpy2DAsync(void *target, size_t target_pitch, const void *source, size_t source_pitch, size_t width,
                              size_t height, enum cudaMemcpyKind kind, cudaStream_t stream = 0);
cudaError_t cudaMemset2DAsync(void *pointer, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream = 0);
cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *parameters, cudaStream_t stream = 0);
cudaError_t cudaMemcpyPeerAsync(void *target, int target_device, const void *source, int source_device, size_t bytes,
                                cudaStream_t stream = 0);
cudaError_t cudaMemPrefetchAsync(const void *pointer, size_t bytes, int device, cudaStream_t stream = 0);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = 0);
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream = 0, unsigned int flags = 0);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags = 0);
cudaError_t cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *format, size_t width,
                            size_t height = 0, unsigned int flags = 0);
cudaError_t cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *format, struct cudaExtent extent,
                              unsigned int flags = 0);
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *pointer, size_t bytes = 0, unsigned int flags = 4);
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                     size_t count);
}
static inline cudaError_t cudaMemPrefetchAsync(const void *pointer, size_t bytes, struct cudaMemLocation location,
                                               unsigned int, cudaStream_t stream = 0) {
    return cudaMemPrefetchAsync(pointer, bytes, location.id, stream);
}
static inline cudaError_t cudaMemAdvise(const void *pointer, size_t bytes, enum cudaMemoryAdvise advice,
                                        struct cudaMemLocation location) {
    return cudaMemAdvise(pointer, bytes, advice, location.id);
}
static inline cudaError_t cudaEventCreate(cudaEvent_t *event, unsigned int flags = cudaEventDefault) {
    return cudaEventCreateWithFlags(event, flags);
}

// ---- allocation
template <class T> inline cudaError_t cudaMalloc(T **pointer, size_t bytes) {
    return __windlass_malloc((void **)pointer, bytes);
}
template <class T> inline cudaError_t cudaMallocHost(T **pointer, size_t bytes, unsigned int flags = 0) {
    return __windlass_malloc_host((void **)pointer, bytes, flags);
}
template <class T> inline cudaError_t cudaHostAlloc(T **pointer, size_t bytes, unsigned int flags) {
    return __windlass_malloc_host((void **)pointer, bytes, flags);
}
template <class T>
inline cudaError_t cudaMallocManaged(T **pointer, size_t bytes, unsigned int flags = cudaMemAttachGlobal) {
    return __windlass_malloc_managed((void **)pointer, bytes, flags);
}
template <class T> inline cudaError_t cudaMallocPitch(T **pointer, size_t *pitch, size_t width, size_t height) {
    return __windlass_malloc_pitch((void **)pointer, pitch, width, height);
}
template <class T> inline cudaError_t cudaMallocAsync(T **pointer, size_t bytes, cudaStream_t stream) {
    return __windlass_malloc_async((void **)pointer, bytes, stream);
}
template <class T>
inline cudaError_t cudaMallocFromPoolAsync(T **pointer, size_t bytes, cudaMemPool_t, cudaStream_t stream) {
    return __windlass_malloc_async((void **)pointer, bytes, stream);
}
template <class T> inline cudaError_t cudaHostGetDevicePointer(T **device, void *host, unsigned int flags) {
    return __windlass_host_get_device_pointer((void **)device, host, flags);
}

// ---- symbols
template <class T>
inline cudaError_t cudaMemcpyToSymbol(const T &symbol, const void *source, size_t bytes, size_t offset = 0,
                                      enum cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
    return __windlass_copy_to_symbol((const void *)&symbol, source, bytes, offset, kind, 0);
}
template <class T>
inline cudaError_t cudaMemcpyToSymbolAsync(const T &symbol, const void *source, size_t bytes, size_t offset = 0,
                                           enum cudaMemcpyKind kind = cudaMemcpyHostToDevice, cudaStream_t stream = 0) {
    return __windlass_copy_to_symbol((const void *)&symbol, source, bytes, offset, kind, stream);
}
template <class T>
inline cudaError_t cudaMemcpyFromSymbol(void *target, const T &symbol, size_t bytes, size_t offset = 0,
                                        enum cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
    return __windlass_copy_from_symbol(target, (const void *)&symbol, bytes, offset, kind, 0);
}
template <class T>
inline cudaError_t cudaMemcpyFromSymbolAsync(void *target, const T &symbol, size_t bytes, size_t offset = 0,
                                             enum cudaMemcpyKind kind = cudaMemcpyDeviceToHost,
                                             cudaStream_t stream = 0) {
    return __windlass_copy_from_symbol(target, (const void *)&symbol, bytes, offset, kind, stream);
}
template <class P, class T> inline cudaError_t cudaGetSymbolAddress(P **pointer, const T &symbol) {
    return __windlass_get_symbol_address((void **)pointer, (const void *)&symbol);
}
template <class T> inline cudaError_t cudaGetSymbolSize(size_t *bytes, const T &symbol) {
    return __windlass_get_symbol_size(bytes, (const void *)&symbol);
}

// ---- kernels
template <class F> inline cudaError_t cudaFuncSetAttribute(F *kernel, enum cudaFuncAttribute attribute, int value) {
    return __windlass_set_function_attribute((const void *)kernel, attribute, value);
}
template <class F> inline cudaError_t cudaFuncSetCacheConfig(F *, enum cudaFuncCache) { return cudaSuccess; }
template <class F> inline cudaError_t cudaFuncSetSharedMemConfig(F *, enum cudaSharedMemConfig) { return cudaSuccess; }
template <class F> inline cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, F *kernel) {
    return __windlass_get_function_attributes(attributes, (const void *)kernel);
}
template <class F>
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *count, F kernel, int block_size,
                                                                 size_t shared_bytes) {
    return __windlass_max_active_blocks(count, (const void *)kernel, block_size, shared_bytes);
}
template <class F>
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *count, F kernel, int block_size,
                                                                          size_t shared_bytes, unsigned int) {
    return __windlass_max_active_blocks(count, (const void *)kernel, block_size, shared_bytes);
}
template <class F>
inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int *grid_size, int *block_size, F kernel,
                                                      size_t shared_bytes = 0, int limit = 0) {
    return __windlass_best_block_size(grid_size, block_size, (const void *)kernel, shared_bytes, limit);
}
template <class F>
inline cudaError_t cudaLaunchKernel(F *kernel, dim3 grid, dim3 block, void **arguments, size_t shared_bytes = 0,
                                    cudaStream_t stream = 0) {
    return __windlass_launch((const void *)kernel, grid, block, arguments, shared_bytes, stream);
}
template <class F>
inline cudaError_t cudaLaunchCooperativeKernel(F *kernel, dim3 grid, dim3 block, void **arguments,
                                               size_t shared_bytes = 0, cudaStream_t stream = 0) {
    return __windlass_launch_cooperative((const void *)kernel, grid, block, arguments, shared_bytes, stream);
}
template <class... Rest>
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph, Rest...) {
    return __windlass_graph_instantiate(executable, graph);
}

inline cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *executable, cudaGraph_t graph, unsigned long long = 0) {
    return __windlass_graph_instantiate(executable, graph);
}
inline cudaError_t cudaLaunchKernelExC(const struct cudaLaunchConfig_t *c, const void *kernel, void **arguments) {
    return __windlass_launch(kernel, c->gridDim, c->blockDim, arguments, c->dynamicSmemBytes, c->stream);
}
template <class... Parameters, class... Arguments>
inline cudaError_t cudaLaunchKernelEx(const struct cudaLaunchConfig_t *c, void (*kernel)(Parameters...),
                                      Arguments &&...arguments) {
    // Arguments are converted to the kernel's parameters before their bytes are taken.
    return [&](Parameters... converted) {
        void *places[] = {(void *)&converted..., nullptr};
        return cudaLaunchKernelExC(c, (const void *)kernel, places);
    }(static_cast<Arguments &&>(arguments)...);
}

// ---- small values
static inline struct cudaExtent make_cudaExtent(size_t width, size_t height, size_t depth) {
    return cudaExtent{width, height, depth};
}
static inline struct cudaPos make_cudaPos(size_t x, size_t y, size_t z) { return cudaPos{x, y, z}; }
static inline struct cudaPitchedPtr make_cudaPitchedPtr(void *pointer, size_t pitch, size_t width, size_t height) {
    return cudaPitchedPtr{pointer, pitch, width, height};
}
static inline struct cudaChannelFormatDesc cudaCreateChannelDescHalf(void) {
    return cudaChannelFormatDesc{16, 0, 0, 0, cudaChannelFormatKindFloat};
}
static inline struct cudaChannelFormatDesc cudaCreateChannelDescHalf2(void) {
    return cudaChannelFormatDesc{16, 16, 0, 0, cudaChannelFormatKindFloat};
}
static inline struct cudaChannelFormatDesc cudaCreateChannelDescHalf4(void) {
    return cudaChannelFormatDesc{16, 16, 16, 16, cudaChannelFormatKindFloat};
}
static inline struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                                                 enum cudaChannelFormatKind kind) {
    return cudaChannelFormatDesc{x, y, z, w, kind};
}
template <class T> struct __windlass_channels {
    typedef T element;
    static constexpr int count = 1;
};
#define __WINDLASS_CHANNELS(name, type)                                                                  \
    template <> struct __windlass_channels<name##1> { typedef type element; static constexpr int count = 1; }; \
    template <> struct __windlass_channels<name##2> { typedef type element; static constexpr int count = 2; }; \
    template <> struct __windlass_channels<name##4> { typedef type element; static constexpr int count = 4; };
__WINDLASS_CHANNELS(char, signed char)
__WINDLASS_CHANNELS(uchar, unsigned char)
__WINDLASS_CHANNELS(short, short)
__WINDLASS_CHANNELS(ushort, unsigned short)
__WINDLASS_CHANNELS(int, int)
__WINDLASS_CHANNELS(uint, unsigned int)
__WINDLASS_CHANNELS(float, float)
#undef __WINDLASS_CHANNELS
template <class T> inline struct cudaChannelFormatDesc cudaCreateChannelDesc() {
    typedef typename __windlass_channels<T>::element element;
    constexpr int bits = 8 * sizeof(element), count = __windlass_channels<T>::count;
    return cudaChannelFormatDesc{bits, count > 1 ? bits : 0, count > 2 ? bits : 0, count > 3 ? bits : 0,
                                 std::is_floating_point_v<element> ? cudaChannelFormatKindFloat
                                 : std::is_signed_v<element>       ? cudaChannelFormatKindSigned
                                                                   : cudaChannelFormatKindUnsigned};
}
