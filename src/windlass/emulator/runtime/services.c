// What kernels call besides the hardware: printf, assert, trap, clocks, and conversions that the compiler leaves to a library.
#include "machine.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

// ---- text that kernels print: kept until the caller takes it

static char *output;
static size_t output_size, output_capacity;

static void append(const char *text, size_t size) {
    if (output_size + size + 1 > output_capacity) {
        size_t capacity = 2 * (output_size + size + 1);
        char *more = realloc(output, capacity);
        if (!more) leave(OUT_OF_MEMORY);
        output = more;
        output_capacity = capacity;
    }
    memcpy(output + output_size, text, size);
    output_size += size;
}

EXPORT const char *wl_output(uint64_t *size) {
    *size = output_size;
    return output;
}
EXPORT void wl_clear_output(void) { output_size = 0; }

static bool is_readable(uint64_t address, uint64_t size) {
    if (find_region(address, size)) return true;
    uint64_t offset = address - (uint64_t)local_memory;
    return offset < (uint64_t)MOST_THREADS << LOCAL_SHIFT && offset + size <= (uint64_t)MOST_THREADS << LOCAL_SHIFT;
}

// The length of a C string in memory that the kernel may read.
static size_t checked_length(const char *text, uint32_t site_number) {
    size_t length = 0;
    for (;; length++) {
        if (!is_readable((uint64_t)text + length, 1)) {
            wl_fault.address = (uint64_t)text + length;
            wl_fault.size = 1;
            fail(OUT_OF_BOUNDS, site_number);
        }
        if (!text[length]) return length;
    }
}

static const char *take_argument(const char **arguments, size_t size, uint32_t site_number) {
    uint64_t address = ((uint64_t)*arguments + size - 1) & ~(uint64_t)(size - 1);
    if (!is_readable(address, size)) {
        wl_fault.address = address;
        wl_fault.size = size;
        fail(OUT_OF_BOUNDS, site_number);
    }
    *arguments = (const char *)(address + size);
    return (const char *)address;
}

// More digits of a width or precision are left out: the C library would write all of them, however long that takes.
enum { MOST_SPECIFICATION = 64, MOST_CONVERTED = 4096, MOST_DIGITS = 4, MOST_WIDTH = 9999 };

// One conversion, from after its '%'. Returns where the format goes on.
static const char *convert(const char *format, const char **arguments, uint32_t site_number, int *written) {
    char specification[MOST_SPECIFICATION] = "%", text[MOST_CONVERTED];
    size_t length = 1, wide = 0, digits = 0;
    const char *start = format;
    for (; *format && strchr("-+ #0123456789.*hlLqjztI", *format); format++) {
        digits = *format >= '0' && *format <= '9' ? digits + 1 : 0;
        if (*format == '*') {
            int32_t value;
            memcpy(&value, take_argument(arguments, 4, site_number), 4);
            value = value > MOST_WIDTH ? MOST_WIDTH : value < -MOST_WIDTH ? -MOST_WIDTH : value;
            if (length + 12 < MOST_SPECIFICATION) length += (size_t)snprintf(specification + length, 12, "%d", value);
        } else if (*format == 'l' || *format == 'j' || *format == 'z' || *format == 't' || *format == 'q') {
            wide = 1;
        } else if (length + 4 < MOST_SPECIFICATION && *format != 'L' && digits <= MOST_DIGITS) {
            specification[length++] = *format;
        }
    }
    int size = 0;
    switch (*format) {
    case 'd': case 'i': case 'u': case 'o': case 'x': case 'X': case 'c': {
        if (wide && *format != 'c') {
            long long value;
            memcpy(&value, take_argument(arguments, 8, site_number), 8);
            specification[length++] = 'l';
            specification[length++] = 'l';
            specification[length++] = *format;
            size = snprintf(text, sizeof text, specification, value);
        } else {
            int value;
            memcpy(&value, take_argument(arguments, 4, site_number), 4);
            specification[length++] = *format;
            size = snprintf(text, sizeof text, specification, value);
        }
        break;
    }
    case 'e': case 'E': case 'f': case 'F': case 'g': case 'G': case 'a': case 'A': {
        double value;
        memcpy(&value, take_argument(arguments, 8, site_number), 8);
        specification[length++] = *format;
        size = snprintf(text, sizeof text, specification, value);
        break;
    }
    case 'p': {
        void *value;
        memcpy(&value, take_argument(arguments, 8, site_number), 8);
        specification[length++] = 'p';
        size = snprintf(text, sizeof text, specification, value);
        break;
    }
    case 's': {
        const char *value;
        memcpy(&value, take_argument(arguments, 8, site_number), 8);
        if (length == 1) {
            size_t bytes = checked_length(value, site_number);
            append(value, bytes);
            *written += (int)bytes;
            return format + 1;
        }
        checked_length(value, site_number);
        specification[length++] = 's';
        size = snprintf(text, sizeof text, specification, value);
        break;
    }
    case '%': text[0] = '%'; size = 1; break;
    case 'n': fail(UNSUPPORTED, site_number); // writes to memory: devices have no such conversion
    default: // not a conversion: shown as it stands
        append("%", 1);
        append(start, (size_t)(format - start));
        return format;
    }
    if (size < 0) size = 0; // wider than the C library can tell
    if (size >= (int)sizeof text) size = (int)sizeof text - 1;
    append(text, (size_t)size);
    *written += size;
    return format + 1;
}

