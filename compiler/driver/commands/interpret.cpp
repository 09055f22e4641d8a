// `loopsmith interpret FILE`: executes a program by the reference interpreter, with every access checked.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include <nlohmann/json.hpp>

#include "driver/command.h"
#include "driver/execution.h"
#include "driver/lowering.h"
#include "interp/interp.h"
#include "ir/visitor.h"
#include "support/codes.h"
#include "support/spelling.h"

namespace loopsmith::driver::commands {
namespace {

const Usage usage{
    .command = "interpret",
    .arguments = "FILE [--function F] [--with NAME] [--target T] [--arg NAME=data.npy]... [--inputs FILE.npz] [--random SEED] [--out DIR]",
    .summary = "Executes a program by the reference interpreter: slowly, with every access checked.",
    .details = "Arguments and results as for `run`, so that the two can be compared. Warns of elements that are read before they are\n"
               "written, of iterations of parallel, vectorized or thread-bound loops that depend on each other, and of accesses\n"
               "outside of the regions that blocks declare; each with the iteration. Threads of a kernel that race, and barriers that\n"
               "some of them do not reach, are errors. `--target cuda` lowers the program for a GPU first, and so checks the barriers\n"
               "that lowering inserts. `--json` also counts operations and bytes, loop by loop.",
    .options = {function_option,
                with_option,
                log_option,
                {.name = "--trace", .value = "T.json", .help = "a trace to apply, in place of a schedule function"},
                {.name = "--target", .value = "T", .help = "executes the program as it is lowered for this target; without it, as it is written"},
                arg_option,
                inputs_option,
                random_option,
                {.name = "--block", .value = "NAME", .help = "runs this block alone, with the loops around it; the buffers that it reads are inputs, those that it writes results"},
                {.name = "--out", .value = "DIR", .help = "writes each result to DIR/NAME.npy"},
                {.name = "--time", .value = "S", .help = "the time limit, as 30, 90s or 2min; without it there is none"},
                {.name = "--steps", .value = "N", .help = "the most statements that run; without it there is no limit"},
                memory_option,
                json_option},
    .examples = {{"loopsmith interpret softmax.tir", "on random data; a line about each result"},
                 {"loopsmith interpret matmul_gpu.tir --with tiled --target cuda", "the kernels with their barriers; races between threads are errors"},
                 {"loopsmith interpret matmul.tir --with matmul_blocked --block C_local", "one block of the program after a schedule"}},
    .least = 1,
    .most = 1,
};

/// A block with the loops and blocks around it, without their other contents. Buffers allocated around it become parameters, so that the values
/// that other blocks write become inputs.
class Alone final : public Mutator {
 public:
  explicit Alone(const Block& block) : block_(block) {}

  auto function(const PrimFunc& func) -> PrimFunc {
    PrimFuncNode fields = *func;
    fields.body = mutate(func->body);
    std::vector<const void*> used;
    auto note = [&](const Buffer& buffer) { used.push_back(buffer.get()); };
    post_order(Stmt(Ref<Block>(&block_)), [&](const Stmt& s) { if (const auto* store = s.as<BufferStore>()) { note(store->buffer); } },
               [&](const Expr& e) { if (const auto* load = e.as<BufferLoad>()) { note(load->buffer); } });
    for (const Block* one : around_) {
      for (const MatchBufferRegion& match : one->match_buffers) {
        if (std::find(used.begin(), used.end(), match.buffer.get()) != used.end()) { note(match.source.buffer); }
      }
    }
    std::vector<Var> params(func->params.begin(), func->params.end());
    std::vector<std::pair<Var, Buffer>> map(func->buffer_map.begin(), func->buffer_map.end());
    for (const Buffer& buffer : allocated_) {
      if (std::find(used.begin(), used.end(), buffer.get()) == used.end()) { continue; }
      params.push_back(make<VarNode>(Name("var_" + buffer->name.str()), DataType::handle(), buffer->origin));
      map.emplace_back(params.back(), buffer);
    }
    // Buffers that the block does not access need no arguments.
    std::erase_if(map, [&](const auto& one) {
      if (std::find(used.begin(), used.end(), one.second.get()) != used.end()) { return false; }
      std::erase_if(params, [&](const Var& param) { return param.same_as(one.first); });
      return true;
    });
    fields.params = std::move(params);
    fields.buffer_map = std::move(map);
    return make_func(std::move(fields));
  }

 protected:
  auto on(const SeqStmt& node) -> Stmt override {
    for (const Stmt& one : node.seq) {
      bool holds = false;
      post_order(one, [&](const Stmt& s) { holds = holds || s.get() == &block_; }, [](const Expr&) {});
      if (holds) { return mutate(one); }
    }
    return self(node);
  }
  auto on(const Block& node) -> Stmt override {
    if (&node == &block_) { return self(node); }
    around_.push_back(&node);
    for (const Buffer& buffer : node.alloc_buffers) { allocated_.push_back(buffer); }
    auto fields = node.fields();
    fields.body = mutate(node.body);
    fields.init = {};
    fields.alloc_buffers = {};
    return make<Block>(std::move(fields), node.origin, node.id);
  }

