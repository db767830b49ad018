-- Ends every hold of both sides of a read-write lock, whoever has it, and wakes those whose turn it is by that.
--
-- KEYS     L, Q, S: see holds.lua and queue.lua
-- ARGV[1]  Redisson's channel of the lock; gets `1`, and `0` after it if anybody listens
--
-- Reply    1 it was held, 0 it was not
--
-- Holders that are clients of libdlock are told `lost`, each once; see end_all.lua. Not idempotent: a retry could end the next
-- holder's grant.
local mode = mode_of()
if mode == false then
  return redis.error_reply(NO_LOCK)
elseif not mode then
  return 0
end
local clients = end_all()
after_writer(ARGV[1])
for _, client in ipairs(clients) do
  tell(client, 'lost')
end
if redis.pcall('ZRANGE', Q, 0, 0)[1] then
  pcall(function()
    wanting(ALL).wake(queue_at(clock()), ALL, 0)
  end)
end
return 1
