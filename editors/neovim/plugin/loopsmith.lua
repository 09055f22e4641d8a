-- Starts Loopsmith for TIRScript files unless `vim.g.loopsmith_auto` is false; `require('loopsmith').setup{}` does the same
-- with options.
if vim.g.loaded_loopsmith then return end
vim.g.loaded_loopsmith = true
if vim.g.loopsmith_auto ~= false then require('loopsmith').setup(vim.g.loopsmith or {}) end
