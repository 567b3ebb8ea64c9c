#pragma once

#include <optional>
#include <string>

#include "tools/options/option_table.hpp"
#include "trainer/plan/train_options.hpp"

namespace plumb {

/// How a student learns from its teacher, in schedules that have one (tspipe).
struct TeacherArguments {
  std::optional<double> weight;
  std::optional<double> temperature;
  std::optional<double> decay;
  std::string weights;  ///< that the teacher starts from; empty: those of its student

  /// Declares the options, a group of their own; this object must outlive the parsing.
  void add_to(OptionTable& parser);

  /// Fills in the teacher of `options`, whose schedule and network (perhaps with adapters) are known. Throws `Error`
  /// for options of a teacher where the schedule has none.
  void apply(TrainOptions& options, bool adapters) const;
};

}  // namespace plumb
