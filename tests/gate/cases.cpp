// Checks and shrinking: see cases.h.
#include "tests/gate/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <sstream>

#include "interp/compare.h"
#include "ir/equal.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/visitor.h"
#include "schedule/trace.h"
#include "support/codes.h"
#include "tests/gate/programs.h"
#include "transform/pipelines.h"

namespace loopsmith::gate {
namespace {

struct Verdict {
  std::string difference;   // empty: the same
  bool ran = true;
};
constexpr int64_t most_statements = 1000000;   // a limit that is the same on every machine

auto run(const IRModule& module, uint64_t seed) -> std::optional<interp::Before> {
  interp::GateOptions options;
  options.seed = seed;
  options.max_steps = most_statements;
  auto before = interp::Before::run(module, "main", options);
  if (!before.ok()) { return {}; }
  return std::move(*before);
}
auto compare(const interp::Before& before, const IRModule& after) -> Verdict {
  auto result = before.compare(after);
  if (!result.ok()) { return {result.diagnostics()[0].message(), false}; }
  return {result->equal ? "" : result->difference, true};
}

auto race_in(const IRModule& module, uint64_t seed) -> std::string {
  auto inputs = interp::make_inputs(module->find("main"), seed, interp::Contents::SmallIntegers);
  if (!inputs.ok()) { return {}; }
  interp::Options options;
  options.report_races = true;
  options.max_steps = most_statements;
  auto stats = interp::interpret(module, "main", inputs->arguments, options);
  if (!stats.ok()) { return {}; }
  for (const Diagnostic& d : stats->warnings) { if (d.code == Code::InterpRace) { return d.message(); } }
  return {};
}

// Does the program read what nobody wrote? It then has no meaning that could be kept.
auto reads_unwritten(const IRModule& module, uint64_t seed) -> bool {
  auto inputs = interp::make_inputs(module->find("main"), seed, interp::Contents::SmallIntegers);
  if (!inputs.ok()) { return false; }
  interp::Options options;
  options.report_unwritten = true;
  options.max_steps = most_statements;
  auto stats = interp::interpret(module, "main", inputs->arguments, options);
  return stats.ok() && std::any_of(stats->warnings.begin(), stats->warnings.end(), [](const Diagnostic& d) { return d.code == Code::InterpUnwritten; });
}

auto has_threads(const IRModule& module) -> bool {
  bool found = false;
  post_order(module->find("main")->body, [&](const Stmt& s) { const auto* loop = s.as<For>(); found = found || (loop && loop->for_kind == ForKind::ThreadBinding); }, [](const Expr&) {});
  return found;
}

auto lower_options(uint64_t seed) -> transform::LowerContext {
  Random random{hash_combine(seed, 0x10)};
  transform::LowerContext context;
  if (random.chance(30)) { context.options.masked_memory = false; }
  if (random.chance(15)) { context.options.vectorize = false; }
  if (random.chance(40)) { context.options.max_lanes = 4; }
  if (random.chance(30)) { context.options.unroll_steps = random.between(1, 64); }
  if (random.chance(20)) { context.options.unswitch_limit = 0; }
  context.options.check_bounds = random.chance(20);
  if (random.chance(40)) { context.options.stack_bytes_each = 0; }   // small buffers share memory as large ones do
  return context;
}

auto check_lowering(const IRModule& module, uint64_t seed, const CheckOptions& options) -> std::optional<Failure> {
  std::vector<std::pair<std::string, IRModule>> stages;
  transform::LowerRequest request;
  request.on_stage = [&](const transform::StageReport& r) { if (!r.is_unchanged()) { stages.emplace_back(r.stage->name, r.after); } };
  auto lowered = transform::lower(module, lower_options(seed), request);
  if (!lowered.ok()) { return Failure{Failure::Kind::LoweringFails, "lowering fails: " + lowered.diagnostics()[0].message(), {}}; }
  if (!transform::is_lowered((*lowered)->find("main"))) { return Failure{Failure::Kind::LoweringFails, "what comes out is not in lowered form", {}}; }
  auto before = run(module, seed);
  if (!before) { return {}; }
  Verdict verdict = compare(*before, *lowered);
  if (!verdict.ran) { return {}; }
  // What every stage makes is interpreted as well: one may undo the mistake of another.
  // Units access tiles as one piece of memory: between their views and flat buffers, indices say so and go beyond a row.
  for (const auto& [name, after] : stages) {
    if (options.has_units && (name == "lower_match_buffer" || name == "lower_opaque_block" || name == "simplify")) { continue; }
    if (Verdict here = compare(*before, after); !here.difference.empty() && here.ran) {
      return Failure{Failure::Kind::PassChangesResults, fmt::format("stage `{}` changes the results: {}", name, here.difference), name};
    }
  }
  if (!verdict.difference.empty()) { return Failure{Failure::Kind::PassChangesResults, "lowering changes the results: " + verdict.difference, {}}; }
  // Threads of a block that reduce together do so by code that this pipeline does not make.
  if (std::string race = has_threads(module) ? "" : race_in(*lowered, seed); !race.empty()) { return Failure{Failure::Kind::Race, race, {}}; }
  if (options.texts) {
    for (const auto& [name, after] : stages) {
      std::string problem;
      IRModule again = parse_program(print_script(after), problem);
      if (!again) { return Failure{Failure::Kind::TextNotReadBack, "text of stage `" + name + "` is not read back: " + problem, name}; }
      if (auto d = first_difference(after, again)) {
        return Failure{Failure::Kind::TextNotReadBack, fmt::format("text of stage `{}` reads back as other IR at {}: {} and {}", name, d->path, d->left, d->right), name};
      }
    }
  }
  if (options.compiled) {
    if (std::string difference = compiled_difference(module, *lowered, seed); !difference.empty()) {
      return Failure{Failure::Kind::CompiledCodeDiffers, "compiled code differs: " + difference, {}};
    }
  }
  return {};
}

// ---- shrinking -----------------------------------------------------------------------------------------

// The program without one of the statements of its root block. What nobody makes any more becomes a parameter.
auto without_statement(const IRModule& module, size_t index) -> std::string {
  PrimFunc func = module->find("main");
  const Block* root = root_block(func);
  const auto* realize = func->body.as<BlockRealize>();
  const auto* all = root ? root->body.as<SeqStmt>() : nullptr;
  if (!all || !realize || index >= all->seq.size()) { return {}; }
  std::vector<Stmt> kept;
  for (size_t i = 0; i < all->seq.size(); ++i) { if (i != index) { kept.push_back(all->seq[i]); } }
  Stmt body = seq(kept);
  std::set<const BufferNode*> written, used;
  post_order(
      body,
      [&](const Stmt& s) {
        if (const auto* store = s.as<BufferStore>()) { written.insert(store->buffer.get()); used.insert(store->buffer.get()); }
        if (const auto* block = s.as<Block>()) {
          for (const MatchBufferRegion& m : block->match_buffers) { used.insert(m.source.buffer.get()); }
          for (const BufferRegion& w : block->writes) { written.insert(w.buffer.get()); }
        }
      },
      [&](const Expr& e) { if (const auto* load = e.as<BufferLoad>()) { used.insert(load->buffer.get()); } });
  PrimFuncNode fields = *func;
  Block::Fields block = root->fields();
  std::vector<Buffer> allocated;
  std::vector<Var> params;
  std::vector<std::pair<Var, Buffer>> map;
  for (const Var& p : func->params) {
    Buffer b = func->buffer_of(p);
    if (b && !used.contains(b.get()) && func->params.size() > 1) { continue; }
    params.push_back(p);
    if (b) { map.emplace_back(p, b); }
  }
  for (const Buffer& b : block.alloc_buffers) {
    if (!used.contains(b.get())) { continue; }
    if (written.contains(b.get())) { allocated.push_back(b); continue; }
    Var p = make<VarNode>(b->name, DataType::handle());
    params.push_back(p);
    map.emplace_back(p, b);
  }
  block.alloc_buffers = std::move(allocated);
  block.body = body;
  fields.params = std::move(params);
  fields.buffer_map = std::move(map);
  fields.body = make<BlockRealize>(realize->iter_values, realize->predicate, make<Block>(std::move(block), root->origin), realize->origin);
  return short_text(with_function(module, "main", make_func(std::move(fields))));
}

// The program with one of its parts made simpler: a condition's branch in its place, an operand in place of an operation, no init, a
// plain loop. Parts are counted; none: there are no more.
class Simpler : public Mutator {
 public:
  explicit Simpler(size_t part) : left_(part) {}
  using Mutator::mutate;
  using Mutator::on;
  [[nodiscard]] auto is_done() const -> bool { return done_; }

