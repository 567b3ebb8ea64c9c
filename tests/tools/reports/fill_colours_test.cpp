#include "tools/reports/fill_colours.hpp"

#include <array>

#include <doctest/doctest.h>

#include "tools/reports/report_palette.hpp"

TEST_SUITE_BEGIN("tools");

using namespace plumb;

namespace {

std::string_view fill(Op op) { return kOpColours[static_cast<std::size_t>(op)]; }

}  // namespace

TEST_CASE("contrast ratios are those of WCAG 2.2") {
  CHECK(contrast_ratio("#000000", "#ffffff") == doctest::Approx(21));
  CHECK(contrast_ratio("#777777", "#ffffff") == doctest::Approx(4.48).epsilon(0.002));  // the example of many guides
  CHECK(relative_luminance("#ff0000") == doctest::Approx(0.2126));
}

TEST_CASE("every number on an action can be read, on its lighter shades, too") {
  for (const Op op : {Op::kF, Op::kB, Op::kI, Op::kW}) {
    for (std::size_t level = 0; level < 5; ++level) {
      const std::string colour = shaded(fill(op), level);
      CAPTURE(colour);
      CHECK(contrast_ratio(colour, wants_light_text(colour) ? "#ffffff" : kDarkInk) >= 4.5);
    }
  }
  CHECK(contrast_ratio(fill(Op::kR), "#ffffff") >= 4.5);
}

TEST_CASE("passes differ in brightness: on paper without colours, and for readers who see few of them") {
  const std::array darkest_first{Op::kR, Op::kF, Op::kI, Op::kB, Op::kW};
  for (std::size_t i = 1; i < darkest_first.size(); ++i) {
    CAPTURE(i);
    CHECK(relative_luminance(fill(darkest_first[i])) > relative_luminance(fill(darkest_first[i - 1])));
    CHECK(contrast_ratio(fill(darkest_first[i]), fill(darkest_first[i - 1])) >= 1.5);
  }
}

TEST_CASE("causes of idle time and classes of memory that are stacked on each other differ in brightness") {
  const auto check = [](std::string_view one, std::string_view other) {
    CAPTURE(one);
    CAPTURE(other);
    CHECK(contrast_ratio(one, other) >= 1.4);
  };
  for (const std::size_t apart : {std::size_t{1}, std::size_t{2}}) {
    for (std::size_t i = apart; i < kIdleColours.size(); ++i) check(kIdleColours[i - apart], kIdleColours[i]);
    for (std::size_t i = apart; i < kMemoryColours.size(); ++i) check(kMemoryColours[i - apart], kMemoryColours[i]);
  }
  // Where a run has no buffers and the backward is whole, or nothing waits for other devices.
  const auto memory = [](MemoryClass cls) { return kMemoryColours[static_cast<std::size_t>(cls)]; };
  check(memory(MemoryClass::kKeptForInputGrad), memory(MemoryClass::kWorkspace));
  const auto idle = [](IdleCause cause) { return kIdleColours[static_cast<std::size_t>(cause)]; };
  check(idle(IdleCause::kCompute), idle(IdleCause::kOverhead));
  check(idle(IdleCause::kDrain), idle(IdleCause::kOverhead));
}

TEST_SUITE_END();
