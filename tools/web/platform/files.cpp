// Files where there is no disk: only texts that were given (`GivenFiles`) can be read, and nothing can be written.
#include <cerrno>

#include "models/ground/available_memory.hpp"
#include "models/ground/error.hpp"
#include "models/ground/given_files.hpp"
#include "models/ground/text_file.hpp"
#include "tools/terminal/output_file.hpp"

namespace plumb {

std::string read_text_file(const std::filesystem::path& path, const FileKind& kind) {
  const std::string name = path.string();
  const std::string* given = GivenFiles::find(name);
  if (given == nullptr)
    throw Error(name + ": there are no files here; expected a file that was given with the request");
  if (given->size() > kind.most_bytes) {
    throw Error(name + ": has " + std::to_string(given->size()) + " bytes, expected a file (" + std::string(kind.name) +
                ") of at most " + std::to_string(kind.most_bytes) + " bytes");
  }
  return *given;
}

bool file_exists(const std::filesystem::path& path) { return GivenFiles::find(path.string()) != nullptr; }

bool is_plain_file(const std::filesystem::path& path) { return file_exists(path); }

bool is_folder(const std::filesystem::path&) { return false; }

std::vector<std::string> folder_entries(const std::filesystem::path& path, std::size_t) {
  throw Error(path.string() + ": there are no folders here; expected a file that was given with the request");
}

bool is_document_path(std::string_view name) {
  return name.find('/') != std::string_view::npos || name.ends_with(".json") || name.ends_with(".txt");
}

std::optional<std::int64_t> available_memory(const std::filesystem::path&) { return std::nullopt; }

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  throw Error(path_ + ": cannot write: there are no files here");
}
OutputFile::OutputFile(OutputFile&&) noexcept = default;
OutputFile::~OutputFile() = default;
void OutputFile::write(std::string_view) {}
void OutputFile::commit() {}

void check_distinct_outputs(const std::vector<std::string>&) {}

}  // namespace plumb
