#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/runtimes/run_rules.hpp"
#include "tools/options/option_table.hpp"

namespace plumb {

/// Options for how messages travel and which engine simulates.
struct SimulationArguments {
  std::string runtime;    ///< empty: that of the profile of a traced run; otherwise plumbline
  std::string transfers;  ///< empty: the runtime's
  std::string engine = "auto";
  std::string receives;  ///< empty: the runtime's
  std::optional<std::int64_t> send_buffers;
  std::optional<std::int64_t> seed;

  /// Declares the options; this object must outlive the parsing.
  void add_to(OptionTable& parser);
  /// Only those of how messages travel.
  void add_messages_to(OptionTable& parser);
  /// Only those of where receives stand and how many messages are on their way.
  void add_receives_to(OptionTable& parser);

  /// What the options say. Throws `Error` for unknown names, with the nearest one.
  RunRules rules() const;
};

}  // namespace plumb
