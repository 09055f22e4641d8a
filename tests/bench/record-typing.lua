-- The keys of a user who writes a program and a schedule for it, with typing errors that are noticed at once or later. See record-typing.
vim.o.swapfile = false
vim.o.autoindent = true
vim.o.expandtab = true
vim.o.shiftwidth = 4
vim.lsp.start({ name = 'loopsmith', cmd = { vim.env.LOOPSMITH, 'lsp', '--record', vim.env.RECORD }, root_dir = vim.fn.getcwd(),
  flags = { debounce_text_changes = 0, allow_incremental_sync = true } })
vim.wait(5000, function() local c = vim.lsp.get_clients()[1]; return c and c.initialized end)
local text = [[
ggi@T.prim_funv<BS>c
def scaled(A: T.Buffer((64, 128), "float32"), B: T.Buffer((64, 128), "float32"), C: T.Bufer<BS><BS>fer((64,), "float32")):
<Tab>D = T.alloc_buffer((64, 128))
for i, j in T.grid(64, 128):
<Tab>with T.block("D"):
<Tab>vi, vj = T.axis.remap("SR"<BS><BS>S", [i, j])
D[vi, vj] = A[vi, vj] * B[vi, vk] + T.float32(1)
<Esc>kA  # scaled<Esc>/vk<CR>cwvj<Esc>o<BS><BS>for i, j in T.grid(64, 128):
<Tab>with T.block("C"):
<Tab>vi, vj = T.axis.remap("SR", [i, j])
with T.init():
<Tab>C[vi] = T.float32(0)
<BS>C[vi] = C[vi] + D[vi, vj]
<Esc>0C


@ls.schedule(scaled)
def fast(sch: tir.Schedule) -> None:
<Tab>d = sch.get_block("D")
c = sch.get_blok<BS>ck("C")
i, j = sch.get_loops(c)
i0, i1 = sch.split(i, factors=[None, 8])
sch.reverse_compute_<BS><BS><BS><BS><BS><BS><BS><BS><BS><BS><BS><BS><BS><BS><BS><BS>compute_at(d, i0)
_, dj = sch.get_loops(d)[-2:]
sch.vectorize(dj)
sch.parallel(i0)
sch.unroll(i1)
sch.paralel<BS><BS>lel(j)
<Esc>k0D?None<CR>cw4<Esc>/8\]<CR>cw16<Esc>Gkyypyyp
]]
-- Neovim sends typed letters that are still pending as one change; record-typing splits them again.
vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes((text:gsub('\n', '<CR>')), true, true, true), 'nx!', false)
vim.wait(1000)
vim.cmd('qall!')
