-- When a token was made; it stands in the scripts where they include it, behind values.lua.
--
-- A token that the library has made has 30 characters of base64url: 8 that say when, in ms since
-- 1970, and 22 random ones, which never leave the server in a reply to somebody else.

-- The first 8 characters of the token of a value; '' if the token is of another form. What begins
-- with 'AN' is of the year 2000, as tests in virtual time have it, and what begins with 'Az' of the
-- year 2079. Whether they say a time that can be is for the client to see.
local function since_of(value)
  local token = token_of(value)
  if #token ~= 30 or string.find(token, '[^%w_-]') then
    return ''
  end
  return string.match(token, '^A[N-Za-z]......') or ''
end
