-- Finds the window of a text: the one the cursor is in, or was in last. Views beside the text follow that window, and edits move its cursor.
local M = {}

local last = {}                      -- buffer -> window

local function shows(window, buffer)
  return window and vim.api.nvim_win_is_valid(window) and vim.api.nvim_win_get_buf(window) == buffer
end

--- The window in this tab page, or nil.
function M.of(buffer)
  local here = vim.api.nvim_get_current_win()
  if shows(here, buffer) then return here end
  local seen = last[buffer]
  if shows(seen, buffer) and vim.api.nvim_win_get_tabpage(seen) == vim.api.nvim_get_current_tabpage() then return seen end
  local any = vim.fn.bufwinid(buffer)
  return any ~= -1 and any or nil
end

--- The same, but opens a window if there is none. Returns nil if the text is closed.
function M.show(buffer)
  local window = M.of(buffer)
  if window or not vim.api.nvim_buf_is_loaded(buffer) then return window end
  local here = vim.api.nvim_get_current_win()
  vim.cmd('leftabove vsplit')
  window = vim.api.nvim_get_current_win()
  vim.api.nvim_win_set_buf(window, buffer)
  vim.api.nvim_set_current_win(here)
  return window
end

--- Names a buffer, with a similar name if the name is taken.
function M.name(buffer, name)
  for n = 1, 99 do
    if pcall(vim.api.nvim_buf_set_name, buffer, n == 1 and name or ('%s (%d)'):format(name, n)) then return end
  end
end

function M.setup()
  local group = vim.api.nvim_create_augroup('loopsmith_window', { clear = true })
  vim.api.nvim_create_autocmd({ 'WinEnter', 'BufEnter' }, {
    group = group,
    callback = function(event)
      local window = vim.api.nvim_get_current_win()
      if vim.api.nvim_win_get_config(window).relative == '' then last[event.buf] = window end
    end,
  })
  vim.api.nvim_create_autocmd('BufWipeout', { group = group, callback = function(event) last[event.buf] = nil end })
end

return M
