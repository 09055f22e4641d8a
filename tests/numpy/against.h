// A program on data of NumPy: interpreted and, if there is a code generator, compiled. Results are compared with NumPy's: integers must be equal, reals within a few units in
// the last place of the largest element.
#pragma once

#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "interp/compare.h"
#include "interp/interp.h"
#include "ir/visitor.h"
#include "runtime/jit.h"
#include "runtime/npy.h"
#include "target/target.h"
#include "transform/pipelines.h"

namespace loopsmith::numpy {

struct Data {
  std::vector<runtime::Tensor> tensors;    // one per parameter: inputs, expected results
  std::vector<bool> is_result;
};

inline auto results_of(const PrimFunc& func) -> std::set<const VarNode*> {
  std::set<const VarNode*> out;
  post_order(func->body, [&](const Stmt& s) { if (const auto* store = s.as<BufferStore>()) { out.insert(store->buffer->data.get()); } }, [](const Expr&) {});
  return out;
}

// Results are initialized with values that no program writes.
inline auto copies(const Data& data) -> std::vector<std::vector<char>> {
  std::vector<std::vector<char>> out;
  for (size_t i = 0; i < data.tensors.size(); ++i) {
    TensorView view = data.tensors[i].view();
    out.emplace_back(static_cast<size_t>(view.bytes()), char(0xFF));
    if (!data.is_result[i]) { std::memcpy(out.back().data(), view.data, out.back().size()); }
  }
  return out;
}

inline auto difference(const PrimFunc& func, const Data& data, std::vector<std::vector<char>>& got) -> std::string {
  for (size_t i = 0; i < data.tensors.size(); ++i) {
    if (!data.is_result[i]) { continue; }
    TensorView wanted = data.tensors[i].view(), found = wanted;
    found.data = got[i].data();
    interp::Difference d = interp::compare_tensors(func->params[i]->name.str(), wanted, found, !wanted.dtype.is_real());
    if (d.found) { return d.where; }
  }
  return {};
}

/// Reads PREFIX.PARAMETER.npy for each parameter of a function. Returns the first problem; empty: none.
inline auto read_data(const PrimFunc& func, const std::string& prefix, Data& out) -> std::string {
  std::set<const VarNode*> results = results_of(func);
  for (const Var& p : func->params) {
    Buffer buffer = func->buffer_of(p);
    auto tensor = runtime::read_npy(prefix + "." + buffer->name.str() + ".npy");
    if (!tensor.ok()) { return tensor.diagnostics()[0].message(); }
    out.is_result.push_back(results.contains(buffer->data.get()));
    out.tensors.push_back(std::move(*tensor));
  }
  return {};
}

/// Each way in which the program, whose only function is taken, differs from NumPy.
inline auto differences(const IRModule& module, const Data& data) -> std::vector<std::string> {
  Name function = module->functions[0].first;
  PrimFunc func = module->functions[0].second;
  std::vector<std::string> out;
  {
    auto memory = copies(data);
    std::vector<interp::Argument> arguments;
    for (size_t i = 0; i < memory.size(); ++i) { arguments.emplace_back(TensorView{memory[i].data(), data.tensors[i].dtype(), data.tensors[i].shape()}); }
    interp::Options options;
    options.report_unwritten = options.report_races = options.check_regions = true;
    auto stats = interp::interpret(module, function, arguments, options);
    if (!stats.ok()) { return {stats.diagnostics()[0].message()}; }
    if (!stats->warnings.empty()) { out.push_back(stats->warnings[0].message()); }
    if (std::string d = difference(func, data, memory); !d.empty()) { out.push_back("interpreted: " + d); }
  }
  auto target = target::parse("llvm");
  auto lowered = transform::lower(module);
  if (!target.ok() || !lowered.ok()) {
    out.push_back("it cannot be lowered");
    return out;
  }
#ifdef LOOPSMITH_NUMPY_COMPILED
  auto code = runtime::JitModule::compile(*lowered, *target, {}, module);
  auto entry = code.ok() ? code->find("") : Result<const runtime::JitFunction*>(code.diagnostics());
  if (!entry.ok()) {
    out.push_back(entry.diagnostics()[0].message());
    return out;
  }
  auto memory = copies(data);
  std::vector<runtime::Value> values;
  for (size_t i = 0; i < memory.size(); ++i) { values.emplace_back(TensorView{memory[i].data(), data.tensors[i].dtype(), data.tensors[i].shape()}); }
  if (auto status = runtime::call(**entry, values); !status.ok()) {
    out.push_back(status.diagnostics()[0].message());
  } else if (std::string d = difference(func, data, memory); !d.empty()) {
    out.push_back("compiled: " + d);
  }
#endif
  return out;
}

}  // namespace loopsmith::numpy
