// Lists of pieces from the texts of options: see pieces.h.
#include "tune/written/pieces.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "ir/vocabulary.h"
#include "script/tuner/call.h"
#include "script/tuner/numbers.h"
#include "script/tuner/spaces.h"
#include "support/codes.h"
#include "support/guards.h"
#include "support/reasons.h"
#include "tune/written/arguments.h"
#include "tune/written/cost_model.h"
#include "tune/written/runner.h"
#include "tune/written/task_scheduler.h"

namespace loopsmith::tune {
namespace {

using eval::Value;
using script::Piece;
using script::PieceKind;

constexpr const char* default_word = "default";

/// Passes errors on, each once. Errors that differ only in numbers, such as that of the candidates of a batch, are one.
class Reports {
 public:
  explicit Reports(std::function<void(const Diagnostics&)> sink) : sink_(std::move(sink)) {}
  void add(const Diagnostics& diagnostics) {
    Diagnostics fresh;
    for (const Diagnostic& d : diagnostics) {
      std::string message = d.message();
      std::erase_if(message, [](unsigned char c) { return std::isdigit(c) != 0; });
      const std::string key = message + "@" + std::to_string(d.where.decl) + ":" + std::to_string(d.where.begin);
      if (reported_.insert(key).second) { fresh.push_back(d); }
    }
    if (sink_ && !fresh.empty()) { sink_(fresh); }
  }

 private:
  std::function<void(const Diagnostics&)> sink_;
  std::set<std::string> reported_;
};
using ReportsPtr = std::shared_ptr<Reports>;

/// A rule that is written in a file, as a rule of the tuner.
class WrittenRule final : public rules::Rule {
 public:
  WrittenRule(Ref<Piece> piece, frontend::File& file) : piece_(std::move(piece)), file_(file) {}
  auto name() const -> std::string_view override { return piece_->name.view(); }
  auto apply(schedule::Schedule sch, schedule::BlockRV block) const -> Result<rules::Schedules> override { return script::run_rule(*piece_, file_, sch, block); }

 private:
  Ref<Piece> piece_;
  frontend::File& file_;
};

/// Reads one text, with the names of a file.
class Lists {
 public:
  Lists(frontend::File& file, const target::Target& target, ReportsPtr reports) : file_(file), evaluator_(file.evaluator()), target_(target), reports_(std::move(reports)), not_called_(evaluator_.not_called, [this](const Value&, const syntax::CallExpr& written, const eval::Arguments& given) {
          return script::call_of_numpy(evaluator_, *written.callee, given, random_state_);
        }) {}

  auto read(const PieceTexts& texts) -> Result<SpacePieces> {
    Temporarily globals(evaluator_.globals, static_cast<eval::Environment*>(&file_));
    const size_t before = evaluator_.diagnostics.size();
    SpacePieces out;
    add_custom_rules(out.custom);
    out.report = [reports = reports_](const Diagnostics& diagnostics) { reports->add(diagnostics); };
    if (!texts.space.empty()) { read_space(texts.space, out); }
    if (!texts.rules.empty()) { out.rules = rules(items_of(texts.rules, "--rules"), out.custom); }
    if (!texts.postprocs.empty()) { out.postprocs = postprocs(items_of(texts.postprocs, "--postprocs")); }
    if (!texts.mutators.empty()) { out.mutators = mutators(texts.mutators); }
    Diagnostics problems = take_problems(before);
    if (!problems.empty()) { return problems; }
    return out;
  }

  auto read_model(const std::string& text) -> Result<ReadModel> {
    Temporarily globals(evaluator_.globals, static_cast<eval::Environment*>(&file_));
    const size_t before = evaluator_.diagnostics.size();
    ReadModel out;
    const std::vector<Value> made = items_of(text, "--model");
    const auto* choice = made.size() == 1 ? made[0].as<script::ModelChoice>() : nullptr;
    if (choice) {
      out = choice->option();
    } else if (made.size() == 1 && made[0].string()) {
      out = *made[0].string();
    } else if (!has_errors(evaluator_.diagnostics)) {
      Ref<Piece> model = piece(made.size() == 1 ? made[0] : Value(), PieceKind::CostModel);
      if (model && model->type && !model->type->find(Name("predict"))) {
        (void)evaluator_.report(error(Code::TunerPiece, model->where).arg("kind", script::kind_text(model->kind)).arg("name", model->name.view()).arg("reason", because(Why::NoMethodPredict).text()));
      }
      if (model) { out = written_model(std::move(model), file_, [reports = reports_](const Diagnostics& diagnostics) { reports->add(diagnostics); }); }
    }
    Diagnostics problems = take_problems(before);
    if (!problems.empty()) { return problems; }
    return out;
  }

