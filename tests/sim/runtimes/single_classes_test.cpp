#include "sim/runtimes/single_classes.hpp"

#include <string>

#include <doctest/doctest.h>

#include "schedules/catalogue/registry.hpp"

TEST_SUITE_BEGIN("sim");

using namespace plumb;

namespace {

SingleClass class_of(const std::string& name, std::int32_t microbatches = 8, std::int32_t updates = 1) {
  return single_class_of(generate(name, {.num_devices = 4, .num_microbatches = microbatches, .updates = updates}));
}

}  // namespace

TEST_CASE("PyTorch has a class for GPipe and one for 1F1B, whatever the number of microbatches and updates") {
  for (const std::int32_t microbatches : {4, 8, 1'000'000}) {
    CAPTURE(microbatches);
    CHECK(class_of("torch-gpipe", microbatches) == SingleClass::kGPipe);
    CHECK(class_of("gpipe", microbatches) == SingleClass::kGPipe);
    CHECK(class_of("torch-1f1b", microbatches) == SingleClass::k1F1B);
    CHECK(class_of("1f1b", microbatches) == SingleClass::k1F1B);
  }
  CHECK(class_of("1f1b", 2) == SingleClass::k1F1B);  // fewer microbatches than stages
  CHECK(class_of("gpipe", 8, 3) == SingleClass::kGPipe);
  CHECK(class_of("1f1b", 8, 3) == SingleClass::k1F1B);
}

TEST_CASE("other orders, split backwards, several stages and orders with messages are no class's") {
  for (const char* name : {"zb-h1", "2bp", "eager-1f1b", "interleaved", "hanayo", "torch-zbv"}) {
    CAPTURE(name);
    CHECK(class_of(name) == SingleClass::kNone);
  }
  Schedule lowered = generate("1f1b", {.num_devices = 4, .num_microbatches = 8});
  lowered.devices[0].actions.insert(lowered.devices[0].actions.begin() + 1,
                                    Action{.stage = StageId{0}, .microbatch = MicrobatchId{0}, .op = Op::kSendF});
  for (Repeat& repeat : lowered.devices[0].repeats) {
    ++repeat.begin;
    ++repeat.end;
  }
  CHECK(single_class_of(lowered) == SingleClass::kNone);
  Schedule decided = generate("1f1b", {.num_devices = 4, .num_microbatches = 8});
  decided.policy.emplace();
  for (DeviceList& list : decided.devices) list = {};
  CHECK(single_class_of(decided) == SingleClass::kNone);
}

TEST_SUITE_END();
