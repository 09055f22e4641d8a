// Completion and signature help at one place of a text: `$0` is the cursor; tests check the items, their order, and the reasons.
#include "lsp/features/completion.h"

#include <algorithm>
#include <thread>

#include "lsp/features/completion/schedule_items.h"
#include "lsp/features/hover.h"
#include "tests/support/effort.h"
#include "tests/unit/catch.h"

using namespace loopsmith;
using namespace loopsmith::lsp;

namespace {

const std::string program =
    "@T.prim_func\n"
    "def mm(A: T.Buffer((128, 64), \"float32\"), B: T.Buffer((64, 32), \"float32\"), C: T.Buffer((128, 32), \"float32\"), D: T.Buffer((128, 32), \"float32\")):\n"
    "    for i, j, k in T.grid(128, 32, 64):\n"
    "        with T.block(\"C\"):\n"
    "            vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n"
    "            with T.init():\n"
    "                C[vi, vj] = T.float32(0)\n"
    "            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]\n"
    "    for di, dj in T.grid(128, 32):\n"
    "        with T.block(\"D\"):\n"
    "            vi, vj = T.axis.remap(\"SS\", [di, dj])\n"
    "            D[vi, vj] = C[vi, vj] * T.float32(2)\n"
    "\n\n"
    "@ls.schedule(mm)\n"
    "def s(sch: tir.Schedule):\n"
    "    c = sch.get_block(\"C\")\n"
    "    i, j, k = sch.get_loops(c)\n"
    "    d = sch.get_block(\"D\")\n"
    "    di, dj = sch.get_loops(d)\n";

struct Typed {
  std::unique_ptr<workspace::Document> document;
  uint32_t at = 0;
};

/// Analyses lines after the program's schedule, with the cursor in them.
auto type(const std::string& lines) -> Typed {
  std::string text = program + lines;
  size_t at = text.find("$0");
  REQUIRE(at != std::string::npos);
  text.erase(at, 2);
  return {workspace::analyse("file:///t.tir", text), static_cast<uint32_t>(at)};
}

class Offered {
 public:
  explicit Offered(const std::string& lines) {
    Typed typed = type(lines);
    items_ = completion(*typed.document->snapshot(), typed.at).items;
  }
  [[nodiscard]] auto find(std::string_view label) const -> const CompletionItem* {
    auto found = std::find_if(items_.begin(), items_.end(), [&](const CompletionItem& item) { return item.label == label; });
    return found == items_.end() ? nullptr : &*found;
  }
  [[nodiscard]] auto place(std::string_view label) const -> size_t { return static_cast<size_t>(find(label) - items_.data()); }
  /// The labels of the first items.
  [[nodiscard]] auto first(size_t count) const -> std::vector<std::string> {
    std::vector<std::string> out;
    for (size_t i = 0; i < std::min(count, items_.size()); ++i) { out.push_back(items_[i].label); }
    return out;
  }
  [[nodiscard]] auto is_refused(std::string_view label) const -> bool { return find(label) != nullptr && find(label)->note == "not here"; }
  /// True when the item is known to be legal. Such items come before names without a known legality.
  [[nodiscard]] auto is_legal(std::string_view label) const -> bool { return find(label) != nullptr && find(label)->rank <= 1 && find(label)->note.empty(); }

 private:
  std::vector<CompletionItem> items_;
};

using Labels = std::vector<std::string>;

/// The note of signature help for the argument at the cursor.
auto note_at(const std::string& lines) -> std::string {
  Typed typed = type(lines);
  auto signature = signature_help(*typed.document->snapshot(), typed.at);
  REQUIRE(signature);
  REQUIRE(signature->active);
  return signature->parameter_notes[*signature->active];
}

auto has(const std::string& text, std::string_view part) -> bool { return text.find(part) != std::string::npos; }

auto hover_title(const std::string& lines) -> std::string {
  Typed typed = type(lines);
  auto info = hover(*typed.document->snapshot(), typed.at);
  return info ? info->title : std::string();
}

}  // namespace

