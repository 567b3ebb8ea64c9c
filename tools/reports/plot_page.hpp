#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/reports/plot.hpp"

namespace plumb {

struct PlotTable {
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows;
};

/// What a card shows when its name is chosen.
struct PlotChoice {
  std::string name;
  std::optional<Plot> plot;
  std::optional<PlotTable> table;
};

struct PlotCard {
  std::string title;
  std::string note;
  std::vector<PlotChoice> choices;  ///< at least one; buttons where there are several
  std::string choice_label;
};

struct PlotPage {
  std::string title;
  std::string note;
  std::vector<PlotCard> cards;
};

/// Returns the page as one HTML file that needs no network: diagrams to zoom into and to read values from, lines to
/// hide. Same input, same bytes out.
std::string html_plots(const PlotPage& page);

}  // namespace plumb
