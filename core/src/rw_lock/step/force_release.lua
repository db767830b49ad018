-- Ends every hold of both sides of a read-write lock, whoever has it, and wakes those whose turn it is by that.
--
-- KEYS     L, Q, S: see holds.lua and queue.lua
-- ARGV[1]  Redisson's channel of the lock; gets `1`, and `0` after it if anybody listens
--
-- Reply    1 it was held, 0 it was not
--
-- Holders that are clients of libdlock are told `lost`, each once. Where there are too many holds to look at each, their keys end
-- with their leases, and their clients learn of it when they renew. Not idempotent: a retry could end the next holder's grant.
local mode = mode_of()
if mode == false then
  return redis.error_reply(NO_LOCK)
elseif not mode then
  return 0
end
local clients, seen = {}, {}
if redis.call('HLEN', L) <= MOST_FIELDS then
  local fields = redis.call('HGETALL', L)
  for at = 1, #fields, 2 do
    local field = fields[at]
    if field ~= 'mode' then
      local timeout, entries = timeouts_of(field, fields[at + 1])
      for n = 1, entries do
        redis.call('DEL', timeout .. n)
      end
      local client = is_ours(field) and string.sub(field, 1, 36)
      if client and not seen[client] then
        seen[client] = true
        clients[#clients + 1] = client
      end
    end
  end
end
redis.call('DEL', L)
after_writer(ARGV[1])
-- In an order that does not depend on the server's.
table.sort(clients)
for _, client in ipairs(clients) do
  tell(client, 'lost')
end
if redis.pcall('ZRANGE', Q, 0, 0)[1] then
  pcall(function()
    wanting(ALL).wake(queue_at(clock()), ALL, 0)
  end)
end
return 1