TEST_CASE("inside an if the state is that behind the statements before the cursor") {
  Offered offered("    if True:\n        i0, i1 = sch.split(i, factors=[None, 4])\n        sch.parallel($0");
  CHECK(offered.is_legal("i0"));
  CHECK(offered.is_legal("i1"));
  REQUIRE(offered.find("i") != nullptr);
  CHECK(offered.find("i")->detail == "its loop or block is no longer there");
  CHECK(offered.place("i") > offered.place("i1"));
  CHECK(Offered("    if True:\n        i0, i1 = sch.split(i, factors=[None, 4])\n        sch.split(i1, factors=[$0").first(4) == Labels{"None", "1", "2", "4"});
  // After the `if`, all of its statements have run.
  CHECK(Offered("    if True:\n        i0, i1 = sch.split(i, factors=[None, 4])\n    sch.parallel($0").is_legal("i0"));
  // An indented blank line belongs to the statement.
  CHECK(has(Offered("    if True:\n        i0, i1 = sch.split(i, factors=[None, 4])\n        sch.$0").find("vectorize")->detail, "sch.vectorize("));
}

TEST_CASE("inside a for the state is that of the first pass") {
  const std::string fuses = "    for x in [i]:\n        f = sch.fuse(x, j)\n";
  Offered offered(fuses + "        sch.parallel($0");
  CHECK(offered.is_legal("f"));
  CHECK_FALSE(offered.is_legal("j"));
  CHECK(offered.find("j")->detail == "its loop or block is no longer there");
  CHECK(Offered(fuses + "        sch.split(f, factors=[$0").find("4096") != nullptr);
  // The state is that of the first iteration, so the second loop has not been split yet.
  Offered first("    for x in [i, j]:\n        sch.parallel($0\n        x0, x1 = sch.split(x, factors=[None, 4])\n");
  CHECK(first.is_legal("x"));
  CHECK(first.is_legal("i"));
  CHECK(first.is_legal("j"));
  // The first iteration skips this statement, so the state is that of a later iteration.
  Offered later("    for n in range(3):\n        if n == 1:\n            sch.parallel($0\n        i, x = sch.split(i, factors=[None, 2])\n");
  CHECK(later.is_legal("x"));
  Offered else_branch("    if False:\n        pass\n    else:\n        i0, i1 = sch.split(i, factors=[None, 4])\n        sch.parallel($0");
  CHECK(else_branch.is_legal("i0"));
  Offered repeated("    n = 0\n    while n < 2:\n        i, x = sch.split(i, factors=[None, 2])\n        n += 1\n        sch.parallel($0");
  CHECK(repeated.is_legal("x"));
}

TEST_CASE("no primitive is marked as legal at a place that the script does not reach") {
  for (const char* lines : {"    if False:\n        sch.parallel($0", "    for x in []:\n        sch.parallel($0", "    if unknown():\n        sch.parallel($0",
                            "    if True:\n        sch.vectorize(k)\n        sch.parallel($0", "    for x in [i]:\n        break\n        sch.parallel($0"}) {
    INFO(lines);
    Offered offered(lines);
    for (const char* name : {"i", "j", "k", "di", "dj"}) { CHECK_FALSE(offered.is_legal(name)); }
  }
}

TEST_CASE("inside a statement the facts about its state are kept while the text before it stays") {
  JudgedState judged;
  Typed typed = type("    if True:\n        i0, i1 = sch.split(i, factors=[None, 4])\n        sch.parallel($0");
  auto ask = [&](Deadline until) { return completion(*typed.document->snapshot(), typed.at, {.until = until, .judged = &judged}); };
  Completion late = ask(Clock::now() - std::chrono::seconds(1));
  CHECK_FALSE(late.is_complete);
  CHECK(judged.inside == nullptr);
  CHECK(ask(never()).is_complete);
  auto inside = judged.inside;
  REQUIRE(inside != nullptr);
  CHECK(ask(Clock::now() - std::chrono::seconds(1)).is_complete);
  CHECK(judged.inside == inside);
}

TEST_CASE("hover on values made inside a statement") {
  CHECK(has(hover_title("    if True:\n        i$00, i1 = sch.split(i, factors=[None, 4])\n        sch.parallel(i0)\n"), "loop `i_0`"));
  // Also if the statement fails as a whole.
  CHECK(has(hover_title("    if True:\n        i0, i1 = sch.split(i, factors=[None, 4])\n        sch.parallel(i$01)\n        sch.vectorize(k)\n"), "loop `i_1`"));
  CHECK(has(hover_title("    for x in [i, j]:\n        x0, x1 = sch.split($0x, factors=[None, 4])\n"), "no longer there after this line"));
  Typed typed = type("    if True:\n        i0, i1 = sch.split(i, factors=[None, 4])\n        sch.parallel(i$00)\n");
  auto info = hover(*typed.document->snapshot(), typed.at);
  REQUIRE(info);
  CHECK(std::any_of(info->facts.begin(), info->facts.end(), [](const Fact& fact) { return fact.text == "made in line 22: `i0, i1 = sch.split(i, factors=[None, 4])`"; }));
}

