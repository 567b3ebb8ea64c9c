#include <string>
#include <vector>

#include "models/import/trace_stages.hpp"
#include "tests/fuzz/promise.hpp"

/// Any texts, separated by a line "%%", are the traces of the ranks of a run whose stages have times, or are refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  constexpr std::string_view kSeparator = "\n%%\n";
  std::vector<TraceText> traces;
  std::string_view rest = testing::text_of(data, size);
  for (std::size_t end = rest.find(kSeparator); end != std::string_view::npos; end = rest.find(kSeparator)) {
    traces.push_back({std::string(rest.substr(0, end)), "rank" + std::to_string(traces.size())});
    rest.remove_prefix(end + kSeparator.size());
  }
  traces.push_back({std::string(rest), "last"});
  return testing::read_or_refuse([&] { return stages_from_traces(traces); },
                                 [](const LayerGraph& stages) {
                                   testing::promise(!stages.nodes.empty(), "at least one stage");
                                   testing::promise(stages.edges.size() + 1 == stages.nodes.size(), "a chain");
                                 });
}
