#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/options/option_table.hpp"
#include "tools/stability/stability_study.hpp"

namespace plumb {

class AnswerDocument;
struct Request;

/// The largest stable learning rates of asynchronous training. Every member has the default of the option that fills
/// it.
struct StabilityQuestion {
  static constexpr const char* kUsage = "stability [METHOD]... [options]";

  std::vector<std::string> methods;  ///< none: those that papers compare
  std::string taus = "0:20";
  std::optional<double> curvature;
  std::optional<double> sensitivity;
  std::optional<double> recompute_sensitivity;
  std::optional<double> momentum;
  std::optional<double> discount;
  std::optional<double> rate;
  std::optional<double> most;
  std::optional<std::int64_t> tau_bkwd;
  std::optional<std::int64_t> tau_recomp;
  std::optional<std::int64_t> iterations;

  /// Declares the options; this object must outlive the table.
  void add_to(OptionTable& table);

  /// What can be checked without computing. Throws `Error` for it.
  StabilityOptions options() const;
  /// Computes all curves, in parallel. Throws `Error` for unknown methods and for what `options` refuses.
  StabilityStudy study() const;

  /// What a request may want of the answer.
  static std::vector<std::string_view> parts() { return {"study", "text", "csv", "svg", "html"}; }
  /// Adds the parts that `request` wants.
  void add_parts(const Request& request, AnswerDocument& document);
};

}  // namespace plumb
