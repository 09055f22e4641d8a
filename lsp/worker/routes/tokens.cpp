// Semantic tokens, whole or as the difference from the tokens that were sent last.
#include "lsp/worker/routes/all.h"

#include <algorithm>

#include "lsp/features/tokens.h"
#include "lsp/worker/conversions.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

static_assert(static_cast<size_t>(TokenType::Count) == token_types.size());
static_assert(static_cast<size_t>(TokenModifier::Count) == token_modifiers.size());

/// Five numbers per token, relative to the token before.
auto encoded_tokens(const RouteContext& context, Span within) -> std::vector<uint32_t> {
  const Snapshot& snapshot = *context.snapshot;
  std::vector<uint32_t> data;
  Position last;
  for (const Token& token : semantic_tokens(snapshot, within)) {
    TextRange range = to_range(snapshot.text(), snapshot.lines(), token.span, context.encoding);
    if (range.start.line != range.end.line) { continue; }
    bool same_line = range.start.line == last.line;
    data.push_back(range.start.line - last.line);
    data.push_back(range.start.character - (same_line ? last.character : 0));
    data.push_back(range.end.character - range.start.character);
    data.push_back(static_cast<uint32_t>(token.type));
    data.push_back(token.modifiers);
    last = range.start;
  }
  return data;
}

auto remember_tokens(const RouteContext& context, std::vector<uint32_t> data) -> std::string {
  context.sent_tokens->data = std::move(data);
  return std::to_string(++context.sent_tokens->id);
}

}  // namespace

auto semantic_tokens_full(const RouteContext& context, const Json& params) -> RouteResult {
  std::vector<uint32_t> data = encoded_tokens(context, span_in(context, Json()));
  Json json = {{"data", data}};
  json["resultId"] = remember_tokens(context, std::move(data));
  return json;
}

auto semantic_tokens_delta(const RouteContext& context, const Json& params) -> RouteResult {
  if (string_in(params, "previousResultId") != std::to_string(context.sent_tokens->id)) { return semantic_tokens_full(context, params); }
  std::vector<uint32_t> data = encoded_tokens(context, span_in(context, Json()));
  const std::vector<uint32_t>& before = context.sent_tokens->data;
  // One edit: the tokens between the common beginning and the common end.
  size_t shortest = std::min(before.size(), data.size());
  size_t head = 0;
  while (head < shortest && before[head] == data[head]) { ++head; }
  head -= head % 5;
  size_t tail = 0;
  while (tail < shortest - head && before[before.size() - 1 - tail] == data[data.size() - 1 - tail]) { ++tail; }
  tail -= tail % 5;
  Json edits = Json::array();
  if (head + tail < std::max(before.size(), data.size())) {
    edits.push_back({{"start", head}, {"deleteCount", before.size() - head - tail},
                     {"data", std::vector<uint32_t>(data.begin() + static_cast<std::ptrdiff_t>(head), data.end() - static_cast<std::ptrdiff_t>(tail))}});
  }
  Json json = {{"edits", std::move(edits)}};
  json["resultId"] = remember_tokens(context, std::move(data));
  return json;
}

auto semantic_tokens_range(const RouteContext& context, const Json& params) -> RouteResult {
  return Json{{"data", encoded_tokens(context, span_in(context, params))}};
}

}  // namespace loopsmith::lsp
