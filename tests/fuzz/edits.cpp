// An edited document equals a new document with the same text, in long programs, which are split into parts, and in files. After
// each edit, programs with the place of every statement and findings with theirs are compared with those of a new
// document and, if the syntax has no errors, with those of a document that is not split into parts.
// The bytes are the text; the edits depend on its hash.
#include <fmt/format.h>

#include <random>
#include <string>

#include "ir/equal.h"
#include "ir/printer.h"
#include "ir/visitor.h"
#include "support/hash.h"
#include "syntax/lines.h"
#include "tests/fuzz/fuzz.h"
#include "workspace/snapshot.h"

namespace {

using namespace loopsmith;

constexpr size_t edits = 6;

auto place(const workspace::Snapshot& snapshot, Origin origin) -> std::string {
  if (!origin.is_known()) { return "-"; }
  auto span = snapshot.resolve(origin);
  return span ? fmt::format("{}-{}", span->begin, span->end) : "lost";
}

/// The printed programs, and the origins of all their nodes.
auto programs_of(const workspace::Snapshot& snapshot, bool with_places) -> std::string {
  std::string out;
  for (const workspace::Program& program : snapshot.programs()) {
    out += fmt::format("{} {}\n", program.name.view(), program.module ? "whole" : "in part");
    const IRModule& module = program.module ? program.module : program.partial;
    if (!module) { continue; }
    out += print_script(module);
    for (const auto& [name, function] : module->functions) {
      if (!with_places) { continue; }
      out += fmt::format("{} {}\n", name.view(), place(snapshot, function->origin));
      for (const Var& param : function->params) { out += place(snapshot, param->origin) + " "; }
      for (const auto& [param, buffer] : function->buffer_map) { out += place(snapshot, buffer->origin) + " "; }
      post_order(function->body, [&](const Stmt& stmt) { out += place(snapshot, stmt->origin) + ","; }, [&](const Expr& expr) {
        // A variable has the place of its definition.
        out += place(snapshot, expr->origin) + " ";
      });
      out += "\n";
    }
  }
  return out;
}

/// The effect of every statement of every schedule.
auto schedules_of(const workspace::Snapshot& snapshot) -> std::string {
  std::string out;
  for (const script::FileSchedule& schedule : snapshot.schedules()) {
    out += fmt::format("{} for {} {}\n", schedule.name.view(), schedule.program_name.view(), place(snapshot, schedule.where));
    if (schedule.run == nullptr) { continue; }
    for (const script::Step& step : schedule.run->steps) {
      out += fmt::format("  {} {}", place(snapshot, step.where), static_cast<int>(step.state));
      for (const auto& named : step.named) { out += fmt::format(" {}", named.name.view()); }
      out += "\n" + (step.after != nullptr && step.state == script::StepState::Done ? print_script(step.after->module()) : std::string());
    }
  }
  return out;
}

auto findings_of(const workspace::Snapshot& snapshot) -> std::string {
  std::string out;
  for (const workspace::Finding& finding : snapshot.findings()) {
    out += fmt::format("{}-{} {}\n", finding.span.begin, finding.span.end, finding.message);
    for (const auto& note : finding.notes) { out += fmt::format("  note {}-{} {}\n", note.span.begin, note.span.end, note.message); }
    for (const auto& fix : finding.fixes) { out += fmt::format("  fix {}-{} {}\n", fix.span.begin, fix.span.end, fix.replacement); }
    for (const auto& remedy : finding.remedies) { out += "  " + remedy + "\n"; }
  }
  return out;
}

void compare(const std::string& got, const std::string& wanted, const std::string& what, const std::string& text) {
  if (got == wanted) { return; }
  size_t at = 0;
  while (at < got.size() && at < wanted.size() && got[at] == wanted[at]) { ++at; }
  at = at < 300 ? 0 : at - 300;
  fuzz::fail(fmt::format("{}:\n{}\n---- and not\n{}\n----", what, got.substr(at, 900), wanted.substr(at, 900)), text);
}

auto random_edit(std::mt19937_64& random, const std::string& text) -> std::pair<Span, std::string> {
  auto below = [&](size_t n) { return n == 0 ? uint32_t{0} : static_cast<uint32_t>(random() % n); };
  auto line_at = [&](uint32_t at) {
    size_t begin = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
    begin = begin == std::string::npos ? 0 : begin + 1;
    size_t end = std::min(text.find('\n', at), text.size());
    return Span{static_cast<uint32_t>(begin), static_cast<uint32_t>(std::min(end + 1, text.size()))};
  };
  auto indent_of = [&](Span line) {
    uint32_t column = 0;
    while (line.begin + column < line.end && text[line.begin + column] == ' ') { ++column; }
    return column;
  };
  uint32_t at = below(text.size() + 1);
  Span line = line_at(at);
  auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  switch (below(9)) {
    case 0: return {line, ""};
    case 1: return {{line.begin, line.begin}, text.substr(line.begin, line.end - line.begin)};
    case 2: {  // a statement with its body is deleted, or moved to another place of the same depth
      uint32_t column = indent_of(line);
      uint32_t end = line.end;
      while (end < text.size() && (indent_of(line_at(end)) > column || text[end] == '\n')) { end = line_at(end).end; }
      std::string words = text.substr(line.begin, end - line.begin);
      if (below(2) == 0) { return {{line.begin, end}, ""}; }
      for (int i = 0; i < 20; ++i) {
        Span other = line_at(below(text.size() + 1));
        if (indent_of(other) == column) { return {{other.begin, other.begin}, words}; }
      }
      return {{line.begin, line.begin}, words};
    }
    case 3: case 4: {  // a name or number is replaced by another
      uint32_t begin = at;
      while (begin < text.size() && !is_word(text[begin])) { ++begin; }
      uint32_t end = begin;
      while (end < text.size() && is_word(text[end])) { ++end; }
      uint32_t from = below(text.size());
      while (from < text.size() && !is_word(text[from])) { ++from; }
      uint32_t to = from;
      while (to < text.size() && is_word(text[to])) { ++to; }
      return {{begin, end}, text.substr(from, to - from)};
    }
    case 5: {  // a key is typed
      static const std::string keys = "()[]:,.=+-*/ \n#\"x1";
      return {{at, at}, std::string(1, keys[below(keys.size())])};
    }
    case 6: return {{at, std::min(at + 1, static_cast<uint32_t>(text.size()))}, ""};
    case 7: {
      static const char* const statements[] = {"    E = T.alloc_buffer((16,), \"float32\")\n", "    x: T.int32 = 3\n", "    # a comment\n", "    T.evaluate(0)\n",
                                               "    assert n > 0, \"no\"\n", "    with T.block(\"E\"):\n        pass\n", "N = 8\n",
                                               "sch.vectorize(i1)\n", "i0, i1 = sch.split(i, factors=[None, N])\n", "sch = tir.Schedule(scale)\n", "for x in (i0, i1): sch.annotate(x, \"a\", N)\n",
                                               "    # ls: ignore[unused-name]\n", "    T.func_attr({\"a\": 1})\n"};
      return {{line.begin, line.begin}, statements[below(std::size(statements))]};
    }
    default: {
      auto pieces = fuzz::language_pieces();
      return {{at, at}, pieces[below(pieces.size())]};
    }
  }
}

const char* const long_program = R"(N = 16
S = "shared"

@T.prim_func
def main(a: T.handle, b: T.handle, C: T.Buffer((16, 16), "float32"), n: T.int32):
    T.func_attr({"tir.noalias": T.bool(True)})
    A = T.match_buffer(a, (N, 16))
    B = T.match_buffer(b, (n, 16), "float32")
    D = T.alloc_buffer((16, 16))
    W = T.alloc_buffer((16,), scope=S)
    # one nest
    for i, j in T.grid(16, 16):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = A[vi, vj] * T.float32(2)
    for i in T.parallel(16):
        # in the loop
        for j in range(16):
            with T.block("W"):
                vi = T.axis.spatial(16, i)
                vj = T.axis.reduce(16, j)
                T.reads(D[vi, vj])
                T.writes(W[vi])
                with T.init():
                    W[vi] = T.float32(0)
                W[vi] = W[vi] + D[vi, vj]
    scale = T.float32(3)
    m: T.int32 = n // 2
    if m > 4:
        for i in range(16):
            with T.block("E"):
                vi = T.axis.spatial(16, i)
                C[vi, 0] = W[vi] * scale
    else:
        for i in range(16):
            with T.block("F"):
                vi = T.axis.spatial(16, i)
                C[vi, 1] = D[vi, m]
    for i, j in T.grid(n, 16):
        with T.block("G"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + C[vi, vj]
)";

const char* const flat_program = R"(@I.ir_module
class Module:
    @T.prim_func
    def helper(x: T.int32) -> T.int32:
        return x + 1

