// Offered moves are accepted: moves of code actions are written into the text and run; primitives and arguments that completion ranks
// first are legal by all candidates, those ranked last are not. At every place of the examples.
#include "lsp/features/moves.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "ir/printer.h"
#include "ir/script_diff.h"
#include "lsp/features/completion.h"
#include "lsp/features/names.h"
#include "lsp/features/insertion_point.h"
#include "schedule/moves.h"
#include "tests/support/effort.h"
#include "tests/support/paths.h"
#include "tests/unit/catch.h"

using namespace loopsmith;
using namespace loopsmith::lsp;

namespace {

auto example(const std::string& name) -> std::string {
  std::ifstream file(tests::source_folder() + "/examples/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

auto errors_of(const workspace::Snapshot& snapshot) -> std::vector<std::string> {
  std::vector<std::string> out;
  for (const workspace::Finding& finding : snapshot.findings()) {
    if (finding.severity == Severity::Error) { out.push_back(finding.message); }
  }
  return out;
}

/// The step whose statement begins at a byte.
auto step_beginning(const workspace::Snapshot& snapshot, uint32_t at) -> const script::Step* {
  for (const script::FileSchedule& schedule : snapshot.schedules()) {
    if (schedule.run == nullptr) { continue; }
    for (const script::Step& step : schedule.run->steps) {
      auto span = snapshot.resolve(step.where);
      if (span && span->begin == at) { return &step; }
    }
  }
  return nullptr;
}

/// Types a line as in an editor: the text was analysed before.
void type_line(workspace::Document& document, uint32_t at, const std::string& line) {
  document.check();
  (void)document.replay({});
  document.edit(2, {at, at}, line);
  document.check();
  (void)document.replay({});
}

}  // namespace

TEST_CASE("moves that are offered are accepted once they are written") {
  size_t written = 0;
  size_t named = 0;
  size_t offered = 0;
  size_t offered_of_several = 0;
  size_t further_statements = 0;
  for (const char* name : {"matmul.tir", "softmax.tir", "conv2d_bias_relu.tir"}) {
    std::string text = example(name);
    REQUIRE_FALSE(text.empty());
    auto document = workspace::analyse(name, text);
    workspace::SnapshotPtr snapshot = document->snapshot();
    REQUIRE(errors_of(*snapshot).empty());
    std::set<std::string> seen;
    for (const Occurrence& occurrence : names_of(*snapshot).occurrences) {
      for (const OfferedMove& move : moves_offered(*snapshot, occurrence.span.begin)) {
        if (!move.why_not.empty() || !seen.insert(fmt::format("{} {}", move.offset, move.insert)).second) { continue; }
        // Moves of several statements are rare, so they are counted separately, and some are always tested.
        size_t& place = move.text.find('\n') == std::string::npos ? offered : offered_of_several;
        if (place++ % tests::stride(15) != 0) { continue; }
        std::string after = text.substr(0, move.offset) + move.insert + text.substr(move.offset);
        // Later statements may fail in the new state; the inserted statement must not.
        auto edited = workspace::analyse(name, after);
        size_t at = after.find(move.text, move.offset);
        INFO(name << ": " << move.text);
        REQUIRE(at != std::string::npos);
        const script::Step* step = step_beginning(*edited->snapshot(), static_cast<uint32_t>(at));
        REQUIRE(step != nullptr);
        INFO((step->diagnostics.empty() ? std::string() : step->diagnostics.front().message()));
        REQUIRE(step->state == script::StepState::Done);
        ++written;
        // All statements of a move must run.
        for (size_t line = move.text.find('\n'); line != std::string::npos; line = move.text.find('\n', line + 1)) {
          size_t next = after.find_first_not_of(" \n", at + line);
          const script::Step* further = step_beginning(*edited->snapshot(), static_cast<uint32_t>(next));
          REQUIRE(further != nullptr);
          REQUIRE(further->state == script::StepState::Done);
          ++further_statements;
        }
        if (move.text.find(" = ") != std::string::npos) {
          ++named;
          REQUIRE_FALSE(step->named.empty());
        }
      }
    }
  }
  CHECK(written > 150 / tests::stride(15));
  CHECK(named > 50 / tests::stride(15));
  CHECK(further_statements > 10 / tests::stride(15));
}

TEST_CASE("a greyed move that is written is refused, for the reason that was shown") {
  size_t greyed = 0;
  std::set<std::string> primitives;
  for (const char* name : {"matmul.tir", "softmax.tir", "conv2d_bias_relu.tir"}) {
    std::string text = example(name);
    auto document = workspace::analyse(name, text);
    workspace::SnapshotPtr snapshot = document->snapshot();
    std::set<std::string> seen;
    for (const Occurrence& occurrence : names_of(*snapshot).occurrences) {
      for (const OfferedMove& move : moves_offered(*snapshot, occurrence.span.begin, Refusals::All)) {
        CHECK(move.why_not.find('\n') == std::string::npos);
        if (move.why_not.empty() || move.text.empty() || !seen.insert(fmt::format("{} {}", move.offset, move.text)).second || greyed++ % tests::stride(15) != 0) { continue; }
        // On a variable of the schedule the move goes after its statement; in the program, to the end of its schedule.
        std::string after = text.substr(0, move.offset) + "\n    " + move.text + text.substr(move.offset);
        auto edited = workspace::analyse(name, after);
        const script::Step* step = step_beginning(*edited->snapshot(), move.offset + 5);
        INFO(name << ": " << move.text);
        REQUIRE(step != nullptr);
        REQUIRE(step->state == script::StepState::Failed);
        REQUIRE_FALSE(step->diagnostics.empty());
        CHECK(step->diagnostics.front().message() == move.why_not);
        primitives.insert(move.text.substr(0, move.text.find('(')));
      }
    }
  }
  CHECK(greyed > 300);
  CHECK(primitives.size() > 15 / tests::stride(4));
}

TEST_CASE("moves are written in the words of the script: its name for the schedule") {
  std::string text = "import tvm\nfrom tvm.script import tir as T\n\n\n@T.prim_func\ndef f(A: T.Buffer((16, 16), \"float32\")):\n    for i, j in T.grid(16, 16):\n        with T.block(\"B\"):\n"
                     "            vi, vj = T.axis.remap(\"SS\", [i, j])\n            A[vi, vj] = T.float32(1)\n\n\ndef test_f():\n    s = tvm.tir.Schedule(f)\n    b = s.get_block(\"B\")\n    i = s.get_loops(b)[0]\n";
  auto document = workspace::analyse("a.py", text);
  std::vector<OfferedMove> offered = moves_offered(*document->snapshot(), static_cast<uint32_t>(text.find("i = s.")));
  REQUIRE(offered.size() > 8);
  size_t worked = 0;
  for (const OfferedMove& move : offered) {
    if (!move.why_not.empty()) { continue; }
    CHECK(move.insert.find("sch.") == std::string::npos);
    auto edited = workspace::analyse("a.py", text.substr(0, move.offset) + move.insert + text.substr(move.offset));
    const script::FileSchedule& schedule = edited->snapshot()->schedules().front();
    INFO(move.insert);
    CHECK(schedule.run->is_complete);
    worked += schedule.run->primitives > 2 ? 1 : 0;
  }
  CHECK(worked > 8);
}

TEST_CASE("the list for a loop or block has all legal primitives") {
  size_t most = 0;
  size_t places = 0;
  for (const char* name : {"matmul.tir", "softmax.tir", "conv2d_bias_relu.tir"}) {
    auto document = workspace::analyse(name, example(name));
    workspace::SnapshotPtr snapshot = document->snapshot();
    for (const script::FileSchedule& schedule : snapshot->schedules()) {
      REQUIRE(schedule.run != nullptr);
      for (size_t i = 0; i < schedule.run->steps.size(); i += tests::stride(6)) {
        auto span = snapshot->resolve(schedule.run->steps[i].where);
        REQUIRE(span);
        auto point = point_at(*snapshot, span->begin);
        if (!point || point->func() == nullptr) { continue; }
        const schedule::FuncState& func = *point->func();
        for (const schedule::Place& place : func.places()) {
          std::set<std::string> legal;
          for (const schedule::JudgedMove& judged : schedule::moves_at(point->schedule.state(), func, place)) {
            if (judged.is_legal() && schedule::is_worth_offering(func, judged.move, false)) { legal.insert(std::string(judged.move.primitive->name)); }
          }
          std::set<std::string> listed;
          double gain = 1e9;
          for (const OfferedMove& move : moves_offered_on(*snapshot, span->begin, static_cast<size_t>(place.index))) {
            if (!move.why_not.empty()) { continue; }
            CHECK(move.gain <= gain);
            gain = move.gain;
            if (move.primitive != "tile") { CHECK(listed.insert(std::string(move.primitive)).second); }
          }
          INFO(name << ": " << place.name().view() << " after " << point->title);
          CHECK(listed == legal);
          most = std::max(most, listed.size());
          ++places;
        }
      }
    }
  }
  // More moves than a menu shows at once.
  CHECK(most > 14);
  CHECK(places > 100 / tests::stride(6));
}

TEST_CASE("completion ranks primitives by their legality in the state at the cursor") {
  size_t legal = 0;
  size_t refused = 0;
  for (const char* name : {"matmul.tir", "softmax.tir"}) {
    std::string text = example(name);
    auto document = workspace::analyse(name, text);
    workspace::SnapshotPtr snapshot = document->snapshot();
    for (const script::FileSchedule& schedule : snapshot->schedules()) {
      REQUIRE(schedule.run != nullptr);
      for (const script::Step& step : schedule.run->steps) {
        auto span = snapshot->resolve(step.where);
        REQUIRE(span);
        std::string line = "\n    sch.";
        workspace::Document typed(name, 1, text);
        type_line(typed, span->end, line);
        Completion offered = completion(*typed.snapshot(), span->end + static_cast<uint32_t>(line.size()));
        const schedule::State& state = step.after->state();
        const schedule::FuncState& func = *state.func(step.after->func_working_on());
        size_t last_legal = 0;
        size_t first_refused = offered.items.size();
        for (size_t i = 0; i < offered.items.size(); ++i) {
          const CompletionItem& item = offered.items[i];
          if (item.primitive.empty() && item.note.empty()) { continue; }
          const schedule::Primitive* row = schedule::find_primitive(item.label);
          REQUIRE(row != nullptr);
          bool is_legal = false;
          for (const schedule::Place& place : func.places()) {
            if (place.parent < 0 || is_legal) { continue; }
            for (const schedule::Move& move : schedule::candidate_moves(state, func, place, *row)) { is_legal = is_legal || schedule::judge(state, func, move).ok(); }
          }
          INFO(name << " after " << text.substr(span->begin, span->end - span->begin) << ": " << item.label << ": " << item.detail);
          REQUIRE(is_legal == !item.primitive.empty());
          if (is_legal) { last_legal = i; } else { first_refused = std::min(first_refused, i); }
          (is_legal ? legal : refused) += 1;
        }
        CHECK(last_legal < first_refused);
      }
    }
  }
  CHECK(legal > 200);
  CHECK(refused > 100);
}

TEST_CASE("completion lists loops with which the call is legal first, and gives the reason against the others") {
  std::string text = example("matmul.tir");
  size_t at = text.find("    sch.parallel(i0)");
  REQUIRE(at != std::string::npos);
  auto labels = [&](const std::string& line) {
    workspace::Document document("matmul.tir", 1, text);
    type_line(document, static_cast<uint32_t>(at), "    " + line + "\n");
    return completion(*document.snapshot(), static_cast<uint32_t>(at + 4 + line.size())).items;
  };
  auto find = [](const std::vector<CompletionItem>& items, const std::string& label) {
    return std::find_if(items.begin(), items.end(), [&](const CompletionItem& item) { return item.label == label; });
  };
  auto parallel = labels("sch.parallel(");
  REQUIRE(find(parallel, "i0") != parallel.end());
  CHECK(find(parallel, "i0")->note.empty());
  CHECK(find(parallel, "k0")->note == "not here");
  CHECK(find(parallel, "k0")->detail.find("is not spatial") != std::string::npos);
  CHECK(find(parallel, "i0") < find(parallel, "k0"));
  // The list as a whole: k0 and k1 are nested directly, i0 and k0 are not.
  auto fuse = labels("sch.fuse(k0, ");
  CHECK(find(fuse, "k1")->note.empty());
  CHECK(find(fuse, "i0")->note == "not here");
  // The second argument, after the first one.
  auto compute_at = labels("sch.compute_at(acc, ");
  CHECK(find(compute_at, "i0")->note == "not here");
}

TEST_CASE("the preview of a primitive shows the call and its changes") {
  std::string text = example("matmul.tir");
  size_t at = text.find("    sch.parallel(i0)");
  std::string typed = text.substr(0, at) + "    sch.\n" + text.substr(at);
  auto document = workspace::analyse("matmul.tir", typed);
  std::string shown = preview(*document->snapshot(), static_cast<uint32_t>(at + 8), "unroll");
  CHECK(shown.find("sch.unroll(") != std::string::npos);
  CHECK(shown.find("\n+") != std::string::npos);
  CHECK(shown.find("T.unroll(") != std::string::npos);
  CHECK(preview(*document->snapshot(), static_cast<uint32_t>(at + 8), "no_such").empty());
  // A text without a schedule has no preview.
  CHECK(preview(*document->snapshot(), 0, "split").empty());
}

TEST_CASE("a preview shows the effect that the written statement has") {
  size_t shown = 0;
  size_t changing = 0;
  for (const char* name : {"matmul.tir", "softmax.tir", "conv2d_bias_relu.tir"}) {
    const std::string text = example(name);
    auto document = workspace::analyse(name, text);
    for (const script::FileSchedule& schedule : document->snapshot()->schedules()) {
      REQUIRE(schedule.run != nullptr);
      for (const script::Step& step : schedule.run->steps) {
        auto span = document->snapshot()->resolve(step.where);
        REQUIRE(span);
        workspace::Document typed(name, 1, text);
        type_line(typed, span->end, "\n    sch.");
        uint32_t at = span->end + 9;
        JudgedState judged;
        for (const CompletionItem& item : completion(*typed.snapshot(), at, {.judged = &judged}).items) {
          if (item.primitive.empty() || shown++ % tests::stride(20) != 0) { continue; }
          std::string shown_text = preview(*typed.snapshot(), at, item.primitive);
          INFO(name << ": " << shown_text);
          const std::string open = "\n\n```python\n";
          size_t begin = shown_text.find(open);
          REQUIRE(begin != std::string::npos);
          begin += open.size();
          size_t end = shown_text.find("\n```\n", begin);
          REQUIRE(end != std::string::npos);
          std::string statement = shown_text.substr(begin, end - begin);
          auto written = workspace::analyse(name, text.substr(0, span->end) + "\n    " + statement + text.substr(span->end));
          const script::Step* made = step_beginning(*written->snapshot(), span->end + 5);
          REQUIRE(made != nullptr);
          REQUIRE(made->state == script::StepState::Done);
          std::string diff = diff_scripts(print_script(step.after->module()), print_script(made->after->module()), {.context = 1});
          CHECK(shown_text.substr(end + 5) == (diff.empty() ? "changes nothing" : "```diff\n" + diff + "```"));
          changing += diff.empty() ? 0 : 1;
        }
      }
    }
  }
  CHECK(shown > 500);
  CHECK(changing > 400 / tests::stride(20));
}

TEST_CASE("a list that ran out of time is marked as incomplete, and is complete at the next request") {
  std::string text = example("matmul.tir");
  size_t at = text.find("    sch.parallel(i0)");
  REQUIRE(at != std::string::npos);
  workspace::Document document("matmul.tir", 1, text);
  type_line(document, static_cast<uint32_t>(at), "    sch.\n");
  auto ask = [&](Deadline until, JudgedState* judged) { return completion(*document.snapshot(), static_cast<uint32_t>(at + 8), {.until = until, .judged = judged}); };
  auto labels_of = [](const Completion& found) {
    std::vector<std::string> all;
    for (const CompletionItem& item : found.items) { all.push_back(item.label + " " + item.note + " " + item.detail); }
    return all;
  };
  Deadline past = Clock::now() - std::chrono::seconds(1);
  Completion fresh = ask(never(), nullptr);
  CHECK(fresh.is_complete);
  JudgedState judged;
  Completion late = ask(past, &judged);
  CHECK_FALSE(late.is_complete);
  CHECK(judged.found.empty());
  CHECK(late.items.size() == fresh.items.size());
  CHECK(std::all_of(late.items.begin(), late.items.end(), [](const CompletionItem& item) { return item.note.empty(); }));
  CHECK(labels_of(ask(never(), &judged)) == labels_of(fresh));
  Completion known = ask(past, &judged);
  CHECK(known.is_complete);
  CHECK(labels_of(known) == labels_of(fresh));
  // In another state nothing is cached.
  workspace::Document other("matmul.tir", 1, text);
  type_line(other, static_cast<uint32_t>(at), "    sch.unroll(i1)\n    sch.\n");
  CHECK_FALSE(completion(*other.snapshot(), static_cast<uint32_t>(at + 27), {.until = past, .judged = &judged}).is_complete);
}

TEST_CASE("after `T.` the words of programs come first, classes of nodes and words for machines last; each word has its form") {
  auto document = workspace::analyse("t.tir", "@T.prim_func\ndef f(A: T.Buffer((4,), \"float32\")):\n    x = T.\n");
  std::string text = document->snapshot()->text();
  std::vector<CompletionItem> items = completion(*document->snapshot(), static_cast<uint32_t>(text.find("x = T.") + 6)).items;
  auto place = [&](std::string_view label) { return std::find_if(items.begin(), items.end(), [&](const CompletionItem& one) { return one.label == label; }) - items.begin(); };
  for (const char* word : {"Buffer", "alloc_buffer", "grid", "block", "reads", "init", "if_then_else"}) {
    CHECK(place(word) < place("exp"));
    CHECK_FALSE(items[static_cast<size_t>(place(word))].documentation.empty());
  }
  CHECK(place("exp") < place("float32"));
  CHECK(place("float32") < place("float8_e4m3fn"));
  CHECK(place("float8_e4m3fn") < place("BufferLoad"));
  CHECK(place("BufferLoad") < place("ptx_mma"));
  CHECK(items[static_cast<size_t>(place("grid"))].detail == "for i, j in T.grid(m, n, ...)");
}

TEST_CASE("completion offers the names in scope: those of other declarations, none from inside of classes") {
  auto document = workspace::analyse("t.py", "SIZE = 4\n\nclass Config:\n    width = 1\n\ndef other(inner):\n    local = inner\n    return local\n\ndef here(own):\n    mine = own\n    x = \n");
  std::string text = document->snapshot()->text();
  std::set<std::string> labels;
  for (const CompletionItem& item : completion(*document->snapshot(), static_cast<uint32_t>(text.find("x = ") + 4)).items) { labels.insert(item.label); }
  for (const char* there : {"SIZE", "Config", "other", "here", "own", "mine"}) { CHECK(labels.contains(there)); }
  for (const char* away : {"width", "inner", "local"}) { CHECK_FALSE(labels.contains(away)); }
}