  auto on(const IfThenElse& n) -> Stmt override {
    if (is_it()) { return n.then_case; }
    if (n.else_case && is_it()) { return n.else_case; }
    return Mutator::on(n);
  }
  auto on(const For& n) -> Stmt override {
    if (n.for_kind != ForKind::Serial && is_it()) { return make<For>(n.var, n.min, n.extent, ForKind::Serial, n.body, std::optional<IterVar>(), n.annotations, n.origin, n.id); }
    Stmt body = mutate(n.body);
    return body.same_as(n.body) ? self(n) : Stmt(make<For>(n.var, n.min, n.extent, n.for_kind, std::move(body), n.thread, n.annotations, n.origin, n.id));
  }
  auto on(const BlockRealize& n) -> Stmt override {
    Stmt block = mutate(Stmt(n.block));
    return block.same_as(n.block) ? self(n) : Stmt(make<BlockRealize>(n.iter_values, n.predicate, block.ref<Block>(), n.origin));
  }
  auto on(const Block& n) -> Stmt override {
    Block::Fields fields = n.fields();
    if (n.init && is_it()) {
      fields.init = Stmt();
      return make<Block>(std::move(fields), n.origin, n.id);
    }
    Stmt body = mutate(n.body);
    if (body.same_as(n.body)) { return self(n); }
    fields.body = std::move(body);
    return make<Block>(std::move(fields), n.origin, n.id);
  }
  auto on(const BufferStore& n) -> Stmt override {
    Expr value = part_of(n.value);
    Array<Expr> indices = n.indices;
    for (size_t i = 0; i < n.indices.size() && !done_; ++i) {
      std::vector<Expr> all = n.indices.to_vector();
      all[i] = part_of(all[i]);
      if (done_) { indices = Array<Expr>(std::move(all)); }
    }
    return done_ ? Stmt(make<BufferStore>(n.buffer, std::move(value), std::move(indices), n.origin, n.predicate)) : self(n);
  }

