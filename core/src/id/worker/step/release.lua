-- Gives a worker number back.
--
-- KEYS     H, Z, F: see pool.lua
-- ARGV[1]  owner
-- ARGV[2]  the last ms of Unix time that its holder has used; 0 not known
--
-- Reply    1 given back, 0 not held, nothing done
--
-- Keeps: what is taken down as used covers what its holder has used, and is no more than was taken down before. Works on a server
-- that is full.
local owner, told = ARGV[1], tonumber(ARGV[2])
local of = number(redis.call('HGET', H, owner))
if of == false then
  return redis.error_reply(NO_POOL)
elseif not of then
  return 0
end
local used = number(redis.call('HGET', H, text(of)))
redis.call('ZCARD', F)
-- A user who lacks a right gives nothing back, and the lease runs out: a number that is neither free nor leased would be lost. On a
-- server that is full, a script may go on after a first write that needs no memory.
redis.call('ZREM', Z, '')
redis.call('HDEL', H, '')
redis.call('ZADD', F, 'XX', 0, '')
redis.call('ZREM', Z, owner)
redis.call('HDEL', H, owner)
redis.call('ZADD', F, of, text(of))
if used and told > 0 and told < used then
  redis.call('HSET', H, text(of), text(told))
end
keep(0)
return 1
