#include "tests/support/device_training.hpp"

namespace plumb {

TrainResult device_training(TrainOptions options) {
  options.execution.backend = "cuda";
  options.execution.executor = "streams";
  return train(options);
}

}  // namespace plumb
