#include "tools/options/precision_argument.hpp"

#include <algorithm>

#include "models/ground/error.hpp"
#include "models/ground/plain_name.hpp"

namespace plumb {

MatrixFormat matrix_format_of(const std::string& precision) {
  const auto at = std::ranges::find(kMatrixFormatNames, precision);
  return at == kMatrixFormatNames.end() ? MatrixFormat::kBf16
                                        : static_cast<MatrixFormat>(at - kMatrixFormatNames.begin());
}

Precision precision_of(const std::string& name, const std::string& cluster) {
  const std::string_view usual = plain_name(cluster) == "host" ? "single" : "mixed";
  const std::string_view chosen = name.empty() ? usual : std::string_view(name);
  if (chosen == "mixed" || matrix_format_of(name) != MatrixFormat::kBf16) return kMixedPrecision;
  if (chosen == "single") return Precision{};
  throw_unknown("precision", chosen, kPrecisionNames);
}

}  // namespace plumb
