// What the sources of libc++abi that throw and catch call elsewhere in it, for one thread.
#include <cstddef>
#include <cstdio>

#include <cxxabi.h>
#include <stdlib.h>

/// Where nothing can go on: an exception that nobody catches.
extern "C" void abort_message(const char* format, ...) {
  std::fputs(format, stderr);
  abort();
}

/// Debian's built-in functions of the compiler check their stack.
extern "C" {
unsigned long __stack_chk_guard = 0x2f6b1d95;
void __stack_chk_fail() { abort(); }
}

namespace __cxxabiv1 {

/// Exceptions that are being handled, and how many are under way: the layout is that of the C++ ABI.
struct __cxa_eh_globals {
  void* caught;
  unsigned int uncaught;
};

static __cxa_eh_globals globals;

extern "C" __cxa_eh_globals* __cxa_get_globals() { return &globals; }
extern "C" __cxa_eh_globals* __cxa_get_globals_fast() { return &globals; }

void* __aligned_malloc_with_fallback(std::size_t size) { return aligned_alloc(16, (size + 15) / 16 * 16); }
void __aligned_free_with_fallback(void* room) { free(room); }
void* __calloc_with_fallback(std::size_t count, std::size_t size) { return calloc(count, size); }
void __free_with_fallback(void* room) { free(room); }

}  // namespace __cxxabiv1
