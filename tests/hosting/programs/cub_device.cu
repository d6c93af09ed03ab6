// CUB's algorithms of devices, called from the host, against the C++ library.
#include <algorithm>
#include <cstdio>
#include <map>
#include <numeric>
#include <random>
#include <cub/cub.cuh>

static int checks = 0, failures = 0;
#define CHECK(condition)                                                     \
    do {                                                                     \
        checks++;                                                            \
        if (!(condition)) failures++, printf("line %d: %s\n", __LINE__, #condition); \
    } while (0)

// Calls it twice, as CUB wants to be called.
#define CUB(function, ...)                                                   \
    do {                                                                     \
        void *storage = nullptr;                                             \
        size_t bytes = 0;                                                    \
        CubDebugExit(cub::function(storage, bytes, __VA_ARGS__));            \
        CHECK(bytes > 0);                                                    \
        cudaMalloc(&storage, bytes);                                         \
        CubDebugExit(cub::function(storage, bytes, __VA_ARGS__));            \
        cudaFree(storage);                                                   \
    } while (0)

template <class T> T *on_device(const std::vector<T> &values) {
    T *pointer;
    cudaMalloc(&pointer, values.size() * sizeof(T));
    cudaMemcpy(pointer, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice);
    return pointer;
}
template <class T> T *room(size_t count) { return on_device(std::vector<T>(count)); }
template <class T> std::vector<T> from_device(const T *pointer, size_t count) {
    std::vector<T> values(count);
    cudaMemcpy(values.data(), pointer, count * sizeof(T), cudaMemcpyDeviceToHost);
    return values;
}
template <class T> T one(const T *pointer) { return from_device(pointer, 1)[0]; }
typedef std::vector<int> Ints;

struct OddOnDevice {
    __device__ bool operator()(int x) const { return x % 2 != 0; }
};
struct AddOnDevice {
    __device__ int operator()(int a, int b) const { return a + b; }
};
struct SquareOnDevice {
    __device__ int operator()(int x) const { return x * x; }
};
struct ByDigit {
    __host__ __device__ bool operator()(int a, int b) const { return a % 10 < b % 10; }
};
struct Add100 {
    int *x;
    __device__ void operator()(int i) const { x[i] += 100; }
};

void check_reductions(const Ints &h) {
    int n = (int)h.size(), *d = on_device(h), *out = room<int>(n), *unique = room<int>(n), *runs = room<int>(1);
    int sum = std::accumulate(h.begin(), h.end(), 0);
    CUB(DeviceReduce::Sum, d, out, n);
    CHECK(one(out) == sum);
    CUB(DeviceReduce::Max, d, out, n);
    CHECK(one(out) == *std::max_element(h.begin(), h.end()));
    CUB(DeviceReduce::Min, d, out, n);
    CHECK(one(out) == *std::min_element(h.begin(), h.end()));
    CUB(DeviceReduce::Reduce, d, out, n, AddOnDevice(), 5);
    CHECK(one(out) == sum + 5);
    cub::TransformInputIterator<int, SquareOnDevice, int *> squares(d, SquareOnDevice());
    CUB(DeviceReduce::Sum, squares, out, n);
    CHECK(one(out) == std::inner_product(h.begin(), h.end(), h.begin(), 0));
    auto *place = room<cub::KeyValuePair<int, int>>(1);
    CUB(DeviceReduce::ArgMax, d, place, n);
    CHECK(place->key == std::max_element(h.begin(), h.end()) - h.begin() && place->value == h[place->key]);
    CUB(DeviceReduce::ArgMin, d, place, n);
    CHECK(place->key == std::min_element(h.begin(), h.end()) - h.begin());

    Ints keys(n);
    for (int i = 0; i < n; i++) keys[i] = i / 7;
    int *k = on_device(keys), segments = (n + 6) / 7;
    CUB(DeviceReduce::ReduceByKey, k, unique, d, out, runs, cub::Sum(), n);
    Ints sums(segments), begins(segments + 1);
    for (int i = 0; i < n; i++) sums[i / 7] += h[i];
    for (int i = 0; i <= segments; i++) begins[i] = std::min(7 * i, n);
    CHECK(one(runs) == segments && from_device(out, segments) == sums);
    int *offsets = on_device(begins);
    CUB(DeviceSegmentedReduce::Sum, d, out, segments, offsets, offsets + 1);
    CHECK(from_device(out, segments) == sums);
    CUB(DeviceSegmentedReduce::Reduce, d, out, segments, offsets, offsets + 1, AddOnDevice(), 0);
    CHECK(from_device(out, segments) == sums);

    int *lengths = room<int>(n);
    CUB(DeviceRunLengthEncode::Encode, k, unique, lengths, runs, n);
    CHECK(one(runs) == segments && one(lengths) == std::min(7, n) && from_device(unique, segments).back() == segments - 1);
    CUB(DeviceScan::ExclusiveSumByKey, k, d, out, n);
    Ints expected(n);
    for (int i = 0; i < n; i++) expected[i] = i % 7 ? expected[i - 1] + h[i - 1] : 0;
    CHECK(from_device(out, n) == expected);
}

void check_scans(const Ints &h) {
    int n = (int)h.size(), *d = on_device(h), *out = room<int>(n);
    Ints expected(n);
    std::partial_sum(h.begin(), h.end(), expected.begin());
    CUB(DeviceScan::InclusiveSum, d, out, n);
    CHECK(from_device(out, n) == expected);
    CUB(DeviceScan::InclusiveScan, d, out, AddOnDevice(), n);
    CHECK(from_device(out, n) == expected);
    for (int i = n - 1; i > 0; i--) expected[i] = expected[i - 1];
    expected[0] = 0;
    CUB(DeviceScan::ExclusiveSum, d, out, n);
    CHECK(from_device(out, n) == expected);
    CUB(DeviceScan::ExclusiveScan, d, out, cub::Sum(), 0, n);
    CHECK(from_device(out, n) == expected);
    for (int i = 0, best = -7; i < n; i++) expected[i] = best, best = std::max(best, h[i]);
    CUB(DeviceScan::ExclusiveScan, d, out, cub::Max(), -7, n);
    CHECK(from_device(out, n) == expected);
}

void check_selections(const Ints &h) {
    int n = (int)h.size(), *d = on_device(h), *out = room<int>(n), *count = room<int>(1);
    Ints odd, even;
    for (int x : h) (x % 2 ? odd : even).push_back(x);
    CUB(DeviceSelect::If, d, out, count, n, OddOnDevice());
    CHECK(one(count) == (int)odd.size() && from_device(out, odd.size()) == odd);
    std::vector<char> flags(n);
    for (int i = 0; i < n; i++) flags[i] = h[i] % 2 != 0;
    char *f = on_device(flags);
    CUB(DeviceSelect::Flagged, d, f, out, count, n);
    CHECK(one(count) == (int)odd.size() && from_device(out, odd.size()) == odd);
    CUB(DevicePartition::Flagged, d, f, out, count, n);
    Ints both = odd;
    both.insert(both.end(), even.rbegin(), even.rend());
    CHECK(one(count) == (int)odd.size() && from_device(out, n) == both);
    CUB(DevicePartition::If, d, out, count, n, OddOnDevice());
    CHECK(from_device(out, n) == both);
    Ints sorted = h;
    std::sort(sorted.begin(), sorted.end());
    int *s = on_device(sorted);
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    CUB(DeviceSelect::Unique, s, out, count, n);
    CHECK(one(count) == (int)sorted.size() && from_device(out, sorted.size()) == sorted);
    CubDebugExit(cub::DeviceFor::Bulk(n, Add100{d}));
    CHECK(one(d) == h[0] + 100);
}

template <class K> void check_radix_sort(std::vector<K> h, std::mt19937 &random) {
    int n = (int)h.size();
    std::vector<K> expected = h;
    K *d = on_device(h), *out = room<K>(n);
    CUB(DeviceRadixSort::SortKeys, d, out, n);
    std::stable_sort(expected.begin(), expected.end());
    CHECK(from_device(out, n) == expected);
    CUB(DeviceRadixSort::SortKeysDescending, d, out, n);
    std::stable_sort(expected.begin(), expected.end(), std::greater<K>());
    CHECK(from_device(out, n) == expected);
    Ints places(n);
    std::iota(places.begin(), places.end(), 0);
    int *p = on_device(places), *places_out = room<int>(n);
    CUB(DeviceRadixSort::SortPairs, d, out, p, places_out, n);
    std::stable_sort(places.begin(), places.end(), [&](int a, int b) { return h[a] < h[b]; });
    CHECK(from_device(places_out, n) == places);
    cub::DoubleBuffer<K> keys(d, out);
    cub::DoubleBuffer<int> values(p, places_out);
    void *storage = nullptr;
    size_t bytes = 0;
    cub::DeviceRadixSort::SortPairsDescending(storage, bytes, keys, values, n);
    cudaMalloc(&storage, bytes);
    cub::DeviceRadixSort::SortPairsDescending(storage, bytes, keys, values, n);
    std::iota(places.begin(), places.end(), 0);
    std::stable_sort(places.begin(), places.end(), [&](int a, int b) { return h[a] > h[b]; });
    CHECK(from_device(keys.Current(), n) == expected && from_device(values.Current(), n) == places);
}

void check_sorts(const Ints &h, std::mt19937 &random) {
    int n = (int)h.size(), *d = on_device(h), *out = room<int>(n);
    check_radix_sort(h, random);
    std::vector<float> floats(n);
    std::vector<unsigned char> bytes(n);
    std::vector<long long> longs(n);
    for (int i = 0; i < n; i++) {
        floats[i] = (float)((int)random() / 1000) * (i % 2 ? -1e-3f : 1e9f);
        bytes[i] = (unsigned char)random();
        longs[i] = (long long)(((unsigned long long)random() << 32) | random());
    }
    if (n > 4) floats[0] = INFINITY, floats[1] = -INFINITY, floats[2] = 0.0f, floats[3] = -0.0f;
    check_radix_sort(floats, random);
    check_radix_sort(bytes, random);
    check_radix_sort(longs, random);
    // Some of the bits.
    CUB(DeviceRadixSort::SortKeys, d, out, n, 2, 5);
    Ints expected = h;
    std::stable_sort(expected.begin(), expected.end(), [](int a, int b) { return (a >> 2 & 7) < (b >> 2 & 7); });
    CHECK(from_device(out, n) == expected);
    int *e = on_device(h);
    CUB(DeviceMergeSort::SortKeys, e, n, ByDigit());
    expected = h;
    std::stable_sort(expected.begin(), expected.end(), ByDigit());
    CHECK(from_device(e, n) == expected);
    Ints begins = {0, n / 3, n / 2, n};
    int *offsets = on_device(begins);
    expected = h;
    for (int i = 0; i < 3; i++) std::sort(expected.begin() + begins[i], expected.begin() + begins[i + 1]);
    CUB(DeviceSegmentedRadixSort::SortKeys, d, out, n, 3, offsets, offsets + 1);
    CHECK(from_device(out, n) == expected);
    CUB(DeviceSegmentedSort::SortKeys, d, out, n, 3, offsets, offsets + 1);
    CHECK(from_device(out, n) == expected);
}

void check_histograms(const Ints &h) {
    int n = (int)h.size(), *d = on_device(h), *counts = room<int>(10);
    CUB(DeviceHistogram::HistogramEven, d, counts, 6, 10, 60, n);
    Ints expected(5);
    for (int x : h)
        if (x >= 10 && x < 60) expected[(x - 10) / 10]++;
    CHECK(from_device(counts, 5) == expected);
    int *levels = on_device(Ints{0, 3, 50, 90});
    CUB(DeviceHistogram::HistogramRange, d, counts, 4, levels, n);
    expected = Ints(3);
    for (int x : h)
        if (x >= 0 && x < 90) expected[x < 3 ? 0 : x < 50 ? 1 : 2]++;
    CHECK(from_device(counts, 3) == expected);
    // The first two of four channels.
    unsigned char pixels[] = {1, 2, 3, 4, 1, 3, 0, 0, 2, 3, 9, 9}, *samples = on_device(std::vector<unsigned char>(pixels, pixels + 12));
    int *channels[2] = {room<int>(4), room<int>(4)}, sizes[2] = {5, 5}, lower[2] = {0, 0}, upper[2] = {4, 4};
    void *storage = room<char>(1);
    size_t bytes = 1;
    cub::DeviceHistogram::MultiHistogramEven<4, 2>(storage, bytes, samples, channels, sizes, lower, upper, 3);
    CHECK((from_device(channels[0], 4) == Ints{0, 2, 1, 0}) && (from_device(channels[1], 4) == Ints{0, 0, 1, 2}));
}

// What is captured into a graph runs with the graph.
void check_capture() {
    Ints h = {1, 2, 3};
    int *d = on_device(h), *out = room<int>(1);
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    cudaStreamCreate(&stream);
    void *storage = room<char>(256);
    size_t bytes = 256;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    cub::DeviceReduce::Sum(storage, bytes, d, out, 3, stream);
    cudaStreamEndCapture(stream, &graph);
    CHECK(one(out) == 0);
    cudaGraphInstantiate(&executable, graph, 0, 0, 0);
    cudaGraphLaunch(executable, stream);
    CHECK(one(out) == 6);
    d[0] = 10;
    cudaGraphLaunch(executable, stream);
    CHECK(one(out) == 15);
}

int main() {
    std::mt19937 random(3);
    for (int n : {1, 400}) {
        Ints h(n);
        for (int &x : h) x = (int)(random() % 100);
        check_reductions(h);
        check_scans(h);
        check_selections(h);
        check_sorts(h, random);
        check_histograms(h);
    }
    check_capture();
    printf("%d checks, %d failures\n", checks, failures);
    return failures != 0;
}
