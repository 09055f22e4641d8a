-- The IR beside a schedule: one scratch buffer per text and stage, with the program after the statement at the cursor and its changed lines
-- marked, or with the lowered program, its LLVM IR or assembly, or its kernels. A line of the text and the lines that came from it are marked on both sides.
local M = {}

local server = require('loopsmith.server')
local windows = require('loopsmith.window')
local stages = {
  [''] = { name = 'loopsmith-ir:%s', comment = '#', delay = 40 },
  lowered = { name = 'loopsmith-ir:%s:lowered', comment = '#', delay = 40 },
  llvm = { name = 'loopsmith-ir:%s:llvm', comment = ';', syntax = 'llvm', delay = 150 },
  asm = { name = 'loopsmith-ir:%s:asm', comment = '#', syntax = 'asm', delay = 150 },
  device = { name = 'loopsmith-ir:%s:device', comment = '#', delay = 40 },
  cuda = { name = 'loopsmith-ir:%s:cuda', comment = '//', syntax = 'cuda', delay = 40 },
  opencl = { name = 'loopsmith-ir:%s:opencl', comment = '//', syntax = 'c', delay = 40 },
  ptx = { name = 'loopsmith-ir:%s:ptx', comment = '//', syntax = 'asm', delay = 150 },
}
-- source buffer -> stage -> { buffer, timer, painted }, and for the shown view: the answer, the `params` of its request, the `tick` of the text
local views = {}
local marks = vim.api.nvim_create_namespace('loopsmith_ir')
local same = vim.api.nvim_create_namespace('loopsmith_ir_same')

local function show_same(buffer, lines)
  vim.api.nvim_buf_clear_namespace(buffer, same, 0, -1)
  for _, line in ipairs(lines) do
    if line < vim.api.nvim_buf_line_count(buffer) then vim.api.nvim_buf_set_extmark(buffer, same, line, 0, { line_hl_group = 'Visual' }) end
  end
end

local function lines_from(answer, source_line)
  local lines = {}
  for _, pair in ipairs(answer.sources or {}) do
    if pair[2] == source_line then table.insert(lines, pair[1] + 1) end
  end
  return lines
end

local function cursors(view)
  local out = {}
  for _, window in ipairs(vim.fn.win_findbuf(view)) do out[window] = vim.api.nvim_win_get_cursor(window) end
  return out
end

