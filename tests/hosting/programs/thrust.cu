// Thrust's algorithms against the C++ library's: with functions that host code can call, and with functions of device
// code alone, which run in kernels.
#include <algorithm>
#include <cstdio>
#include <list>
#include <map>
#include <numeric>
#include <random>
#include <thrust/adjacent_difference.h>
#include <thrust/binary_search.h>
#include <thrust/complex.h>
#include <thrust/copy.h>
#include <thrust/count.h>
#include <thrust/device_vector.h>
#include <thrust/equal.h>
#include <thrust/execution_policy.h>
#include <thrust/extrema.h>
#include <thrust/fill.h>
#include <thrust/find.h>
#include <thrust/for_each.h>
#include <thrust/gather.h>
#include <thrust/generate.h>
#include <thrust/host_vector.h>
#include <thrust/inner_product.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/discard_iterator.h>
#include <thrust/iterator/permutation_iterator.h>
#include <thrust/iterator/reverse_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/logical.h>
#include <thrust/merge.h>
#include <thrust/partition.h>
#include <thrust/random.h>
#include <thrust/reduce.h>
#include <thrust/remove.h>
#include <thrust/replace.h>
#include <thrust/reverse.h>
#include <thrust/scan.h>
#include <thrust/scatter.h>
#include <thrust/sequence.h>
#include <thrust/set_operations.h>
#include <thrust/shuffle.h>
#include <thrust/sort.h>
#include <thrust/system/cuda/experimental/pinned_allocator.h>
#include <thrust/tabulate.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>
#include <thrust/transform_scan.h>
#include <thrust/unique.h>
#include <thrust/zip_function.h>

