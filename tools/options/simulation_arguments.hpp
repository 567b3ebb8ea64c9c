#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "schedules/lowering/lower.hpp"
#include "sim/simulate.hpp"
#include "tools/options/cost_arguments.hpp"
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

  /// What the chosen runtime does with `schedule`, where no option overrides it. Throw `Error` for unknown names, with
  /// the nearest one.
  SimOptions simulation(const Schedule& schedule) const;
  /// Without --runtime: what runs `schedule` where a profile in `documents` was traced (`runtime_after`). The
  /// description of `input` says so where that is another runtime than the traced one.
  void take_runtime(const CostDocuments& documents, const Schedule& schedule, CostInput& input);
  /// What the chosen runtime does with the actions of `schedule`: pairs in turn, no I on the first stage.
  void adapt(Schedule& schedule, CostInput& input) const;
  LowerOptions lowering(const Schedule& schedule) const;
};

}  // namespace plumb