  auto read_scheduler(const std::string& text) -> Result<ChooseTask> {
    Temporarily globals(evaluator_.globals, static_cast<eval::Environment*>(&file_));
    const size_t before = evaluator_.diagnostics.size();
    const std::vector<Value> made = items_of(text, "--scheduler");
    Ref<Piece> scheduler = has_errors(evaluator_.diagnostics) ? Ref<Piece>() : piece(made.size() == 1 ? made[0] : Value(), PieceKind::TaskScheduler);
    Diagnostics problems = take_problems(before);
    if (!problems.empty()) { return problems; }
    return written_scheduler(std::move(scheduler), file_, [reports = reports_](const Diagnostics& diagnostics) { reports->add(diagnostics); });
  }

  auto read_arguments(const std::string& text, const schedule::Schedule& program) -> Result<std::vector<std::vector<double>>> {
    Temporarily globals(evaluator_.globals, static_cast<eval::Environment*>(&file_));
    const size_t before = evaluator_.diagnostics.size();
    const std::vector<Value> made = items_of(text, "--arguments");
    const auto* function = made.size() == 1 ? made[0].as<eval::Function>() : nullptr;
    if (!function && !has_errors(evaluator_.diagnostics)) {
      (void)evaluator_.report(error(Code::WrongType, {}).arg("expected", "the name of a function `f(device, args_info, alloc_repeat)`").arg("found", made.size() == 1 ? eval::describe(made[0]) : "several values"));
    }
    Diagnostics problems = take_problems(before);
    if (!problems.empty()) { return problems; }
    return script::run_alloc_argument(*function_piece(*function, PieceKind::Runner), file_, program);
  }

  auto read_runner(const std::string& builder, const std::string& runner) -> Result<std::shared_ptr<CandidateRunner>> {
    Temporarily globals(evaluator_.globals, static_cast<eval::Environment*>(&file_));
    const size_t before = evaluator_.diagnostics.size();
    const auto read = [&](const std::string& text, const char* option, PieceKind kind) -> Ref<Piece> {
      if (text.empty() || text == "local") { return {}; }
      const std::vector<Value> made = items_of(text, option);
      return has_errors(evaluator_.diagnostics) ? Ref<Piece>() : piece(made.size() == 1 ? made[0] : Value(), kind);
    };
    Ref<Piece> builds = read(builder, "--builder", PieceKind::Builder), runs = read(runner, "--runner", PieceKind::Runner);
    Diagnostics problems = take_problems(before);
    if (!problems.empty()) { return problems; }
    if (!runs) { return std::shared_ptr<CandidateRunner>(); }
    return written_runner(std::move(builds), std::move(runs), file_, [reports = reports_](const Diagnostics& diagnostics) { reports->add(diagnostics); });
  }

 private:
  /// The errors since `before`.
  auto take_problems(size_t before) -> Diagnostics {
    Diagnostics problems(evaluator_.diagnostics.begin() + static_cast<ptrdiff_t>(before), evaluator_.diagnostics.end());
    evaluator_.diagnostics.resize(before);
    std::erase_if(problems, [](const Diagnostic& d) { return d.severity != Severity::Error; });
    // The text of an option is no place in the file.
    for (Diagnostic& d : problems) { if (!file_.holds(d.where.decl)) { d.where = {}; } }
    return problems;
  }

  void add_custom_rules(rules::CustomRules& out) {
    std::vector<std::string> keys{target_.kind, "cpu"};
    if (const TargetKind* kind = find_target_kind(target_.kind); kind && kind->is_gpu) { keys = {target_.kind, "gpu"}; }
    for (auto& [name, piece] : script::rules_for_annotations(file_, keys)) {
      auto rule = std::make_shared<WrittenRule>(piece, file_);
      out[name] = [rule](schedule::Schedule sch, schedule::BlockRV block) { return rule->apply(std::move(sch), block); };
    }
  }

