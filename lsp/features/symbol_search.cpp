// Finds symbols: see symbol_search.h.
#include "lsp/features/symbol_search.h"

#include <fmt/format.h>

#include <algorithm>

#include "lsp/jobs/wording.h"
#include "support/text.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

auto lower(char c) -> char { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

void add_found(const std::vector<Symbol>& symbols, const std::string& container, std::string_view query, std::vector<FoundSymbol>& out) {
  for (const Symbol& symbol : symbols) {
    bool is_listed = symbol.kind != SymbolKind::Loop && symbol.kind != SymbolKind::Variable && symbol.kind != SymbolKind::Buffer && symbol.kind != SymbolKind::Step;
    if (is_listed && matches_query(symbol.name, query)) { out.push_back({symbol.name, symbol.kind, symbol.name_span, container}); }
    add_found(symbol.children, is_listed ? symbol.name : container, query, out);
  }
}

/// "tuning matmul: trial 37/64, best 141.0 us", "tuned matmul: 138.0 us", "timed blocked: 12.00 us"; empty for a finished run.
auto job_text(const JobFacts& job) -> std::string {
  const std::string& name = !job.schedule.empty() ? job.schedule : job.function;
  switch (job.kind) {
    case JobKind::Tune: return job.is_done() ? fmt::format("tuned {}: {}", name, duration_text(job.seconds)) : fmt::format("tuning {}: {}", name, progress_text(job));
    case JobKind::Bench: return job.is_done() ? fmt::format("timed {}: {}", name, duration_text(job.seconds)) : fmt::format("timing {}", name);
    case JobKind::Verify: return job.is_done() ? fmt::format("verified {}: {}", name, job.is_equal ? "same results" : "other results") : fmt::format("verifying {}", name);
    case JobKind::Run:
    case JobKind::Interpret: break;
  }
  return job.is_done() ? std::string() : fmt::format("running {}", name);
}

/// "llvm znver4" of a target with all its options.
auto target_text(const std::string& target) -> std::string {
  std::string text = target.substr(0, target.find(' '));
  size_t cpu = target.find("-mcpu=");
  if (cpu != std::string::npos) { text += " " + target.substr(cpu + 6, target.find(' ', cpu) - cpu - 6); }
  return text;
}

}  // namespace

auto matches_query(std::string_view name, std::string_view query) -> bool {
  size_t at = 0;
  for (char c : name) {
    if (at < query.size() && lower(c) == lower(query[at])) { ++at; }
  }
  return at == query.size();
}

auto symbols_found(const Snapshot& snapshot, std::string_view query) -> std::vector<FoundSymbol> {
  std::vector<FoundSymbol> out;
  add_found(document_symbols(snapshot), "", query, out);
  return out;
}

auto measured_symbols(const Snapshot& snapshot, const Measured& measured, std::string_view query) -> std::vector<FoundSymbol> {
  std::vector<FoundSymbol> out;
  for (const Symbol& symbol : document_symbols(snapshot)) {
    auto add = [&](const std::string& text, SymbolKind kind) {
      // Compare the query with the name, not with the numbers after it.
      if (!text.empty() && matches_query(text.substr(0, text.find(':')), query)) { out.push_back({text, kind, symbol.name_span, symbol.name}); }
    };
    for (const auto& [id, job] : measured.jobs) {
      if (job.uri == snapshot.name() && (job.schedule.empty() ? job.function : job.schedule) == symbol.name) { add(job_text(job), SymbolKind::Job); }
    }
    if (measured.records == nullptr || (symbol.kind != SymbolKind::Function && symbol.kind != SymbolKind::Class)) { continue; }
    if (auto best = measured.records->best(snapshot, symbol.name)) {
      add(fmt::format("best {}: {} ({}, {} recorded)", symbol.name, duration_text(best->seconds), target_text(best->target), best->records), SymbolKind::Record);
    }
  }
  return out;
}

auto may_have_symbol(std::string_view text, std::string_view query) -> bool {
  bool is_of_language = false;
  for (std::string_view word : {"prim_func", "ir_module", "schedule"}) { is_of_language = is_of_language || text.find(word) != std::string_view::npos; }
  return is_of_language && matches_query(text, query);
}

}  // namespace loopsmith::lsp