 private:
  auto is_it() -> bool {
    if (done_) { return false; }
    done_ = left_ == 0;
    left_ -= done_ ? 0 : 1;
    return done_;
  }
  auto part_of(const Expr& e) -> Expr {
    if (done_) { return e; }
    std::vector<Expr> below;
    visit_children(e, [&](const Expr& child) { below.push_back(child); });
    if (!e.as<BufferLoad>()) { for (const Expr& child : below) { if (child.dtype() == e.dtype() && is_it()) { return child; } } }
    for (const Expr& child : below) {
      Expr simpler = part_of(child);
      if (done_) { return with_child(e, child, simpler); }
    }
    return e;
  }
  static auto with_child(const Expr& e, const Expr& child, const Expr& other) -> Expr {
    // The node once more, with that child exchanged.
    class Exchange : public Mutator {
     public:
      Exchange(const Expr& from, const Expr& to) : from_(from), to_(to) {}
      using Mutator::on;
#define EXPR(Kind) auto on(const Kind& n) -> Expr override { return &n == static_cast<const ExprNode*>(from_.get()) ? to_ : Mutator::on(n); }
#define STMT(Kind)
#include "ir/nodes.def"
     private:
      const Expr& from_;
      const Expr& to_;
    } exchange(child, other);
    return exchange.mutate(e);
  }
  size_t left_;
  bool done_ = false;
};
// As text without regions, which belong to what was there before.
auto simpler(const IRModule& module, size_t part) -> std::string {
  PrimFunc func = module->find("main");
  Simpler simpler(part);
  Stmt body = simpler.mutate(func->body);
  if (!simpler.is_done()) { return {}; }
  PrimFuncNode fields = *func;
  fields.body = std::move(body);
  std::istringstream lines(print_script(with_function(module, "main", make_func(std::move(fields)))));
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    size_t at = line.find_first_not_of(' ');
    if (at != std::string::npos && line.compare(at, 8, "T.reads(") != 0 && line.compare(at, 9, "T.writes(") != 0) { out += line + "\n"; }
  }
  return out;
}

auto is_word(char c) -> bool { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

// The numbers of a text that stand alone, in growing order.
auto numbers_in(const std::string& text) -> std::vector<int64_t> {
  std::set<int64_t> out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!std::isdigit(static_cast<unsigned char>(text[i])) || (i > 0 && is_word(text[i - 1]))) { continue; }
    size_t end = i;
    while (end < text.size() && is_word(text[end])) { ++end; }
    std::string word = text.substr(i, end - i);
    if (word.size() < 5 && word.find_first_not_of("0123456789") == std::string::npos) { out.insert(std::stoll(word)); }
    i = end;
  }
  return {out.begin(), out.end()};
}
auto with_number(const std::string& text, int64_t from, int64_t to) -> std::string {
  std::string out, word = std::to_string(from);
  for (size_t i = 0; i < text.size();) {
    size_t end = i + word.size();
    bool here = text.compare(i, word.size(), word) == 0 && (i == 0 || !is_word(text[i - 1])) && (end >= text.size() || !is_word(text[end]));
    if (here) {
      out += std::to_string(to);
      i = end;
    } else {
      out += text[i++];
    }
  }
  return out;
}

