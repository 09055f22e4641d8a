-- `.tir` files are TIRScript.
vim.filetype.add({ extension = { tir = 'tirscript' } })
