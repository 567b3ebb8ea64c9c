#include "trainer/checkpoint/checksums.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "models/ground/text_file.hpp"
#include "schedules/document/methods.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/trainer/training_cases.hpp"
#include "trainer/checkpoint/checkpoint.hpp"
#include "trainer/train.hpp"

TEST_SUITE_BEGIN("trainer");

namespace plumb {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPageBytes = 4096;

/// A run of four updates of an asynchronous schedule with corrections: old versions, stashes and messages are in
/// progress when it is saved.
TrainOptions corrected_run() {
  const Schedule schedule = generate("pipemare", {.num_devices = 4, .num_microbatches = 2, .updates = 4});
  TrainOptions options = tiny_run(with_methods(schedule, parse_methods("t1,t2")), 4, false);
  options.model.numbers = NumberType::kFloat32;
  options.observation.checkpoint.resume = true;
  return options;
}

struct Stopped : std::runtime_error {
  Stopped() : std::runtime_error("stopped") {}
};

void write_bytes(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

bool is_refused(const fs::path& checkpoint) {
  try {
    const CheckpointFiles files(checkpoint);
  } catch (const DamagedCheckpoint&) {
    return true;
  }
  return false;
}

/// `bytes` with one bit turned over.
std::string with_flip(std::string bytes, std::size_t at, unsigned bit) {
  bytes[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ (1U << bit));
  return bytes;
}

/// `bytes` with a page of zeros, as a torn write leaves it.
std::string with_zeroed_page(std::string bytes, std::size_t at) {
  const std::size_t end = std::min(bytes.size(), at + kPageBytes);
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.begin() + static_cast<std::ptrdiff_t>(end), '\0');
  return bytes;
}

/// As version 1 wrote it.
void make_version_1(const fs::path& checkpoint) {
  std::string state = read_text_file(checkpoint / "state.json");
  state = state.substr(0, state.find(",\n \"checksums\"")) + "\n}\n";
  const std::string version = "\"version\": 2";
  state.replace(state.find(version), version.size(), "\"version\": 1");
  write_bytes(checkpoint / "state.json", state);
}

/// A run that stopped after three of its four updates, with the two checkpoints that it left and a copy of the newest.
struct StoppedRun {
  testing::ScratchDirectory scratch;
  TrainOptions options = corrected_run();
  std::vector<std::string> notes;
  fs::path newest = scratch.path() / "update-000000003";
  fs::path state = newest / "state.json";
  fs::path tensors = newest / "tensors.safetensors";
  std::string state_bytes;
  std::string tensor_bytes;

  StoppedRun() {
    options.observation.checkpoint.directory = scratch.path();
    options.observation.on_update = [](std::int64_t update, double) {
      if (update == 3) throw Stopped();
    };
    CHECK_THROWS_AS(train(options), Stopped);
    options.observation.on_update = {};
    options.observation.checkpoint.on_note = [this](const std::string& note) { notes.push_back(note); };
    REQUIRE(scratch.listing() == ".lock update-000000002 update-000000003");
    state_bytes = read_text_file(state);
    tensor_bytes = read_text_file(tensors);
    REQUIRE(!is_refused(newest));
  }
};

std::uint64_t undisturbed_hash() { return train(corrected_run()).weights_hash; }

}  // namespace

TEST_CASE("a bit that is flipped in any tensor is noticed, at its beginning, middle and end") {
  const StoppedRun run;
  const SafetensorsFile file(run.tensors);
  std::size_t flipped = 0;
  for (const auto& [name, tensor] : file.tensors()) {
    if (tensor.bytes.empty()) continue;
    CAPTURE(name);
    const std::ptrdiff_t begin = reinterpret_cast<const char*>(tensor.bytes.data()) - file.head().data();
    const auto first = static_cast<std::size_t>(begin);
    for (const std::size_t at : {first, first + tensor.bytes.size() / 2, first + tensor.bytes.size() - 1}) {
      write_bytes(run.tensors, with_flip(run.tensor_bytes, at, at % 8));
      CHECK(is_refused(run.newest));
      ++flipped;
    }
  }
  CHECK(flipped > 100);
}

TEST_CASE("a bit that is flipped in the header of the tensors, or in the state, is noticed") {
  const StoppedRun run;
  const std::size_t head = SafetensorsFile(run.tensors).head().size();
  for (std::size_t at = 0; at < head; at += at < 16 || at + 16 > head ? 1 : 101) {
    CAPTURE(at);
    write_bytes(run.tensors, with_flip(run.tensor_bytes, at, at % 8));
    CHECK(is_refused(run.newest));
  }
  write_bytes(run.tensors, run.tensor_bytes);
  for (std::size_t at = 0; at<run.state_bytes.size(); at += at + 200> run.state_bytes.size() ? 1 : 13) {
    CAPTURE(at);
    write_bytes(run.state, with_flip(run.state_bytes, at, at % 8));
    CHECK(is_refused(run.newest));
  }
}

