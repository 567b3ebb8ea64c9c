#include "trainer/checkpoint/checksums.hpp"

#include <array>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "models/ground/text_file.hpp"
#include "trainer/ground/crc32c.hpp"

namespace plumb {
namespace {

// The end of a state with checksums: all bytes before it are what its own checksum is of.
constexpr std::string_view kBeforeOwn = ",\n \"crc32c\": \"";
constexpr std::string_view kAfterOwn = "\"\n}\n";
constexpr std::size_t kChecksumDigits = 8;
constexpr std::size_t kOwnBytes = kBeforeOwn.size() + kChecksumDigits + kAfterOwn.size();

std::string checksum_text(std::span<const std::byte> bytes) {
  std::array<char, kChecksumDigits + 1> digits{};
  std::snprintf(digits.data(), digits.size(), "%08x", static_cast<unsigned>(crc32c(bytes)));
  return digits.data();
}

std::string checksum_text(std::string_view text) { return checksum_text(std::as_bytes(std::span(text))); }

/// Writes a checksum for a message: damage may have made any bytes of it.
std::string shown(std::string_view checksum) {
  const bool readable = checksum.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  return readable ? std::string(checksum) : std::string("unreadable");
}

bool ends_in_checksum(std::string_view text) {
  if (text.size() < kOwnBytes) return false;
  const std::string_view end = text.substr(text.size() - kOwnBytes);
  return end.starts_with(kBeforeOwn) && end.ends_with(kAfterOwn);
}

void compare_checksum(const std::string& of, std::string_view found, std::string_view expected) {
  if (found == expected) return;
  throw DamagedCheckpoint(of + " has the checksum " + std::string(found) + ", expected the one that was saved, " +
                          shown(expected));
}

}  // namespace

std::string with_checksums(const std::string& state, std::span<const TensorView> tensors) {
  // As text, for the reason that `safetensors_head` gives.
  std::string text = state.substr(0, state.rfind("\n}"));
  text += ",\n \"checksums\": {\"head\":\"" + checksum_text(safetensors_head(tensors)) + "\",\"tensors\":{";
  for (const TensorView& tensor : tensors) {
    text += nlohmann::json(tensor.name).dump() + ":\"" + checksum_text(tensor.bytes) + "\",";
  }
  if (!tensors.empty()) text.pop_back();
  text += "}}";
  const std::string own = checksum_text(text);
  return text + std::string(kBeforeOwn) + own + std::string(kAfterOwn);
}

CheckpointFiles::CheckpointFiles(const std::filesystem::path& checkpoint) {
  const std::filesystem::path file = checkpoint / "tensors.safetensors";
  try {
    read_state(checkpoint / "state.json");
    tensors_.emplace(file);
    if (has_checksums_) compare_tensors(file.string());
  } catch (const DamagedCheckpoint&) {
    throw;
  } catch (const Error& error) {
    throw DamagedCheckpoint(error.what());
  }
}

void CheckpointFiles::read_state(const std::filesystem::path& path) {
  std::string text = read_text_file(path, kCheckpointStateFile);
  has_checksums_ = ends_in_checksum(text);
  if (has_checksums_) {
    const std::string_view saved =
        std::string_view(text).substr(text.size() - kAfterOwn.size() - kChecksumDigits, kChecksumDigits);
    compare_checksum(path.string(), checksum_text(std::string_view(text).substr(0, text.size() - kOwnBytes)), saved);
  }
  state_.emplace(std::move(text), path.string());
  if (has_checksums_) return;
  const JsonValue root = state_->root();
  if (root.find("checksums") || root.at("version").integer() != 1) {
    throw DamagedCheckpoint(path.string() + ": expected its checksum at the end");
  }
}

void CheckpointFiles::compare_tensors(const std::string& name) const {
  const JsonValue checksums = state_->root().at("checksums");
  compare_checksum(name + ": the header", checksum_text(tensors_->head()), checksums.at("head").text());
  std::size_t bytes = tensors_->head().size();
  for (const JsonValue::Member& member : checksums.at("tensors").members()) {
    const SafetensorsFile::Tensor& tensor = tensors_->at(std::string(member.key));
    compare_checksum(name + ": tensor '" + std::string(member.key) + "'", checksum_text(tensor.bytes),
                     member.value.text());
    bytes += tensor.bytes.size();
  }
  if (bytes == tensors_->size()) return;
  throw DamagedCheckpoint(name + ": has " + std::to_string(tensors_->size()) + " bytes, expected " +
                          std::to_string(bytes));
}

}  // namespace plumb
