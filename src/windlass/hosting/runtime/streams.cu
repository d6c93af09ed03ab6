// Streams, events, graphs. Everything is done when it is asked for, in the order of the host; a stream that is being
// captured notes its work instead, and a graph does it when it is launched. Streams that wait for an event of a capture
// take part in it.
#include <chrono>
#include <memory>
#include <set>
#include <vector>
#include "state.h"

using Action = std::function<cudaError_t()>;

struct CUgraph_st {
    std::vector<Action> actions;
    std::vector<cudaStream_t> streams;  // while they are captured into it, the one that began first
};
struct CUstream_st {
    std::shared_ptr<CUgraph_st> capture = nullptr;
    unsigned int flags = 0;
    int priority = 0;
};
struct CUevent_st {
    std::chrono::steady_clock::time_point time;
    bool is_recorded = false, has_time = true;
    std::weak_ptr<CUgraph_st> capture;  // in which it was recorded last; gone when that has ended
};
struct CUgraphExec_st {
    std::vector<Action> actions;
};

namespace windlass {
// Streams, events and graphs that were made and not destroyed: others are errors of the program, not to be followed.
static std::set<const void *> &handles() {
    static auto *all = new std::set<const void *>;
    return *all;
}
template <class T> static T *made(T *handle) {
    std::lock_guard<std::recursive_mutex> guard(lock);
    handles().insert(handle);
    return handle;
}
static bool is_live(const void *handle) {
    std::lock_guard<std::recursive_mutex> guard(lock);
    return handles().count(handle);
}
template <class T> static cudaError_t destroy(T *handle) {
    std::lock_guard<std::recursive_mutex> guard(lock);
    if (!handles().erase(handle)) return fail(cudaErrorInvalidResourceHandle);
    delete handle;
    return cudaSuccess;
}
static bool is_real(cudaStream_t stream) {
    return stream && stream != cudaStreamLegacy && stream != cudaStreamPerThread;
}
static cudaError_t check(cudaStream_t stream) {
    return is_real(stream) && !is_live(stream) ? fail(cudaErrorInvalidResourceHandle) : cudaSuccess;
}

cudaError_t perform(cudaStream_t stream, Action action) {
    if (cudaError_t error = check(stream)) return error;
    if (is_real(stream) && stream->capture) {
        stream->capture->actions.push_back(std::move(action));
        return cudaSuccess;
    }
    return action();
}
static cudaError_t add(cudaGraphNode_t *node, cudaGraph_t graph, Action action) {
    if (!is_live(graph)) return fail(cudaErrorInvalidValue);
    graph->actions.push_back(std::move(action));
    if (node) *node = (cudaGraphNode_t)(uintptr_t)graph->actions.size();
    return cudaSuccess;
}
// A launch as an action, with copies of its arguments.
static cudaError_t note_launch(const struct cudaKernelNodeParams *p, Action *action) {
    cudaStream_t capturing = made(new CUstream_st);
    auto noted = capturing->capture = std::make_shared<CUgraph_st>();
    cudaError_t error =
        __windlass_launch(p->func, p->gridDim, p->blockDim, p->kernelParams, p->sharedMemBytes, capturing);
    destroy(capturing);
    if (!error) *action = noted->actions.at(0);
    return error;
}
}  // namespace windlass
using namespace windlass;

