-- Runs a script of the library with a clock, leases and listeners of the test's own, and tells all
-- that there is behind it.
--
-- The source of the script stands in the place of its line below. What it asks of the clock is
-- answered from ARGV, and every lease is counted by that clock, which is years ahead of the
-- server's: so nothing ends by itself, and how long the script takes does not matter.
--
-- KEYS     the KEYS of the script
-- ARGV[1]  the clock, µs; ARGV[2] for how long the server has been up, s
-- ARGV[3]  how many channels somebody hears; then each with 's' or 'p' in front, and how many
-- ARGV     the ARGV of the script
--
-- Reply    {1 or 0, the reply or the error, {how, channel, message, ...},
--          {key, type, its end in ms or -1, {...}, ...}, how many commands the script has run}

local now = math.floor(tonumber(ARGV[1]) / 1000)
local heard, args, messages, first = {}, {}, {}, 4 + 2 * tonumber(ARGV[3])
for i = 4, first - 1, 2 do
  heard[ARGV[i]] = tonumber(ARGV[i + 1])
end
for i = first, #ARGV do
  args[i - first + 1] = ARGV[i]
end

local function hear(how, channel, message)
  if message ~= '' then
    messages[#messages + 1] = how
    messages[#messages + 1] = channel
    messages[#messages + 1] = message
  end
  return heard[how .. channel] or 0
end

-- Sets the end of a key, which is deleted if that is over.
local function ends(run, key, at)
  if at <= now then
    return run('del', key)
  end
  return run('pexpireat', key, string.format('%d', at))
end

local instead = {}

function instead.time()
  local micros = tonumber(ARGV[1])
  return {string.format('%d', math.floor(micros / 1000000)), string.format('%d', micros % 1000000)}
end

function instead.info()
  return 'uptime_in_seconds:' .. ARGV[2] .. '\r\n'
end

function instead.publish(_, channel, message)
  return hear('p', channel, message)
end

function instead.spublish(_, channel, message)
  return hear('s', channel, message)
end

function instead.pttl(run, key)
  local at = run('pexpiretime', key)
  return type(at) == 'number' and at >= 0 and at - now or at
end

function instead.pexpire(run, key, ttl)
  return ends(run, key, now + tonumber(ttl))
end

function instead.pexpireat(run, key, at)
  return ends(run, key, tonumber(at))
end

function instead.set(run, key, value, px, ttl, ...)
  if px ~= 'px' then
    return run('set', key, value, px, ttl, ...)
  end
  return run('set', key, value, 'pxat', string.format('%d', now + tonumber(ttl)), ...)
end

local real, commands = redis, 0

local function through(run)
  return function(command, ...)
    commands = commands + 1
    if instead[command] then
      return instead[command](run, ...)
    end
    return run(command, ...)
  end
end

local function script(redis, KEYS, ARGV) -- luacheck: ignore
  --#script
end

for _, key in ipairs(real.call('keys', '*')) do
  local at = real.call('pexpiretime', key)
  if at >= 0 and at < now then
    real.call('del', key)
  end
end

local all = {call = through(real.call), pcall = through(real.pcall), error_reply = real.error_reply}
local ok, reply = pcall(script, all, KEYS, args)
if type(reply) == 'table' and reply.err then
  ok, reply = false, reply.err
end

local space, read = {}, {
  string = function(key) return {real.call('get', key)} end,
  zset = function(key) return real.call('zrange', key, 0, -1, 'withscores') end,
  hash = function(key) return real.call('hgetall', key) end,
}
for _, key in ipairs(real.call('keys', '*')) do
  local kind = real.call('type', key).ok
  space[#space + 1] = key
  space[#space + 1] = kind
  space[#space + 1] = real.call('pexpiretime', key)
  space[#space + 1] = read[kind] and read[kind](key) or {}
end
return {ok and 1 or 0, reply, messages, space, commands}
