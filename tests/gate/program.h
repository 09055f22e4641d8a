// The generator of random programs as text. program.cpp has the pieces that stages are made of, stages.cpp the stages of blocks,
// loose_stages.cpp those with statements outside of blocks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/gate/programs.h"
#include "tests/gate/random.h"

namespace loopsmith::gate {

using Shape = std::vector<int64_t>;

struct Tensor {
  std::string name;
  Shape shape;
  std::string dtype;
};

class Program {
 public:
  explicit Program(Random& random) : random_(random) {}

  auto make() -> Generated {
    std::string program = text();
    return {units_, std::move(program)};
  }

 private:
  // The tensors of a stage with statements outside of blocks: rows `r`, columns `c`, and the value of an element of the result.
  struct Loose {
    Tensor in, out;
    int64_t r, c;
    std::string value;
  };

  auto text() -> std::string;

  auto size() -> int64_t;
  auto random_shape() -> Shape;
  static auto tuple(const Shape& shape) -> std::string;
  auto parameter(Shape shape, std::string dtype = "") -> Tensor;
  // The buffer that a stage writes: for the last stage (sometimes earlier) a parameter, else a buffer of the function; rarely of a narrower type.
  auto result(Shape shape, bool last, std::string dtype = "") -> Tensor;
  // An element, cast to the program's type.
  auto load(const Tensor& t, const std::string& at) -> std::string;
  void store(int indent, const Tensor& t, const std::string& at, const std::string& value);
  auto number(int64_t value) -> std::string;
  auto constant() -> std::string;
  void line(int indent, const std::string& text);
  static auto axes(size_t n, size_t from = 0) -> std::string;
  // Writes loops and the head of a block over axes: 'S' spatial, 'R' reduction. Returns the indentation of the body.
  auto block(const Shape& extents, std::string kinds = "") -> int;
  // A tensor that an earlier stage wrote, with at least this many dimensions, or else a new parameter.
  auto input(size_t least, size_t most = 4) -> Tensor;
  auto like(const Tensor& t) -> Tensor;
  static auto permuted(const std::vector<size_t>& order) -> std::string;
  void reduce(const Tensor& in, size_t axis, const Tensor& out, int kind);
  // An index computed from one in range: neighbours, halves, and expressions that simplify to it.
  auto clamped(const std::string& v, int64_t extent) -> std::string;
  void symbolic_program();

  // Writes loops over tiles and within a tile, and a block over both: `v0 = T.axis.spatial(m * tiles, y0 * m + x0)`. Returns the indentation of the body.
  auto tiled_block(const Shape& counts, const Shape& tile, const std::string& kinds) -> int;
  // A program of tiles that a tensor intrinsic can compute: a built-in dot product, or a product or map that the file registers.
  void tiles(bool last);

  // A condition on an element that is true for some inputs.
  auto some_condition(const Tensor& t, const std::string& at) -> std::string;
  auto jump() -> std::string;
  // A buffer of its own type for plain statements, with the statement that writes its first element.
  auto scratch(int64_t size, const std::string& dtype) -> std::string;
  // A loop of plain statements. The iterations are independent, so the loop may have any kind.
  auto plain_loop(int indent, const std::string& var, int64_t extent) -> int;

  // A stage: a block, or a few that belong together. `last`: its result is a parameter.
  void stage(bool last);
  void elementwise(bool last);
  void pairwise(bool last);
  void transposed(bool last);
  void stencil(bool last);
  void padded(bool last);
  void reduction(bool last);
  void product(bool last);
  void convolution(bool last);
  void pooling(bool last);
  void softmax(bool last);
  void gather(bool last);
  void triangle(bool last);
  void argmax(bool last);
  void nested_blocks(bool last);
  void opaque_block(bool last);
  void views(bool last);
  void in_place();
  void computed_indices(bool last);
  void reshaped(bool last);
  void partial_write();
  void earlier_iterations(bool last);
  void halves(bool last);
  void polynomial(bool last);
  void joined_loops(bool last);
  void shared_loops(bool last);
  void first_iteration(bool last);
  void tensor_unit(bool last);
  void repeated_instances(bool last);
  void two_parts(bool last);
  void epilogue(bool last);
  void functions(bool last);

  // A stage with statements outside of blocks, or with jumps. Results are parameters, so unwritten elements keep their values.
  void loose_stage();
  void choose_loose_stage(const Loose& given);
  auto head(const Loose& given, int at) -> int;
  auto loops(const Loose& given) -> int;
  void leaving_block(const Loose& given);
  void jump_beside_loop(const Loose& given);
  void jump_in_block(const Loose& given);
  void while_in_block(const Loose& given);
  void while_around_blocks(const Loose& given);
  void early_return(const Loose& given);
  void assertion(const Loose& given);
  void scratch_memory(const Loose& given);
  void statement_before_block(const Loose& given);
  void statement_after_block(const Loose& given);
  void counter(const Loose& given);
  void loop_between_blocks(const Loose& given);
  void jump_by_indices(const Loose& given);

  Random& random_;
  std::string dtype_, prologue_, body_, units_;
  bool is_real_ = true, symbolic_ = false;
  std::vector<std::string> params_, allocations_;
  std::vector<Tensor> made_;   // tensors with constant contents
  int blocks_ = 0;
};

}  // namespace loopsmith::gate
