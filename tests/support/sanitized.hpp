#pragma once

namespace plumb::testing {

/// Whether the address sanitizer watches every access: tests that try many cases then take a tenth of them.
#if defined(PLUMB_ADDRESS_SANITIZER)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// Whether memory comes from a sanitizer's own allocator.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitizerAllocates = true;
#else
inline constexpr bool kSanitizerAllocates = kSanitized;
#endif

}  // namespace plumb::testing
