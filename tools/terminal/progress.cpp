#include "tools/terminal/progress.hpp"

#include <cstdio>
#include <utility>

#include "models/ground/error.hpp"
#include "tools/terminal/terminal.hpp"

namespace plumb {
namespace {

constexpr std::chrono::milliseconds kSilence{500};
constexpr std::chrono::milliseconds kTerminalPeriod{100};
constexpr std::chrono::seconds kPlainPeriod{5};
constexpr const char* kClearLine = "\r\033[K";

}  // namespace

Progress::Progress(std::string title)
    : title_(std::move(title)), terminal_(is_terminal(stderr)), started_(Clock::now()), last_(started_) {}

Progress::~Progress() {
  if (terminal_ && shown_) std::fputs(kClearLine, stderr);
}

void Progress::show(std::int64_t done, std::int64_t total, std::string_view remark) {
  const Clock::time_point now = Clock::now();
  const auto period = terminal_ ? kTerminalPeriod : std::chrono::milliseconds(kPlainPeriod);
  if (now - started_ < kSilence || now - last_ < period) return;
  last_ = now;
  shown_ = true;
  std::string line = title_ + ": " + std::to_string(done) + " of " + std::to_string(total);
  if (!remark.empty()) line += ", " + std::string(remark);
  std::fprintf(stderr, terminal_ ? "\r%s\033[K" : "%s\n", printable(line).c_str());
}

void Progress::note(std::string_view text) {
  std::fprintf(stderr, terminal_ && shown_ ? "\r\033[K%s\n" : "%s\n", printable(text).c_str());
}

}  // namespace plumb
