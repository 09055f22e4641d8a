// Running a function: binds arguments to parameters, then calls the closures. See interp.h.
#include "interp/interp.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <utility>

#include "interp/compiler.h"
#include "ir/ops.h"
#include "ir/plain.h"
#include "ir/reals.h"
#include "ir/strides.h"
#include "ir/visitor.h"

namespace loopsmith::interp {
namespace {


auto in_plain_words(const IRModule& given) -> IRModule {
  IRModule module = with_plain_calls(given);
  std::vector<std::pair<Name, PrimFunc>> functions(module->functions.begin(), module->functions.end());
  bool is_same = true;
  for (auto& [name, func] : functions) {
    PrimFunc plain = with_plain_accesses(func);
    is_same = is_same && plain.same_as(func);
    func = std::move(plain);
  }
  if (is_same) { return module; }
  IRModuleNode out = *module;
  out.functions = std::move(functions);
  return make_module(std::move(out));
}

auto shape_text(const std::vector<int64_t>& shape) -> std::string {
  std::string out = "(";
  for (size_t i = 0; i < shape.size(); ++i) { out += (i ? ", " : "") + std::to_string(shape[i]); }
  return out + (shape.size() == 1 ? ",)" : ")");
}

void add(Counts& to, const Counts& what) {
  to.flops += what.flops;
  to.int_ops += what.int_ops;
  to.index_ops += what.index_ops;
  to.bytes_read += what.bytes_read;
  to.bytes_written += what.bytes_written;
}

// The counts of each loop: those of its pieces, multiplied by their executions, loops inside included.
auto count_loops(const Compiler& compiler, const Frame& frame, Counts& total) -> std::vector<LoopCounts> {
  std::vector<LoopCounts> out;
  for (size_t i = 0; i < compiler.loops.size(); ++i) {
    const LoopInText& loop = compiler.loops[i];
    out.push_back({.id = loop.id, .name = loop.name, .origin = loop.origin, .parent = loop.parent,
                   .iterations = frame.iterations[i], .counts = {}});
  }
  for (size_t i = 0; i < compiler.pieces.size(); ++i) {
    const Piece& piece = compiler.pieces[i];
    int64_t n = frame.counts[i];
    Counts counts{n * piece.flops, n * piece.int_ops, n * piece.index_ops, n * piece.bytes_read, n * piece.bytes_written};
    add(total, counts);
    for (int loop = piece.loop; loop >= 0; loop = compiler.loops[static_cast<size_t>(loop)].parent) { add(out[static_cast<size_t>(loop)].counts, counts); }
  }
  return out;
}

}  // namespace

auto interpret(const IRModule& given, Name function, std::span<const Argument> arguments, const Options& options) -> Result<Stats> {
  IRModule module = in_plain_words(given);
  PrimFunc func = module->find(function);
  if (!func) { return error(loopsmith::Code::InterpArgument).arg("name", function.view()).arg("why", "there is no such function"); }
  if (arguments.size() != func->params.size()) {
    return error(loopsmith::Code::InterpArgument, func->origin).arg("name", function.view())
        .arg("why", "it takes " + std::to_string(func->params.size()) + " arguments and got " + std::to_string(arguments.size()));
  }
  Compiler compiler(module, options);
  compiler.find_implicit(*func);
  // Parameters: memory for buffers, numbers for others; shape variables get their values from the arguments.
  struct ParamBuffer { Buffer buffer; size_t index; };
  std::vector<ParamBuffer> buffers;
  for (size_t i = 0; i < func->params.size(); ++i) {
    (void)compiler.slot(func->params[i].get());
    compiler.define(func->params[i].get());
    if (Buffer b = func->buffer_of(func->params[i])) { buffers.push_back({b, i}); }
  }
  struct SetVar { uint32_t slot; int64_t value; };
  std::vector<SetVar> sets;
  std::vector<std::pair<const IntExpr*, int64_t>> expectations;
  std::vector<std::string> expectation_names;
  auto misfit = [&](size_t i, const std::string& why) {
    return error(loopsmith::Code::InterpArgument, func->params[i]->origin).arg("name", func->params[i]->name.view()).arg("why", why);
  };
  for (const ParamBuffer& p : buffers) {
    const auto* view = std::get_if<TensorView>(&arguments[p.index]);
    if (!view) { return misfit(p.index, "it is a buffer and got a number"); }
    if (!(view->dtype == p.buffer->dtype)) { return misfit(p.index, "its elements are " + p.buffer->dtype.str() + " and it got " + view->dtype.str()); }
    if (view->shape.size() != p.buffer->shape.size()) {
      return misfit(p.index, "it has " + std::to_string(p.buffer->shape.size()) + " dimensions and got shape " + shape_text(view->shape));
    }
    std::vector<int64_t> strides(view->shape.size());
    int64_t stride = 1;
    for (size_t d = view->shape.size(); d-- > 0;) { strides[d] = stride; stride *= view->shape[d]; }
    auto match = [&](const Expr& e, int64_t value) {
      if (const auto* v = e.as<VarNode>(); v && !compiler.is_defined(v)) {
        compiler.define(v);
        sets.push_back({compiler.slot(v), value});
        return;
      }
      expectations.emplace_back(compiler.int_expr(e), value);
      expectation_names.push_back(p.buffer->name.str());
    };
    for (size_t d = 0; d < view->shape.size(); ++d) { match(p.buffer->shape[d], view->shape[d]); }
    for (size_t d = 0; is_strided(p.buffer) && d < p.buffer->strides.size(); ++d) {
      if (view->shape[d] != 1 || p.buffer->strides[d].as<VarNode>()) { match(p.buffer->strides[d], strides[d]); }
    }
    if (p.buffer->elem_offset) { match(p.buffer->elem_offset, 0); }
  }
  std::vector<BindBuffer> binds;
  for (const ParamBuffer& p : buffers) {
    binds.push_back(compiler.bind_buffer(p.buffer));
    for (BindBuffer& b : compiler.implicit_of(p.buffer->data.get())) { binds.push_back(std::move(b)); }
  }
  for (const Var& param : func->params) {
    for (BindBuffer& b : compiler.implicit_of(param.get())) { binds.push_back(std::move(b)); }
  }
  const Statement* body = compiler.statement(func->body);
  if (!compiler.errors.empty()) { return std::move(compiler.errors); }

  Frame frame;
  frame.options = &options;
  frame.slots.resize(compiler.slot_count);
  frame.pointers.resize(compiler.slot_count);
  frame.bindings.resize(compiler.binding_count);
  frame.storages.resize(compiler.storage_count);
  frame.counts.resize(compiler.pieces.size());
  frame.iterations.resize(compiler.loops.size());
  frame.regions.resize(compiler.region_count);
  Watch watch;
  // Programs without unordered loops have no races.
  if (options.report_races && compiler.has_unordered) {
    frame.watch = &watch;
    frame.position = Watch::beginning;
  }
  if (options.max_steps > 0) { frame.step_limit = options.max_steps; }
  if (options.max_seconds > 0) {
    frame.deadline = std::chrono::steady_clock::now() +
                     std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(options.max_seconds));
  }
  std::deque<Memory> memories;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const VarNode* param = func->params[i].get();
    if (const auto* view = std::get_if<TensorView>(&arguments[i])) {
      Buffer buffer = func->buffer_of(func->params[i]);
      memories.emplace_back();
      memories.back().data = static_cast<char*>(view->data);
      memories.back().bytes = view->bytes();
      if (frame.watch) { memories.back().shadow.reset(view->bytes(), view->dtype.element_bytes()); }
      frame.pointers[compiler.slot(buffer ? buffer->data.get() : param)] = {&memories.back(), 0};
      frame.pointers[compiler.slot(param)] = {&memories.back(), 0};
    } else if (param->dtype.is_real()) {
      const auto* real = std::get_if<double>(&arguments[i]);
      double value = real ? *real : static_cast<double>(std::get<int64_t>(arguments[i]));
      frame.slots[compiler.slot(param)].f = round_to(param->dtype, value);
    } else {
      const auto* integer = std::get_if<int64_t>(&arguments[i]);
      if (!integer) { return misfit(i, "it is an integer and got a real number"); }
      frame.slots[compiler.slot(param)].i = wrap_to(param->dtype, *integer);
    }
  }
  for (const SetVar& s : sets) { frame.slots[s.slot].i = s.value; }
  for (size_t i = 0; i < expectations.size(); ++i) {
    int64_t wanted = expectations[i].first->eval(frame);
    if (wanted != expectations[i].second) {
      return error(loopsmith::Code::InterpArgument, func->origin).arg("name", expectation_names[i])
          .arg("why", "an extent or stride is " + std::to_string(expectations[i].second) + " where " + std::to_string(wanted) + " is declared");
    }
  }
  for (const BindBuffer& b : binds) { b.run(frame); }
  body->run(frame);
  if (frame.failed) { return std::move(frame.errors); }
  frame.stats.loops = count_loops(compiler, frame, frame.stats.total);
  return std::move(frame.stats);
}

auto count_instances(const IRModule& module, Name function, int64_t unknown) -> double {
  PrimFunc func = module->find(function);
  if (!func) { return 0; }
  double total = 0;
  std::function<void(const Stmt&, double)> walk = [&](const Stmt& s, double times) {
    if (const auto* loop = s.as<For>()) {
      walk(loop->body, times * static_cast<double>(as_int(loop->extent).value_or(unknown)));
      return;
    }
    if (const auto* realize = s.as<BlockRealize>()) {
      total += times;
      walk(realize->block->body, times);
      return;
    }
    if (s.as<BufferStore>() && root_block(func) == nullptr) { total += times; }
    visit_children(s, [](const Expr&) {}, [&](const Stmt& child) { walk(child, times); });
  };
  walk(func->body, 1);
  return total;
}

}  // namespace loopsmith::interp