  /// The items of a list between commas; errors are reported.
  auto items_of(const std::string& text, const std::string& option) -> std::vector<Value> {
    syntax::Document document("_ = [" + text + "\n]\n");
    const syntax::ListExpr* list = nullptr;
    if (document.items().size() == 1 && !document.items()[0].item->has_error && document.items()[0].item->statements.size() == 1) {
      const auto* assign = document.items()[0].item->statements[0]->as<syntax::AssignStmt>();
      list = assign ? assign->value->as<syntax::ListExpr>() : nullptr;
    }
    std::vector<Value> out;
    if (!list) {
      (void)evaluator_.report(error(Code::BadValue).arg("action", "read `" + option + "`").arg("reason", because(Why::NotAList).arg("text", text).text()));
      return out;
    }
    const eval::ScopeRef scope = names_used(*list);
    Temporarily tree(evaluator_.tree, std::shared_ptr<const void>(document.items()[0].item));
    for (const syntax::Expr* one : list->elements) {
      Value item = evaluator_.eval(*one, scope);
      // A name of the file may stand for a list.
      if (item.items()) { out.insert(out.end(), item.items()->begin(), item.items()->end()); } else { out.push_back(std::move(item)); }
    }
    return out;
  }
  /// TVM's names in an expression. A name that the file defines is not TVM's.
  auto names_used(const syntax::Expr& expression) -> eval::ScopeRef {
    const eval::ScopeRef scope = evaluator_.new_scope({});
    std::vector<Name> used;
    syntax::walk(expression, [&](const syntax::Node& node) {
      if (const auto* name = node.as<syntax::NameExpr>()) { used.push_back(name->name); }
      return true;
    });
    for (Name name : used) {
      if (file_.find(name)) { continue; }
      if (const Value* known = script::tvm_piece(name)) { scope->set(name, *known); }
      if (name == default_word) { scope->set(name, Value::str(default_word)); }
    }
    return scope;
  }
  static auto is_default(const Value& item) -> bool { return item.string() && (*item.string() == default_word || *item.string() == "from-target"); }

  /// Reads an item of a list as a piece of a kind. Null: it is no such piece, and the error was reported.
  auto piece(const Value& item, PieceKind kind) -> Ref<Piece> {
    if (item.is_error()) { return {}; }
    const std::string wanted(script::kind_text(kind));
    Temporarily opaque(evaluator_.opaque_at, Origin());
    Ref<Piece> out = script::piece_of(evaluator_, item);
    if (out && out->kind == kind) {
      if (Status done = script::initialize(*out, file_, context()); !done.ok()) {
        for (const Diagnostic& d : done.diagnostics()) { (void)evaluator_.report(d); }
      }
      return out;
    }
    if (out) {
      (void)evaluator_.report(error(Code::WrongType, out->where).arg("expected", "a " + wanted).arg("found", "the " + std::string(script::kind_text(out->kind)) + " `" + out->name.str() + "`"));
    } else if (const auto* type = item.as<script::PieceClass>(); type && type->origin == script::PieceClass::Origins::Written) {
      if (has_errors(evaluator_.diagnostics)) { return {}; }
      (void)evaluator_.report(error(Code::TunerPiece, evaluator_.opaque_at.is_known() ? evaluator_.opaque_at : type->where).arg("kind", script::kind_text(type->kind)).arg("name", type->name.view())
                                  .arg("reason", "has an `__init__` that raises, or uses Python that Loopsmith does not evaluate"));
    } else if (!item.as<script::PieceClass>() || !has_errors(evaluator_.diagnostics)) {
      const char* word = kind == PieceKind::ScheduleRule ? "rule" : kind == PieceKind::Postproc ? "postproc" : "mutator";
      // These have no short form.
      const char* base = kind == PieceKind::CostModel ? "ms.cost_model.PyCostModel" : kind == PieceKind::Builder ? "ms.builder.PyBuilder" : kind == PieceKind::Runner ? "ms.runner.PyRunner" : kind == PieceKind::TaskScheduler ? "ms.task_scheduler.PyTaskScheduler" : nullptr;
      const std::string remedy = base ? std::string("write a class with `@ms.derived_object` that derives from `") + base + "`"
                                                              : std::string("write `@ls.") + word + "` above the function, or `@ms.derived_object` above the class";
      (void)evaluator_.report(error(Code::WrongType, {}).arg("expected", "a " + wanted).arg("found", item.is_opaque() ? "Python that Loopsmith does not evaluate" : eval::describe(item)).remedy(remedy));
    }
    return {};
  }

