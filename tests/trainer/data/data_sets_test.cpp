#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/error_message.hpp"
#include "tests/support/scratch_directory.hpp"
#include "trainer/data/augmented_images.hpp"
#include "trainer/data/image_data.hpp"
#include "trainer/data/number_words.hpp"
#include "trainer/data/shape_images.hpp"
#include "trainer/data/text_data.hpp"
#include "trainer/ground/permutation.hpp"

TEST_SUITE_BEGIN("trainer");

using namespace plumb;
using plumb::testing::error_message;
using plumb::testing::ScratchDirectory;

namespace {

/// A CIFAR-10 record: red is the label, green the pixel's column, blue its line.
std::string cifar_record(unsigned char label) {
  std::string record(1, static_cast<char>(label));
  record.append(1024, static_cast<char>(label));
  for (int pixel = 0; pixel < 1024; ++pixel) record.push_back(static_cast<char>(pixel % 32));
  for (int pixel = 0; pixel < 1024; ++pixel) record.push_back(static_cast<char>(pixel / 32));
  return record;
}

}  // namespace

TEST_CASE("an epoch goes through every sample once, and the next one in another order") {
  for (const std::int64_t count : {1, 2, 5, 64, 100}) {
    CAPTURE(count);
    std::vector<std::int64_t> first;
    std::vector<std::int64_t> second;
    for (std::int64_t n = 0; n < count; ++n) first.push_back(epoch_sample(n, count, 7));
    for (std::int64_t n = count; n < 2 * count; ++n) second.push_back(epoch_sample(n, count, 7));
    CHECK(std::set(first.begin(), first.end()).size() == static_cast<std::size_t>(count));
    CHECK(*std::ranges::max_element(first) == count - 1);
    CHECK(std::set(second.begin(), second.end()).size() == static_cast<std::size_t>(count));
    if (count > 10) CHECK(first != second);
  }
}

TEST_CASE("planes of colours of a CIFAR-10 file become pixels, and a tenth is held out") {
  std::string bytes;
  for (unsigned char label = 0; label < 10; ++label) bytes += cifar_record(label);
  const ScratchDirectory scratch;
  const ImageData data = ImageData::from_cifar10(scratch.write("cifar.bin", bytes));
  CHECK(data.facts().classes == 10);
  CHECK(data.facts().features == 3072);
  CHECK(data.held_out_samples(1) == 1);
  const Microbatch held_out = data.held_out(0, {1, 1});
  CHECK(held_out.targets == std::vector<std::int32_t>{9});
  const std::size_t pixel = 5 * 32 + 17;
  CHECK(held_out.tokens[3 * pixel] == 9);
  CHECK(held_out.tokens[3 * pixel + 1] == 17);
  CHECK(held_out.tokens[3 * pixel + 2] == 5);
  std::multiset<std::int32_t> labels;
  for (std::int64_t k = 0; k < 3; ++k) {
    const Microbatch batch = data.microbatch(k, {3, 1}, 1);
    labels.insert(batch.targets.begin(), batch.targets.end());
    CHECK(batch == data.microbatch(k, {3, 1}, 1));
  }
  CHECK(labels == std::multiset<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8});
}

TEST_CASE("broken image files are refused by size or record") {
  const ScratchDirectory scratch;
  const auto cut = scratch.write("cut.bin", cifar_record(1).substr(0, 3000));
  CHECK(error_message([&] { ImageData::from_cifar10(cut); }) ==
        cut.string() + ": 3000 bytes, expected records of 3073 bytes (CIFAR-10, binary version)");
  const auto wrong = scratch.write("wrong.bin", cifar_record(3) + cifar_record(17));
  CHECK(error_message([&] { ImageData::from_cifar10(wrong); }) ==
        wrong.string() + ": record 1: label 17, expected 0 to 9");
}

TEST_CASE("drawn shapes have every class, and follow from their seed alone") {
  const ShapeImageOptions options{.image = {12, 12, 3}, .classes = 6, .training = 200, .held_out = 50};
  const ImageData data = shape_images(options);
  const Microbatch batch = data.microbatch(0, {200, 1}, 3);
  CHECK(std::set(batch.targets.begin(), batch.targets.end()) == std::set<std::int32_t>{0, 1, 2, 3, 4, 5});
  CHECK(shape_images(options).microbatch(0, {200, 1}, 3) == batch);
  CHECK(data.held_out(0, {50, 1}) == shape_images(options).held_out(0, {50, 1}));
  CHECK(data.microbatch(1, {200, 1}, 3).targets != batch.targets);
  CHECK(error_message([] {
          shape_images({.image = {12, 12, 1}, .classes = 6});
        }) == "images of shapes: 6 classes, expected 2 to 5");
}

