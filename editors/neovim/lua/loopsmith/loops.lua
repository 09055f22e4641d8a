-- The loop view: the loops and blocks of the program at the cursor, one line each, in a window beside that follows the cursor. <CR> on a line
-- lists the primitives that apply and writes the choice into the schedule; `o` goes to its origin.
local M = {}

local server = require('loopsmith.server')
local windows = require('loopsmith.window')

local views = {}                     -- source buffer -> { view = buffer, nodes = {...}, params = {...}, tick = of the text with these loops }
local marks = vim.api.nvim_create_namespace('loopsmith_loops')
local groups = { parallel = 'Special', vectorized = 'String', unrolled = 'Number', bound = 'Type', block = 'Function', serial = 'Normal' }
local pending = nil

local function paint(shown, loops)
  local lines, first = { '# ' .. (loops and loops.title or 'no program at the cursor') }, {}
  shown.nodes = loops and loops.nodes or {}
  for index, node in ipairs(shown.nodes) do
    local name = node.name ~= '' and node.name ~= node.text:match('^%S+') and ('  [' .. node.name .. ']') or ''
    first[index] = ('  '):rep(node.depth) .. node.text .. name
    lines[#lines + 1] = first[index] .. (node.facts ~= '' and '    ' .. node.facts or '')
  end
  local view = shown.view
  vim.bo[view].modifiable = true
  vim.api.nvim_buf_set_lines(view, 0, -1, false, lines)
  vim.bo[view].modifiable = false
  vim.api.nvim_buf_clear_namespace(view, marks, 0, -1)
  vim.api.nvim_buf_set_extmark(view, marks, 0, 0, { end_col = #lines[1], hl_group = 'Comment' })
  for index, node in ipairs(shown.nodes) do
    vim.api.nvim_buf_set_extmark(view, marks, index, 0, { end_col = #first[index], hl_group = groups[node.kind] or 'Normal' })
    vim.api.nvim_buf_set_extmark(view, marks, index, #first[index], { end_col = #lines[index + 1], hl_group = 'Comment' })
  end
end

local function update(buffer)
  local shown, client, window = views[buffer], server.of(buffer), windows.of(buffer)
  if not (shown and client and window and vim.api.nvim_buf_is_valid(shown.view)) then return end
  local params = vim.lsp.util.make_position_params(window, client.offset_encoding)
  local tick = vim.api.nvim_buf_get_changedtick(buffer)
  server.request(client, 'loopsmith/loops', params, function(problem, loops)
    -- An answer about an outdated text is an error; the change of the text requests the loops again.
    if problem or not vim.api.nvim_buf_is_valid(shown.view) then return end
    shown.params, shown.tick = params, tick
    paint(shown, loops ~= vim.NIL and loops or nil)
  end, buffer)
end

local function later(buffer)
  if pending then pending:stop() end
  pending = vim.defer_fn(function() update(buffer) end, 60)
end

--- Writes a move into the text, and goes to the end of its statement, since the next choice applies to its result. Opens a window if the text has none.
function M.write(buffer, client, move)
  local window = windows.show(buffer)
  if not window then return server.warn('the text is closed: nothing is written') end
  vim.lsp.util.apply_workspace_edit(move.edit, client.offset_encoding)
  local edits = move.edit.documentChanges and move.edit.documentChanges[1].edits or select(2, next(move.edit.changes))
  local edit = edits[1]
  local from = edit.newText:find(move.statement, 1, true) or 1
  local _, breaks = edit.newText:sub(1, from + #move.statement - 1):gsub('\n', '\n')
  local row = edit.range.start.line + breaks + 1
  local line = vim.api.nvim_buf_get_lines(buffer, row - 1, row, false)[1] or ''
  vim.api.nvim_win_set_cursor(window, { row, math.max(#line - 1, 0) })
end

local function choose(buffer)
  local shown, client = views[buffer], server.of(buffer)
  local node = shown and shown.nodes[vim.api.nvim_win_get_cursor(0)[1] - 1]
  if not (node and client and shown.params) then return end
  -- The view shows an earlier text, whose loops may differ.
  if shown.tick ~= vim.api.nvim_buf_get_changedtick(buffer) then return update(buffer) end
  server.request(client, 'loopsmith/moves', vim.tbl_extend('force', shown.params, { place = node.place }), function(problem, moves)
    if problem or not moves or #moves == 0 then
      return vim.notify(('loopsmith: no primitive applies to `%s` here'):format(node.text))
    end
    vim.ui.select(moves, {
      prompt = node.text,
      format_item = function(move) return move.edit and move.title or ('not here: %s (%s)'):format(move.title, move.reason) end,
    }, function(move)
      if not move then return end
      if not move.edit then return vim.notify('loopsmith: ' .. move.reason, vim.log.levels.WARN) end
      M.write(buffer, client, move)
      later(buffer)
    end)
  end, buffer)
end

local function go(buffer)
  local node = views[buffer] and views[buffer].nodes[vim.api.nvim_win_get_cursor(0)[1] - 1]
  if not (node and node.range) then return end
  local window = windows.show(buffer)
  if not window then return end
  vim.api.nvim_set_current_win(window)
  vim.api.nvim_win_set_cursor(window, { node.range.start.line + 1, node.range.start.character })
end

--- Shows the loops at the cursor in a window beside, which follows the cursor.
function M.show()
  local buffer = vim.api.nvim_get_current_buf()
  if not server.need(buffer) then return end
  local shown = views[buffer]
  if not (shown and vim.api.nvim_buf_is_valid(shown.view)) then
    local view = vim.api.nvim_create_buf(false, true)
    shown = { view = view, nodes = {} }
    views[buffer] = shown
    vim.bo[view].bufhidden = 'wipe'
    windows.name(view, 'loopsmith-loops:' .. vim.api.nvim_buf_get_name(buffer))
    vim.keymap.set('n', '<CR>', function() choose(buffer) end, { buffer = view, desc = 'Choose a primitive for this loop or block' })
    vim.keymap.set('n', 'o', function() go(buffer) end, { buffer = view, desc = 'Go to the origin of this loop or block' })
    local group = vim.api.nvim_create_augroup('loopsmith_loops_' .. buffer, { clear = true })
    vim.api.nvim_create_autocmd({ 'CursorMoved', 'CursorMovedI', 'TextChanged', 'TextChangedI' }, {
      group = group, buffer = buffer, callback = function() later(buffer) end,
    })
    vim.api.nvim_create_autocmd('BufWipeout', {
      group = group, buffer = view,
      callback = function()
        views[buffer] = nil
        vim.api.nvim_clear_autocmds({ group = group })
      end,
    })
    vim.api.nvim_create_autocmd('BufWipeout', {
      group = group, buffer = buffer,
      callback = function()
        vim.schedule(function() pcall(vim.api.nvim_buf_delete, view, { force = true }) end)
      end,
    })
  end
  if vim.fn.bufwinid(shown.view) == -1 then
    local here = vim.api.nvim_get_current_win()
    vim.cmd('rightbelow vsplit')
    vim.api.nvim_win_set_buf(0, shown.view)
    vim.wo.wrap = false
    vim.wo.cursorline = true
    vim.api.nvim_set_current_win(here)
  end
  update(buffer)
end

return M