-- Cursors move to the change; the cursor in the view moves only if it is where `jumps` remembers it.
local function paint(view, stage, answer, source_line, jumps)
  local before = cursors(view)
  local lines = vim.split(stages[stage].comment .. ' ' .. answer.title .. '\n' .. answer.text, '\n')
  vim.bo[view].modifiable = true
  vim.api.nvim_buf_set_lines(view, 0, -1, false, lines)
  vim.bo[view].modifiable = false
  vim.api.nvim_buf_clear_namespace(view, marks, 0, -1)
  for _, range in ipairs(answer.changed) do
    for line = range.startLine + 1, range.endLine do
      vim.api.nvim_buf_set_extmark(view, marks, line, 0, { line_hl_group = 'DiffAdd' })
    end
  end
  local here = lines_from(answer, source_line)
  show_same(view, here)
  local first = answer.changed[1] and answer.changed[1].startLine + 1 or here[1]
  for window, at in pairs(before) do
    local goes = window ~= vim.api.nvim_get_current_win() or jumps and vim.deep_equal(jumps[window], at)
    if first and goes then vim.api.nvim_win_set_cursor(window, { math.min(first + 1, #lines), 0 }) end
  end
end

-- Returns the identifier of the text, or nil if it is closed.
local function tick_of(buffer) return vim.api.nvim_buf_is_valid(buffer) and vim.api.nvim_buf_get_changedtick(buffer) or nil end

local function update(buffer, stage, jumps)
  local view, client, window = (views[buffer] or {})[stage], server.of(buffer), windows.of(buffer)
  if not (view and client and window and vim.api.nvim_buf_is_valid(view.buffer)) then return false end
  local params = vim.lsp.util.make_position_params(window, client.offset_encoding)
  local tick = tick_of(buffer)
  params.stage = stage
  return server.request(client, 'loopsmith/ir', params, function(_, answer)
    -- An answer about an outdated text is an error; the change of the text requests the view again.
    if not answer or not vim.api.nvim_buf_is_valid(view.buffer) then return end
    if tick ~= tick_of(buffer) then jumps = nil end
    view.answer, view.params, view.tick = answer, params, tick
    paint(view.buffer, stage, answer, params.position.line, jumps)
    if view.painted then view.painted() end
  end, buffer)
end

-- Shows the current text, then calls `then_`, with false if the window or the server is gone. After an edit from the view, the cursor in the
-- view moves to the result, unless it was moved or the text was changed meanwhile.
local function follow(buffer, stage, view, is_written, then_)
  local patience = 100
  local jumps, tick = is_written and cursors(view.buffer) or nil, tick_of(buffer)
  local look
  local function finish(is_well)
    if view.painted ~= look then return end
    view.painted = nil
    then_(is_well)
  end
  function look()
    if view.tick and view.tick == tick_of(buffer) then finish(true) end
  end
  local function ask()
    if view.painted ~= look then return end
    patience = patience - 1
    if tick_of(buffer) ~= tick then jumps = nil end
    if patience == 0 or not update(buffer, stage, jumps) then return finish(false) end
    vim.defer_fn(ask, 300)
  end
  view.painted = look
  view.tick = nil
  ask()
end

-- For a cursor in a view: marks the line of the text that its line came from.
local function show_source(buffer, stage)
  local view = (views[buffer] or {})[stage]
  if not (view and view.answer) then return end
  local at = vim.api.nvim_win_get_cursor(0)[1] - 2
  local source
  for _, pair in ipairs(view.answer.sources or {}) do
    if pair[1] == at then source = pair[2] break end
    if (stage == '' or stage == 'lowered') and pair[1] < at then source = pair[2] end
  end
  show_same(buffer, source and { source } or {})
  show_same(view.buffer, source and lines_from(view.answer, source) or {})
  local window = windows.of(buffer)
  if source and window then
    vim.api.nvim_win_call(window, function()
      local line, viewed = source + 1, vim.fn.line('.')
      local is_in_sight = line >= vim.fn.line('w0') and line <= vim.fn.line('w$')
      -- The statement that is viewed stays in sight, with the cursor on it: a key writes the next one behind it.
      if not is_in_sight and math.abs(line - viewed) < vim.api.nvim_win_get_height(0) then vim.fn.winrestview({ topline = math.min(line, viewed) }) end
    end)
  end
end

-- Goes from a line of a view to the line of the program and the statements of the schedule that made it: to the first, with all of them in the location list.
local function go_to_origin(buffer, stage)
  local view, client = (views[buffer] or {})[stage], server.need(buffer)
  if not (view and view.answer and client) then return end
  local row, column = unpack(vim.api.nvim_win_get_cursor(0))
  if row == 1 then return end
  server.request(client, 'textDocument/definition', { textDocument = { uri = view.answer.uri }, position = { line = row - 2, character = column } }, function(problem, found)
    if problem or not found or not found[1] then return server.warn(problem and problem.message or 'this line has no origin in the text') end
    local window = windows.of(buffer)
    if window then vim.api.nvim_set_current_win(window) end
    vim.fn.setloclist(0, {}, ' ', { title = 'Where it came from', items = vim.lsp.util.locations_to_items(found, client.offset_encoding) })
    vim.lsp.util.show_document(found[1], client.offset_encoding, { focus = true })
  end, buffer)
end

--- Shows the IR at the cursor in a window beside, which follows the cursor; `stage`: 'lowered', 'llvm', 'asm', 'device', 'cuda', 'opencl', 'ptx'.
function M.show(stage)
  stage = stage or ''
  if not stages[stage] then return server.warn('the stages are lowered, llvm, asm, device, cuda, opencl and ptx') end
  local buffer = vim.api.nvim_get_current_buf()
  if not server.need(buffer) then return end
  views[buffer] = views[buffer] or {}
  local view = views[buffer][stage]
  if not (view and vim.api.nvim_buf_is_valid(view.buffer)) then
    view = { buffer = vim.api.nvim_create_buf(false, true) }
    views[buffer][stage] = view
    vim.bo[view.buffer].bufhidden = 'wipe'
    windows.name(view.buffer, stages[stage].name:format(vim.api.nvim_buf_get_name(buffer)))
    if stages[stage].syntax then
      vim.bo[view.buffer].syntax = stages[stage].syntax
    elseif not pcall(vim.treesitter.start, view.buffer, 'tirscript') then
      vim.bo[view.buffer].syntax = 'python'
    end
    local group = vim.api.nvim_create_augroup('loopsmith_ir_' .. buffer .. stage, { clear = true })
    vim.api.nvim_create_autocmd({ 'CursorMoved', 'CursorMovedI', 'TextChanged', 'TextChangedI' }, {
      group = group,
      buffer = buffer,
      callback = function()
        show_same(buffer, {})
        if view.timer then view.timer:stop() end
        view.timer = vim.defer_fn(function() update(buffer, stage) end, stages[stage].delay)
      end,
    })
    vim.api.nvim_create_autocmd('CursorMoved', { group = group, buffer = view.buffer, callback = function() show_source(buffer, stage) end })
    vim.keymap.set('n', 'gd', function() go_to_origin(buffer, stage) end, { buffer = view.buffer, desc = 'Loopsmith: go to the origin of this line' })
    -- Primitives do not apply to lowered programs.
    if stage == '' then
      require('loopsmith.keys').attach(view, buffer, function(is_written, then_) follow(buffer, stage, view, is_written, then_) end)
    end
    vim.api.nvim_create_autocmd('BufWipeout', {
      group = group,
      buffer = view.buffer,
      callback = function()
        views[buffer][stage] = nil
        if vim.api.nvim_buf_is_valid(buffer) then show_same(buffer, {}) end
        vim.api.nvim_clear_autocmds({ group = group })
      end,
    })
    vim.api.nvim_create_autocmd('BufWipeout', {
      group = group,
      buffer = buffer,
      callback = function()
        vim.schedule(function() pcall(vim.api.nvim_buf_delete, view.buffer, { force = true }) end)
      end,
    })
  end
  if vim.fn.bufwinid(view.buffer) == -1 then
    local here = vim.api.nvim_get_current_win()
    vim.cmd('rightbelow vsplit')
    vim.api.nvim_win_set_buf(0, view.buffer)
    vim.wo.wrap = false
    vim.api.nvim_set_current_win(here)
  end
  update(buffer, stage)
end

return M
