// The form of a transcript: messages to the server, written in the case, and messages from the server, written by the runner.
//
//   # the reason for the case                               comments and blank lines stay at their places
//   --> start {"capabilities": {...}}                       `initialize` with these parameters, then `initialized`
//   --> open a.tir                                          the document file:///a.tir at version 1; its text follows, indented.
//       @T.prim_func ...                                    A name ending in .py is a document of Python
//   --> open a.tir 3 from tests/golden/lsp/matmul.tir       version 3; the text is a file of the source tree
//   --> change a.tir 2                                      the new text follows, indented
//   --> change a.tir 3 8:4-8:9 "sch.fuse"                   the text of a range; a text of several lines follows, indented
//   --> close a.tir
//   --> wait a.tir 2                                        `loopsmith/waitForState`: waits until this version is analysed
//   --> textDocument/hover a.tir 8:4 {"more": 1}            any method: document, position or range, other parameters, if it has these
//   --> message {"id": 7, "method": ...}                    any JSON ("jsonrpc" is added)
//   --> raw TEXT                                            bytes, with \r \n \\ escapes: for malformed frames
//
//   <-- done                                                the answer to `wait`
//   <-- null                                                the answer to a request, in the notation of notation.h
//   <-- error -32602: `offset` is missing
//   <-- diagnostics a.tir 2: none                           published diagnostics, one per line:
//       8:4-8:9 error loop-not-only-child: cannot fuse ...  place, severity, code, message
//   <-- workspace/applyEdit loopsmith-1 {...}               any other message: method, the id of a request, parameters
//
// Behind a method, `show NAME,...` (last) keeps only the members of the answer with these names, with their contents.
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
  Json message;                    // Start: the parameters of `initialize`; Message: without an id if the runner chooses it
  std::string bytes;               // Raw
  std::vector<std::string> shown;  // the members of the answer that are kept; empty: all
  bool is_request = false;
  bool is_wait = false;
};

/// A piece of a transcript: a step with its text, or lines that stay unchanged. Expected messages are not part of it.
struct Piece {
  std::string text;          // with line ends
  std::optional<Step> step;
  std::string problem;       // of a step: the reason why it cannot be read
};

/// `sources`: the folder that paths after `from` are relative to.
[[nodiscard]] auto read_transcript(std::string_view text, const std::string& sources) -> std::vector<Piece>;

/// The text for a received message, with its line end. `answered`: the step that it answers; null: another message.
[[nodiscard]] auto received_text(const Json& message, const Step* answered) -> std::string;

/// The lines of a transcript that send a message (for `--from-record`), with their line ends.
[[nodiscard]] auto sent_text(const Json& message) -> std::string;

}  // namespace loopsmith::lsp::golden
