// NumPy's files: .npy has one array, .npz is a zip archive of arrays. NumPy has no names for bfloat16 and float8: it describes their
// elements as bytes (`V2`, `V1`), and so does ml_dtypes. A file of such bytes is read as the type `expected`, if that type has their
// size and no name in NumPy. Arrays in column order (`fortran_order`) become tensors in row order.
// After NumPy's numpy.lib.format.
#pragma once

#include <string>
#include <vector>

#include "runtime/archive.h"
#include "runtime/tensor.h"

namespace loopsmith::runtime {

[[nodiscard]] auto read_npy(const std::string& path, DataType expected = {}) -> Result<Tensor>;
[[nodiscard]] auto write_npy(const std::string& path, const Tensor& tensor) -> Status;

/// A file that numpy.savez or numpy.savez_compressed wrote.
class NpzFile {
 public:
  [[nodiscard]] static auto open(const std::string& path) -> Result<NpzFile>;
  /// The names of the arrays, in the order of the file.
  [[nodiscard]] auto names() const -> const std::vector<std::string>& { return names_; }
  [[nodiscard]] auto read(const std::string& name, DataType expected = {}) const -> Result<Tensor>;

 private:
  std::string path_;
  Archive archive_;
  std::vector<std::string> names_;
};

}  // namespace loopsmith::runtime
