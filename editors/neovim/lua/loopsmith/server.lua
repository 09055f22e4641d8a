-- The client of the language server: finds the client of a buffer, sends requests (Neovim 0.10 has functions, later versions have methods), reports
-- a missing server, and restarts one that has ended.
local M = {
  options = {},                      -- those of setup
}

local is_older = vim.fn.has('nvim-0.11') == 0
local ended = false                  -- exited without a request, and no server has been started since
local is_stopping = false

function M.of(buffer) return vim.lsp.get_clients({ bufnr = buffer, name = 'loopsmith' })[1] end

--- Returns false if the server accepts no more requests.
function M.request(client, ...)
  if is_older then return client.request(...) end
  return client:request(...)
end

function M.request_sync(client, ...)
  if is_older then return client.request_sync(...) end
  return client:request_sync(...)
end

local function stop(client, is_forced)
  if is_older then return client.stop(is_forced) end
  return client:stop(is_forced)
end

function M.warn(what) vim.notify('loopsmith: ' .. what, vim.log.levels.WARN) end

--- Returns the reason why the server cannot be started, if it is known, or nil.
function M.hindrance()
  local cmd = M.options.cmd
  if type(cmd) ~= 'table' or vim.fn.executable(cmd[1]) == 1 then return nil end
  return ('`%s` is not on PATH: `./bootstrap build` makes it, or set `cmd`'):format(cmd[1])
end

--- Returns the client of a buffer; reports the reason if there is none.
function M.need(buffer)
  local client = M.of(buffer)
  if client then return client end
  M.warn(M.hindrance() or ended and 'the server has ended; :LoopsmithRestart starts it again' or 'the language server does not serve this buffer')
end

local function start()
  ended, is_stopping = false, false
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buffer) and vim.tbl_contains(M.options.filetypes, vim.bo[buffer].filetype) then
      vim.api.nvim_exec_autocmds('FileType', { group = is_older and 'loopsmith' or 'nvim.lsp.enable', buffer = buffer, modeline = false })
    end
  end
end

--- Ends the running server, by force if it does not answer, and starts another one for the open buffers.
function M.restart()
  local why = M.hindrance()
  if why then return M.warn(why) end
  local function running() return vim.lsp.get_clients({ name = 'loopsmith' }) end
  is_stopping = true
  for _, client in ipairs(running()) do stop(client) end
  local waited = 0
  local function look()
    if #running() == 0 then return start() end
    waited = waited + 1
    -- 3 s.
    if waited == 60 then for _, client in ipairs(running()) do stop(client, true) end end
    vim.defer_fn(look, 50)
  end
  look()
end

local function on_exit(code, signal)
  -- Neovim itself ends a server with signal 15.
  if is_stopping or vim.v.exiting ~= vim.NIL or code == 0 and (signal == 0 or signal == 15) then return end
  ended = true
  vim.schedule(function() M.warn(('the server has ended (%s); :LoopsmithRestart starts it again'):format(signal ~= 0 and 'signal ' .. signal or 'status ' .. code)) end)
end

--- Starts the server for every buffer of its file types: `config` as `vim.lsp.config` takes it.
function M.setup(options, config)
  M.options = options
  config = vim.tbl_extend('force', config, { name = 'loopsmith', cmd = options.cmd, filetypes = options.filetypes, root_markers = options.root_markers, on_exit = on_exit })
  local group = vim.api.nvim_create_augroup('loopsmith', { clear = true })
  -- Edits and views need an address, so a buffer without a name is served once it gets one.
  local function root_of(buffer)
    local name = vim.api.nvim_buf_get_name(buffer)
    return name ~= '' and (vim.fs.root(buffer, options.root_markers) or vim.fs.dirname(name)) or nil
  end
  vim.api.nvim_create_autocmd({ 'BufFilePost', 'BufWritePost' }, {
    group = group,
    callback = function(event)
      local kind = vim.bo[event.buf].filetype
      if vim.tbl_contains(options.filetypes, kind) and not M.of(event.buf) then vim.bo[event.buf].filetype = kind end
    end,
  })
  vim.api.nvim_create_autocmd('FileType', {
    group = group,
    pattern = options.filetypes,
    callback = function(event)
      local why = M.hindrance()
      if why then return vim.notify_once('loopsmith: ' .. why, vim.log.levels.WARN) end
      if not is_older then return end
      config.root_dir = root_of(event.buf)
      if config.root_dir then vim.lsp.start(config, { bufnr = event.buf }) end
    end,
  })
  if is_older then return end
  config.root_dir = function(buffer, on_dir)
    local root = root_of(buffer)
    if root then on_dir(root) end
  end
  vim.lsp.config('loopsmith', config)
  vim.lsp.enable('loopsmith')
end

return M
