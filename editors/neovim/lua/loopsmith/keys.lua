-- Keys in the IR view: one key on a loop or block writes a primitive into the schedule, after the statement that is viewed, and the view
-- follows. Several possibilities are listed; a rejected primitive shows the reason. `K` shows the hover of the thing under the cursor.
local M = {}

local server = require('loopsmith.server')
local windows = require('loopsmith.window')

local legal = vim.api.nvim_create_namespace('loopsmith_legal')
local keys = {
  { 's', 'split', 'Split the loop: by the count (32s), or by factors that are asked for' },
  { 'v', 'vectorize', 'Vectorize the loop' },
  { 'u', 'unroll', 'Unroll the loop' },
  { 'p', 'parallel', 'Run the iterations of the loop in parallel' },
  { 'b', 'bind', 'Bind the loop to threads' },
  { 'c', 'compute_at', 'Compute the block under a loop; the loops where it may go are marked' },
  { 'r', 'reorder', 'Change the order of loops' },
  { 'f', 'fuse', 'Fuse loops' },
}

-- The first line of the view is a title, the program follows. Returns nil on the title.
local function cursor_in(window, view)
  if not (vim.api.nvim_win_is_valid(window) and vim.api.nvim_win_get_buf(window) == view) then return nil end
  local at = vim.api.nvim_win_get_cursor(window)
  return at[1] >= 2 and { line = at[1] - 2, character = at[2] } or nil
end

local function show_legal(buffer, moves)
  vim.api.nvim_buf_clear_namespace(buffer, legal, 0, -1)
  for _, move in ipairs(moves) do
    if move.other and move.edit then
      local from, to = move.other.start, move.other['end']
      pcall(vim.api.nvim_buf_set_extmark, buffer, legal, from.line + 1, from.character, { end_col = to.character, hl_group = 'LoopsmithLegal' })
    end
  end
end

--- Maps the keys in a view of a text. `view` holds its buffer and the shown state (`params`, and the `tick` of the text). `follow` shows the
--- current text, changed from here or not, and calls its argument, with false if it cannot.
function M.attach(view, buffer, follow)
  vim.api.nvim_set_hl(0, 'LoopsmithLegal', { default = true, link = 'IncSearch' })
  -- A key applies to the result of the key before it, so it waits until that result is shown. A rejected key discards those after it.
  local turn, waiting = nil, {}      -- { action, window, client, is_asking }: the key that is carried out, and those behind it
  local next_turn
  local function done(mine)
    if turn ~= mine then return end
    turn = nil
    if waiting[1] then next_turn(table.remove(waiting, 1)) end
  end
  local function refuse(mine, why)
    if turn ~= mine then return end
    turn, waiting = nil, {}
    server.warn(why)
  end
  function next_turn(mine)
    turn = mine
    if not windows.show(buffer) then return refuse(mine, 'the text is closed: nothing can be written into it') end
    if view.tick == vim.api.nvim_buf_get_changedtick(buffer) then return mine.action(mine) end
    follow(false, function(is_shown)
      if not is_shown then return refuse(mine, 'the view does not show the text as it is now') end
      mine.action(mine)
    end)
  end
  local function press(action)
    local client = server.need(buffer)
    if not client then return end
    -- An open question is dropped; a server that has ended sends no answer.
    if turn and (turn.is_asking or turn.client ~= client) then turn, waiting = nil, {} end
    local mine = { action = action, window = vim.api.nvim_get_current_win(), client = client }
    if turn then table.insert(waiting, mine) else next_turn(mine) end
  end

  local function ask(mine, method, more, then_)
    local at = cursor_in(mine.window, view.buffer)
    if not at then return refuse(mine, 'there is no loop or block at the cursor') end
    local params = vim.tbl_extend('force', { textDocument = view.params.textDocument, position = view.params.position, at = at }, more)
    server.request(mine.client, method, params, function(problem, answer)
      if turn ~= mine then return end
      if problem then return refuse(mine, problem.message) end
      then_(mine, answer ~= vim.NIL and answer or nil)
    end, buffer)
  end
  local function apply(mine, move)
    if not move.edit then return refuse(mine, move.reason) end
    require('loopsmith.loops').write(buffer, mine.client, move)
    follow(true, function() done(mine) end)
  end
  -- An answer or choice counts only if nothing else happened meanwhile.
  local function answered(mine, answer, then_)
    if turn ~= mine then return end
    mine.is_asking = false
    if answer == nil or answer == '' then return done(mine) end
    then_(answer)
  end
  local function choose(mine, answer)
    local allowed = vim.tbl_filter(function(move) return move.edit ~= nil end, answer.moves)
    if #allowed == 0 then return refuse(mine, answer.reason or 'nothing can be done here') end
    if #allowed == 1 then return apply(mine, allowed[1]) end
    show_legal(view.buffer, answer.moves)
    vim.cmd.redraw()
    mine.is_asking = true
    vim.ui.select(answer.moves, {
      prompt = answer.about,
      format_item = function(move) return move.edit and move.title or ('not here: %s (%s)'):format(move.title, move.reason) end,
    }, function(move)
      if vim.api.nvim_buf_is_valid(view.buffer) then show_legal(view.buffer, {}) end
      answered(mine, move, function() apply(mine, move) end)
    end)
  end
  local function split(mine, count)
    if count > 0 then return ask(mine, 'loopsmith/viewMoves', { primitive = 'split', factors = tostring(count) }, choose) end
    ask(mine, 'loopsmith/viewMoves', { primitive = 'split' }, function(_, answer)
      if not answer.factors then return refuse(mine, answer.reason) end
      mine.is_asking = true
      vim.ui.input({ prompt = ('split %s by: '):format(answer.about), default = answer.factors }, function(factors)
        answered(mine, factors, function() ask(mine, 'loopsmith/viewMoves', { primitive = 'split', factors = factors }, choose) end)
      end)
    end)
  end
  local function tell(mine)
    ask(mine, 'loopsmith/viewHover', {}, function(_, answer)
      if not answer then return refuse(mine, 'nothing is known of this') end
      vim.lsp.util.open_floating_preview(vim.split(answer.contents.value, '\n'), 'markdown', { border = 'rounded', focus_id = 'loopsmith_view' })
      done(mine)
    end)
  end
  vim.keymap.set('n', 'K', function() press(tell) end, { buffer = view.buffer, desc = 'Show the facts about this loop, block or buffer' })
  for _, one in ipairs(keys) do
    local key, primitive, desc = unpack(one)
    vim.keymap.set('n', key, function()
      local count = vim.v.count
      press(function(mine)
        if primitive == 'split' then return split(mine, count) end
        ask(mine, 'loopsmith/viewMoves', { primitive = primitive }, choose)
      end)
    end, { buffer = view.buffer, desc = desc, nowait = true })
  end
end

return M
