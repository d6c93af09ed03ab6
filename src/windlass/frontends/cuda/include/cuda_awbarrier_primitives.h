// Barriers as objects, by functions: __mbarrier_init and what goes with it.
#pragma once
#include "windlass/asynchronous.h"

typedef unsigned long long __mbarrier_t;
typedef unsigned int __mbarrier_token_t;

__WINDLASS_DEVICE void __mbarrier_init(__mbarrier_t *barrier, unsigned int count) { __windlass_barrier_open(barrier, count); }
__WINDLASS_DEVICE void __mbarrier_inval(__mbarrier_t *) {}
__WINDLASS_DEVICE __mbarrier_token_t __mbarrier_arrive(__mbarrier_t *barrier) {
    return __windlass_barrier_arrive(barrier, 1, 0);
}
__WINDLASS_DEVICE __mbarrier_token_t __mbarrier_arrive_and_drop(__mbarrier_t *barrier) {
    return __windlass_barrier_arrive(barrier, 1, 1);
}
__WINDLASS_DEVICE bool __mbarrier_test_wait(__mbarrier_t *barrier, __mbarrier_token_t token) {
    return __windlass_barrier_passed(barrier, token);
}
__WINDLASS_DEVICE bool __mbarrier_try_wait(__mbarrier_t *barrier, __mbarrier_token_t token, unsigned int = 0) {
    return __windlass_barrier_passed(barrier, token);
}
__WINDLASS_DEVICE bool __mbarrier_test_wait_parity(__mbarrier_t *barrier, bool parity) {
    return __windlass_barrier_passed(barrier, 0x80000000u | parity);
}
__WINDLASS_DEVICE bool __mbarrier_try_wait_parity(__mbarrier_t *barrier, bool parity, unsigned int = 0) {
    return __windlass_barrier_passed(barrier, 0x80000000u | parity);
}
__WINDLASS_DEVICE void __pipeline_arrive_on(__mbarrier_t *) {}
