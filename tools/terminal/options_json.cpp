#include "tools/terminal/options_json.hpp"

#include <nlohmann/json.hpp>

namespace plumb {

std::string options_json(std::span<const NamedOption> table) {
  auto rows = nlohmann::ordered_json::array();
  for (const NamedOption& option : table) {
    nlohmann::ordered_json row = {{"name", option.name},
                                  {"values", values_text(option)},
                                  {"default", default_text(option)},
                                  {"meaning", option.meaning}};
    if (!option.remark.empty()) row["remark"] = option.remark;
    rows.push_back(std::move(row));
  }
  return rows.dump();
}

}  // namespace plumb
