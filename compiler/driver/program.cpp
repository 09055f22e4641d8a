// Files as commands see them: see program.h.
#include "driver/program.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "analysis/analyses.h"
#include "driver/annotate.h"
#include "driver/command.h"
#include "frontend/file.h"
#include "frontend/objects.h"
#include "ir/highlight.h"
#include "ir/printer.h"
#include "schedule/trace_json.h"
#include "script/schedules.h"
#include "support/codes.h"
#include "syntax/document.h"
#include "syntax/schedule_form.h"
#include "workspace/imports.h"

namespace loopsmith::driver {
namespace {

// More than any program that people write; reading further would only fill memory.
constexpr size_t largest_file = 64 << 20;

auto backticked(const std::vector<std::string>& names) -> std::string {
  std::string out;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i == 8 && names.size() > 9) { return out + fmt::format(" and {} more", names.size() - i); }
    if (i > 0) { out += i + 1 == names.size() ? " and " : ", "; }
    out += '`' + names[i] + '`';
  }
  return out;
}

auto with_names(Diagnostic diagnostic, const std::string& wanted, const std::vector<std::string>& names, const char* what) -> Diagnostic {
  std::string meant = closest(wanted, names);
  if (!meant.empty()) { return std::move(diagnostic).remedy(fmt::format("did you mean `{}`?", meant)); }
  if (!names.empty()) { return std::move(diagnostic).remedy(fmt::format("it has {} {}", what, backticked(names))); }
  return diagnostic;
}

}  // namespace

auto files_below(const std::filesystem::path& folder, std::error_code& problem) -> std::vector<std::filesystem::path> {
  namespace fs = std::filesystem;
  std::vector<fs::path> files;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, problem);
  for (; !problem && at != fs::recursive_directory_iterator(); at.increment(problem)) {
    if (at->path().filename().string().starts_with(".")) {
      if (at->is_directory()) { at.disable_recursion_pending(); }
      continue;
    }
    if (at->is_regular_file() && at->path().extension() == ".tir") { files.push_back(at->path()); }
  }
  std::sort(files.begin(), files.end());
  return files;
}

auto read_file(const std::string& path) -> Result<std::string> {
  auto fail = [&](const char* why) -> Diagnostic { return error(Code::CannotRead).arg("file", path == "-" ? "standard input" : path).arg("why", why); };
  // What came through a pipe is gone once it is read; who asks again means the same text.
  static std::optional<std::string> input;
  if (path == "-" && input) { return *input; }
  std::FILE* file = path == "-" ? stdin : std::fopen(path.c_str(), "rb");
  if (!file) { return fail(std::strerror(errno)); }
  std::string out;
  char chunk[65536];
  size_t n;
  while ((n = std::fread(chunk, 1, sizeof chunk, file)) > 0 && out.size() <= largest_file) { out.append(chunk, n); }
  int problem = std::ferror(file) ? errno : 0;
  if (file != stdin) { std::fclose(file); }
  if (problem) { return fail(std::strerror(problem)); }
  if (out.size() > largest_file) { return fail("it is larger than 64 MiB"); }
  if (file == stdin) { input = out; }
  return out;
}

// ---- files -----------------------------------------------------------------------------------------------

struct SourceFile::Content {
  SourceText text;
  syntax::Document document;
  frontend::File file{&script::predeclared};
  Diagnostics diagnostics;
  std::vector<NamedProgram> programs;
  std::vector<NamedProgram> inside;
  script::Schedules schedules;
  std::vector<std::string> schedule_names;

  explicit Content(SourceText t) : text(std::move(t)), document(text.text()) {}
};

SourceFile::SourceFile(std::unique_ptr<Content> content) : content_(std::move(content)) {}
SourceFile::~SourceFile() = default;

namespace {

auto in_order(const syntax::Document& document, Diagnostics diagnostics) -> Diagnostics {
  std::vector<std::pair<uint32_t, size_t>> order;
  for (size_t i = 0; i < diagnostics.size(); ++i) {
    auto span = document.resolve(diagnostics[i].where);
    order.emplace_back(span ? span->begin : 0, i);
  }
  std::sort(order.begin(), order.end());
  Diagnostics sorted;
  std::optional<uint32_t> place;
  size_t first_there = 0;
  for (const auto& [at, i] : order) {
    if (place != at) { first_there = sorted.size(); }
    place = at;
    // A function that is called several times makes the same mistake each time.
    const Diagnostic& d = diagnostics[i];
    bool repeated = std::any_of(sorted.begin() + static_cast<std::ptrdiff_t>(first_there), sorted.end(),
                                [&](const Diagnostic& s) { return s.code == d.code && s.where == d.where && s.args == d.args; });
    if (!repeated) { sorted.push_back(std::move(diagnostics[i])); }
  }
  return sorted;
}

}  // namespace

