-- Keys in the IR view: one key on a loop or block writes a primitive into the schedule, behind the statement that is viewed, and the view
-- follows. Where there is a choice it is asked for; what is refused says why. `K` tells what is known of what is under the cursor.
local M = {}

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

-- The title is the view's first line; what follows is the program. None above it.
local function here()
  local at = vim.api.nvim_win_get_cursor(0)
  return at[1] >= 2 and { line = at[1] - 2, character = at[2] } or nil
end

local function refuse(why) vim.notify('loopsmith: ' .. why, vim.log.levels.WARN) end

local function show_legal(buffer, moves)
  vim.api.nvim_buf_clear_namespace(buffer, legal, 0, -1)
  for _, move in ipairs(moves) do
    if move.other and move.edit then
      local from, to = move.other.start, move.other['end']
      pcall(vim.api.nvim_buf_set_extmark, buffer, legal, from.line + 1, from.character, { end_col = to.character, hl_group = 'LoopsmithLegal' })
    end
  end
end

--- Maps the keys in a view of a text: `view` holds its buffer and, with each answer, what was asked (`params`); `follow` shows what came of an edit.
function M.attach(view, buffer, stage, client_of, follow)
  vim.api.nvim_set_hl(0, 'LoopsmithLegal', { default = true, link = 'IncSearch' })
  local function ask(method, more, then_)
    local client, at = client_of(buffer), here()
    if not (client and view.params and at) then return refuse('there is no loop or block at the cursor') end
    local params = vim.tbl_extend('force', { textDocument = view.params.textDocument, position = view.params.position, at = at }, more)
    client.request(method, params, function(problem, answer)
      if problem then return refuse(problem.message) end
      then_(client, answer ~= vim.NIL and answer or nil)
    end, buffer)
  end
  local function apply(client, move)
    if not move.edit then return refuse(move.reason) end
    require('loopsmith.loops').write(buffer, client, move)
    follow()
  end
  local function choose(client, answer)
    local allowed = vim.tbl_filter(function(move) return move.edit ~= nil end, answer.moves)
    if #allowed == 0 then return refuse(answer.reason or 'nothing can be done here') end
    if #allowed == 1 then return apply(client, allowed[1]) end
    show_legal(view.buffer, answer.moves)
    vim.cmd.redraw()
    vim.ui.select(answer.moves, {
      prompt = answer.about,
      format_item = function(move) return move.edit and move.title or ('not here: %s (%s)'):format(move.title, move.reason) end,
    }, function(move)
      if vim.api.nvim_buf_is_valid(view.buffer) then show_legal(view.buffer, {}) end
      if move then apply(client, move) end
    end)
  end
  local function split(count)
    if count > 0 then return ask('loopsmith/viewMoves', { primitive = 'split', factors = tostring(count) }, choose) end
    ask('loopsmith/viewMoves', { primitive = 'split' }, function(_, answer)
      if not answer.factors then return refuse(answer.reason) end
      vim.ui.input({ prompt = ('split %s by: '):format(answer.about), default = answer.factors }, function(factors)
        if factors and factors ~= '' then ask('loopsmith/viewMoves', { primitive = 'split', factors = factors }, choose) end
      end)
    end)
  end
  -- Lowered views show what no primitive is about.
  if stage ~= '' then return end
  vim.keymap.set('n', 'K', function()
    ask('loopsmith/viewHover', {}, function(_, answer)
      if not answer then return refuse('nothing is known of this') end
      vim.lsp.util.open_floating_preview(vim.split(answer.contents.value, '\n'), 'markdown', { border = 'rounded', focus_id = 'loopsmith_view' })
    end)
  end, { buffer = view.buffer, desc = 'What is known of this loop, block or buffer' })
  for _, one in ipairs(keys) do
    local key, primitive, desc = unpack(one)
    vim.keymap.set('n', key, function()
      if primitive == 'split' then return split(vim.v.count) end
      ask('loopsmith/viewMoves', { primitive = primitive }, choose)
    end, { buffer = view.buffer, desc = desc, nowait = true })
  end
end

return M
