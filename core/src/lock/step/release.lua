-- Frees a lock that this owner holds, and wakes who is first in the queue.
--
-- KEYS[1]  L, the lock: HASH
-- KEYS[2]  Q, KEYS[3]  S: see queue.lua
-- ARGV[1]  owner, <client>:<n>
-- ARGV[2]  Redisson's channel of the lock; gets the message 0
-- ARGV[3]  1 to join the queue at its end, because others of this process wait; else 0
--
-- Reply    {1, told, rank}  freed; told 0: this user may not publish, so waiters come by their timers; rank -1: has not joined
--          {0}              not held by this owner, nothing done
--
-- Keeps I6 (never frees another grant) and I8 (the message a Redisson client expects). Nothing that comes before the freeing may
-- be refused, and nothing that comes after it may make an error of a release that is done.
if redis.call('HDEL', L, ARGV[1]) == 0 then
  return {0}
end
local told = type(redis.pcall('PUBLISH', ARGV[2], '0')) ~= 'table'
local head = redis.pcall('ZRANGE', Q, 0, 0)[1]
if head then
  local heard = tell(head, 'free')
  told = heard and told
  if heard == 0 then
    pcall(function()
      queue_at(clock()).front().pass_on()
    end)
  end
end
local rank = -1
if ARGV[3] == '1' then
  local client = string.match(ARGV[1], '^(.*):')
  local joined, place = pcall(function()
    local queue = queue_at(clock())
    return queue.stay(client, true) or queue.join(client)
  end)
  rank = joined and place or -1
end
return {1, told and 1 or 0, rank}
