#include "models/ground/given_files.hpp"

namespace plumb {
namespace {

thread_local const TextsByName* texts_of_thread = nullptr;

}  // namespace

GivenFiles::GivenFiles(const TextsByName* files) : outer_(texts_of_thread) { texts_of_thread = files; }

GivenFiles::~GivenFiles() { texts_of_thread = outer_; }

const TextsByName* GivenFiles::current() { return texts_of_thread; }

const std::string* GivenFiles::find(std::string_view name) {
  if (texts_of_thread == nullptr) return nullptr;
  const auto found = texts_of_thread->find(name);
  return found == texts_of_thread->end() ? nullptr : &found->second;
}

}  // namespace plumb