 private:
  const Block& block_;
  std::vector<const Block*> around_;
  std::vector<Buffer> allocated_;
};

/// Reduces the program to one block; if several have the name, to the first.
auto leave_block(Selection& selection, const std::string& name) -> Status {
  PrimFunc func = selection.module->find(selection.function);
  const Block* found = nullptr;
  std::vector<std::string> names;
  post_order(func->body, [&](const Stmt& s) {
    const auto* block = s.as<Block>();
    if (block == nullptr) { return; }
    names.push_back(block->name.str());
    if (found == nullptr && block->name == std::string_view(name)) { found = block; }
  }, [](const Expr&) {});
  if (found == nullptr) {
    Diagnostic d = error(Code::NoSuchBlock).arg("block", name).arg("function", selection.program.str());
    std::string meant = closest(name, names);
    return meant.empty() ? std::move(d) : std::move(d).remedy(fmt::format("did you mean `{}`?", meant));
  }
  IRModuleNode fields = *selection.module;
  std::vector<std::pair<Name, PrimFunc>> functions;
  for (const auto& [other, body] : selection.module->functions) { functions.emplace_back(other, other == selection.function ? Alone(*found).function(body) : body); }
  fields.functions = std::move(functions);
  selection.module = selection.before = make_module(std::move(fields));
  return ok();
}

auto counts(const interp::Counts& c) -> nlohmann::json {
  return {{"flops", c.flops}, {"int_ops", c.int_ops}, {"index_ops", c.index_ops}, {"bytes_read", c.bytes_read}, {"bytes_written", c.bytes_written}};
}

// {"counts": {"flops": ..}, "block_instances": .., "loops": [{"name": "i", "parent": null, "iterations": .., "flops": ..}]}
auto counts(const interp::Stats& stats) -> nlohmann::json {
  nlohmann::json loops = nlohmann::json::array();
  for (const interp::LoopCounts& loop : stats.loops) {
    nlohmann::json row = counts(loop.counts);
    row["name"] = loop.name.str();
    row["parent"] = loop.parent < 0 ? nlohmann::json() : nlohmann::json(loop.parent);
    row["iterations"] = loop.iterations;
    loops.push_back(std::move(row));
  }
  return {{"counts", counts(stats.total)}, {"block_instances", stats.block_instances}, {"loops", std::move(loops)}};
}

}  // namespace

auto interpret(std::vector<std::string> args) -> int {
  auto read = read_arguments(usage, args);
  if (const int* status = std::get_if<int>(&read)) { return *status; }
  const auto& arguments = std::get<Arguments>(read);
  interp::Options options;
  options.report_unwritten = options.report_races = options.check_regions = true;
  auto limits = read_limits("interpret", arguments, {.seconds = 0});
  if (const int* status = std::get_if<int>(&limits)) { return *status; }
  const auto& most = std::get<ExecutionLimits>(limits);
  options.max_seconds = most.seconds;
  options.max_bytes = static_cast<int64_t>(most.bytes);
  if (auto text = arguments.get("--steps")) {
    char* end = nullptr;
    options.max_steps = std::strtoll(text->c_str(), &end, 10);
    if (options.max_steps <= 0 || *end != '\0') { return usage_error("interpret", fmt::format("`--steps` is a number of statements, not `{}`", *text)); }
  }
  Reporter reporter(arguments);
  auto picked = pick(arguments, {.path = arguments.positional()[0], .needs_target = arguments.has("--target"), .needs_function = true}, reporter);
  if (const int* status = std::get_if<int>(&picked)) { return *status; }
  auto& selection = std::get<Selection>(picked);
  auto fail = [&](const Diagnostics& diagnostics) {
    reporter.report(diagnostics, selection.file.get());
    return reporter.status();
  };
  if (auto block = arguments.get("--block")) {
    if (Status left = leave_block(selection, *block); !left.ok()) { return fail(left.diagnostics()); }
  }
  if (arguments.get("--target")) {
    auto lowered = transform::lower(selection.module, lower_context(selection.target), interpreted_request(selection.target));
    if (!lowered) { return fail(lowered.diagnostics()); }
    selection.module = *lowered;
  }
  auto call = make_call(selection, arguments, most.bytes);
  if (!call) { return fail(call.diagnostics()); }
  note_sizes(*call, arguments);
  auto stats = interp::interpret(selection.module, selection.function, interpreter_arguments(*call), options);
  if (!stats) { return fail(stats.diagnostics()); }
  // Errors of other programs of the file do not count.
  const auto before = reporter.errors();
  reporter.report(stats->warnings, selection.file.get());
  if (auto status = write_results(*call, arguments); !status) { return fail(status.diagnostics()); }
  if (arguments.json()) { fmt::print("{}\n", counts(*stats).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)); }
  return reporter.errors() > before ? reporter.status() : static_cast<int>(exit_done);
}

}  // namespace loopsmith::driver::commands
