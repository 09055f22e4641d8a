// Runs a function: binds arguments to parameters, then calls the closures. See interp.h.
#include "interp/interp.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <utility>

#include "interp/compiler.h"
#include "ir/bindings.h"
#include "ir/ops.h"
#include "ir/plain.h"
#include "ir/reals.h"
#include "ir/visitor.h"
#include "support/reasons.h"
#include "support/text.h"

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

// The counts of each loop: those of its pieces multiplied by their executions, including inner loops.
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

auto misfit(const PrimFunc& func, size_t i, const Reason& why) -> Diagnostic {
  return error(loopsmith::Code::InterpArgument, func->params[i]->origin).arg("name", func->params[i]->name.view()).arg("reason", why.text());
}

/// The parameters of a compiled function: bindings of buffers, and values of shape variables.
struct Parameters {
  struct SetVar { uint32_t slot; int64_t value; };
  std::vector<BindBuffer> binds;
  std::vector<SetVar> sets;
};

/// Checks the kind, the type and the rank of the argument for a buffer.
auto check_buffer(const PrimFunc& func, size_t i, const Buffer& buffer, const Argument& argument) -> Status {
  const auto* view = std::get_if<TensorView>(&argument);
  if (!view) { return misfit(func, i, because(Why::BufferGotNumber)); }
  if (!(view->dtype == buffer->dtype)) { return misfit(func, i, because(Why::ElementsGotOther).arg("wanted", buffer->dtype.str()).arg("found", view->dtype.str())); }
  if (view->shape.size() != buffer->shape.size()) {
    return misfit(func, i, because(Why::RankGotShape).arg("dimensions", buffer->shape.size()).arg("shape", shape_text(view->shape)));
  }
  return ok();
}

/// The values of the shape variables, from the shapes of the tensors; an error if a tensor does not fit its buffer.
auto solve_sizes(const PrimFunc& func, std::span<const Argument> arguments) -> Result<std::vector<std::optional<int64_t>>> {
  Sizes sizes = sizes_of(func);
  std::vector<std::optional<int64_t>> slots(sizes.slots());
  std::vector<GivenTensor> tensors(arguments.size());
  std::vector<const GivenTensor*> given;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (const auto* integer = std::get_if<int64_t>(&arguments[i]); integer && func->params[i]->dtype.is_integral()) { slots[i] = wrap_to(func->params[i]->dtype, *integer); }
    if (const auto* view = std::get_if<TensorView>(&arguments[i])) { tensors[i].shape = view->shape; }
  }
  for (const BufferSizes& buffer : sizes.buffers) { given.push_back(&tensors[buffer.parameter]); }
  auto wrong = solve(sizes, slots, given);
  if (!wrong) { return slots; }
  std::string why = (wrong->variable != SIZE_MAX ? because(Why::NoTensorGivesSize) : because(Why::MustHave).arg("expected", wrong->expected).arg("found", wrong->found)).text();
  if (!wrong->note.empty()) { why += " (" + wrong->note + ")"; }
  return error(loopsmith::Code::InterpArgument, func->origin)
      .arg("name", wrong->variable != SIZE_MAX ? sizes.variables[wrong->variable].name : sizes.buffers[wrong->buffer].name).arg("reason", why);
}

auto match_parameters(Compiler& compiler, const PrimFunc& func, std::span<const Argument> arguments) -> Result<Parameters> {
  compiler.find_implicit(*func);
  std::vector<std::pair<Buffer, size_t>> buffers;
  for (size_t i = 0; i < func->params.size(); ++i) {
    (void)compiler.slot(func->params[i].get());
    compiler.define(func->params[i].get());
    if (Buffer b = func->buffer_of(func->params[i])) { buffers.emplace_back(b, i); }
  }
  for (const auto& [buffer, i] : buffers) { LOOPSMITH_CHECK(check_buffer(func, i, buffer, arguments[i])); }
  LOOPSMITH_TRY(slots, solve_sizes(func, arguments));
  Parameters out;
  std::vector<Var> variables = shape_variables(func);
  for (size_t i = 0; i < variables.size(); ++i) {
    compiler.define(variables[i].get());
    out.sets.push_back({compiler.slot(variables[i].get()), slots[func->params.size() + i].value_or(0)});
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

/// Prepares a frame with space for all compiled variables, and sets the limits of a run.
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
      if (frame.watch) {
        const int64_t records = 8 * (view->bytes() / std::max(1, view->dtype.element_bytes()) + 1);
        *frame.allocated += records;
        if (*frame.allocated > frame.options->max_bytes) {
          const std::string name = (buffer ? buffer->name : param->name).str();
          return error(loopsmith::Code::OutOfMemory, param->origin).arg("what", "the record of accesses to `" + name + "`").arg("bytes", bytes_text(static_cast<double>(records)))
              .arg("limit", "the limit of " + bytes_text(static_cast<double>(frame.options->max_bytes)) + " leaves").remedy("choose smaller sizes with `--arg`");
        }
        memories.back().shadow.reset(view->bytes(), view->dtype.element_bytes());
      }
      frame.pointers[compiler.slot(buffer ? buffer->data.get() : param)] = {&memories.back(), 0};
      frame.pointers[compiler.slot(param)] = {&memories.back(), 0};
    } else if (param->dtype.is_real()) {
      const auto* real = std::get_if<double>(&arguments[i]);
      double value = real ? *real : static_cast<double>(std::get<int64_t>(arguments[i]));
      frame.slots[compiler.slot(param)].f = round_to(param->dtype, value);
    } else {
      const auto* integer = std::get_if<int64_t>(&arguments[i]);
      if (!integer) { return misfit(func, i, because(Why::IntegerGotReal)); }
      frame.slots[compiler.slot(param)].i = wrap_to(param->dtype, *integer);
    }
  }
  return ok();
}

}  // namespace

auto interpret(const IRModule& given, Name function, std::span<const Argument> arguments, const Options& options) -> Result<Stats> {
  IRModule module = in_plain_words(given);
  PrimFunc func = module->find(function);
  if (!func) { return error(loopsmith::Code::NoFunctionToSchedule).arg("function", function.view()); }
  if (arguments.size() != func->params.size()) {
    return error(loopsmith::Code::ArgumentCount, func->origin).arg("function", function.view())
        .arg("expected", static_cast<int64_t>(func->params.size())).arg("found", static_cast<int64_t>(arguments.size()));
  }
  Compiler compiler(module, options);
  LOOPSMITH_TRY(parameters, match_parameters(compiler, func, arguments));
  const Statement* body = compiler.statement(func->body);
  if (!compiler.errors.empty()) { return std::move(compiler.errors); }

  Frame frame;
  prepare(frame, compiler, options);
  int64_t allocated = 0;
  frame.allocated = &allocated;
  Watch watch(compiler.accesses);
  // Programs without unordered loops have no races.
  if (options.report_races && compiler.has_unordered) {
    frame.watch = &watch;
    frame.position = Watch::beginning;
  }
  std::deque<Memory> memories;
  LOOPSMITH_CHECK(set_arguments(frame, compiler, func, arguments, memories));
  for (const Parameters::SetVar& s : parameters.sets) { frame.slots[s.slot].i = s.value; }
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