EXPORT int32_t wl_print(const char *format, const char *arguments, uint32_t site_number) {
    if (has_pending) settle_pending();
    checked_length(format, site_number);
    int written = 0;
    while (*format) {
        const char *percent = strchr(format, '%');
        size_t plain = percent ? (size_t)(percent - format) : strlen(format);
        append(format, plain);
        written += (int)plain;
        format += plain;
        if (percent) format = convert(percent + 1, &arguments, site_number, &written);
    }
    return written;
}

// ---- ways to stop

EXPORT void wl_assert(const char *message, const char *file, uint32_t line, const char *function, uint32_t site_number) {
    if (has_pending) settle_pending();
    if (message) checked_length(message, site_number);
    if (file) checked_length(file, site_number);
    if (function) checked_length(function, site_number);
    snprintf(wl_fault.message, sizeof wl_fault.message, "%s\n%s\n%u\n%s", message ? message : "", file ? file : "", line,
             function ? function : "");
    fail(ASSERTION, site_number);
}
EXPORT void wl_trap(uint32_t site_number) {
    if (has_pending) settle_pending();
    fail(TRAP, site_number);
}
EXPORT void wl_unsupported(uint32_t site_number) { fail(UNSUPPORTED, site_number); }
EXPORT void wl_exit(uint32_t site_number) {
    if (launch.uses_fibres) wait_as(DONE, 0);
    fail(UNSUPPORTED, site_number);
}

// ---- the device heap: each block is a region, so that its bounds are checked

enum { HEAP_GUARD = 1 << 16 };
EXPORT void *wl_allocate(uint64_t size, uint64_t guard);

EXPORT void *wl_malloc(uint64_t size, uint32_t site_number) {
    (void)site_number;
    if (size > 1ull << 40 || launch.region_count == launch.region_capacity) return NULL;
    void *memory = wl_allocate(size, HEAP_GUARD);
    if (!memory) return NULL;
    uint32_t place = launch.region_count++;
    for (; place > 0 && launch.regions[place - 1].base > (uint64_t)memory; place--)
        launch.regions[place] = launch.regions[place - 1];
    launch.regions[place] = (region){.base = (uint64_t)memory, .size = size, .kind = HEAP};
    return memory;
}

EXPORT void wl_heap_free(void *memory, uint32_t site_number) {
    if (!memory) return;
    region *found = find_region((uint64_t)memory, 1);
    if (!found || found->kind != HEAP || found->base != (uint64_t)memory) {
        wl_fault.address = (uint64_t)memory;
        fail(BAD_FREE, site_number);
    }
    found->size = 0; // the pages stay until the process ends: later accesses are out of bounds
}

// ---- clocks

EXPORT uint64_t wl_clock(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}
EXPORT uint32_t wl_clock_low(void) { return (uint32_t)wl_clock(); }

// ---- conversions and wide integers that code generation leaves to a compiler's library

static float half_to_float(_Float16 value) { return (float)value; }
static _Float16 float_to_half(float value) { return (_Float16)value; }
static _Float16 double_to_half(double value) { return (_Float16)value; }
static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}

