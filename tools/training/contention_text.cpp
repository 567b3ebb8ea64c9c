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
    return "clock: none that follows the load; it falls by " + share_text(clock.fall.high) + " at most\n";
  }
  const auto time = [](double ns) { return time_text(std::llround(ns)); };
  return "clock: lower by " + share_text(clock.fall.value) + " (" + interval_text(clock.fall) + ") with " +
         number_text(clock.most) + " devices at work, full with " + number_text(clock.least) + "; 63 % of the way in " +
         time(clock.lag_ns.value) + " (" + time(clock.lag_ns.low) + " - " + time(clock.lag_ns.high) + ")\n";
}

}  // namespace

std::string contention_text(const ContentionFit& fit) {
  TextTable table({{"action"}, {"others", '>'}, {"of"}, {"longer by", '>'}, {"95 % interval", '>'}, {"met for", '>'}});
  for (const FittedGamma& point : fit.gammas) {
    table.add_row({std::string(kLoadNames[static_cast<std::size_t>(point.of)]), std::to_string(point.others),
                   std::string(kLoadNames[static_cast<std::size_t>(point.by)]), share_text(point.gamma.value),
                   interval_text(point.gamma), fixed_text(point.exposure, 1) + " actions"});
  }
  for (const FittedTheft& theft : fit.theft) {
    table.add_row({"any", "1", std::string(kLoadNames[static_cast<std::size_t>(theft.by)]),
                   share_text(theft.share.value), interval_text(theft.share),
                   fixed_text(theft.exposure, 1) + " actions"});
  }
  std::string text = fit.gammas.empty() && fit.theft.empty() ? "no contention could be told\n" : table.to_string();
  text += "\nfitted " + std::to_string(fit.actions) + " actions, left out " + std::to_string(fit.left_out) +
          "; durations are off by " + share_text(fit.error_alone) + " with the times alone, by " +
          share_text(fit.error_fitted) + " with the fit (medians)\n";
  if (fit.clock) text += clock_text(*fit.clock);
  for (const std::string& line : fit.unknown) text += "not known: " + line + "\n";
  return text;
}

}  // namespace plumb
