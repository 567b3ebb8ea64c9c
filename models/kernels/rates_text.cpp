#include "models/kernels/rates_text.hpp"

#include <array>
#include <cstdio>

namespace plumb {
namespace {

/// Writes a share with two significant digits: "5.4".
std::string short_percent(double share) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2g", 100 * share);
  return text.data();
}

}  // namespace

std::string rates_text(const KernelRates& rates) {
  const std::string error =
      rates.expected_error > 0 ? "; expected error " + short_percent(rates.expected_error) + " %" : std::string();
  switch (rates.basis) {
    case RatesBasis::kMeasured:
      return "rates measured on " + rates.device + (error.empty() ? "; error on whole steps not known" : error);
    case RatesBasis::kFitted:
      return "rates fitted to " + std::to_string(rates.fitted_rows) + " measured steps" +
             (error.empty() ? "; error on other steps not known" : error);
    default:
      return "rates assumed: no measurement of " + rates.device + " stands behind them (`plumbline device` makes one)" +
             error;
  }
}

std::string unknown_format_text(const KernelRates& rates, MatrixFormat format) {
  if (format == MatrixFormat::kBf16 || rates.says_formats) return "";
  return "; whether " + rates.device + " multiplies in " +
         std::string(kMatrixFormatNames[static_cast<std::size_t>(format)]) +
         " is not known: products take what they take in 16 bits";
}

std::string rates_basis_name(RatesBasis basis) {
  switch (basis) {
    case RatesBasis::kMeasured:
      return "measured";
    case RatesBasis::kFitted:
      return "fitted";
    default:
      return "assumed";
  }
}

}  // namespace plumb