extern "C" {
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority) {
    int least, greatest;
    cudaDeviceGetStreamPriorityRange(&least, &greatest);
    priority = priority > least ? least : priority < greatest ? greatest : priority;
    *stream = made(new CUstream_st{nullptr, flags, priority});
    return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags) {
    return cudaStreamCreateWithPriority(stream, flags, 0);
}
cudaError_t cudaStreamCreate(cudaStream_t *stream) { return cudaStreamCreateWithFlags(stream, cudaStreamDefault); }
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int *flags) {
    *flags = is_real(stream) && is_live(stream) ? stream->flags : cudaStreamDefault;
    return check(stream);
}
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority) {
    *priority = is_real(stream) && is_live(stream) ? stream->priority : 0;
    return check(stream);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) { return destroy(stream); }
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    cudaError_t error = check(stream);
    return error ? error : cudaDeviceSynchronize();
}
cudaError_t cudaStreamQuery(cudaStream_t stream) { return check(stream); }
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int) {
    if (!is_live(event)) return fail(cudaErrorInvalidResourceHandle);
    if (cudaError_t error = check(stream)) return error;
    std::shared_ptr<CUgraph_st> capture = event->capture.lock();
    if (capture && is_real(stream) && !stream->capture) {
        stream->capture = capture;
        capture->streams.push_back(stream);
    }
    return cudaSuccess;
}
cudaError_t cudaStreamSetAttribute(cudaStream_t, enum cudaStreamAttrID, const union cudaStreamAttrValue *) {
    return cudaSuccess;
}
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *data, unsigned int) {
    return perform(stream, [=] { return callback(stream, cudaSuccess, data), cudaSuccess; });
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data) {
    return perform(stream, [=] { return function(data), cudaSuccess; });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags) {
    *event = made(new CUevent_st);
    (*event)->has_time = !(flags & cudaEventDisableTiming);
    return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) { return destroy(event); }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    if (!is_live(event)) return fail(cudaErrorInvalidResourceHandle);
    if (cudaError_t error = check(stream)) return error;
    event->capture = is_real(stream) ? stream->capture : nullptr;
    return perform(stream, [=] {
        event->time = std::chrono::steady_clock::now();
        event->is_recorded = true;
        return cudaSuccess;
    });
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int) {
    return cudaEventRecord(event, stream);
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) { return cudaEventQuery(event); }
cudaError_t cudaEventQuery(cudaEvent_t event) {
    return is_live(event) ? cudaSuccess : fail(cudaErrorInvalidResourceHandle);
}
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end) {
    if (!is_live(start) || !is_live(end) || !start->is_recorded || !end->is_recorded || !start->has_time || !end->has_time)
        return fail(cudaErrorInvalidResourceHandle);
    *milliseconds = std::chrono::duration<float, std::milli>(end->time - start->time).count();
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode) {
    if (cudaError_t error = check(stream)) return error;
    if (!is_real(stream) || stream->capture) return fail(cudaErrorIllegalState);
    stream->capture = std::make_shared<CUgraph_st>();
    stream->capture->streams.push_back(stream);
    return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
    if (cudaError_t error = check(stream)) return error;
    if (!is_real(stream) || !stream->capture) return fail(cudaErrorIllegalState);
    std::shared_ptr<CUgraph_st> capture = stream->capture;
    if (capture->streams[0] != stream) return fail(cudaErrorStreamCaptureUnmatched);
    for (cudaStream_t each : capture->streams)
        if (is_live(each)) each->capture = nullptr;
    *graph = made(new CUgraph_st{capture->actions});
    return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status) {
    if (cudaError_t error = check(stream)) return error;
    bool is_capturing = is_real(stream) && stream->capture;
    *status = is_capturing ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return cudaSuccess;
}
cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned int) { return *graph = made(new CUgraph_st), cudaSuccess; }
cudaError_t __windlass_graph_instantiate(cudaGraphExec_t *executable, cudaGraph_t graph) {
    if (!is_live(graph)) return fail(cudaErrorInvalidValue);
    *executable = made(new CUgraphExec_st{graph->actions});
    return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
    if (!is_live(graph)) return fail(cudaErrorInvalidValue);
    for (auto &action : graph->actions)
        if (cudaError_t error = perform(stream, action)) return error;
    return cudaSuccess;
}
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph, void *) {
    if (!is_live(executable) || !is_live(graph)) return fail(cudaErrorInvalidValue);
    executable->actions = graph->actions;
    return cudaSuccess;
}
cudaError_t cudaGraphClone(cudaGraph_t *clone, cudaGraph_t graph) {
    if (!is_live(graph)) return fail(cudaErrorInvalidValue);
    *clone = made(new CUgraph_st{graph->actions});
    return cudaSuccess;
}
cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *, size_t) {
    return add(node, graph, [] { return cudaSuccess; });
}
cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *, size_t,
                                       cudaGraph_t child) {
    if (!is_live(child)) return fail(cudaErrorInvalidValue);
    return add(node, graph, [actions = child->actions] {
        for (auto &action : actions)
            if (cudaError_t error = action()) return error;
        return cudaSuccess;
    });
}
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) { return destroy(graph); }
cudaError_t cudaGraphDestroy(cudaGraph_t graph) { return destroy(graph); }
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count) {
    if (!is_live(graph)) return fail(cudaErrorInvalidValue);
    for (size_t i = 0; nodes && i < *count && i < graph->actions.size(); i++) nodes[i] = (cudaGraphNode_t)(i + 1);
    *count = graph->actions.size();
    return cudaSuccess;
}
// Nodes are done in the order in which they were added, which any order of dependencies between them allows.
cudaError_t cudaGraphAddDependencies(cudaGraph_t, const cudaGraphNode_t *from, const cudaGraphNode_t *to, size_t count) {
    for (size_t i = 0; i < count; i++)
        if ((uintptr_t)from[i] > (uintptr_t)to[i]) return fail(cudaErrorNotSupported);
    return cudaSuccess;
}
cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *, size_t,
                                   const struct cudaKernelNodeParams *p) {
    Action action;
    cudaError_t error = note_launch(p, &action);
    return error ? error : add(node, graph, action);
}
// Nodes are numbers: their places in the graph.
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const struct cudaKernelNodeParams *p) {
    if (!is_live(executable) || (uintptr_t)node - 1 >= executable->actions.size()) return fail(cudaErrorInvalidValue);
    return note_launch(p, &executable->actions[(uintptr_t)node - 1]);
}
cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *, size_t,
                                     void *target, const void *source, size_t bytes, enum cudaMemcpyKind kind) {
    return add(node, graph, [=] { return cudaMemcpy(target, source, bytes, kind); });
}
cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *, size_t,
                                   const struct cudaMemcpy3DParms *given) {
    struct cudaMemcpy3DParms parameters = *given;
    return add(node, graph, [=] { return cudaMemcpy3D(&parameters); });
}
cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *, size_t,
                                   const struct cudaMemsetParams *given) {
    struct cudaMemsetParams p = *given;
    return add(node, graph, [=] {
        for (size_t row = 0; row < (p.height ? p.height : 1); row++) {
            char *start = (char *)p.dst + row * p.pitch;
            for (size_t i = 0; i < p.width; i++) __builtin_memcpy(start + i * p.elementSize, &p.value, p.elementSize);
        }
        return cudaSuccess;
    });
}
cudaError_t cudaGraphAddHostNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *, size_t,
                                 const struct cudaHostNodeParams *given) {
    struct cudaHostNodeParams p = *given;
    return add(node, graph, [=] { return p.fn(p.userData), cudaSuccess; });
}
}
