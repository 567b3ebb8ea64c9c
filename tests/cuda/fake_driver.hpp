#pragma once

#include <cstring>
#include <set>
#include <vector>

#include "trainer/cuda/green_driver.hpp"

namespace plumb::cuda {

/// A driver whose GPU has `sms` multiprocessors and `groups_of_8` groups of 8 that are scheduled together, as one of
/// the dies of a 132-SM part has. One at a time.
class FakeDriver {
 public:
  static constexpr unsigned int kAnyPairs = CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING;

  FakeDriver(unsigned int sms, unsigned int groups_of_8) : sms_(sms), groups_of_8_(groups_of_8) { current_ = this; }
  ~FakeDriver() { current_ = nullptr; }
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;

  GreenDriver functions() const {
    return {device_resource, split, describe, create, destroy, context_resource, create_stream, destroy_stream};
  }

  std::set<unsigned int> refused_sizes;  ///< with 915
  bool gives_less = false;               ///< contexts have 2 SMs less than asked for
  int contexts = 0;                      ///< alive
  int streams = 0;                       ///< alive
  int splits = 0;                        ///< that made groups
  bool stream_outlived_context = false;

 private:
  static CUresult device_resource(CUdevice, CUdevResource* result, CUdevResourceType) {
    *result = resource(current_->sms_);
    return CUDA_SUCCESS;
  }

  static CUresult split(CUdevResource* result, unsigned int* groups, const CUdevResource* input, CUdevResource* rest,
                        unsigned int flags, unsigned int least) {
    if (current_->refused_sizes.contains(least)) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    const unsigned int step = flags == kAnyPairs ? 2 : 8;
    const unsigned int size = (least + step - 1) / step * step;
    const unsigned int all = flags == kAnyPairs ? input->sm.smCount : 8 * current_->groups_of_8_;
    const unsigned int possible = all / size;
    const unsigned int made = result == nullptr ? possible : std::min(*groups, possible);
    if (result != nullptr) {
      ++current_->splits;
      for (unsigned int i = 0; i < made; ++i) result[i] = resource(size);
    }
    *groups = made;
    *rest = resource(input->sm.smCount - made * size);
    return CUDA_SUCCESS;
  }

  static CUresult describe(CUdevResourceDesc* description, CUdevResource* resources, unsigned int) {
    if (resources->sm.smCount == 0) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    current_->sizes_.push_back(resources->sm.smCount);
    std::memcpy(description, &current_->next_, sizeof(current_->next_));
    current_->next_ = current_->sizes_.size();
    return CUDA_SUCCESS;
  }

  static CUresult create(CUgreenCtx* context, CUdevResourceDesc description, CUdevice, unsigned int) {
    ++current_->contexts;
    std::uintptr_t number = 0;
    std::memcpy(&number, &description, sizeof(number));
    ++number;
    std::memcpy(context, &number, sizeof(number));
    return CUDA_SUCCESS;
  }

  static CUresult destroy(CUgreenCtx) {
    --current_->contexts;
    current_->stream_outlived_context |= current_->streams > 0;
    return CUDA_SUCCESS;
  }

  static CUresult context_resource(CUgreenCtx context, CUdevResource* result, CUdevResourceType) {
    std::uintptr_t number = 0;
    std::memcpy(&number, &context, sizeof(number));
    *result = resource(current_->sizes_[number - 1] - (current_->gives_less ? 2 : 0));
    return CUDA_SUCCESS;
  }

  static CUresult create_stream(CUstream* stream, CUgreenCtx, unsigned int flags, int) {
    if (flags != CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
    ++current_->streams;
    *stream = nullptr;
    return CUDA_SUCCESS;
  }

  static CUresult destroy_stream(CUstream) {
    --current_->streams;
    return CUDA_SUCCESS;
  }

  static CUdevResource resource(unsigned int sms) {
    CUdevResource resource{};
    resource.type = CU_DEV_RESOURCE_TYPE_SM;
    resource.sm.smCount = sms;
    return resource;
  }

  inline static FakeDriver* current_ = nullptr;
  unsigned int sms_;
  unsigned int groups_of_8_;
  std::vector<unsigned int> sizes_;
  std::size_t next_ = 0;
};

}  // namespace plumb::cuda
