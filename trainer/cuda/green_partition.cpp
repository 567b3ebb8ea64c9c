#include "trainer/cuda/green_partition.hpp"

#include <numeric>
#include <string>

#include "models/ground/error.hpp"

namespace plumb::cuda {

GreenPartition::GreenPartition(const GreenDriver& driver, CUdevice gpu, const PartitionPlan& plan, int devices)
    : driver_(driver), devices_(devices) {
  CUdevResource all{};
  check_driver(driver.device_resource(gpu, &all, CU_DEV_RESOURCE_TYPE_SM), "cuDeviceGetDevResource");
  unsigned int groups = plan.split.groups;
  std::vector<CUdevResource> resources(groups);
  CUdevResource rest{};
  check_driver(driver.split(resources.data(), &groups, &all, &rest, plan.split.flags, plan.split.sms),
               "cuDevSmResourceSplitByCount");
  if (groups != plan.split.groups) {
    throw Error("virtual devices: the driver made " + std::to_string(groups) + " groups; it had promised " +
                std::to_string(plan.split.groups));
  }
  try {
    for (int device = 0; device < devices; ++device) {
      parts_.push_back(make_part(gpu, resources[static_cast<std::size_t>(device)]));
      if (parts_.back().sms == static_cast<int>(plan.split.sms)) continue;
      throw Error("virtual devices: number " + std::to_string(device) + " has " + std::to_string(parts_.back().sms) +
                  " SMs; expected " + std::to_string(plan.split.sms));
    }
    parts_.push_back(make_part(gpu, plan.copies_have_group ? resources[static_cast<std::size_t>(devices)] : rest));
    const int sum =
        std::accumulate(parts_.begin(), parts_.end(), 0, [](int s, const Part& part) { return s + part.sms; });
    if (sum > static_cast<int>(all.sm.smCount)) {
      throw Error("virtual devices: they have " + std::to_string(sum) + " SMs together; the GPU has " +
                  std::to_string(all.sm.smCount));
    }
  } catch (...) {
    for (const Part& part : parts_) driver_.destroy(part.context);
    throw;
  }
}

GreenPartition::~GreenPartition() {
  for (CUstream stream : streams_) driver_.destroy_stream(stream);
  for (const Part& part : parts_) driver_.destroy(part.context);
}

GreenPartition::Part GreenPartition::make_part(CUdevice gpu, CUdevResource& resource) {
  CUdevResourceDesc description{};
  check_driver(driver_.describe(&description, &resource, 1), "cuDevResourceGenerateDesc");
  Part part;
  check_driver(driver_.create(&part.context, description, gpu, CU_GREEN_CTX_DEFAULT_STREAM), "cuGreenCtxCreate");
  CUdevResource got{};
  check_driver(driver_.context_resource(part.context, &got, CU_DEV_RESOURCE_TYPE_SM), "cuGreenCtxGetDevResource");
  part.sms = static_cast<int>(got.sm.smCount);
  return part;
}

CUstream GreenPartition::make_stream(int part, int priority) {
  CUstream stream = nullptr;
  check_driver(driver_.create_stream(&stream, at(part).context, CU_STREAM_NON_BLOCKING, priority),
               "cuGreenCtxStreamCreate");
  streams_.push_back(stream);
  return stream;
}

int GreenPartition::sms(int part) const { return at(part).sms; }

}  // namespace plumb::cuda
