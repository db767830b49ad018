-- Reads a read-write lock without changing it.
--
-- KEYS   L, T, Q, S: see holds.lua, token.lua and queue.lua
--
-- Reply  {writer or nil, how many readers, ttl ms (-1: without end, -2: free), token as text or nil, how many processes wait}. Where
--        there are too many holds to look at each, those that are over count too. Of a writer its first 256 bytes, of a token its
--        first 32: what others wrote there may be of any size
local mode = mode_of()
if mode == false then
  return redis.error_reply(NO_LOCK)
end
local writing, readers, token = false, 0, redis.call('GET', KEYS[2])
if redis.call('HLEN', L) > MOST_FIELDS then
  readers = redis.call('HLEN', L) - 1
elseif mode then
  local fields = redis.call('HGETALL', L)
  for at = 1, #fields, 2 do
    local field = fields[at]
    if field ~= 'mode' and left_of(field, fields[at + 1]) > 0 then
      if writes(field) then
        writing = string.sub(field, 1, 256)
      else
        readers = readers + 1
      end
    end
  end
end
return {writing, readers, redis.call('PTTL', L), token and string.sub(token, 1, 32), redis.call('ZCARD', Q)}
