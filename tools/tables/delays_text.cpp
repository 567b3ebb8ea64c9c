#include "tools/tables/delays_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>
#include <utility>

#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"

namespace plumb {
namespace {

constexpr std::size_t kMostHolders = 32;
constexpr double kWidestBar = 40;  ///< characters

bool has_several_holders(const std::vector<StageDelays>& delays) {
  return std::ranges::any_of(delays, [&](const StageDelays& d) {
    return index(d.device) != index(delays.front().device) + (index(d.stage) - index(delays.front().stage)) ||
           d.replica != delays.front().replica;
  });
}

std::string mean_text(const DelayCounts& counts) {
  if (counts.empty()) return "";
  const std::string mean = number_text(mean_delay(counts));
  const std::int64_t least = counts.begin()->first;
  const std::int64_t most = counts.rbegin()->first;
  return least == most ? mean : mean + " (" + std::to_string(least) + "-" + std::to_string(most) + ")";
}

std::string holder_text(const StageDelays& of) {
  std::string text = std::to_string(index(of.stage));
  const auto replica = static_cast<int>(of.replica);
  return replica == 0 ? text : std::to_string(replica) + ":" + text;
}

std::string more_holders(std::size_t all) {
  return all > kMostHolders ? "... and " + std::to_string(all - kMostHolders) + " more stages\n" : "";
}

}  // namespace

std::string delays_text(const std::vector<StageDelays>& delays) {
  if (delays.empty()) return "";
  const bool devices = has_several_holders(delays);
  const bool recompute = std::ranges::any_of(delays, [](const StageDelays& d) { return !d.recompute.empty(); });
  const bool teacher = std::ranges::any_of(delays, [](const StageDelays& d) { return !d.teacher.empty(); });
  const bool bytes = std::ranges::any_of(delays, [](const StageDelays& d) { return d.bytes > 0; });
  std::vector<TextTable::Column> columns{{"stage", '>'}};
  if (devices) columns.push_back({"device", '>'});
  for (const char* title : {"distance", "tau fwd", "tau bkwd"}) columns.push_back({title, '>'});
  if (recompute) columns.push_back({"tau recomp", '>'});
  if (teacher) columns.push_back({"tau teacher", '>'});
  for (const char* title : {"versions", "copies"}) columns.push_back({title, '>'});
  if (bytes) columns.push_back({"bytes of copies", '>'});
  TextTable table(std::move(columns));
  for (std::size_t i = 0; i < std::min(kMostHolders, delays.size()); ++i) {
    const StageDelays& of = delays[i];
    std::vector<std::string> cells{holder_text(of)};
    if (devices) cells.push_back(std::to_string(index(of.device)));
    for (const DelayCounts* counts : {&of.distance, &of.forward, &of.backward}) cells.push_back(mean_text(*counts));
    if (recompute) cells.push_back(mean_text(of.recompute));
    if (teacher) cells.push_back(mean_text(of.teacher));
    cells.push_back(std::to_string(of.versions));
    cells.push_back(std::to_string(of.copies));
    if (bytes) cells.push_back(bytes_text(of.bytes));
    table.add_row(std::move(cells));
  }
  return table.to_string() + more_holders(delays.size());
}

std::string delay_histogram_text(const std::vector<StageDelays>& delays) {
  TextTable table({{"stage", '>'}, {"reader"}, {"updates old", '>'}, {"count", '>'}, {"share", '>'}, {""}});
  for (std::size_t i = 0; i < std::min(kMostHolders, delays.size()); ++i) {
    const StageDelays& of = delays[i];
    const std::array<std::pair<std::string_view, const DelayCounts*>, 4> kinds{
        {{"forward", &of.forward}, {"backward", &of.backward}, {"recompute", &of.recompute}, {"teacher", &of.teacher}}};
    for (const auto& [name, counts] : kinds) {
      const std::int64_t all = std::accumulate(counts->begin(), counts->end(), std::int64_t{0},
                                               [](std::int64_t sum, const auto& entry) { return sum + entry.second; });
      for (const auto& [delay, times] : *counts) {
        const double share = static_cast<double>(times) / static_cast<double>(all);
        table.add_row({holder_text(of), std::string(name), std::to_string(delay), std::to_string(times),
                       percent_text(share),
                       std::string(static_cast<std::size_t>(std::lround(share * kWidestBar)), '#')});
      }
    }
  }
  return table.to_string() + more_holders(delays.size());
}

}  // namespace plumb
