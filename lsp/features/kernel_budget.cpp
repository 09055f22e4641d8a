// Lowers a program for a GPU, and computes threads, shared memory and occupancy: see kernel_budget.h.
#include "lsp/features/kernel_budget.h"

#include <fmt/format.h>

#include <cmath>
#include <deque>

#include "ir/ops.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "target/gpu.h"
#include "target/target.h"
#include "transform/pipelines.h"

namespace loopsmith::lsp {
namespace {

struct Budget {
  int64_t threads = 1;
  int64_t shared = 0;
  bool is_known = true;            // true when all extents are numbers
};

auto has_threads(const IRModule& module) -> bool {
  bool found = false;
  for (const auto& [name, function] : module->functions) {
    post_order(function->body, [&](const Stmt& stmt) {
      const auto* loop = stmt.as<For>();
      const auto* attr = stmt.as<AttrStmt>();
      found = found || (loop != nullptr && loop->thread) || (attr != nullptr && attr->key == "thread_extent");
    }, [](const Expr&) {});
  }
  return found;
}

/// Collects the budgets of the kernel launches in a statement, in the order of the program.
void collect(const Stmt& stmt, Budget* around, std::vector<Budget>& out) {
  const auto* attr = stmt.as<AttrStmt>();
  const auto* iter = attr != nullptr && attr->key == "thread_extent" ? std::get_if<IterVar>(&attr->node) : nullptr;
  Budget own;
  Budget* budget = around;
  if (iter != nullptr && around == nullptr) { budget = &own; }
  if (iter != nullptr && is_thread_axis(iter->thread_tag.view())) {
    auto extent = as_int(attr->value);
    budget->is_known = budget->is_known && extent.has_value();
    budget->threads *= extent.value_or(1);
  }
  if (const auto* allocate = stmt.as<Allocate>(); allocate != nullptr && budget != nullptr && allocate->data->pointer && is_shared_memory(allocate->data->pointer->scope.view())) {
    int64_t bytes = std::max(1, allocate->dtype.element_bytes() * allocate->dtype.lanes);
    for (const Expr& e : allocate->extents) {
      auto extent = as_int(e);
      budget->is_known = budget->is_known && extent.has_value();
      bytes *= extent.value_or(1);
    }
    budget->shared += bytes;
  }
  visit_children(stmt, [](const Expr&) {}, [&](const Stmt& child) { collect(child, budget, out); });
  if (budget == &own) { out.push_back(own); }
}

auto bytes_in_words(int64_t bytes) -> std::string { return bytes % 1024 == 0 || bytes > 10 * 1024 ? fmt::format("{} KB", std::lround(static_cast<double>(bytes) / 1024)) : fmt::format("{} bytes", bytes); }

auto in_words(const Budget& budget, const target::GpuLimits& limits) -> std::string {
  auto threads = static_cast<uint64_t>(budget.threads);
  auto shared = static_cast<uint64_t>(budget.shared);
  std::string out = fmt::format("{} threads", budget.threads);
  if (limits.block_threads > 0 && threads > limits.block_threads) { return out + fmt::format(": {} allows {}", limits.name, limits.block_threads); }
  if (shared > 0) { out += fmt::format(", {} shared", bytes_in_words(budget.shared)); }
  if (limits.shared_most > 0 && shared > limits.shared_most) { return out + fmt::format(": {} allows {}", limits.name, bytes_in_words(static_cast<int64_t>(limits.shared_most))); }
  target::Occupancy occupancy = target::occupancy(limits, threads, 0, shared);
  if (occupancy.share > 0) { out += fmt::format(", occupancy at most {} % ({})", std::lround(100 * occupancy.share), occupancy.limiter); }
  return out;
}

auto make(const IRModule& module, const std::string& target_text) -> std::vector<std::string> {
  if (!has_threads(module)) { return {}; }
  auto parsed = target::parse(target_text.empty() ? "cuda" : target_text);
  target::Target target = parsed.ok() && is_gpu_target(parsed->kind) ? *parsed : target::parse("cuda").value();
  auto limits = target::gpu_limits(target);
  std::string_view until;
  for (const transform::Stage& stage : transform::pipeline(target.kind)) {
    if (std::string_view(stage.name) == "split_host_device") { break; }
    until = stage.name;
  }
  auto lowered = transform::lower(module, {}, {.target_kind = target.kind, .until = until, .on_stage = {}});
  if (!lowered.ok()) { return {}; }
  std::vector<Budget> found;
  for (const auto& [name, function] : (*lowered)->functions) { collect(function->body, nullptr, found); }
  std::vector<std::string> out;
  for (const Budget& budget : found) {
    if (budget.is_known) { out.push_back(in_words(budget, limits.value_or(target::GpuLimits()))); }
  }
  return out;
}

}  // namespace

auto kernel_budgets_in_words(const IRModule& module, const std::string& target) -> std::vector<std::string> {
  // The editor requests lenses after every change of the text, but most schedules have not changed.
  struct Kept { IRModule module; std::string target; std::vector<std::string> made; };
  static thread_local std::deque<Kept> kept;
  for (const Kept& one : kept) {
    if (one.module.same_as(module) && one.target == target) { return one.made; }
  }
  kept.push_front({module, target, make(module, target)});
  if (kept.size() > 16) { kept.pop_back(); }
  return kept.front().made;
}

}  // namespace loopsmith::lsp