auto SourceFile::read(const std::string& path) -> Result<std::unique_ptr<SourceFile>> {
  LOOPSMITH_TRY(bytes, read_file(path));
  return from_text(path == "-" ? "<stdin>" : path, std::move(bytes));
}

auto SourceFile::from_text(const std::string& name, std::string text) -> std::unique_ptr<SourceFile> {
  auto content = std::make_unique<Content>(SourceText(name, std::move(text)));
  Content& c = *content;
  c.file.import_from(workspace::imports_on_disk(name));
  c.file.update(c.document);
  c.diagnostics = c.document.diagnostics();
  for (size_t i = 0; i < c.file.size(); ++i) {
    const frontend::Declaration& declaration = c.file.declaration(i);
    const syntax::ItemPtr& item = c.file.item(i);
    c.diagnostics.insert(c.diagnostics.end(), declaration.diagnostics.begin(), declaration.diagnostics.end());
    if (declaration.is_program) {
      bool is_function = item->kind == syntax::ItemKind::Function;
      bool broken = has_errors(declaration.diagnostics) || item->has_error;
      c.programs.push_back({item->name, declaration.module, is_function, broken, Origin{item->decl, 0, 0, 0}});
    }
  }
  for (size_t i = 0; i < c.file.size(); ++i) {
    for (const frontend::InnerProgram& inner : c.file.declaration(i).inside) {
      // A program that the file names, `f = make(16)`, is there already.
      bool is_named = false;
      for (size_t j = 0; j < c.file.size() && !is_named; ++j) {
        const auto* made = c.file.declaration(j).value.as<frontend::ProgramObject>();
        is_named = made && made->where == inner.where;
      }
      if (!is_named) { c.inside.push_back({inner.name, inner.module, inner.is_function, inner.has_errors, inner.where}); }
    }
  }
  c.schedules.update(c.file);
  c.diagnostics.insert(c.diagnostics.end(), c.schedules.diagnostics().begin(), c.schedules.diagnostics().end());
  for (const script::FileSchedule& schedule : c.schedules.all()) { c.schedule_names.push_back(schedule.name.str()); }
  c.diagnostics = in_order(c.document, std::move(c.diagnostics));
  return std::unique_ptr<SourceFile>(new SourceFile(std::move(content)));
}

auto SourceFile::analyse() -> Diagnostics {
  Content& c = *content_;
  analysis::Analyses analyses;
  analyses.update(c.document, c.file, !name().ends_with(".py"), INT64_MAX);
  Diagnostics all = c.diagnostics;
  all.insert(all.end(), analyses.diagnostics().begin(), analyses.diagnostics().end());
  return in_order(c.document, std::move(all));
}

auto SourceFile::name() const -> const std::string& { return content_->text.name(); }
auto SourceFile::diagnostics() const -> const Diagnostics& { return content_->diagnostics; }
auto SourceFile::programs() const -> const std::vector<NamedProgram>& { return content_->programs; }
auto SourceFile::programs_inside() const -> const std::vector<NamedProgram>& { return content_->inside; }
auto SourceFile::schedule_names() const -> const std::vector<std::string>& { return content_->schedule_names; }

auto SourceFile::locate() const -> Locate {
  return [this](const Origin& origin) -> std::optional<Located> {
    if (auto span = content_->document.resolve(origin)) { return Located{&content_->text, *span}; }
    // The text lives as long as the file, which imports from it.
    auto elsewhere = content_->file.elsewhere(origin);
    return elsewhere ? std::optional(Located{elsewhere->text.get(), elsewhere->span}) : std::nullopt;
  };
}