    @T.prim_func
    def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        T.func_attr({"global_symbol": "main"})
        pool = T.allocate([64], "float32", "global")
        P = T.Buffer((64,), data=pool)
        Q = T.decl_buffer((64,), scope="local")
        for i in range(64):
            P[i] = A[i]
        for i in T.vectorized(64):
            Q[i] = P[i] + T.float32(1)
        y = T.let(T.int32, Module.helper(3))
        with T.attr(0, "pragma", 1):
            B[0] = Q[1]
        while B[0] < 3.0:
            B[0] = B[0] + 1.0
        for i in T.unroll(4):
            for j in T.serial(i, 8):
                B[i * 8 + j] = Q[j]
        B[63] = P[63]
        B[62] = P[62]
        B[61] = P[61]
        T.evaluate(T.call_extern("int32", "f", Q.data))
)";

// Schedules at the top of the file, and one in a function.
const char* const scripts = R"(from tvm import tir
N = 4

@T.prim_func
def scale(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    for i, j in T.grid(64, 64):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)


sch = tir.Schedule(scale)
# The loops.
b = sch.get_block("B")
i, j = sch.get_loops(b)
N = N * 2

def tiled(s, loop):
    return s.split(loop, factors=[None, N])

i0, i1 = tiled(sch, i)
sch.reorder(i0, j, i1)
if N == 8:
    sch.vectorize(i1)
