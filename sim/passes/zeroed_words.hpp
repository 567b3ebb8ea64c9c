#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace plumb {

/// A large array of zeros, in huge pages where the system has them: an array of one word per action costs more in page
/// faults than in use.
class ZeroedWords {
 public:
  explicit ZeroedWords(std::size_t size);

  std::int64_t* data() { return words_.get(); }
  const std::int64_t* data() const { return words_.get(); }
  std::int64_t& operator[](std::size_t at) { return words_[at]; }
  std::int64_t operator[](std::size_t at) const { return words_[at]; }

 private:
  struct Free {
    void operator()(std::int64_t* words) const;
  };
  std::unique_ptr<std::int64_t[], Free> words_;
};

}  // namespace plumb
