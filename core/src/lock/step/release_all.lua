-- Frees many locks, each if its owner holds it, and wakes who is first in the queue of each.
--
-- KEYS[3i-2]  lock i: HASH
-- KEYS[3i-1]  Q of lock i, KEYS[3i]  its S: see queue.lua
-- ARGV[3i-2]  owner of lock i, <client>:<n>
-- ARGV[3i-1]  Redisson's channel of lock i; gets the message 0
-- ARGV[3i]    1 to join the queue of lock i at its end, because others of this process wait; else 0
--
-- Reply    for each lock three numbers: 1, told, rank as in release.lua; or 0, 0, -1: not held by this owner, nothing done
--
-- Keeps I6 and I8. See free.lua. One bad key must not stop the others: hence pcall.
local replies = {}
for i = 1, #KEYS / 3 do
  L, Q, S = KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i]
  local freed, told, rank = false, 0, -1
  if type(redis.pcall('HEXISTS', L, ARGV[3 * i - 2])) ~= 'table' then
    freed, told, rank = free(ARGV[3 * i - 2], ARGV[3 * i - 1], ARGV[3 * i] == '1')
  end
  replies[3 * i - 2], replies[3 * i - 1], replies[3 * i] = freed and 1 or 0, told or 0, rank or -1
end
return replies
