// Uses of functions, by the functions around them: see callers.h.
#include "lsp/features/callers.h"

#include <algorithm>
#include <map>

#include "lsp/features/names.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

void collect(const Snapshot& file, const std::vector<Symbol>& symbols, std::vector<Callable>& out) {
  for (const Symbol& symbol : symbols) {
    if (symbol.kind == SymbolKind::Function || symbol.kind == SymbolKind::Schedule) { out.push_back({&file, symbol.name, symbol.kind, symbol.span, symbol.name_span}); }
    if (symbol.kind != SymbolKind::Loop && symbol.kind != SymbolKind::Block) { collect(file, symbol.children, out); }
  }
}

/// All functions, outer ones before those in them.
auto callables(const Snapshot& snapshot) -> std::vector<Callable> {
  std::vector<Callable> out;
  collect(snapshot, document_symbols(snapshot), out);
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
  auto known = std::find_if(list.begin(), list.end(), [&](const Calling& one) { return one.other.file == other.file && one.other.name_span == other.name_span; });
  if (known == list.end()) {
    list.push_back({other, {place}});
  } else {
    known->places.push_back(place);
  }
}

auto callable_with(const std::vector<Callable>& all, Span name) -> std::optional<Callable> {
  auto found = std::find_if(all.begin(), all.end(), [&](const Callable& one) { return one.name_span == name; });
  return found != all.end() ? std::optional(*found) : std::nullopt;
}

}  // namespace

auto callable_at(const Snapshot& snapshot, uint32_t at) -> std::optional<Callable> {
  auto bound = definition(snapshot, at);
  return bound ? callable_with(callables(snapshot), *bound) : std::nullopt;
}

auto callable_at(Files& files, const Snapshot& snapshot, uint32_t at) -> std::optional<Callable> {
  auto bound = definition(files, snapshot, at);
  return bound ? callable_with(callables(*bound->file), bound->span) : std::nullopt;
}

auto callers_of(Files& files, const Snapshot& snapshot, uint32_t name, const CancelToken& cancel) -> std::vector<Calling> {
  std::vector<Calling> found;
  references(files, snapshot, name, cancel, [&](const std::vector<PlaceInFile>& places) {
    std::vector<Callable> all = callables(*places.front().file);
    for (const PlaceInFile& place : places) {
      if (place.role == Role::Bind || place.is_import) { continue; }
      if (const Callable* caller = around(all, place.span)) { add(found, *caller, place.span); }
    }
  });
  return found;
}

auto callees_of(Files& files, const Snapshot& snapshot, uint32_t name) -> std::vector<Calling> {
  std::map<const Snapshot*, std::vector<Callable>> known;
  auto all_of = [&](const Snapshot& file) -> const std::vector<Callable>& {
    auto [found, is_new] = known.try_emplace(&file);
    if (is_new) { found->second = callables(file); }
    return found->second;
  };
  const std::vector<Callable>& own = all_of(snapshot);
  auto here = std::find_if(own.begin(), own.end(), [&](const Callable& one) { return one.name_span.begin <= name && name <= one.name_span.end; });
  std::vector<Calling> found;
  if (here == own.end()) { return found; }
  for (const BoundName& one : bound_names(files, snapshot, here->span)) {
    if (auto callee = callable_with(all_of(*one.bound.file), one.bound.span)) { add(found, *callee, one.span); }
  }
  return found;
}

}  // namespace loopsmith::lsp
