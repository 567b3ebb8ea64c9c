#include "sim/campaign/node_trace.hpp"
#include "tests/fuzz/promise.hpp"

/// Any text is a record of nodes, whose events come back as they were, or is refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  return testing::read_or_refuse(
      [&] { return node_trace_from_text(std::string(testing::text_of(data, size)), "fuzz.csv"); },
      [](const NodeTrace& trace) {
        testing::promise(!trace.events.empty(), "a record has events");
        testing::promise(node_trace_from_text(node_trace_to_text(trace), "again.csv") == trace, "the same events");
        testing::promise(most_nodes_of(trace) > 0, "some node was there");
      });
}
