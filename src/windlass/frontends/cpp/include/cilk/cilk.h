/* Cilk by its serial elision: a loop is OpenMP's to clang, a spawn is a call, and nothing is left to wait for. */
#pragma once

#define cilk_for _Pragma("omp parallel for") for
#define cilk_spawn
#define cilk_sync
#define cilk_scope
#define _Cilk_for cilk_for
#define _Cilk_spawn cilk_spawn
#define _Cilk_sync cilk_sync
#define _Cilk_scope cilk_scope