auto SourceFile::program(const std::string& wanted) const -> Result<NamedProgram> {
  bool only_inside = content_->programs.empty();
  const std::vector<NamedProgram>& all = only_inside ? content_->inside : content_->programs;
  std::vector<std::string> names;
  for (const NamedProgram& p : all) {
    names.push_back(p.name.str());
    if (p.is_function || !p.module) { continue; }
    for (const auto& [function, body] : p.module->functions) { names.push_back(function.str()); }
  }
  if (all.empty()) { return error(Code::NoProgram).arg("file", name()).remedy("a program is a function with `@T.prim_func`, or a class with `@I.ir_module`"); }
  if (wanted.empty()) {
    if (all.size() == 1) { return all[0]; }
    std::vector<std::string> declared;
    for (const NamedProgram& p : all) { declared.push_back(p.name.str()); }
    return error(Code::SeveralPrograms).arg("file", name()).arg("names", backticked(declared)).remedy("say which one: `--function NAME`");
  }
  for (const NamedProgram& p : all) {
    if (p.name.view() == wanted) { return p; }
  }
  for (const NamedProgram& p : all) {
    if (!p.is_function && p.module && p.module->find(Name(wanted))) { return p; }
  }
  // Of Python: by the whole name, or the last part of it where that is one program only.
  const NamedProgram* last = nullptr;
  size_t count = 0;
  for (const NamedProgram& p : content_->inside) {
    if (p.name.view() == wanted) { return p; }
    if (p.name.view().ends_with("." + wanted)) { last = &p; ++count; }
  }
  if (count == 1) { return *last; }
  return with_names(error(Code::NoSuchProgram).arg("name", wanted).arg("file", name()), wanted, names, names.size() == 1 ? "the program" : "the programs");
}

auto SourceFile::run_schedule(const std::string& wanted, std::optional<uint32_t> until) -> Result<script::ScheduleRun> {
  Content& c = *content_;
  script::FileSchedule* schedule = c.schedules.find(Name(wanted));
  if (!schedule) {
    for (const script::Schedules::LeftAlone& left : c.schedules.left_alone()) {
      if (left.name.view() == wanted) { return error(Code::NothingToSchedule, left.program).arg("name", wanted).remedy("what it makes its schedule of is not known before it runs: name the program, or give it as the parameter of a file with one program"); }
    }
    return with_names(error(Code::NoSuchSchedule).arg("name", wanted).arg("file", name()), wanted, c.schedule_names, "the schedule functions");
  }
  if (!schedule->program) { return schedule->diagnostics; }
  std::optional<size_t> steps;
  if (until) {
    syntax::ItemPtr item = c.document.declaration(schedule->decl);
    auto def = syntax::function_of(item);
    size_t n = 0;
    while (def && n < def->body.size()) {
      auto span = c.document.resolve(def->body[static_cast<uint32_t>(n)]->origin());
      if (!span || c.text.line_column(span->begin).line + 1 > *until) { break; }
      ++n;
    }
    steps = n;
  }
  c.schedules.run_one(c.file, *schedule, CancelToken(), steps);
  if (!schedule->run) { return error(Code::NothingToSchedule, schedule->where).arg("name", wanted); }
  script::ScheduleRun run = *schedule->run;
  run.diagnostics.insert(run.diagnostics.begin(), schedule->diagnostics.begin(), schedule->diagnostics.end());
  return run;
}

// ---- reporting -------------------------------------------------------------------------------------------

Reporter::Reporter(const Arguments& arguments) : json_(arguments.json()), color_(arguments.color(STDERR_FILENO)) {}

