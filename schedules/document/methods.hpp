#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/ground/named_option.hpp"
#include "schedules/document/schedule.hpp"

namespace plumb {

/// What a method decides. Two methods cannot choose the weights of the same op; all others can be combined.
struct MethodScope {
  bool forward = false;          ///< chooses the weights that F reads
  bool backward = false;         ///< chooses the weights that B, I and R read
  bool newest_forward = false;   ///< needs forwards that read the newest weights as they are
  bool newest_backward = false;  ///< needs a backward that may read newer weights than its forward (latest, predicted)
  bool looks_back = false;       ///< its update reads the weights of its forwards
  bool predicts = false;         ///< sets `Weights::prediction`
};

/// One row of the table of methods: a correction of asynchronous training. Its arithmetic is in
/// trainer/methods/<name>.cpp, the buffers that it keeps in schedules/versions/method_buffers.cpp.
struct MethodSpec {
  std::string_view name;
  std::string_view summary;
  std::string_view source;
  std::string_view buffers = {};                 ///< that it keeps, described; empty: none
  std::span<const NamedOption> parameters = {};  ///< each is a number
  MethodScope scope = {};
};

/// All methods, in the order of the table in schedules/document/METHODS.md.
std::span<const MethodSpec> method_catalogue();

/// Throws `Error` with the nearest name when the table has no such method.
const MethodSpec& method_spec(std::string_view name);

/// The given value of the parameter, or its default; none if the method derives it.
std::optional<double> parameter(const Method& method, std::string_view name);

/// Throws `Error` for parameters that the table does not have, and values out of bounds.
void check_parameters(const Method& method);

/// Reads "t1:K=100,t2:D=0.135,t3:updates=40": methods with commas between them, a colon before the first parameter of
/// each, commas or colons between those. Throws `Error` for unknown names and values out of bounds.
std::vector<Method> parse_methods(std::string_view text);
std::string to_string(std::span<const Method> methods);

/// The schedule with these methods after those that it has. Predicting methods set the policy and how far each stage
/// predicts; `t3` makes the first updates synchronous (schedules/versions/synchronous_phase.hpp) and changes nothing
/// else. Throws `Error` for methods that cannot be combined.
Schedule with_methods(Schedule schedule, std::span<const Method> methods);
Schedule with_methods(Schedule schedule, std::string_view methods);

/// Throws `Error` where the methods of a schedule contradict each other, its weight policy or its form.
void check_methods(const Schedule& schedule);

/// The update of some method reads the weights of its forwards.
bool looks_back(const Schedule& schedule);

/// Updates of the synchronous phase that a schedule begins with.
std::int64_t synchronous_updates(const Schedule& schedule);

}  // namespace plumb
