#include "tests/support/device_training.hpp"

namespace plumb {

TrainResult device_training(TrainOptions options) {
  options.backend = "cuda";
  options.executor = "streams";
  return train(options);
}

}  // namespace plumb
