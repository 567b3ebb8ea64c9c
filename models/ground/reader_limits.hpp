#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "models/ground/file_kinds.hpp"

namespace plumb {

/// How much of one thing a reader takes. Files are bounded by their kind (`FileKind`); these limits bound what a short
/// file can ask for: recursion, memory and time. SECURITY.md lists all of them, and a test compares the two.
struct ReaderLimit {
  std::string_view what;
  std::uint64_t most = 0;
  std::string_view unit;  ///< "bytes", or what is counted
};

inline constexpr ReaderLimit kJsonLevels{"JSON: nesting", 200, "levels"};
inline constexpr ReaderLimit kJsonMembers{"JSON: keys of one object", 10'000, "keys"};
inline constexpr ReaderLimit kTomlText{"TOML", 4 * kMebibyte, "bytes"};
inline constexpr ReaderLimit kTomlParts{"TOML: parts of names and brackets in each other", 256, "parts"};
inline constexpr ReaderLimit kYamlText{"YAML", 4 * kMebibyte, "bytes"};
inline constexpr ReaderLimit kConfigLevels{"TOML, YAML and JSON of a launch: tables in each other", 64, "levels"};
inline constexpr ReaderLimit kConfigValues{"TOML, YAML and JSON of a launch: values", 100'000, "values"};
inline constexpr ReaderLimit kConfigName{"TOML, YAML and JSON of a launch: a name with those of its tables", 1024,
                                         "bytes"};
inline constexpr ReaderLimit kRulesText{"rules", 4 * kMebibyte, "bytes"};
inline constexpr ReaderLimit kRuleBlocks{"rules: blocks in each other", 64, "levels"};
inline constexpr ReaderLimit kRulePasses{"rules: what a device's lines come to", 20'000'000, "passes"};
inline constexpr ReaderLimit kUnpackedTrace{"trace, unpacked from gzip", kNetworkFile.most_bytes, "bytes"};
inline constexpr ReaderLimit kUnpackedRun{"traces of one run, unpacked, together", 16 * kGibibyte, "bytes"};
/// Every step keeps the lengths of all.
inline constexpr ReaderLimit kTraceSteps{"traces of one run: steps", 2'000, "steps"};
inline constexpr ReaderLimit kTraceValues{"trace in JSON: values", 50'000'000, "values"};
inline constexpr ReaderLimit kTraceRows{"trace in SQLite: rows of one table", 16'000'000, "rows"};
inline constexpr ReaderLimit kTraceText{"trace in SQLite: one text, and one row", 64 * kMebibyte, "bytes"};
/// Steps of the machine that runs queries; a row of a real export has more bytes than steps are taken for it.
inline constexpr ReaderLimit kQuerySteps{"trace in SQLite: steps of one query for a byte of the file", 16, "steps"};
inline constexpr ReaderLimit kRangeName{"trace: what is read of the name of a range", 4096, "bytes"};
inline constexpr ReaderLimit kMessageText{"message of an error", 2048, "bytes"};
inline constexpr ReaderLimit kQuotedValue{"message of an error: a value that it quotes", 60, "bytes"};

inline constexpr std::array kReaderLimits{
    kJsonLevels,  kJsonMembers, kTomlText,   kTomlParts,  kYamlText,      kConfigLevels, kConfigValues,
    kConfigName,  kRulesText,   kRuleBlocks, kRulePasses, kUnpackedTrace, kUnpackedRun,  kTraceSteps,
    kTraceValues, kTraceRows,   kTraceText,  kQuerySteps, kRangeName,     kMessageText,  kQuotedValue};

}  // namespace plumb
