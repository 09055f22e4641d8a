// Features as functions of a snapshot: programs, a cursor (`$0` in a piece of the program), and the expected facts.
#include <algorithm>

#include "codegen/llvm/codegen.h"
#include "cost/loop_facts.h"
#include "lsp/features/counterparts.h"
#include "lsp/features/hints.h"
#include "lsp/features/hover.h"
#include "lsp/features/symbols.h"
#include "lsp/features/tuning.h"
#include "lsp/features/views.h"
#include "lsp/protocol/methods.h"
#include "lsp/worker/routes.h"
#include "tests/support/effort.h"
#include "tests/support/programs.h"
#include "tests/unit/catch.h"

using namespace loopsmith;
using namespace loopsmith::lsp;

namespace {

const std::string matmul =
    tests::product("matmul", 128, 64, 256) +
    "\n\n"
    "@ls.schedule(matmul)\n"
    "def s(sch: tir.Schedule):\n"
    "    c = sch.get_block(\"C\")\n"
    "    i, j, k = sch.get_loops(c)\n"
    "    k0, k1 = sch.split(k, factors=[None, 8])\n"
    "    f = sch.fuse(i, j)\n"
    "    sch.parallel(f)\n";

/// The byte of a text that `$0` marks in a piece of it; if the piece occurs several times, the first one. "for i, $0j" is the `j` after "for i, ".
auto cursor_in(const std::string& text, std::string piece) -> uint32_t {
  INFO(piece);
  size_t mark = piece.find("$0");
  REQUIRE(mark != std::string::npos);
  piece.erase(mark, 2);
  size_t at = text.find(piece);
  REQUIRE(at != std::string::npos);
  return static_cast<uint32_t>(at + mark);
}

/// The title and the facts of a hover; empty: no hover.
auto hover_at(const std::string& text, const std::string& piece) -> std::vector<std::string> {
  auto document = workspace::analyse("file:///t.tir", text);
  auto info = hover(*document->snapshot(), cursor_in(text, piece));
  std::vector<std::string> lines;
  if (!info) { return lines; }
  lines.push_back(info->title);
  for (const Fact& fact : info->facts) { lines.push_back(fact.text); }
  return lines;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("hover in a schedule, beside primitives") {
  std::string text = matmul + "    sch.tune(trials=4)\n    other = sch.copy()\n    print(text.copy)\n";
  CHECK(hover_at(text, "sch.$0tune") == Lines{"`sch.tune(budget=\"2min\", trials=64)`", "a place for a search, which replaces it: tune(budget=\"2min\", trials=64); does nothing by itself"});
  CHECK(hover_at(text, "sch.$0copy").front() == "`sch.copy()`");
  CHECK(hover_at(text, "text.$0copy").empty());
}

TEST_CASE("hover on a loop: extent, kind, flops, bytes, intensity, strides") {
  CHECK(hover_at(matmul, "for i, j, $0k in") == Lines{"loop `k`: serial, extent 256", "entered 8,192 times, 2,097,152 iterations in all",
                                                  "one run: 512 flop on 2.0 KiB, 0.25 flop/byte",
                                                  "`C` read and written, the same in each iteration, 4 B; used again in the next iteration, reuse distance 12 B", "`A` read, contiguous, 1 KiB; used in one iteration only",
                                                  "`B` read, stride 64, 1 KiB; used in one iteration only", "feeds vk (reduction)",
                                                  "carries: `C[i, j]` written at `k`, read at `k + 1`: distance 1",
                                                  "cannot be parallel or vectorized: it feeds `vk` of block `C`, which is not spatial"});
  CHECK(hover_at(matmul, "for i, $0j, k").back() == "can be parallel or vectorized");
  CHECK(hover_at(matmul, "for i, $0j, k")[2] == "one run: 32.77 Kflop on 65.2 KiB, 0.49 flop/byte");
  // On the word `for`: the outermost loop, with the names of the others.
  Lines header = hover_at(matmul, "$0for");
  CHECK(header.front() == "loop `i`: serial, extent 128");
  CHECK(header.back() == "`k`: serial, extent 256");
  // The variable in an expression is the same loop.
  CHECK(hover_at(matmul, "\"SSR\", [i, $0j, k]").front() == "loop `j`: serial, extent 64");
}

TEST_CASE("the touched data is compared with the caches, and the nearest that holds it is named") {
  auto document = workspace::analyse("file:///t.tir", matmul);
  auto fact = [&](const std::string& at, const std::vector<uint64_t>& caches) -> std::string {
    auto info = hover(*document->snapshot(), cursor_in(matmul, at), Machine{.caches = caches});
    if (!info) { return ""; }
    for (const Fact& one : info->facts) {
      if (one.label == "cache") { return one.text; }
    }
    return "";
  };
  CHECK(fact("$0k in T.grid", {}).empty());
  CHECK(fact("$0k in T.grid", {32768, 1048576}) == "the data of one run fits L1 (32 KiB)");
  CHECK(fact("$0j, k in T.grid", {32768, 1048576}) == "the data of one run fits L2 (1 MiB)");
  CHECK(fact("$0matmul(A", {32768, 65536}) == "the data exceeds L2 (64 KiB)");
}

TEST_CASE("loops stand under the roofline of one core, where it is known") {
  auto document = workspace::analyse("file:///t.tir", matmul);
  auto fact = [&](const std::string& at, const Machine& machine) -> std::string {
    auto info = hover(*document->snapshot(), cursor_in(matmul, at), machine);
    if (!info) { return ""; }
    for (const Fact& one : info->facts) {
      if (one.label == "roofline") { return one.text; }
    }
    return "";
  };
  // One run of k: 512 flop on 2,052 bytes. All: 4,194,304 flop on 229,376 bytes.
  Machine machine{.flops = 100e9, .rates = {{4096, 80e9}, {65536, 20e9}}};
  CHECK(fact("$0k in T.grid", machine) == "roofline: at most 20 GFLOP/s, bound by memory; one core reaches 100");
  CHECK(fact("$0i, j, k in T.grid", machine) == "roofline: at most 100 GFLOP/s, bound by arithmetic; one core reaches 100");
  CHECK(fact("$0k in T.grid", {}).empty());
}

TEST_CASE("hover on a block, an iter var, a buffer, a program") {
  CHECK(hover_at(matmul, "with $0T.block") == Lines{"block `C`", "`vi` spatial 128, `vj` spatial 64, `vk` reduction 256",
                                                           "reads `A[vi, vk]`, `B[vk, vj]`", "writes `C[vi, vj]`", "a reduction", "2,097,152 instances",
                                                           "one instance: 2 flop on 12 B, 0.167 flop/byte", "all instances: 4.194 Mflop on 224 KiB, 18.3 flop/byte"});
  CHECK(hover_at(matmul, "A[vi, $0vk]").front() == "iter var `vk` of block `C`: reduction");
  CHECK(hover_at(matmul, "* $0B[") == Lines{"buffer `B`: float32 (256, 64)", "in global memory, 64 KiB", "strides 64, 1 (compact)", "read by `C`, stride 64 along `k`"});
  CHECK(hover_at(matmul, "def $0matmul") == Lines{"program `matmul`", "4.194 Mflop on 224 KiB, 18.3 flop/byte",
                                                        "`C` read and written, 32 KiB", "`A` read, 128 KiB", "`B` read, 64 KiB"});
}

TEST_CASE("hover on a primitive: its signature and its effect here; on a block's name in a schedule") {
  CHECK(hover_at(matmul, "k0, k1 = sch.$0split") == Lines{"`split(loop, factors, preserve_unit_iters=True, disable_predication=False) -> loops`",
                                                     "makes a loop a nest of loops", "here: 2 lines of the program became 3", "`k0` is loop `k_0`, extent 32", "`k1` is loop `k_1`, extent 8"});
  CHECK(hover_at(matmul, "i, j, k = sch.$0get_loops")[2] == "here: it only looks, and changes nothing");
  CHECK(hover_at(matmul, "get_block(\"$0C\"").front() == "block `C`");
}

TEST_CASE("hover on a variable of a schedule: the loop as it is at that line") {
  CHECK(hover_at(matmul, "k0, $0k1 =").front() == "loop `k_1`: serial, extent 8");
  CHECK(hover_at(matmul, "k0, $0k1 =").back() == "made in line 15: `k0, k1 = sch.split(k, factors=[None, 8])`");
  CHECK(hover_at(matmul, "$0f =").front() == "loop `i_j_fused`: serial, extent 8,192");
  CHECK(hover_at(matmul, "sch.parallel($0f)").front() == "loop `i_j_fused`: parallel, extent 8,192");
  CHECK(hover_at(matmul, "sch.fuse($0i, j").front() == "loop `i`: no longer there after this line");
}

TEST_CASE("symbolic extents: hovers leave out unknown facts and show the others") {
  std::string text =
      "@T.prim_func\n"
      "def f(a: T.handle, n: T.int32):\n"
      "    A = T.match_buffer(a, (n, 16), \"float32\")\n"
      "    for i in T.parallel(n):\n"
      "        for j in T.vectorized(16):\n"
      "            A[i, j] = A[i, j] * T.float32(2)\n";
  Lines outer = hover_at(text, "for $0i in");
  CHECK(outer == Lines{"loop `i`: parallel, extent `n`", "`A` read and written, stride 16; used in one iteration only", "carries no dependence"});
  Lines inner = hover_at(text, "for $0j in");
  CHECK(inner == Lines{"loop `j`: vectorized, extent 16", "one run: 16 flop on 64 B, 0.25 flop/byte", "`A` read and written, contiguous, 64 B; used in one iteration only", "carries no dependence"});
}

TEST_CASE("hover is empty on blanks, comments and names without a meaning, and survives every place of broken texts") {
  CHECK(hover_at("# a comment\n\nx = 1\n", "# a $0comment").empty());
  CHECK(hover_at("x = 1\n\n\ny = 2\n", "$0\n\n").empty());
  std::string broken = matmul;
  broken.replace(broken.find("with T.init"), 11, "with T.(");
  broken.insert(broken.find("sch.split"), "(((");
  auto document = workspace::analyse("file:///t.tir", broken);
  for (uint32_t offset = 0; offset <= broken.size(); offset += static_cast<uint32_t>(tests::stride(17))) {
    (void)hover(*document->snapshot(), offset);
    (void)selection_spans(*document->snapshot(), offset);
  }
}

TEST_CASE("every range of the outline is inside its parent, and every selection grows") {
  auto document = workspace::analyse("file:///t.tir", matmul);
  std::function<void(const Symbol&, Span)> check = [&](const Symbol& symbol, Span around) {
    CHECK(symbol.span.begin >= around.begin);
    CHECK(symbol.span.end <= around.end);
    CHECK(symbol.name_span.begin >= symbol.span.begin);
    CHECK(symbol.name_span.end <= symbol.span.end);
    for (const Symbol& child : symbol.children) { check(child, symbol.span); }
  };
  auto symbols = document_symbols(*document->snapshot());
  REQUIRE(symbols.size() == 2);
  CHECK(symbols[0].children.front().name == "A");
  CHECK(symbols[0].children.back().name == "i, j, k");
  CHECK(symbols[1].kind == SymbolKind::Schedule);
  for (const Symbol& symbol : symbols) { check(symbol, {0, static_cast<uint32_t>(matmul.size())}); }
  for (uint32_t offset = 0; offset <= matmul.size(); ++offset) {
    Span before{offset, offset};
    for (Span span : selection_spans(*document->snapshot(), offset)) {
      CHECK((span.begin <= before.begin && span.end >= before.end));
      before = span;
    }
  }
}

TEST_CASE("the outline of a schedule has its steps, and how each went") {
  auto states = [](const std::string& body) {
    auto document = workspace::analyse("file:///t.tir", std::string("@T.prim_func\ndef f(A: T.Buffer((16,), \"float32\")):\n    for i in range(16):\n        with T.block(\"A\"):\n"
                                                                    "            A[i] = T.float32(1)\n\n@ls.schedule(f)\ndef s(sch: tir.Schedule):\n") + body);
    std::vector<std::string> out;
    std::vector<Symbol> symbols = document_symbols(*document->snapshot());
    for (const Symbol& step : symbols.at(1).children) { out.push_back(step.name + ": " + step.detail); }
    return out;
  };
  CHECK(states("    i, = sch.get_loops(\"A\")\n    sch.split(i, factors=[3, 5])\n    sch.parallel(i)\n") ==
        std::vector<std::string>{"1  i, = sch.get_loops(\"A\"): ok", "2  sch.split(i, factors=[3, 5]): failed", "3  sch.parallel(i): not run"});
  CHECK(states("    for x in [1]:\n        sch.parallel(\n            sch.get_loops(\"A\")[0])\n").size() == 1);
  CHECK(states("    elsewhere(sch)\n    sch.parallel(\"A\")\n").size() == 2);
}

TEST_CASE("a found schedule goes behind its program, with the line ends of the file") {
  auto document = workspace::analyse("file:///t.tir", "x = 1\r\n@T.prim_func\r\ndef f():\r\n    pass\r\n\r\n\r\ny = 2\r\n");
  auto insertion = insertion_after(*document->snapshot(), "f", "\ndef s(sch):\n    pass\n\n");
  REQUIRE(insertion.has_value());
  std::string text = document->snapshot()->text();
  text.insert(insertion->offset, insertion->text);
  CHECK(text == "x = 1\r\n@T.prim_func\r\ndef f():\r\n    pass\r\n\r\n\r\ndef s(sch):\r\n    pass\r\n\r\n\r\ny = 2\r\n");
  CHECK_FALSE(insertion_after(*document->snapshot(), "g", "def s(sch): pass").has_value());
  CHECK(tunables_in(*document->snapshot(), {0, 0}).empty());
  CHECK(tunables_in(*document->snapshot(), {25, 25}).size() == 1);
}

TEST_CASE("after edits the analysis equals a fresh one of the final text") {
  // Type and delete each key of a schedule, and compare the findings.
  auto shown = [](const workspace::Snapshot& snapshot) {
    std::string all;
    for (const workspace::Finding& finding : snapshot.findings()) {
      all += std::to_string(finding.span.begin) + "-" + std::to_string(finding.span.end) + " " + finding.message + "\n";
    }
    return all;
  };
  workspace::Document document("file:///t.tir", 1, matmul);
  document.check();
  CHECK(document.replay({}));
  int64_t version = 1;
  const std::vector<std::pair<std::string, std::string>> edits = {
      {"factors=[None, 8]", "factors=[None, 7]"}, {"sch.fuse(i, j)", "sch.fuse(i, k0)"}, {"sch.fuse(i, k0)", "sch.fuse(i, j)"},
      {"get_block(\"C\")", "get_block(\"D\")"}, {"get_block(\"D\")", "get_block(\"C\")"}, {"A[vi, vk]", "A[vk, vi]"},
      {"A[vk, vi]", "A[vi, vx]"}, {"A[vi, vx]", "A[vi, vk]"}, {"# nothing", "# nothing"}, {"def s(", "def t("}, {"sch.parallel(f)", "sch.parallel(k1)"}};
  for (const auto& [from, to] : edits) {
    INFO(from << " becomes " << to);
    size_t at = document.snapshot()->text().find(from);
    if (at == std::string::npos) { continue; }
    document.edit(++version, {static_cast<uint32_t>(at), static_cast<uint32_t>(at + from.size())}, to);
    document.check();
    CHECK(document.replay({}));
    auto fresh = workspace::analyse("file:///t.tir", document.snapshot()->text());
    CHECK(shown(*document.snapshot()) == shown(*fresh->snapshot()));
  }
}

TEST_CASE("a view's lines come from the statements that made them, at every stage") {
  auto document = workspace::analyse("file:///t.tir", matmul);
  const workspace::Snapshot& snapshot = *document->snapshot();
  auto update = static_cast<uint32_t>(matmul.find("C[vi, vj] = C[vi"));
  auto end = static_cast<uint32_t>(matmul.find("sch.parallel"));
  for (Stage stage : {Stage::State, Stage::Lowered, Stage::LlvmIR, Stage::Assembly}) {
    if (stage > Stage::Lowered && codegen::llvm_version().empty()) { continue; }
    INFO(stage_name(stage));
    auto view = view_at(snapshot, end, stage);
    REQUIRE(view);
    std::vector<std::string> lines;
    for (size_t at = 0; at < view->text.size();) {
      size_t stop = std::min(view->text.find('\n', at), view->text.size());
      lines.push_back(view->text.substr(at, stop - at));
      at = stop + 1;
    }
    bool has_update = false;
    uint32_t last = 0;
    for (const auto& [line, span] : view->sources) {
      REQUIRE(line < lines.size());
      CHECK(line >= last);
      last = line;
      REQUIRE(span.end <= matmul.size());
      if (span.begin < update || span.end > update + 45) { continue; }
      // The multiply instructions belong to the statement with the multiplication.
      bool multiplies = stage == Stage::Assembly ? lines[line].find("mul") != std::string::npos || lines[line].find("fma") != std::string::npos || lines[line].find("fmadd") != std::string::npos
                        : stage == Stage::LlvmIR ? lines[line].find("fmul") != std::string::npos || lines[line].find("fma") != std::string::npos
                                                 : lines[line].find('*') != std::string::npos;
      has_update = has_update || multiplies;
    }
    CHECK(has_update);
    CHECK(view->text.find("DILocation") == std::string::npos);
    CHECK(view->text.find(".loc") == std::string::npos);
    CHECK(view->text.find("place:") == std::string::npos);
    // Its address gives the same view.
    auto again = view_of(snapshot, view->address.substr(view->address.find('#') + 1));
    REQUIRE(again);
    CHECK(again->text == view->text);
  }
  CHECK(view_at(snapshot, 5, Stage::Lowered)->title == "matmul as written, lowered");
  CHECK(view_of(snapshot, "matmul:lowered")->text == view_at(snapshot, 5, Stage::Lowered)->text);
  CHECK_FALSE(view_of(snapshot, "matmul:nonsense"));
  // A cursor before a statement is on it; on a blank line or after the statement above, it is after that statement.
  auto line = static_cast<uint32_t>(matmul.find("    f = sch.fuse"));
  CHECK(view_at(snapshot, line)->address == view_at(snapshot, line + 6)->address);
  CHECK(view_at(snapshot, line - 1)->address != view_at(snapshot, line)->address);
  CHECK_FALSE(view_of(snapshot, "matmul"));
}

TEST_CASE("a variable of a schedule is a loop of the program at that line; a loop is the instructions it became") {
  auto document = workspace::analyse("file:///t.tir", matmul);
  const workspace::Snapshot& snapshot = *document->snapshot();
  auto word = [&](const std::string& piece) {
    auto found = type_definition(snapshot, cursor_in(matmul, piece));
    return found ? found->address.substr(found->address.find('#')) + " " + found->text.substr(found->spans[0].begin, found->spans[0].end - found->spans[0].begin) : std::string();
  };
  CHECK(word("k0, $0k1") == "#s@3 k_1");
  CHECK(word("$0f = sch") == "#s@4 i_j_fused");
  CHECK(word("sch.get_block(\"$0C\"") == "#s@1 C");
  // The loop does not exist after that line.
  CHECK(word("sch.fuse($0i,").empty());
  CHECK(word("def matmul($0A:").empty());
  if (codegen::llvm_version().empty()) { return; }
  for (const char* at : {"$0for i, j", "$0C[vi, vj] = C[", "$0k0, k1"}) {
    INFO(at);
    auto code = implementation(snapshot, cursor_in(matmul, at));
    REQUIRE(code);
    std::string all;
    for (Span span : code->spans) { all += code->text.substr(span.begin, span.end - span.begin) + "\n"; }
    CHECK((all.find("mul") != std::string::npos || all.find("fma") != std::string::npos || all.find("fmadd") != std::string::npos));
  }
  CHECK_FALSE(implementation(snapshot, cursor_in(matmul, "$0def s")));
}

TEST_CASE("parts of a hint lead to the loops that they name, and an open factor can be filled in") {
  auto document = workspace::analyse("file:///t.tir", matmul);
  std::vector<Hint> hints = inlay_hints(*document->snapshot(), {0, static_cast<uint32_t>(matmul.size())});
  auto split = std::find_if(hints.begin(), hints.end(), [](const Hint& hint) { return hint.text.starts_with("=> k0:32 k1:8"); });
  REQUIRE(split != hints.end());
  REQUIRE(split->links.size() == 2);
  CHECK(split->text.substr(split->links[1].begin, split->links[1].end - split->links[1].begin) == "k1:8");
  CHECK(matmul.substr(split->links[1].target.begin, 3) == "for");
  REQUIRE(split->fill);
  CHECK(split->fill->text == "32");
  std::string filled = matmul;
  filled.replace(split->fill->span.begin, split->fill->span.end - split->fill->span.begin, split->fill->text);
  CHECK(filled.find("factors=[32, 8]") != std::string::npos);
  auto again = workspace::analyse("file:///t.tir", filled);
  CHECK(view_of(*again->snapshot(), "s")->text == view_of(*document->snapshot(), "s")->text);
  for (const Hint& hint : hints) { CHECK((hint.fill.has_value() == (&hint == &*split))); }
}

TEST_CASE("every method that the table gives to the worker has a route") {
  for (const MethodRow& row : method_rows) {
    if (row.owner == MethodOwner::Worker && row.kind == MethodKind::Request) {
      INFO(row.name);
      CHECK(find_route(row.method) != nullptr);
    }
  }
}

// From notes about MetaSchedule: the trace of a rule for a product of 1024 by 1024.
TEST_CASE("a quoted trace runs") {
  std::string text = matmul.substr(0, matmul.find("\n\n@ls"));
  for (const char* size : {"128", "256", "64"}) {
    for (size_t at = text.find(size); at != std::string::npos; at = text.find(size, at + 4)) { text.replace(at, std::string(size).size(), "1024"); }
  }
  text +=
      "\n\n@ls.schedule(matmul)\n"
      "def rule(new_sch: tir.Schedule):\n"
      "    block = new_sch.get_block(\"C\")\n"
      "    i, j, k = new_sch.get_loops(block=block)\n"
      "    i_0, i_1, i_2, i_3 = new_sch.split(loop=i, factors=[2, 4, 64, 2])\n"
      "    j_0, j_1, j_2, j_3 = new_sch.split(loop=j, factors=[4, 64, 2, 2])\n"
      "    k_0, k_1 = new_sch.split(loop=k, factors=[32, 32])\n"
      "    new_sch.reorder(i_0, j_0, i_1, j_1, k_0, i_2, j_2, k_1, i_3, j_3)\n";
  auto document = workspace::analyse("file:///t.tir", text);
  CHECK(document->snapshot()->findings().empty());
  REQUIRE(document->snapshot()->schedules().size() == 1);
  const auto& run = document->snapshot()->schedules()[0].run;
  REQUIRE(run);
  CHECK(run->is_complete);
  CHECK(run->steps.size() == 6);
}

TEST_CASE("hover on words: dtypes, intrinsics, the language's own, constants and helpers of the file") {
  CHECK(hover_at(matmul, "T.$0float32") == Lines{"dtype `float32`", "floating point, 32 bits", "an element of a buffer takes 4 B"});
  CHECK(hover_at(matmul, "(128, 256), \"$0float32") == Lines{"dtype `float32`", "floating point, 32 bits", "an element of a buffer takes 4 B"});
  CHECK(hover_at(matmul, "T.axis.$0remap") == Lines{"`vi, vk = T.axis.remap(\"SR\", [i, k])`", "iter vars with the values of loops: S spatial, R reduction, one letter each"});
  CHECK(hover_at(matmul, "with T.$0init").front() == "`with T.init()`");
  std::string text = "SIZE = 8\n\ndef halves(sch, loop):\n    return sch.split(loop, factors=[None, 2])\n\n" + matmul +
                     "    halves(sch, k0)\n    x = SIZE\n\n@T.prim_func\ndef e(A: T.Buffer((4,), \"int8\")):\n    for i in range(4):\n        A[i] = T.cast(T.fma(T.exp(A[i]), 1, 2), \"int8\")  # T.exp\n";
  CHECK(hover_at(text, "$0halves(sch, k0)") == Lines{"function `halves`", "in line 3: `def halves(sch, loop):`"});
  CHECK(hover_at(text, "x = $0SIZE") == Lines{"constant `SIZE`", "in line 1: `SIZE = 8`"});
  CHECK(hover_at(text, "T.$0exp") == Lines{"intrinsic `T.exp(x)`", "type: that of its first operand", "takes 1 operand"});
  CHECK(hover_at(text, "T.$0fma") == Lines{"intrinsic `T.fma(x, y, z)`", "type: that of its first operand", "takes 3 operands"});
  CHECK(hover_at(text, "(4,), \"$0int8") == Lines{"dtype `int8`", "a signed integer, 8 bits", "from -128 to 127", "an element of a buffer takes 1 B"});
  CHECK(hover_at(text, "# T.$0exp").empty());
}
