#include "models/ground/given_files.hpp"

#include <algorithm>

namespace plumb {
namespace {

thread_local ReadableFiles files_of_thread;

}  // namespace

GivenFiles::GivenFiles(const ReadableFiles& files) : outer_(files_of_thread) {
  files_of_thread = {.texts = files.texts, .reach = std::max(files.reach, outer_.reach)};
}

GivenFiles::~GivenFiles() { files_of_thread = outer_; }

const ReadableFiles& GivenFiles::current() { return files_of_thread; }

const std::string* GivenFiles::find(std::string_view name) {
  const TextsByName* texts = files_of_thread.texts;
  if (texts == nullptr) return nullptr;
  const auto found = texts->find(name);
  return found == texts->end() ? nullptr : &found->second;
}

}  // namespace plumb
