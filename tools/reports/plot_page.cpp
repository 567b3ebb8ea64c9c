#include "tools/reports/plot_page.hpp"

#include <cmath>

#include <nlohmann/json.hpp>

#include "tools/reports/page_data.hpp"
#include "tools/reports/report_page.hpp"
#include "tools/reports/report_palette.hpp"

namespace plumb {
namespace {

using Json = nlohmann::ordered_json;

/// What is no number is null, which leaves a gap.
Json numbers(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(std::isfinite(value) ? Json(value) : Json());
  return list;
}

Json axis(const PlotAxis& axis) { return {{"title", axis.title}, {"logarithmic", axis.logarithmic}}; }

Json line(const PlotSeries& series) {
  Json object = {{"name", series.name},     {"colour", kPlotColours[series.colour % kPlotColours.size()]},
                 {"dashed", series.dashed}, {"points", series.points},
                 {"line", series.line},     {"region", series.region},
                 {"x", numbers(series.x)},  {"y", numbers(series.y)}};
  if (!series.low.empty()) {
    object["low"] = numbers(series.low);
    object["high"] = numbers(series.high);
  }
  return object;
}

Json diagram(const Plot& plot) {
  Json object = {{"x", axis(plot.x)}, {"y", axis(plot.y)}, {"series", Json::array()}, {"marks", Json::array()}};
  for (const PlotSeries& series : plot.series) object["series"].push_back(line(series));
  for (const PlotMark& mark : plot.marks)
    object["marks"].push_back({{"x", mark.x}, {"y", mark.y}, {"text", mark.text}});
  return object;
}

Json card(const PlotCard& card) {
  Json object = {
      {"title", card.title}, {"note", card.note}, {"choiceLabel", card.choice_label}, {"choices", Json::array()}};
  for (const PlotChoice& choice : card.choices) {
    Json entry = {{"name", choice.name}};
    if (choice.plot) entry["plot"] = diagram(*choice.plot);
    if (choice.table) entry["table"] = {{"head", choice.table->head}, {"rows", choice.table->rows}};
    object["choices"].push_back(std::move(entry));
  }
  return object;
}

}  // namespace

std::string html_plots(const PlotPage& page) {
  Json data = {{"title", page.title}, {"note", page.note}, {"cards", Json::array()}};
  for (const PlotCard& each : page.cards) data["cards"].push_back(card(each));
  std::string text(kPlotsPageBeforeData);
  text += safe_in_html(data.dump(-1, ' ', false, Json::error_handler_t::replace));
  text += kPlotsPageAfterData;
  return text;
}

}  // namespace plumb