TEST_CASE("behind `tir.` there is the schedule") {
  for (const char* lines : {"\n\ndef f(sch: tir.$0", "    s = tir.$0", "    s = tvm.tir.$0", "    s = tir.Sch$0"}) {
    INFO(lines);
    CHECK(Offered(lines).find("Schedule") != nullptr);
  }
}

TEST_CASE("factors are offered as lists where none is begun") {
  for (const char* lines : {"    sch.split(i, $0", "    sch.split(i, factors=$0"}) {
    Offered offered(lines);
    CHECK(offered.find("4") == nullptr);
    CHECK(offered.is_legal("[None, 4]"));
    CHECK(offered.find("[None, 4]")->detail == "`None` is 32");
    // Factors that do not divide the extent come later.
    REQUIRE(offered.find("[None, 3]") != nullptr);
    CHECK(offered.place("[None, 4]") < offered.place("[None, 3]"));
  }
  CHECK(Offered("    sch.split(i, factors=[None, $0").find("4") != nullptr);
  CHECK(Offered("    sch.sample_perfect_tile(i, n=2, decision=$0").first(2) == Labels{"[32, 4]", "[16, 8]"});
  CHECK(Offered("    sch.sample_perfect_tile(i, n=2, decision=[32, $0").first(3) == Labels{"1", "2", "4"});
}

TEST_CASE("completion in strings offers names that fit") {
  CHECK(Offered("    sch.unsafe_set_dtype(c, 0, \"$0").find("float16") != nullptr);
  CHECK(Offered("    sch.work_on(\"$0").first(1) == Labels{"main"});
  CHECK(Offered("    sch.get_block(\"C\", func_name=\"$0").first(1) == Labels{"main"});
  CHECK(Offered("    sch.cache_read(c, \"$0").first(2) == Labels{"A", "B"});
  CHECK(Offered("    sch.cache_write(c, \"$0").first(2) == Labels{"C"});
  CHECK(Offered("    sch.reindex(c, (\"$0").first(2) == Labels{"read", "write"});
  CHECK(Offered("    sch.transform_layout(c, (\"$0").first(2) == Labels{"read", "write"});
  CHECK(Offered("    sch.reindex(c, \"$0").find("A") != nullptr);
}

TEST_CASE("other arguments than loops and blocks are offered as they are written, legal ones first") {
  Offered bind("    sch.bind(i, $0");
  CHECK(bind.is_legal("\"threadIdx.x\""));
  CHECK(Offered("    sch.bind(k, $0").is_refused("\"blockIdx.x\""));
  Offered read("    sch.cache_read(d, $0");
  CHECK(read.is_legal("0"));
  CHECK(read.find("0")->detail == "buffer `C`");
  CHECK(read.find("\"C\"") != nullptr);
  CHECK(Offered("    sch.cache_read(d, 0, $0").is_legal("\"shared\""));
  CHECK(Offered("    sch.cache_read(d, \"C\", $0").is_legal("\"shared\""));
  CHECK(Offered("    sch.set_scope(c, $0").find("0") != nullptr);
  CHECK(Offered("    sch.set_scope(c, $0").is_refused("0"));
  CHECK(Offered("    sch.storage_align(c, 0, $0").find("1") != nullptr);
  CHECK(Offered("    sch.rfactor(k, $0").is_legal("0"));
  CHECK(Offered("    sch.pad_einsum(d, [$0").first(4) == Labels{"1", "2", "4", "8"});
  CHECK(Offered("    sch.pad_einsum(d, [1, $0").find("4")->detail == "`vj`: 32 becomes 32");
  CHECK(Offered("    sch.reorder_block_iter_var(c, [$0").first(3) == Labels{"0", "1", "2"});
  CHECK(Offered("    sch.reorder_block_iter_var(c, [1, $0").first(2) == Labels{"0", "2"});
  CHECK(Offered("    sch.reorder_block_iter_var(c, $0").find("[1, 0, 2]")->detail == "`vj`, `vi`, `vk`");
  CHECK(Offered("    sch.get_block($0").first(2) == Labels{"\"C\"", "\"D\""});
}