void for_each_number(schedule::Value& value, const std::function<void(int64_t&)>& f) {
  if (auto* i = std::get_if<int64_t>(&value.data)) { f(*i); }
  if (auto* list = std::get_if<schedule::Value::List>(&value.data)) { for (schedule::Value& item : *list) { for_each_number(item, f); } }
}

}  // namespace

auto changes_interface(const IRModule& before, const IRModule& after) -> bool {
  PrimFunc a = before->find("main"), b = after->find("main");
  if (!a || !b || a->params.size() != b->params.size()) { return true; }
  for (size_t i = 0; i < a->params.size(); ++i) {
    Buffer x = a->buffer_of(a->params[i]), y = b->buffer_of(b->params[i]);
    if (!x != !y) { return true; }
    if (!x) { continue; }
    if (!(x->dtype == y->dtype) || x->shape.size() != y->shape.size()) { return true; }
    for (size_t d = 0; d < x->shape.size(); ++d) { if (as_int(x->shape[d]) != as_int(y->shape[d])) { return true; } }
  }
  return false;
}

auto check(const Case& c, const CheckOptions& options, bool* ran) -> std::optional<Failure> {
  if (ran) { *ran = false; }
  std::string problem;
  IRModule program = parse_program(c.program, problem);
  if (!program || !program->find("main")) { return {}; }
  auto before = run(program, c.seed);
  if (!before) { return {}; }
  if (reads_unwritten(program, c.seed)) { return {}; }
  // What others wrote there may be read before it is written: then a second run need not give the same.
  if (Verdict v = compare(*before, program); !v.difference.empty() || !v.ran) { return {}; }
  if (ran) { *ran = true; }
  Units units = parse_units(c.units, problem);
  schedule::Schedule sch(program, static_cast<int64_t>(c.seed % 1000000 + 1));
  sch.use_intrinsics(units);
  for (const Step& step : c.steps) { (void)apply_step(sch, step); }
  if (!c.steps.empty()) {
    if (changes_interface(program, sch.module())) { if (ran) { *ran = false; } return {}; }
    Verdict verdict = compare(*before, sch.module());
    if (!verdict.ran) { if (ran) { *ran = false; } return {}; }
    if (!verdict.difference.empty()) { return Failure{Failure::Kind::ScheduleChangesResults, "the schedule changes the results: " + verdict.difference, {}}; }
    if (options.texts) {
      IRModule again = parse_program(print_script(sch.module()), problem);
      if (!again) { return Failure{Failure::Kind::TextNotReadBack, "the scheduled text is not read back: " + problem, {}}; }
      if (auto d = first_difference(sch.module(), again)) {
        return Failure{Failure::Kind::TextNotReadBack, fmt::format("the scheduled text reads back as other IR at {}: {} and {}", d->path, d->left, d->right), {}};
      }
      schedule::Schedule replayed(program, 1);
      replayed.use_intrinsics(units);
      if (auto status = replayed.replay(sch.trace()); !status.ok()) {
        return Failure{Failure::Kind::TraceNotReplayed, "the trace does not replay: " + status.diagnostics()[0].message(), {}};
      }
      if (!structural_equal(replayed.module(), sch.module())) { return Failure{Failure::Kind::TraceNotReplayed, "the trace replays to another module", {}}; }
    }
  }
  CheckOptions now = options;
  now.has_units = std::any_of(c.steps.begin(), c.steps.end(), [](const Step& s) { return s.row->name == "tensorize"; });
  return options.lowering ? check_lowering(sch.module(), c.seed, now) : std::nullopt;
}

