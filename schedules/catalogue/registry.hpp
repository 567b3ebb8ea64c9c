#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "models/ground/named_option.hpp"
#include "schedules/catalogue/schedule_params.hpp"
#include "schedules/document/schedule.hpp"

namespace plumb {

struct CatalogueRules;

/// One row of the catalogue.
struct ScheduleSpec {
  std::string_view name;
  std::string_view summary = {};
  std::int32_t year = 0;
  std::string_view source = {};  ///< "Huang et al., GPipe, arXiv 1811.06965"
  bool synchronous = true;
  bool inference = false;                 ///< mode forward: nothing is trained, so there are no updates
  std::string_view weights = "flush";     ///< name of the weight policy
  std::string_view placement = "linear";  ///< or "looped", "v", "bidirectional", ...
  std::string_view needs = {};            ///< "p even; m a multiple of p"; empty: nothing
  std::vector<NamedOption> options = {};
  std::string_view alias_of = {};  ///< the schedule of the catalogue that this one is; empty: its own
  bool folds = true;               ///< written with loops: its size does not grow with m
  bool searched = true;            ///< by a plan search that is given no names
  bool copies = true;              ///< takes the option `shares` if it flushes; false where its lists do not allow it
  Schedule (*make)(const ScheduleParams&) = nullptr;  ///< null: `rules` say it; callers take `generate`
  const CatalogueRules* rules = nullptr;
  std::string_view rules_text = {};  ///< as they are written: FILE.rules

  /// `options`, and then those that it has like every other schedule of its kind (pipeline_copies.hpp).
  std::vector<NamedOption> all_options() const;

  /// Whether `options` has one of this name.
  bool has_option(std::string_view option) const;
};

/// All schedules that Plumbline knows, in the order of the catalogue.
std::span<const ScheduleSpec> schedule_catalogue();

/// The row of the schedule of this name. Capital letters, dashes and underscores do not matter, and names of other
/// systems are known (schedules/catalogue/other_names.hpp). Throws `Error` with the nearest name when there is none.
const ScheduleSpec& schedule_named(std::string_view name);

// Its parts: one folder each, with a table in its `catalogue.cpp`.
std::span<const ScheduleSpec> synchronous_schedules();
std::span<const ScheduleSpec> zero_bubble_schedules();
std::span<const ScheduleSpec> asynchronous_schedules();
std::span<const ScheduleSpec> torch_schedules();
std::span<const ScheduleSpec> special_schedules();

/// `generators` and the rows of the rules of a group (GROUP/*.rules), each behind the row that it names. A generator of
/// the same name stands before the rules: it chooses or searches, and calls `generate_by_rules`.
std::vector<ScheduleSpec> with_rules(std::string_view group, std::span<const ScheduleSpec> generators);
/// The schedule that the rules of a row make, without the generator that may stand before them.
Schedule generate_by_rules(const ScheduleSpec& spec, const ScheduleParams& params);

/// Generates a schedule, or with the option `shares` copies of it (pipeline_copies.hpp). Throws `Error` for an unknown
/// name (with the nearest one), unknown options, and impossible parameters.
Schedule generate(std::string_view name, const ScheduleParams& params);

}  // namespace plumb
