-- What a test asks of Neovim: one JSON object a line comes over a socket, is done as a person would do it, and is answered.

local wanted, offered = "", nil -- the title to choose in the menu that opens next, or its beginning; what it offered
local reply, question = "", "" -- what to answer the server when it asks something; what it asked

local function index_of(titles, title)
  for index, each in ipairs(titles) do
    if each == title then
      return index
    end
  end
  for index, each in ipairs(titles) do
    if vim.startswith(each, title) then
      return index
    end
  end
end

vim.ui.select = function(items, options, on_choice)
  local titles = vim.tbl_map(options.format_item, items)
  local index
  if options.kind == "codeaction" then
    offered = titles
    index = index_of(titles, wanted)
  else
    question = options.prompt
    index = index_of(titles, reply)
  end
  on_choice(items[index], index)
end

vim.fn.inputlist = function(shown) -- Neovim 0.7 asks the server's questions so: the message, a heading, "1. Yes"
  question = shown[1]
  local titles = vim.tbl_map(function(each)
    return (each:gsub("^%d+%. ", ""))
  end, vim.list_slice(shown, 3))
  return index_of(titles, reply) or 0
end

local function show(path)
  vim.cmd("buffer " .. vim.fn.bufnr(vim.fn.fnamemodify(path, ":p")))
end

local function lines()
  return vim.api.nvim_buf_get_lines(0, 0, -1, true)
end

local verbs = {}

function verbs.version()
  return vim.version().major .. "." .. vim.version().minor
end

function verbs.open(path)
  vim.cmd("edit " .. vim.fn.fnameescape(path))
end

function verbs.is_ready()
  for _, client in pairs((vim.lsp.get_clients or vim.lsp.get_active_clients)()) do
    if client.name == "rolecall" and client.server_capabilities and vim.lsp.buf_is_attached(0, client.id) then
      return true
    end
  end
  return false
end

function verbs.hunks(path)
  show(path)
  local hunks = vim.empty_dict()
  for _, diagnostic in ipairs(vim.diagnostic.get(0)) do
    if diagnostic.source == "rolecall" then
      local code = diagnostic.code or diagnostic.user_data.lsp.code
      hunks[code] = { line = diagnostic.lnum, message = diagnostic.message }
    end
  end
  return hunks
end

function verbs.choose(path, line, title)
  show(path)
  vim.api.nvim_win_set_cursor(0, { line + 1, 0 })
  wanted, offered = title, nil
  vim.lsp.buf.code_action()
  vim.wait(200000, function()
    return offered ~= nil
  end)
  return offered or {}
end

function verbs.reply_next(answer)
  reply, question = answer, ""
end

function verbs.question()
  return question
end

function verbs.command(name)
  vim.cmd("Rolecall " .. name)
end

function verbs.type(path, before, typed)
  show(path)
  for number, line in ipairs(lines()) do
    local column = line:find(before, 1, true)
    if column then
      vim.api.nvim_win_set_cursor(0, { number, column - 1 })
      vim.api.nvim_feedkeys("i" .. typed .. "\27", "nx", false)
      return
    end
  end
  error(before .. " is not in the text")
end

function verbs.write(path, text)
  vim.cmd("edit " .. vim.fn.fnameescape(path))
  vim.api.nvim_buf_set_lines(0, 0, -1, true, vim.split(text, "\n"))
  vim.cmd("silent write")
end

function verbs.undo(path)
  show(path)
  vim.cmd("undo")
end

function verbs.text(path)
  show(path)
  return table.concat(lines(), "\n")
end

function verbs.opened()
  local names = {}
  for _, buffer in ipairs(vim.fn.getbufinfo({ buflisted = 1 })) do
    table.insert(names, buffer.name)
  end
  return names
end

function verbs.shown()
  return vim.api.nvim_buf_get_name(0)
end

function verbs.save_all()
  vim.cmd("silent wall")
end

function verbs.close(path)
  show(path)
  vim.cmd("bdelete")
end

function verbs.messages()
  return vim.fn.execute("messages")
end

local socket, pending = vim.loop.new_tcp(), ""

local function answer(request)
  local done, result = pcall(verbs[request.verb], unpack(request.arguments))
  local reply = done and { result = result == nil and vim.NIL or result } or { error = tostring(result) }
  socket:write(vim.fn.json_encode(reply) .. "\n")
end

socket:connect("127.0.0.1", tonumber(vim.env.DRIVER_PORT), function()
  socket:read_start(vim.schedule_wrap(function(_, data)
    if not data then
      vim.cmd("qall!")
    end
    pending = pending .. data
    while pending:find("\n") do
      local line, rest = pending:match("([^\n]*)\n(.*)")
      pending = rest
      answer(vim.fn.json_decode(line))
    end
  end))
end)