x = sch.fuse(i0, j)
sch.parallel(x)

other = tir.Schedule(scale)
a, b = other.get_loops("B")
other.split(b, factors=[None, N])
M = 3


def fast(sch: tir.Schedule):
    i, j = sch.get_loops("B")
    sch.split(j, factors=[None, N])
)";

}  // namespace

namespace loopsmith::fuzz {

void check_input(std::string_view input) {
  std::string text(input);
  syntax::least_lines_in_parts() = 1;
  workspace::Document document("fuzz.tir", 0, text);
  document.check();
  document.replay({});
  std::mt19937_64 random(hash_bytes(text));
  for (size_t i = 0; i < edits; ++i) {
    auto [span, words] = random_edit(random, document.snapshot()->text());
    document.edit(static_cast<int64_t>(i) + 1, span, words);
    document.check();
    document.replay({});
    auto snapshot = document.snapshot();
    auto fresh = workspace::analyse("fuzz.tir", snapshot->text());
    auto wanted = fresh->snapshot();
    std::string what = fmt::format("after the edit {}-{} to `{}`", span.begin, span.end, words);
    compare(programs_of(*snapshot, true), programs_of(*wanted, true), what + ", the program is", snapshot->text());
    compare(schedules_of(*snapshot), schedules_of(*wanted), what + ", the schedules are", snapshot->text());
    compare(findings_of(*snapshot), findings_of(*wanted), what + ", it says", snapshot->text());
    syntax::least_lines_in_parts() = SIZE_MAX;
    auto uncut = workspace::analyse("fuzz.tir", snapshot->text());
    syntax::least_lines_in_parts() = 1;
    auto plain = uncut->snapshot();
    // Recovery from syntax errors may depend on the size of the parsed part.
    if (!plain->syntax().diagnostics().empty()) { continue; }
    compare(programs_of(*wanted, true), programs_of(*plain, true), "in parts, the program is", snapshot->text());
    compare(findings_of(*wanted), findings_of(*plain), "in parts, it says", snapshot->text());
  }
}
auto seeds() -> std::vector<std::string> {
  std::vector<std::string> out = program_seeds();
  for (int i = 0; i < 4; ++i) { out.insert(out.end(), {long_program, flat_program, scripts}); }
  return out;
}
auto pieces() -> std::vector<std::string> { return language_pieces(); }

}  // namespace loopsmith::fuzz
