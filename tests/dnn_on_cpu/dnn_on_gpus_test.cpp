#include "trainer/cuda/dnn_on_gpus.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "models/ground/text_file.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/scratch_directory.hpp"

TEST_SUITE_BEGIN("dnn");

namespace plumb::cuda {
namespace {

/// A GPU by its name.
struct NamedGpu {
  std::string model;
  void activate() const { ++activated; }
  const std::string& name() const { return model; }
  mutable int activated = 0;
};

/// What a GPU's work was made with.
struct NotedWork {
  NotedWork(std::shared_ptr<DnnTable> with, bool by_time) : table(std::move(with)), timed(by_time) {}
  std::shared_ptr<DnnTable> table;
  bool timed;
};

/// cuDNN does not start on this one.
struct NoWork {
  NoWork(const std::shared_ptr<DnnTable>&, bool) { throw Error("cuDNN: cudnnCreate: refused"); }
};

std::vector<std::unique_ptr<NamedGpu>> gpus_of(const std::vector<std::string>& names) {
  std::vector<std::unique_ptr<NamedGpu>> gpus;
  for (const std::string& name : names) gpus.push_back(std::make_unique<NamedGpu>(NamedGpu{name}));
  return gpus;
}

}  // namespace

TEST_CASE("equal GPUs have one table of choices, others have one of their own") {
  const auto gpus = gpus_of({"H200", "A100", "H200"});
  const DnnOnGpus<NotedWork> on("convolutions", ComputedBy::kCudnn, "", gpus);
  CHECK(on.of(0)->table == on.of(2)->table);
  CHECK(on.of(0)->table != on.of(1)->table);
  CHECK_FALSE(on.of(0)->timed);
  for (const auto& gpu : gpus) CHECK(gpu->activated == 1);
  on.of(2)->table->set("forward", {true, "they are faster"});
  CHECK(on.description() == "convolutions: cuDNN 9.19.0 for 0 of 1 kinds, own kernels for 1 (they are faster)");
  CHECK(on.of(1)->table->text() == "plumbline convolutions, cuDNN 9.19.0, A100\n");
}

TEST_CASE("choices of the first GPU are read from their file and written to it") {
  const testing::ScratchDirectory scratch;
  const std::filesystem::path file = scratch.path() / "choices.txt";
  const std::string head = "plumbline convolutions, cuDNN 9.19.0, H200\n";
  const auto gpus = gpus_of({"H200"});
  {
    const DnnOnGpus<NotedWork> first("convolutions", ComputedBy::kFastest, file.string(), gpus);
    CHECK(first.of(0)->timed);
    first.of(0)->table->set("forward", {false, ""});
    first.save();
  }
  CHECK(read_text_file(file) == head + "cudnn forward\n");
  const DnnOnGpus<NotedWork> second("convolutions", ComputedBy::kCudnn, file.string(), gpus);
  REQUIRE(second.of(0)->table->find("forward"));
  const auto elsewhere = gpus_of({"A100"});
  CHECK(testing::error_message([&] {
          const DnnOnGpus<NotedWork> other("convolutions", ComputedBy::kCudnn, file.string(), elsewhere);
        }).find("choices.txt:1: 'plumbline convolutions, cuDNN 9.19.0, H200'; expected") != std::string::npos);
}

TEST_CASE("where cuDNN does not start, the fastest are our kernels, and cuDNN itself is an error") {
  const auto gpus = gpus_of({"H200"});
  const DnnOnGpus<NoWork> own("attention", ComputedBy::kOwn, "", gpus);
  CHECK(own.of(0) == nullptr);
  CHECK(own.description() == "");
  const DnnOnGpus<NoWork> fastest("attention", ComputedBy::kFastest, "", gpus);
  CHECK(fastest.of(0) == nullptr);
  CHECK(fastest.description() == "attention: own kernels (cuDNN: cudnnCreate: refused)");
  fastest.save();
  CHECK(testing::error_message([&] { const DnnOnGpus<NoWork> wanted("attention", ComputedBy::kCudnn, "", gpus); }) ==
        "cuDNN: cudnnCreate: refused");
}

}  // namespace plumb::cuda

TEST_SUITE_END();
