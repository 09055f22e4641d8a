// Words in quotes that have a meaning for compilers: thread axes, storage scopes, keys of attributes, kinds of target. TVM's script accepts
// any word there and ignores unknown ones, so a word that is nearly a known one is reported.
#pragma once

#include <string_view>
#include <vector>

#include "frontend/objects.h"

namespace loopsmith::frontend {

enum class Vocabulary : uint8_t { ThreadAxis, StorageScope, LoopAnnotation, BlockAnnotation, FunctionAttribute, StatementAttribute, TargetKind };

/// The words of a vocabulary, the most frequent ones first.
[[nodiscard]] auto known_words(Vocabulary vocabulary) -> const std::vector<Name>&;

/// Warns if `word` is not in the vocabulary but nearly equals a word of it. `where`: the word, or the dictionary that has it as a key.
void check_word(Evaluator& evaluator, Vocabulary vocabulary, std::string_view word, Origin where);
/// The same for every key.
void check_keys(Evaluator& evaluator, Vocabulary vocabulary, const AttrMap& attrs, Origin where);

/// Narrows a warning to the literal in the text of its declaration, and adds the edit. If the word comes from another place
/// (a constant, an f-string), the warning stays unchanged.
void place_word(Diagnostic& diagnostic, std::string_view text);

/// Adds the edit of a `Deprecated` diagnostic if the form is written in full (`T.Buffer[...]`). `text`: that of the declaration.
void modernise(Diagnostic& diagnostic, std::string_view text);

}  // namespace loopsmith::frontend
