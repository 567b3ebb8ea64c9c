#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/sources/run_profile.hpp"
#include "sim/traces/traced_run.hpp"
#include "tools/options/option_table.hpp"

namespace plumb {

/// A real run, read from the traces of its ranks. Every member has the default of the option that fills it.
struct TraceQuestion {
  static constexpr const char* kUsage = "trace FILE... [options]";

  std::vector<std::string> files;
  std::optional<std::int64_t> step;
  std::string message_bytes;
  std::vector<std::string> messages;
  std::string network;

  /// Declares the files and the step; this object must outlive the table.
  void add_run_to(OptionTable& table);
  /// Declares what is known of the run's messages and of its network.
  void add_knowledge_to(OptionTable& table);

  /// Whether anything is known that only a profile uses.
  bool has_knowledge() const { return !message_bytes.empty() || !messages.empty() || !network.empty(); }
  /// Throws `Error` for what is no trace, and for a step that the run does not have.
  TracedRun read() const;
  /// The profile of the run, with what `messages` tells of other sizes, and `network` of the backward.
  RunProfile profile(const TracedRun& run) const;
};

/// The schedule of the catalogue that has the run's order of passes; empty: none has.
std::string traced_schedule(const Timeline& run);

/// The tables of the run: its figures, its steps, and what each device did.
std::string traced_text(const TracedRun& run);

}  // namespace plumb