TEST_CASE("a page of zeros anywhere in either file is noticed, and so is an end that is missing or too long") {
  const StoppedRun run;
  for (const auto& [path, bytes] : {std::pair{run.tensors, run.tensor_bytes}, std::pair{run.state, run.state_bytes}}) {
    CAPTURE(path);
    std::size_t changed = 0;
    for (std::size_t at = 0; at < bytes.size(); at += kPageBytes) {
      CAPTURE(at);
      const std::string torn = with_zeroed_page(bytes, at);
      write_bytes(path, torn);
      CHECK(is_refused(run.newest) == (torn != bytes));  // some state of the optimizer is zero
      changed += torn != bytes ? 1 : 0;
    }
    CHECK(changed > 0);
    for (const std::size_t length : {std::size_t{0}, std::size_t{1}, bytes.size() / 2, bytes.size() - 1}) {
      write_bytes(path, bytes.substr(0, length));
      CHECK(is_refused(run.newest));
    }
    write_bytes(path, bytes + " ");
    CHECK(is_refused(run.newest));
    fs::remove(path);
    CHECK(is_refused(run.newest));
    write_bytes(path, bytes);
    CHECK(!is_refused(run.newest));
  }
}

TEST_CASE("a large file that is none of tensors is refused by its first bytes") {
  const testing::ScratchDirectory scratch;
  const fs::path path = scratch.write("sparse.safetensors", "");
  fs::resize_file(path, std::uintmax_t{1} << 40U);  // reading it would take minutes
  CHECK_THROWS_WITH_AS(SafetensorsFile{path}, doctest::Contains("not a safetensors file"), Error);
}

TEST_CASE("a run whose newest checkpoint is damaged says so and goes on from the one before it, to the same bits") {
  StoppedRun run;
  write_bytes(run.tensors, with_flip(run.tensor_bytes, run.tensor_bytes.size() / 2, 3));
  const TrainResult result = train(run.options);
  CHECK(result.weights_hash == undisturbed_hash());
  REQUIRE(run.notes.size() == 1);
  CAPTURE(run.notes.front());
  CHECK(run.notes.front().starts_with(run.tensors.string() + ": tensor '"));
  CHECK(run.notes.front().find("; this damaged checkpoint is kept as ") != std::string::npos);
  CHECK(run.notes.front().ends_with("damaged-000000003, and the run goes on from update-000000002"));
  CHECK(run.scratch.listing() == ".lock damaged-000000003 update-000000003 update-000000004");
  CHECK(is_refused(run.scratch.path() / "damaged-000000003"));
}

TEST_CASE("a damaged checkpoint is an error where nobody can be told, and where no older one is whole") {
  StoppedRun run;
  write_bytes(run.state, with_zeroed_page(run.state_bytes, 0));
  const auto on_note = std::exchange(run.options.observation.checkpoint.on_note, {});
  CHECK_THROWS_AS(train(run.options), DamagedCheckpoint);
  run.options.observation.checkpoint.on_note = on_note;
  fs::remove(run.scratch.path() / "update-000000002" / "tensors.safetensors");
  CHECK_THROWS_WITH_AS(train(run.options), doctest::Contains("is damaged, and no older one in"), Error);
  CHECK(run.notes.empty());
  CHECK(run.scratch.listing() == ".lock update-000000002 update-000000003");
}

TEST_CASE("a checkpoint of version 1 is resumed with the word that damage to it would not be noticed") {
  StoppedRun run;
  make_version_1(run.newest);
  CHECK(train(run.options).weights_hash == undisturbed_hash());
  REQUIRE(run.notes.size() == 1);
  CHECK(run.notes.front() ==
        run.newest.string() + ": has no checksums, as an older version saved it; damage to it would not be noticed");
}

TEST_CASE("a checkpoint of version 2 without its checksums is damaged, not old") {
  const StoppedRun run;
  const std::size_t own = run.state_bytes.find(",\n \"crc32c\"");
  REQUIRE(own != std::string::npos);
  write_bytes(run.state, run.state_bytes.substr(0, own) + "\n}\n");
  CHECK(is_refused(run.newest));
}

}  // namespace plumb

TEST_SUITE_END();
