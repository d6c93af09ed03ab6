// Loads and stores with cache hints (the hints are dropped), questions about address spaces, assertions, assumptions.
#pragma once

#define __WINDLASS_LOAD(name) \
    template <class T> __WINDLASS_DEVICE T name(const T *address) { return *address; }
__WINDLASS_LOAD(__ldg)
__WINDLASS_LOAD(__ldca)
__WINDLASS_LOAD(__ldcg)
__WINDLASS_LOAD(__ldcs)
__WINDLASS_LOAD(__ldcv)
__WINDLASS_LOAD(__ldlu)
#undef __WINDLASS_LOAD
#define __WINDLASS_STORE(name) \
    template <class T, class U> __WINDLASS_DEVICE void name(T *address, U value) { *address = (T)value; }
__WINDLASS_STORE(__stwb)
__WINDLASS_STORE(__stcg)
__WINDLASS_STORE(__stcs)
__WINDLASS_STORE(__stwt)
#undef __WINDLASS_STORE

#ifdef __NVPTX__
__WINDLASS_DEVICE unsigned int __isGlobal(const void *address) { return __nvvm_isspacep_global(address); }
__WINDLASS_DEVICE unsigned int __isShared(const void *address) { return __nvvm_isspacep_shared(address); }
__WINDLASS_DEVICE unsigned int __isConstant(const void *address) { return __nvvm_isspacep_const(address); }
__WINDLASS_DEVICE unsigned int __isLocal(const void *address) { return __nvvm_isspacep_local(address); }
__WINDLASS_DEVICE size_t __cvta_generic_to_global(const void *address) {
    return (size_t)(__attribute__((address_space(1))) const void *)address;
}
__WINDLASS_DEVICE size_t __cvta_generic_to_shared(const void *address) {
    return (size_t)(__attribute__((address_space(3))) const void *)address;
}
#endif

#define __builtin_assume_aligned_to(pointer, alignment) __builtin_assume_aligned(pointer, alignment)
#define __nv_associate_access_property(address, property) (address)

// An assertion that fails is a call, not the end of control flow: where assertions are ignored the call is dropped.
extern "C" __attribute__((host, device, nothrow)) void __windlass_assert_fail(const char *condition, const char *file,
                                                                              unsigned int line, const char *function);
