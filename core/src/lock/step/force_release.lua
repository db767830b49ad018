-- Frees a lock whoever holds it, and wakes who is first in the queue.
--
-- KEYS[1]  L, the lock: HASH
-- KEYS[2]  Q, KEYS[3]  S: see queue.lua
-- ARGV[1]  Redisson's channel of the lock; gets the message 0
--
-- Reply    1 it was held, 0 it was not
--
-- A holder that is a client of libdlock (its id is a UUID of version 8) is told `lost`. Not idempotent: a retry could take away the
-- next holder's grant.
local holder = redis.call('HRANDFIELD', L)
if not holder then
  return 0
end
redis.call('DEL', L)
redis.pcall(PUBLISH, ARGV[1], '0')
local client = string.match(holder, '^(%x+%-%x+%-8%x+%-%x+%-%x+):')
if client then
  tell(client, 'lost')
end
local head = redis.pcall('ZRANGE', Q, 0, 0)[1]
if head and tell(head, 'free') == 0 then
  pcall(function()
    queue_at(clock()).front().pass_on()
  end)
end
return 1