// bfloat16 travels in the low half of a vector register, as _Float16 does.
static _Float16 as_register(uint16_t bits) {
    _Float16 value;
    memcpy(&value, &bits, 2);
    return value;
}
static _Float16 float_to_bfloat(float value) {
    uint32_t bits = bits_of(value);
    if ((bits & 0x7fffffff) > 0x7f800000) return as_register((uint16_t)(bits >> 16 | 0x40));
    return as_register((uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16));
}
// Rounds to float towards odd first: the second rounding is then exact.
static _Float16 double_to_bfloat(double value) {
    float narrow = (float)value;
    uint32_t bits = bits_of(narrow);
    if (value == value && (double)narrow != value) {
        bool is_above = narrow > 0 ? (double)narrow > value : (double)narrow < value;
        if (!(bits & 1)) bits = is_above ? bits - 1 : bits + 1;
        memcpy(&narrow, &bits, 4);
    }
    return float_to_bfloat(narrow);
}

typedef __int128 wide;
typedef unsigned __int128 unsigned_wide;
static wide wide_divide(wide a, wide b) { return a / b; }
static wide wide_remainder(wide a, wide b) { return a % b; }
static unsigned_wide unsigned_wide_divide(unsigned_wide a, unsigned_wide b) { return a / b; }
static unsigned_wide unsigned_wide_remainder(unsigned_wide a, unsigned_wide b) { return a % b; }
static wide wide_multiply(wide a, wide b) { return a * b; }
static double wide_to_double(wide a) { return (double)a; }
static double unsigned_wide_to_double(unsigned_wide a) { return (double)a; }
static float wide_to_float(wide a) { return (float)a; }
static float unsigned_wide_to_float(unsigned_wide a) { return (float)a; }
static _Float16 wide_to_half(wide a) { return (_Float16)a; }
static _Float16 unsigned_wide_to_half(unsigned_wide a) { return (_Float16)a; }
static wide half_to_wide(_Float16 a) { return (wide)a; }
static unsigned_wide half_to_unsigned_wide(_Float16 a) { return (unsigned_wide)a; }
static wide double_to_wide(double a) { return (wide)a; }
static unsigned_wide double_to_unsigned_wide(double a) { return (unsigned_wide)a; }
static wide float_to_wide(float a) { return (wide)a; }
static unsigned_wide float_to_unsigned_wide(float a) { return (unsigned_wide)a; }
static double power_double(double base, int32_t exponent) {
    bool inverts = exponent < 0;
    double result = 1;
    for (uint32_t rest = inverts ? 0u - (uint32_t)exponent : (uint32_t)exponent; rest; rest >>= 1, base *= base)
        if (rest & 1) result *= base;
    return inverts ? 1 / result : result;
}
static float power_float(float base, int32_t exponent) {
    bool inverts = exponent < 0;
    float result = 1;
    for (uint32_t rest = inverts ? 0u - (uint32_t)exponent : (uint32_t)exponent; rest; rest >>= 1, base *= base)
        if (rest & 1) result *= base;
    return inverts ? 1 / result : result;
}

static const struct {
    const char *name;
    void *address;
} library[] = {
    {"__extendhfsf2", half_to_float}, {"__gnu_h2f_ieee", half_to_float},
    {"__truncsfhf2", float_to_half}, {"__gnu_f2h_ieee", float_to_half}, {"__truncdfhf2", double_to_half},
    {"__truncsfbf2", float_to_bfloat}, {"__truncdfbf2", double_to_bfloat},
    {"__divti3", wide_divide}, {"__modti3", wide_remainder},
    {"__udivti3", unsigned_wide_divide}, {"__umodti3", unsigned_wide_remainder}, {"__multi3", wide_multiply},
    {"__floattidf", wide_to_double}, {"__floatuntidf", unsigned_wide_to_double},
    {"__floattisf", wide_to_float}, {"__floatuntisf", unsigned_wide_to_float},
    {"__floattihf", wide_to_half}, {"__floatuntihf", unsigned_wide_to_half},
    {"__fixhfti", half_to_wide}, {"__fixunshfti", half_to_unsigned_wide},
    {"__fixdfti", double_to_wide}, {"__fixunsdfti", double_to_unsigned_wide},
    {"__fixsfti", float_to_wide}, {"__fixunssfti", float_to_unsigned_wide},
    {"__powidf2", power_double}, {"__powisf2", power_float},
};

// The functions of the compiler's library, by index; NULL after the last.
EXPORT const char *wl_library_name(uint32_t index) {
    return index < sizeof library / sizeof library[0] ? library[index].name : NULL;
}
EXPORT void *wl_library_address(uint32_t index) { return library[index].address; }