void Reporter::report(const Diagnostics& diagnostics, const SourceFile* file, bool only_errors) {
  Locate locate;
  if (file) { locate = file->locate(); }
  for (const Diagnostic& d : diagnostics) {
    // What a text has wrong is found again where it runs.
    if (d.severity == Severity::Error && d.where.is_known() && !told_.emplace(file, d.code, d.where.decl, d.where.begin, d.where.end, d.message()).second) { continue; }
    if (d.severity == Severity::Error) { ++errors_; }
    else if (only_errors) { continue; }
    else if (d.severity == Severity::Warning) { ++warnings_; }
    environment_ = environment_ || d.code == Code::NoLlvm;
    if (sink_) {
      sink_->push_back(render_json(d, locate, file ? file->name() : ""));
    } else if (json_) {
      fmt::print("{}\n", render_json(d, locate, file ? file->name() : "").dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    } else {
      fmt::print(stderr, "{}", render(d, locate, {.color = color_, .file = file ? file->name() : "loopsmith"}));
    }
  }
}

auto Reporter::status() const -> int { return environment_ ? exit_environment : exit_input; }

// ---- picking ---------------------------------------------------------------------------------------------

namespace {

// A function that makes several schedules has them under its name, `NAME.2` and so on: the one whose program is asked for is meant, else the one
// that is named; what there is beside it is said.
void pick_among(SourceFile& file, const std::string& function, std::optional<uint32_t> until, std::string& with, script::ScheduleRun& run) {
  auto name_of = [&](const script::ScheduleRun& one) {
    auto found = std::find_if(file.programs().begin(), file.programs().end(), [&](const NamedProgram& p) { return p.module && p.module.same_as(one.asked); });
    return found != file.programs().end() ? found->name.str() : std::string("a program of its own");
  };
  auto words_for = [&](const script::ScheduleRun& one) { return fmt::format("{}`{}`", one.program.same_as(one.asked) ? "" : "what another made of ", name_of(one)); };
  const std::vector<std::string> names = file.schedule_names();
  std::string beside;
  size_t count = 1;
  std::optional<std::pair<std::string, script::ScheduleRun>> asked;
  for (const std::string& name : names) {
    std::string_view number = std::string_view(name).substr(std::min(name.size(), with.size()));
    bool is_further = name.starts_with(with) && number.size() > 1 && number[0] == '.' && number.find_first_not_of("0123456789", 1) == std::string_view::npos;
    if (!is_further) { continue; }
    auto other = file.run_schedule(name, until);
    if (!other || other->decl != run.decl) { continue; }
    if (!function.empty() && !asked && name_of(*other) == function) { asked = {name, *other}; }
    beside += fmt::format("{}`{}` of {}", beside.empty() ? "" : ", ", name, words_for(*other));
    ++count;
  }
  if (asked && name_of(run) != function) {
    with = std::move(asked->first);
    run = std::move(asked->second);
    return;
  }
  if (beside.empty() || name_of(run) == function) { return; }
  fmt::print(stderr, "loopsmith: `{}` makes {} schedules: this is the first, of {}; beside it there {} {}\n", with, count, words_for(run), count == 2 ? "is" : "are", beside);
}

}  // namespace

auto pick(const Arguments& arguments, const PickRequest& request, Reporter& reporter) -> std::variant<Selection, int> {
  Selection out;
  auto read = SourceFile::read(request.path);
  if (!read) {
    reporter.report(read.diagnostics(), nullptr);
    return reporter.status();
  }
  out.file = std::move(*read);
  SourceFile& file = *out.file;
  auto fail = [&](const Diagnostics& diagnostics) -> int {
    reporter.report(diagnostics, &file, true);
    return reporter.status();
  };
  // Mistakes anywhere in the file are said; only those of what is picked stop the command.
  reporter.report(file.diagnostics(), &file, true);

  std::string with = request.with.empty() ? arguments.get("--with", "") : request.with;
  if (with.empty() && request.only_schedule) {
    const std::vector<std::string>& names = file.schedule_names();
    if (names.size() != 1) {
      Diagnostic d = names.empty() ? error(Code::NoSuchSchedule).arg("name", "").arg("file", file.name())
                                   : error(Code::SeveralSchedules).arg("file", file.name()).arg("names", backticked(names)).remedy("say which one: `--with NAME`");
      if (names.empty()) {
        fmt::print(stderr, "loopsmith: there is no schedule function in `{}`: one is `def NAME(sch: tir.Schedule)`, or makes it, `sch = tir.Schedule(PROGRAM)`\n", file.name());
        return exit_input;
      }
      return fail({d});
    }
    with = names[0];
  }
  std::string target_text;
  if (!with.empty()) {
    std::optional<uint32_t> until;
    if (auto line = arguments.get("--until")) {
      auto number = parse_number(*line, 1, 100'000'000);
      if (!number) { return usage_error("schedule", "`--until` takes a line number"); }
      until = static_cast<uint32_t>(*number);
    }
    auto run = file.run_schedule(with, until);
    if (!run) {
      Diagnostics why = run.diagnostics();
      // Asked for by name, what an editor only hints at is an error.
      for (Diagnostic& d : why) { d.severity = Severity::Error; }
      return fail(why);
    }
    pick_among(file, arguments.get("--function", ""), until, with, *run);
    if (request.until_hole) {
      auto found = std::find_if(run->steps.begin(), run->steps.end(), [](const script::Step& step) { return step.hole.has_value(); });
      auto place = found != run->steps.end() ? file.locate()(found->where) : std::nullopt;
      if (place) {
        Selection::Hole hole{.statement = place->span, .function = run->text, .variable = "sch", .seconds = found->hole->seconds, .trials = found->hole->trials};
        for (const auto& [name, value] : run->frames[found->index].scope->slots()) {
          const auto* object = value.as<script::ScheduleObject>();
          if (object && object->part == script::ScheduleObject::Part::Own) { hole.variable = name.str(); }
        }
        out.hole = std::move(hole);
        run->result = found->after;
        run->steps.erase(found + 1, run->steps.end());
      }
    }
    // What the function prints goes beside the module, which standard output is for.
    for (const script::Step& step : run->steps) { fmt::print(stderr, "{}", step.printed); }
    if (Diagnostics made = run->all_diagnostics(); has_errors(made)) { return fail(made); }
    if (!run->result) { return fail({error(Code::ScheduleIncomplete).arg("name", with)}); }
    if (auto why = run->why_incomplete()) { return fail({*std::move(why)}); }
    out.before = run->program;
    out.module = run->result->module();
    out.trace = run->result->trace();
    out.schedule = with;
    target_text = run->target;
    for (const NamedProgram& p : file.programs()) {
      if (!p.module.same_as(run->asked)) { continue; }
      out.program = p.name;
      out.is_bare = p.is_function;
      if (p.has_errors && !request.ill_formed) { return reporter.status(); }
    }
    std::string function = arguments.get("--function", "");
    // A program of another file has here the name that it is imported by.
    if (!function.empty() && !out.program.empty() && out.program != std::string_view(function) && !out.before->find(Name(function))) {
      fmt::print(stderr, "loopsmith: `{}` is a schedule of `{}`, and `--function` names `{}`\n", with, out.program.view(), function);
      return exit_usage;
    }
    if (out.program.empty()) { out.program = Name(with); }
  } else {
    auto program = file.program(arguments.get("--function", ""));
    if (!program) { return fail(program.diagnostics()); }
    if (!program->module) {
      if (reporter.errors() == 0) { fmt::print(stderr, "loopsmith: `{}` uses Python that is not evaluated here, so it is not known\n", program->name.view()); }
      return reporter.status();
    }
    if (program->has_errors && !request.ill_formed) { return reporter.status(); }
    out.program = program->name;
    out.is_bare = program->is_function;
    out.before = out.module = program->module;
    if (auto path = arguments.get("--trace")) {
      auto text = read_file(*path);
      if (!text) { return fail(text.diagnostics()); }
      auto trace = schedule::trace_from_json(*text);
      if (!trace) { return fail(trace.diagnostics()); }
      schedule::Schedule sch(out.module, 1);
      if (auto status = sch.replay(*trace); !status) { return fail(status.diagnostics()); }
      out.module = sch.module();
      out.trace = sch.trace();
    }
  }
  // The function meant in the module.
  std::string wanted = arguments.get("--function", "");
  if (!wanted.empty() && out.module->find(Name(wanted))) {
    out.function = Name(wanted);
  } else if (out.module->find("main") || out.module->functions.empty()) {
    out.function = "main";
  } else {
    out.function = out.module->functions.front().first;
  }
  if (request.needs_target) {
    std::string text = arguments.get("--target", target_text.empty() ? "llvm" : target_text);
    auto target = target::parse(text);
    if (!target) { return fail(target.diagnostics()); }
    out.target = std::move(*target);
  }
  return out;
}

auto read_dialect(const std::string& command, const Arguments& arguments, std::optional<Dialect>& out) -> bool {
  auto text = arguments.get("--dialect");
  if (!text) { return true; }
  if (*text == "block") { out = Dialect::Block; }
  else if (*text == "sblock") { out = Dialect::SBlock; }
  else {
    (void)usage_error(command, fmt::format("`--dialect` is block or sblock, not `{}`", *text));
    return false;
  }
  return true;
}

auto print_module(const IRModule& module, const Arguments& arguments) -> int {
  PrintOptions options;
  if (auto dialect = arguments.get("--dialect")) {
    options.dialect = *dialect == "sblock" ? Dialect::SBlock : Dialect::Block;
    options.override_dialect = true;
  }
  std::string comments = arguments.get("--comments", "");
  std::string text = comments.empty() ? print_script(module, options) : print_annotated(module, options, comments == "types" ? NoteKind::Types : NoteKind::Regions);
  if (arguments.json()) {
    fmt::print("{}\n", nlohmann::json({{"module", text}}).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    return exit_done;
  }
  if (arguments.color(STDOUT_FILENO)) { text = colored_script(text); }
  text += '\n';
  if (auto status = write_file("-", text); !status) {
    fmt::print(stderr, "loopsmith: {}\n", status.diagnostics()[0].message());
    return exit_input;
  }
  return exit_done;
}

}  // namespace loopsmith::driver