static int checks = 0, failures = 0;
#define CHECK(condition)                                                     \
    do {                                                                     \
        checks++;                                                            \
        if (!(condition)) failures++, printf("line %d: %s\n", __LINE__, #condition); \
    } while (0)

typedef std::vector<int> Ints;
template <class V> Ints ints(const V &v) { return Ints(v.begin(), v.end()); }

// Each function twice: for both sides, and for devices alone. What they do is the same.
struct Odd {
    __host__ __device__ bool operator()(int x) const { return x % 2 != 0; }
};
struct OddOnDevice {
    __device__ bool operator()(int x) const { return x % 2 != 0; }
};
struct Twice {
    __host__ __device__ int operator()(int x) const { return 2 * x + 1; }
};
struct TwiceOnDevice {
    __device__ int operator()(int x) const { return 2 * x + 1; }
};
struct Add {
    __host__ __device__ int operator()(int a, int b) const { return a + b; }
};
struct AddOnDevice {
    __device__ int operator()(int a, int b) const { return a + b; }
};
struct ByDigit {
    __host__ __device__ bool operator()(int a, int b) const { return a % 10 < b % 10; }
};
struct ByDigitOnDevice {
    __device__ bool operator()(int a, int b) const { return a % 10 < b % 10; }
};
struct SameTens {
    __host__ __device__ bool operator()(int a, int b) const { return a / 10 == b / 10; }
};
struct SameTensOnDevice {
    __device__ bool operator()(int a, int b) const { return a / 10 == b / 10; }
};

template <class Vector, class Odd, class Twice, class Add, class ByDigit, class SameTens> void check_algorithms(int n) {
    std::mt19937 random(n);
    Ints h(n), k(n);
    for (int &x : h) x = random() % 100;
    for (int &x : k) x = random() % 100;
    Odd odd;
    Twice twice;
    Add add;
    ByDigit by_digit;
    SameTens same_tens;
    auto host_odd = [](int x) { return x % 2 != 0; };
    auto host_by_digit = [](int a, int b) { return a % 10 < b % 10; };
    auto host_same_tens = [](int a, int b) { return a / 10 == b / 10; };
    const Vector d(h.begin(), h.end());
    Vector e(n), f(n);
    Ints expected(n);

    // ---- elementwise
    thrust::transform(d.begin(), d.end(), e.begin(), twice);
    std::transform(h.begin(), h.end(), expected.begin(), [](int x) { return 2 * x + 1; });
    CHECK(ints(e) == expected);
    auto end = thrust::transform(d.begin(), d.end(), e.begin(), f.begin(), add);
    for (int i = 0; i < n; i++) expected[i] = 3 * h[i] + 1;
    CHECK(ints(f) == expected && end == f.end());
    thrust::transform_if(d.begin(), d.end(), e.begin(), twice, odd);
    CHECK(ints(e)[0] == 2 * h[0] + 1);
    thrust::fill(e.begin(), e.end(), 7);
    thrust::transform_if(d.begin(), d.end(), d.begin(), e.begin(), twice, odd);
    for (int i = 0; i < n; i++) expected[i] = h[i] % 2 ? 2 * h[i] + 1 : 7;
    CHECK(ints(e) == expected);
    thrust::tabulate(e.begin(), e.end(), twice);
    for (int i = 0; i < n; i++) expected[i] = 2 * i + 1;
    CHECK(ints(e) == expected);
    thrust::sequence(e.begin(), e.end(), 5, 3);
    for (int i = 0; i < n; i++) expected[i] = 5 + 3 * i;
    CHECK(ints(e) == expected);
    e = d;
    thrust::replace_if(e.begin(), e.end(), odd, -1);
    expected = h;
    std::replace_if(expected.begin(), expected.end(), host_odd, -1);
    CHECK(ints(e) == expected);
    thrust::replace(e.begin(), e.end(), -1, 4);
    std::replace(expected.begin(), expected.end(), -1, 4);
    CHECK(ints(e) == expected);

    // ---- reductions
    int sum = std::accumulate(h.begin(), h.end(), 0);
    CHECK(thrust::reduce(d.begin(), d.end()) == sum);
    CHECK(thrust::reduce(d.begin(), d.end(), 10, add) == sum + 10);
    CHECK(thrust::reduce(d.begin(), d.end(), 50, thrust::maximum<int>()) ==
          std::max(50, *std::max_element(h.begin(), h.end())));
    CHECK(thrust::transform_reduce(d.begin(), d.end(), twice, 1, add) == 2 * sum + n + 1);
    CHECK(thrust::inner_product(d.begin(), d.end(), d.begin(), 3) ==
          std::inner_product(h.begin(), h.end(), h.begin(), 3));
    CHECK(thrust::inner_product(d.begin(), d.end(), d.begin(), 3, add, add) == 2 * sum + 3);
    CHECK(thrust::count_if(d.begin(), d.end(), odd) == std::count_if(h.begin(), h.end(), host_odd));
    CHECK(thrust::count(d.begin(), d.end(), h[0]) == std::count(h.begin(), h.end(), h[0]));

    // ---- scans
    thrust::inclusive_scan(d.begin(), d.end(), e.begin(), add);
    std::partial_sum(h.begin(), h.end(), expected.begin());
    CHECK(ints(e) == expected);
    thrust::exclusive_scan(d.begin(), d.end(), e.begin(), 4);
    for (int i = n - 1; i > 0; i--) expected[i] = expected[i - 1] + 4;
    expected[0] = 4;
    CHECK(ints(e) == expected);
    e = d;
    thrust::exclusive_scan(e.begin(), e.end(), e.begin(), 4, add);
    CHECK(ints(e) == expected);
    thrust::transform_exclusive_scan(d.begin(), d.end(), e.begin(), twice, 0, add);
    for (int i = 0, s = 0; i < n; s += 2 * h[i++] + 1) expected[i] = s;
    CHECK(ints(e) == expected);
    Vector keys(h.begin(), h.end());
    thrust::inclusive_scan_by_key(keys.begin(), keys.end(), d.begin(), e.begin(), same_tens, add);
    for (int i = 0; i < n; i++) expected[i] = i && h[i] / 10 == h[i - 1] / 10 ? expected[i - 1] + h[i] : h[i];
    CHECK(ints(e) == expected);
    thrust::exclusive_scan_by_key(keys.begin(), keys.end(), d.begin(), e.begin(), 1, same_tens, add);
    for (int i = 0; i < n; i++) expected[i] = i && h[i] / 10 == h[i - 1] / 10 ? expected[i - 1] + h[i - 1] : 1;
    CHECK(ints(e) == expected);

    // ---- sorting
    e = d;
    thrust::sequence(f.begin(), f.end());
    thrust::stable_sort_by_key(e.begin(), e.end(), f.begin(), by_digit);
    Ints places(n);
    std::iota(places.begin(), places.end(), 0);
    std::stable_sort(places.begin(), places.end(), [&](int a, int b) { return h[a] % 10 < h[b] % 10; });
    CHECK(ints(f) == places);
    expected = h;
    std::stable_sort(expected.begin(), expected.end(), host_by_digit);
    CHECK(ints(e) == expected && thrust::is_sorted(e.begin(), e.end(), by_digit));
    e = d;
    thrust::sort(e.begin(), e.end(), by_digit);
    CHECK(ints(e) == expected);
    thrust::sort(e.begin(), e.end(), thrust::greater<int>());
    std::sort(expected.begin(), expected.end(), std::greater<int>());
    CHECK(ints(e) == expected && (!thrust::is_sorted(e.begin(), e.end()) || n < 3));
    thrust::sort(e.begin(), e.end());
    std::sort(expected.begin(), expected.end());
    CHECK(ints(e) == expected);

    // ---- searches in what is sorted
    Vector wanted(k.begin(), k.end());
    thrust::lower_bound(e.begin(), e.end(), wanted.begin(), wanted.end(), f.begin());
    Ints found(n), found_above(n);
    for (int i = 0; i < n; i++) found[i] = std::lower_bound(expected.begin(), expected.end(), k[i]) - expected.begin();
    for (int i = 0; i < n; i++)
        found_above[i] = std::upper_bound(expected.begin(), expected.end(), k[i]) - expected.begin();
    CHECK(ints(f) == found);
    thrust::upper_bound(e.begin(), e.end(), wanted.begin(), wanted.end(), f.begin());
    CHECK(ints(f) == found_above);
    CHECK(thrust::lower_bound(e.begin(), e.end(), k[0]) - e.begin() == found[0]);
    CHECK(thrust::binary_search(e.begin(), e.end(), k[0]) == (found[0] != found_above[0]));
    CHECK(thrust::equal_range(e.begin(), e.end(), k[0]).second - e.begin() == found_above[0]);

    // ---- fewer elements
    Ints sorted = expected;
    Vector g = e;
    g.erase(thrust::unique(g.begin(), g.end(), same_tens), g.end());
    expected.erase(std::unique(expected.begin(), expected.end(), host_same_tens), expected.end());
    CHECK(ints(g) == expected);
    g = e;
    Vector values(n);
    thrust::sequence(values.begin(), values.end());
    auto ends = thrust::unique_by_key(g.begin(), g.end(), values.begin(), same_tens);
    size_t kept = ends.first - g.begin();
    CHECK(kept == expected.size() && values.begin() + kept == ends.second);
    CHECK(kept < 2 || sorted[values[1]] == expected[1]);
    auto sums = thrust::reduce_by_key(e.begin(), e.end(), e.begin(), g.begin(), values.begin(), same_tens, add);
    std::map<int, int> by_tens;
    for (int x : sorted) by_tens[x / 10] += x;
    Ints totals;
    for (auto &each : by_tens) totals.push_back(each.second);
    CHECK(Ints(values.begin(), sums.second) == totals);
    g = d;
    g.resize(thrust::remove_if(g.begin(), g.end(), odd) - g.begin());
    expected = h;
    expected.erase(std::remove_if(expected.begin(), expected.end(), host_odd), expected.end());
    CHECK(ints(g) == expected);
    auto out = thrust::copy_if(d.begin(), d.end(), f.begin(), odd);
    Ints chosen;
    std::copy_if(h.begin(), h.end(), std::back_inserter(chosen), host_odd);
    CHECK(Ints(f.begin(), out) == chosen);
    out = thrust::copy_if(thrust::make_counting_iterator(0), thrust::make_counting_iterator(n), d.begin(), f.begin(), odd);
    Ints chosen_places;
    for (int i = 0; i < n; i++)
        if (h[i] % 2) chosen_places.push_back(i);
    CHECK(Ints(f.begin(), out) == chosen_places);
    e = d;
    auto middle = thrust::stable_partition(e.begin(), e.end(), odd);
    CHECK(Ints(e.begin(), middle) == chosen && Ints(middle, e.end()) == expected);
    auto parts = thrust::partition_copy(d.begin(), d.end(), e.begin(), f.begin(), odd);
    CHECK(Ints(e.begin(), parts.first) == chosen && Ints(f.begin(), parts.second) == expected);

    // ---- questions
    CHECK(thrust::find_if(d.begin(), d.end(), odd) - d.begin() ==
          std::find_if(h.begin(), h.end(), host_odd) - h.begin());
    CHECK(thrust::find(d.begin(), d.end(), h[n / 2]) - d.begin() ==
          std::find(h.begin(), h.end(), h[n / 2]) - h.begin());
    CHECK(thrust::find(d.begin(), d.end(), 1000) == d.end());
    CHECK(thrust::any_of(d.begin(), d.end(), odd) == std::any_of(h.begin(), h.end(), host_odd));
    CHECK(thrust::all_of(d.begin(), d.end(), odd) == std::all_of(h.begin(), h.end(), host_odd));
    CHECK(thrust::none_of(d.begin(), d.end(), odd) == std::none_of(h.begin(), h.end(), host_odd));
    CHECK(thrust::max_element(d.begin(), d.end(), by_digit) - d.begin() ==
          std::max_element(h.begin(), h.end(), host_by_digit) - h.begin());
    auto extremes = thrust::minmax_element(d.begin(), d.end());
    CHECK(extremes.first - d.begin() == std::min_element(h.begin(), h.end()) - h.begin());
    CHECK(extremes.second - d.begin() == std::max_element(h.begin(), h.end()) - h.begin());
    e = d;
    CHECK(thrust::equal(d.begin(), d.end(), e.begin()));
    e[n - 1] += 10;
    CHECK(!thrust::equal(d.begin(), d.end(), e.begin()));
    CHECK(thrust::mismatch(d.begin(), d.end(), e.begin(), same_tens).first - d.begin() == n - 1);

    // ---- movement
    std::shuffle(places.begin(), places.end(), random);
    Vector map(places.begin(), places.end());
    thrust::gather(map.begin(), map.end(), d.begin(), e.begin());
    for (int i = 0; i < n; i++) expected.resize(n), expected[i] = h[places[i]];
    CHECK(ints(e) == expected);
    thrust::scatter(e.begin(), e.end(), map.begin(), f.begin());
    CHECK(ints(f) == h);
    thrust::fill(f.begin(), f.end(), 0);
    thrust::scatter_if(e.begin(), e.end(), map.begin(), e.begin(), f.begin(), odd);
    for (int i = 0; i < n; i++) expected[i] = h[i] % 2 ? h[i] : 0;
    CHECK(ints(f) == expected);
    e = d;
    thrust::reverse(e.begin(), e.end());
    expected = h;
    std::reverse(expected.begin(), expected.end());
    CHECK(ints(e) == expected);
    thrust::adjacent_difference(d.begin(), d.end(), e.begin(), add);
    for (int i = 0; i < n; i++) expected[i] = i ? h[i] + h[i - 1] : h[i];
    CHECK(ints(e) == expected);

    // ---- sorted ranges together
    Ints other(k);
    std::sort(other.begin(), other.end());
    Vector a(sorted.begin(), sorted.end()), b(other.begin(), other.end()), c(2 * n);
    Ints both(2 * n);
    thrust::merge(a.begin(), a.end(), b.begin(), b.end(), c.begin());
    std::merge(sorted.begin(), sorted.end(), other.begin(), other.end(), both.begin());
    CHECK(ints(c) == both);
#define CHECK_SET(name)                                                                            \
    CHECK(Ints(c.begin(), thrust::name(a.begin(), a.end(), b.begin(), b.end(), c.begin())) ==      \
          Ints(both.begin(), std::name(sorted.begin(), sorted.end(), other.begin(), other.end(), both.begin())))
    CHECK_SET(set_union);
    CHECK_SET(set_intersection);
    CHECK_SET(set_difference);
    CHECK_SET(set_symmetric_difference);
    CHECK(thrust::includes(c.begin(), c.begin(), a.begin(), a.begin()));
}

void check_lambdas_and_iterators() {
    const int n = 500;
    thrust::device_vector<float> x(n, 2.0f), y(n);
    thrust::sequence(y.begin(), y.end());
    float *raw = thrust::raw_pointer_cast(y.data()), a = 3;
    thrust::for_each(thrust::device, thrust::counting_iterator<int>(0), thrust::counting_iterator<int>(n),
                     [=] __device__(int i) { raw[i] = a * raw[i] + 1; });
    CHECK(y[10] == 31 && y[n - 1] == 3 * (n - 1) + 1);
    auto both = thrust::make_zip_iterator(thrust::make_tuple(x.begin(), y.begin()));
    thrust::for_each(both, both + n, [] __device__(thrust::tuple<float &, float &> t) {
        thrust::get<1>(t) -= thrust::get<0>(t);
    });
    CHECK(y[10] == 29);
    thrust::for_each_n(both, n, thrust::make_zip_function([] __device__(float &p, float &q) { q += p, p = -p; }));
    CHECK(x[0] == -2 && y[10] == 31);
    auto squares = thrust::make_transform_iterator(y.begin(), [] __device__(float v) { return v * v; });
    CHECK(thrust::reduce(squares, squares + 3, 0.0f) == 1 + 16 + 49);
    CHECK(thrust::reduce(thrust::cuda::par.on(0), squares, squares + 3, 0.0f, thrust::maximum<float>()) == 49);
    thrust::device_vector<int> order(n);
    thrust::sequence(order.rbegin(), order.rend());
    auto permuted = thrust::make_permutation_iterator(y.begin(), order.begin());
    CHECK(permuted[0] == y[n - 1] && *(permuted + 2) == y[n - 3]);
    auto backwards = thrust::make_reverse_iterator(y.end());
    CHECK(backwards[0] == y[n - 1] && thrust::equal(backwards, backwards + n, permuted));
    // Rows of a matrix by their number.
    auto row = thrust::make_transform_iterator(thrust::counting_iterator<int>(0), [] __host__ __device__(int i) { return i / 100; });
    thrust::device_vector<float> sums(5), ones(n, 1.0f);
    thrust::reduce_by_key(row, row + n, ones.begin(), thrust::make_discard_iterator(), sums.begin());
    CHECK(thrust::count(sums.begin(), sums.end(), 100.0f) == 5);
    // Sorting pairs by way of a zip iterator.
    thrust::device_vector<int> first(3), second(3);
    first[0] = 2, first[1] = 1, first[2] = 2, second[0] = 1, second[1] = 5, second[2] = 0;
    auto pairs = thrust::make_zip_iterator(first.begin(), second.begin());
    thrust::sort(pairs, pairs + 3);
    CHECK(first[0] == 1 && second[0] == 5 && second[1] == 0 && second[2] == 1);
    auto total = thrust::transform_reduce(
        pairs, pairs + 3, [] __device__(const thrust::tuple<int, int> &t) { return thrust::get<0>(t) * thrust::get<1>(t); },
        0, thrust::plus<int>());
    CHECK(total == 5 + 0 + 2);
    // Functions for any type, which make sense of what they are given alone.
    thrust::for_each_n(both, n, [] __host__ __device__(auto t) { thrust::get<0>(t) = thrust::get<1>(t) + 1; });
    thrust::for_each_n(thrust::device, both, n, [] __device__(auto t) { thrust::get<1>(t) += thrust::get<0>(t); });
    thrust::transform(pairs, pairs + 3, first.begin(), second.begin(),
                      [] __host__ __device__(auto t, auto x) { return thrust::get<1>(t) + x; });
    CHECK(x[10] == 32 && y[10] == 63 && second[0] == 6);
    {
        using namespace thrust::placeholders;
        thrust::sequence(y.begin(), y.end());
        thrust::transform(y.begin(), y.end(), ones.begin(), y.begin(), 2 * _1 + _2);
        CHECK(y[0] == 1 && y[10] == 21);
        CHECK(thrust::count_if(y.begin(), y.end(), _1 > 100.0f && !(_1 >= 200.0f)) == 50);
        thrust::host_vector<int, thrust::system::cuda::experimental::pinned_allocator<int>> pinned(3, 7);
        CHECK(thrust::reduce(pinned.begin(), pinned.end()) == 21);
    }
    // Sums of many floats don't stop growing.
    thrust::device_vector<float> many(1 << 25, 1.0f);
    CHECK(thrust::reduce(many.begin(), many.end()) == float(1 << 25));
}

void check_vectors() {
    thrust::device_vector<int> v(4, 1);
    v.push_back(9);
    v.insert(v.begin() + 1, 2, 5);
    CHECK((ints(v) == Ints{1, 5, 5, 1, 1, 1, 9}));
    v.erase(v.begin(), v.begin() + 2);
    v.resize(7, 3);
    CHECK((ints(v) == Ints{5, 1, 1, 1, 9, 3, 3}) && v.size() == 7 && v.front() == 5 && v.back() == 3);
    thrust::host_vector<int> h = v;
    h[0] = 100;
    v = h;
    std::list<int> from_list = {1, 2, 3};
    thrust::device_vector<int> w(from_list.begin(), from_list.end());
    v.swap(w);
    CHECK((ints(v) == Ints{1, 2, 3}) && w[0] == 100 && w != v);
    thrust::copy(h.begin(), h.begin() + 3, v.begin());
    CHECK(v[0] == 100 && thrust::raw_pointer_cast(&v[0]) == v.data().get());
    thrust::device_vector<bool> flags(3, true);
    CHECK(thrust::count(flags.begin(), flags.end(), true) == 3);
    int *raw;
    cudaMalloc(&raw, 5 * sizeof(int));
    thrust::device_ptr<int> pointer(raw);
    thrust::fill_n(pointer, 5, 8);
    pointer[1] = 4;
    CHECK(thrust::reduce(thrust::device, raw, raw + 5) == 36 && *pointer == 8);
    cudaFree(raw);
}

void check_numbers() {
    // The C++ standard: the 10000th number of a default-constructed engine.
    thrust::minstd_rand0 old_engine;
    thrust::minstd_rand engine, skipped;
    old_engine.discard(9999), engine.discard(9998), engine();
    CHECK(old_engine() == 1043618065u && engine() == 399268537u);
    skipped.discard(10000);
    CHECK(skipped == engine);
    thrust::ranlux24 luxury;
    thrust::ranlux48 more_luxury;
    luxury.discard(9999), more_luxury.discard(9999);
    CHECK(luxury() == 9901578u && more_luxury() == 249142670248501ull);
    thrust::random::uniform_real_distribution<double> real(-1, 3);
    thrust::uniform_int_distribution<int> dice(1, 6);
    thrust::normal_distribution<double> normal(10, 2);
    double sum = 0, squares = 0, least = 1e9, greatest = -1e9;
    int faces[7] = {};
    for (int i = 0; i < 20000; i++) {
        double z = normal(engine), u = real(engine);
        sum += z, squares += (z - 10) * (z - 10);
        least = std::min(least, u), greatest = std::max(greatest, u);
        faces[dice(engine)]++;
    }
    CHECK(fabs(sum / 20000 - 10) < 0.05 && fabs(squares / 20000 - 4) < 0.15);
    CHECK(least >= -1 && least < -0.99 && greatest < 3 && greatest > 2.99);
    for (int face = 1; face <= 6; face++) CHECK(abs(faces[face] - 3333) < 300);
    Ints order(100);
    std::iota(order.begin(), order.end(), 0);
    thrust::device_vector<int> shuffled(order.begin(), order.end());
    thrust::shuffle(shuffled.begin(), shuffled.end(), engine);
    CHECK(ints(shuffled) != order);
    thrust::sort(shuffled.begin(), shuffled.end());
    CHECK(ints(shuffled) == order);

    auto near = [](thrust::complex<double> a, std::complex<double> b) {
        return std::abs(std::complex<double>(a) - b) < 1e-12 * (1 + std::abs(b));
    };
    for (auto z : {std::complex<double>(1, 2), std::complex<double>(-3, 0.5), std::complex<double>(0.1, -4)}) {
        thrust::complex<double> t(z), u(2, -1);
        std::complex<double> s(2, -1);
        CHECK(near(t * u, z * s) && near(t / u, z / s) && near(t - 2.0, z - 2.0) && near(3.0 / t, 3.0 / z));
        CHECK(near(sqrt(t), std::sqrt(z)) && near(exp(t), std::exp(z)) && near(log(t), std::log(z)));
        CHECK(near(pow(t, u), std::pow(z, s)) && near(sin(t), std::sin(z)) && near(tanh(t), std::tanh(z)));
        CHECK(near(conj(t), std::conj(z)) && fabs(abs(t) - std::abs(z)) < 1e-12 && near(t += u, z + s));
    }
    thrust::device_vector<thrust::complex<float>> v(100, thrust::complex<float>(1, 1));
    CHECK(thrust::reduce(v.begin(), v.end()) == thrust::complex<float>(100, 100));
}

// Algorithms that device code calls itself.
__global__ void use_in_kernel(int *x, int n, int *found) {
    thrust::sort(thrust::seq, x, x + n);
    found[0] = thrust::reduce(thrust::device, x, x + n, 0);
    found[1] = thrust::lower_bound(thrust::seq, x, x + n, 5) - x;
    found[2] = thrust::unique(thrust::seq, x, x + n) - x;
    thrust::minstd_rand engine(7);
    thrust::uniform_real_distribution<float> real(0, 1);
    engine.discard(10);
    found[3] = (int)(real(engine) * 1e6f);
    thrust::complex<float> z = exp(thrust::complex<float>(0.0f, 1.0f)) * 2.0f;
    found[4] = (int)(z.real() * 1e4f);
}
void check_in_kernel() {
    Ints h = {5, 3, 9, 3, 5, 1};
    thrust::device_vector<int> x(h.begin(), h.end()), found(5);
    use_in_kernel<<<1, 1>>>(x.data().get(), 6, found.data().get());
    thrust::minstd_rand engine(7);
    thrust::uniform_real_distribution<float> real(0, 1);
    engine.discard(10);
    CHECK((ints(found) == Ints{26, 3, 4, (int)(real(engine) * 1e6f), (int)(2 * cosf(1) * 1e4f)}));
    CHECK(x[0] == 1 && x[3] == 9);
}

int main() {
    typedef thrust::device_vector<int> Device;
    for (int n : {1, 300}) {
        check_algorithms<Device, Odd, Twice, Add, ByDigit, SameTens>(n);
        check_algorithms<Device, OddOnDevice, TwiceOnDevice, AddOnDevice, ByDigitOnDevice, SameTensOnDevice>(n);
        check_algorithms<thrust::host_vector<int>, Odd, Twice, Add, ByDigit, SameTens>(n);
    }
    check_lambdas_and_iterators();
    check_vectors();
    check_numbers();
    check_in_kernel();
    printf("%d checks, %d failures\n", checks, failures);
    return failures != 0;
}
