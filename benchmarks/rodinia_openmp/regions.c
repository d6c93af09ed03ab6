/* Loaded before libgomp: adds up the CPU time of all threads within parallel regions, and writes seconds and number of
   regions to the file that RODINIA_REGIONS names. All regions have as many threads as OMP_NUM_THREADS says. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double seconds;
static long regions;
static int is_within;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

static double enter(void) { return is_within++ ? -1 : now(); }

static void leave(double begin) {
    is_within--;
    if (begin >= 0) {
        seconds += now() - begin;
        regions++;
    }
}

typedef void (*body)(void *);

#define LOOP(name)                                                                                                     \
    void name(body run, void *data, unsigned threads, long start, long end, long step, long chunk, unsigned flags) {   \
        static void (*real)(body, void *, unsigned, long, long, long, long, unsigned);                                 \
        if (!real) real = dlsym(RTLD_NEXT, #name);                                                                     \
        double begin = enter();                                                                                        \
        real(run, data, 0, start, end, step, chunk, flags);                                                            \
        leave(begin);                                                                                                  \
    }
LOOP(GOMP_parallel_loop_static)
LOOP(GOMP_parallel_loop_dynamic)
LOOP(GOMP_parallel_loop_guided)
LOOP(GOMP_parallel_loop_nonmonotonic_dynamic)
LOOP(GOMP_parallel_loop_nonmonotonic_guided)

void GOMP_parallel(body run, void *data, unsigned threads, unsigned flags) {
    static void (*real)(body, void *, unsigned, unsigned);
    if (!real) real = dlsym(RTLD_NEXT, "GOMP_parallel");
    double begin = enter();
    real(run, data, 0, flags);
    leave(begin);
}

void omp_set_num_threads(int threads) {}

__attribute__((destructor)) static void tell(void) {
    const char *path = getenv("RODINIA_REGIONS");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file) {
        fprintf(file, "%.9f %ld\n", seconds, regions);
        fclose(file);
    }
}