TEST_CASE("augmented images are pieces of their images, mirrored or not, by seed and position alone") {
  const ImageShape image{3, 4, 1};
  LabelledImages rows;
  for (std::uint8_t byte = 1; byte <= 12; ++byte) rows.bytes.push_back(byte);
  rows.labels = {0};
  const AugmentedImages data(std::make_unique<ImageData>("rows", image, rows, rows), image, 1);
  std::set<std::vector<std::int32_t>> seen;
  for (std::int64_t k = 0; k < 200; ++k) {
    const std::vector<std::int32_t> cut = data.microbatch(k, {1, 1}, 7).tokens;
    REQUIRE(cut.size() == 12);
    CHECK(cut == data.microbatch(k, {1, 1}, 7).tokens);
    seen.insert(cut);
  }
  CHECK(seen.size() == 18);  // 3 places in every direction, both ways round
  CHECK(seen.contains({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  CHECK(seen.contains({4, 3, 2, 1, 8, 7, 6, 5, 12, 11, 10, 9}));
  CHECK(seen.contains({0, 0, 0, 0, 0, 1, 2, 3, 0, 5, 6, 7}));  // up and left: what is outside is black
  CHECK(data.held_out(0, {1, 1}).tokens.front() == 1);
  CHECK(data.facts().identity != ImageData("rows", image, rows, rows).facts().identity);
  CHECK(error_message([&] { AugmentedImages(std::make_unique<ImageData>("rows", image, rows, rows), image, 4); }) ==
        "augmentation by 4 pixels, expected 0 to 3");
}

TEST_CASE("two images of a microbatch are cut as they are one by one") {
  const ImageShape image{8, 8, 3};
  const auto made = [&] {
    return std::make_unique<ImageData>(shape_images({.image = image, .classes = 4, .training = 20, .held_out = 5}));
  };
  const AugmentedImages data(made(), image, 2);
  const Microbatch both = data.microbatch(3, {2, 1}, 1);
  std::vector<std::int32_t> one_by_one = data.microbatch(6, {1, 1}, 1).tokens;
  const std::vector<std::int32_t> second = data.microbatch(7, {1, 1}, 1).tokens;
  one_by_one.insert(one_by_one.end(), second.begin(), second.end());
  CHECK(both.tokens == one_by_one);
  CHECK(both.tokens != data.microbatch(3, {2, 1}, 2).tokens);
}

TEST_CASE("numbers are said in words") {
  const auto said = [](std::int64_t number) {
    std::string text;
    for (const std::string& word : number_words(number)) text += (text.empty() ? "" : " ") + word;
    return text;
  };
  CHECK(said(0) == "zero");
  CHECK(said(13) == "thirteen");
  CHECK(said(40) == "forty");
  CHECK(said(327) == "three hundred twenty seven");
  CHECK(said(100) == "one hundred");
  CHECK(said(90019) == "ninety thousand nineteen");
}

TEST_CASE("a pair is padded: source and end, begin and target, target and end, and nothing to predict after it") {
  const PairData data("pairs", {{{"b", "a", "a"}, {"y"}}}, {});
  const Microbatch batch = data.microbatch(0, {1, 5}, 0);
  CHECK(batch.tokens == std::vector<std::int32_t>{4, 3, 3, 2, 0});  // the more frequent word comes first
  CHECK(batch.target_tokens == std::vector<std::int32_t>{1, 3, 0, 0, 0});
  CHECK(batch.targets == std::vector<std::int32_t>{3, 2, -1, -1, -1});
  CHECK(counted_share(batch) == 0.4);
  CHECK(data.facts().vocabulary == 5);
  CHECK(data.facts().classes == 4);
  CHECK(data.facts().longest == 4);
}

TEST_CASE("translations come from lines, every tenth is held out, and a bad line is named") {
  std::string text;
  for (int line = 1; line <= 20; ++line) text += "ein wort" + std::to_string(line) + "\tone word\n";
  const ScratchDirectory scratch;
  const PairData data = PairData::from_file(scratch.write("pairs.tsv", text));
  CHECK(data.held_out_samples(8) == 2);
  CHECK(data.facts().vocabulary == 3 + 21);
  const auto bad = scratch.write("bad.tsv", "a\tb\nc d\n");
  CHECK(error_message([&] { PairData::from_file(bad); }) == bad.string() + ":2: expected source, one tab and target");
  const auto two = scratch.write("two.tsv", "a\tb\tc\n");
  CHECK(error_message([&] { PairData::from_file(two); }) == two.string() + ":1: expected source, one tab and target");
}

TEST_CASE("numbers to learn from and numbers to be tried on have nothing in common") {
  const PairData data = number_pairs(2, 70, 20);
  std::set<std::vector<std::int32_t>> held_out;
  for (std::int64_t i = 0; i < 20; ++i) held_out.insert(data.held_out(i, {1, 4}).tokens);
  CHECK(held_out.size() == 20);
  for (std::int64_t k = 0; k < 70; ++k) CHECK_FALSE(held_out.contains(data.microbatch(k, {1, 4}, 2).tokens));
}

TEST_CASE("the held-out end of a text is not trained on") {
  const TextData data(std::string(100, 'a') + std::string(20, 'b'), 20);
  for (std::int64_t k = 0; k < 50; ++k) {
    const Microbatch batch = data.microbatch(k, {1, 8}, 1);
    CHECK(std::ranges::count(batch.targets, 'b') == 0);
  }
  CHECK(data.held_out_samples(8) == 2);
  CHECK(data.held_out(1, {1, 8}).tokens == std::vector<std::int32_t>(8, 'b'));
}

TEST_SUITE_END();
