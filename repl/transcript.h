// Transcripts: texts with inputs behind prompts and their answers below; and the session as a document.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace loopsmith::repl {

/// One input of a transcript, and the answer below it.
struct Exchange {
  std::string input;               // without prompts
  std::string output;              // lines, each ended
  size_t line = 0;                 // of the prompt, from 1
};

/// A transcript in a text. In Markdown, the fenced blocks with a prompt are transcripts; otherwise the whole text is one.
struct Passage {
  std::string before;              // the text up to the first prompt
  std::vector<Exchange> typed;
  size_t width = 0;                // of the screen, from "width=100 height=40" behind the fence; 0: not given
  size_t height = 0;
};
/// The last passage may have no exchanges: it is the text behind the last transcript.
[[nodiscard]] auto read_passages(std::string_view text, bool is_markdown) -> std::vector<Passage>;

/// A transcript is text with prompts (`sch> `, and `...> ` if an input continues); lines without prompts are answers. Text before the first
/// prompt is `preamble`. Text without a prompt is not a transcript: the result is empty.
[[nodiscard]] auto read_transcript(std::string_view text, std::string* preamble = nullptr) -> std::vector<Exchange>;

/// An input in the form of a transcript, with its prompts and a line end.
[[nodiscard]] auto with_prompts(std::string_view input) -> std::string;

/// Terminal output as plain text: without colours and overwritten text.
[[nodiscard]] auto plain_text(std::string_view output) -> std::string;

/// True for inputs whose answers differ from run to run: times, searches, the shell.
[[nodiscard]] auto differs_each_time(const std::string& input) -> bool;

}  // namespace loopsmith::repl
