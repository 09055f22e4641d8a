// Texts of other files: see texts.h.
#include "script/texts.h"

#include <utility>

namespace loopsmith::script {
namespace {

thread_local ReadText reader_of_thread;

}  // namespace

void read_texts_with(ReadText reader) { reader_of_thread = std::move(reader); }

auto text_beside(const frontend::File& file, const std::string& path) -> std::optional<std::string> {
  return reader_of_thread && file.modules() ? reader_of_thread(*file.modules(), path) : std::nullopt;
}

}  // namespace loopsmith::script
