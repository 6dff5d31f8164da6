local function size(text)
  local n = #text
  if n > 5 and not text:find('|') then
    n = n - 1
  end
  return n
end
