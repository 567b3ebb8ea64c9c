#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schedules/document/schedule.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/options/option_table.hpp"
#include "tools/options/schedule_arguments.hpp"

namespace plumb {

class AnswerDocument;
struct Request;

/// A schedule in one of the formats, or how to run it in another system.
struct ScheduleQuestion {
  static constexpr const char* kUsage = "schedule NAME|FILE [options]";

  std::string name;    ///< NAME or FILE
  std::string format;  ///< of the text; empty: JSON
  bool explain = false;
  std::string layers;  ///< with `explain`: decoder layers of the model, or of each stage
  ScheduleArguments size;
  CostArguments costs;  ///< that searched schedules are made for

  /// Declares the options; this object must outlive the table.
  void add_to(OptionTable& options);

  /// The schedule. Throws `Error` for what cannot be read or made, and for options that do not go together.
  Schedule load() const;
  /// How to run a valid schedule in PyTorch and Megatron-LM.
  std::string guide(const Schedule& schedule) const;

  /// What a request may want of the answer.
  static std::vector<std::string_view> parts() { return {"document", "text"}; }
  /// Adds the parts that `request` wants.
  void add_parts(const Request& request, AnswerDocument& document);
};

}  // namespace plumb
