// The form of a transcript: messages that are sent, as the case writes them, and messages that come back, as the runner writes them.
//
//   # why this case exists                                  comments and blank lines stay where they are
//   --> start {"capabilities": {...}}                       `initialize` with these parameters, then `initialized`
//   --> open a.tir                                          the document file:///a.tir at version 1; its text follows, indented.
//       @T.prim_func ...                                    A name ending in .py is a document of Python
//   --> open a.tir 3 from tests/golden/lsp/matmul.tir       version 3; the text is a file of the source tree
//   --> change a.tir 2                                      the new text follows, indented
//   --> change a.tir 3 8:4-8:9 "sch.fuse"                   the text of a range; a text of several lines follows, indented
//   --> close a.tir
//   --> wait a.tir 2                                        `loopsmith/waitForState`: until this version was analysed
//   --> textDocument/hover a.tir 8:4 {"more": 1}            any method: document, position or range, other parameters, as far as it has them
//   --> message {"id": 7, "method": ...}                    any JSON ("jsonrpc" is added)
//   --> raw TEXT                                            bytes, with \r \n \\ escapes: for frames that are wrong
//
//   <-- done                                                the answer to `wait`
//   <-- null                                                the answer to a request, as notation.h writes values
//   <-- error -32602: `offset` is missing
//   <-- diagnostics a.tir 2: none                           diagnostics that are published, a line each:
//       8:4-8:9 error loop-not-only-child: cannot fuse ...  place, severity, code, message
//   <-- workspace/applyEdit loopsmith-1 {...}               any other message: method, the id of a request, parameters
//
// Behind a method, `show NAME,...` (last) keeps the members of the answer that have these names, with what is in them, and leaves out the others.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lsp/protocol/json.h"

namespace loopsmith::lsp::golden {

/// A line `--> ...` with the lines indented below it: one action of the runner.
struct Step {
  enum class Kind { Start, Message, Raw };
  Kind kind = Kind::Message;
  Json message;                    // Start: the parameters of `initialize`; Message: without an id where the runner is to choose one
  std::string bytes;               // Raw
  std::vector<std::string> shown;  // members of the answer that are kept; empty: all
  bool is_request = false;
  bool is_wait = false;
};

/// A piece of a transcript: a step with its text, or lines that stay as they are. Expected messages are no part of it.
struct Piece {
  std::string text;          // with line ends
  std::optional<Step> step;
  std::string problem;       // of a step: why it cannot be read
};

/// `sources`: the folder that `from PATH` begins at.
[[nodiscard]] auto read_transcript(std::string_view text, const std::string& sources) -> std::vector<Piece>;

/// A message that came, with its line end. `answered`: the step whose answer it is; null: another message.
[[nodiscard]] auto received_text(const Json& message, const Step* answered) -> std::string;

/// The lines of a transcript that send a message (for `--from-record`), with their line ends.
[[nodiscard]] auto sent_text(const Json& message) -> std::string;

}  // namespace loopsmith::lsp::golden
