#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "schedules/catalogue/registry.hpp"
#include "schedules/document/schedule_io.hpp"
#include "tests/support/device_span.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

/// The nine steps of the released order for device r, action by action.
class PlainStp {
 public:
  PlainStp(std::int64_t p, std::int64_t r, std::int64_t m) : p_(p), r_(r), m_(m) {}

  std::string text() {
    for (std::int64_t i = 0; i < 2 * (p_ - 1 - r_); ++i) one(f(0));
    for (std::int64_t i = 0; i <= r_; ++i) one(f(0)), one(f(1));
    if ((r_ + 1) % 2 == 1) one(f(0));
    for (std::int64_t i = 0; i < (r_ + 1) / 2; ++i) {
      const std::string first = f(0);
      two(first, f(0));
    }
    for (std::int64_t i = 0; i < p_ - 1 - r_; ++i) two(f(1), in(1)), two(f(0), w());
    const std::int64_t pairs = 2 * (m_ - 3 * p_ + 1) + 1 + 2 * r_;
    for (std::int64_t i = 0; i < pairs; ++i) {
      const int chunk = i % 2 == 0 ? 1 : 0;
      two(f(chunk), i < pairs - r_ ? b(chunk) : in(chunk));
    }
    for (std::int64_t i = 0; i < m_ - p_ - pairs / 2 - 1; ++i) one(b(0)), two(f(1), in(1));
    for (std::int64_t i = 0; i <= r_; ++i) one(b(0)), one(b(1));
    for (std::int64_t i = 0; i < 2 * (p_ - 1 - r_) + 1; ++i) i % 2 == 0 ? one(b(0)) : (one(w()), one(w()));
    for (std::int64_t i = 0; i < 2 * r_; ++i) one(w());
    CHECK(left_.empty());
    for (const int chunk : {0, 1}) one(name(chunk) + "U0");
    return text_;
  }

 private:
  std::string name(int chunk) const { return std::to_string(chunk == 0 ? r_ : 2 * p_ - 1 - r_); }
  std::string f(int chunk) { return name(chunk) + "F" + std::to_string(forwards_[chunk]++); }
  std::string b(int chunk) { return name(chunk) + "B" + std::to_string(backwards_[chunk]++); }
  std::string in(int chunk) {
    left_.push_back(name(chunk) + "W" + std::to_string(backwards_[chunk]));
    return name(chunk) + "I" + std::to_string(backwards_[chunk]++);
  }
  std::string w() {
    const std::string oldest = left_.front();
    left_.pop_front();
    return oldest;
  }
  void one(const std::string& action) { text_ += " " + action; }
  void two(const std::string& first, const std::string& second) {
    const bool torch = second.find('B') != std::string::npos || second.find('I') != std::string::npos;
    text_ += " (" + first + ";" + second + ")OVERLAP" + (torch ? "_F_B" : "");
  }

  std::int64_t p_, r_, m_;
  std::int64_t forwards_[2] = {0, 0};
  std::int64_t backwards_[2] = {0, 0};
  std::deque<std::string> left_;
  std::string text_;
};

}  // namespace

TEST_CASE("stp is the released order on every device, whatever the number of microbatches") {
  for (const std::int32_t p : {1, 2, 3, 4, 5, 8}) {
    for (const std::int64_t m : {3 * p - 1, 3 * p, 4 * p, 4 * p + 1, 40}) {
      CAPTURE(p);
      CAPTURE(m);
      std::string expected;
      for (std::int32_t d = 0; d < p; ++d) {
        expected += "d" + std::to_string(d) + ":" + PlainStp(p, d, m).text() + "\n";
      }
      CHECK(lists_to_text(generate("stp", {.num_devices = p, .num_microbatches = m})) == expected);
    }
  }
}

TEST_CASE("with equal passes and free all-reduces stp takes 6 m + p - 1") {
  for (const std::int32_t p : {1, 2, 3, 4, 8}) {
    for (const std::int64_t m : {3 * p - 1, 4 * p, 32}) {
      CAPTURE(p);
      CAPTURE(m);
      const Replay run = replay(generate("stp", {.num_devices = p, .num_microbatches = m}), kEqualPasses);
      CHECK(run.finished);
      CHECK(run.makespan == 6 * m + p - 1);
    }
  }
}

TEST_CASE("device r of stp keeps 3 p + max(1, r) stashes of a chunk") {
  for (const std::int32_t p : {2, 3, 4, 8}) {
    CAPTURE(p);
    std::vector<std::int64_t> expected;
    for (std::int64_t r = 0; r < p; ++r) expected.push_back(3 * p + std::max<std::int64_t>(1, r));
    CHECK(peak_stashes(generate("stp", {.num_devices = p, .num_microbatches = 4 * p})) == expected);
  }
}

TEST_CASE("stp needs two chunks and 3 p - 1 microbatches") {
  const auto message = [](std::int64_t m, std::int32_t chunks) {
    return error_message([&] { generate("stp", {.num_devices = 4, .num_microbatches = m, .chunks = chunks}); });
  };
  CHECK(message(10, 0) == "stp: num_microbatches (10) must be at least 3 num_devices - 1 (11)");
  CHECK(message(11, 3) == "stp: chunks per device (3) must be 2, the two arms of the V");
  CHECK(message(11, 2).empty());
}

TEST_CASE("the picture of stp is the one in tests/golden") {
  const std::string actual = picture(generate("stp", {.num_devices = 2, .num_microbatches = 6}), kEqualPasses);
  CHECK(actual == golden("schedules/stp.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