auto shrink(const Case& original, const Failure& failure, const CheckOptions& options, double seconds) -> Case {
  auto start = std::chrono::steady_clock::now();
  auto is_late = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > seconds; };
  CheckOptions quick = options;
  quick.compiled = failure.kind == Failure::Kind::CompiledCodeDiffers;
  quick.texts = failure.kind == Failure::Kind::TextNotReadBack || failure.kind == Failure::Kind::TraceNotReplayed;
  auto fails = [&](const Case& c) {
    auto here = check(c, quick);
    return here && here->kind == failure.kind;
  };
  Case best = original;
  auto accept = [&](Case c) {
    if (c.program.empty() || !fails(c)) { return false; }
    best = std::move(c);
    return true;
  };
  for (bool smaller = true; smaller && !is_late();) {
    smaller = false;
    // Without steps, the last ones first: halves, then each.
    for (size_t width = std::max<size_t>(1, best.steps.size() / 2);; width /= 2) {
      for (size_t end = best.steps.size(); end > 0 && !is_late();) {
        size_t begin = end > width ? end - width : 0;
        Case c = best;
        c.steps.erase(c.steps.begin() + static_cast<std::ptrdiff_t>(begin), c.steps.begin() + static_cast<std::ptrdiff_t>(end));
        smaller = accept(std::move(c)) || smaller;
        end = begin;
      }
      if (width <= 1) { break; }
    }
    if (!best.units.empty()) {
      Case c = best;
      c.units.clear();
      smaller = accept(std::move(c)) || smaller;
    }
    // Without loop nests.
    for (size_t i = 8; i-- > 0 && !is_late();) {
      std::string problem;
      IRModule program = parse_program(best.program, problem);
      if (!program) { break; }
      Case c = best;
      c.program = without_statement(program, i);
      smaller = accept(std::move(c)) || smaller;
    }
    // Simpler statements and expressions.
    for (size_t part = 0; !is_late();) {
      std::string problem;
      IRModule program = parse_program(best.program, problem);
      if (!program) { break; }
      Case c = best;
      c.program = simpler(program, part);
      if (c.program.empty()) { break; }
      if (accept(std::move(c))) { smaller = true; } else { ++part; }
    }
    // Smaller numbers, everywhere they stand: in the program, then step by step.
    for (int64_t from : numbers_in(best.program)) {
      for (int64_t to : {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{4}, from / 2, from - 1}) {
        if (to < 1 || to >= from || is_late()) { continue; }
        Case c = best;
        c.program = with_number(best.program, from, to);
        if (accept(std::move(c))) { smaller = true; break; }
      }
    }
    for (size_t s = 0; s < best.steps.size(); ++s) {
      for (size_t a = 0; a < best.steps[s].args.size(); ++a) {
        size_t count = 0;
        for_each_number(best.steps[s].args[a].second, [&](int64_t&) { ++count; });
        for (size_t k = 0; k < count; ++k) {
          for (int64_t to : {int64_t{0}, int64_t{1}, int64_t{2}, int64_t{3}, int64_t{4}}) {
            Case c = best;
            size_t at = 0;
            bool changed = false;
            for_each_number(c.steps[s].args[a].second, [&](int64_t& n) { if (at++ == k && to < n) { n = to; changed = true; } });
            if (changed && !is_late() && accept(std::move(c))) { smaller = true; break; }
          }
        }
      }
      // Defaults where they do as well.
      for (size_t a = 0; a < best.steps[s].args.size() && !is_late(); ++a) {
        for (const schedule::Param& p : best.steps[s].row->params) {
          if (p.name != best.steps[s].args[a].first || !p.otherwise || *p.otherwise == best.steps[s].args[a].second) { continue; }
          Case c = best;
          c.steps[s].args[a].second = *p.otherwise;
          smaller = accept(std::move(c)) || smaller;
        }
      }
    }
  }
  // As short as it can be said.
  std::string problem;
  if (IRModule program = parse_program(best.program, problem)) {
    Case c = best;
    c.program = short_text(program);
    (void)accept(std::move(c));
  }
  return best;
}

auto script_of(const Case& c) -> std::string {
  std::string out = c.units + c.program;
  if (!out.empty() && out.back() != '\n') { out += '\n'; }
  if (c.steps.empty()) { return out; }
  out += "@ls.schedule(main)\ndef s(sch: tir.Schedule):\n";
  for (const Step& step : c.steps) { out += "    " + step.text() + "\n"; }
  return out;
}

auto line_count(const std::string& text) -> int {
  int out = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) { out += line.find_first_not_of(' ') == std::string::npos ? 0 : 1; }
  return out;
}

}  // namespace loopsmith::gate
