#include "tools/tables/error_split_text.hpp"

#include "schedules/document/schedule_io.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"

namespace plumb {
namespace {

std::string signed_time(std::int64_t ns) { return (ns > 0 ? "+" : "") + time_text(ns); }

std::string signed_share(std::int64_t ns, const ErrorSplit& split) {
  if (split.measured_ns == 0) return "-";
  const std::string digits = fixed_text(100 * static_cast<double>(ns) / static_cast<double>(split.measured_ns), 2);
  return (ns > 0 ? "+" : "") + digits + " %";
}

std::string title_of(const PartOfError& part) {
  return std::string(kErrorPartTitles[static_cast<std::size_t>(part.part)]);
}

std::string parts(const ErrorSplit& split, const ComparedNames& names) {
  TextTable table(
      {{names.apart + " of the step time"}, {"", '>'}, {"of the step", '>'}, {"model", '>'}, {"noise", '>'}});
  const auto add = [&](std::string title, std::int64_t model_ns, std::int64_t noise_ns) {
    const std::int64_t both = model_ns + noise_ns;
    table.add_row(
        {std::move(title), signed_time(both), signed_share(both, split), signed_time(model_ns), signed_time(noise_ns)});
  };
  for (const PartOfError& part : split.parts) add(title_of(part), part.model_ns, part.noise_ns);
  add("together", split.model_ns, split.noise_ns);
  return table.to_string();
}

std::string largest_actions(const ErrorSplit& split, const ComparedNames& names) {
  TextTable table({{"largest in each part"},
                   {"device", '>'},
                   {"action", '<'},
                   {names.first, '>'},
                   {names.second, '>'},
                   {"of the " + names.apart, '>'}});
  bool any = false;
  for (const PartOfError& part : split.parts) {
    for (const ErrorAction& action : part.largest) {
      any = true;
      const bool again = &action != &part.largest.front();
      const std::string at = part.part >= ErrorPart::kOrder ? "at " : "";
      table.add_row({again ? "" : title_of(part), std::to_string(index(action.device)), to_string(action.action),
                     at + time_text(action.predicted_ns), at + time_text(action.measured_ns),
                     signed_time(action.error_ns)});
    }
  }
  return any ? "\n" + table.to_string() : "";
}

}  // namespace

std::string error_split_text(const Comparison& comparison, const ComparedNames& names) {
  if (!comparison.split || comparison.split->parts.empty()) return "";
  return "\n" + parts(*comparison.split, names) +
         "model: against what is usual in the run; noise: by how much it was not as usual\n" +
         largest_actions(*comparison.split, names);
}

}  // namespace plumb
