// Reads gzip-compressed lines of JSON and extracts the program texts.
#include "tests/support/corpus.h"
#include "tests/support/paths.h"

#include <zlib.h>

#include <nlohmann/json.hpp>
#include <unordered_set>

namespace loopsmith::tests {

auto corpus_texts() -> const std::vector<std::pair<std::string, std::string>>& {
  static const auto all = [] {
    std::vector<std::pair<std::string, std::string>> out;
    std::unordered_set<std::string> seen;
    for (const char* name : {"workloads", "texts", "schedule"}) {
      gzFile file = gzopen((tests::source_folder() + "/tests/oracle/data/" + name + ".jsonl.gz").c_str(), "rb");
      if (file == nullptr) { continue; }
      std::string content;
      char chunk[65536];
      for (int n; (n = gzread(file, chunk, sizeof chunk)) > 0;) { content.append(chunk, static_cast<size_t>(n)); }
      gzclose(file);
      for (size_t at = 0, end; at < content.size() && (end = content.find('\n', at)) != std::string::npos; at = end + 1) {
        auto row = nlohmann::json::parse(content.substr(at, end - at), nullptr, false);
        for (const char* field : {"module", "before", "after"}) {
          if (!row.is_object() || !row.contains(field) || !row[field].is_string()) { continue; }
          std::string text = row[field].get<std::string>() + "\n";
          if (seen.insert(text).second) { out.emplace_back(std::string(name) + ":" + std::to_string(out.size()), std::move(text)); }
        }
      }
    }
    return out;
  }();
  return all;
}

}  // namespace loopsmith::tests
