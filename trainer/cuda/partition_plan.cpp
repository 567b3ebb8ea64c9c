#include "trainer/cuda/partition_plan.hpp"

#include <algorithm>
#include <optional>

#include "models/ground/error.hpp"

namespace plumb::cuda {
namespace {

constexpr unsigned int kTogether = 0;  ///< groups whose multiprocessors share a cluster
constexpr unsigned int kAnyPairs = CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING;
constexpr unsigned int kAccuracySms = 8;
constexpr unsigned int kLeastForCopies = 2;

class Ladder {
 public:
  Ladder(const GreenDriver& driver, CUdevice gpu, const PartitionRequest& request)
      : driver_(driver), request_(request) {
    check_driver(driver.device_resource(gpu, &all_, CU_DEV_RESOURCE_TYPE_SM), "cuDeviceGetDevResource");
  }

  PartitionPlan climb() {
    const unsigned int most = largest();
    const bool by_size = request_.mode == PartitionMode::kThroughput;
    std::optional<SplitOffer> found = by_size ? largest_first(most) : together_first(most);
    if (!found) refuse();
    const auto devices = static_cast<unsigned int>(request_.devices);
    return {*found, found->groups > devices, looked_at_};
  }

 private:
  unsigned int largest() const {
    if (request_.sms > 0) return static_cast<unsigned int>(request_.sms) / 2 * 2;  // the driver gives pairs
    if (request_.mode == PartitionMode::kAccuracy) return kAccuracySms;
    return all_.sm.smCount / static_cast<unsigned int>(request_.devices) / 2 * 2;
  }

  static unsigned int step(unsigned int flags) { return flags == kTogether ? 8 : 2; }

  std::optional<SplitOffer> together_first(unsigned int most) {
    for (const unsigned int flags : {kTogether, kAnyPairs}) {
      for (unsigned int sms = most / step(flags) * step(flags); sms >= step(flags); sms -= step(flags)) {
        if (const auto offer = ask(flags, sms)) return offer;
      }
    }
    return std::nullopt;
  }

  std::optional<SplitOffer> largest_first(unsigned int most) {
    for (unsigned int sms = most; sms >= 2; sms -= 2) {
      if (sms % 8 == 0) {
        if (const auto offer = ask(kTogether, sms)) return offer;
      }
      if (const auto offer = ask(kAnyPairs, sms)) return offer;
    }
    return std::nullopt;
  }

  /// Returns what the driver offers, if it is enough. A size that the driver refuses is no offer.
  std::optional<SplitOffer> ask(unsigned int flags, unsigned int sms) {
    SplitOffer offer{flags, sms, 0, 0};
    CUdevResource rest{};
    unsigned int groups = 0;
    if (driver_.split(nullptr, &groups, &all_, &rest, flags, sms) == CUDA_SUCCESS) {
      offer.groups = groups;
      offer.left_over = all_.sm.smCount - std::min(all_.sm.smCount, groups * sms);
    }
    looked_at_.push_back(offer);
    const auto devices = static_cast<unsigned int>(request_.devices);
    const bool enough = offer.groups > devices || (offer.groups == devices && offer.left_over >= kLeastForCopies);
    return enough ? std::optional(offer) : std::nullopt;
  }

  [[noreturn]] void refuse() const {
    std::string possible;
    for (const SplitOffer& offer : looked_at_) possible += (possible.empty() ? "" : ", ") + text_of(offer);
    throw Error("virtual devices: " + std::to_string(request_.devices) + " and room for copies do not fit into " +
                std::to_string(all_.sm.smCount) + " SMs; possible: " + (possible.empty() ? "nothing" : possible));
  }

  const GreenDriver& driver_;
  PartitionRequest request_;
  CUdevResource all_{};
  std::vector<SplitOffer> looked_at_;
};

}  // namespace

std::string text_of(const SplitOffer& offer) {
  return std::to_string(offer.groups) + " groups of " + std::to_string(offer.sms) + " SMs" +
         (offer.flags == kAnyPairs ? " in any pairs" : "") + " (" + std::to_string(offer.left_over) + " left over)";
}

PartitionPlan plan_partition(const GreenDriver& driver, CUdevice gpu, const PartitionRequest& request) {
  return Ladder(driver, gpu, request).climb();
}

}  // namespace plumb::cuda
