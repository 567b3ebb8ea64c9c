#include "tools/training/contention_text.hpp"

#include <cmath>

#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"

namespace plumb {
namespace {

std::string interval_text(const Estimate& estimate) {
  return share_text(estimate.low) + " - " + share_text(estimate.high);
}

std::string clock_text(const FittedClock& clock) {
  if (!clock.counts) {
    return "clock: it does not follow the load; it is lower by " + share_text(clock.fall.high) + " at most\n";
  }
  const auto time = [](double ns) { return time_text(std::llround(ns)); };
  return "clock: lower by " + share_text(clock.fall.value) + " (" + interval_text(clock.fall) + ") with " +
         number_text(clock.most) + " busy devices, full speed with up to " + number_text(clock.least) +
         "; time constant " + time(clock.lag_ns.value) + " (" + time(clock.lag_ns.low) + " - " +
         time(clock.lag_ns.high) + ")\n";
}

}  // namespace

std::string contention_text(const ContentionFit& fit) {
  TextTable table(
      {{"action"}, {"others", '>'}, {"of kind"}, {"slowdown", '>'}, {"95 % interval", '>'}, {"observed for", '>'}});
  for (const FittedGamma& point : fit.gammas) {
    table.add_row({std::string(kLoadNames[static_cast<std::size_t>(point.of)]), std::to_string(point.others),
                   std::string(kLoadNames[static_cast<std::size_t>(point.by)]), share_text(point.gamma.value),
                   interval_text(point.gamma), fixed_text(point.exposure, 1) + " actions"});
  }
  for (const FittedSlowdown& slowdown : fit.slowdowns) {
    table.add_row({"any", "1", std::string(kLoadNames[static_cast<std::size_t>(slowdown.by)]),
                   share_text(slowdown.share.value), interval_text(slowdown.share),
                   fixed_text(slowdown.exposure, 1) + " actions"});
  }
  std::string text = fit.gammas.empty() && fit.slowdowns.empty() ? "no contention was found\n" : table.to_string();
  text += "\nfitted " + std::to_string(fit.actions) + " actions, left out " + std::to_string(fit.left_out) +
          "; median error of a duration: " + share_text(fit.error_alone) + " without contention, " +
          share_text(fit.error_fitted) + " with the fitted contention\n";
  if (fit.clock) text += clock_text(*fit.clock);
  for (const std::string& line : fit.unknown) text += "could not be determined: " + line + "\n";
  return text;
}

}  // namespace plumb
