#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/reports/plot_page.hpp"

namespace plumb {

/// One figure of the model part: by formula, by simulation, and what was published.
struct ModelFigure {
  std::string name;
  std::string what;
  double formula = 0;
  std::optional<double> simulated;
  std::optional<double> published;
  std::string source;  ///< of `published`, with how it is known
};

/// What the model part came to. Layer sizes are those of a real network cut into one weight-carrying layer per stage.
struct ModelStudy {
  std::vector<ModelFigure> figures;
  std::vector<Plot> plots;  ///< file stems are in `names`, in the same order
  std::vector<std::string> names;
};

/// Utilization against stages and microbatches, weight and optimizer memory of `network` (a name or a file),
/// activations with and without recompute. Simulates on all cores; some seconds.
ModelStudy study_models(const std::string& network);

std::string model_text(const ModelStudy& study);
std::string model_markdown(const ModelStudy& study);
/// An array of JSON, as text.
std::string model_json(const ModelStudy& study);
PlotTable model_table(const ModelStudy& study);

}  // namespace plumb
