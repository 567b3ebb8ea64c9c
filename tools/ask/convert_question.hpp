#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schedules/document/schedule.hpp"
#include "tools/options/option_table.hpp"
#include "tools/options/schedule_arguments.hpp"

namespace plumb {

class AnswerDocument;
struct Request;

/// A schedule in another format. Every member has the default of the option that fills it.
struct ConvertQuestion {
  static constexpr const char* kUsage = "convert IN OUT [options]";

  std::string in;
  std::string from;  ///< format of `in`; empty: by its extension, then by its first characters
  std::string to;
  ScheduleArguments size;

  /// Declares the options; this object must outlive the table. `outputs`: `FileOptions`.
  void add_to(OptionTable& table, const FileOptions& outputs = {});

  /// Throws `Error` for what cannot be read.
  Schedule load() const;

  /// What a request may want of the answer.
  static std::vector<std::string_view> parts() { return {"document"}; }
  /// Adds the parts that `request` wants.
  void add_parts(const Request& request, AnswerDocument& document);
};

}  // namespace plumb