TEST_CASE("signature help lists the legal arguments in words") {
  CHECK(has(note_at("    sch.bind(i, $0)\n"), "now: `\"blockIdx.x\"`"));
  CHECK(has(note_at("    sch.bind(k, $0)\n"), "not `\"blockIdx.x\"`"));
  CHECK(has(note_at("    sch.cache_read(d, $0)\n"), "now: `0` (buffer `C`)"));
  CHECK(has(note_at("    sch.cache_read(d, 0, $0)\n"), "now: `\"global\"`, `\"shared\"`"));
  CHECK(note_at("    sch.get_block($0)\n") == "now: `\"C\"`, `\"D\"`");
  CHECK(has(note_at("    sch.annotate(i, $0)\n"), "any; known are: `\""));
  CHECK(has(note_at("    sch.rfactor(k, $0)\n"), "now: `0`"));
  CHECK(has(note_at("    sch.tensorize(i, $0)\n"), "not `\""));
  CHECK(has(note_at("    sch.transform_layout(c, $0)\n"), "`(\"read\", 0)`"));
  CHECK(has(note_at("    sch.reindex(c, $0)\n"), "`(\"read\", 0)` (buffer `"));
  CHECK(note_at("    sch.sample_perfect_tile(i, $0)\n") == "how many factors: any number from 1; their product is the extent of the loop, 128");
}

TEST_CASE("each argument that is refused has its own reason") {
  std::string note = note_at("    sch.reorder(i, $0)\n");
  INFO(note);
  CHECK(has(note, "now: `j`"));
  CHECK(has(note, "not `i`: cannot apply `reorder`: `i` is named twice"));
  CHECK(has(note, "not `di`"));
  CHECK_FALSE(has(note, "not `i`, `di`"));
}

TEST_CASE("a completion that is cancelled at any moment is remembered for nothing that it did not find") {
  auto text_of = [](const Completion& found) {
    std::string out;
    for (const CompletionItem& item : found.items) { out += item.label + " | " + item.detail + " | " + item.note + " | " + item.call + "\n"; }
    return out;
  };
  // With few iterations, so that all calls can be counted.
  auto small = [](const std::string& lines) {
    std::string text = program + lines;
    for (auto [from, to] : {std::pair<std::string_view, std::string_view>("128", "16"), {"64", "8"}}) {
      for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) { text.replace(at, from.size(), to); }
    }
    size_t at = text.find("$0");
    text.erase(at, 2);
    return Typed{workspace::analyse("file:///t.tir", text), static_cast<uint32_t>(at)};
  };
  for (const char* lines : {"    sch.$0", "    sch.parallel($0", "    sch.reverse_compute_at(d, $0", "    if True:\n        i0, i1 = sch.split(i, factors=[None, 4])\n        sch.vec$0"}) {
    INFO(lines);
    Typed typed = small(lines);
    const auto snapshot = typed.document->snapshot();
    JudgedState whole;
    const std::string expected = text_of(completion(*snapshot, typed.at, {.judged = &whole}));
    for (int microseconds = 0; microseconds < 12000; microseconds += tests::is_sanitized ? 4000 : 300) {
      CAPTURE(microseconds);
      // Completion starts with an empty cache; after a cancelled request it uses the cached answers.
      Typed fresh = small(lines);
      JudgedState judged;
      CancelSource source;
      std::thread other([&] {
        std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
        source.cancel();
      });
      (void)completion(*fresh.document->snapshot(), fresh.at, {.cancel = source.token(), .judged = &judged});
      other.join();
      CHECK(text_of(completion(*fresh.document->snapshot(), fresh.at, {.judged = &judged})) == expected);
    }
  }
}

TEST_CASE("the core of completion needs no file: a prompt has the state of its schedule and names, of any letters") {
  auto document = workspace::analyse("file:///t.tir", program);
  workspace::SnapshotPtr snapshot = document->snapshot();
  REQUIRE(snapshot->schedules().size() == 1);
  ScheduleSpot spot;
  spot.schedule_name = "sch";
  spot.now = snapshot->schedules()[0].run->steps.back().after;
  const schedule::FuncState* func = spot.now->state().func(spot.now->func_working_on());
  REQUIRE(func != nullptr);
  for (const schedule::Place& place : func->places()) {
    if (place.is_loop() && place.name() == "i") { spot.live.push_back({"größe", &place}); }
  }
  REQUIRE(spot.live.size() == 1);
  auto typed = [&](std::string_view line) {
    spot.text = cursor_text(line, static_cast<uint32_t>(line.size()));
    std::vector<std::string> labels;
    for (const CompletionItem& item : sorted_items(schedule_items(spot))) { labels.push_back(item.label); }
    return labels;
  };
  CHECK(typed("sch.parall") == std::vector<std::string>{"parallel"});
  CHECK(typed("sch.parallel(grö") == std::vector<std::string>{"größe"});
  CHECK(typed("sch.get_block(\"") == std::vector<std::string>{"C", "D"});
  CHECK(typed("x.parall").empty());
}
