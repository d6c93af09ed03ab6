// Back to how the program is compiled.
#ifdef __WINDLASS_FAST_MATH
#pragma clang fp contract(fast)
#endif
