#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace plumb {

/// Shows on standard error how far long work is: on a terminal in one line that is overwritten, otherwise in at most
/// one line every five seconds. Work that ends within half a second shows nothing.
class Progress {
 public:
  explicit Progress(std::string title);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// Clears the line on a terminal.
  ~Progress();

  /// `done` of `total` parts, with a remark such as "loss 2.91".
  void show(std::int64_t done, std::int64_t total, std::string_view remark = {});

  /// A line that stays.
  void note(std::string_view text);

 private:
  using Clock = std::chrono::steady_clock;

  std::string title_;
  bool terminal_;
  bool shown_ = false;
  Clock::time_point started_;
  Clock::time_point last_;
};

}  // namespace plumb
