// Measures the accesses to each buffer, and proves that threads do not race: see warp_hints.h.
#include "driver/warp_hints.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <ranges>

#include "analysis/thread_proof.h"
#include "cost/banks.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "support/codes.h"

namespace loopsmith::driver {
namespace {

/// The buffers that a function accesses, each once, in the order of the program. Buffers with a `storage_align` request are left out: their rows
/// are longer than their shape shows.
auto buffers_of(const PrimFunc& function) -> std::vector<Buffer> {
  std::vector<Buffer> found;
  std::vector<const BufferNode*> aligned;
  auto note = [&](const Buffer& buffer) { if (std::find(found.begin(), found.end(), buffer) == found.end()) { found.push_back(buffer); } };
  post_order(function->body, [&](const Stmt& stmt) {
    if (const auto* store = stmt.as<BufferStore>()) { note(store->buffer); }
    const auto* block = stmt.as<Block>();
    if (block == nullptr || find_attr(block->annotations, Name("buffer_dim_align")) == nullptr) { return; }
    for (const BufferRegion& region : block->writes) { aligned.push_back(region.buffer.get()); }
  }, [&](const Expr& expr) {
    if (const auto* load = expr.as<BufferLoad>()) { note(load->buffer); }
  });
  std::erase_if(found, [&](const Buffer& buffer) { return std::find(aligned.begin(), aligned.end(), buffer.get()) != aligned.end(); });
  return found;
}

void add_hints(const IRModule& module, Diagnostics& out) {
  for (const auto& [name, function] : module->functions) {
    for (const Buffer& buffer : buffers_of(function)) {
      bool is_global = is_global_memory(buffer->scope().view());
      if (!is_global && !is_shared_memory(buffer->scope().view())) { continue; }
      for (const cost::BankUse& use : cost::bank_uses(function, buffer)) {
        if (!use.is_known) { continue; }
        const char* access = use.is_write ? "writes" : "reads";
        if (is_global && use.sectors > use.least_sectors) {
          out.push_back(error(Code::ScatteredAccess, use.origin).arg("access", access).arg("element", use.access).arg("sectors", use.sectors).arg("least", use.least_sectors));
        } else if (!is_global && use.ways > 1) {
          out.push_back(error(Code::BankConflict, use.origin).arg("access", access).arg("element", use.access).arg("ways", use.ways));
        }
      }
    }
  }
}

}  // namespace

auto warp_hints(const workspace::Snapshot& snapshot) -> Diagnostics {
  const Diagnostics found = snapshot.diagnostics();
  Diagnostics out;
  for (const workspace::Program& program : snapshot.programs()) {
    if (!program.module) { continue; }
    add_hints(program.module, out);
    for (const auto& [name, function] : program.module->functions) { std::ranges::move(analysis::thread_proofs(function, found), std::back_inserter(out)); }
  }
  for (const script::FileSchedule& schedule : snapshot.schedules()) {
    if (schedule.run == nullptr) { continue; }
    for (const script::Step& step : schedule.run->steps | std::views::reverse) {
      if (step.after == nullptr) { continue; }
      size_t before = out.size();
      add_hints(step.after->module(), out);
      for (size_t i = before; i < out.size(); ++i) { (void)std::move(out[i]).note(schedule.where, fmt::format("in the program after `{}`", schedule.name.view())); }
      break;
    }
  }
  return out;
}

}  // namespace loopsmith::driver
