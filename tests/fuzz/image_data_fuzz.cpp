#include "tests/fuzz/promise.hpp"
#include "trainer/data/image_data.hpp"

/// Any bytes are records of CIFAR-10 whose microbatches have as many numbers as pixels and channels, or are refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  const auto read = [&] { return ImageData::from_cifar10_records(testing::text_of(data, size), "fuzz.bin"); };
  return testing::read_or_refuse(read, [](const ImageData& images) {
    const DataFacts facts = images.facts();
    const MicrobatchShape shape{2, 1};
    const Microbatch batch = images.microbatch(1, shape, 7);
    testing::promise(std::ssize(batch.tokens) == 2 * facts.features, "a number per pixel and channel");
    for (const std::int32_t label : batch.targets) testing::promise(label >= 0 && label < facts.classes, "a class");
  });
}
