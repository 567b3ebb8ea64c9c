#pragma once

#include <string>

#include "schedules/document/schedule.hpp"
#include "tools/options/option_table.hpp"
#include "tools/options/schedule_arguments.hpp"

namespace plumb {

/// A schedule in another format. Every member has the default of the option that fills it.
struct ConvertQuestion {
  static constexpr const char* kUsage = "convert IN OUT [options]";

  std::string in;
  std::string from;  ///< format of `in`; empty: by its extension, then by its first characters
  std::string to;
  ScheduleArguments size;

  /// Declares `in`; this object must outlive the table.
  void add_input_to(OptionTable& table);
  void add_formats_to(OptionTable& table);

  /// Throws `Error` for what cannot be read.
  Schedule load() const;
};

}  // namespace plumb