  /// The context of the search, with its target. Other facts of TVM's contexts are unknown.
  auto context() -> Value {
    const auto unknown = [](Name) -> std::optional<Value> { return Value::opaque(); };
    auto out = eval::make_object<eval::Namespace>(Name("context"), unknown);
    const std::vector<Value> target = items_of("tvm.target.Target(\"" + target_.str() + "\")", "--target");
    if (target.size() == 1) { const_cast<eval::Namespace&>(*out).add(Name("target"), target[0]); }
    return Value(Ref<eval::Object>(out.get()));
  }

  /// Reads the value of `--space` into `out`: a call such as `PostOrderApply(...)`, or the name of a function.
  void read_space(const std::string& text, SpacePieces& out) {
    const std::vector<Value> made = items_of(text, "--space");
    if (has_errors(evaluator_.diagnostics)) { return; }
    const auto* space = made.size() == 1 ? made[0].as<script::SpaceGenerator>() : nullptr;
    if (!space && made.size() == 1 && made[0].as<eval::Function>()) { return read_space("ScheduleFn(" + text + ")", out); }
    if (!space) {
      (void)evaluator_.report(error(Code::WrongType, {}).arg("expected", "a space: `PostOrderApply(...)`, `ScheduleFn(...)` or `SpaceGeneratorUnion(...)`")
                                  .arg("found", made.size() == 1 ? made[0].is_opaque() ? "Python that Loopsmith does not evaluate" : eval::describe(made[0]) : "several values"));
      return;
    }
    take_space(*space, out);
  }
  void take_space(const script::SpaceGenerator& space, SpacePieces& out) {
    const Value* given_rules = space.find("sch_rules");
    const Value* given_postprocs = space.find("postprocs");
    const Value* given_mutators = space.find("mutator_probs");
    if (given_rules && !is_default(*given_rules)) { out.rules = rules(listed(*given_rules, "sch_rules"), out.custom); }
    if (given_postprocs && !is_default(*given_postprocs)) { out.postprocs = postprocs(listed(*given_postprocs, "postprocs")); }
    if (given_mutators && !is_default(*given_mutators)) {
      const auto* dict = given_mutators->as<eval::Dict>();
      if (!dict) { (void)evaluator_.report(error(Code::WrongType, {}).arg("expected", "`mutator_probs` as a dictionary with the share of each mutator").arg("found", eval::describe(*given_mutators))); }
      out.mutators.emplace();
      for (const auto& [key, share] : dict ? dict->entries() : std::vector<std::pair<Value, Value>>()) { add_mutator(key, share, *out.mutators); }
    }
    if (const Value* filter = space.find("f_block_filter")) {
      out.filter = [piece = function_piece(*filter->as<eval::Function>(), PieceKind::Filter), file = &file_](const Ref<Block>& block) { return script::run_block_filter(*piece, *file, block); };
    }
    if (const Value* function = space.find("sch_fn")) {
      out.function = [piece = function_piece(*function->as<eval::Function>(), PieceKind::SpaceFunction), file = &file_](const schedule::Schedule& sch) {
        return script::run_space_function(*piece, *file, sch);
      };
    }
    const Value* parts = space.find("space_generators");
    for (const Value& part : parts ? listed(*parts, "space_generators") : std::vector<Value>()) {
      const auto* one = part.as<script::SpaceGenerator>();
      if (!one) {
        (void)evaluator_.report(error(Code::WrongType, {}).arg("expected", "`space_generators` as a list of spaces").arg("found", eval::describe(part)));
        return;
      }
      SpacePieces inner{.custom = out.custom, .report = out.report};
      take_space(*one, inner);
      // Pieces of the union hold for parts that have none of their own.
      if (!inner.postprocs) { inner.postprocs = out.postprocs; }
      if (!inner.mutators) { inner.mutators = out.mutators; }
      if (!inner.rules) { inner.rules = out.rules; }
      out.parts.push_back(std::move(inner));
    }
  }
  auto listed(const Value& list, const char* name) -> std::vector<Value> {
    if (list.items()) { return *list.items(); }
    (void)evaluator_.report(error(Code::WrongType, {}).arg("expected", std::string("`") + name + "` as a list").arg("found", eval::describe(list)));
    return {};
  }
  static auto function_piece(const eval::Function& function, PieceKind kind) -> Ref<Piece> {
    Origin where;
    if (function.def) { where = {function.def->decl, function.def->name.span.begin, function.def->name.span.end, 0}; }
    return eval::make_object<Piece>(kind, function.name(), where, Ref<eval::Function>(&function));
  }
  /// Makes `filter_fn` of rules.
  auto filters() -> MakeFilter {
    return [file = &file_](const eval::Argument& given) -> rules::BlockFilter {
      Ref<Piece> piece = function_piece(*given.value.as<eval::Function>(), PieceKind::Filter);
      return [piece = std::move(piece), file](const schedule::Schedule& sch, schedule::BlockRV block) { return script::run_tiling_filter(*piece, *file, sch, block); };
    };
  }

