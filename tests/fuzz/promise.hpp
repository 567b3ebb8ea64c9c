#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "models/ground/error.hpp"

// What every parser promises: any bytes are a value that can be written and read again, or an `Error` of one line.

namespace plumb::testing {

/// Stops the program unless `kept`, so that a fuzzer keeps the input.
inline void promise(bool kept, const char* what) {
  if (kept) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Calls `check` with what `read` returns, or looks at the `Error` that it throws. Nothing else may come out of `read`,
/// nothing at all out of `check`. Returns 0, as a fuzz target must.
template <class Read, class Check>
int read_or_refuse(Read read, Check check) {
  std::optional<decltype(read())> value;
  try {
    value = read();
  } catch (const Error& error) {
    const std::string_view message = error.what();
    promise(!message.empty(), "a message says something");
    promise(std::ranges::none_of(message, [](unsigned char c) { return c < ' '; }), "a message is one line");
    return 0;
  }
  check(*value);
  return 0;
}

}  // namespace plumb::testing
