#pragma once

#include <mutex>
#include <span>
#include <string_view>

#include "schedules/phases/phase_lines.hpp"

namespace plumb {

/// One file schedules/catalogue/GROUP/*.rules, compiled into the library.
struct WrittenSchedule {
  std::string_view group;
  std::string_view text;
};

/// All of them, by group and file.
std::span<const WrittenSchedule> written_schedules();

/// Rules of the library. A command reads those of a few schedules whole, but lists all of them.
struct CatalogueRules {
  explicit CatalogueRules(const WrittenSchedule& of) : written(of), said_once(rules_said_once(of.text)) {}

  const PhaseRules& whole() const {
    std::call_once(once, [&] { all = phase_rules_from_text(written.text, said_once.card.name); });
    return all;
  }

  WrittenSchedule written;
  PhaseRules said_once;
  mutable std::once_flag once{};
  mutable PhaseRules all{};
};

}  // namespace plumb
