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
-- Keeps I6 (never frees another grant) and I8 (the message a Redisson client expects). See free.lua.
local freed, told, rank = free(ARGV[1], ARGV[2], ARGV[3] == '1')
return freed and {1, told, rank} or {0}
