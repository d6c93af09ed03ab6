// From here on each operation rounds as written, whatever the program was compiled with; exact_end.h takes it back.
// (No include guard: both may be needed more than once.)
#pragma clang fp contract(off)
