#include <string>

#include "tests/fuzz/promise.hpp"
#include "trainer/data/pair_data.hpp"

/// Any text is pairs of sentences whose microbatches have the shape that was asked for, or is refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  const auto read = [&] { return PairData::from_text(std::string(testing::text_of(data, size)), "fuzz.tsv"); };
  return testing::read_or_refuse(read, [](const PairData& pairs) {
    const DataFacts facts = pairs.facts();
    const MicrobatchShape shape{2, facts.longest};
    const Microbatch batch = pairs.microbatch(1, shape, 7);
    testing::promise(std::ssize(batch.tokens) == shape.tokens(), "a token per place");
    testing::promise(std::ssize(batch.targets) == shape.tokens(), "a target per place");
    for (const std::int32_t id : batch.tokens) testing::promise(id >= 0 && id < facts.vocabulary, "a known word");
    for (const std::int32_t id : batch.targets) testing::promise(id >= -1 && id < facts.classes, "a known class");
  });
}
