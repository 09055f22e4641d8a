// Reading of texts: see corpus.h.
#include "corpus.h"

#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <unordered_set>

#include "frontend/file.h"
#include "frontend/objects.h"
#include "support/codes.h"
#include "syntax/document.h"

namespace loopsmith::language {

auto read_texts(const std::string& folder) -> std::vector<Text> {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".tir") { paths.push_back(entry.path()); }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Text> out;
  for (const auto& path : paths) {
    std::ifstream file(path);
    std::string line;
    bool inside = false;
    while (std::getline(file, line)) {
      if (line.rfind("#### ", 0) == 0) {
        Text text;
        text.name = line.substr(5);
        auto take = [&](const std::string& mark, std::string& why) {
          size_t at = text.name.find(mark);
          if (at == std::string::npos) { return; }
          why = text.name.substr(at + mark.size());
          if (!why.empty() && why.back() == ')') { why.pop_back(); }
          text.name.resize(at);
        };
        take(" (not run: ", text.not_run);
        take(" (not lowered: ", text.not_lowered);
        text.name = path.filename().string() + ": " + text.name;
        out.push_back(std::move(text));
        inside = true;
      } else if (inside) {
        out.back().text += line + "\n";
      }
    }
  }
  return out;
}

auto read_corpus(const std::string& folder, size_t limit) -> std::vector<Text> {
  std::vector<Text> out;
  std::unordered_set<std::string> seen;
  for (const auto& [file, key] : {std::pair("workloads.jsonl.gz", "module"), std::pair("schedule.jsonl.gz", "after")}) {
    gzFile in = gzopen((folder + "/" + file).c_str(), "rb");
    if (!in) { continue; }
    std::string all;
    char chunk[65536];
    int n;
    while ((n = gzread(in, chunk, sizeof chunk)) > 0) { all.append(chunk, static_cast<size_t>(n)); }
    gzclose(in);
    std::istringstream lines(all);
    std::string line;
    size_t count = 0;
    while (count < limit && std::getline(lines, line)) {
      nlohmann::json object = nlohmann::json::parse(line, nullptr, false);
      if (object.is_discarded() || !object.contains(key) || !object[key].is_string()) { continue; }
      if (object.contains("reparsed_equal") && object["reparsed_equal"] != true) { continue; }
      std::string text = object[key];
      if (!seen.insert(text).second) { continue; }
      ++count;
      out.push_back({std::string(file) + ": " + object.value("workload", std::string("?")), std::move(text), {}, false});
    }
  }
  return out;
}

auto parse(const std::string& text) -> Parsed {
  syntax::Document document(text);
  frontend::File file;
  file.update(document);
  Parsed out;
  Diagnostics all = document.diagnostics();
  for (size_t i = 0; i < file.size(); ++i) {
    const frontend::Declaration& declaration = file.declaration(i);
    all.insert(all.end(), declaration.diagnostics.begin(), declaration.diagnostics.end());
    if (declaration.is_program && declaration.module) { out.programs.push_back({file.item(i)->name.str(), declaration.module}); }
  }
  SourceText source("", text);
  for (const Diagnostic& d : all) {
    if (d.code == Code::OtherLanguage) { ++out.unchecked; continue; }
    if (d.severity != Severity::Error && d.code != Code::NotChecked) { continue; }
    auto span = document.resolve(d.where);
    out.problems += "  line " + std::to_string(span ? source.line_column(span->begin).line + 1 : 0) + ": " + d.message() + "\n";
  }
  return out;
}

}  // namespace loopsmith::language
