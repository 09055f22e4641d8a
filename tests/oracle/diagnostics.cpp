// Diagnostics of program texts: generated programs that the reference accepted. None of them may get an error or a
// warning except those in diagnostics.txt, each with its reason: there the program is wrong although the reference accepted it.
#include <fmt/format.h>

#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <unordered_set>

#include "analysis/analyses.h"
#include "frontend/file.h"
#include "program.h"
#include "support/origin.h"
#include "syntax/document.h"
#include "tests/support/paths.h"

namespace loopsmith::oracle {
namespace {

/// FNV-1a, 64 bits: the key of a text, since several files contain the same text.
auto fingerprint(const std::string& text) -> std::string {
  uint64_t hash = 0xcbf29ce484222325U;
  for (char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3U;
  }
  return fmt::format("{:016x}", hash);
}

/// Lines `FINGERPRINT ID CODES REASON`, codes joined by commas.
auto exceptions() -> const std::map<std::string, std::set<std::string>>& {
  static const auto all = [] {
    std::map<std::string, std::set<std::string>> out;
    std::ifstream in(tests::source_folder() + "/tests/oracle/diagnostics.txt");
    std::string line;
    while (std::getline(in, line)) {
      if (line.empty() || line[0] == '#') { continue; }
      std::istringstream words(line);
      std::string print, id, codes, code;
      words >> print >> id >> codes;
      std::istringstream list(codes);
      while (std::getline(list, code, ',')) { out[print].insert(code); }
    }
    return out;
  }();
  return all;
}

void check_one(const std::string& id, const std::string& text, Tally& tally) {
  syntax::Document document(text);
  frontend::File file;
  file.update(document);
  // A text that the reference itself cannot parse is not checked.
  if (has_errors(document.diagnostics()) || has_errors(file.diagnostics())) { return tally.leave_out("not well-formed"); }
  analysis::Analyses analyses;
  analyses.update(document, file, true, INT64_MAX);
  std::set<std::string> found;
  for (const Diagnostic& d : analyses.diagnostics()) { found.insert(std::string(code_id(d.code))); }
  std::string print = found.empty() && exceptions().empty() ? "" : fingerprint(text);
  auto expected = exceptions().find(print);
  if (found == (expected == exceptions().end() ? std::set<std::string>() : expected->second)) { return tally.pass(); }
  SourceText source("", text);
  std::string got = print;
  for (const Diagnostic& d : analyses.diagnostics()) {
    auto span = document.resolve(d.where);
    uint32_t line = span ? source.line_column(span->begin).line : 0;
    got += fmt::format("\n    line {}: {} [{}]", line + 1, d.message(), code_id(d.code));
  }
  tally.fail(id, "what diagnostics.txt says", got);
}

}  // namespace

void check_diagnostics(const Json& line, Tally& tally) {
  static std::unordered_set<std::string> seen;
  std::string id = line.value("id", line.value("workload", std::string("?")));
  std::function<void(const Json&, const std::string&)> walk = [&](const Json& value, const std::string& path) {
    if (value.is_string()) {
      const auto& text = value.get_ref<const std::string&>();
      if (text.rfind("# from tvm.script import", 0) == 0 && seen.insert(text).second) { check_one(id + path, text, tally); }
    } else if (value.is_array()) {
      for (size_t i = 0; i < value.size(); ++i) { walk(value[i], path + "[" + std::to_string(i) + "]"); }
    } else if (value.is_object()) {
      for (const auto& [key, item] : value.items()) { walk(item, path + "." + key); }
    }
  };
  walk(line, "");
}

}  // namespace loopsmith::oracle
