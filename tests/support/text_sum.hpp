#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace plumb::testing {

/// A short sum of long texts, in their order (FNV-1a, 64 bits): other texts, another sum.
class TextSum {
 public:
  void add(std::string_view text) {
    for (const char letter : text) add_byte(static_cast<unsigned char>(letter));
    add_byte(0);  // the end of a text counts, too
  }

  std::string text() const {
    char out[17];
    std::snprintf(out, sizeof out, "%016llx", static_cast<unsigned long long>(sum_));
    return out;
  }

 private:
  void add_byte(unsigned char byte) { sum_ = (sum_ ^ byte) * 0x100000001b3U; }

  std::uint64_t sum_ = 0xcbf29ce484222325U;
};

}  // namespace plumb::testing
