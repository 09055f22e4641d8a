-- Drives Loopsmith in a headless Neovim as key presses would: errors, a failing primitive, hover, highlighting, tuning to
-- its end, the inserted schedule, undo. Prints the results; quits with 1 after a failure.
local failed = 0
local function check(what, ok, got)
  if not ok then failed = failed + 1 end
  local text = type(got) == 'string' and got or vim.inspect(got, { newline = ' ', indent = '' })
  io.stdout:write(('%s %s: %s\n'):format(ok and 'ok  ' or 'FAIL', what, text))
end
local function wait(what, condition, ms)
  local ok = vim.wait(ms or 20000, condition, 20)
  if not ok then check('waited for ' .. what, false, 'timed out') end
  return ok
end
local function floats()
  return vim.tbl_filter(function(w) return vim.api.nvim_win_get_config(w).relative ~= '' end, vim.api.nvim_list_wins())
end
local function text() return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n') end
local function line_of(pattern)
  for i, line in ipairs(vim.api.nvim_buf_get_lines(0, 0, -1, false)) do
    if line:find(pattern) then return i, line end
  end
end
local progress, reports = {}, 0
vim.api.nvim_create_autocmd('LspProgress', {
  callback = function(event)
    local value = (event.data.params or event.data.result).value
    if value.kind == 'report' then reports = reports + 1 else table.insert(progress, value.kind) end
  end,
})

