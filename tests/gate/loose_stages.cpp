// Stages of random programs with statements outside of blocks, jumps, `while` loops and assertions.
#include <fmt/format.h>

#include "tests/gate/program.h"

namespace loopsmith::gate {

void Program::loose_stage() {
  Tensor in = input(2, 2);
  if (in.dtype != dtype_) { in = parameter({size(), size()}); }
  int64_t r = in.shape[0], c = in.shape[1];
  Tensor out = parameter({r, c});
  // More instances than primitives enumerate.
  if (random_.chance(4)) {
    r = 96;
    c = 90;
    in = parameter({r, c});
    out = parameter({r, c});
  }
  const Loose given{in, out, r, c, fmt::format("{} + {}", load(in, "v0, v1"), constant())};
  choose_loose_stage(given);
  made_.push_back(out);
}

void Program::choose_loose_stage(const Loose& given) {
  switch (random_.below(16)) {
    case 0: case 1: return leaving_block(given);
    case 2: return jump_beside_loop(given);
    case 3: case 4: return jump_in_block(given);
    case 5: return while_in_block(given);
    case 6: return while_around_blocks(given);
    case 7: return early_return(given);
    case 8: return assertion(given);
    case 9: case 10: return scratch_memory(given);
    case 11: return statement_before_block(given);
    case 12: return statement_after_block(given);
    case 13: return counter(given);
    case 14: return loop_between_blocks(given);
    default: return jump_by_indices(given);
  }
}

// The head of a block over the elements of the result. Returns the indentation of the body.
auto Program::head(const Loose& given, int at) -> int {
  line(at, fmt::format("with T.block(\"B{}\"):", blocks_++));
  line(at + 1, fmt::format("v0 = T.axis.spatial({}, x0)", given.r));
  line(at + 1, fmt::format("v1 = T.axis.spatial({}, x1)", given.c));
  return at + 1;
}

// Loops over rows and columns. Returns the indentation of the body.
auto Program::loops(const Loose& given) -> int {
  line(0, fmt::format("for x0 in range({}):", given.r));
  line(1, fmt::format("for x1 in range({}):", given.c));
  return 2;
}

// A block that leaves the loops around it.
void Program::leaving_block(const Loose& given) {
  const auto& [in, out, r, c, value] = given;
  int b = head(given, loops(given));
  line(b, fmt::format("if {}:", some_condition(random_.chance(70) ? in : out, "v0, v1")));
  line(b + 1, jump());
  store(b, out, "v0, v1", value);
}

// A jump before or after the inner loop.
void Program::jump_beside_loop(const Loose& given) {
  const auto& [in, out, r, c, value] = given;
  line(0, fmt::format("for x0 in range({}):", r));
  bool is_first = random_.chance(60);
  auto leave = [&] {
    line(1, fmt::format("if {}:", some_condition(in, "x0, 0")));
    line(2, jump());
  };
  if (is_first) { leave(); }
  line(1, fmt::format("for x1 in range({}):", c));
  store(head(given, 2), out, "v0, v1", value);
  if (!is_first) { leave(); }
}

// A loop inside a block ends early; the block still completes.
void Program::jump_in_block(const Loose& given) {
  const auto& [in, out, r, c, value] = given;
  line(0, fmt::format("for x0 in range({}):", r));
  line(1, fmt::format("with T.block(\"B{}\"):", blocks_++));
  line(2, fmt::format("v0 = T.axis.spatial({}, x0)", r));
  line(2, fmt::format("for i in range({}):", c));
  bool is_early = random_.chance(60);
  if (!is_early) { store(3, out, "v0, i", load(in, "v0, i")); }
  line(3, fmt::format("if {}:", random_.chance(60) ? some_condition(in, "v0, i") : fmt::format("{} < v0 + i", random_.between(0, r + c))));
  line(4, jump());
  if (is_early) { store(3, out, "v0, i", fmt::format("{} * {}", load(in, "v0, i"), constant())); }
}

// A `while` inside of a block.
void Program::while_in_block(const Loose& given) {
  const auto& [in, out, r, c, value] = given;
  line(0, fmt::format("for x0 in range({}):", r));
  line(1, fmt::format("with T.block(\"B{}\"):", blocks_++));
  line(2, fmt::format("v0 = T.axis.spatial({}, x0)", r));
  std::string n = fmt::format("n{}", blocks_);
  line(2, fmt::format("{} = T.alloc_buffer((1,), \"int32\")", n));
  line(2, fmt::format("{}[0] = 0", n));
  line(2, fmt::format("while {}[0] < {}:", n, c));
  if (random_.chance(50)) {
    line(3, fmt::format("if {}:", some_condition(in, fmt::format("v0, {}[0]", n))));
    line(4, "break");
  }
  store(3, out, fmt::format("v0, {}[0]", n), fmt::format("{} + {}", load(in, fmt::format("v0, {}[0]", n)), constant()));
  line(3, fmt::format("{0}[0] = {0}[0] + 1", n));
}

// A `while` loop around blocks.
void Program::while_around_blocks(const Loose& given) {
  const auto& [in, out, r, c, value] = given;
  std::string n = scratch(1, "int32");
  line(0, fmt::format("{}[0] = 0", n));
  line(0, fmt::format("while {}[0] < {}:", n, random_.between(1, 3)));
  line(1, fmt::format("for x0, x1 in T.grid({}, {}):", r, c));
  int b = head(given, 2);
  store(b, out, "v0, v1", fmt::format("{} + {}", load(random_.chance(50) ? out : in, "v0, v1"), load(in, "v0, v1")));
  line(1, fmt::format("{0}[0] = {0}[0] + 1", n));
}

// An early return.
void Program::early_return(const Loose& given) {
  const auto& [in, out, r, c, value] = given;
  if (random_.chance(60)) {
    line(0, fmt::format("if {}:", some_condition(in, "0, 0")));
    line(1, "T.evaluate(T.ret(0))");
    store(head(given, loops(given)), out, "v0, v1", value);
    return;
  }
  int b = head(given, loops(given));
  store(b, out, "v0, v1", value);
  line(b, fmt::format("if {}:", some_condition(in, "v0, v1")));
  line(b + 1, "T.evaluate(T.ret(0))");
}

// An assertion that holds.
void Program::assertion(const Loose& given) {
  const auto& [in, out, r, c, value] = given;
  bool is_in_block = random_.chance(50);
  int at = loops(given);
  std::string text = fmt::format("assert {}, \"holds\"", is_in_block ? fmt::format("v0 < {}", r) : fmt::format("x0 + x1 < {}", r + c));
  if (!is_in_block) { line(at, text); }
  int b = head(given, at);
  if (is_in_block) { line(b, text); }
  store(b, out, "v0, v1", value);
}

// Scratch memory of a loop of plain statements.
void Program::scratch_memory(const Loose& given) {
  const auto& [in, out, r, c, value] = given;
  bool is_row = random_.chance(50);
  std::string s = scratch(is_row ? c : random_.between(1, 2), dtype_);
  int at = plain_loop(0, "i", r);
  Tensor row{s, {c}, dtype_};
  if (is_row) {
    line(at, fmt::format("for j in range({}):", c));
    store(at + 1, row, "j", fmt::format("{} * {}", load(in, "i, j"), constant()));
  } else {
    store(at, row, "0", fmt::format("{} * {}", load(in, "i, 0"), constant()));
  }
  if (random_.chance(20)) {
    line(at, fmt::format("if {}:", some_condition(in, "i, 0")));
    line(at + 1, "continue");
  }
  line(at, fmt::format("for j in range({}):", c));
  store(at + 1, out, "i, j", fmt::format("{} + {}", load(row, is_row ? fmt::format("{} - j", c - 1) : "0"), load(in, "i, j")));
}

// A plain statement before a block that reads its result.
void Program::statement_before_block(const Loose& given) {
  const auto& [in, out, r, c, value] = given;
  std::string s = scratch(c, dtype_);
  Tensor row{s, {c}, dtype_};
  line(0, fmt::format("for x0 in range({}):", r));
  line(1, fmt::format("for j in range({}):", c));
  store(2, row, "j", fmt::format("{} * {}", load(in, "x0, j"), constant()));
  line(1, fmt::format("for x1 in range({}):", c));
  int b = head(given, 2);
  store(b, out, "v0, v1", fmt::format("{} - {}", load(in, "v0, v1"), load(row, random_.chance(50) ? "v1" : fmt::format("{} - v1", c - 1))));
}

// A plain statement after a block, which reads the block's result.
void Program::statement_after_block(const Loose& given) {
  const auto& [in, out, r, c, value] = given;
  Tensor made = result({r, c}, false, dtype_);
  int at = loops(given);
  int b = head(given, at);
  store(b, made, "v0, v1", value);
  bool is_inside = random_.chance(50);
  if (is_inside) {
    store(2, out, "x0, x1", fmt::format("{} * {}", load(made, "x0, x1"), constant()));
  } else {
    line(0, fmt::format("for i, j in T.grid({}, {}):", r, c));
    store(1, out, "i, j", fmt::format("{} - {}", load(made, "i, j"), load(in, "i, j")));
  }
  made_.push_back(made);
}

// Plain statements that compute a counter for blocks.
void Program::counter(const Loose& given) {
  const auto& [in, out, r, c, value] = given;
  std::string n = scratch(1, dtype_);
  Tensor count{n, {1}, dtype_};
  store(0, count, "0", number(0));
  line(0, fmt::format("for x0 in range({}):", r));
  store(1, count, "0", fmt::format("{} + {}", load(count, "0"), load(in, "x0, 0")));
  line(1, fmt::format("for x1 in range({}):", c));
  int b = head(given, 2);
  store(b, out, "v0, v1", fmt::format("{} + {}", load(in, "v0, v1"), load(count, "0")));
}

// A loop of plain statements between two blocks.
void Program::loop_between_blocks(const Loose& given) {
  const auto& [in, out, r, c, value] = given;
  Tensor first = result({r, c}, false, dtype_);
  store(head(given, loops(given)), first, "v0, v1", value);
  int at = plain_loop(0, "i", r);
  if (random_.chance(30)) {
    line(at, fmt::format("if {}:", some_condition(in, "i, 0")));
    line(at + 1, "continue");
  }
  store(at, first, "i, 0", fmt::format("{} * {}", load(first, "i, 0"), constant()));
  store(head(given, loops(given)), out, "v0, v1", fmt::format("{} - {}", load(first, "v0, v1"), load(in, "v0, v1")));
  made_.push_back(first);
}

// A jump by the indices, in loops of any kind.
void Program::jump_by_indices(const Loose& given) {
  const auto& [in, out, r, c, value] = given;
  int at = plain_loop(0, "i", r);
  at = plain_loop(at, "j", c);
  line(at, fmt::format("if (i + j) % {} == {}:", random_.between(2, 4), random_.below(2)));
  line(at + 1, "continue");
  store(at, out, "i, j", fmt::format("{} * {}", load(in, "i, j"), constant()));
}

}  // namespace loopsmith::gate
