// Names of functions and the functions they stand in: see callers.h.
#include "lsp/features/callers.h"

#include <algorithm>

#include "lsp/features/names.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

void collect(const std::vector<Symbol>& symbols, std::vector<Callable>& out) {
  for (const Symbol& symbol : symbols) {
    if (symbol.kind == SymbolKind::Function || symbol.kind == SymbolKind::Schedule) { out.push_back({symbol.name, symbol.kind, symbol.span, symbol.name_span}); }
    if (symbol.kind != SymbolKind::Loop && symbol.kind != SymbolKind::Block) { collect(symbol.children, out); }
  }
}

/// All functions, outer ones before those in them.
auto callables(const Snapshot& snapshot) -> std::vector<Callable> {
  std::vector<Callable> out;
  collect(document_symbols(snapshot), out);
  return out;
}

auto contains(Span outer, Span inner) -> bool { return outer.begin <= inner.begin && inner.end <= outer.end; }

/// The innermost function around a place.
auto around(const std::vector<Callable>& all, Span place) -> const Callable* {
  const Callable* found = nullptr;
  for (const Callable& one : all) {
    if (contains(one.span, place)) { found = &one; }
  }
  return found;
}

void add(std::vector<Calling>& list, const Callable& other, Span place) {
  auto known = std::find_if(list.begin(), list.end(), [&](const Calling& one) { return one.other.name_span == other.name_span; });
  if (known == list.end()) {
    list.push_back({other, {place}});
  } else {
    known->places.push_back(place);
  }
}

}  // namespace

auto callable_at(const Snapshot& snapshot, uint32_t at) -> std::optional<Callable> {
  auto bound = definition(snapshot, at);
  if (!bound) { return std::nullopt; }
  for (const Callable& one : callables(snapshot)) {
    if (one.name_span == *bound) { return one; }
  }
  return std::nullopt;
}

auto callers_of(const Snapshot& snapshot, uint32_t name) -> std::vector<Calling> {
  std::vector<Callable> all = callables(snapshot);
  std::vector<Calling> found;
  for (const Occurrence& o : references(snapshot, name)) {
    if (o.role == Role::Bind) { continue; }
    if (const Callable* caller = around(all, o.span)) { add(found, *caller, o.span); }
  }
  return found;
}

auto callees_of(const Snapshot& snapshot, uint32_t name) -> std::vector<Calling> {
  std::vector<Callable> all = callables(snapshot);
  auto here = std::find_if(all.begin(), all.end(), [&](const Callable& one) { return one.name_span.begin <= name && name <= one.name_span.end; });
  std::vector<Calling> found;
  if (here == all.end()) { return found; }
  NameTable names = names_of(snapshot);
  for (const Occurrence& o : names.occurrences) {
    if (o.role == Role::Bind || !contains(here->span, o.span)) { continue; }
    for (const Occurrence& bound : names.occurrences) {
      if (bound.entity != o.entity || bound.role != Role::Bind) { continue; }
      auto callee = std::find_if(all.begin(), all.end(), [&](const Callable& one) { return one.name_span == bound.span; });
      if (callee != all.end()) { add(found, *callee, o.span); }
    }
  }
  return found;
}

}  // namespace loopsmith::lsp
