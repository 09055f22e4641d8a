-- `:checkhealth loopsmith`: checks Neovim, the server, the parser and the client, and gives advice on missing parts.
local M = {}

local server = require('loopsmith.server')

local function check_server()
  local cmd = server.options.cmd
  if not cmd then return vim.health.error('`require("loopsmith").setup{}` was not called', { 'vim.g.loopsmith_auto is false: call it, with options' }) end
  local why = server.hindrance()
  if why then return vim.health.error(why) end
  if type(cmd) ~= 'table' then return vim.health.ok('the server is started by a function') end
  local path = vim.fn.exepath(cmd[1])
  -- Another program may start it.
  if not vim.fs.basename(path):find('loopsmith', 1, true) then return vim.health.ok('the server is started by ' .. table.concat(cmd, ' ')) end
  local said = vim.system({ path, '--version' }, { text = true }):wait(5000)
  if said.code ~= 0 then return vim.health.error(('`%s --version` ends with status %d'):format(path, said.code), { 'build it again: ./bootstrap build' }) end
  vim.health.ok(('%s: %s'):format(path, vim.split(vim.trim(said.stdout), '\n')[1]))
end

local function check_parser()
  local path = server.options.parser or vim.api.nvim_get_runtime_file('parser/tirscript.so', false)[1]
  local build = { 'editors/neovim/build-parser builds it, into this plugin\'s folder' }
  if not path then return vim.health.warn('the tree-sitter parser is missing: files are shown without its colours', build) end
  local ok, why = pcall(vim.treesitter.language.add, 'tirscript', { path = path })
  if not ok then return vim.health.error(('the parser %s cannot be loaded: %s'):format(path, why), build) end
  if #vim.api.nvim_get_runtime_file('queries/tirscript/highlights.scm', false) == 0 then return vim.health.warn('the parser is installed, but its queries are missing', build) end
  vim.health.ok('parser: ' .. path)
end

local function check_clients()
  local clients = vim.lsp.get_clients({ name = 'loopsmith' })
  if #clients == 0 then
    return vim.health.info(('no server runs: it starts with a file of type %s; :LoopsmithRestart starts one that has ended'):format(table.concat(server.options.filetypes or {}, ', ')))
  end
  for _, client in ipairs(clients) do
    local names = vim.tbl_map(function(buffer) return vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buffer), ':~:.') end, vim.tbl_keys(client.attached_buffers))
    vim.health.ok(('a server runs below %s, for %s'):format(client.root_dir or 'no folder', #names > 0 and table.concat(names, ', ') or 'no buffer'))
  end
end

function M.check()
  vim.health.start('loopsmith')
  if vim.fn.has('nvim-0.10') == 1 then vim.health.ok('Neovim ' .. tostring(vim.version())) else vim.health.error('Neovim is older than 0.10', { 'update it' }) end
  check_server()
  check_parser()
  check_clients()
end

return M
