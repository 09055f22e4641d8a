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

auto misfit(const PrimFunc& func, size_t i, const std::string& why) -> Diagnostic {
  return error(loopsmith::Code::InterpArgument, func->params[i]->origin).arg("name", func->params[i]->name.view()).arg("why", why);
}

/// The parameters of a compiled function: bindings of buffers, values of shape variables, and sizes that must agree with the arguments.
struct Parameters {
  struct SetVar { uint32_t slot; int64_t value; };
  struct Expectation { std::string buffer; const IntExpr* declared; int64_t given; };
  std::vector<BindBuffer> binds;
  std::vector<SetVar> sets;
  std::vector<Expectation> expectations;
};

/// Matches a buffer's shape, strides and offset with a tensor's: the first use of a variable defines it, later ones must agree.
auto match_buffer(Compiler& compiler, const PrimFunc& func, size_t i, const Buffer& buffer, const Argument& argument, Parameters& out) -> Status {
  const auto* view = std::get_if<TensorView>(&argument);
  if (!view) { return misfit(func, i, "it is a buffer and got a number"); }
  if (!(view->dtype == buffer->dtype)) { return misfit(func, i, "its elements are " + buffer->dtype.str() + " and it got " + view->dtype.str()); }
  if (view->shape.size() != buffer->shape.size()) {
    return misfit(func, i, "it has " + std::to_string(buffer->shape.size()) + " dimensions and got shape " + shape_text(view->shape));
  }
  std::vector<int64_t> strides(view->shape.size());
  int64_t stride = 1;
  for (size_t d = view->shape.size(); d-- > 0;) { strides[d] = stride; stride *= view->shape[d]; }
  auto match = [&](const Expr& e, int64_t value) {
    if (const auto* v = e.as<VarNode>(); v && !compiler.is_defined(v)) {
      compiler.define(v);
      out.sets.push_back({compiler.slot(v), value});
      return;
    }
    out.expectations.push_back({buffer->name.str(), compiler.int_expr(e), value});
  };
  for (size_t d = 0; d < view->shape.size(); ++d) { match(buffer->shape[d], view->shape[d]); }
  for (size_t d = 0; is_strided(buffer) && d < buffer->strides.size(); ++d) {
    if (view->shape[d] != 1 || buffer->strides[d].as<VarNode>()) { match(buffer->strides[d], strides[d]); }
  }
  if (buffer->elem_offset) { match(buffer->elem_offset, 0); }
  return ok();
}

auto match_parameters(Compiler& compiler, const PrimFunc& func, std::span<const Argument> arguments) -> Result<Parameters> {
  compiler.find_implicit(*func);
  std::vector<std::pair<Buffer, size_t>> buffers;
  for (size_t i = 0; i < func->params.size(); ++i) {
    (void)compiler.slot(func->params[i].get());
    compiler.define(func->params[i].get());
    if (Buffer b = func->buffer_of(func->params[i])) { buffers.emplace_back(b, i); }
  }
  Parameters out;
  for (const auto& [buffer, i] : buffers) {
    LOOPSMITH_CHECK(match_buffer(compiler, func, i, buffer, arguments[i], out));
  }
  for (const auto& [buffer, i] : buffers) {
    out.binds.push_back(compiler.bind_buffer(buffer));
    for (BindBuffer& b : compiler.implicit_of(buffer->data.get())) { out.binds.push_back(std::move(b)); }
  }
  for (const Var& param : func->params) {
    for (BindBuffer& b : compiler.implicit_of(param.get())) { out.binds.push_back(std::move(b)); }
  }
  return out;
}

/// A frame with room for everything that was compiled, and the limits of a run.
void prepare(Frame& frame, const Compiler& compiler, const Options& options) {
  frame.options = &options;
  frame.slots.resize(compiler.slot_count);
  frame.pointers.resize(compiler.slot_count);
  frame.bindings.resize(compiler.binding_count);
  frame.storages.resize(compiler.storage_count);
  frame.counts.resize(compiler.pieces.size());
  frame.iterations.resize(compiler.loops.size());
  frame.regions.resize(compiler.region_count);
  if (options.max_steps > 0) { frame.step_limit = options.max_steps; }
  if (options.max_seconds > 0) {
    frame.deadline = std::chrono::steady_clock::now() +
                     std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(options.max_seconds));
  }
}

/// Puts the arguments into the frame: numbers into slots, tensors as memory.
auto set_arguments(Frame& frame, Compiler& compiler, const PrimFunc& func, std::span<const Argument> arguments, std::deque<Memory>& memories) -> Status {
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
      if (!integer) { return misfit(func, i, "it is an integer and got a real number"); }
      frame.slots[compiler.slot(param)].i = wrap_to(param->dtype, *integer);
    }
  }
  return ok();
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
  LOOPSMITH_TRY(parameters, match_parameters(compiler, func, arguments));
  const Statement* body = compiler.statement(func->body);
  if (!compiler.errors.empty()) { return std::move(compiler.errors); }

  Frame frame;
  prepare(frame, compiler, options);
  Watch watch;
  // Programs without unordered loops have no races.
  if (options.report_races && compiler.has_unordered) {
    frame.watch = &watch;
    frame.position = Watch::beginning;
  }
  std::deque<Memory> memories;
  LOOPSMITH_CHECK(set_arguments(frame, compiler, func, arguments, memories));
  for (const Parameters::SetVar& s : parameters.sets) { frame.slots[s.slot].i = s.value; }
  for (const Parameters::Expectation& e : parameters.expectations) {
    int64_t declared = e.declared->eval(frame);
    if (declared != e.given) {
      return error(loopsmith::Code::InterpArgument, func->origin).arg("name", e.buffer)
          .arg("why", "an extent or stride is " + std::to_string(e.given) + " where " + std::to_string(declared) + " is declared");
    }
  }
  for (const BindBuffer& b : parameters.binds) { b.run(frame); }
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


