#include "tools/command_line/parse_command_line.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

#include "tools/terminal/notes.hpp"

TEST_SUITE_BEGIN("tools");

namespace plumb::testing {
namespace {

/// A command with some options of `simulate`.
struct LikeSimulate {
  OptionTable table;
  std::vector<std::string> names;
  std::optional<std::int64_t> devices;
  std::optional<std::int64_t> microbatches;
  std::string network;
  std::string svg;

  explicit LikeSimulate(const std::string& usage) : table(usage, "") {
    table.positionals(names, 0, "NAME")
        .whole("devices,p", devices, {}, "pipeline devices")
        .whole("microbatches,m", microbatches, {}, "microbatches")
        .text("network", network, "NAME", "model")
        .text("svg", svg, "FILE", "picture");
  }
};

/// A command whose --devices are those of a cluster.
struct LikePlan {
  OptionTable table{"plan --network N [options]", ""};
  std::optional<std::int64_t> devices;
  std::string places;
  std::string from;

  LikePlan() {
    table.whole("devices", devices, {}, "devices of a cluster")
        .text("pp", places, "RANGE", "")
        .text("from", from, "FILE", "");
  }
};

std::vector<std::string> notes_of(const CommandLine& given, const OptionTable& table) {
  const CollectedNotes notes;
  in_our_words(given, table);
  return notes.lines();
}

}  // namespace

TEST_CASE("words of other systems are read as the options of the command, each with a note") {
  const LikeSimulate simulate("simulate NAME [options]");
  const CollectedNotes quiet;
  CHECK(in_our_words({"1f1b", "--pp", "4", "--num_microbatches=8"}, simulate.table) ==
        CommandLine{"1f1b", "--devices", "4", "--microbatches=8"});
  CHECK(in_our_words({"--model", "x"}, simulate.table) == CommandLine{"--network", "x"});
  CHECK(in_our_words({"1f1b", "-o", "a.svg"}, simulate.table) == CommandLine{"1f1b", "--svg", "a.svg"});
  CHECK(in_our_words({"1f1b", "--output=a.svg"}, simulate.table) == CommandLine{"1f1b", "--svg=a.svg"});
  CHECK(in_our_words({"--Devices", "4"}, simulate.table) == CommandLine{"--devices", "4"});
  CHECK(notes_of({"--pp", "4"}, simulate.table) ==
        std::vector<std::string>{"plumbline: note: --pp is read as --devices"});
}

TEST_CASE("what a command declares itself, values, and what stands behind -- stay as they are") {
  const LikeSimulate simulate("simulate NAME [options]");
  const LikePlan plan;
  for (const CommandLine& line :
       {CommandLine{"1f1b", "-p", "4", "-m8", "--svg", "o", "--help"}, CommandLine{"--", "--pp", "4"},
        CommandLine{"--zebra", "4"}, CommandLine{"-o", "a.nothing"}, CommandLine{"-o"}}) {
    CHECK(in_our_words(line, simulate.table) == line);
    CHECK(notes_of(line, simulate.table).empty());
  }
  CHECK(in_our_words({"--pp", "4"}, plan.table) == CommandLine{"--pp", "4"});
}

TEST_CASE("the devices of a pipeline are not those of a cluster") {
  const LikeSimulate simulate("simulate NAME [options]");
  const LikePlan plan;
  const CollectedNotes quiet;
  CHECK(in_our_words({"--gpus", "64"}, plan.table) == CommandLine{"--devices", "64"});
  CHECK(in_our_words({"--gpus", "64"}, simulate.table) == CommandLine{"--gpus", "64"});
  CHECK(unknown_option_text("--gpus", simulate.table).starts_with("; expected -p N devices of a pipeline"));
  CHECK(in_our_words({"--job", "train.sh"}, plan.table) == CommandLine{"--from", "train.sh"});
}

TEST_CASE("the files of convert and explore have no option, and -o is one that people try") {
  const LikeSimulate convert("convert IN OUT [options]");
  CHECK(in_our_words({"a.txt", "-o", "b.csv"}, convert.table) == CommandLine{"a.txt", "b.csv"});
}

TEST_CASE("an unknown option is told with what is meant, or where all options are listed") {
  const LikeSimulate simulate("simulate NAME [options]");
  CHECK(unknown_option_text("--batch", simulate.table).starts_with("; microbatches are counted, expected -m N"));
  CHECK(unknown_option_text("--gbs", simulate.table).starts_with("; microbatches are counted, expected -m N"));
  CHECK(unknown_option_text("--netwrok", simulate.table) == " (did you mean '--network'?)");
  CHECK(unknown_option_text("--batches", simulate.table) == "; expected one of: --microbatches");
  CHECK(unknown_option_text("--verbose", simulate.table) == "; `plumbline simulate --help` lists its options");
}

}  // namespace plumb::testing

TEST_SUITE_END();
