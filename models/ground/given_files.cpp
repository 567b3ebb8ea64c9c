#include "models/ground/given_files.hpp"

namespace plumb {
namespace {

thread_local const std::map<std::string, std::string, std::less<>>* given = nullptr;

}  // namespace

GivenFiles::GivenFiles(const std::map<std::string, std::string, std::less<>>* files) : outer_(given) { given = files; }

GivenFiles::~GivenFiles() { given = outer_; }

const std::map<std::string, std::string, std::less<>>* GivenFiles::current() { return given; }

const std::string* GivenFiles::find(std::string_view name) {
  if (given == nullptr) return nullptr;
  const auto found = given->find(name);
  return found == given->end() ? nullptr : &found->second;
}

}  // namespace plumb