  auto rules(const std::vector<Value>& items, const rules::CustomRules& custom) -> rules::Rules {
    rules::Rules out;
    for (const Value& item : items) {
      std::optional<rules::Rules> more;
      if (is_default(item)) {
        more = rules::default_rules(target_, custom);
      } else if (Ref<Piece> rule = piece(item, PieceKind::ScheduleRule)) {
        more = rule->is_written() ? rules::Rules{std::make_shared<WrittenRule>(rule, file_)} : tvm_rules(evaluator_, *rule, target_, custom, filters());
      }
      if (more) { out.insert(out.end(), more->begin(), more->end()); }
    }
    return out;
  }

  auto postprocs(const std::vector<Value>& items) -> std::vector<metaschedule::Postproc> {
    std::vector<metaschedule::Postproc> out;
    for (const Value& item : items) {
      if (is_default(item)) {
        for (metaschedule::Postproc& one : metaschedule::default_postprocs(target_)) { out.push_back(std::move(one)); }
      } else if (Ref<Piece> postproc = piece(item, PieceKind::Postproc)) {
        std::optional<metaschedule::Postproc> made = postproc->is_written() ? written_postproc(postproc) : tvm_postproc(evaluator_, *postproc, target_);
        if (made) { out.push_back(std::move(*made)); }
      }
    }
    return out;
  }
  auto written_postproc(const Ref<Piece>& postproc) -> metaschedule::Postproc {
    return {postproc->name.str(), [postproc, file = &file_, reports = reports_](schedule::Schedule& sch, const metaschedule::TargetNumbers&) -> metaschedule::Verdict {
              Result<bool> done = script::run_postproc(*postproc, *file, sch);
              if (!done.ok()) { reports->add(done.diagnostics()); }
              return done;
            }};
  }

