#include "trainer/data/pair_data.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "models/ground/text_stream.hpp"
#include "trainer/ground/permutation.hpp"

namespace plumb {
namespace {

using Words = std::vector<std::string>;
using Ids = std::map<std::string, std::int32_t, std::less<>>;

Words split(std::string_view text) {
  TextStream stream{std::string(text)};
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

/// Returns the most frequent word first; words of equal frequency in the order of their bytes.
Ids ids_by_frequency(const std::map<std::string, std::int64_t>& counts) {
  std::vector<std::pair<std::string, std::int64_t>> words(counts.begin(), counts.end());
  std::ranges::stable_sort(words, std::greater<>(), &std::pair<std::string, std::int64_t>::second);
  Ids ids;
  for (const auto& [word, count] : words) {
    ids.emplace(word, PairData::kFirstWord + static_cast<std::int32_t>(ids.size()));
  }
  return ids;
}

Ids vocabulary(const std::vector<WordPair>& a, const std::vector<WordPair>& b, Words WordPair::*side) {
  std::map<std::string, std::int64_t> counts;
  for (const auto* pairs : {&a, &b}) {
    for (const WordPair& pair : *pairs) {
      for (const std::string& word : pair.*side) ++counts[word];
    }
  }
  return ids_by_frequency(counts);
}

std::vector<std::int32_t> looked_up(const Words& words, const Ids& ids) {
  std::vector<std::int32_t> result;
  for (const std::string& word : words) result.push_back(ids.at(word));
  return result;
}

/// Appends `ids`, padded with `padding` to `sequence` numbers.
void append_padded(std::vector<std::int32_t>& to, const std::vector<std::int32_t>& ids, std::int64_t sequence,
                   std::int32_t padding) {
  to.insert(to.end(), ids.begin(), ids.end());
  to.insert(to.end(), static_cast<std::size_t>(sequence) - ids.size(), padding);
}

}  // namespace

PairData::PairData(std::string name, const std::vector<WordPair>& training, const std::vector<WordPair>& held_out)
    : name_(std::move(name)) {
  if (training.empty()) throw Error(name_ + ": expected at least one pair to train on");
  const Ids source = vocabulary(training, held_out, &WordPair::source);
  const Ids target = vocabulary(training, held_out, &WordPair::target);
  for (const auto& [from, to] : {std::pair{&training, &training_}, std::pair{&held_out, &held_out_}}) {
    for (const WordPair& pair : *from) to->push_back({looked_up(pair.source, source), looked_up(pair.target, target)});
  }
  source_words_ = static_cast<std::int64_t>(source.size());
  target_words_ = static_cast<std::int64_t>(target.size());
}

PairData PairData::from_file(const std::filesystem::path& path) {
  return from_text(read_text_file(path, kTrainingDataFile), path);
}

PairData PairData::from_text(std::string text, const std::filesystem::path& path) {
  constexpr std::size_t kHeldOutEvery = 10;
  TextStream lines(std::move(text));
  std::vector<WordPair> training;
  std::vector<WordPair> held_out;
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::size_t tabulator = line.find('\t');
    WordPair pair{split(line.substr(0, tabulator)), {}};
    if (tabulator != std::string::npos) pair.target = split(std::string_view(line).substr(tabulator + 1));
    if (pair.source.empty() || pair.target.empty() || line.find('\t', tabulator + 1) != std::string::npos) {
      throw Error(path.string() + ":" + std::to_string(number) + ": expected source, one tab and target");
    }
    (number % kHeldOutEvery == 0 ? held_out : training).push_back(std::move(pair));
  }
  return PairData("pairs of " + path.filename().string(), training, held_out);
}

DataFacts PairData::facts() const {
  DataFacts facts;
  facts.name = name_;
  facts.vocabulary = kFirstWord + source_words_;
  facts.target_vocabulary = facts.classes = kFirstWord + target_words_;
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const auto* pairs : {&training_, &held_out_}) {
    for (const IdPair& pair : *pairs) {
      const std::size_t longest = std::max(pair.source.size(), pair.target.size()) + 1;
      facts.longest = std::max(facts.longest, static_cast<std::int64_t>(longest));
      for (const auto* ids : {&pair.source, &pair.target}) {
        for (const std::int32_t id : *ids) hash = (hash ^ static_cast<std::uint64_t>(id)) * 0x100000001b3U;
      }
    }
  }
  facts.identity = std::to_string(training_.size()) + " + " + std::to_string(held_out_.size()) + " " + name_ +
                   ", hash " + std::to_string(hash);
  return facts;
}

void PairData::append(const IdPair& pair, std::int64_t sequence, Microbatch& batch) {
  std::vector<std::int32_t> source = pair.source;
  source.push_back(kEnd);
  append_padded(batch.tokens, source, sequence, kPadding);
  std::vector<std::int32_t> target = pair.target;
  target.push_back(kEnd);
  append_padded(batch.targets, target, sequence, -1);
  target.pop_back();
  target.insert(target.begin(), kBegin);
  append_padded(batch.target_tokens, target, sequence, kPadding);
}

Microbatch PairData::microbatch(std::int64_t k, const MicrobatchShape& shape, std::uint64_t seed) const {
  Microbatch batch;
  const auto count = static_cast<std::int64_t>(training_.size());
  for (std::int64_t i = 0; i < shape.samples; ++i) {
    const std::int64_t sample = epoch_sample(k * shape.samples + i, count, seed);
    append(training_[static_cast<std::size_t>(sample)], shape.sequence, batch);
  }
  return batch;
}

std::int64_t PairData::held_out_samples(std::int64_t) const { return static_cast<std::int64_t>(held_out_.size()); }

Microbatch PairData::held_out(std::int64_t first, const MicrobatchShape& shape) const {
  Microbatch batch;
  for (std::int64_t i = first; i < first + shape.samples; ++i) {
    append(held_out_[static_cast<std::size_t>(i)], shape.sequence, batch);
  }
  return batch;
}

}  // namespace plumb
