#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/catalogue/registry.hpp"
#include "schedules/document/schedule.hpp"
#include "tools/options/option_table.hpp"

namespace plumb {

/// Options for the schedule, shared by every command that takes NAME|FILE.
struct ScheduleArguments {
  std::optional<std::int64_t> devices;
  std::optional<std::int64_t> microbatches;
  std::optional<std::int64_t> chunks;
  std::optional<std::int64_t> updates;
  std::vector<std::string> options;  ///< key=value
  std::string recompute;             ///< "all", or stages "1-2"; empty: none
  std::string methods;               ///< "t1:K=100,t2" (schedules/document/methods.hpp)
  bool t1 = false;                   ///< short forms of methods
  bool t2 = false;
  std::optional<std::int64_t> t3_updates;
  bool runs_programs = false;  ///< whether the command runs FILE where it is asked for exec:FILE; no option

  /// Declares the options; this object must outlive the parsing.
  void add_to(OptionTable& parser);
  /// Takes four devices, and two microbatches for each, where a schedule of the catalogue is asked for without; a note
  /// says so.
  void assume_size(const std::string& name);
};

/// The costs and the memory limit that schedules are searched for; see `ScheduleParams`.
struct SearchGoal {
  std::function<StageCosts(std::int32_t num_stages)> costs = {};
  double memory_limit = 0;
};

/// Of files of rules for schedules of any size (schedules/phases/RULES.md).
inline constexpr std::string_view kRulesExtension = ".rules";

/// Whether `name_or_file` is a document or a program: "-", a path, an existing file, or exec:FILE. Names of the
/// catalogue never are.
bool is_schedule_file(const std::string& name_or_file);

/// Throws `Error`, with the nearest name, where `name_or_file` is neither a file nor a schedule of the catalogue.
void check_schedule_name(const std::string& name_or_file);

/// Parameters of the generator. Throws `Error` when -p or -m is missing.
ScheduleParams schedule_params(const std::string& name, const ScheduleArguments& arguments,
                               const SearchGoal& goal = {});

/// The schedule that `program`, exec:FILE, prints in any format when it is run with these sizes and options. Throws
/// `Error` when it is of another size.
Schedule schedule_of_program(const std::string& program, const ScheduleArguments& arguments);

/// Generates the schedule (searched ones for `goal`), reads the document, or runs the program where the command may do
/// that. Throws `Error` for options of a generator given with a file.
Schedule load_schedule(const std::string& name_or_file, const ScheduleArguments& arguments,
                       const SearchGoal& goal = {});

}  // namespace plumb