  auto mutators(const std::string& text) -> metaschedule::Mutators {
    metaschedule::Mutators out;
    if (text.find_first_not_of(' ') != std::string::npos && text[text.find_first_not_of(' ')] == '{') {
      const std::vector<Value> made = items_of(text, "--mutators");
      const auto* dict = made.size() == 1 ? made[0].as<eval::Dict>() : nullptr;
      for (const auto& [key, value] : dict ? dict->entries() : std::vector<std::pair<Value, Value>>()) { add_mutator(key, value, out); }
      return out;
    }
    // `NAME=SHARE` means `{NAME: SHARE}`; a name without a share has the share 1.
    for (const std::string& item : parts_of(text)) {
      const size_t equals = item.find('=');
      const bool has_share = equals != std::string::npos && item.find('(') > equals;
      std::vector<Value> keys = items_of(has_share ? item.substr(0, equals) : item, "--mutators");
      // `Mutator.create("llvm")` returns a dictionary from mutators to their shares.
      if (const auto* dict = keys.size() == 1 ? keys[0].as<eval::Dict>() : nullptr; dict && !has_share) {
        for (const auto& [key, value] : dict->entries()) { add_mutator(key, value, out); }
        continue;
      }
      const std::vector<Value> shares = has_share ? items_of(item.substr(equals + 1), "--mutators") : std::vector<Value>(keys.size(), Value(1.0));
      for (size_t i = 0; i < keys.size() && i < shares.size(); ++i) { add_mutator(keys[i], shares[i], out); }
    }
    return out;
  }
  /// The parts between commas outside of parentheses.
  static auto parts_of(const std::string& text) -> std::vector<std::string> {
    std::vector<std::string> out(1);
    int depth = 0;
    for (char c : text) {
      depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
      if (c == ',' && depth == 0) { out.emplace_back(); } else if (c != ' ' || !out.back().empty()) { out.back() += c; }
    }
    return out;
  }
  void add_mutator(const Value& key, const Value& share, metaschedule::Mutators& out) {
    if (is_default(key)) {
      for (metaschedule::WeightedMutator& one : metaschedule::default_mutators(target_)) { out.push_back(std::move(one)); }
      return;
    }
    Ref<Piece> mutator = piece(key, PieceKind::Mutator);
    if (!mutator) { return; }
    if (share.is_error()) { return; }
    const std::optional<double> number = share.to_float();
    if (!number || !(*number >= 0) || *number > 1e6) {
      (void)evaluator_.report(error(Code::WrongType, {}).arg("expected", "the share of the mutator `" + mutator->name.str() + "`, a number such as 0.1").arg("found", eval::describe(share)));
      return;
    }
    std::optional<metaschedule::Mutator> made = mutator->is_written() ? written_mutator(mutator) : tvm_mutator(evaluator_, *mutator);
    if (made) { out.push_back({std::move(*made), *number}); }
  }
  auto written_mutator(const Ref<Piece>& mutator) -> metaschedule::Mutator {
    return {mutator->name.str(), [mutator, file = &file_, reports = reports_](const metaschedule::MutatorContext&, const schedule::Trace& trace, schedule::RandomEngine& random) -> std::optional<schedule::Trace> {
              auto done = script::run_mutator(*mutator, *file, trace, random.fork_seed());
              if (!done.ok()) { reports->add(done.diagnostics()); }
              return done.ok() ? *done : std::nullopt;
            }};
  }

  frontend::File& file_;
  eval::Evaluator& evaluator_;
  const target::Target& target_;
  ReportsPtr reports_;
  uint64_t random_state_ = 0;
  // `__init__` may call functions of NumPy, as the other methods do.
  Temporarily<decltype(eval::Evaluator::not_called)> not_called_;
};

}  // namespace

auto read_pieces(frontend::File& file, const target::Target& target, const PieceTexts& texts, std::function<void(const Diagnostics&)> report) -> Result<SpacePieces> {
  auto shared = std::make_shared<Reports>(std::move(report));
  // A limit that an earlier evaluation reached does not count.
  file.evaluator().reset_steps();
  return Lists(file, target, std::move(shared)).read(texts);
}

auto read_runner(frontend::File& file, const target::Target& target, const std::string& builder, const std::string& runner, std::function<void(const Diagnostics&)> report)
    -> Result<std::shared_ptr<CandidateRunner>> {
  auto shared = std::make_shared<Reports>(std::move(report));
  file.evaluator().reset_steps();
  return Lists(file, target, std::move(shared)).read_runner(builder, runner);
}

auto read_arguments(frontend::File& file, const target::Target& target, const std::string& text, const schedule::Schedule& program) -> Result<std::vector<std::vector<double>>> {
  file.evaluator().reset_steps();
  return Lists(file, target, std::make_shared<Reports>(std::function<void(const Diagnostics&)>())).read_arguments(text, program);
}

auto read_task_scheduler(frontend::File& file, const target::Target& target, const std::string& text, std::function<void(const Diagnostics&)> report) -> Result<ChooseTask> {
  auto shared = std::make_shared<Reports>(std::move(report));
  file.evaluator().reset_steps();
  return Lists(file, target, std::move(shared)).read_scheduler(text);
}

auto read_model(frontend::File& file, const target::Target& target, const std::string& text, std::function<void(const Diagnostics&)> report) -> Result<ReadModel> {
  auto shared = std::make_shared<Reports>(std::move(report));
  file.evaluator().reset_steps();
  return Lists(file, target, std::move(shared)).read_model(text);
}

}  // namespace loopsmith::tune
