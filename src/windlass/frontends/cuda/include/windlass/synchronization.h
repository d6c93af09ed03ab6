// Barriers, fences, clocks, and the ways for a thread to stop.
#pragma once

#ifdef __NVPTX__
// __syncthreads itself is known to clang: llvm.nvvm.barrier.cta.sync.aligned.all.
__WINDLASS_DEVICE int __syncthreads_count(int predicate) { return __nvvm_bar0_popc(predicate); }
__WINDLASS_DEVICE int __syncthreads_and(int predicate) { return __nvvm_bar0_and(predicate); }
__WINDLASS_DEVICE int __syncthreads_or(int predicate) { return __nvvm_bar0_or(predicate); }
__WINDLASS_DEVICE void __syncwarp(unsigned int mask = 0xffffffffu) { __nvvm_bar_warp_sync(mask); }
__WINDLASS_DEVICE void __threadfence() { __nvvm_membar_gl(); }
__WINDLASS_DEVICE void __threadfence_block() { __nvvm_membar_cta(); }
__WINDLASS_DEVICE void __threadfence_system() { __nvvm_membar_sys(); }
#else
extern "C" __attribute__((device)) void __syncthreads(void);
__attribute__((device)) int __syncthreads_count(int);
__attribute__((device)) int __syncthreads_and(int);
__attribute__((device)) int __syncthreads_or(int);
__attribute__((device)) void __syncwarp(unsigned int = 0xffffffffu);
__attribute__((device)) void __threadfence();
__attribute__((device)) void __threadfence_block();
__attribute__((device)) void __threadfence_system();
#endif

__WINDLASS_MEETS void __windlass_grid_sync();
__WINDLASS_ACTS long long __windlass_clock();
__WINDLASS_ACTS unsigned int __windlass_smid();
__WINDLASS_ACTS void __windlass_trap();

__WINDLASS_DEVICE long long clock64() { return __windlass_clock(); }
__WINDLASS_DEVICE clock_t clock() { return (clock_t)__windlass_clock(); }
__WINDLASS_DEVICE unsigned long long globaltimer() { return (unsigned long long)__windlass_clock(); }
__WINDLASS_DEVICE void __nanosleep(unsigned int) {}
__WINDLASS_DEVICE unsigned int __smid() { return __windlass_smid(); }
__WINDLASS_DEVICE void __trap() { __windlass_trap(); }
__WINDLASS_DEVICE void __brkpt(int = 0) { __windlass_trap(); }
__WINDLASS_DEVICE void __prof_trigger(int) {}
