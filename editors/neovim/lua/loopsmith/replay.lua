-- Signs beside the lines of schedules: statements that were not run since they changed, the one that runs, the one that failed. The server sends
-- them in `loopsmith/replayProgress`, during a long replay and at its end.
local M = {}

local namespace = vim.api.nvim_create_namespace('loopsmith_replay')
local signs = {
  stale = { text = '┊', group = 'LoopsmithStale', link = 'Comment' },
  running = { text = '▶', group = 'LoopsmithRunning', link = 'WarningMsg' },
  failed = { text = '✗', group = 'LoopsmithFailed', link = 'ErrorMsg' },
}

function M.on_progress(_, progress)
  local buffer = vim.uri_to_bufnr(progress.uri)
  if not vim.api.nvim_buf_is_loaded(buffer) then return end
  -- A message about an earlier text is ignored; another one follows.
  if progress.version < (vim.lsp.util.buf_versions[buffer] or 0) then return end
  vim.api.nvim_buf_clear_namespace(buffer, namespace, 0, -1)
  local last = vim.api.nvim_buf_line_count(buffer) - 1
  for _, mark in ipairs(progress.marks) do
    local sign = signs[mark.state]
    for line = mark.range.start.line, math.min(mark.range['end'].line, last) do
      -- Below the signs of diagnostics.
      vim.api.nvim_buf_set_extmark(buffer, namespace, line, 0, { sign_text = sign.text, sign_hl_group = sign.group, priority = 5 })
    end
  end
end

--- The signs as text, one line each: "25: failed".
function M.marks(buffer)
  local out = {}
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buffer, namespace, 0, -1, { details = true })) do
    for state, sign in pairs(signs) do
      if mark[4].sign_hl_group == sign.group then out[#out + 1] = (mark[2] + 1) .. ': ' .. state end
    end
  end
  return out
end

function M.setup()
  for _, sign in pairs(signs) do vim.api.nvim_set_hl(0, sign.group, { link = sign.link, default = true }) end
  vim.lsp.handlers['loopsmith/replayProgress'] = M.on_progress
end

return M
