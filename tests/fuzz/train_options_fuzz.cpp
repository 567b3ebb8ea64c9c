#include <string>
#include <string_view>

#include "tests/fuzz/promise.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/training/train_arguments.hpp"

/// Any words are the options of training, or are refused. Names of files are left out: what they give is not in the
/// text.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  const std::string_view text = testing::text_of(data, size);
  for (const std::string_view file : {"/", ".json", ".txt", "--h", "-h"}) {
    if (text.find(file) != std::string_view::npos) return 0;
  }
  const auto read = [&] {
    TrainArguments arguments;
    OptionTable parser("fuzz [options]", "");
    arguments.add_to(parser);
    parse_command_line(parser, words_after("fuzz", "fuzz " + std::string(text)));
    return arguments.options(2, 10);
  };
  return testing::read_or_refuse(read, [](const TrainOptions& options) {
    testing::promise(!options.model.network.layers.empty(), "a network");
    testing::promise(options.model.shape.samples > 0 && options.model.shape.sequence > 0, "samples");
  });
}