local ok, err = xpcall(function()
  check('version', vim.version.ge(vim.version(), { 0, 10, 0 }), tostring(vim.version()))
  check('filetype', vim.bo.filetype == 'tirscript', vim.bo.filetype)

  -- An undefined name is underlined at its place.
  wait('the error', function() return #vim.diagnostic.get(0) > 0 end)
  local bad = line_of('Bx%[')
  local found = vim.tbl_filter(function(d) return d.lnum == bad - 1 end, vim.diagnostic.get(0))
  check('undefined name', #found > 0 and found[1].message:find('Bx', 1, true) ~= nil, found[1] and found[1].message or 'none')
  local line = vim.api.nvim_buf_get_lines(0, bad - 1, bad, false)[1]
  check('its span', found[1] and line:sub(found[1].col + 1, found[1].end_col) == 'Bx', found[1] and { found[1].col, found[1].end_col })

  -- After the correction the schedule runs, and its failing primitive is underlined.
  vim.api.nvim_buf_set_lines(0, bad - 1, bad, false, { (line:gsub('Bx', 'B')) })
  local fuse = line_of('sch%.fuse')
  wait('the error of the schedule', function()
    local all = vim.diagnostic.get(0)
    return #all > 0 and all[1].lnum == fuse - 1
  end)
  local failing = vim.diagnostic.get(0)[1]
  check('failing primitive', failing.lnum == fuse - 1 and failing.message:find('fuse') ~= nil, failing.message)
  -- The code actions were all tried and work; the preferred one repairs the schedule; one undo reverts it.
  vim.api.nvim_buf_set_lines(0, fuse - 1, fuse, false, { '    sch.fuse(i1, i0)' })
  wait('another refusal', function() local all = vim.diagnostic.get(0); return #all > 0 and all[1].message:find('i_1', 1, true) ~= nil end)
  vim.api.nvim_win_set_cursor(0, { fuse, 6 })
  local refused = text()
  -- Changes by a script are one step of undo up to here.
  local function break_undo() vim.cmd('let &undolevels = &undolevels') end
  break_undo()
  vim.lsp.buf.code_action({ apply = true, filter = function(action) return action.isPreferred and action.kind == 'quickfix' end })
  wait('the repair', function() return text() ~= refused end)
  wait('the repaired schedule', function() return #vim.diagnostic.get(0, { severity = vim.diagnostic.severity.ERROR }) == 0 end)
  check('the preferred repair heals it', text() ~= refused and #vim.diagnostic.get(0, { severity = vim.diagnostic.severity.ERROR }) == 0, vim.api.nvim_get_current_line())
  vim.cmd('undo')
  fuse = line_of('sch%.fuse')
  check('one undo takes the repair back', text() == refused, 'undo')
  vim.api.nvim_buf_set_lines(0, fuse - 1, fuse, false, { '    sch.reorder(k, i1)' })
  break_undo()
  wait('no diagnostics', function() return #vim.diagnostic.get(0, { severity = vim.diagnostic.severity.ERROR }) == 0 end)
  check('mended', #vim.diagnostic.get(0, { severity = vim.diagnostic.severity.ERROR }) == 0, vim.diagnostic.get(0))

  -- Hover on a loop.
  local loops, loop_line = line_of('T%.grid')
  vim.api.nvim_win_set_cursor(0, { loops, loop_line:find('k in') - 1 })
  vim.lsp.buf.hover()
  wait('the hover window', function() return #floats() > 0 end)
  if #floats() > 0 then
    local hover = table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(floats()[1]), 0, -1, false), '\n')
    check('hover: extent', hover:find('96', 1, true) ~= nil, (hover:gsub('\n', ' | ')))
    check('hover: flops', hover:lower():find('flop') ~= nil, 'flops')
    vim.api.nvim_win_close(floats()[1], true)
  end

  -- Behind each statement of the schedule its effect; lenses above the program and the schedule.
  local split = line_of('sch%.split')
  wait('the hints', function()
    for _, hint in ipairs(vim.lsp.inlay_hint.get({ bufnr = 0 })) do
      local label = hint.inlay_hint.label
      if type(label) == 'table' then label = table.concat(vim.tbl_map(function(part) return part.value end, label)) end
      if hint.inlay_hint.position.line == split - 1 and label == '=> i0:16 i1:8' then return true end
    end
  end)
  check('inlay hint of split', true, '=> i0:16 i1:8')
  -- They appear without a request.
  local function lenses()
    local found = vim.lsp.codelens.enable and vim.tbl_map(function(one) return one.lens end, vim.lsp.codelens.get({ bufnr = 0 })) or vim.lsp.codelens.get(0)
    return vim.tbl_map(function(lens) return lens.command and lens.command.title or '' end, found)
  end
  wait('the lenses', function() return vim.tbl_contains(lenses(), '4 steps ok') end)
  local titles = lenses()
  check('lenses', vim.tbl_contains(titles, 'tune') and vim.tbl_contains(titles, '4 steps ok') and vim.tbl_contains(titles, 'show IR'), titles)

  -- The IR beside the text follows the cursor from statement to statement, and marks the lines that the statement changed.
  local source = vim.api.nvim_get_current_buf()
  vim.api.nvim_win_set_cursor(0, { split, 6 })
  vim.cmd('LoopsmithIR')
  local function view()
    for _, w in ipairs(vim.api.nvim_list_wins()) do
      local b = vim.api.nvim_win_get_buf(w)
      if vim.api.nvim_buf_get_name(b):find('^loopsmith%-ir:') then return b end
    end
  end
  local function view_text() return view() and table.concat(vim.api.nvim_buf_get_lines(view(), 0, -1, false), '\n') or '' end
  wait('the IR', function() return view_text():find('for i_0, i_1', 1, true) ~= nil end)
  check('IR after split', view_text():find('for i_0, i_1, j, k in T.grid(16, 8, 64, 96)', 1, true) ~= nil, vim.split(view_text(), '\n')[1])
  local painted = vim.api.nvim_buf_get_extmarks(view(), vim.api.nvim_get_namespaces().loopsmith_ir, 0, -1, {})
  check('changed lines are marked', #painted > 0, #painted)
  vim.api.nvim_win_set_cursor(0, { split - 1, 6 })
  vim.api.nvim_exec_autocmds('CursorMoved', { buffer = source })
  wait('the IR to follow', function() return view_text():find('for i, j, k in T.grid(128, 64, 96)', 1, true) ~= nil end)
  check('it follows the cursor', view_text():find('i_0', 1, true) == nil, vim.split(view_text(), '\n')[1])

  -- Keys in the view: each writes its primitive after the viewed statement, and the view follows; a rejected key shows the reason.
  local function source_text() return table.concat(vim.api.nvim_buf_get_lines(source, 0, -1, false), '\n') end
  local code = vim.api.nvim_get_current_win()
  local told, notify_before, input_before, pick_before = {}, vim.notify, vim.ui.input, vim.ui.select
  vim.notify = function(message) table.insert(told, message) end
  local function look_at(line)
    vim.api.nvim_set_current_win(code)
    vim.api.nvim_win_set_cursor(code, { line, 6 })
    vim.api.nvim_exec_autocmds('CursorMoved', { buffer = source })
  end
  local function press(pattern, word, keys)
    local window = vim.fn.bufwinid(view())
    vim.api.nvim_set_current_win(window)
    for i, l in ipairs(vim.api.nvim_buf_get_lines(view(), 0, -1, false)) do
      if l:find(pattern) then vim.api.nvim_win_set_cursor(window, { i, l:find(word, 1, true) - 1 }) break end
    end
    vim.api.nvim_feedkeys(keys, 'xt', false)
  end
  local plain = source_text()
  local function undone()
    vim.api.nvim_set_current_win(code)
    vim.cmd('undo')
    return source_text() == plain
  end
  look_at(split)
  wait('the split', function() return view_text():find('for i_0, i_1', 1, true) ~= nil end)
  -- The origins of a loop: its line in the program, and the statement that made it.
  press('for i_0, i_1', 'i_1', 'gd')
  wait('the text that it came from', function() return vim.api.nvim_get_current_buf() == source and #vim.fn.getloclist(0) > 0 end)
  local origins = vim.tbl_map(function(one) return vim.trim(vim.api.nvim_buf_get_lines(source, one.lnum - 1, one.lnum, false)[1]) end, vim.fn.getloclist(0))
  check('gd in the view', #origins == 2 and origins[1]:find('T.grid', 1, true) ~= nil and origins[2]:find('sch.split', 1, true) ~= nil, origins)
  look_at(split)
  press('for i_0, i_1', 'i_1', 'u')
  wait('the unrolled loop', function() return view_text():find('for i_1 in T.unroll(8)', 1, true) ~= nil end)
  local written = vim.api.nvim_buf_get_lines(source, split, split + 1, false)[1]
  check('u: unroll behind the statement that is viewed', written == '    sch.unroll(i1)' and vim.api.nvim_win_get_cursor(code)[1] == split + 1, written)
  check('u: the view follows, the keys stay in it', vim.api.nvim_get_current_buf() == view(), vim.split(view_text(), '\n')[1])
  check('u: one undo', undone(), 'undo')
  look_at(split)
  wait('the loops again', function() return view_text():find('for i_0, i_1', 1, true) ~= nil end)
  press('for i_0, i_1', 'i_1', '4s')
  wait('the loop split by a count', function() return view_text():find('i_1_1', 1, true) ~= nil end)
  check('4s: split by a count', source_text():find('i_1_0, i_1_1 = sch.split(i1, factors=[None, 4])', 1, true) ~= nil, vim.api.nvim_buf_get_lines(source, split, split + 1, false)[1])
  check('4s: one undo', undone(), 'undo')
  look_at(split)
  wait('the loops once more', function() return view_text():find('for i_0, i_1', 1, true) ~= nil and view_text():find('i_1_1', 1, true) == nil end)
  local prompt
  vim.ui.input = function(options, done) prompt = options.prompt .. options.default; done('2, None, 2') end
  press('for i_0, i_1', 'i_0', 's')
  wait('the loop split by what was typed', function() return source_text() ~= plain end)
  check('s: asks for the factors', prompt == 'split loop `i_0`, extent 16 by: None, 8' and source_text():find('factors=[2, None, 2]', 1, true) ~= nil, prompt)
  check('s: one undo', undone(), 'undo')
  for key, call in pairs({ v = 'sch.vectorize(j)', p = 'sch.parallel(j)', f = 'sch.fuse(i0, i1', r = 'sch.reorder(', b = 'sch.bind(j, thread_axis=' }) do
    look_at(split)
    wait('the loops for ' .. key, function() return view_text():find('for i_0, i_1, j, k', 1, true) ~= nil end)
    local offered
    vim.ui.select = function(moves, options, done) offered = options.prompt; done(moves[1]) end
    press('for i_0, i_1', key == 'f' and 'i_0' or 'j, k', key)
    wait(key .. ' to be written', function() return source_text() ~= plain end)
    local line = vim.api.nvim_buf_get_lines(source, split, split + 1, false)[1]
    check(key .. ': ' .. call, line:find(call, 1, true) ~= nil, offered and line .. ' of ' .. offered or line)
    check(key .. ': one undo', undone(), 'undo')
  end
  look_at(split)
  wait('the loops for a refusal', function() return view_text():find('for i_0, i_1, j, k', 1, true) ~= nil end)
  told = {}
  press('for i_0, i_1', 'k in', 'v')
  wait('the reason', function() return #told > 0 end)
  check('v: a reduction is refused with the reason', told[1]:find('which is not spatial', 1, true) ~= nil and source_text() == plain, told[1])
  -- The view marks the possible destinations of a block.
  vim.api.nvim_set_current_win(code)
  vim.api.nvim_buf_set_lines(source, split - 2, split - 2, false, { '    acc = sch.cache_write(c, 0, "local")' })
  look_at(split + 1)
  wait('the copy', function() return view_text():find('T.block("C_local")', 1, true) ~= nil and view_text():find('i_0', 1, true) ~= nil end)
  local lit, choices
  vim.ui.select = function(moves, options, done)
    lit = vim.tbl_map(function(m)
      local l = vim.api.nvim_buf_get_lines(view(), m[2], m[2] + 1, false)[1]
      return l:sub(m[3] + 1, m[4].end_col)
    end, vim.api.nvim_buf_get_extmarks(view(), vim.api.nvim_get_namespaces().loopsmith_legal, 0, -1, { details = true }))
    choices = vim.tbl_map(options.format_item, moves)
    done(moves[1])
  end
  local before_move = source_text()
  press('T%.block%("C_local"%)', 'C_local', 'c')
  wait('the block to be moved', function() return source_text() ~= before_move end)
  check('c: the places where it may go are marked', vim.tbl_contains(lit or {}, 'i_0') and vim.tbl_contains(lit or {}, 'j'), lit or 'none')
  check('c: reverse_compute_at', source_text():find('sch.reverse_compute_at(acc, ', 1, true) ~= nil, choices or 'none')
  check('c: no mark stays', #vim.api.nvim_buf_get_extmarks(view(), vim.api.nvim_get_namespaces().loopsmith_legal, 0, -1, {}) == 0, 'marks')
  vim.api.nvim_buf_set_lines(source, 0, -1, false, vim.split(plain, '\n'))
  look_at(split)
  wait('the loops for K', function() return view_text():find('for i_0, i_1, j, k', 1, true) ~= nil and view_text():find('C_local', 1, true) == nil end)
  press('for i_0, i_1', 'k in', 'K')
  wait('what is known of a loop of the view', function() return #floats() > 0 end)
  local known = #floats() > 0 and table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(floats()[1]), 0, -1, false), ' | ') or ''
  check('K: what a loop of the view carries', known:find('carries:', 1, true) ~= nil, known)
  for _, w in ipairs(floats()) do vim.api.nvim_win_close(w, true) end
  vim.notify, vim.ui.input, vim.ui.select = notify_before, input_before, pick_before
  vim.api.nvim_set_current_win(code)
  vim.api.nvim_buf_delete(view(), { force = true })

  -- The program lowered, as LLVM IR, as assembly. A line of the text and its lines in the view are marked on both sides.
  local function marked(b) return vim.tbl_map(function(m) return m[2] end, vim.api.nvim_buf_get_extmarks(b, vim.api.nvim_get_namespaces().loopsmith_ir_same, 0, -1, {})) end
  local product = line_of('B%[vk, vj%]')
  for stage, sign in pairs({ lowered = 'for i in range%(128%)', llvm = 'define .*@matmul', asm = 'matmul:' }) do
    vim.api.nvim_win_set_cursor(0, { product, 20 })
    vim.cmd('LoopsmithIR ' .. stage)
    wait('the ' .. stage, function() return view_text():find(sign:match('^%S+')) ~= nil and #marked(view()) > 0 end)
    local lines = vim.split(view_text(), '\n')
    local made = vim.tbl_map(function(l) return lines[l + 1] end, marked(view()))
    local multiplies = vim.tbl_filter(function(l) return l:find('%*') or l:find('mul') or l:find('fma') or l:find('fmadd') end, made)
    check(stage .. ': the lines of the product', #multiplies > 0, vim.trim(multiplies[1] or 'none'))
    -- From the view to the text.
    local w = vim.fn.bufwinid(view())
    local b = view()
    vim.api.nvim_win_call(w, function()
      for _, l in ipairs(marked(b)) do
        if lines[l + 1] == multiplies[1] then vim.api.nvim_win_set_cursor(w, { l + 1, 0 }) break end
      end
      vim.api.nvim_exec_autocmds('CursorMoved', { buffer = b })
    end)
    check(stage .. ': and back', marked(source)[1] == product - 1, marked(source))
    vim.api.nvim_buf_delete(view(), { force = true })
    check(stage .. ': no mark stays', #marked(source) == 0, marked(source))
  end
  -- Two states side by side.
  vim.api.nvim_win_set_cursor(0, { split, 6 })
  vim.cmd('LoopsmithDiff')
  wait('two states', function() return #vim.api.nvim_list_tabpages() == 2 and #vim.api.nvim_tabpage_list_wins(0) == 2 end)
  local states = vim.tbl_map(function(w) return table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(w), 0, -1, false), '\n') end, vim.api.nvim_tabpage_list_wins(0))
  check('states compared', #states == 2 and states[1]:find('for i, j, k', 1, true) ~= nil and states[2]:find('for i_0, i_1', 1, true) ~= nil and vim.wo.diff, #states)
  vim.cmd('tabclose')
  -- From a variable of the schedule to its loop in the program at that line, and from a loop to its instructions.
  local function jump(method, line, column)
    vim.api.nvim_win_set_cursor(0, { line, column })
    local p = vim.lsp.util.make_position_params(0, 'utf-8')
    local all = vim.lsp.buf_request_sync(0, method, p, 10000)
    for _, one in pairs(all or {}) do
      local place = one.result and (one.result.uri and one.result or one.result[1])
      if place then
        vim.lsp.util.show_document(place, 'utf-8', { focus = true })
        return vim.api.nvim_buf_get_name(0), vim.api.nvim_get_current_line(), vim.api.nvim_win_get_cursor(0)[2]
      end
    end
  end
  local name, there, column = jump('textDocument/typeDefinition', split, 4)
  check('type definition', (name or ''):find('#by_hand@3$') ~= nil and (there or ''):find('i_0', 1, true) == (column or 0) + 1, { name or 'none', there or '' })
  vim.api.nvim_set_current_buf(source)
  name, there = jump('textDocument/implementation', product, 20)
  check('implementation', (name or ''):find(':asm$') ~= nil and there ~= '', { name or 'none', vim.trim(there or '') })
  vim.api.nvim_set_current_buf(source)

  -- The loop view has a line per loop; a choice on a line is written into the schedule, and the view shows the new loops.
  vim.api.nvim_win_set_cursor(0, { split, 6 })
  vim.cmd('LoopsmithLoops')
  local function loop_view()
    for _, w in ipairs(vim.api.nvim_list_wins()) do
      local b = vim.api.nvim_win_get_buf(w)
      if vim.api.nvim_buf_get_name(b):find('^loopsmith%-loops:') then return b, w end
    end
  end
  local function loop_lines() return loop_view() and vim.api.nvim_buf_get_lines(loop_view(), 0, -1, false) or {} end
  local function line_with(pattern)
    for i, l in ipairs(loop_lines()) do if l:find(pattern) then return i, l end end
  end
  wait('the loops', function() return line_with('i_1 8') ~= nil end)
  check('loop view', line_with('i_0 16') == 3 and line_with('block C') ~= nil and line_with('k 96.*flop') ~= nil, loop_lines())
  local unsplit = text()
  local chosen
  local select_before = vim.ui.select
  vim.ui.select = function(moves, options, done)
    for _, move in ipairs(moves) do
      if move.edit and move.title:find('^sch%.unroll') then chosen = options.format_item(move); return done(move) end
    end
    done(nil)
  end
  local here = vim.api.nvim_get_current_win()
  vim.api.nvim_set_current_win(select(2, loop_view()))
  vim.api.nvim_win_set_cursor(0, { (line_with('i_1 8')), 0 })
  vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes('<CR>', true, false, true), 'xt', false)
  wait('the choice to be written', function() return table.concat(vim.api.nvim_buf_get_lines(source, 0, -1, false), '\n') ~= unsplit end)
  vim.ui.select = select_before
  vim.api.nvim_set_current_win(here)
  check('a primitive was chosen', (chosen or ''):find('sch.unroll(i1)', 1, true) == 1 and text():find('sch.unroll(i1)', 1, true) ~= nil, chosen or 'none')
  check('the cursor is on it', vim.api.nvim_get_current_line():find('sch.unroll(i1)', 1, true) ~= nil, vim.api.nvim_get_current_line())
  vim.api.nvim_exec_autocmds('CursorMoved', { buffer = source })
  wait('the view to follow', function() return line_with('i_1 8 unrolled') ~= nil end)
  check('the view shows it', line_with('i_1 8 unrolled') ~= nil, loop_lines()[4] or '')
  vim.cmd('undo')
  check('undone', text() == unsplit, 'undo')
  vim.api.nvim_buf_delete(loop_view(), { force = true })

  -- Completion of a loop variable, definition of a block named by a string, rename of it in program and schedule.
  local params = vim.lsp.util.make_position_params(0, 'utf-8')
  params.position = { line = split - 1, character = 23 }
  local answers = vim.lsp.buf_request_sync(0, 'textDocument/completion', params, 5000)
  local labels = {}
  for _, answer in pairs(answers or {}) do for _, item in ipairs((answer.result or {}).items or {}) do table.insert(labels, item.label) end end
  check('completion knows the loops', labels[1] == 'i' or vim.tbl_contains(labels, 'i'), table.concat(labels, ' '):sub(1, 60))
  local get, get_line = line_of('get_block')
  vim.api.nvim_win_set_cursor(0, { get, (get_line:find('"C"')) })
  vim.lsp.buf.rename('D')
  wait('the rename', function() return text():find('T.block("D")', 1, true) ~= nil and text():find('get_block("D")', 1, true) ~= nil end)
  check('rename of a block', true, 'C to D in the program and its schedule')
  vim.cmd('undo')
  wait('no diagnostics after undo', function() return #vim.diagnostic.get(0, { severity = vim.diagnostic.severity.ERROR }) == 0 end)

  -- Signature help, references, highlights, symbols, folds, selections, tokens, calls, requested by the editor's own commands.
  local function ask(method, extra, at)
    local p = vim.lsp.util.make_position_params(0, 'utf-8')
    if at then p.position = { line = at[1] - 1, character = at[2] } end
    local all = vim.lsp.buf_request_sync(0, method, vim.tbl_extend('force', p, extra or {}), 5000)
    for _, one in pairs(all or {}) do return one.result, one.err end
  end
  local signature
  wait('the loops in signature help', function()
    signature = ask('textDocument/signatureHelp', nil, { split, 23 })
    return vim.inspect(signature):find('loop `i`', 1, true) ~= nil
  end)
  check('signature help', signature and signature.signatures[1].label:find('split(', 1, true) == 1 and vim.inspect(signature):find('loop `i`', 1, true) ~= nil,
    signature and signature.signatures[1].label or 'none')
  local block = { get, (get_line:find('"C"')) }
  local uses
  -- The calls are those of the schedule's last run, which goes on beside the requests.
  wait('references of a block', function()
    uses = ask('textDocument/references', { context = { includeDeclaration = true } }, block)
    return uses and #uses == 5
  end)
  check('references of a block, calls that work on it too', uses and #uses == 5, uses and #uses or 'none')
  local marks = ask('textDocument/documentHighlight', nil, { line_of('C%[vi, vj%] = C'), 12 })
  local kinds = {}
  for _, mark in ipairs(marks or {}) do kinds[mark.kind] = (kinds[mark.kind] or 0) + 1 end
  check('reads and writes told apart', (kinds[2] or 0) > 0 and (kinds[3] or 0) > 0, kinds)
  local symbols = ask('textDocument/documentSymbol')
  check('symbols', symbols and #symbols == 2 and symbols[1].name == 'matmul' and symbols[2].name == 'by_hand', symbols and vim.tbl_map(function(s) return s.name end, symbols) or 'none')
  local folds = ask('textDocument/foldingRange')
  check('folds', folds and #folds >= 4, folds and #folds or 'none')
  local selections = ask('textDocument/selectionRange', { positions = { { line = split - 1, character = 23 } } })
  check('selections', selections and selections[1].parent ~= nil, 'word, call, statement, function')
  local tokens = ask('textDocument/semanticTokens/full')
  check('semantic tokens', tokens and #tokens.data >= 5 * 40, tokens and #tokens.data / 5 or 'none')
  local item = ask('textDocument/prepareCallHierarchy', nil, { line_of('^def matmul'), 4 })
  local callers = item and ask('callHierarchy/incomingCalls', { item = item[1] })
  check('who schedules it', callers and #callers == 1 and callers[1].from.name == 'by_hand', callers and #callers or 'none')
  local unformatted = text()
  vim.api.nvim_buf_set_lines(0, get - 1, get, false, { '    c = sch.get_block( "C" )' })
  vim.lsp.buf.format({ async = false })
  check('formatting', text() == unformatted, vim.api.nvim_buf_get_lines(0, get - 1, get, false)[1])

  -- A lens is executed: the program runs, and a message describes the result.
  wait('the lenses', function() return vim.tbl_contains(lenses(), 'run') and vim.tbl_contains(lenses(), '4 steps ok') end)
  check('lenses', vim.tbl_contains(lenses(), 'run') and vim.tbl_contains(lenses(), 'tune') and vim.tbl_contains(lenses(), 'bench') and vim.tbl_contains(lenses(), 'verify') and
    vim.tbl_contains(lenses(), 'show IR'), lenses())
  local said
  local show = vim.lsp.handlers['window/showMessage']
  vim.lsp.handlers['window/showMessage'] = function(_, params) said = params.message end
  local server = require('loopsmith.server')
  server.request_sync(server.of(0), 'workspace/executeCommand', { command = 'loopsmith.run', arguments = { { uri = vim.uri_from_bufnr(0), ['function'] = 'matmul', schedule = 'by_hand' } } }, 5000, 0)
  wait('what came out', function() return said ~= nil end, 60000)
  check('a lens runs the program', (said or ''):find('by_hand ran on random inputs: C float32 (128, 64)', 1, true) == 1, said or 'nothing')
  vim.lsp.handlers['window/showMessage'] = show

  -- A program with a size in its shapes: the first run asks for it.
  vim.fn.writefile({ '@T.prim_func', 'def scale(a: T.handle, b: T.handle):', '    n = T.int32()', '    A = T.match_buffer(a, (n,))', '    B = T.match_buffer(b, (n,))', '    for i in range(n):',
    '        with T.block("B"):', '            vi = T.axis.spatial(n, i)', '            B[vi] = A[vi] * T.float32(2)' }, 'sized.tir')
  vim.cmd('hide edit sized.tir')
  wait('the lenses of a program with a size', function() return vim.tbl_contains(lenses(), 'sizes n') end)
  local prompts, input = {}, vim.ui.input
  vim.ui.input = function(options, answered)
    prompts[#prompts + 1] = options.prompt .. options.default
    answered('24')
  end
  vim.lsp.handlers['window/showMessage'] = function(_, params) said = params.message end
  local client = server.of(0)
  for _, number in ipairs({ 1, 2 }) do
    said = nil
    local lens = vim.tbl_filter(function(one) return one.command and one.command.title == 'run' end, ask('textDocument/codeLens') or {})[1]
    vim.lsp.commands['loopsmith.run'](lens.command, { client_id = client.id, bufnr = vim.api.nvim_get_current_buf() })
    wait('the run with the size', function() return said ~= nil end, 60000)
    check('run ' .. number .. ' with the chosen size', said:find('scale ran on random inputs, with `n` = 24: B float32 (24)', 1, true) == 1, said)
  end
  check('the size is asked for once', #prompts == 1 and prompts[1]:find('Size `n` of `scale`', 1, true) ~= nil and prompts[1]:find('64', 1, true) ~= nil, prompts)
  vim.ui.input, vim.lsp.handlers['window/showMessage'] = input, show
  vim.cmd('hide buffer kernel.tir')

  -- Highlighting by tree-sitter.
  vim.treesitter.get_parser(0, 'tirscript'):parse()
  local def_line, def_text = line_of('^def matmul')
  local captures = vim.tbl_map(function(c) return c.capture end, vim.treesitter.get_captures_at_pos(0, def_line - 1, 0))
  check('highlight of `def`', #vim.tbl_filter(function(c) return c:find('^keyword') end, captures) > 0, captures)

  -- A REPL in a terminal, which sees unsaved text.
  local here_again = vim.api.nvim_get_current_win()
  check('the file has the fault still', table.concat(vim.fn.readfile('kernel.tir'), '\n'):find('Bx[', 1, true) ~= nil, 'Bx')
  vim.cmd('LoopsmithRepl')
  wait('the terminal', function() return vim.bo.buftype == 'terminal' end)
  local terminal = vim.api.nvim_get_current_buf()
  local function screen() return table.concat(vim.api.nvim_buf_get_lines(terminal, 0, -1, false), '\n') end
  wait('the prompt', function() return screen():find('sch>', 1, true) ~= nil end)
  vim.api.nvim_chan_send(vim.b[terminal].terminal_job_id, ':loops\r')
  wait('the loops in the REPL', function() return screen():find('block C .*C <%- A,B') ~= nil end)
  check('a REPL beside sees what is not saved', screen():find('block C', 1, true) ~= nil, screen():match('[^\n]*block C[^\n]*') or screen())
  -- Its steps are written back into the text, in one step of undo.
  local before_save = table.concat(vim.api.nvim_buf_get_lines(source, 0, -1, false), '\n')
  vim.api.nvim_chan_send(vim.b[terminal].terminal_job_id, 'sch.annotate(sch.get_loops("C")[0], "from_repl", 1)\r:save\r')
  wait('the steps in the text', function() return table.concat(vim.api.nvim_buf_get_lines(source, 0, -1, false), '\n') ~= before_save end)
  wait('the report of the REPL', function() return screen():find('written into the text in the editor', 1, true) ~= nil end)
  vim.cmd('bwipeout! ' .. terminal)
  vim.api.nvim_set_current_win(here_again)
  check('a REPL writes its steps into the text', text():find('def session(sch: tir.Schedule) -> None:', #before_save, true) ~= nil and text():find('"from_repl", 1)', #before_save, true) ~= nil,
    text():sub(#before_save))
  vim.cmd('undo')
  check('one undo removes them', text() == before_save, 'undo')

  -- The help lists every command.
  local commands = vim.tbl_filter(function(name) return name:find('^Loopsmith') ~= nil end, vim.tbl_keys(vim.api.nvim_get_commands({})))
  local without = vim.tbl_filter(function(name) return not vim.tbl_contains(vim.fn.getcompletion(':' .. name, 'help'), ':' .. name) end, commands)
  check('commands without help', #commands > 15 and #without == 0, without)

  -- Tune, to the end.
  progress, reports = {}, 0
  vim.api.nvim_win_set_cursor(0, { def_line, def_text:find('matmul') - 1 })
  vim.cmd('LoopsmithTuning')
  require('loopsmith').tune()
  wait('progress to begin', function() return progress[1] == 'begin' end)
  -- The lens shows the progress and the end of the search, without a change of the text.
  check('a search in the lens', wait('its lens', function() return table.concat(lenses(), '\n'):find('tuning: ', 1, true) ~= nil end), lenses()[1] or 'none')
  wait('progress to end', function() return progress[#progress] == 'end' end, 120000)
  check('progress', progress[1] == 'begin' and progress[#progress] == 'end' and reports > 0, { progress, reports })

  check('its end in the lens', wait('the lens of the best', function() return table.concat(lenses(), '\n'):find('insert best', 1, true) ~= nil end), lenses())

  local tuning = table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('loopsmith-tuning'), 0, -1, false), '\n')
  check('tuning view: trials, best, curve, schedule', tuning:find('matmul: done, trial %d+') ~= nil and tuning:find('best        ', 1, true) ~= nil and tuning:find('best of %d+ trials') ~= nil and
    tuning:find('@ls.schedule(matmul', 1, true) ~= nil, vim.split(tuning, '\n')[1])
  vim.cmd.bwipeout('loopsmith-tuning')

  -- Insert the schedule that was found: one edit, one undo, no errors in it.
  local before = text()
  vim.api.nvim_win_set_cursor(0, { def_line, def_text:find('matmul') - 1 })
  require('loopsmith').insert_best()
  wait('the inserted schedule', function() return text() ~= before end)
  check('a schedule was inserted', select(2, text():gsub('@ls%.schedule', '')) == 2, line_of('def matmul_') or 'no function')
  wait('the new text to be checked', function()
    local answer = server.request_sync(server.of(0), 'loopsmith/waitForState',
      { uri = vim.uri_from_bufnr(0), version = vim.lsp.util.buf_versions[vim.api.nvim_get_current_buf()] }, 20000, 0)
    return answer and not answer.err
  end)
  check('it is legal', #vim.diagnostic.get(0, { severity = vim.diagnostic.severity.ERROR }) == 0, vim.diagnostic.get(0))
  vim.fn.writefile(vim.api.nvim_buf_get_lines(0, 0, -1, false), vim.env.RESULT)
  vim.cmd('undo')
  check('one undo removes it', text() == before, 'undo')
end, debug.traceback)
if not ok then check('script', false, err) end
vim.cmd(failed > 0 and 'cquit 1' or 'qall!')
