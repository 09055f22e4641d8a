// Thread axes and storage scopes: see threads.h.
#include "schedule/threads.h"

#include "ir/ops.h"

#include <array>
#include <utility>

namespace loopsmith::schedule {

auto thread_scope(Name tag) -> std::optional<ThreadScope> {
  std::string_view text = tag.view();
  if (text.substr(0, 7) == "vthread" || text == "cthread") { return ThreadScope{1, -1}; }
  auto dimension = [&](size_t at) -> int {
    if (text.size() != at + 1) { return -2; }
    char c = text[at];
    return c >= 'x' && c <= 'z' ? c - 'x' : -2;
  };
  if (text.substr(0, 9) == "blockIdx.") {
    int d = dimension(9);
    if (d >= 0) { return ThreadScope{0, d}; }
  }
  if (text.substr(0, 10) == "threadIdx.") {
    int d = dimension(10);
    if (d >= 0) { return ThreadScope{1, d}; }
  }
  return {};
}

auto storage_rank(Name scope) -> std::optional<int> {
  static constexpr std::array<std::pair<std::string_view, int>, 17> prefixes{{
      {"global", 0}, {"shared", 1}, {"warp", 2}, {"local", 3}, {"wmma.matrix_a", 4}, {"wmma.matrix_b", 5}, {"wmma.accumulator", 6},
      {"texture", 7}, {"amx.tmm", 8}, {"m16n8k8.matrixA", 9}, {"m16n8k8.matrixB", 10}, {"m16n8k8.matrixC", 11},
      {"metal.simdgroup", 12}, {"vtcm", 13}, {"workspace", 14}, {"vmem", 15}, {"constant", 16}}};
  std::string_view text = scope.view();
  if (text.empty()) { return 0; }
  for (const auto& [prefix, rank] : prefixes) {
    if (text.substr(0, prefix.size()) == prefix && (text.size() == prefix.size() || text[prefix.size()] == '.' || text[prefix.size()] == '_')) { return rank; }
  }
  return {};
}

auto is_shared_across(Name storage_scope, Name thread_tag) -> bool {
  auto rank = storage_rank(storage_scope);
  auto thread = thread_scope(thread_tag);
  if (!rank || *rank == 0 || !thread) { return false; }
  if (*rank == 2) { return thread->rank == 1 && thread->dimension == 0; }
  return *rank <= thread->rank;
}

auto runs_at_once(const For& loop) -> bool {
  if (is_one(loop.extent)) { return false; }
  if (loop.for_kind == ForKind::Parallel || loop.for_kind == ForKind::Vectorized) { return true; }
  auto thread = loop.thread ? thread_scope(loop.thread->thread_tag) : std::nullopt;
  return thread && thread->rank == 0;
}

}  // namespace loopsmith::schedule
