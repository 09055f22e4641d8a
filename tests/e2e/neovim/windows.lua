-- Behaviour that only Neovim has: several windows of one text, fast typing, hints and lenses of a text that is edited in another window,
-- buffer names that are taken, a server that is missing or killed, help and health. Prints like check.lua; exit status 1 after a failure.
local failed = 0
local function check(what, ok, got)
  if not ok then failed = failed + 1 end
  io.stdout:write(('%s %s: %s\n'):format(ok and 'ok  ' or 'FAIL', what, type(got) == 'string' and got or vim.inspect(got, { newline = ' ', indent = '' })))
end
local function wait(what, condition, ms)
  local ok = vim.wait(ms or 20000, condition, 20)
  if not ok then check('waited for ' .. what, false, 'timed out') end
  return ok
end
local told, old = {}, {}
vim.notify = function(message) table.insert(told, message) end
vim.notify_once = vim.notify
vim.deprecate = function(name) table.insert(old, name) end
local function is_told(text)
  for _, message in ipairs(told) do if message:find(text, 1, true) then return message end end
end

local server = require('loopsmith.server')
local source, code = vim.api.nvim_get_current_buf(), vim.api.nvim_get_current_win()
local function lines_of(buffer) return vim.api.nvim_buf_get_lines(buffer, 0, -1, false) end
local function line_of(pattern)
  for i, line in ipairs(lines_of(source)) do if line:find(pattern) then return i end end
end
local function named(pattern)
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    local buffer = vim.api.nvim_win_get_buf(window)
    if vim.api.nvim_buf_get_name(buffer):find(pattern) then return buffer, window end
  end
end
local function text_in(pattern)
  local buffer = named(pattern)
  return buffer and table.concat(lines_of(buffer), '\n') or ''
end
local function go(window, line)
  vim.api.nvim_set_current_win(window)
  if line then vim.api.nvim_win_set_cursor(window, { line, 6 }) end
  vim.api.nvim_exec_autocmds('CursorMoved', { buffer = vim.api.nvim_win_get_buf(window) })
end
local function type_in_view(pattern, word, keys)
  local view, window = named('^loopsmith%-ir:')
  vim.api.nvim_set_current_win(window)
  for i, line in ipairs(lines_of(view)) do
    if line:find(pattern) then vim.api.nvim_win_set_cursor(window, { i, line:find(word, 1, true) - 1 }) break end
  end
  vim.api.nvim_feedkeys(keys, 'xt', false)
end
local function hints()
  local out = {}
  for _, one in ipairs(vim.lsp.inlay_hint.get({ bufnr = source })) do
    local hint = one.inlay_hint
    local label = type(hint.label) == 'table' and table.concat(vim.tbl_map(function(part) return part.value end, hint.label)) or hint.label
    out[hint.position.line + 1] = (out[hint.position.line + 1] or '') .. label
  end
  return out
end
local function lenses()
  local found = vim.lsp.codelens.enable and vim.tbl_map(function(one) return one.lens end, vim.lsp.codelens.get({ bufnr = source })) or vim.lsp.codelens.get(source)
  return table.concat(vim.tbl_map(function(lens) return lens.command and lens.command.title or '' end, found), ' | ')
end

