// Errors of algorithms as exceptions.
#pragma once
#include "detail/config.h"
#include <system_error>

namespace thrust {
using std::error_category;
using std::error_code;
using std::system_error;
struct cuda_category_type : std::error_category {
    const char *name() const noexcept override { return "cuda"; }
    std::string message(int error) const override { return cudaGetErrorString((cudaError_t)error); }
};
inline const std::error_category &cuda_category() {
    static cuda_category_type category;
    return category;
}
}  // namespace thrust
