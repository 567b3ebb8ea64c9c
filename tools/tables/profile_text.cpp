#include "tools/tables/profile_text.hpp"

#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"

namespace plumb {
namespace {

std::string median_text(const Measured& measured) { return measured.count > 0 ? time_text(measured.median_ns) : "-"; }

/// "9.1 - 10.4 ms": the middle 80 %.
std::string spread_text(const Measured& measured) {
  return measured.count > 0 ? time_text(measured.p10_ns) + " - " + time_text(measured.p90_ns) : "-";
}

}  // namespace

std::string profile_text(const Profile& profile) {
  std::string text = profile.network + ", " + std::to_string(profile.shape.samples) + " samples of " +
                     std::to_string(profile.shape.sequence) + " tokens per microbatch, on " + profile.machine + "\n\n";
  TextTable table({{"stage", '>'},
                   {"layers", '>'},
                   {"F", '>'},
                   {"F, middle 80 %", '>'},
                   {"B", '>'},
                   {"B, middle 80 %", '>'},
                   {"I", '>'},
                   {"W", '>'},
                   {"U", '>'}});
  for (std::size_t s = 0; s < profile.stages.size(); ++s) {
    const ProfiledTimes& stage = profile.stages[s];
    table.add_row({std::to_string(s), std::to_string(stage.layers.begin) + "-" + std::to_string(stage.layers.end - 1),
                   median_text(stage.f), spread_text(stage.f), median_text(stage.b), spread_text(stage.b),
                   median_text(stage.i), median_text(stage.w), median_text(stage.u)});
  }
  text += table.to_string();
  for (const ProfiledTransfer& transfer : profile.transfers) {
    text += "messages of " + bytes_text(transfer.bytes) + ": latency " + time_text(transfer.latency_ns);
    text += transfer.bytes_per_s > 0 ? ", " + number_text(transfer.bytes_per_s / 1e9) + " GB/s\n" : "\n";
  }
  return text;
}

}  // namespace plumb
