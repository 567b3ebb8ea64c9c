#pragma once

#include <functional>
#include <string>
#include <vector>

namespace plumb::cuda {

/// A question about the GPU. `ask` runs on device 0, answers in JSON, and throws `Error` with the call that failed.
struct Question {
  int number = 0;
  std::string text;
  std::function<std::string()> ask;
};

/// How a GPU can be cut, and who runs where.
std::vector<Question> partition_questions();

/// How fast matrix products and copies are on a part of it, and whether products repeat bit by bit.
std::vector<Question> rate_questions();

/// What the emulated links move, one at a time and all at once.
std::vector<Question> link_questions();

/// What waiting, recording and replaying cost.
std::vector<Question> overhead_questions();

}  // namespace plumb::cuda
