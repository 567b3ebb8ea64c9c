#include <algorithm>
#include <string>
#include <string_view>

#include "models/ground/text_file.hpp"
#include "schedules/catalogue/registry.hpp"
#include "tests/fuzz/promise.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/options/cost_arguments.hpp"

namespace {

/// Words that lead out of the text: files, this machine, and sizes of clusters that take long to make.
bool leads_out(std::string_view text) {
  constexpr int kLongestNumber = 3;
  if (text.find('/') != std::string_view::npos || text.find("host") != std::string_view::npos) return true;
  if (text.find(".json") != std::string_view::npos || text.find(".txt") != std::string_view::npos) return true;
  if (text.find("--profile") != std::string_view::npos || text.find("--rates") != std::string_view::npos) return true;
  int digits = 0;
  for (const char c : text) {
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    if (digits > kLongestNumber) return true;
  }
  return false;
}

}  // namespace

/// Any words are the options of costs, which give every stage of a schedule its own, or are refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  const std::string_view text = testing::text_of(data, size);
  if (leads_out(text)) return 0;
  static const Schedule schedule = generate("1f1b", {.num_devices = 4, .num_microbatches = 4});
  const auto read = [&] {
    CostArguments arguments;
    OptionTable parser("fuzz [options]", "");
    arguments.add_to(parser);
    CommandLine words = words_after("fuzz", "fuzz " + std::string(text));
    std::erase_if(words, [](const std::string& word) { return word == "-h" || word.starts_with("--h"); });
    parse_command_line(parser, words);
    return price(load_costs(arguments), schedule);
  };
  return testing::read_or_refuse(read, [](const PricedPipeline& input) {
    testing::promise(input.costs.times.size() == 4, "costs of four stages");
    for (const StageTimes& times : input.costs.times) {
      testing::promise(times.f >= 0 && times.b >= 0 && times.i >= 0 && times.w >= 0, "no negative times");
    }
  });
}
