// Tensors: memory for a kernel's arguments, compact and row-major, aligned to 64 bytes, in DLPack's layout; with
// seeded random contents and comparison. No arithmetic. NumPy's files are in npy.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/dtype.h"
#include "ir/tensor_view.h"
#include "support/diagnostic.h"

namespace loopsmith::runtime {

// The parts of DLPack 0.8 that a CPU needs: https://dmlc.github.io/dlpack
struct DLDevice { int32_t device_type; int32_t device_id; };           // 1: CPU
struct DLDataType { uint8_t code; uint8_t bits; uint16_t lanes; };      // see `dlpack_code`
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;     // null: compact, row-major
  uint64_t byte_offset;
};

/// The distribution of random contents. Every element is drawn.
enum class Fill : uint8_t {
  Normal,          // reals: mean 0, deviation 1; integers: as SmallIntegers
  SmallIntegers,   // -8 to 8 (0 to 8 unsigned; bools both): sums of products of reals are then exact, in any order
};

/// True for types that tensors may have: single numbers of whole bytes.
[[nodiscard]] auto has_tensors(DataType dtype) -> bool;
/// The bytes of a tensor; none for negative shapes and for sizes larger than any memory.
[[nodiscard]] auto byte_count(DataType dtype, const std::vector<int64_t>& shape) -> std::optional<uint64_t>;

/// A tensor that owns its memory. It can be moved; copies need an explicit call.
class Tensor {
 public:
  Tensor() = default;
  Tensor(Tensor&& other) noexcept;
  auto operator=(Tensor&& other) noexcept -> Tensor&;
  ~Tensor();

  /// A tensor of zeros. Large ones request huge pages.
  [[nodiscard]] static auto zeros(DataType dtype, std::vector<int64_t> shape) -> Result<Tensor>;
  [[nodiscard]] static auto random(DataType dtype, std::vector<int64_t> shape, uint64_t seed, Fill fill = Fill::Normal) -> Result<Tensor>;
  [[nodiscard]] auto copy() const -> Result<Tensor>;

  [[nodiscard]] auto dtype() const -> DataType { return dtype_; }
  [[nodiscard]] auto shape() const -> const std::vector<int64_t>& { return shape_; }
  [[nodiscard]] auto count() const -> int64_t;
  [[nodiscard]] auto bytes() const -> uint64_t;
  [[nodiscard]] auto data() const -> void* { return data_; }
  template <class T> [[nodiscard]] auto as() const -> std::span<T> { return {static_cast<T*>(data_), static_cast<size_t>(count())}; }

  void fill_random(uint64_t seed, Fill fill = Fill::Normal);
  /// Random integers from `first` to `last`, both included; all `first` if the range is empty.
  void fill_range(int64_t first, int64_t last, uint64_t seed);
  void fill_zero();
  /// An element by its row-major index, as a double: exact for all types, except for 64-bit integers beyond 2^53.
  [[nodiscard]] auto get(int64_t index) const -> double;
  void set(int64_t index, double value);

  /// Views for other rooms and for C interfaces, valid while the tensor lives.
  [[nodiscard]] auto view() const -> TensorView { return {data_, dtype_, shape_}; }
  [[nodiscard]] auto dlpack() const -> DLTensor;
  /// Type and shape, as "float32 (16, 32)".
  [[nodiscard]] auto describe() const -> std::string;

 private:
  DataType dtype_;
  std::vector<int64_t> shape_;
  void* data_ = nullptr;
};

/// The difference between two tensors of the same type and shape. Two elements agree if both are NaN, if they
/// are equal, or if |a - b| <= absolute + relative * |b|.
struct Comparison {
  int64_t different = 0;          // the number of elements that do not agree
  int64_t first = -1;             // the first of them, in row-major order
  double largest_absolute = 0;
  double largest_relative = 0;    // relative to max(|b|, 1e-30), over elements where b is not 0
  std::string problem = {};       // the reason why the tensors cannot be compared
  [[nodiscard]] auto agrees() const -> bool { return different == 0 && problem.empty(); }
};
[[nodiscard]] auto compare(const Tensor& a, const Tensor& b, double relative, double absolute) -> Comparison;

// Conversions of the short reals, to nearest even.
[[nodiscard]] auto half_to_float(uint16_t bits) -> float;
[[nodiscard]] auto float_to_half(float value) -> uint16_t;
[[nodiscard]] auto bfloat_to_float(uint16_t bits) -> float;
[[nodiscard]] auto float_to_bfloat(float value) -> uint16_t;

}  // namespace loopsmith::runtime
