// numpy-operators FOLDER: runs every function of FOLDER/operators.tir on FOLDER/data/FUNCTION.PARAMETER.npy, in the interpreter and, if
// there is a code generator, compiled. Both must give NumPy's results: integers must be equal, reals within a few units in the
// last place of the largest element.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

#include "frontend/file.h"
#include "interp/compare.h"
#include "ir/visitor.h"
#include "runtime/jit.h"
#include "runtime/npy.h"
#include "syntax/document.h"
#include "target/target.h"
#include "transform/pipelines.h"

using namespace loopsmith;

namespace {

struct Data {
  std::vector<runtime::Tensor> tensors;    // one per parameter: inputs, expected results
  std::vector<bool> is_result;
};

auto results_of(const PrimFunc& func) -> std::set<const VarNode*> {
  std::set<const VarNode*> out;
  post_order(func->body, [&](const Stmt& s) { if (const auto* store = s.as<BufferStore>()) { out.insert(store->buffer->data.get()); } }, [](const Expr&) {});
  return out;
}

// Results are initialized with values that no program writes.
auto copies(const Data& data) -> std::vector<std::vector<char>> {
  std::vector<std::vector<char>> out;
  for (size_t i = 0; i < data.tensors.size(); ++i) {
    TensorView view = data.tensors[i].view();
    out.emplace_back(static_cast<size_t>(view.bytes()), char(0xFF));
    if (!data.is_result[i]) { std::memcpy(out.back().data(), view.data, out.back().size()); }
  }
  return out;
}

auto difference(const PrimFunc& func, const Data& data, std::vector<std::vector<char>>& got) -> std::string {
  for (size_t i = 0; i < data.tensors.size(); ++i) {
    if (!data.is_result[i]) { continue; }
    TensorView wanted = data.tensors[i].view(), found = wanted;
    found.data = got[i].data();
    interp::Difference d = interp::compare_tensors(func->params[i]->name.str(), wanted, found, !wanted.dtype.is_real());
    if (d.found) { return d.where; }
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) { fmt::print(stderr, "usage: numpy-operators FOLDER\n"); return 2; }
  std::string folder = argv[1];
  std::ifstream in(folder + "/operators.tir");
  std::stringstream text;
  text << in.rdbuf();
  syntax::Document document(text.str());
  frontend::File file;
  file.update(document);
  int count = 0, failures = 0;
  auto fail = [&](const std::string& name, const std::string& why) {
    ++failures;
    fmt::print("{}: {}\n", name, why);
  };
  for (size_t k = 0; k < file.size(); ++k) {
    const frontend::Declaration& declaration = file.declaration(k);
    if (!declaration.is_program || !declaration.module) { continue; }
    std::string name = declaration.item->name.str();
    const IRModule& module = declaration.module;
    Name function = module->functions[0].first;
    PrimFunc func = module->functions[0].second;
    ++count;
    Data data;
    std::set<const VarNode*> results = results_of(func);
    std::string problem;
    for (const Var& p : func->params) {
      Buffer buffer = func->buffer_of(p);
      auto tensor = runtime::read_npy(fmt::format("{}/data/{}.{}.npy", folder, name, buffer->name.view()));
      if (!tensor.ok()) { problem = tensor.diagnostics()[0].message(); break; }
      data.is_result.push_back(results.contains(buffer->data.get()));
      data.tensors.push_back(std::move(*tensor));
    }
    if (!problem.empty()) { fail(name, problem); continue; }
    {
      auto memory = copies(data);
      std::vector<interp::Argument> arguments;
      for (size_t i = 0; i < memory.size(); ++i) { arguments.emplace_back(TensorView{memory[i].data(), data.tensors[i].dtype(), data.tensors[i].shape()}); }
      interp::Options options;
      options.report_unwritten = options.report_races = options.check_regions = true;
      auto stats = interp::interpret(module, function, arguments, options);
      if (!stats.ok()) { fail(name, stats.diagnostics()[0].message()); continue; }
      if (!stats->warnings.empty()) { fail(name, stats->warnings[0].message()); }
      if (std::string d = difference(func, data, memory); !d.empty()) { fail(name, "interpreted: " + d); }
    }
    auto target = target::parse("llvm");
    auto lowered = transform::lower(module);
    if (!target.ok() || !lowered.ok()) { fail(name, "it cannot be lowered"); continue; }
#ifdef LOOPSMITH_NUMPY_COMPILED
    auto code = runtime::JitModule::compile(*lowered, *target, {}, module);
    if (!code.ok()) { fail(name, code.diagnostics()[0].message()); continue; }
    auto memory = copies(data);
    std::vector<runtime::Value> values;
    for (size_t i = 0; i < memory.size(); ++i) { values.emplace_back(TensorView{memory[i].data(), data.tensors[i].dtype(), data.tensors[i].shape()}); }
    auto entry = code->find("");
    if (!entry.ok()) { fail(name, entry.diagnostics()[0].message()); continue; }
    if (auto status = runtime::call(**entry, values); !status.ok()) { fail(name, status.diagnostics()[0].message()); continue; }
    if (std::string d = difference(func, data, memory); !d.empty()) { fail(name, "compiled: " + d); }
#endif
  }
  fmt::print("{} operators, {} failures\n", count, failures);
  return failures == 0 && count >= 25 ? 0 : 1;
}
