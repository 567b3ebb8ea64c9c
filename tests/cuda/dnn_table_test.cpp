#include "trainer/cuda/dnn/dnn_table.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

#include "models/ground/error.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/scratch_directory.hpp"
#include "trainer/cuda/dnn/attention_key.hpp"
#include "trainer/cuda/dnn_check.hpp"

TEST_SUITE_BEGIN("cuda");

namespace plumb::cuda {

using testing::error_message;
using testing::ScratchDirectory;

namespace {

constexpr const char* kMadeFor = "cuDNN 9.19.0, NVIDIA H200";

/// What a trial did, in order.
struct Tried {
  std::vector<std::string> steps;
  std::string no_plan;
  std::string wrong;
  std::optional<double> own = 4;
  std::optional<double> library = 1;

  DnnTrial trial() {
    return {
        .plan = [this] { return steps.emplace_back("plan"), no_plan; },
        .compare = [this] { return steps.emplace_back("compare"), wrong; },
        .time = [this](bool of_own) { return steps.emplace_back(of_own ? "own" : "cudnn"), of_own ? own : library; }};
  }
};

kernels::AttentionForward<kernels::BFloat16> forward_of(std::int64_t row) {
  kernels::AttentionForward<kernels::BFloat16> of;
  of.shape = {.samples = 8, .sequence = 256, .before = 768, .heads = 12, .group = 3, .head_width = 64, .causal = true};
  of.queries.stride = row;
  of.keys.stride = of.values.stride = 512;
  of.attended.stride = 768;
  return of;
}

}  // namespace

TEST_CASE("a kind of attention is one line of everything that decides, and nothing else") {
  const AttentionKey key = key_of(forward_of(1280), 16);
  CHECK(text_of(key) == "forward b8 q256 k1024 h12/4 d64 causal rows1280,512,512,768 sms16");
  CHECK(key == key_of(forward_of(1280), 16));
  CHECK(text_of(key_of(forward_of(1288), 16)) != text_of(key));
  CHECK(text_of(key_of(forward_of(1280), 8)) != text_of(key));
  kernels::AttentionBackward<kernels::BFloat16> back;
  back.shape = forward_of(0).shape;
  back.shape.causal = false;
  back.query_grad.stride = 24;
  CHECK(text_of(key_of(back, 0)) == "backward b8 q256 k1024 h12/4 d64 all rows0,0,0,0,0,24,0,0 sms0");
}

TEST_CASE("cuDNN is not asked for what its versions are known to get wrong") {
  AttentionKey key = key_of(forward_of(1280), 0);
  CHECK(not_asked_because(key, 91900).empty());
  CHECK(not_asked_because(key, 91002) == "it is older than 9.11");
  key.query_row = 1284;
  CHECK(not_asked_because(key, 91900) == "rows of 1284 numbers");
  key.query_row = 1280;
  key.head_width = 60;
  CHECK(not_asked_because(key, 91900) == "heads of 60 numbers");
  key.head_width = 64;
  key.backward = true;
  key.keys = 65;
  CHECK(not_asked_because(key, 91900).empty());
  CHECK(not_asked_because(key, 91400) == "before 9.15.1 65 keys, no multiple of 128");
  key.keys = 1;
  CHECK(not_asked_because(key, 91900) == "a single key");
}

TEST_CASE("cuDNN answers only after it ran as our kernels do") {
  DnnTable table("attention", kMadeFor);
  CHECK(table.summary() == "attention: none in bf16");
  Tried good;
  CHECK_FALSE(table.choose("a", false, good.trial()).own);
  CHECK(good.steps == std::vector<std::string>{"plan", "compare"});
  Tried wrong;
  wrong.wrong = "attended by cuDNN differs by 0.3 from our kernels";
  CHECK(table.choose("b", true, wrong.trial()).own);
  CHECK(wrong.steps == std::vector<std::string>{"plan", "compare"});
  Tried none;
  none.no_plan = "heads of 60 numbers";
  CHECK(table.choose("c", false, none.trial()).own);
  CHECK(none.steps == std::vector<std::string>{"plan"});
  CHECK(
      table.summary() ==
      "attention: cuDNN 9.19.0 for 1 of 3 kinds, own kernels for 2 (attended by cuDNN differs by 0.3 from our kernels; "
      "heads of 60 numbers)");
}

TEST_CASE("the faster one answers where times decide, and stands from then on") {
  DnnTable table("attention", kMadeFor);
  Tried fast;
  CHECK_FALSE(table.choose("a", true, fast.trial()).own);
  CHECK(fast.steps == std::vector<std::string>{"plan", "compare", "cudnn", "own"});
  Tried slow;
  slow.library = 5;
  CHECK(table.choose("b", true, slow.trial()).own);
  Tried refused;
  refused.library.reset();
  CHECK(table.choose("c", true, refused.trial()).own);
  Tried again;
  again.own = 0;
  CHECK_FALSE(table.choose("a", true, again.trial()).own);
  CHECK(again.steps == std::vector<std::string>{"plan", "compare"});
  CHECK(table.choose("b", true, again.trial()).own);
  CHECK(again.steps.size() == 2);
}

TEST_CASE("choices come back from their file, which another GPU or library refuses") {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "attention.txt";
  DnnTable table("attention", kMadeFor);
  table.load(path);
  table.set("forward b1", {false, ""});
  table.set("backward b1", {true, "they are faster"});
  table.save(path);
  CHECK(table.text() == "plumbline attention, cuDNN 9.19.0, NVIDIA H200\nown backward b1\ncudnn forward b1\n");
  DnnTable again("attention", kMadeFor);
  again.load(path);
  CHECK(again.text() == table.text());
  Tried pinned;
  CHECK_FALSE(again.choose("forward b1", true, pinned.trial()).own);
  CHECK(pinned.steps == std::vector<std::string>{"plan", "compare"});
  pinned.wrong = "attended by cuDNN differs by 0.3 from our kernels";
  CHECK(again.choose("forward b1", true, pinned.trial()).own);
  DnnTable elsewhere("attention", "cuDNN 9.20.0, NVIDIA H200");
  const auto message = [&](const std::string& text) { return error_message([&] { elsewhere.read(text, "t.txt"); }); };
  CHECK(message(table.text()) ==
        "t.txt:1: 'plumbline attention, cuDNN 9.19.0, NVIDIA H200'; expected 'plumbline "
        "attention, cuDNN 9.20.0, NVIDIA H200'");
  const std::string head = "plumbline attention, cuDNN 9.20.0, NVIDIA H200\n";
  CHECK(message(head + "ours forward\n") ==
        "t.txt:2: 'ours forward'; expected 'own' or 'cudnn', and a kind of attention");
  CHECK(message(head + "own\n") == "t.txt:2: 'own'; expected 'own' or 'cudnn', and a kind of attention");
  CHECK(message("") == "t.txt: empty; expected 'plumbline attention, cuDNN 9.20.0, NVIDIA H200'");
}

TEST_CASE("results are compared as wholes, and what is no number never passes") {
  const std::vector<float> ours{3, 4};
  CHECK(relative_difference(std::vector<float>{3, 4}, ours) == 0);
  CHECK(relative_difference(std::vector<float>{3, 5}, ours) == doctest::Approx(0.2));
  CHECK(relative_difference(std::vector<float>{3, std::numeric_limits<float>::quiet_NaN()}, ours) > 1e300);
  CHECK(relative_difference(std::vector<float>{1, 0}, std::vector<float>{0, 0}) > 1e300);
  const std::vector<DnnResult> of{{.name = "attended"}, {.name = "log sums", .is_float = true}};
  CHECK(difference_of(of, {{3, 4.05F}, {3, 4}}, {ours, ours}).empty());
  CHECK(difference_of(of, {{3, 5}, {3, 4}}, {ours, ours}) == "attended by cuDNN differs by 0.2 from our kernels");
  CHECK(difference_of(of, {{3, 4}, {3, 4.05F}}, {ours, ours}) == "log sums by cuDNN differs by 0.01 from our kernels");
}

}  // namespace plumb::cuda

TEST_SUITE_END();
