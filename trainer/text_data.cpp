#include "trainer/text_data.hpp"

#include "models/error.hpp"
#include "models/text_file.hpp"
#include "trainer/random.hpp"

namespace plumb {

TextData TextData::from_file(const std::filesystem::path& path) { return TextData(read_text_file(path)); }

TextData::Microbatch TextData::part_of(const Microbatch& whole, const PartPlace& place) {
  Microbatch part;
  for (std::int64_t sample = 0; sample < place.shape.samples; ++sample) {
    const auto first = (place.first_sample + sample) * place.microbatch.sequence + place.first_token;
    const auto append = [&](std::vector<std::int32_t>& to, const std::vector<std::int32_t>& from) {
      to.insert(to.end(), from.begin() + first, from.begin() + first + place.shape.sequence);
    };
    append(part.tokens, whole.tokens);
    append(part.targets, whole.targets);
  }
  return part;
}

TextData::Microbatch TextData::microbatch(std::int64_t k, const MicrobatchShape& shape, std::uint64_t seed) const {
  if (size() < shape.sequence + 1) {
    throw Error("training text: " + std::to_string(size()) + " bytes, expected at least " +
                std::to_string(shape.sequence + 1) + " (one sequence and the byte after it)");
  }
  Microbatch batch;
  const std::uint64_t stream = seed_for(seed, static_cast<std::uint64_t>(k));
  for (std::int64_t sample = 0; sample < shape.samples; ++sample) {
    Random random(seed_for(stream, static_cast<std::uint64_t>(sample)));
    const std::uint64_t start = random.below(static_cast<std::uint64_t>(size() - shape.sequence));
    for (std::int64_t t = 0; t < shape.sequence; ++t) {
      const auto at = static_cast<std::size_t>(start) + static_cast<std::size_t>(t);
      batch.tokens.push_back(static_cast<unsigned char>(text_[at]));
      batch.targets.push_back(static_cast<unsigned char>(text_[at + 1]));
    }
  }
  return batch;
}

}  // namespace plumb
