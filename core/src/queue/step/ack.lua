-- Ends deliveries whose jobs are done.
--
-- KEYS      M, D, R, F, O, X, N, Q, S: see jobs.lua
-- ARGV[2+]  owners of the deliveries, each once, at most 100
--
-- Reply     for each 1: done, or 0: there is no such delivery any more
--
-- It works on a server that is full: it only removes. No delivery ends a job that another one has.
-- A first write that needs no memory, and which the access rules refuse before anything is done.
redis.call('ZREM', F, '')
local owners = {unpack(ARGV, 2)}
local held = redis.call('HMGET', O, unpack(owners))
local replies, ended, ids = {}, {}, {}
for at, owner in ipairs(owners) do
  local id = held[at] and string.match(held[at], '^%d+ (.*)$')
  if id then
    ended[#ended + 1], ids[#ids + 1] = owner, id
  end
  replies[at] = id and 1 or 0
end
if #ended > 0 then
  -- The jobs first: should this stop in between, the deliveries are taken back, and find no jobs.
  redis.call('HDEL', M, unpack(ids))
  redis.call('ZREM', F, unpack(ended))
  redis.call('HDEL', O, unpack(ended))
end
return replies
