// NumPy's files: .npy, one array, and .npz, a zip archive of them. NumPy has no names for bfloat16 and float8: their elements are
// bytes to it (`V2`, `V1`), as ml_dtypes writes them too. A file of such bytes is read as `expected` where that is a type of their
// size that NumPy has no name for. Arrays in column order (`fortran_order`) come out in row order, as all tensors are.
// After NumPy's numpy.lib.format.
#pragma once

#include <string>
#include <vector>

#include "runtime/archive.h"
#include "runtime/tensor.h"

namespace loopsmith::runtime {

[[nodiscard]] auto read_npy(const std::string& path, DataType expected = {}) -> Result<Tensor>;
[[nodiscard]] auto write_npy(const std::string& path, const Tensor& tensor) -> Status;

/// What numpy.savez and numpy.savez_compressed write.
class NpzFile {
 public:
  [[nodiscard]] static auto open(const std::string& path) -> Result<NpzFile>;
  /// Of the arrays, in the order of the file.
  [[nodiscard]] auto names() const -> const std::vector<std::string>& { return names_; }
  [[nodiscard]] auto read(const std::string& name, DataType expected = {}) const -> Result<Tensor>;

 private:
  std::string path_;
  Archive archive_;
  std::vector<std::string> names_;
};

}  // namespace loopsmith::runtime
