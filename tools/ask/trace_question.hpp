#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/sources/run_profile.hpp"
#include "sim/traces/traced_run.hpp"
#include "tools/options/option_table.hpp"

namespace plumb {

class AnswerDocument;
struct Request;

/// A real run, read from the traces of its ranks. Every member has the default of the option that fills it.
struct TraceQuestion {
  static constexpr const char* kUsage = "trace FILE... [options]";

  std::vector<std::string> files;
  std::optional<std::int64_t> step;
  std::string message_bytes;
  std::vector<std::string> messages;
  std::string network;

  /// Declares the options; this object must outlive the table. `outputs`: `FileOptions`.
  void add_to(OptionTable& table, const FileOptions& outputs = {});

  /// Whether anything is known that only a profile uses.
  bool has_knowledge() const { return !message_bytes.empty() || !messages.empty() || !network.empty(); }
  /// Throws `Error` for what is no trace, and for a step that the run does not have.
  TracedRun read() const;
  /// The profile of the run, with what `messages` tells of other sizes, and `network` of the backward.
  RunProfile profile(const TracedRun& run) const;

  /// The command that says what another schedule would give; empty where that cannot be known.
  std::string next(const TracedRun& run) const;

  /// What a request may want of the answer.
  static std::vector<std::string_view> parts() {
    return {"summary", "profile", "timeline", "page", "text", "schedule"};
  }
  /// Adds the parts that `request` wants.
  void add_parts(const Request& request, AnswerDocument& document);
};

/// The schedule of the catalogue that has the run's order of passes; empty: none has.
std::string traced_schedule(const Timeline& run);

/// A line that says it all, and the tables of the run: its figures, its steps, and what each device did.
std::string traced_text(const TracedRun& run);

}  // namespace plumb