local ok, problem = xpcall(function()
  wait('the server', function() return server.of(source) ~= nil end)
  local bad = line_of('Bx%[')
  vim.api.nvim_buf_set_lines(source, bad - 1, bad, false, { (vim.api.nvim_buf_get_lines(source, bad - 1, bad, false)[1]:gsub('Bx', 'B')) })
  local fuse = line_of('sch%.fuse')
  vim.api.nvim_buf_set_lines(source, fuse - 1, fuse, false, {})
  local split = line_of('sch%.split')
  wait('the steps', function() return lenses():find('3 steps ok', 1, true) ~= nil end)
  local plain = table.concat(lines_of(source), '\n')
  local function take_back()
    vim.api.nvim_buf_set_lines(source, 0, -1, false, vim.split(plain, '\n'))
    go(code, split)
    wait('the text as it was', function() return lenses():find('3 steps ok', 1, true) ~= nil end)
  end

  -- Two windows of one text: the view follows the one that the cursor is in or was in last, and keys move the cursor of that one.
  go(code, split - 1)
  vim.cmd('split')
  local other = vim.api.nvim_get_current_win()
  go(other, split)
  vim.cmd('LoopsmithIR')
  wait('the IR of the second window', function() return text_in('^loopsmith%-ir:'):find('for i_0, i_1', 1, true) ~= nil end)
  check('IR of the window that the cursor is in', text_in('^loopsmith%-ir:'):find('for i_0, i_1', 1, true) ~= nil, vim.split(text_in('^loopsmith%-ir:'), '\n')[1])
  go(code)
  wait('the IR of the first window', function() return text_in('^loopsmith%-ir:'):find('for i, j, k', 1, true) ~= nil end)
  go(other)
  wait('the IR of the second window again', function() return text_in('^loopsmith%-ir:'):find('for i_0, i_1', 1, true) ~= nil end)
  type_in_view('for i_0, i_1', 'i_1', 'u')
  wait('the unrolled loop', function() return text_in('^loopsmith%-ir:'):find('i_1 in T.unroll(8)', 1, true) ~= nil end)
  check('a key moves the cursor of that window', vim.api.nvim_win_get_cursor(other)[1] == split + 1 and vim.api.nvim_win_get_cursor(code)[1] ~= split + 1,
    { vim.api.nvim_win_get_cursor(code)[1], vim.api.nvim_win_get_cursor(other)[1] })
  -- The keyboard stays in the view; the windows beside the text are updated all the same.
  check('the cursor is in the view', vim.api.nvim_get_current_buf() == named('^loopsmith%-ir:'), vim.api.nvim_buf_get_name(0))
  wait('the lens after a key', function() return lenses():find('4 steps ok', 1, true) ~= nil end)
  check('lenses of a text that is written from a view', lenses():find('4 steps ok', 1, true) ~= nil, lenses())
  check('hints of a text that is written from a view', wait('the hints', function() local all = hints(); return all[split] == '=> i0:16 i1:8' end), hints()[split] or 'none')
  take_back()
  go(other, split)
  vim.cmd('LoopsmithLoops')
  wait('the loops of the second window', function() return text_in('^loopsmith%-loops:'):find('i_1 8', 1, true) ~= nil end)
  check('loops of the window that the cursor is in', text_in('^loopsmith%-loops:'):find('i_1 8', 1, true) ~= nil, vim.split(text_in('^loopsmith%-loops:'), '\n')[2] or '')
  vim.api.nvim_buf_delete((named('^loopsmith%-loops:')), { force = true })
  vim.api.nvim_win_close(other, true)

  -- Fast typing: each key applies to the result of the key before it, and its statement goes behind that one.
  go(code, split)
  wait('the loops', function() return text_in('^loopsmith%-ir:'):find('for i_0, i_1', 1, true) ~= nil end)
  local function added()
    local out = {}
    for _, line in ipairs(lines_of(source)) do if not plain:find(line, 1, true) then out[#out + 1] = vim.trim(line) end end
    return out
  end
  type_in_view('for i_0, i_1', 'i_1', '4spu')
  wait('three statements', function() return #added() == 3 end)
  local written = added()
  check('4spu: in the order of the keys', (written[1] or ''):find('sch.split(i1, factors=[None, 4])', 1, true) ~= nil and (written[2] or ''):find('sch.parallel(', 1, true) == 1
    and (written[3] or ''):find('sch.unroll(', 1, true) == 1, written)
  take_back()
  -- A rejected key discards the keys after it.
  wait('the loops again', function() return text_in('^loopsmith%-ir:'):find('for i_0, i_1, j, k', 1, true) ~= nil end)
  told = {}
  type_in_view('for i_0, i_1', 'k in', 'vu')
  wait('the refusal', function() return #told > 0 end)
  vim.wait(500)
  check('vu: nothing is written once a key was refused', #added() == 0 and is_told('not spatial') ~= nil, told)
  -- A text without a window is shown before it is edited.
  local _, view_window = named('^loopsmith%-ir:')
  vim.api.nvim_set_current_win(view_window)
  vim.api.nvim_win_close(code, true)
  check('the text is in no window', vim.fn.bufwinid(source) == -1, vim.fn.bufwinid(source))
  type_in_view('for i_0, i_1', 'i_1', '4sp')
  wait('two statements', function() return #added() == 2 end)
  check('keys without a window: the text is shown, in the order of the keys', vim.fn.bufwinid(source) ~= -1 and #added() == 2 and added()[2]:find('sch.parallel', 1, true) == 1, added())
  code = vim.fn.bufwinid(source)
  take_back()

  -- Statements that do not exist.
  for asked, said in pairs({ ['99'] = '`99` is not a statement of by_hand, which has 3', abc = '`abc` is not a statement of by_hand, which has 3' }) do
    told = {}
    vim.cmd('LoopsmithDiff ' .. asked)
    wait('what is said of ' .. asked, function() return is_told('not a statement') ~= nil end)
    check('LoopsmithDiff ' .. asked, is_told(said) ~= nil and #vim.api.nvim_list_tabpages() == 1, told)
  end

  -- A replay on a program, then the IR view: both need a name that is taken, and neither is an editable file.
  vim.api.nvim_buf_delete((named('^loopsmith%-ir:')), { force = true })
  go(code, line_of('^def matmul'))
  local count = #vim.api.nvim_tabpage_list_wins(0)
  vim.cmd('LoopsmithReplay')
  wait('the program', function() return #vim.api.nvim_tabpage_list_wins(0) > count and text_in('loopsmith%-ir:'):find('T.grid(128, 64, 96)', 1, true) ~= nil end)
  local document = named('loopsmith%-ir:')
  check('LoopsmithReplay on a program', document ~= nil and vim.bo[document].buftype == 'nofile' and not vim.bo[document].modifiable,
    document and { vim.api.nvim_buf_get_name(document), text_in('loopsmith%-ir:'):sub(1, 200), told } or 'none')
  local good, why = pcall(function() go(code, split); vim.cmd('LoopsmithIR') end)
  check('LoopsmithIR beside it', good, why or 'shown')
  vim.cmd('only')
  -- After the text was closed, its name is free for other buffers.
  vim.cmd('LoopsmithIR')
  vim.cmd('bwipeout! ' .. source)
  vim.cmd('edit windows.tir')
  source, code = vim.api.nvim_get_current_buf(), vim.api.nvim_get_current_win()
  wait('the server for it', function() return server.of(source) ~= nil end)
  good, why = pcall(vim.cmd, 'LoopsmithIR')
  wait('the IR of a text that was opened again', function() return text_in('loopsmith%-ir:'):find('T.grid(128, 64, 96)', 1, true) ~= nil end)
  check('LoopsmithIR of a text that was opened again', good, why or 'shown')
  vim.cmd('only')

  -- A file that cannot be moved stays, and so do its buffer and the imports of it.
  local before = vim.api.nvim_buf_get_name(source)
  vim.cmd('silent write')
  for target, said in pairs({ ['kernel.tir/below/x.tir'] = 'cannot be made', ['/proc/x.tir'] = 'is on another file system' }) do
    told = {}
    vim.cmd('LoopsmithRename ' .. target)
    wait('what is said of ' .. target, function() return #told > 0 end)
    check('LoopsmithRename ' .. target, is_told(said) ~= nil and vim.api.nvim_buf_get_name(source) == before, told)
  end

  -- Help and health.
  check(':help finds the page', pcall(vim.cmd.help, 'loopsmith'), vim.api.nvim_buf_get_name(0))
  vim.cmd('helpclose')
  vim.cmd('checkhealth loopsmith')
  local report = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
  check('checkhealth', report:find('OK parser: ', 1, true) ~= nil and report:find('OK a server runs', 1, true) ~= nil and report:find('ERROR', 1, true) == nil, report)
  vim.cmd('bwipeout!')
  if not vim.api.nvim_win_is_valid(code) then code = vim.fn.bufwinid(source) end
  vim.api.nvim_set_current_buf(source)

  -- A buffer without a name is served once it gets one.
  vim.cmd('enew')
  local unnamed = vim.api.nvim_get_current_buf()
  vim.bo.filetype = 'tirscript'
  vim.api.nvim_buf_set_lines(unnamed, 0, -1, false, { 'x = y' })
  vim.wait(300)
  local before = server.of(unnamed)
  vim.cmd('silent write! ' .. vim.fn.fnameescape(vim.fn.fnamemodify(vim.api.nvim_buf_get_name(source), ':h') .. '/named.tir'))
  wait('a server for what has a name now', function() return server.of(unnamed) ~= nil end)
  wait('its diagnostics', function() return #vim.diagnostic.get(unnamed) > 0 end)
  check('a buffer without a name', before == nil and vim.fn.bufexists('/') == 0, { before and before.id, vim.fn.bufexists('/') })
  vim.cmd('bdelete!')
  vim.api.nvim_set_current_buf(source)

  -- A killed server is reported, and a new one serves the buffers. A running server is ended first.
  local first = server.of(source)
  told = {}
  for _, name in ipairs(vim.fn.glob('/proc/*/cmdline', true, true)) do
    local process = tonumber(name:match('%d+'))
    local line = io.open(name, 'rb')
    local words = line and line:read('*a') or ''
    if line then line:close() end
    if process and words:find(vim.env.RECORD, 1, true) and words:find('--stdio', 1, true) then vim.uv.kill(process, 9) end
  end
  wait('what is said of the end', function() return is_told(':LoopsmithRestart') ~= nil end)
  check('a killed server', is_told('the server has ended (signal 9); :LoopsmithRestart starts it again') ~= nil, told)
  told = {}
  vim.cmd('LoopsmithTune')
  check('a command without a server', is_told(':LoopsmithRestart') ~= nil, told)
  require('loopsmith').setup(vim.tbl_extend('force', LOOPSMITH_OPTIONS, { caches = { 16384, 65536 }, peaks = { gflops = 150, gbytes = 20 } }))
  vim.cmd('LoopsmithRestart')
  wait('another server', function() local now = server.of(source); return now and now.id ~= first.id end)
  local given = server.of(source).config.init_options
  check('it is told of caches and peaks', vim.deep_equal({ given.caches, given.peaks }, { { 16384, 65536 }, { gflops = 150, gbytes = 20 } }), given)
  local second = server.of(source)
  vim.cmd('LoopsmithRestart')
  wait('a third server', function() local now = server.of(source); return now and now.id ~= second.id end)
  vim.api.nvim_buf_set_lines(source, 0, -1, false, vim.split(plain, '\n'))
  wait('lenses of it', function() return lenses():find('3 steps ok', 1, true) ~= nil end)
  check('LoopsmithRestart', #vim.lsp.get_clients({ name = 'loopsmith' }) == 1 and lenses():find('3 steps ok', 1, true) ~= nil, lenses())

  check('nothing of Neovim is used that goes away', #old == 0, old)

  -- A server program that does not exist.
  told = {}
  require('loopsmith').setup({ cmd = { 'no-such-loopsmith' } })
  vim.cmd('edit other.tir')
  wait('what is said of it', function() return is_told('no-such-loopsmith') ~= nil end)
  check('a missing server', is_told('`no-such-loopsmith` is not on PATH') ~= nil, told)
end, debug.traceback)
if not ok then check('script', false, problem) end
vim.cmd(failed > 0 and 'cquit 1' or 'qall!')
